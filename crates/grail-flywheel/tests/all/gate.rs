//! The gate: what it refuses, each for its own reason, and what it lets through.

use std::path::Path;

use grail_flywheel::comparison::{Comparison, compare};
use grail_flywheel::dataset::build::prompt_hash;
use grail_flywheel::dataset::{Draft, freeze};
use grail_flywheel::evaluation::{Control, Evaluation};
use grail_flywheel::gate::{Case, Lineage, Margins, Refusal, Verdict, decide, lineage_of};
use grail_flywheel::phase::{Phase, PhaseState, Phases};
use grail_flywheel::suite::Suite;
use tempfile::TempDir;

use crate::arms::{control, evaluation, suite};
use crate::dataset::{draft, positive};
use crate::phase::{draft as begun, trained};

/// A dataset that was built against all of the suite.
fn hold_out(draft: &mut Draft, suite: &Suite) {
    let prompts = suite.prompts.iter();
    draft.sources.held_out_prompts = prompts.map(|prompt| prompt_hash(&prompt.prompt)).collect();
    draft.sources.held_out_prompts.sort();
}

/// A phase that the gate lets through: every test spoils one thing.
struct Trial {
    _folder: TempDir,
    suite: Suite,
    phase: Phase,
    current: Evaluation,
    candidate: Evaluation,
    controls: Vec<Evaluation>,
    lineage: Lineage,
    served: Option<String>,
}

impl Trial {
    fn new() -> Self {
        Self::with(hold_out)
    }

    /// Trained on a dataset that `change` has changed.
    fn with(change: impl FnOnce(&mut Draft, &Suite)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let suite = suite(60);
        let mut draft = draft();
        change(&mut draft, &suite);
        let frozen = freeze(folder.path(), &draft).unwrap();
        let phase = trained(folder.path(), Some(&frozen.manifest.hash), "weights");
        let base = evaluation("base", &suite, &[0, 1], |place, _| place % 10 == 0);
        let current = control(base, Control::Base);
        let controls = vec![control(
            evaluation("told", &suite, &[0, 1], |place, _| place % 5 == 0),
            Control::BaseWithSkill,
        )];
        let lineage = lineage_of(folder.path(), &phase, &suite);
        let mut trial = Self {
            candidate: evaluation("p1", &suite, &[0, 1], |place, _| place % 10 != 1),
            _folder: folder,
            suite,
            phase,
            current,
            controls,
            lineage,
            served: None,
        };
        trial.sign();
        trial
    }

    /// Lets the phase have answered as the candidate.
    fn sign(&mut self) {
        self.candidate.arm.phase = Some(self.phase.id.clone());
        self.candidate.arm.identity = self.phase.identity.clone().unwrap_or_default();
        self.candidate.hash = self.candidate.content_hash();
    }

    fn answers(&mut self, passes: impl Fn(usize, u64) -> bool) {
        self.candidate = evaluation("p1", &self.suite, &[0, 1], passes);
        self.sign();
    }

    fn comparison(&self) -> Comparison {
        compare(&self.current, &self.candidate).unwrap()
    }

    fn decide(&self) -> Verdict {
        self.decide_with(&Margins::default())
    }

    fn decide_with(&self, margins: &Margins) -> Verdict {
        let comparison = self.comparison();
        let case = Case {
            suite: &self.suite,
            phase: &self.phase,
            current: &self.current,
            candidate: &self.candidate,
            comparison: &comparison,
            controls: &self.controls,
            lineage: &self.lineage,
            served: self.served.as_deref(),
        };
        decide(&case, margins)
    }

    /// Lets the phase have begun with another one, which learned from a dataset that `change` has changed.
    fn begin_with(&mut self, change: impl FnOnce(&mut Draft, &Suite)) -> Phase {
        let mut learned = draft();
        change(&mut learned, &self.suite);
        let frozen = freeze(self._folder.path(), &learned).unwrap();
        self.begin_with_phase(trained(self._folder.path(), Some(&frozen.manifest.hash), "before"))
    }

    fn begin_with_phase(&mut self, parent: Phase) -> Phase {
        self.phase.parent = Some(parent.id.clone());
        self.lineage = lineage_of(self._folder.path(), &self.phase, &self.suite);
        parent
    }

    /// The one reason for which it is refused.
    #[track_caller]
    fn refusal(&self) -> Refusal {
        let verdict = self.decide();
        assert!(!verdict.promote);
        assert_eq!(verdict.refusals.len(), 1, "{:?}", verdict.refusals);
        verdict.refusals[0].clone()
    }
}

#[test]
fn a_win_with_a_proof_is_promoted() {
    let verdict = Trial::new().decide();
    assert_eq!(verdict, Verdict { promote: true, refusals: Vec::new() });
}

#[test]
fn what_is_no_better_is_refused() {
    let mut trial = Trial::new();
    // Better on three prompts of sixty, which may be chance.
    trial.answers(|place, _| place % 10 == 0 || place < 4);
    let refusal = trial.refusal();
    assert!(matches!(refusal, Refusal::NoWin { estimate, .. } if estimate > 0.0), "{refusal:?}");
    assert!(refusal.to_string().starts_with("it is no win: +5 points"), "{refusal}");
}

