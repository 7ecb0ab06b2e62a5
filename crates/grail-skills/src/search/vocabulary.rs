//! The words that are known, each with how common it is and a vector: what a sentence model made of it, in a byte per dimension.
//!
//! The table is part of the program (`vectors/words.bin`, made by `scripts/word-vectors`), so nothing is loaded from anywhere. A word that is not
//! in it may be an inflected form or a misspelling of one that is; what is neither gets a vector from its letters, which is near to that of words
//! with the same letters and to nothing else.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

/// Numbers in a word's vector.
pub(crate) const DIMENSIONS: usize = 96;

/// The table, of which every build has the same.
static TABLE: &[u8] = include_bytes!("../../vectors/words.bin");
const MAGIC: &[u8] = b"GRAILWV1";
/// The rank that a word outside the table is taken to have.
const UNKNOWN_RANK: u32 = 200_000;
/// An inflected form whose vector is less near to its supposed base than this is a word of its own: `news` is not `new`.
const SAME_MEANING: f32 = 0.75;
/// Shorter words have too many neighbours to be taken for a misspelling.
const SHORTEST_MISSPELT: usize = 5;
/// From this length on, two slips of the finger are believed.
const SHORTEST_TWICE_MISSPELT: usize = 8;

/// A word as the search sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    /// The same for all forms of a word, and for what is taken for a misspelling of it.
    pub(crate) base: String,
    /// How much it says, from 0 (`the`) to 1.
    pub(crate) weight: f32,
    /// How seldom it is, for BM25: a logarithm, as if counted in a large collection.
    pub(crate) rarity: f32,
    /// Of length 1.
    pub(crate) vector: [f32; DIMENSIONS],
}

/// What is known about a word; of an unknown one, what its letters tell. `text` is in lower case.
pub(crate) fn look_up(text: &str) -> Word {
    let vocabulary = vocabulary();
    if let Some(&index) = vocabulary.places.get(text) {
        let vector = vocabulary.vector(index);
        for base in bases(text) {
            let Some(&place) = vocabulary.places.get(base.as_str()) else { continue };
            if dot(&vector, &vocabulary.vector(place)) >= SAME_MEANING {
                return vocabulary.word(place);
            }
        }
        return vocabulary.word(index);
    }
    let known = bases(text).into_iter().find(|base| vocabulary.places.contains_key(base.as_str()));
    let corrected = || {
        let misspelt = std::iter::once(text.to_owned()).chain(bases(text));
        misspelt.into_iter().find_map(|form| vocabulary.correct(&form))
    };
    if let Some(base) = known.or_else(corrected) {
        return look_up(&base);
    }
    let base = text.strip_suffix('s').filter(|stem| stem.len() > 3).unwrap_or(text).to_owned();
    Word {
        vector: vector_of_letters(&base),
        base,
        weight: weight_of_rank(UNKNOWN_RANK),
        rarity: rarity_of_rank(UNKNOWN_RANK),
    }
}

/// How near two words are: 1 for the same, around 0 for words that have nothing to do with each other.
pub(crate) fn dot(left: &[f32; DIMENSIONS], right: &[f32; DIMENSIONS]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[derive(Default)]
struct Vocabulary {
    places: FxHashMap<&'static str, usize>,
    /// In alphabetical order, like the vectors.
    words: Vec<&'static str>,
    ranks: Vec<u32>,
    vectors: &'static [u8],
}

fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: OnceLock<Vocabulary> = OnceLock::new();
    // A broken table can only be a broken build: `the_table_of_words_is_whole` holds it against its own sizes.
    VOCABULARY.get_or_init(|| read(TABLE).unwrap_or_default())
}

fn read(table: &'static [u8]) -> Option<Vocabulary> {
    let rest = table.strip_prefix(MAGIC)?;
    let (count, rest) = take_number(rest)?;
    let (dimensions, rest) = take_number(rest)?;
    let (text_bytes, rest) = take_number(rest)?;
    let (text, rest) = rest.split_at_checked(text_bytes)?;
    let words: Vec<&str> = std::str::from_utf8(text).ok()?.split('\n').collect();
    let (ranks, vectors) = rest.split_at_checked(count.checked_mul(4)?)?;
    if words.len() != count || dimensions != DIMENSIONS || vectors.len() != count.checked_mul(DIMENSIONS)? {
        return None;
    }
    let ranks = ranks.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let places = words.iter().enumerate().map(|(index, word)| (*word, index)).collect();
    Some(Vocabulary { places, words, ranks, vectors })
}

fn take_number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}

impl Vocabulary {
    fn word(&self, index: usize) -> Word {
        let rank = self.ranks[index];
        Word {
            base: self.words[index].to_owned(),
            weight: weight_of_rank(rank),
            rarity: rarity_of_rank(rank),
            vector: self.vector(index),
        }
    }

    fn vector(&self, index: usize) -> [f32; DIMENSIONS] {
        let mut vector = [0.0; DIMENSIONS];
        let bytes = self.vectors.iter().skip(index * DIMENSIONS);
        for (number, byte) in vector.iter_mut().zip(bytes) {
            *number = f32::from(byte.cast_signed());
        }
        normalise(&mut vector);
        vector
    }

