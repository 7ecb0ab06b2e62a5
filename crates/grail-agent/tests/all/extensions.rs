//! Features, reviews, tests that must pass, and the style of a file.

use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::style::Style;
use grail_agent::{AgentError, Proposal};
use grail_model::{Model, Scripted, Step, ToolCall};
use grail_rules::Layer;
use grail_sandbox::Toolset;
use serde_json::json;

use crate::sample::Sample;

fn hand_in(kind: &str, name: &str, code: &str) -> Step {
    Step::Call(vec![ToolCall {
        id: "1".to_owned(),
        name: "generate_artifact".to_owned(),
        arguments: json!({"artifact_type": kind, "name": name, "description": "as asked", "code": code}),
    }])
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn settings() -> GenerateSettings {
    GenerateSettings {
        layers: vec![Layer::Syntax, Layer::Rules],
        model_name: "scripted".to_owned(),
        ..GenerateSettings::default()
    }
}

async fn generate(
    sample: &Sample,
    model: &dyn Model,
    reviewer: Option<&dyn Model>,
    intent: &str,
    settings: GenerateSettings,
) -> Result<Proposal, AgentError> {
    let company = Company { reviewer, ..Company::default() };
    let start = Generation::start(&sample.workspace, model, Toolset::default(), intent, settings, company);
    start.await?.run().await
}

const SERVICE: &str = "class CartService:\n    def total(self) -> int:\n        return 0\n";
const TEST: &str = "from services.cart_service import CartService\n\n\ndef test_an_empty_cart_costs_nothing() -> None:\n    assert CartService().total() == 0\n";

#[tokio::test]
async fn a_feature_is_planned_and_each_part_knows_the_others() {
    let sample = Sample::new(&[]);
    let plan = json!({"parts": [
        {"kind": "service", "intent": "a cart service"},
        {"kind": "no-such-kind", "intent": "left out"},
        {"kind": "test", "intent": "a test for CartService"},
    ]});
    let model = Scripted::new([
        say(&plan.to_string()),
        hand_in("service", "CartService", SERVICE),
        hand_in("test", "cart_service", TEST),
    ]);
    let settings = GenerateSettings { feature: true, ..settings() };
    let proposal = generate(&sample, &model, None, "a shopping cart feature", settings).await.unwrap();
    let paths: Vec<&str> = proposal.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["services/cart_service.py", "tests/test_cart_service.py"]);
    let asked = model.asked();
    let about_the_test = &asked[2].messages[1].content;
    assert!(
        about_the_test
            .contains("services/cart_service.py\n  class CartService\n    def total(self) -&gt; int"),
        "{about_the_test}"
    );
}

#[tokio::test]
async fn a_plan_that_is_none_is_replaced_by_the_usual_one() {
    let sample = Sample::new(&[]);
    let model = Scripted::new([say("I would begin with a service.")]);
    let settings = GenerateSettings { feature: true, ..settings() };
    generate(&sample, &model, None, "a shopping cart feature", settings).await.unwrap_err();
    // The plan, and then the first usual part, for which the script has no answer.
    assert!(model.asked()[1].messages[1].content.starts_with("<intent>a service for shopping cart</intent>"));
}

