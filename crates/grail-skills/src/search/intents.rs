//! The labelled pairs of intents and skills that come with the program, and how well a calibration does on them.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use serde::Deserialize;

use super::calibration::{Calibration, Labelled, SAME};
use super::comparison::{Described, Lexicon, NAMES, Observations, Query, texts_of};
use super::embedder::{Embedder, Quantised, embed_checked};
use crate::SkillError;

const FITTING: &str = include_str!("../../intents/fitting.toml");
const HELD_OUT: &str = include_str!("../../intents/held-out.toml");

/// Half of the labelled pairs. No topic is in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The coefficients are fitted on it.
    Fitting,
    /// Nothing is: figures come from here.
    HeldOut,
}

/// What people say about a skill.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelledSkill {
    pub(crate) topic: String,
    pub(crate) name: String,
    pub(crate) description: String,
    /// Intents that the skill meets.
    pub(crate) same: Vec<String>,
    /// Intents of the same field.
    pub(crate) related: Vec<String>,
    pub(crate) different: Vec<String>,
}

#[derive(Deserialize)]
struct Labels {
    skill: Vec<LabelledSkill>,
}

/// How good the scores are.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub half: Half,
    /// Labelled pairs.
    pub pairs: usize,
    pub topics: usize,
    /// Pairs labelled `same`.
    pub same: usize,
    /// Pairs that score at least [`SAME`], and those of them that are labelled so.
    pub found: usize,
    pub rightly_found: usize,
    /// Every intent with every skill of another topic: pairs, and those that score at least [`SAME`].
    pub strangers: usize,
    pub strangers_found: usize,
    /// Intents that have a skill, and those for which it scores best of all skills of this half.
    pub asked: usize,
    pub answered_first: usize,
    /// The chance that a pair that is the same thing scores higher than a pair that is not.
    pub separation: f64,
    /// Pairs by score, in tenths: how many there are, and how many are labelled `same`.
    pub tenths: [(usize, usize); 10],
    /// The pairs on the wrong side of [`SAME`].
    pub mistakes: Vec<Mistake>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    pub intent: String,
    pub skill: String,
    pub score: f32,
    pub same: bool,
}

impl Report {
    /// Of the pairs that score at least [`SAME`], how many are the same thing.
    pub fn precision(&self) -> f64 {
        share(self.rightly_found, self.found)
    }

    /// Of the pairs that are the same thing, how many score at least [`SAME`].
    pub fn recall(&self) -> f64 {
        share(self.rightly_found, self.same)
    }

    pub fn first(&self) -> f64 {
        share(self.answered_first, self.asked)
    }
}

impl Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = match self.half {
            Half::Fitting => "the half it was fitted on",
            Half::HeldOut => "the half held out",
        };
        writeln!(
            out,
            "{half}: {} pairs, {} of them the same thing, {} topics",
            self.pairs, self.same, self.topics
        )?;
        writeln!(
            out,
            "  at {SAME}: precision {:.3} ({} of {}), recall {:.3} ({} of {})",
            self.precision(),
            self.rightly_found,
            self.found,
            self.recall(),
            self.rightly_found,
            self.same
        )?;
        writeln!(
            out,
            "  pairs of different topics at {SAME}: {} of {}",
            self.strangers_found, self.strangers
        )?;
        writeln!(
            out,
            "  the right skill comes first: {:.3} ({} of {})",
            self.first(),
            self.answered_first,
            self.asked
        )?;
        writeln!(out, "  the same thing scores higher than what is not: {:.3}", self.separation)?;
        write!(out, "  score and share of the same thing:")?;
        for (index, (count, same)) in self.tenths.iter().enumerate() {
            write!(out, " 0.{index}: {same}/{count}")?;
        }
        writeln!(out)
    }
}

/// Fits the coefficients for an embedder.
pub fn calibrate(embedder: &dyn Embedder) -> Result<Calibration, SkillError> {
    // There are many strangers, and one is like the other.
    let pairs = compare_all(embedder, Half::Fitting, 4)?;
    Ok(fit(&pairs, |_| true))
}