    /// The most common known word that differs by one slip of the finger, or by two in a long word. The first letter is taken to be right.
    fn correct(&self, text: &str) -> Option<String> {
        if text.len() < SHORTEST_MISSPELT || !text.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
        let slips = if text.len() >= SHORTEST_TWICE_MISSPELT { 2 } else { 1 };
        let first = text.get(..1)?;
        let start = self.words.partition_point(|word| *word < first);
        let (_, _, found) = self.words[start..]
            .iter()
            .enumerate()
            .take_while(|(_, word)| word.starts_with(first))
            .filter(|(_, word)| word.len().abs_diff(text.len()) <= slips && differ_little(text, word, slips))
            .filter_map(|(offset, word)| {
                let distance = strsim::osa_distance(text, word);
                (distance <= slips).then(|| (distance, self.ranks[start + offset], *word))
            })
            .min()?;
        Some(found.to_owned())
    }
}

/// A slip changes two letters at most: a look at which letters there are spares most of the work.
fn differ_little(left: &str, right: &str, slips: usize) -> bool {
    let mut counts = [0_i8; 26];
    for (text, step) in [(left, 1), (right, -1)] {
        for byte in text.bytes().filter(u8::is_ascii_lowercase) {
            counts[usize::from(byte - b'a')] += step;
        }
    }
    counts.iter().map(|count| usize::from(count.unsigned_abs())).sum::<usize>() <= 2 * slips
}

/// What a word may be an inflected form of. `scripts/word-vectors.py` asks the same, in the same order.
fn bases(word: &str) -> Vec<String> {
    const ENDINGS: [(&str, &[&str]); 8] = [
        ("ies", &["y"]),
        ("es", &["e", ""]),
        ("s", &[""]),
        ("ied", &["y"]),
        ("ed", &["e", ""]),
        ("ying", &["y"]),
        ("ing", &["e", ""]),
        ("ers", &["er"]),
    ];
    let mut found = Vec::new();
    for (ending, replacements) in ENDINGS {
        let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() >= 3) else { continue };
        found.extend(replacements.iter().map(|replacement| format!("{stem}{replacement}")));
        let mut last = stem.chars().rev();
        let (Some(end), Some(before)) = (last.next(), last.next()) else { continue };
        if end == before && (ending == "ed" || ending == "ing") {
            found.push(stem.strip_suffix(end).unwrap_or(stem).to_owned());
        }
    }
    found
}

/// Common words say little. The share of a word in a language falls with its rank (Zipf), and what it says falls with its share (SIF).
fn weight_of_rank(rank: u32) -> f32 {
    const SHARE_OF_FIRST: f32 = 0.07;
    const HALF: f32 = 3e-4;
    #[expect(clippy::cast_precision_loss, reason = "a rank is far below 2^24")]
    let share = SHARE_OF_FIRST / rank.max(1) as f32;
    HALF / (HALF + share)
}

#[expect(clippy::cast_precision_loss, reason = "a rank is far below 2^24")]
fn rarity_of_rank(rank: u32) -> f32 {
    (1.0 + rank as f32 / 30.0).ln()
}

/// Groups of three letters, hashed: two spellings of an unknown name are near to each other.
pub(crate) fn vector_of_letters(text: &str) -> [f32; DIMENSIONS] {
    let letters: Vec<char> = std::iter::once('<').chain(text.chars()).chain(std::iter::once('>')).collect();
    let mut vector = [0.0; DIMENSIONS];
    for group in letters.windows(3.min(letters.len())) {
        let group: String = group.iter().collect();
        let hash = blake3::hash(group.as_bytes());
        // Each group is a direction of its own: every dimension up or down.
        for (number, bit) in vector.iter_mut().zip(0_usize..) {
            let byte = hash.as_bytes()[bit / 8 % 32];
            *number += if byte >> (bit % 8) & 1 == 1 { 1.0 } else { -1.0 };
        }
    }
    normalise(&mut vector);
    vector
}

fn normalise(vector: &mut [f32; DIMENSIONS]) {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|number| *number /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_words_is_whole() {
        let table = read(TABLE).expect("the table of words can be read");
        assert!(table.words.len() > 18_000);
        assert!(table.words.is_sorted());
    }

    #[test]
    fn forms_and_misspellings_have_the_base_of_their_word() {
        let bases: Vec<String> = ["emails", "sending", "converted", "queries", "emial", "transalte", "news"]
            .into_iter()
            .map(|word| look_up(word).base)
            .collect();
        assert_eq!(bases, ["email", "send", "convert", "query", "email", "translate", "news"]);
    }

    #[test]
    fn an_unknown_word_is_near_to_its_own_spellings_only() {
        let near = dot(&look_up("grailwright").vector, &look_up("grailwrights").vector);
        let far = dot(&look_up("grailwright").vector, &look_up("invoice").vector);
        assert!(near > 0.9 && far.abs() < 0.4, "{near} {far}");
    }
}
