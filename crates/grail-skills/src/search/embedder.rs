//! What turns texts into vectors: the embedder that the program brings along, and the door for a better one.
//!
//! Nothing an embedder returns is believed: as many vectors as texts, all of the size it promised, finite, and none of them zero.

use rustc_hash::FxHashMap;

use super::vocabulary::{self, DIMENSIONS, Word};
use super::words;
use crate::SkillError;

/// Something that knows how near texts are in meaning.
pub trait Embedder: Send + Sync {
    /// Names the embedder with its version. What was made by another one is not used.
    fn name(&self) -> &str;

    /// Numbers in every vector.
    fn dimensions(&self) -> usize;

    /// One vector for each text, in their order. No text is empty.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SkillError>;
}

/// The embedder that is always there: the weighted mean of the vectors of a text's words. It needs no file and no network, knows English, and
/// sees neither the order of words nor grammar.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordEmbedder;

impl Embedder for WordEmbedder {
    fn name(&self) -> &str {
        "words-1"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SkillError> {
        let mut known = FxHashMap::default();
        Ok(texts.iter().map(|text| mean_of_words(text, &mut known)).collect())
    }
}

/// A vector of length 1 with a byte for each number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantised {
    pub(crate) bytes: Vec<i8>,
    /// What one step of a byte is worth.
    pub(crate) step: f32,
}

impl Quantised {
    pub(crate) fn new(vector: &[f32]) -> Self {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127 by construction")]
        let bytes = vector.iter().map(|number| (number / largest * 127.0).round() as i8).collect();
        Self { bytes, step: largest / 127.0 / length }
    }

    /// The cosine of the angle between two vectors.
    pub(crate) fn cosine(&self, other: &Self) -> f32 {
        self.cosine_of(&other.bytes, other.step)
    }

    /// The same, with the other one's parts.
    pub(crate) fn cosine_of(&self, bytes: &[i8], step: f32) -> f32 {
        // Products of bytes fit into 16 bits, of which a processor multiplies eight at once.
        let product = |(left, right): (&i8, &i8)| i32::from(i16::from(*left) * i16::from(*right));
        let dot: i32 = self.bytes.iter().zip(bytes).map(product).sum();
        #[expect(clippy::cast_precision_loss, reason = "a rounded product is as good")]
        let dot = dot as f32;
        dot * self.step * step
    }
}

/// The vectors of some texts, checked.
pub(crate) fn embed_checked(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Quantised>, SkillError> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let vectors = embedder.embed(texts)?;
    if vectors.len() != texts.len() {
        return Err(SkillError::VectorCount {
            embedder: embedder.name().to_owned(),
            expected: texts.len(),
            found: vectors.len(),
        });
    }
    vectors.iter().map(|vector| check_vector(embedder, vector)).collect()
}

fn check_vector(embedder: &dyn Embedder, vector: &[f32]) -> Result<Quantised, SkillError> {
    let name = || embedder.name().to_owned();
    if vector.len() != embedder.dimensions() {
        let (expected, found) = (embedder.dimensions(), vector.len());
        return Err(SkillError::VectorSize { embedder: name(), expected, found });
    }
    if vector.iter().any(|number| !number.is_finite()) {
        return Err(SkillError::VectorNumber { embedder: name() });
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>();
    // A length that is too small or too large for its own square is no direction either.
    if !length.is_normal() {
        return Err(SkillError::VectorLength { embedder: name() });
    }
    Ok(Quantised::new(vector))
}

fn mean_of_words(text: &str, known: &mut FxHashMap<String, Word>) -> Vec<f32> {
    let mut sum = vec![0.0_f32; DIMENSIONS];
    for written in words::carrying(&words::split_words(text)) {
        if !known.contains_key(written) {
            known.insert(written.to_owned(), vocabulary::look_up(written));
        }
        let Some(word) = known.get(written) else { continue };
        for (number, part) in sum.iter_mut().zip(word.vector) {
            *number += part * word.weight;
        }
    }
    // Without a word, or with words that cancel out, the letters have to do.
    if sum.iter().map(|number| number * number).sum::<f32>() < 1e-6 {
        return vocabulary::vector_of_letters(text.get(..64.min(text.len())).unwrap_or("?")).to_vec();
    }
    sum
}
