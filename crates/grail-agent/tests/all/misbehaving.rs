//! Models that call what is not there, talk in circles, break off or write programs that fail: each ends clearly, with nothing staged.

use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{AgentError, DialogueLimits, Mode, Proposal};
use grail_model::{ModelError, Scripted, Step, ToolCall};
use grail_rules::Layer;
use grail_sandbox::{Signature, Tool, Toolset, Value};
use serde_json::{Value as Json, json};

use crate::sample::Sample;

const SERVICE: &str = "class CartService:\n    def total(self) -> int:\n        return 0\n";

fn call(tool: &str, arguments: Json) -> Step {
    Step::Call(vec![ToolCall { id: "1".to_owned(), name: tool.to_owned(), arguments }])
}

fn hand_in() -> Step {
    call("generate_artifact", arguments())
}

fn arguments() -> Json {
    json!({"artifact_type": "service", "name": "CartService", "description": "a cart", "code": SERVICE})
}

fn settings(mode: Mode) -> GenerateSettings {
    GenerateSettings { layers: vec![Layer::Syntax, Layer::Rules], mode, ..GenerateSettings::default() }
}

async fn generate(
    sample: &Sample,
    model: &Scripted,
    tools: Toolset,
    settings: GenerateSettings,
) -> Result<Proposal, AgentError> {
    let start =
        Generation::start(&sample.workspace, model, tools, "a cart service", settings, Company::default());
    start.await?.run().await
}

/// What the model was told last before its second answer.
fn told(model: &Scripted) -> String {
    model.asked()[1].messages.last().unwrap().content.clone()
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_told_with_the_nearest_one() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([call("generate_artefact", arguments()), hand_in()]);
    generate(&sample, &model, Toolset::default(), settings(Mode::Direct)).await.unwrap();
    assert_eq!(
        told(&model),
        r#"{"error":"NameError","message":"there is no tool `generate_artefact`; did you mean `generate_artifact`?"}"#
    );
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told() {
    let sample = Sample::new(&[]);
    for (arguments, expected) in [
        (json!(["CartService"]), "the arguments are not an object"),
        (json!({"artifact_type": "service"}), "name"),
        (
            json!({"artifact_type": "servise", "name": "A", "description": "", "code": ""}),
            "no kind of artifact is called `servise`",
        ),
        (
            json!({"artifact_type": "service", "name": "../../x", "description": "", "code": ""}),
            "`../../x` cannot be the name of a service",
        ),
        (
            json!({"artifact_type": "service", "name": "A", "description": "x".repeat(2 << 20), "code": ""}),
            "more than 1048576 bytes",
        ),
    ] {
        let model = Scripted::new([call("generate_artifact", arguments), hand_in()]);
        generate(&sample, &model, Toolset::default(), settings(Mode::Direct)).await.unwrap();
        assert!(told(&model).contains(expected), "{}", told(&model));
        sample.workspace.staging.clear();
    }
}

#[tokio::test]
async fn the_same_call_again_and_again_is_ended() {
    let sample = Sample::new(&[]);
    let stuck = || call("generate_artifact", json!({"artifact_type": "nothing"}));
    let model = Scripted::new([stuck(), stuck(), stuck(), stuck()]);
    let error = generate(&sample, &model, Toolset::default(), settings(Mode::Direct)).await.unwrap_err();
    assert_eq!(error.to_string(), "the model made the same call 3 times in a row");
    assert!(sample.workspace.staging.is_empty());
}

#[tokio::test]
async fn turns_have_an_end() {
    let sample = Sample::new(&[]);
    let model =
        Scripted::new((0..10).map(|number| call("generate_artifact", json!({"artifact_type": number}))));
    let limits = DialogueLimits { turns: 2, ..DialogueLimits::default() };
    let settings = GenerateSettings { limits, ..settings(Mode::Direct) };
    let error = generate(&sample, &model, Toolset::default(), settings).await.unwrap_err();
    assert_eq!(error.to_string(), "the model was asked 2 times and is not done");
    assert_eq!(error.hint().as_deref(), Some("allow more with `--turns`"));
}

#[tokio::test]
async fn a_model_that_breaks_off_leaves_nothing_behind() {
    let sample = Sample::new(&[]);
    let broken = ModelError::Interrupted { model: "scripted".to_owned(), reason: "the cable".to_owned() };
    let model = Scripted::new([Step::Fail("class Cart".to_owned(), broken)]);
    let error = generate(&sample, &model, Toolset::default(), settings(Mode::Direct)).await.unwrap_err();
    assert_eq!(error.to_string(), "`scripted` stopped in the middle of its answer: the cable");
    assert!(sample.workspace.staging.is_empty());
}

#[tokio::test]
async fn a_call_written_as_text_is_a_call() {
    let sample = Sample::new(&[]);
    let text = json!({"name": "generate_artifact", "arguments": arguments()});
    let model = Scripted::new([Step::Say(format!("<tool_call>{text}</tool_call>"))]);
    let proposal = generate(&sample, &model, Toolset::default(), settings(Mode::Direct)).await.unwrap();
    assert_eq!(proposal.files[0].path, "services/cart_service.py");
}

fn program(code: &str) -> Step {
    Step::Say(format!("I write a program:\n```python\n{code}\n```"))
}

#[tokio::test]
async fn in_code_mode_one_program_does_the_work_of_many_calls() {
    let sample = Sample::new(&[]);
    let code = format!(
        "report = generate_artifact(artifact_type='service', name='CartService', description='a cart', code={SERVICE:?})\n\
         print(report.path)\nreport.success"
    );
    let model = Scripted::new([program("generate_artifact(1)"), program(&code)]);
    let proposal = generate(&sample, &model, Toolset::default(), settings(Mode::Code)).await.unwrap();
    assert_eq!(proposal.mode, "code");
    assert_eq!(proposal.files[0].path, "services/cart_service.py");
    // The first program was refused by the type checker, with lines.
    assert!(
        told(&model).contains("\"outcome\":\"type-errors\"") && told(&model).contains("\"line\":1"),
        "{}",
        told(&model)
    );
    // The stubs of exactly the tools on offer are in the prompt.
    let prompt = &model.asked()[0].messages[0].content;
    assert!(prompt.contains("def generate_artifact(artifact_type: str, name: str"), "{prompt}");
}

#[tokio::test]
async fn a_program_cannot_go_round_an_approval() {
    let sample = Sample::new(&[]);
    let signature = Signature::parse("def deploy(where: str) -> str: ...").unwrap();
    let deploy = Tool::blocking(signature, |_| Ok(Value::str("deployed")));
    let tools = Toolset::new([deploy]).unwrap().require_approval(|tool| tool.name() == "deploy");
    let model = Scripted::new([program("deploy('production')"), hand_in_program()]);
    generate(&sample, &model, tools, settings(Mode::Code)).await.unwrap();
    assert!(told(&model).contains("`deploy` needs a person's approval"), "{}", told(&model));
}

fn hand_in_program() -> Step {
    program(&format!("generate_artifact('service', 'CartService', 'a cart', {SERVICE:?}).success"))
}
