//! From an intent to a proposal, with models that say what the test wants.

use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{AgentError, ProposalState, ProposalStore, StoppedClock};
use grail_flywheel::event::SkillStage;
use grail_flywheel::{Event, EventKind};
use grail_model::{Scripted, Step, ToolCall};
use grail_rules::Layer;
use grail_sandbox::Toolset;
use serde_json::json;

use crate::sample::Sample;

const GOOD: &str = "\
\"\"\"Sends mail.\"\"\"


class MailService:
    def __init__(self, *, host: str) -> None:
        self._host = host

    def send(self, to: str) -> str:
        return f\"{self._host}: {to}\"
";

fn hand_in(code: &str) -> Step {
    Step::Call(vec![ToolCall {
        id: "1".to_owned(),
        name: "generate_artifact".to_owned(),
        arguments: json!({"artifact_type": "service", "name": "MailService", "description": "sends mail", "code": code}),
    }])
}

fn settings() -> GenerateSettings {
    GenerateSettings { layers: vec![Layer::Syntax, Layer::Rules], ..GenerateSettings::default() }
}

async fn generate(sample: &Sample, model: &Scripted) -> Result<grail_agent::Proposal, AgentError> {
    let generation = Generation::start(
        &sample.workspace,
        model,
        Toolset::default(),
        "a mail service",
        settings(),
        Company::default(),
    );
    generation.await?.run().await
}

#[tokio::test]
async fn what_passes_becomes_a_proposal_and_nothing_is_written() {
    let sample = Sample::new(&[]);
    let proposal = generate(&sample, &Scripted::new([hand_in(GOOD)])).await.unwrap();
    assert_eq!(proposal.files[0].path, "services/mail_service.py");
    assert_eq!(proposal.files[0].after.as_deref(), Some(GOOD));
    assert_eq!(proposal.retries, 0);
    assert_eq!(sample.read("services/mail_service.py"), None);
}

#[tokio::test]
async fn what_is_wrong_goes_back_with_line_and_hint() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([hand_in("class MailService(:\n    pass\n"), hand_in(GOOD)]);
    let proposal = generate(&sample, &model).await.unwrap();
    assert_eq!(proposal.retries, 1);
    let told = model.asked()[1].messages.last().unwrap().content.clone();
    assert!(told.contains("\"line\":1") && told.contains("\"layer\":\"syntax\""), "{told}");
}

#[tokio::test]
async fn code_that_is_said_instead_of_handed_in_counts_too() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([Step::Say(format!("Here it is:\n```python\n{GOOD}```\n"))]);
    let proposal = generate(&sample, &model).await.unwrap();
    assert_eq!(proposal.files[0].path, "services/mail_service.py");
}

#[tokio::test]
async fn a_model_that_only_talks_achieves_nothing() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([Step::Say("Sure!".to_owned()), Step::Say("I would rather not.".to_owned())]);
    let error = generate(&sample, &model).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model did not bring about anything that passes its checks: I would rather not."
    );
    assert!(sample.workspace.staging.is_empty());
}

#[tokio::test]
async fn approved_is_written_byte_for_byte_and_can_be_undone() {
    let sample = Sample::new(&[]);
    let proposal = generate(&sample, &Scripted::new([hand_in(GOOD)])).await.unwrap();
    let store = ProposalStore::of_project(sample.root());
    store.save(&proposal, None).unwrap();
    let clock = StoppedClock::default();
    store.approve(&proposal.id, &clock).unwrap();
    assert_eq!(sample.read("services/mail_service.py").as_deref(), Some(GOOD));
    let again = store.approve(&proposal.id, &clock).unwrap_err();
    assert!(matches!(again, AgentError::AlreadyDecided { .. }));
    let (reverted, _) = store.revert(&proposal.id, &clock).unwrap();
    assert!(matches!(reverted.state, ProposalState::Reverted { .. }));
    assert_eq!(sample.read("services/mail_service.py"), None);
}

#[tokio::test]
async fn a_target_that_appeared_meanwhile_is_not_overwritten() {
    let sample = Sample::new(&[]);
    let proposal = generate(&sample, &Scripted::new([hand_in(GOOD)])).await.unwrap();
    let store = ProposalStore::of_project(sample.root());
    store.save(&proposal, None).unwrap();
    crate::sample::write(sample.root(), "services/mail_service.py", "mine = True\n");
    let error = store.approve(&proposal.id, &StoppedClock::default()).unwrap_err();
    assert!(matches!(error, AgentError::ChangedMeanwhile { .. }));
    assert_eq!(sample.read("services/mail_service.py").as_deref(), Some("mine = True\n"));
}

#[tokio::test]
async fn every_step_is_an_event() {
    let sample = Sample::new(&[]);
    generate(&sample, &Scripted::new([hand_in("class MailService(:\n    pass\n"), hand_in(GOOD)]))
        .await
        .unwrap();
    let events = sample.events.events();
    let offered = |event: &&Event| matches!(event.kind, EventKind::Skill { stage: SkillStage::Offered, .. });
    let told: Vec<String> = events
        .iter()
        .filter(|event| !offered(event))
        .map(|event| {
            let parent = event.parent.and_then(|parent| events.iter().find(|event| event.id == parent));
            let parent = parent.map_or("nothing", |event| event.kind.name());
            format!("{} after {parent}", event.kind.name())
        })
        .collect();
    assert_eq!(
        told,
        [
            "intent after nothing",
            "skill after intent",
            "model_answer after intent",
            "domain_validation after intent",
            "tool_call after model_answer",
            "model_answer after intent",
            "domain_validation after intent",
            "retry after domain_validation",
            "tool_call after model_answer",
            "generation after intent",
        ]
    );
    assert!(events.iter().map(|event| event.number).eq(1..=events.len() as u64));
    let Some(EventKind::Retry { attempt: 1, passed: true, problems, original, corrected, .. }) =
        events.iter().map(|event| event.kind.clone()).find(|kind| kind.name() == "retry")
    else {
        panic!("one retry, which passed")
    };
    assert_eq!((original.as_str(), corrected.as_str()), ("class MailService(:\n    pass\n", GOOD));
    assert_eq!(problems[0].layer, "syntax");
    let Some(EventKind::Generation { validated: true, retries: 1, path, .. }) =
        events.last().map(|event| event.kind.clone())
    else {
        panic!("the artifact is finished")
    };
    assert_eq!(path, "services/mail_service.py");
}

#[tokio::test]
async fn intents_that_say_nothing_or_too_much_are_refused() {
    let sample = Sample::new(&[]);
    for (intent, message) in [
        ("", "the intent says nothing"),
        (" \n\t\"\"\" {}", "the intent says nothing"),
        (&*"service ".repeat(200_000), "the intent has 1599999 bytes; at most 16384 are a sentence"),
        ("something nice", "the intent does not say what is to be made"),
    ] {
        let model = Scripted::new([]);
        let generation = Generation::start(
            &sample.workspace,
            &model,
            Toolset::default(),
            intent,
            settings(),
            Company::default(),
        );
        let error = generation.await.err().unwrap();
        assert_eq!(error.to_string(), message);
        assert!(error.hint().is_some());
    }
}