#[tokio::test]
async fn a_review_can_ask_for_one_more_round() {
    let sample = Sample::new(&[]);
    let better = SERVICE.replace("return 0", "return sum(())");
    let model = Scripted::new([
        hand_in("service", "CartService", SERVICE),
        hand_in("service", "CartService", &better),
    ]);
    let reviewer = Scripted::new([
        say("Let me think."),
        say(r#"{"findings": [{"topic": "edge-cases", "weight": "must", "message": "add up the items"}]}"#),
        say(
            "```json\n{\"findings\": [{\"topic\": \"style\", \"weight\": \"may\", \"message\": \"a docstring would help\"}]}\n```",
        ),
    ]);
    let proposal = generate(&sample, &model, Some(&reviewer), "a cart service", settings()).await.unwrap();
    assert_eq!(proposal.files[0].after.as_deref(), Some(better.as_str()));
    assert_eq!(proposal.review.len(), 1);
    assert_eq!(proposal.review[0].message, "a docstring would help");
    assert!(model.asked()[1].messages.last().unwrap().content.contains("- edge-cases: add up the items"));
}

#[test]
fn habits_are_rules_that_the_file_keeps() {
    let text = "\"\"\"Pages about users.\"\"\"\n\nfrom app import view\nfrom app.models import User\n\n\n@view\ndef user_view(*, user: User) -> str:\n    \"\"\"One user.\"\"\"\n    return user.name\n\n\n@view\ndef users_view(*, users: list[User]) -> str:\n    \"\"\"All users.\"\"\"\n    return str(users)\n";
    let style = Style::of_text("views/users.py", text).unwrap();
    insta::assert_snapshot!(style.habits.join("\n"), @r"
    Each is decorated with `@view`
    Public functions have docstrings
    Names of functions end in `_view`
    Names are imported, not modules
    Public functions take their parameters by keyword
    A file opens with a docstring
    Parameters are annotated
    Functions say what they return
    ");
}

#[test]
fn a_file_without_definitions_has_no_style() {
    for text in ["", "x = 1\n"] {
        let error = Style::of_text("settings.py", text).err().unwrap();
        assert_eq!(error.to_string(), "`settings.py` shows no habits that others could keep");
    }
}

#[tokio::test]
async fn code_in_the_style_of_a_file_keeps_its_habits() {
    let reference = "\"\"\"Sends mail.\"\"\"\n\n\nclass MailService:\n    \"\"\"Sends it.\"\"\"\n\n    def send(self, to: str) -> None:\n        print(to)\n";
    let sample = Sample::new(&[("services/mail_service.py", reference)]);
    let good = "\"\"\"Carts.\"\"\"\n\n\nclass CartService:\n    \"\"\"Adds up.\"\"\"\n\n    def total(self) -> int:\n        return 0\n";
    let model =
        Scripted::new([hand_in("service", "CartService", SERVICE), hand_in("service", "CartService", good)]);
    let settings = GenerateSettings { like: Some("services/mail_service.py".to_owned()), ..settings() };
    let proposal = generate(&sample, &model, None, "a cart service", settings).await.unwrap();
    assert_eq!(proposal.retries, 1);
    let asked = model.asked();
    let told = &asked[1].messages.last().unwrap().content;
    assert!(
        told.contains("style-module-docstring") && told.contains("`CartService` has no docstring"),
        "{told}"
    );
}

/// A project whose tests are a script: they pass when a cart costs three.
fn tested_project() -> Sample {
    let config = "[check.tests]\ncommand = [\"python3\", \"check_cart.py\"]\nrunner = \"local\"\n";
    let check = "from services.cart_service import CartService\n\nassert CartService().total() == 3, 'the cart costs too little'\n";
    Sample::new(&[("grail.toml", config), ("check_cart.py", check)])
}

fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no `python3`");
    }
    found
}

#[tokio::test]
async fn code_is_mended_until_the_tests_pass() {
    if !has_python() {
        return;
    }
    let sample = tested_project();
    let better = SERVICE.replace("return 0", "return 3");
    let model = Scripted::new([
        hand_in("service", "CartService", SERVICE),
        hand_in("service", "CartService", &better),
    ]);
    let settings = GenerateSettings { until_tests_pass: Some(1), ..settings() };
    let proposal = generate(&sample, &model, None, "a cart service", settings).await.unwrap();
    assert_eq!((proposal.retries, proposal.turns), (1, 2));
    let asked = model.asked();
    assert!(asked[1].messages.last().unwrap().content.starts_with("Tests fail."), "{asked:?}");
    assert_eq!(sample.read("services/cart_service.py"), None);
}

#[tokio::test]
async fn tests_that_never_pass_end_the_work_with_nothing_staged() {
    if !has_python() {
        return;
    }
    let sample = tested_project();
    let model = Scripted::new([hand_in("service", "CartService", SERVICE)]);
    let settings = GenerateSettings { until_tests_pass: Some(0), ..settings() };
    let error = generate(&sample, &model, None, "a cart service", settings).await.unwrap_err();
    assert!(
        matches!(&error, AgentError::NotAchieved { reason } if reason.starts_with("tests still fail")),
        "{error}"
    );
    assert!(sample.workspace.staging.is_empty());
}
