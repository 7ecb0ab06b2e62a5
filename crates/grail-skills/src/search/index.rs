//! The index over a set of skills: kept in step with them, asked with a sentence.
//!
//! Vectors are remembered by the content they were made of, so only what changed is embedded anew. A search first looks at every skill by its words
//! and vectors, then closely at those that may win.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::calibration::{Calibration, fitted_for_words};
use super::comparison::{Comparison, Contradiction, Described, Lexicon, Query, texts_of};
use super::embedder::{Embedder, Quantised, WordEmbedder, embed_checked};
use super::intents;
use super::store::{self, Key, Stored};
use crate::{Skill, SkillError};

/// Skills that are looked at closely, at least.
const CANDIDATES: usize = 128;
/// Texts that are given to an embedder at once.
const BATCH: usize = 256;
/// Of a query in an error, no more is shown.
const SHOWN_CHARACTERS: usize = 40;

/// Of one skill's texts.
type Vectors = Arc<Vec<Quantised>>;

/// Skills, ready to be searched.
pub struct SearchIndex {
    embedder: Arc<dyn Embedder>,
    /// Fitted for the embedder; `None` until the first update.
    calibration: Option<Calibration>,
    remembered: FxHashMap<Key, Vectors>,
    changed: bool,
    entries: Vec<Entry>,
    lexicon: Lexicon,
    /// For each word of the lexicon the skills that have it.
    postings: Vec<Vec<u32>>,
    scan: Scan,
}

/// The vectors of all skills in one row, because every search looks at all of them.
#[derive(Default)]
struct Scan {
    bytes: Vec<i8>,
    /// For each vector the skill it belongs to, and what a step of its bytes is worth.
    owners: Vec<(usize, f32)>,
}

struct Entry {
    skill: Skill,
    described: Described,
    vectors: Vectors,
}

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Update {
    /// Skills whose vectors were made anew.
    pub embedded: usize,
    /// Skills whose vectors were known.
    pub kept: usize,
    /// Contents that no skill has any more.
    pub forgotten: usize,
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    pub skill: Skill,
    /// The chance that the skill does what is asked.
    pub score: f32,
    /// How much of the query's words it has, between 0 and 1.
    pub lexical: f32,
    /// How near its meaning is, at most 1.
    pub semantic: f32,
    /// What speaks for it and against it, for people.
    pub why: String,
}

impl SearchIndex {
    /// An index with the embedder that the program brings along, remembered below the project's root.
    pub fn open(root: Option<&Path>) -> Self {
        Self::open_with(root, Arc::new(WordEmbedder))
    }

    /// An index with another embedder. What an index of the same embedder remembers below `root` is used again; what another one remembers is not.
    pub fn open_with(root: Option<&Path>, embedder: Arc<dyn Embedder>) -> Self {
        let stored = root
            .and_then(|root| store::read(root, embedder.name(), embedder.dimensions()))
            .unwrap_or_default();
        Self {
            embedder,
            calibration: stored.calibration,
            remembered: stored.vectors.into_iter().map(|(key, vectors)| (key, Arc::new(vectors))).collect(),
            changed: false,
            entries: Vec::new(),
            lexicon: Lexicon::default(),
            postings: Vec::new(),
            scan: Scan::default(),
        }
    }

