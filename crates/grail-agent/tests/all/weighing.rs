//! Phases on the scales: what is promoted, and every refusal.

use grail_agent::evaluate::EvaluateSettings;
use grail_agent::promotion::{Scales, WeighSettings, Weighed, weigh};
use grail_flywheel::dataset::build::prompt_hash;
use grail_flywheel::dataset::{Draft, freeze};
use grail_flywheel::example::{Example, ExampleType, Origin, Weight};
use grail_flywheel::phase::{Base, Phase, PhaseState, Phases, hash_adapter};
use grail_flywheel::suite::Suite;

use crate::pupil::{Pupil, Say, suite};
use crate::sample::{Sample, write};

/// Who is weighed, and how it came about.
struct Trial {
    sample: Sample,
    suite: Suite,
    phase: Phase,
}

fn example(request: &str) -> Example {
    Example {
        id: blake3_of(request),
        example_type: ExampleType::Positive,
        artifact: Some("component".to_owned()),
        rules: Vec::new(),
        tools: Vec::new(),
        context: None,
        window: Vec::new(),
        request: request.to_owned(),
        chosen: Some("x = 1\n".to_owned()),
        calls: Vec::new(),
        rejected: None,
        problems: Vec::new(),
        path: None,
        weight: Weight { base: 1.0, outcome: 1.0, balance: 1.0 },
        origin: Origin::default(),
    }
}

fn blake3_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Trial {
    /// A phase that was trained on these requests.
    fn new(requests: &[&str]) -> Self {
        let sample = Sample::new(&[]);
        let suite = suite(48);
        let mut draft =
            Draft { train: requests.iter().map(|request| example(request)).collect(), ..Draft::default() };
        draft.sources.held_out_prompts =
            suite.prompts.iter().map(|prompt| prompt_hash(&prompt.prompt)).collect();
        draft.sources.held_out_prompts.sort();
        let frozen = freeze(sample.root(), &draft).unwrap();
        let phase = trained(&sample, Some(frozen.manifest.hash));
        Self { sample, suite, phase }
    }

    /// Weighs it: the base knows a quarter, and the phase what `knows` says.
    async fn weigh(&self, knows: impl Fn(&str) -> bool + Send + Sync + 'static) -> Weighed {
        let pupil = |knows: Box<dyn Fn(&str) -> bool + Send + Sync>| {
            Pupil::new(
                &self.sample,
                &self.suite,
                move |id, _| if knows(id) { Say::Right } else { Say::Broken },
            )
        };
        let mut candidate = pupil(Box::new(knows)).contender(&self.phase.id).in_phase(&self.phase.id);
        candidate.identity = self.phase.identity.clone().unwrap();
        let base = pupil(Box::new(|id: &str| id.ends_with('4') || id.ends_with('5'))).contender("base");
        let scales = Scales { candidate, base, current: None };
        let evaluate = EvaluateSettings { types: false, render: false, ..EvaluateSettings::with_seeds(1) };
        let settings = WeighSettings { evaluate, ..WeighSettings::default() };
        weigh(&self.sample.workspace, &self.suite, &self.phase, &scales, &settings, &|_, _| {}).await.unwrap()
    }
}

fn trained(sample: &Sample, dataset: Option<String>) -> Phase {
    let phases = Phases::new(sample.root());
    let begun = Phase {
        format: 0,
        id: String::new(),
        parent: None,
        foreign_adapter: None,
        base: Base { name: "smollm2-135m".to_owned(), sha256: "0123456789abcdef0123".to_owned() },
        adapter: None,
        identity: None,
        dataset,
        trainer: "local".to_owned(),
        hyper_parameters: serde_json::Value::Null,
        seed: 0,
        machine: Default::default(),
        started: String::new(),
        ended: None,
        curves: Vec::new(),
        evaluations: Vec::new(),
        refusals: Vec::new(),
        state: PhaseState::Training,
    };
    let mut phase = phases.begin(begun).unwrap();
    let folder = phases.adapter_folder(&phase.id);
    write(&folder, "adapters.safetensors", "weights");
    phase.adapter = Some(hash_adapter(&folder).unwrap());
    phase.identity = Some("0123456789abcdef+fedcba9876543210".to_owned());
    phase.state = PhaseState::Trained;
    phases.save(&phase).unwrap();
    phase
}

