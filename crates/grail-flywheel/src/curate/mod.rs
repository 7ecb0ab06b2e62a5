//! Examples to those that deserve it: true today, told once, in proportion.
//!
//! Nothing disappears without a reason, and every number can be explained. What judges the code is injected. The same examples give the
//! same result in whatever order they come.

mod balance;
mod counts;
mod duplicates;
mod reason;
mod tools;
mod validate;
mod vary;

use std::collections::BTreeMap;

use serde::Serialize;

pub use counts::{Counts, Share};
pub use reason::Reason;
pub use validate::{ProgramRunner, Ran, RuleValidator};
pub use vary::rewordings;

use crate::event::ReviewVerdict;
use crate::example::Example;
use crate::extract::Review;

#[derive(Clone, Debug, PartialEq)]
pub struct CurateSettings {
    /// Two examples whose texts are this alike are one. Between 0 and 1.
    pub near_duplicates: f64,
    /// No session gives more than this.
    pub session_cap: usize,
    /// A category with less than this share of the weight is not learned: it is raised, as far as `most_repeats` allows.
    pub floor: f64,
    /// A category with more than this share is lowered.
    pub ceiling: f64,
    /// How much balancing may raise a weight.
    pub most_repeats: f64,
    /// Rewordings of each request; 0 makes none.
    pub variations: usize,
    /// Whether one of the variations is about something else: names are changed in request and answer alike.
    pub renames: bool,
    /// What people decided, by example.
    pub reviews: BTreeMap<String, Review>,
}

/// Says whether an example is true today.
pub trait Validator: Sync {
    fn validate(&self, example: &Example) -> Result<(), Reason>;

    /// All at once, for whoever can do it cheaper: one answer for each, in their order.
    fn validate_all(&self, examples: &[Example]) -> Vec<Result<(), Reason>> {
        examples.iter().map(|example| self.validate(example)).collect()
    }

    /// What could not be judged, as sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What is left, and what became of the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curated {
    /// By name.
    pub kept: Vec<Example>,
    pub dropped: Vec<(Example, Reason)>,
    pub before: Counts,
    pub after: Counts,
    /// How many were dropped, by the name of the reason.
    pub reasons: BTreeMap<String, usize>,
    /// Rewordings among what is kept, and those that did not hold.
    pub variations: usize,
    pub failed_variations: usize,
    /// What could not be judged, and categories that stay too small whatever is done, as sentences.
    pub warnings: Vec<String>,
}

impl Default for CurateSettings {
    fn default() -> Self {
        Self {
            near_duplicates: 0.85,
            session_cap: 40,
            floor: 0.05,
            ceiling: 0.5,
            most_repeats: 4.0,
            variations: 0,
            renames: false,
            reviews: BTreeMap::new(),
        }
    }
}

/// How the marks begin that stand in the place of secrets.
const REDACTED: &str = "[redacted:";

/// Drops what is not true, not new or too much, and balances the rest.
pub fn curate(examples: Vec<Example>, settings: &CurateSettings, validator: &dyn Validator) -> Curated {
    let mut curated = Curated { before: Counts::of(&examples), ..Curated::default() };
    let mut examples = examples;
    examples.sort_by(|one, other| sort_key(one).cmp(&sort_key(other)));
    let reviewed = review(examples, settings, &mut curated);
    let valid = validate(reviewed, validator, &mut curated);
    let ranked = rank(valid);
    let exact = duplicates::drop_exact(ranked, &mut curated.dropped);
    let new = duplicates::drop_near(exact, settings.near_duplicates, &mut curated.dropped);
    let mut kept = cap(new, settings.session_cap, &mut curated.dropped);
    vary::add(&mut kept, settings, validator, &mut curated);
    let mut kept: Vec<Example> = kept.into_iter().map(|ranked| ranked.example).collect();
    kept.sort_by(|one, other| sort_key(one).cmp(&sort_key(other)));
    curated.warnings = validator.notes();
    curated.warnings.extend(balance::balance(&mut kept, settings));
    curated.after = Counts::of(&kept);
    curated.kept = kept;
    for (_, reason) in &curated.dropped {
        *curated.reasons.entry(reason.name().to_owned()).or_default() += 1;
    }
    curated
}

/// An example with what decides which of two is kept.
struct Ranked {
    example: Example,
    is_accepted: bool,
}

fn sort_key(example: &Example) -> (&str, &Option<String>, &Vec<uuid::Uuid>) {
    (&example.id, &example.origin.session, &example.origin.events)
}

/// What people decided: no is no, and a corrected answer is the answer.
fn review(examples: Vec<Example>, settings: &CurateSettings, curated: &mut Curated) -> Vec<Ranked> {
    let mut left = Vec::with_capacity(examples.len());
    for mut example in examples {
        let review = settings.reviews.get(&example.id);
        match review.map(|review| review.verdict) {
            Some(ReviewVerdict::Reject) => {
                curated.dropped.push((example, Reason::Rejected));
                continue;
            }
            Some(ReviewVerdict::Correct) => {
                if let Some(corrected) = review.and_then(|review| review.corrected.clone()) {
                    example.chosen = Some(corrected);
                    example.calls.clear();
                    example.id = example.content_id();
                }
            }
            Some(ReviewVerdict::Accept | ReviewVerdict::Withdraw) | None => {}
        }
        let is_accepted = review.is_some_and(|review| review.verdict != ReviewVerdict::Withdraw);
        left.push(Ranked { example, is_accepted });
    }
    left
}

fn validate(ranked: Vec<Ranked>, validator: &dyn Validator, curated: &mut Curated) -> Vec<Ranked> {
    let (accepted, examples): (Vec<bool>, Vec<Example>) =
        ranked.into_iter().map(|ranked| (ranked.is_accepted, ranked.example)).unzip();
    let verdicts = validator.validate_all(&examples);
    let mut valid = Vec::with_capacity(examples.len());
    for ((example, is_accepted), verdict) in examples.into_iter().zip(accepted).zip(verdicts) {
        let verdict = if is_redacted(&example) { Err(Reason::Redacted) } else { verdict };
        match verdict {
            Ok(()) => valid.push(Ranked { example, is_accepted }),
            Err(reason) => curated.dropped.push((example, reason)),
        }
    }
    valid
}

fn is_redacted(example: &Example) -> bool {
    let is_marked = |text: &str| text.contains(REDACTED);
    example.chosen.as_deref().is_some_and(is_marked)
        || example.calls.iter().any(|call| is_marked(&call.arguments.to_string()))
}

/// The best first: what a person accepted, then what weighs most. The rest of the order is arbitrary, and always the same.
fn rank(mut ranked: Vec<Ranked>) -> Vec<Ranked> {
    ranked.sort_by(|one, other| {
        let weights = other.example.weight.total().total_cmp(&one.example.weight.total());
        let accepted = other.is_accepted.cmp(&one.is_accepted);
        accepted.then(weights).then_with(|| sort_key(&one.example).cmp(&sort_key(&other.example)))
    });
    ranked
}

/// No session speaks for all.
fn cap(ranked: Vec<Ranked>, cap: usize, dropped: &mut Vec<(Example, Reason)>) -> Vec<Ranked> {
    let mut given: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept = Vec::with_capacity(ranked.len());
    for one in ranked {
        let Some(session) = one.example.origin.session.clone() else {
            kept.push(one);
            continue;
        };
        let given = given.entry(session).or_default();
        *given += 1;
        if *given <= cap {
            kept.push(one);
        } else {
            dropped.push((one.example, Reason::SessionCap { cap }));
        }
    }
    kept
}