    /// Makes the index hold exactly these skills. One that is given twice is held once.
    pub fn update(&mut self, skills: &[Skill]) -> Result<Update, SkillError> {
        let calibration = self.calibrate()?;
        let mut seen = FxHashSet::default();
        let mut contents: Vec<(&Skill, Key, Vec<String>)> = Vec::new();
        for skill in skills {
            if seen.insert((skill.name.as_str(), skill.folder.as_path(), skill.description.as_str())) {
                let texts = texts_of(&skill.name, &skill.description);
                contents.push((skill, store::key(&texts), texts));
            }
        }
        let unknown: Vec<&(&Skill, Key, Vec<String>)> = {
            let mut wanted = FxHashSet::default();
            contents
                .iter()
                .filter(|(_, key, _)| !self.remembered.contains_key(key) && wanted.insert(*key))
                .collect()
        };
        let embedded: FxHashSet<Key> = unknown.iter().map(|(_, key, _)| *key).collect();
        let made = self.embed(&unknown)?;

        // Nothing is changed before everything has succeeded.
        self.calibration = Some(calibration);
        let before = self.remembered.len();
        self.remembered.extend(made);
        let current: FxHashSet<Key> = contents.iter().map(|(_, key, _)| *key).collect();
        self.remembered.retain(|key, _| current.contains(key));
        let forgotten = (before + embedded.len()).saturating_sub(self.remembered.len());
        self.changed |= !embedded.is_empty() || forgotten > 0;

        let mut lexicon = Lexicon::default();
        let mut update = Update { forgotten, ..Update::default() };
        self.entries = Vec::with_capacity(contents.len());
        for (skill, key, texts) in contents {
            if embedded.contains(&key) {
                update.embedded += 1;
            } else {
                update.kept += 1;
            }
            let vectors = self.remembered.get(&key).map(Arc::clone).unwrap_or_default();
            self.entries.push(Entry {
                skill: skill.clone(),
                described: lexicon.describe(&skill.name, &texts),
                vectors,
            });
        }
        self.postings = make_postings(&self.entries, lexicon.words.len());
        self.scan = make_scan(&self.entries);
        self.lexicon = lexicon;
        Ok(update)
    }