/// How a calibration does on a half of the pairs.
pub fn evaluate(
    embedder: &dyn Embedder,
    calibration: &Calibration,
    half: Half,
) -> Result<Report, SkillError> {
    Ok(report(&compare_all(embedder, half, 1)?, half, |_| *calibration))
}

/// How calibrations do on topics of the fitting half that they were not fitted on: what to look at while changing observations, so that the other
/// half stays unseen.
pub fn cross_validate(embedder: &dyn Embedder) -> Result<Report, SkillError> {
    const FOLDS: usize = 8;
    let pairs = compare_all(embedder, Half::Fitting, 1)?;
    let topics: BTreeSet<&str> = pairs.iter().map(|pair| pair.topic.as_str()).collect();
    let fold_of = |topic: &str| topics.iter().position(|other| *other == topic).unwrap_or(0) % FOLDS;
    let fitted: Vec<Calibration> =
        (0..FOLDS).map(|fold| fit(&pairs, |pair| fold_of(&pair.topic) != fold)).collect();
    Ok(report(&pairs, Half::Fitting, |pair| fitted[fold_of(&pair.topic)]))
}

/// Changes with the labels: what was fitted on others is fitted anew.
pub(crate) fn fingerprint() -> [u8; 32] {
    *blake3::hash(FITTING.as_bytes()).as_bytes()
}

/// The coefficients, as they stand in the source.
pub fn describe_calibration(calibration: &Calibration) -> String {
    let weights: Vec<String> = calibration
        .weights
        .iter()
        .zip(NAMES)
        .map(|(weight, name)| format!("    {weight:.3}, // {name}\n"))
        .collect();
    format!("constant: {:.3}\nweights: [\n{}]", calibration.constant, weights.concat())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Same,
    Related,
    Different,
    /// Not labelled by hand: the skill is of another topic than the intent.
    Stranger,
}

struct Pair {
    topic: String,
    intent: String,
    skill: String,
    label: Label,
    observations: Observations,
    contradicts: bool,
}

fn read(half: Half) -> Vec<LabelledSkill> {
    let text = match half {
        Half::Fitting => FITTING,
        Half::HeldOut => HELD_OUT,
    };
    // The labels are part of the program; `the_labels_can_be_read` holds them to it.
    toml::from_str::<Labels>(text).map(|labels| labels.skill).unwrap_or_default()
}

/// Every labelled pair, and intents that have a skill of their own beside skills of other topics: all of those, or every so-manieth.
fn compare_all(embedder: &dyn Embedder, half: Half, every: usize) -> Result<Vec<Pair>, SkillError> {
    let skills = read(half);
    let mut lexicon = Lexicon::default();
    let mut described: Vec<(Described, Vec<Quantised>)> = Vec::new();
    for skill in &skills {
        let texts = texts_of(&skill.name, &skill.description);
        let vectors = embed_checked(embedder, &texts.iter().map(String::as_str).collect::<Vec<_>>())?;
        described.push((lexicon.describe(&skill.name, &texts), vectors));
    }
    let mut pairs = Vec::new();
    let mut strangers = 0_usize;
    for (index, skill) in skills.iter().enumerate() {
        let labelled = [
            (&skill.same, Label::Same),
            (&skill.related, Label::Related),
            (&skill.different, Label::Different),
        ];
        for (intents, label) in labelled {
            let texts: Vec<&str> = intents.iter().map(String::as_str).collect();
            for (intent, vector) in texts.iter().zip(embed_checked(embedder, &texts)?) {
                let Some(query) = Query::new(intent, vector, &lexicon) else { continue };
                for (other_index, (other, (words, vectors))) in skills.iter().zip(&described).enumerate() {
                    let label = match other_index == index {
                        true => label,
                        false if other.topic != skill.topic && label == Label::Same => Label::Stranger,
                        false => continue,
                    };
                    if label == Label::Stranger {
                        strangers += 1;
                        if !strangers.is_multiple_of(every) {
                            continue;
                        }
                    }
                    let comparison = query.compare(words, vectors, &lexicon);
                    let (intent, topic) = ((*intent).to_owned(), skill.topic.clone());
                    pairs.push(Pair {
                        topic,
                        intent,
                        skill: other.name.clone(),
                        label,
                        observations: comparison.observations,
                        contradicts: comparison.contradiction.is_some(),
                    });
                }
            }
        }
    }
    Ok(pairs)
}

