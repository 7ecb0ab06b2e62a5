//! Answering without tools: asked as in training, read leniently, judged strictly.

use grail_agent::answer::{Question, answer_once};
use grail_agent::generate::{Company, GenerateSettings, Generation, answer_in_shadow};
use grail_agent::models::ChosenModel;
use grail_agent::{AgentError, Mode, Prices};
use grail_flywheel::EventKind;
use grail_flywheel::dataset::chat::said_once;
use grail_flywheel::dataset::{ChatForm, SYSTEM_PROMPT};
use grail_model::{FinishReason, Role, Scripted, Step};
use grail_rules::Layer;
use grail_sandbox::Toolset;

use crate::sample::Sample;

const GOOD: &str = "\
\"\"\"Sends mail.\"\"\"


class MailService:
    def __init__(self, *, host: str) -> None:
        self._host = host

    def send(self, to: str) -> str:
        return f\"{self._host}: {to}\"
";

const BROKEN: &str = "class MailService(:\n    pass\n";

fn fenced(code: &str) -> Step {
    Step::Say(format!("```python\n{code}```"))
}

fn settings() -> GenerateSettings {
    GenerateSettings {
        mode: Mode::Answer,
        layers: vec![Layer::Syntax, Layer::Rules],
        ..GenerateSettings::default()
    }
}

async fn generation<'g>(sample: &'g Sample, model: &'g Scripted) -> Result<Generation<'g>, AgentError> {
    let (tools, company) = (Toolset::default(), Company::default());
    Generation::start(&sample.workspace, model, tools, "a mail service", settings(), company).await
}

#[tokio::test]
async fn the_question_is_the_one_of_training_and_the_answer_is_the_file() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([fenced(GOOD)]);
    let proposal = generation(&sample, &model).await.unwrap().run().await.unwrap();
    assert_eq!(proposal.files[0].path, "services/mail_service.py");
    assert_eq!(proposal.files[0].after.as_deref(), Some(GOOD));
    assert_eq!((proposal.mode.as_str(), proposal.retries), ("answer", 0));
    let asked = &model.asked()[0];
    let said: Vec<(Role, &str)> =
        asked.messages.iter().map(|message| (message.role, message.content.as_str())).collect();
    assert_eq!(said, [(Role::System, SYSTEM_PROMPT), (Role::User, "a mail service\n\na mail service")]);
    assert!(asked.tools.is_empty());
}

#[tokio::test]
async fn what_is_left_to_mend_is_the_next_message_and_only_the_last_answer_is_remembered() {
    let sample = Sample::new(&[]);
    let worse = "class MailService(::\n    pass\n";
    let model = Scripted::new([fenced(BROKEN), fenced(worse), fenced(GOOD)]);
    let proposal = generation(&sample, &model).await.unwrap().run().await.unwrap();
    assert_eq!(proposal.retries, 2);
    let last: Vec<String> = model.asked()[2].messages.iter().map(|message| message.content.clone()).collect();
    assert_eq!(last.len(), 4);
    assert_eq!(last[1], "a mail service\n\na mail service");
    assert_eq!(last[2], format!("```python\n{worse}```"));
    assert!(last[3].starts_with("That does not pass yet:\n- line 1: "), "{}", last[3]);
    let kinds: Vec<&str> = sample.events.events().iter().map(|event| event.kind.name()).collect::<Vec<_>>();
    assert_eq!(
        kinds,
        [
            "intent",
            "model_answer",
            "domain_validation",
            "model_answer",
            "domain_validation",
            "retry",
            "model_answer",
            "domain_validation",
            "retry",
            "generation"
        ]
    );
    let events = sample.events.events();
    let Some(EventKind::Generation { validated: true, retries: 2, .. }) = events.last().map(|it| &it.kind)
    else {
        panic!("the artifact is finished")
    };
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_given_up() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([fenced(BROKEN), fenced(BROKEN), fenced(GOOD)]);
    let error = generation(&sample, &model).await.unwrap().run().await.unwrap_err();
    assert!(matches!(error, AgentError::NotAchieved { .. }), "{error}");
    assert_eq!(model.asked().len(), 2);
    assert!(sample.workspace.staging.is_empty());
}

#[tokio::test]
async fn a_correction_becomes_part_of_the_request_as_it_is_learned() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([fenced(GOOD), fenced(&GOOD.replace("send", "deliver"))]);
    let mut generation = generation(&sample, &model).await.unwrap();
    generation.run().await.unwrap();
    let corrected = generation.correct("no, I meant `deliver`").await.unwrap();
    assert!(corrected.files[0].after.as_deref().unwrap().contains("def deliver"));
    let asked = model.asked();
    assert_eq!(asked[1].messages.len(), 2);
    assert_eq!(said_once(&asked[1].messages[1].content), "a mail service\n\nno, I meant `deliver`");
}

#[tokio::test]
async fn markers_of_a_chat_template_are_not_said() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([]);
    let (tools, company) = (Toolset::default(), Company::default());
    let intent = "a mail service<|im_end|>";
    let generation = Generation::start(&sample.workspace, &model, tools, intent, settings(), company).await;
    let error = generation.unwrap().run().await.unwrap_err();
    assert!(error.to_string().contains("`<|im_end|>`"), "{error}");
}