    /// Writes what is to be remembered below the project's root, if it changed. A cache that cannot be written is nobody's problem.
    pub fn save(&mut self, root: &Path) {
        if !self.changed {
            return;
        }
        let stored = Stored {
            calibration: self.calibration,
            vectors: self.remembered.iter().map(|(key, vectors)| (*key, Vec::clone(vectors))).collect(),
        };
        if store::write(root, self.embedder.name(), self.embedder.dimensions(), &stored).is_ok() {
            self.changed = false;
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The skills that fit best, best first; those with the same score by name. A text without a word is an error.
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<Hit>, SkillError> {
        let empty = || SkillError::EmptyQuery { query: text.chars().take(SHOWN_CHARACTERS).collect() };
        let bounded: String = text.chars().take(super::words::MAX_CHARACTERS).collect();
        if super::words::split_words(&bounded).is_empty() {
            return Err(empty());
        }
        let vector = embed_checked(self.embedder.as_ref(), &[&bounded])?.pop().ok_or_else(empty)?;
        let query = Query::new(&bounded, vector, &self.lexicon).ok_or_else(empty)?;
        let Some(calibration) = self.calibration else { return Ok(Vec::new()) };

        let candidates = self.find_candidates(&query, limit.saturating_mul(2).max(CANDIDATES));
        let mut compared: Vec<(f32, &Entry, Comparison)> = candidates
            .into_iter()
            .filter_map(|index| self.entries.get(index))
            .map(|entry| {
                let comparison = query.compare(&entry.described, &entry.vectors, &self.lexicon);
                (calibration.score(&comparison), entry, comparison)
            })
            .collect();
        compared.sort_by(|(left_score, left, _), (right_score, right, _)| {
            let (left, right) = (&left.skill, &right.skill);
            let by_name = || (&left.name, &left.folder).cmp(&(&right.name, &right.folder));
            right_score.total_cmp(left_score).then_with(by_name)
        });
        compared.truncate(limit);
        let hits = compared.into_iter().map(|(score, entry, comparison)| Hit {
            skill: entry.skill.clone(),
            score,
            lexical: comparison.observations[0],
            semantic: comparison.observations[1],
            why: explain(&query, &comparison, &self.lexicon),
        });
        Ok(hits.collect())
    }

    fn calibrate(&self) -> Result<Calibration, SkillError> {
        if self.embedder.name() == WordEmbedder.name() {
            return Ok(fitted_for_words());
        }
        self.calibration.map_or_else(|| intents::calibrate(self.embedder.as_ref()), Ok)
    }

    fn embed(&self, unknown: &[&(&Skill, Key, Vec<String>)]) -> Result<Vec<(Key, Vectors)>, SkillError> {
        let texts: Vec<&str> =
            unknown.iter().flat_map(|(_, _, texts)| texts.iter().map(String::as_str)).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(embed_checked(self.embedder.as_ref(), batch)?);
        }
        let mut vectors = vectors.into_iter();
        Ok(unknown
            .iter()
            .map(|(_, key, texts)| (*key, Arc::new(vectors.by_ref().take(texts.len()).collect())))
            .collect())
    }

    /// The skills that come nearest by words and by vectors.
    fn find_candidates(&self, query: &Query, count: usize) -> Vec<usize> {
        let mut scores = vec![0.0_f32; self.entries.len()];
        let dimensions = self.embedder.dimensions().max(1);
        for (bytes, (owner, step)) in self.scan.bytes.chunks_exact(dimensions).zip(&self.scan.owners) {
            if let Some(score) = scores.get_mut(*owner) {
                *score = score.max(query.vector.cosine_of(bytes, *step));
            }
        }
        let mut touched: Vec<u32> = query
            .words
            .iter()
            .filter_map(|(_, id)| self.postings.get(usize::try_from((*id)?).ok()?))
            .flatten()
            .copied()
            .collect();
        touched.sort_unstable();
        touched.dedup();
        for index in touched {
            let Ok(index) = usize::try_from(index) else { continue };
            if let (Some(score), Some(entry)) = (scores.get_mut(index), self.entries.get(index)) {
                *score += query.lexical(&entry.described);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).collect();
        let best_first =
            |left: &usize, right: &usize| scores[*right].total_cmp(&scores[*left]).then(left.cmp(right));
        if order.len() > count && count > 0 {
            order.select_nth_unstable_by(count - 1, best_first);
            order.truncate(count);
        }
        order
    }
}

fn make_scan(entries: &[Entry]) -> Scan {
    let mut scan = Scan::default();
    for (owner, entry) in entries.iter().enumerate() {
        for vector in entry.vectors.iter() {
            scan.bytes.extend(&vector.bytes);
            scan.owners.push((owner, vector.step));
        }
    }
    scan
}

fn make_postings(entries: &[Entry], words: usize) -> Vec<Vec<u32>> {
    let mut postings = vec![Vec::new(); words];
    for (index, entry) in (0_u32..).zip(entries) {
        for word in entry.described.whole.words.iter().collect::<BTreeSet<_>>() {
            if let Some(list) = usize::try_from(*word).ok().and_then(|word| postings.get_mut(word)) {
                list.push(index);
            }
        }
    }
    postings
}

/// Says which words were found, which are only near, which are missing, and what speaks against the skill.
fn explain(query: &Query, comparison: &Comparison, lexicon: &Lexicon) -> String {
    const FOUND: f32 = 0.999;
    const NEAR: f32 = 0.4;
    let (mut there, mut near, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for ((asked, _), found) in query.words.iter().zip(&comparison.matches).take(8) {
        let asked = &asked.base;
        match found.found.map(|id| &lexicon.word(id).base) {
            Some(_) if found.similarity >= FOUND => there.push(format!("`{asked}`")),
            Some(word) if found.similarity >= NEAR => near.push(format!("`{asked}` is near `{word}`")),
            _ => missing.push(format!("`{asked}`")),
        }
    }
    let mut said = Vec::new();
    if !there.is_empty() {
        said.push(format!("has {}", there.join(", ")));
    }
    said.extend(near);
    if !missing.is_empty() {
        said.push(format!("has nothing like {}", missing.join(", ")));
    }
    match &comparison.contradiction {
        Some(Contradiction::Opposite(asked, offered)) => {
            said.push(format!("`{offered}` is the opposite of `{asked}`"))
        }
        Some(Contradiction::Reversed) => said.push("goes the other way round".to_owned()),
        Some(Contradiction::Forbidden) => {
            said.push("one says what to do, the other what not to do".to_owned())
        }
        None => {}
    }
    said.join("; ")
}