fn fit(pairs: &[Pair], counts: impl Fn(&Pair) -> bool) -> Calibration {
    /// All strangers together count as much as this many times the pairs labelled by hand.
    const STRANGERS: f64 = 1.0;
    let chosen: Vec<&Pair> = pairs.iter().filter(|pair| !pair.contradicts && counts(pair)).collect();
    let strangers = chosen.iter().filter(|pair| pair.label == Label::Stranger).count();
    #[expect(clippy::cast_precision_loss, reason = "thousands of pairs")]
    let importance = STRANGERS * (chosen.len() - strangers) as f64 / strangers.max(1) as f64;
    let examples: Vec<Labelled> = chosen
        .iter()
        .map(|pair| Labelled {
            observations: pair.observations,
            same: pair.label == Label::Same,
            importance: if pair.label == Label::Stranger { importance } else { 1.0 },
        })
        .collect();
    Calibration::fit(&examples)
}

fn report(pairs: &[Pair], half: Half, calibration: impl Fn(&Pair) -> Calibration) -> Report {
    let scored: Vec<(&Pair, f32)> = pairs
        .iter()
        .map(|pair| (pair, calibration(pair).score_parts(&pair.observations, pair.contradicts)))
        .collect();
    let (strangers, labelled): (Vec<_>, Vec<_>) =
        scored.iter().partition(|(pair, _)| pair.label == Label::Stranger);
    let mut tenths = [(0, 0); 10];
    let mut mistakes = Vec::new();
    let (mut found, mut rightly_found) = (0, 0);
    for (pair, score) in &labelled {
        let same = pair.label == Label::Same;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10")]
        let tenth = &mut tenths[((score * 10.0) as usize).min(9)];
        tenth.0 += 1;
        tenth.1 += usize::from(same);
        found += usize::from(*score >= SAME);
        rightly_found += usize::from(*score >= SAME && same);
        if (*score >= SAME) != same {
            let (intent, skill) = (pair.intent.clone(), pair.skill.clone());
            mistakes.push(Mistake { intent, skill, score: *score, same });
        }
    }
    mistakes.sort_by(|left, right| right.score.total_cmp(&left.score));
    let same: Vec<_> = labelled.iter().filter(|(pair, _)| pair.label == Label::Same).collect();
    let answered_first = same
        .iter()
        .filter(|(pair, score)| {
            !strangers.iter().any(|(other, better)| other.intent == pair.intent && better >= score)
        })
        .count();
    Report {
        half,
        pairs: labelled.len(),
        topics: labelled.iter().map(|(pair, _)| &pair.topic).collect::<BTreeSet<_>>().len(),
        same: same.len(),
        found,
        rightly_found,
        strangers: strangers.len(),
        strangers_found: strangers.iter().filter(|(_, score)| *score >= SAME).count(),
        asked: same.len(),
        answered_first,
        separation: separation(&labelled),
        tenths,
        mistakes,
    }
}

fn separation(scored: &[(&Pair, f32)]) -> f64 {
    let (same, others): (Vec<_>, Vec<_>) =
        scored.iter().copied().partition(|(pair, _)| pair.label == Label::Same);
    let higher = same.iter().map(|(_, score)| others.iter().filter(|(_, other)| other < score).count()).sum();
    share(higher, same.len() * others.len())
}

#[expect(clippy::cast_precision_loss, reason = "thousands of pairs")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_labels_can_be_read_and_no_topic_is_in_both_halves() {
        let halves = [Half::Fitting, Half::HeldOut].map(read);
        let [fitting, held_out] = halves
            .each_ref()
            .map(|half| half.iter().map(|skill| skill.topic.as_str()).collect::<BTreeSet<_>>());
        assert!(fitting.len() > 25 && held_out.len() > 25);
        assert_eq!(fitting.intersection(&held_out).count(), 0);
    }
}