/// A phase on trial that says this.
fn on_trial(steps: Vec<Step>) -> ChosenModel {
    ChosenModel {
        name: "phase:p2-abcdef".to_owned(),
        model: Box::new(Scripted::new(steps)),
        phase: Some("p2-abcdef".to_owned()),
        prices: Prices::default(),
        preferred_mode: Mode::Answer,
        form: ChatForm::default(),
        identity: None,
        context_tokens: None,
    }
}

#[tokio::test]
async fn what_is_answered_in_the_shadow_is_one_event_and_nothing_else() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([fenced(GOOD)]);
    let shown = generation(&sample, &model).await.unwrap().run().await.unwrap();
    let (before, staged) = (sample.events.events(), sample.workspace.staging.staged());

    let challenger = on_trial(vec![fenced(BROKEN), fenced(&GOOD.replace("send", "deliver"))]);
    answer_in_shadow(&sample.workspace, &challenger, "a mail service", settings()).await.unwrap();
    let events = sample.events.events();
    assert_eq!(events[..before.len()], before[..]);
    let [told] = &events[before.len()..] else { panic!("{} events", events.len() - before.len()) };
    // It belongs to what was asked for, and not to what is made of it.
    assert_eq!((told.parent, told.context.phase.as_deref()), (Some(events[0].id), None));
    let EventKind::Shadow { challenger: name, answer: Some(answer), failure: None } = &told.kind else {
        panic!("{:?}", told.kind)
    };
    let EventKind::Generation { path, code, validated: true, retries: 1, .. } = &**answer else {
        panic!("{answer:?}")
    };
    assert_eq!((name.as_str(), path), ("p2-abcdef", &shown.files[0].path));
    assert!(code.contains("def deliver"), "{code}");
    assert_eq!(sample.workspace.staging.staged(), staged);
    assert_eq!(sample.workspace.artifacts.len(), 1);
    assert!(!sample.root().join("services").exists());

    let nothing = || Step::Say("I would rather not.".to_owned());
    let challenger = on_trial(vec![nothing(), nothing()]);
    answer_in_shadow(&sample.workspace, &challenger, "a mail service", settings()).await.unwrap();
    let events = sample.events.events();
    assert_eq!(events.len(), before.len() + 2);
    let told = events.last().map(|event| &event.kind);
    let is_told = matches!(told, Some(EventKind::Shadow { answer: None, failure: Some(_), .. }));
    assert!(is_told, "what came to nothing is told as well: {told:?}");
}

fn question(form: &ChatForm) -> Question<'_> {
    Question {
        kind: "service",
        request: "a mail service",
        form,
        skill_text: None,
        seed: Some(7),
        temperature: Some(0.0),
        max_tokens: Some(64),
        layers: Some(&[]),
    }
}

#[tokio::test]
async fn an_evaluation_asks_once_and_judges_with_and_without_fixes() {
    let sample = Sample::new(&[]);
    let form = ChatForm::default();
    let model = Scripted::new([fenced(GOOD), Step::Say("I would rather not.".to_owned()), fenced(BROKEN)]);
    let answered = answer_once(&sample.workspace, &model, &question(&form)).await.unwrap();
    assert_eq!(answered.asked.code.as_deref(), Some(GOOD));
    assert!(answered.judged.strict.success && answered.judged.fixed.success);
    assert_eq!(answered.judged.fixed_code.as_deref(), Some(GOOD));
    let asked = &model.asked()[0];
    assert_eq!((asked.seed, asked.temperature, asked.max_tokens), (Some(7), Some(0.0), Some(64)));

    let told = Question { skill_text: Some("Services are classes."), ..question(&form) };
    let answered = answer_once(&sample.workspace, &model, &told).await.unwrap();
    assert_eq!((answered.asked.code, answered.asked.finish), (None, FinishReason::Stop));
    assert_eq!(answered.judged.strict.problems[0].rule, "no-code");
    let system = &model.asked()[1].messages[0].content;
    assert_eq!(*system, format!("{SYSTEM_PROMPT}\n\nServices are classes."));

    let answered = answer_once(&sample.workspace, &model, &question(&form)).await.unwrap();
    assert!(!answered.judged.strict.success && !answered.judged.fixed.success);
    // An evaluation leaves nothing behind.
    assert!(sample.workspace.staging.is_empty() && sample.events.events().is_empty());
}

#[tokio::test]
async fn the_file_is_found_in_whatever_form_it_comes() {
    let sample = Sample::new(&[]);
    let form = ChatForm::default();
    let two = format!("First:\n```python\nx = 1\n```\nThen:\n```py\n{GOOD}```\n");
    let model = Scripted::new([
        Step::Say(two),
        Step::Say(GOOD.to_owned()),
        Step::Say(format!("```python\n{GOOD}")),
        Step::Say("```sh\nrm -r x\n```".to_owned()),
    ]);
    let mut codes = Vec::new();
    for _ in 0..4 {
        codes.push(answer_once(&sample.workspace, &model, &question(&form)).await.unwrap().asked.code);
    }
    let good = Some(GOOD.to_owned());
    assert_eq!(codes, [good.clone(), good.clone(), good, None]);
}

#[tokio::test]
async fn a_definition_without_a_name_is_a_wrong_answer_and_no_failure() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([fenced("class (Base):\n    pass\n")]);
    let form = ChatForm::default();
    let answered = answer_once(&sample.workspace, &model, &question(&form)).await.unwrap();
    assert_eq!(answered.judged.strict.path, "services/service.py");
    assert!(!answered.judged.strict.success && !answered.judged.fixed.success);
}
