//! Tools that a model writes: checked, tried, approved, and used from then on.

use grail_agent::written_tool::{define_tool, with_written_tools, written_tools};
use grail_agent::{Approver, Called, CodeMode, Dialogue, NobodyApproves, ProposalStore, StoppedClock, Turn};
use grail_model::{Message, Scripted, Step, ToolCall};
use grail_sandbox::Toolset;
use serde_json::{Value, json};

use crate::sample::{Sample, write};

struct Agrees;

impl Approver for Agrees {
    fn allows(&self, tool: &str, arguments: &Value) -> bool {
        // What is shown is the code itself.
        assert_eq!(tool, "define_tool");
        arguments["code"].as_str().unwrap().contains("def ")
    }
}

fn call(name: &str, arguments: Value) -> Step {
    Step::Call(vec![ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments }])
}

fn slugify() -> Value {
    json!({
        "name": "slugify",
        "signature": "def slugify(text: str, separator: str = \"-\") -> str: ...",
        "docstring": "A title as part of an address.",
        "code": "def slugify(text: str, separator: str = \"-\") -> str:\n    return separator.join(text.lower().split())\n",
        "examples": [
            {"arguments": {"text": "Hello World"}, "result": "hello-world"},
            {"arguments": {"text": "a b", "separator": "_"}, "result": "a_b"}
        ]
    })
}

fn with(changes: &[(&str, Value)]) -> Value {
    let mut draft = slugify();
    for (key, value) in changes {
        draft[*key] = value.clone();
    }
    draft
}

/// Runs a script of a model to its end and gives the results of all calls.
async fn talk(
    sample: &Sample,
    tools: Toolset,
    approver: &dyn Approver,
    steps: Vec<Step>,
) -> Vec<Result<Value, String>> {
    let turns = steps.len();
    let model = Scripted::new(steps);
    let tools = tools.combine(Toolset::new([define_tool(&sample.workspace).unwrap()]).unwrap()).unwrap();
    let mut dialogue = Dialogue::new(&sample.workspace, &model, tools, None).with_approver(approver);
    dialogue.say(Message::user("Make an address of the title."));
    let mut results = Vec::new();
    for _ in 0..turns {
        if let Turn::Called(called) = dialogue.turn().await.unwrap() {
            results.extend(
                called.into_iter().map(|Called { result, .. }| result.map_err(|error| error.message)),
            );
        }
    }
    results
}

#[tokio::test]
async fn a_tool_is_defined_approved_and_used_now_and_later() {
    let sample = Sample::new(&[]);
    let use_it = || call("slugify", json!({"text": "Ada Lovelace"}));
    let steps = vec![use_it(), call("define_tool", slugify()), use_it()];
    let results = talk(&sample, Toolset::default(), &Agrees, steps).await;
    assert!(results[0].as_ref().unwrap_err().starts_with("there is no tool `slugify`"), "{results:?}");
    assert_eq!(
        results[1],
        Ok(json!({
            "kept": true,
            "signature": "def slugify(text: str, separator: str = \"-\") -> str",
            "examples": 2,
            "proposal": "20260101-000000-000002"
        }))
    );
    assert_eq!(results[2], Ok(json!("ada-lovelace")));
    assert_eq!(sample.read(".agents/tools/slugify.py").unwrap(), slugify()["code"].as_str().unwrap());

    // In the next conversation it is there from the beginning.
    let loaded = written_tools(&sample.workspace).unwrap();
    assert_eq!((loaded.tools.names(), loaded.not_loaded.len()), (vec!["slugify"], 0));
    let results = talk(&sample, loaded.tools, &NobodyApproves, vec![use_it()]).await;
    assert_eq!(results, [Ok(json!("ada-lovelace"))]);

    // And it can be undone.
    ProposalStore::of_project(sample.root())
        .revert("20260101-000000-000002", &StoppedClock::default())
        .unwrap();
    assert!(written_tools(&sample.workspace).unwrap().tools.is_empty());
}

#[tokio::test]
async fn in_code_mode_programs_call_what_was_defined() {
    let sample = Sample::new(&[]);
    let program = "```python\nslugify('Ada Lovelace') + '/' + slugify('a b', separator='_')\n```".to_owned();
    let model = Scripted::new([call("define_tool", slugify()), Step::Say(program)]);
    let tools = with_written_tools(&sample.workspace, Toolset::default()).unwrap();
    let code = CodeMode::start(&sample.workspace, tools.clone()).await.unwrap();
    assert!(!code.stubs().contains("define_tool"));
    let mut dialogue = Dialogue::new(&sample.workspace, &model, tools, Some(code)).with_approver(&Agrees);
    dialogue.say(Message::user("Make an address."));
    dialogue.turn().await.unwrap();
    let Turn::Called(called) = dialogue.turn().await.unwrap() else { panic!("nothing was called") };
    assert_eq!(called[0].result, Ok(json!({"value": "ada-lovelace/a_b"})));
}