#[test]
fn an_overfitted_adapter_is_refused() {
    // It says the same thing whatever it is asked: right for the prompts that happen to want it.
    let mut trial = Trial::new();
    trial.answers(|place, _| place == 0);
    let verdict = trial.decide();
    assert!(
        verdict
            .refusals
            .iter()
            .any(|refusal| matches!(refusal, Refusal::NoWin { estimate, .. } if *estimate < 0.0))
    );
}

#[test]
fn a_random_adapter_is_refused() {
    let mut trial = Trial::new();
    trial.answers(|_, _| false);
    let verdict = trial.decide();
    assert!(!verdict.promote);
    assert!(matches!(verdict.refusals[0], Refusal::NoWin { .. }), "{:?}", verdict.refusals);
}

#[test]
fn a_kind_that_loses_is_not_made_up_for_by_others() {
    let mut trial = Trial::new();
    // The prompts are sorted: thirty services, then thirty views. Services are all lost, views all won.
    trial.answers(|place, _| place >= 30);
    let refusal = trial.refusal();
    assert!(
        matches!(&refusal, Refusal::KindLoses { kind, loss, .. } if kind == "service" && (loss - 0.1).abs() < 1e-9),
        "{refusal:?}"
    );
    assert_eq!(refusal.to_string(), "`service` loses 10 points, more than 5");
    let generous = Margins { kind_loss: 0.1, ..Margins::default() };
    assert!(trial.decide_with(&generous).promote);
}

#[test]
fn a_phase_of_unknown_lineage_is_refused_whatever_its_score() {
    let mut trial = Trial::new();
    trial.answers(|_, _| true);
    let phase = trial.phase.clone();
    let mut check = |phase: Phase, expected: &str| {
        trial.lineage = lineage_of(trial._folder.path(), &phase, &trial.suite);
        trial.phase = phase;
        let refusal = trial.refusal();
        assert!(matches!(refusal, Refusal::UnknownLineage { .. }));
        assert!(refusal.to_string().contains(expected), "{refusal}");
    };
    check(Phase { dataset: None, ..phase.clone() }, "it names no dataset");
    check(Phase { dataset: Some("ab".repeat(32)), ..phase.clone() }, "there is no dataset");
    check(Phase { dataset: Some("abab".to_owned()), ..phase }, "not the whole hash");
}

#[test]
fn what_it_began_with_is_judged_like_its_own() {
    let mut trial = Trial::new();
    trial.begin_with(hold_out);
    assert!(trial.decide().promote, "{:?}", trial.decide().refusals);
    trial.begin_with(|_, _| {});
    assert_eq!(trial.refusal(), Refusal::NotHeldOut { missing: 60, of: 60 });
    trial.begin_with(|draft, suite| {
        hold_out(draft, suite);
        draft.train.push(positive(&suite.prompts[3].prompt, "class LeakedService:\n    pass\n"));
    });
    let refusal = trial.refusal();
    assert!(matches!(&refusal, Refusal::Overlap { count: 1, .. }), "{refusal:?}");
    let unknown = trial.begin_with_phase(trained(trial._folder.path(), None, "before"));
    assert_eq!(
        trial.refusal().to_string(),
        format!(
            "nobody knows what it learned: of `{}`, which it began with: it names no dataset",
            unknown.id
        )
    );
}

#[test]
fn what_its_parents_began_with_is_judged_as_well() {
    let mut trial = Trial::new();
    let phases = Phases::new(trial._folder.path());
    let unknown = trained(trial._folder.path(), None, "before");
    let dataset = trial.phase.dataset.clone();
    let child_of =
        |parent: &str| phases.begin(Phase { parent: Some(parent.to_owned()), ..begun(dataset.as_deref()) });
    trial.begin_with_phase(child_of(&unknown.id).unwrap());
    let refusal = trial.refusal().to_string();
    assert!(refusal.contains(&unknown.id) && refusal.ends_with("it names no dataset"), "{refusal}");
    // Two that began with each other end nowhere.
    trial.begin_with_phase(child_of(&trial.phase.id).unwrap());
    let refusal = trial.refusal().to_string();
    assert!(refusal.ends_with("it began with itself"), "{refusal}");
    trial.begin_with_phase(Phase { id: "p77-000000".to_owned(), ..unknown });
    let refusal = trial.refusal().to_string();
    assert!(refusal.ends_with("there is no phase `p77-000000`"), "{refusal}");
}

#[test]
fn an_adapter_that_no_phase_made_is_no_lineage() {
    let mut trial = Trial::new();
    trial.phase.foreign_adapter = Some("ours".to_owned());
    trial.lineage = lineage_of(trial._folder.path(), &trial.phase, &trial.suite);
    assert_eq!(
        trial.refusal().to_string(),
        "nobody knows what it learned: it began with the adapter of `ours`, which no phase has made"
    );
}

