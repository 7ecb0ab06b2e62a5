//! A query beside one skill: the observations that a score is made of, and what can be said about them.
//!
//! They depend on the query and the skill alone. A score must not change because another skill was installed, so how common a word is comes from
//! the language, not from the collection.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::embedder::Quantised;
use super::opposites::find_opposites;
use super::vocabulary::{self, Word};
use super::words;

/// What is observed, in the order of [`Observations`].
pub(crate) const NAMES: [&str; COUNT] = [
    "lexical",
    "semantic",
    "whole",
    "covered",
    "covered by part",
    "part covered",
    "weakest",
    "contained",
    "name covered",
    "name weakest",
];
pub(crate) const COUNT: usize = 10;
pub(crate) type Observations = [f32; COUNT];

/// From here on, two words are forms of one.
const SAME_WORD: f32 = 0.9;
/// Words of a query that are compared.
const MAX_QUERY_WORDS: usize = 32;
/// Words on each side of `to` that are looked at for what is turned into what.
const SIDE_WORDS: usize = 4;
/// BM25: how fast the second occurrence of a word counts less, and how much length counts.
const SATURATION: f32 = 1.2;
const LENGTH_PENALTY: f32 = 0.5;
/// The usual number of words that carry meaning in a description.
const USUAL_LENGTH: f32 = 15.0;

/// Every word of a collection once.
#[derive(Default)]
pub(crate) struct Lexicon {
    ids: FxHashMap<String, u32>,
    /// Words as they were written; looking one up costs more than remembering it.
    written: FxHashMap<String, u32>,
    pub(crate) words: Vec<Word>,
}

/// What is compared of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phrase {
    /// In the order of the text, with repetitions.
    pub(crate) words: Vec<u32>,
    forbids: bool,
    /// What is turned into something, and what it is turned into.
    source: Vec<u32>,
    target: Vec<u32>,
}

/// A skill, ready to be compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described {
    name: Phrase,
    /// Its name and its description.
    pub(crate) whole: Phrase,
    /// The name with the first sentence, then each part of the description.
    pub(crate) parts: Vec<Phrase>,
}

/// The texts of a skill that get a vector: first the whole, then its parts.
pub(crate) fn texts_of(name: &str, description: &str) -> Vec<String> {
    let name = name.replace(['-', '_'], " ");
    let mut texts = vec![format!("{name}. {description}")];
    let parts = words::split_parts(description);
    if parts.len() > 1 {
        texts.extend(parts);
    }
    texts
}

impl Lexicon {
    pub(crate) fn describe(&mut self, name: &str, texts: &[String]) -> Described {
        let name = self.read(&name.replace(['-', '_'], " "));
        let mut phrases: Vec<Phrase> = texts.iter().map(|text| self.read(text)).collect();
        if phrases.is_empty() {
            return Described { name, ..Described::default() };
        }
        let whole = phrases.remove(0);
        if phrases.is_empty() {
            phrases.push(whole.clone());
        }
        Described { name, whole, parts: phrases }
    }

    pub(crate) fn read(&mut self, text: &str) -> Phrase {
        let split = words::split_words(text);
        let forbids = words::forbids(&split);
        let words = self.add_all(&words::carrying(&split));
        let turn = split.iter().position(|word| matches!(word.as_str(), "to" | "into" | "as" | "from"));
        let (mut source, mut target) = (Vec::new(), Vec::new());
        if let Some(turn) = turn {
            source = self.read_side(split[..turn].iter().rev());
            target = self.read_side(split[turn + 1..].iter());
            if split[turn] == "from" {
                std::mem::swap(&mut source, &mut target);
            }
        }
        Phrase { words, forbids, source, target }
    }

    /// The words nearest to the turn: what is farther away belongs to something else.
    fn read_side<'a>(&mut self, split: impl Iterator<Item = &'a String>) -> Vec<u32> {
        let near: Vec<String> = split.take(SIDE_WORDS).cloned().collect();
        self.add_all(&words::carrying(&near))
    }

    fn add_all(&mut self, written: &[&str]) -> Vec<u32> {
        written.iter().map(|word| self.add(word)).collect()
    }

    fn add(&mut self, written: &str) -> u32 {
        if let Some(&id) = self.written.get(written) {
            return id;
        }
        let word = vocabulary::look_up(written);
        let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        let id = *self.ids.entry(word.base.clone()).or_insert(next);
        if id == next {
            self.words.push(word);
        }
        self.written.insert(written.to_owned(), id);
        id
    }

    pub(crate) fn id(&self, base: &str) -> Option<u32> {
        self.ids.get(base).copied()
    }

    pub(crate) fn word(&self, id: u32) -> &Word {
        &self.words[id as usize]
    }

    fn bases<'a>(&'a self, ids: &[u32]) -> Vec<&'a str> {
        ids.iter().map(|id| self.word(*id).base.as_str()).collect()
    }
}