fn reasons(weighed: &Weighed) -> Vec<String> {
    weighed.verdict.refusals.iter().map(ToString::to_string).collect()
}

const LEARNED: [&str; 2] = ["a lamp badge component with colour", "a map legend component with scale"];

#[tokio::test]
async fn a_phase_that_wins_on_what_it_has_never_seen_answers_from_then_on() {
    let trial = Trial::new(&LEARNED);
    let weighed = trial.weigh(|id| !id.ends_with('2')).await;
    assert_eq!(reasons(&weighed), [""; 0]);
    let current = weighed.promote(&trial.sample.workspace, false).unwrap();
    assert_eq!(current.phase.as_deref(), Some(trial.phase.id.as_str()));
    assert!(current.history[0].reasons[0].starts_with("it wins +"), "{:?}", current.history);
    assert_eq!(weighed.controls.len(), 2);
    let phases = Phases::new(trial.sample.root());
    let evaluations = phases.get(&trial.phase.id).unwrap().evaluations;
    assert_eq!(evaluations, std::slice::from_ref(&weighed.candidate.hash));
    assert_eq!(phases.rollback("it was worse").unwrap().phase, None);
}

#[tokio::test]
async fn an_overfitted_adapter_is_worse_on_held_out_prompts_and_refused() {
    let trial = Trial::new(&LEARNED);
    let weighed = trial.weigh(|id| id == "component-04").await;
    let error = weighed.promote(&trial.sample.workspace, false).unwrap_err();
    assert!(error.to_string().contains("it is no win: -"), "{error}");
    assert_eq!(Phases::new(trial.sample.root()).current().unwrap().phase, None);
    // Whoever insists is written down.
    let current = weighed.promote(&trial.sample.workspace, true).unwrap();
    assert!(current.history[0].forced && current.history[0].reasons[0].starts_with("it is no win"));
}

#[tokio::test]
async fn a_random_adapter_wins_nothing() {
    let trial = Trial::new(&LEARNED);
    let weighed = trial.weigh(|_| false).await;
    assert!(reasons(&weighed)[0].starts_with("it is no win"), "{:?}", reasons(&weighed));
}

#[tokio::test]
async fn what_learned_nobody_knows_what_is_refused_whatever_its_score() {
    let mut trial = Trial::new(&LEARNED);
    trial.phase = trained(&trial.sample, None);
    let weighed = trial.weigh(|_| true).await;
    assert_eq!(reasons(&weighed), ["nobody knows what it learned: it names no dataset"]);
}

#[tokio::test]
async fn what_learned_the_suite_is_refused_whatever_its_score() {
    let trial =
        Trial::new(&["a lamp badge component with colour", "a user card component with title and price"]);
    let weighed = trial.weigh(|_| true).await;
    let reasons = reasons(&weighed);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(reasons[0].contains("are near prompts of the suite"), "{reasons:?}");
}

#[tokio::test]
async fn a_swapped_model_behind_the_same_name_is_refused() {
    let trial = Trial::new(&LEARNED);
    let mut other = trial.phase.clone();
    other.identity = Some("0123456789abcdef+0000000000000000".to_owned());
    let swapped = Trial { phase: other, ..trial };
    // The weights that answered are others than those of the phase as it is written down.
    swapped.weigh(|_| true).await;
    let trial =
        Trial { phase: Phases::new(swapped.sample.root()).get(&swapped.phase.id).unwrap(), ..swapped };
    let weighed = trial.weigh(|_| true).await;
    assert_eq!(
        reasons(&weighed),
        [
            "`0123456789abcdef+0000000000000000` answered, and the phase is `0123456789abcdef+fedcba9876543210`"
        ]
    );
}
