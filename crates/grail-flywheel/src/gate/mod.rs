//! Whether a phase may answer from now on, and if not, every reason why.
//!
//! The gate believes numbers only if it knows what they are numbers of: who answered, what was learned, and that nothing of the suite was
//! learned. A better score does not make up for any of that. It decides and changes nothing; whoever insists says so in the registry's history.

mod lineage;

use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::evaluation::{Control, Evaluation};
use crate::phase::{Phase, PhaseState};
use crate::suite::Suite;

pub use lineage::{Lineage, Overlap, lineage_of};

/// How much has to be won, and how little may be lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Margins {
    /// What any kind may lose: 0.05 is five points.
    pub kind_loss: f64,
    /// A suite with fewer prompts decides nothing.
    pub least_prompts: usize,
    /// McNemar's mid-p has to be below this, too.
    pub chance: f64,
}

/// What the gate looks at.
#[derive(Clone, Copy)]
pub struct Case<'c> {
    pub suite: &'c Suite,
    /// The phase that wants to answer.
    pub phase: &'c Phase,
    /// How the one that answers now did, be it a phase or the base.
    pub current: &'c Evaluation,
    pub candidate: &'c Evaluation,
    /// Of the two, `current` before and `candidate` after.
    pub comparison: &'c Comparison,
    /// Evaluations of controls on the same suite; `current` may be one of them.
    pub controls: &'c [Evaluation],
    pub lineage: &'c Lineage,
    /// Who a server with the phase's base and adapter said it is, where that is known otherwise than from the phase.
    pub served: Option<&'c str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether the phase may answer.
    pub promote: bool,
    /// Why not; none if it may.
    pub refusals: Vec<Refusal>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Refusal {
    /// The difference could be chance, or is none.
    NoWin {
        estimate: f64,
        low: f64,
        chance: f64,
    },
    /// A kind got worse.
    KindLoses {
        kind: String,
        loss: f64,
        margin: f64,
    },
    /// Nobody knows what was learned.
    UnknownLineage {
        reason: String,
    },
    /// Examples that were learned from are near prompts of the suite.
    Overlap {
        count: usize,
        first: Overlap,
    },
    /// A dataset was built without holding the suite back: the phase's own, or one of a phase that it began with.
    NotHeldOut {
        missing: usize,
        of: usize,
    },
    /// Somebody else answered.
    WrongIdentity {
        expected: String,
        answered: String,
    },
    /// The phase has no adapter that it could have answered with.
    NotTrained {
        state: String,
    },
    SmallSuite {
        prompts: usize,
        least: usize,
    },
    MissingControl {
        control: Control,
    },
    /// The evaluations are not of the same prompts, seeds, questions or judges.
    NotComparable {
        reason: String,
    },
}

impl Default for Margins {
    fn default() -> Self {
        Self { kind_loss: 0.05, least_prompts: 40, chance: 0.05 }
    }
}

/// Decides, and tells all reasons at once.
pub fn decide(case: &Case<'_>, margins: &Margins) -> Verdict {
    let mut refusals = Vec::new();
    check_phase(case, &mut refusals);
    check_identity(case, &mut refusals);
    check_evaluations(case, &mut refusals);
    check_lineage(case, &mut refusals);
    check_numbers(case.comparison, case.suite, margins, &mut refusals);
    Verdict { promote: refusals.is_empty(), refusals }
}

fn check_phase(case: &Case<'_>, refusals: &mut Vec<Refusal>) {
    if case.phase.is_usable() {
        return;
    }
    let state = match &case.phase.state {
        PhaseState::Training => "it is being trained".to_owned(),
        PhaseState::Failed { reason } => format!("its training failed: {reason}"),
        PhaseState::Trained => "it has no adapter".to_owned(),
    };
    refusals.push(Refusal::NotTrained { state });
}

fn check_identity(case: &Case<'_>, refusals: &mut Vec<Refusal>) {
    let answered = &case.candidate.arm.identity;
    let expected = case.served.or(case.phase.identity.as_deref()).unwrap_or_default();
    let is_phase = case.candidate.arm.phase.as_deref() == Some(case.phase.id.as_str());
    if expected.is_empty()
        || answered != expected
        || !is_phase
        || case.phase.identity.as_deref() != Some(expected)
    {
        refusals.push(Refusal::WrongIdentity { expected: expected.to_owned(), answered: answered.clone() });
    }
}