/// A query, ready to be compared with skills of a collection.
pub(crate) struct Query {
    own: Lexicon,
    phrase: Phrase,
    /// Each word once, with its number in the collection if it occurs there.
    pub(crate) words: Vec<(Word, Option<u32>)>,
    pub(crate) vector: Quantised,
    /// How near each word is to each of the collection, once it was asked for.
    known: RefCell<Vec<f32>>,
}

/// What comes nearest to a word of the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) similarity: f32,
    /// A word of the collection; `None` in a skill without words.
    pub(crate) found: Option<u32>,
}

/// What a comparison brings to light.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) observations: Observations,
    /// One for each word of the query.
    pub(crate) matches: Vec<Match>,
    pub(crate) contradiction: Option<Contradiction>,
}

/// Why a skill cannot be what is asked, however alike the words are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contradiction {
    /// It does the opposite deed: what is asked, what is offered.
    Opposite(String, String),
    /// It turns the one into the other, not the other into the one.
    Reversed,
    /// The query says what not to do.
    Forbidden,
}

impl Query {
    /// `None` if there is no word in it.
    pub(crate) fn new(text: &str, vector: Quantised, collection: &Lexicon) -> Option<Self> {
        let mut own = Lexicon::default();
        let mut phrase = own.read(text);
        phrase.words.truncate(MAX_QUERY_WORDS);
        let mut seen = Vec::new();
        for &id in &phrase.words {
            if !seen.contains(&id) {
                seen.push(id);
            }
        }
        let words: Vec<(Word, Option<u32>)> = seen
            .into_iter()
            .map(|id| own.word(id).clone())
            .map(|word| {
                let id = collection.id(&word.base);
                (word, id)
            })
            .collect();
        let known = RefCell::new(vec![f32::NAN; words.len() * collection.words.len()]);
        (!words.is_empty()).then_some(Self { own, phrase, words, vector, known })
    }

    pub(crate) fn cosine(&self, vector: &Quantised) -> f32 {
        self.vector.cosine(vector)
    }

    /// BM25 as a share of what the query itself would get.
    pub(crate) fn lexical(&self, described: &Described) -> f32 {
        let mut score = 0.0;
        for (word, id) in &self.words {
            let Some(id) = id else { continue };
            let occurrences = described.whole.words.iter().filter(|other| *other == id).count();
            score += word.rarity * saturate(occurrences, described.whole.words.len());
        }
        (score / self.best_lexical()).min(1.0)
    }

    pub(crate) fn best_lexical(&self) -> f32 {
        self.words
            .iter()
            .map(|(word, _)| word.rarity * saturate(1, self.words.len()))
            .sum::<f32>()
            .max(f32::MIN_POSITIVE)
    }

    /// Looks at one skill closely. `vectors` are those of its texts: the whole, then the parts if there is more than one.
    pub(crate) fn compare(
        &self,
        described: &Described,
        vectors: &[Quantised],
        collection: &Lexicon,
    ) -> Comparison {
        let whole_cosine = vectors.first().map_or(0.0, |vector| self.cosine(vector));
        let matches: Vec<Match> = self.matches(&described.whole, collection).collect();
        let covered = self.weigh(matches.iter().copied());
        let weakest = self.weakest(&matches);

        let mut best: Option<(f32, f32, f32, &Phrase)> = None;
        for (index, part) in described.parts.iter().enumerate() {
            let cosine = vectors.get(index + 1).map_or(whole_cosine, |vector| self.cosine(vector));
            let covered = self.weigh(self.matches(part, collection));
            if best.is_none_or(|(sum, ..)| cosine + covered > sum) {
                best = Some((cosine + covered, cosine, covered, part));
            }
        }
        let (cosine, covered_by_part, part) = best
            .map_or((whole_cosine, covered, &described.whole), |(_, cosine, covered, part)| {
                (cosine, covered, part)
            });

        let contained = matches.iter().all(|found| found.similarity >= SAME_WORD);
        let observations = [
            self.lexical(described),
            cosine.max(whole_cosine),
            whole_cosine,
            covered,
            covered_by_part,
            self.cover_part(part, collection),
            weakest,
            flag(contained),
            self.cover_part(&described.name, collection),
            self.name_weakest(&described.name, collection),
        ];
        let contradiction = self.find_contradiction(part, described, collection);
        Comparison { observations, matches, contradiction }
    }