#[tokio::test]
async fn without_approval_nothing_is_kept() {
    let sample = Sample::new(&[]);
    let steps = vec![call("define_tool", slugify()), call("slugify", json!({"text": "A"}))];
    let results = talk(&sample, Toolset::default(), &NobodyApproves, steps).await;
    assert_eq!(
        results[0],
        Err("`define_tool` needs a person's approval, and it was not given; go on without it".to_owned())
    );
    assert!(results[1].is_err());
    assert_eq!(sample.read(".agents/tools/slugify.py"), None);
}

#[tokio::test]
async fn what_does_not_hold_is_never_shown_to_a_person() {
    struct Never;
    impl Approver for Never {
        fn allows(&self, _: &str, _: &Value) -> bool {
            panic!("asked")
        }
    }
    let sample = Sample::new(&[]);
    let wrong_example = json!([{"arguments": {"text": "A b"}, "result": "A-b"}]);
    let drafts = [
        (with(&[("examples", wrong_example)]), "example 1 gives \"a-b\", not \"A-b\""),
        (with(&[("examples", json!([]))]), "between 1 and 20 examples are wanted"),
        (with(&[("name", json!("Slug ify"))]), "`Slug ify` cannot be the name of a tool"),
        (with(&[("name", json!("../evil"))]), "`../evil` cannot be the name of a tool"),
        (with(&[("docstring", json!(" "))]), "a docstring is wanted"),
        (with(&[("code", json!("x = 1\n"))]), "the code has no function `slugify` at its top"),
        (
            with(&[("signature", json!("def other(text: str) -> str: ..."))]),
            "the signature is of `other`, not of `slugify`",
        ),
        (
            with(&[("signature", json!("def slugify(text: bytes) -> str: ..."))]),
            "`bytes` is no type that JSON knows",
        ),
        (
            with(&[("signature", json!("def slugify(*text: str) -> str: ..."))]),
            "`text` has to be a parameter",
        ),
        (
            with(&[("signature", json!("def slugify(text: str) -> int: ..."))]),
            "example 1: {\"outcome\":\"type-errors\"",
        ),
        (
            with(&[(
                "code",
                json!(
                    "def slugify(text: str, separator: str = '-') -> str:\n    while True:\n        pass\n"
                ),
            )]),
            "example 1: {\"outcome\":",
        ),
        (
            with(&[(
                "code",
                json!(
                    "import os\ndef slugify(text: str, separator: str = '-') -> str:\n    return os.getcwd()\n"
                ),
            )]),
            "example 1: {\"outcome\":",
        ),
        (
            with(&[(
                "code",
                json!(
                    "def slugify(text: str, separator: str = '-') -> str:\n    return open('/etc/passwd').read()\n"
                ),
            )]),
            "example 1: {\"outcome\":",
        ),
    ];
    for (draft, expected) in drafts {
        let results =
            talk(&sample, Toolset::default(), &Never, vec![call("define_tool", draft.clone())]).await;
        let message = results[0].as_ref().unwrap_err();
        assert!(message.starts_with(expected), "{draft}: {message}");
    }
}

#[tokio::test]
async fn tools_of_a_project_that_nobody_approved_are_not_loaded() {
    let sample = Sample::new(&[]);
    let about =
        json!({"signature": "def evil(text: str) -> str: ...", "docstring": "x", "examples": []}).to_string();
    write(sample.root(), ".agents/tools/evil.py", "def evil(text: str) -> str:\n    return text\n");
    write(sample.root(), ".agents/tools/evil.json", &about);
    write(sample.root(), ".agents/tools/broken.json", "{");
    write(sample.root(), ".agents/tools/Bad Name.json", "{}");
    let loaded = written_tools(&sample.workspace).unwrap();
    assert!(loaded.tools.is_empty());
    let reasons: Vec<(&str, &str)> =
        loaded.not_loaded.iter().map(|one| (one.name.as_str(), one.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [("broken", "there is no `broken.py`"), ("evil", "nobody here has approved it as it is now")]
    );
}

#[tokio::test]
async fn a_tool_that_was_changed_asks_again() {
    let sample = Sample::new(&[]);
    talk(&sample, Toolset::default(), &Agrees, vec![call("define_tool", slugify())]).await;
    let changed = sample.read(".agents/tools/slugify.py").unwrap().replace("lower", "upper");
    write(sample.root(), ".agents/tools/slugify.py", &changed);
    let loaded = written_tools(&sample.workspace).unwrap();
    assert!(loaded.tools.is_empty());
    assert_eq!(loaded.not_loaded[0].reason, "nobody here has approved it as it is now");
}

#[tokio::test]
async fn calls_that_do_not_fit_are_errors_the_model_can_act_on() {
    let sample = Sample::new(&[]);
    let steps = vec![
        call("define_tool", slugify()),
        call("define_tool", slugify()),
        call("slugify", json!({"title": "A"})),
        call("slugify", json!({"text": 1})),
    ];
    let results = talk(&sample, Toolset::default(), &Agrees, steps).await;
    assert_eq!(results[1], Err("there is a tool `slugify`; choose another name".to_owned()));
    assert_eq!(results[2], Err("there is no argument `title`".to_owned()));
    assert!(results[3].as_ref().unwrap_err().contains("invalid-input"), "{results:?}");
}