fn check_evaluations(case: &Case<'_>, refusals: &mut Vec<Refusal>) {
    let (current, candidate, comparison) = (case.current, case.candidate, case.comparison);
    let mut not_comparable = |reason: String| refusals.push(Refusal::NotComparable { reason });
    if comparison.before.evaluation != current.hash || comparison.after.evaluation != candidate.hash {
        not_comparable("the comparison is of other evaluations".to_owned());
    }
    for evaluation in [current, candidate] {
        if evaluation.content_hash() != evaluation.hash {
            not_comparable(format!("the evaluation of `{}` is not what it was", evaluation.arm.name));
        }
        if let Some(gap) = evaluation.gaps(case.suite).first() {
            not_comparable(format!("the evaluation of `{}`: {gap}", evaluation.arm.name));
        }
    }
    if (&current.rules, &current.layers) != (&candidate.rules, &candidate.layers) {
        not_comparable("they were judged by different rules or layers".to_owned());
    }
    if current.asking != candidate.asking || current.seeds != candidate.seeds {
        not_comparable("they were asked in different ways or with other seeds".to_owned());
    }
    for control in [Control::Base, Control::BaseWithSkill] {
        let of_base = |evaluation: &&Evaluation| {
            evaluation.arm.control == Some(control)
                && evaluation.suite.hash == case.suite.hash
                && evaluation.gaps(case.suite).is_empty()
        };
        if !case.controls.iter().chain([current]).any(|evaluation| of_base(&evaluation)) {
            refusals.push(Refusal::MissingControl { control });
        }
    }
}

fn check_lineage(case: &Case<'_>, refusals: &mut Vec<Refusal>) {
    match case.lineage {
        Lineage::Unknown { reason } => refusals.push(Refusal::UnknownLineage { reason: reason.clone() }),
        Lineage::Known { dataset, missing, overlaps, .. } => {
            if case.phase.dataset.as_deref() != Some(dataset) {
                let reason =
                    format!("the lineage is of dataset `{dataset}`, which the phase was not trained on");
                refusals.push(Refusal::UnknownLineage { reason });
            }
            if *missing > 0 {
                refusals.push(Refusal::NotHeldOut { missing: *missing, of: case.suite.prompts.len() });
            }
            if let Some(first) = overlaps.first() {
                refusals.push(Refusal::Overlap { count: overlaps.len(), first: first.clone() });
            }
        }
    }
}

fn check_numbers(comparison: &Comparison, suite: &Suite, margins: &Margins, refusals: &mut Vec<Refusal>) {
    if suite.prompts.len() < margins.least_prompts || comparison.prompts < margins.least_prompts {
        let prompts = suite.prompts.len().min(comparison.prompts);
        refusals.push(Refusal::SmallSuite { prompts, least: margins.least_prompts });
    }
    let (difference, chance) = (comparison.difference, comparison.mcnemar.mid_p);
    if !comparison.is_win() || chance >= margins.chance {
        refusals.push(Refusal::NoWin { estimate: difference.estimate, low: difference.interval.low, chance });
    }
    for part in &comparison.kinds {
        // Differences of shares are not exact: a loss of exactly the margin is none.
        if part.difference.estimate < -margins.kind_loss - 1e-9 {
            let loss = -part.difference.estimate;
            refusals.push(Refusal::KindLoses { kind: part.name.clone(), loss, margin: margins.kind_loss });
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let points = |share: &f64| (share * 1000.0).round() / 10.0;
        match self {
            Self::NoWin { estimate, low, chance } => write!(
                formatter,
                "it is no win: {:+} points, and as little as {:+} are possible (mid-p {chance:.3})",
                points(estimate),
                points(low)
            ),
            Self::KindLoses { kind, loss, margin } => {
                write!(formatter, "`{kind}` loses {} points, more than {}", points(loss), points(margin))
            }
            Self::UnknownLineage { reason } => write!(formatter, "nobody knows what it learned: {reason}"),
            Self::Overlap { count, first } => write!(
                formatter,
                "{count} of the examples it learned from are near prompts of the suite: `{}` is {} % like `{}`",
                first.example,
                (first.similarity * 100.0).floor(),
                first.prompt
            ),
            Self::NotHeldOut { missing, of } => write!(
                formatter,
                "what it learned was chosen without holding back {missing} of the {of} prompts of the suite"
            ),
            Self::WrongIdentity { expected, answered } => {
                let expected = if expected.is_empty() { "nobody known" } else { expected };
                write!(formatter, "`{answered}` answered, and the phase is `{expected}`")
            }
            Self::NotTrained { state } => write!(formatter, "the phase cannot answer: {state}"),
            Self::SmallSuite { prompts, least } => {
                write!(formatter, "{prompts} prompts decide nothing; there have to be {least}")
            }
            Self::MissingControl { control } => {
                let arm = match control {
                    Control::Base => "the base model",
                    Control::BaseWithSkill => "the base model with the skill in its prompt",
                };
                write!(formatter, "there is no evaluation of {arm} to compare with")
            }
            Self::NotComparable { reason } => {
                write!(formatter, "the evaluations cannot be compared: {reason}")
            }
        }
    }
}