#[test]
fn a_dataset_that_is_not_what_it_was_is_no_lineage() {
    let mut trial = Trial::new();
    let hash = trial.phase.dataset.clone().unwrap();
    let path = trial._folder.path().join(".grail/datasets").join(&hash).join("train.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("MailService", "OtherService")).unwrap();
    trial.lineage = lineage_of(trial._folder.path(), &trial.phase, &trial.suite);
    assert!(trial.refusal().to_string().contains("`train.jsonl` of dataset"));
}

#[test]
fn a_phase_that_learned_what_it_is_asked_is_refused_whatever_its_score() {
    let mut trial = Trial::with(|draft, suite| {
        hold_out(draft, suite);
        // The manifest says that the suite was held out, and an example shows that it was not.
        let said = format!("Please, {} now!", suite.prompts[3].prompt.to_lowercase());
        draft.train.push(positive(&said, "class LeakedService:\n    pass\n"));
    });
    trial.answers(|_, _| true);
    let refusal = trial.refusal();
    assert!(
        matches!(&refusal, Refusal::Overlap { count: 1, first } if first.similarity >= 0.7),
        "{refusal:?}"
    );
}

#[test]
fn a_dataset_that_was_not_built_against_the_suite_is_refused() {
    let trial = Trial::with(|draft, suite| {
        draft.sources.held_out_prompts = vec![prompt_hash(&suite.prompts[0].prompt)];
    });
    assert_eq!(trial.refusal(), Refusal::NotHeldOut { missing: 59, of: 60 });
}

#[test]
fn a_swapped_model_behind_the_same_name_is_refused() {
    let mut trial = Trial::new();
    let phase = trial.phase.clone();
    trial.candidate.arm.identity = "8899aabbccddeeff".to_owned();
    trial.candidate.hash = trial.candidate.content_hash();
    let refusal = trial.refusal();
    assert_eq!(
        refusal.to_string(),
        format!("`8899aabbccddeeff` answered, and the phase is `{}`", phase.identity.clone().unwrap())
    );
    // The same where another server is asked now, where another phase answered, and where nobody knows who the phase is.
    let mut trial = Trial::new();
    trial.served = Some("8899aabbccddeeff".to_owned());
    assert!(matches!(trial.refusal(), Refusal::WrongIdentity { .. }));
    let mut trial = Trial::new();
    trial.candidate.arm.phase = Some("p7-000000".to_owned());
    trial.candidate.hash = trial.candidate.content_hash();
    assert!(matches!(trial.refusal(), Refusal::WrongIdentity { .. }));
    let mut trial = Trial::new();
    trial.phase.identity = None;
    trial.sign();
    assert!(matches!(trial.refusal(), Refusal::WrongIdentity { .. }));
}

#[test]
fn a_small_suite_decides_nothing() {
    let trial = Trial::new();
    let margins = Margins { least_prompts: 100, ..Margins::default() };
    assert_eq!(trial.decide_with(&margins).refusals, [Refusal::SmallSuite { prompts: 60, least: 100 }]);
}

#[test]
fn controls_have_to_be_there() {
    let mut trial = Trial::new();
    trial.controls.clear();
    assert_eq!(trial.refusal(), Refusal::MissingControl { control: Control::BaseWithSkill });
    let mut trial = Trial::new();
    trial.controls[0].answers.pop();
    assert_eq!(trial.refusal(), Refusal::MissingControl { control: Control::BaseWithSkill });
}

#[test]
fn evaluations_of_different_questions_or_judges_are_refused() {
    let spoil = |change: fn(&mut Evaluation)| {
        let mut trial = Trial::new();
        change(&mut trial.candidate);
        trial.candidate.hash = trial.candidate.content_hash();
        assert!(matches!(trial.refusal(), Refusal::NotComparable { .. }));
    };
    spoil(|candidate| drop(candidate.rules.insert("view-conventions".to_owned(), "other".to_owned())));
    spoil(|candidate| candidate.asking.temperature = 0.8);
    spoil(|candidate| candidate.layers.push("types".to_owned()));
    spoil(|candidate| drop(candidate.answers.pop()));
    let mut forged = Trial::new();
    forged.candidate.answers[0].first_try_passed ^= true;
    assert!(matches!(forged.refusal(), Refusal::NotComparable { .. }));
}

#[test]
fn a_phase_without_an_adapter_is_refused() {
    let mut trial = Trial::new();
    trial.phase.state = PhaseState::Failed { reason: "the loss is not a number".to_owned() };
    assert_eq!(
        trial.refusal().to_string(),
        "the phase cannot answer: its training failed: the loss is not a number"
    );
}

#[test]
fn all_reasons_are_told_at_once() {
    let mut trial = Trial::new();
    trial.answers(|_, _| false);
    trial.controls.clear();
    trial.lineage =
        lineage_of(Path::new("/nowhere"), &Phase { dataset: None, ..trial.phase.clone() }, &trial.suite);
    assert!(trial.decide().refusals.len() >= 4);
}