    fn find_contradiction(
        &self,
        part: &Phrase,
        described: &Described,
        collection: &Lexicon,
    ) -> Option<Contradiction> {
        if self.phrase.forbids != described.whole.forbids {
            return Some(Contradiction::Forbidden);
        }
        let phrases = std::iter::once(&described.name).chain(&described.parts);
        if phrases.into_iter().any(|phrase| self.reverses(phrase, collection)) {
            return Some(Contradiction::Reversed);
        }
        let asked: Vec<&str> = self.words.iter().map(|(word, _)| word.base.as_str()).collect();
        let in_part = find_opposites(&asked, &collection.bases(&part.words));
        let found = in_part.or_else(|| find_opposites(&asked, &collection.bases(&described.name.words)));
        found.map(|(asked, offered)| Contradiction::Opposite(asked.to_owned(), offered.to_owned()))
    }

    /// For each word of the query what comes nearest to it in a text.
    fn matches<'a>(
        &'a self,
        phrase: &'a Phrase,
        collection: &'a Lexicon,
    ) -> impl Iterator<Item = Match> + 'a {
        (0..self.words.len()).map(move |index| {
            let mut best = Match { similarity: 0.0, found: None };
            for other in &phrase.words {
                let similarity = self.similarity(index, *other, collection);
                if best.found.is_none() || similarity > best.similarity {
                    best = Match { similarity, found: Some(*other) };
                }
            }
            best
        })
    }

    /// How much of the query has its like, by weight.
    fn weigh(&self, matches: impl Iterator<Item = Match>) -> f32 {
        let (mut sum, mut total) = (0.0, 0.0);
        for ((word, _), found) in self.words.iter().zip(matches) {
            sum += found.similarity * word.weight;
            total += word.weight;
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }

    /// How much of the text has its like in the query, by weight.
    fn cover_part(&self, phrase: &Phrase, collection: &Lexicon) -> f32 {
        let (mut sum, mut total) = (0.0, 0.0);
        for id in &phrase.words {
            let weight = collection.word(*id).weight;
            sum += self.similarity_to_any(*id, collection) * weight;
            total += weight;
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }

    /// How near the query comes to the word of the name that it meets worst.
    fn name_weakest(&self, name: &Phrase, collection: &Lexicon) -> f32 {
        let nearest = name.words.iter().map(|id| self.similarity_to_any(*id, collection));
        nearest.min_by(f32::total_cmp).unwrap_or(0.0)
    }

    fn similarity_to_any(&self, other: u32, collection: &Lexicon) -> f32 {
        (0..self.words.len()).map(|index| self.similarity(index, other, collection)).fold(0.0, f32::max)
    }

    /// How near a word of the query, by its place, is to a word of the collection.
    fn similarity(&self, index: usize, other: u32, collection: &Lexicon) -> f32 {
        let mut known = self.known.borrow_mut();
        let (word, id) = &self.words[index];
        let place = &mut known[index * collection.words.len() + other as usize];
        if place.is_nan() {
            *place = match *id == Some(other) {
                true => 1.0,
                false => vocabulary::dot(&word.vector, &collection.word(other).vector).clamp(0.0, 1.0),
            };
        }
        *place
    }

    /// What the word of the query that is met worst leaves.
    fn weakest(&self, matches: &[Match]) -> f32 {
        let worst =
            self.words.iter().zip(matches).map(|((word, _), found)| word.weight * (1.0 - found.similarity));
        1.0 - worst.fold(0.0, f32::max)
    }

    /// Whether the one turns into something what the other turns it into.
    fn reverses(&self, other: &Phrase, collection: &Lexicon) -> bool {
        let (source, target) = (self.own.bases(&self.phrase.source), self.own.bases(&self.phrase.target));
        let (other_source, other_target) = (collection.bases(&other.source), collection.bases(&other.target));
        let only = |left: &[&str], right: &[&str], there: &[&str], absent: &[&str]| {
            left.iter().any(|word| !right.contains(word) && there.contains(word) && !absent.contains(word))
        };
        only(&source, &target, &other_target, &other_source)
            && only(&target, &source, &other_source, &other_target)
    }
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn saturate(occurrences: usize, length: usize) -> f32 {
    let occurrences = occurrences as f32;
    let length = 1.0 - LENGTH_PENALTY + LENGTH_PENALTY * length as f32 / USUAL_LENGTH;
    occurrences * (SATURATION + 1.0) / (occurrences + SATURATION * length)
}

fn flag(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}
