//! Imports: every layout comes back as it went, and nothing gets in that should not.

use std::collections::BTreeMap;
use std::fs;

use grail_flywheel::FlywheelError;
use grail_flywheel::dataset::export::{ExportSettings, Layout, export};
use grail_flywheel::dataset::import::{
    ImportSettings, ReadFile, SkillMaterial, check_licence, keep_import, mix, read_file, read_imports,
    remove_import, skill_examples,
};
use grail_flywheel::dataset::{Draft, freeze, open_dataset};
use grail_flywheel::example::Example;
use grail_rules::{BuiltInSkill, Library};
use serde_json::json;

use crate::dataset::{calling, corrective, positive};

fn read(text: &str) -> Result<ReadFile, FlywheelError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.jsonl");
    fs::write(&path, text).unwrap();
    read_file(&path, "import:theirs", Some("MIT"))
}

/// The problems of lines, one a line.
fn problems(text: &str) -> String {
    let file = read(text).unwrap();
    let told = file.problems.iter().map(|problem| format!("{}: {}\n", problem.line, problem.problem));
    told.collect::<String>() + &format!("{} read, {} not", file.examples.len(), file.bad_lines)
}

fn refusal(text: &str) -> String {
    let message = read(text).unwrap_err().to_string();
    message.split_once("`: ").unwrap().1.to_owned()
}

#[test]
fn what_is_exported_can_be_imported() {
    let lesson = corrective("Let it take a sender", "class MailService: ...\n", "class PostService: ...\n");
    let draft = Draft { train: vec![lesson, calling("Call it post")], ..Draft::default() };
    let project = tempfile::tempdir().unwrap();
    let frozen = freeze(project.path(), &draft).unwrap();
    let dataset = open_dataset(project.path(), Some(&frozen.manifest.hash)).unwrap();
    let mut seen = String::new();
    for layout in Layout::ALL.into_iter().filter(|layout| *layout != Layout::Parquet) {
        for is_standard in [false, true] {
            let is_trl = layout.name().starts_with("trl");
            if is_standard && !is_trl {
                continue;
            }
            let output = project.path().join(format!("{}-{is_standard}", layout.name()));
            let settings =
                ExportSettings { repeat: 0.1, batch: 1, is_standard, ..ExportSettings::new(layout) };
            export(&dataset, &settings, &output).unwrap();
            let file = read_file(&output.join("train.jsonl"), "import:theirs", Some("MIT")).unwrap();
            assert_eq!(file.problems, [], "{}", layout.name());
            let told = |example: &Example| {
                let answer = example.chosen.as_deref().or(example.rejected.as_deref()).unwrap_or("calls");
                format!("{} {} {}", example.example_type.name(), answer.trim(), example.origin.source)
            };
            let mut told: Vec<String> = file.examples.iter().map(told).collect();
            told.sort();
            seen += &format!(
                "{}{}: {}\n",
                layout.name(),
                if is_standard { " standard" } else { "" },
                told.join(", ")
            );
        }
    }
    insta::assert_snapshot!(seen, @r#"
    mlx: positive class PostService: ... import:theirs
    tools: multi_tool calls import:theirs, positive class PostService: ... import:theirs
    completions: positive class PostService: ... import:theirs
    trl-sft: positive class PostService: ... import:theirs
    trl-sft standard: positive class PostService: ... import:theirs
    trl-dpo: negative class PostService: ... import:theirs
    trl-dpo standard: negative class PostService: ... import:theirs
    trl-kto: negative class MailService: ... import:theirs, positive class PostService: ... import:theirs
    trl-kto standard: negative class MailService: ... import:theirs, positive class PostService: ... import:theirs
    openai: multi_tool calls import:theirs, positive class PostService: ... import:theirs
    openai-dpo: negative class PostService: ... import:theirs
    chatml: positive <tool_call>
    {"name":"find_usages","arguments":{"name":"MailService"}}
    </tool_call>
    <tool_call>
    {"name":"rename","arguments":{"name":"MailService","to":"PostService","write":true}}
    </tool_call> import:theirs, positive class PostService: ... import:theirs
    grail: corrective class PostService: ... import:theirs, multi_tool calls import:theirs
    "#);
}

#[test]
fn bad_lines_are_told_one_by_one() {
    let good = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#;
    let bad = [
        r#"{"prompt":"a","completion":"b"}"#,
        r#"{"messages":[]}"#,
        r#"{"messages":[{"role":"user","content":"a"}]}"#,
        r#"{"messages":[{"role":"tool","content":"a"},{"role":"assistant","content":"b"}]}"#,
        r#"{"messages":[{"role":"user","content":"\u001b[2Ja"},{"role":"assistant","content":"b"}]}"#,
        r#"{"messages":[{"role":"user","content":"<|im_end|>"},{"role":"assistant","content":"b"}]}"#,
        r#"{"messages":[{"role":"user","content":["x"]},{"role":"assistant","content":"b"}]}"#,
        r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":" "}]}"#,
        r#"{"messages": "#,
        "[1]",
        "{\"other\": 1}",
    ];
    let text = format!("{good}\n\n{}\n{good}", bad.join("\n"));
    insta::assert_snapshot!(problems(&text), @r#"
    3: the line is `prompt, completion`, the first one `messages`: one file has one layout
    4: `messages` has 0 messages; 1 to 64 are an example
    5: the last message is not the assistant's
    6: `messages[0]` is of `tool`, which cannot be kept
    7: `messages[0].content` holds the control character \u{1b}
    8: a text carries `<|im_end|>`, a marker of a chat template
    9: `messages[0].content` holds something that is no text
    10: `messages[1]` says nothing
    11: the line is no JSON: EOF while parsing a value, column 12
    12: the line is no object
    13: the fields `other` are no layout that is known
    2 read, 11 not
    "#);
    let deep = format!("{good}\n{{\"messages\":{}", "[".repeat(100_000));
    insta::assert_snapshot!(problems(&deep), @"
    2: the line nests deeper than 32 levels
    1 read, 1 not
    ");
    let long = format!("{good}\n{{\"messages\":\"{}\"}}\n{good}", "x".repeat(5_000_000));
    insta::assert_snapshot!(problems(&long), @"
    2: the line is longer than 4194304 bytes
    2 read, 1 not
    ");
}

#[test]
fn a_file_that_is_nothing_is_refused() {
    insta::assert_snapshot!(refusal(""), @"holds no line");
    insta::assert_snapshot!(refusal("hello"), @"line 1: the line is no JSON: expected value, column 1");
    insta::assert_snapshot!(refusal("{\"instruction\": \"a\", \"output\": \"b\"}"), @"line 1: the fields `instruction`, `output` are no layout that is known");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes.jsonl");
    fs::write(&path, b"\xff\xfe\n").unwrap();
    let message = read_file(&path, "import:x", Some("MIT")).unwrap_err().to_string();
    assert!(message.ends_with("line 1: the line is not UTF-8"), "{message}");
}

#[test]
fn code_is_kept_bare_and_their_system_prompt_is_not_kept() {
    let answer = "```python\nclass A:\n    pass\n```";
    let row = json!({"messages": [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": answer},
    ]});
    let file = read(&row.to_string()).unwrap();
    assert_eq!(file.examples[0].chosen.as_deref(), Some("class A:\n    pass\n"));
    assert_eq!((file.system_prompts, file.examples[0].window.len()), (1, 0));
}

#[test]
fn nothing_is_kept_without_a_licence() {
    let row = r#"{"prompt":"a","completion":"b"}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.jsonl");
    fs::write(&path, row).unwrap();
    let file = read_file(&path, "import:theirs", None).unwrap();
    assert_eq!(file.problems[0].problem, "the line has no licence, and none was named");
    for licence in ["", "unknown", "none", "Unlicensed", "MIT\n", "see ~/x"] {
        assert!(check_licence(licence).is_err(), "{licence}");
    }
    for licence in ["MIT", "Apache-2.0", "MIT OR Apache-2.0", "CC-BY-4.0", "LicenseRef-internal"] {
        assert!(check_licence(licence).is_ok(), "{licence}");
    }
}

#[test]
fn an_import_survives_and_a_changed_one_is_refused() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    let settings = ImportSettings {
        name: "theirs".to_owned(),
        origin: "theirs.jsonl".to_owned(),
        ratio: 0.2,
        replaces: false,
    };
    let examples = read(r#"{"prompt":"a","completion":"b"}"#).unwrap().examples;
    let record = keep_import(root, &settings, &examples).unwrap();
    assert_eq!(json!(record.licences), json!({"MIT": 1}));
    let kept = read_imports(root).unwrap();
    assert_eq!((kept.len(), &kept[0].record, &kept[0].examples), (1, &record, &examples));
    let again = keep_import(root, &settings, &examples).unwrap_err();
    assert_eq!(again.to_string(), "there is an import `theirs` already");
    keep_import(root, &ImportSettings { replaces: true, ..settings.clone() }, &examples).unwrap();
    assert_eq!(read_imports(root).unwrap().len(), 1);
    let named = |name: &str| {
        keep_import(root, &ImportSettings { name: name.to_owned(), ..settings.clone() }, &examples)
    };
    assert_eq!(named("../out").unwrap_err().to_string(), "`../out` is no name for an import");
    fs::write(root.join(".grail/imports/theirs/examples.jsonl"), "").unwrap();
    assert_eq!(read_imports(root).unwrap_err().to_string(), "import `theirs` is not what it was");
    keep_import(root, &ImportSettings { replaces: true, ..settings }, &examples).unwrap();
    remove_import(root, "theirs").unwrap();
    assert!(read_imports(root).unwrap().is_empty());
}

#[test]
fn an_import_has_at_most_its_share() {
    let mut examples: Vec<Example> =
        (0..8).map(|number| positive(&format!("own {number}"), "class A: ...\n")).collect();
    for (name, count) in [("big", 50), ("small", 1)] {
        examples.extend((0..count).map(|number| {
            let mut example = positive(&format!("{name} {number}"), "class B: ...\n");
            example.origin.source = format!("import:{name}/project");
            example
        }));
    }
    let kept = |ratios: &[(&str, f64)]| {
        let ratios: BTreeMap<String, f64> =
            ratios.iter().map(|(name, ratio)| ((*name).to_owned(), *ratio)).collect();
        let dropped = mix(&examples, &ratios);
        let count = |source: &str| {
            examples
                .iter()
                .filter(|example| example.origin.source.contains(source) && !dropped.contains(&example.id))
                .count()
        };
        (
            examples.iter().filter(|example| example.origin.source == "project").count(),
            count("big"),
            count("small"),
        )
    };
    // A fifth of the whole is a quarter of the rest.
    assert_eq!(kept(&[("big", 0.2), ("small", 1.0)]), (8, 2, 1));
    assert_eq!(kept(&[("big", 0.5), ("small", 0.3)]), (8, 9, 1));
    assert_eq!(kept(&[("big", 1.0), ("small", 1.0)]), (8, 50, 1));
    let only: Vec<Example> =
        examples.iter().filter(|example| example.origin.source.contains("big")).cloned().collect();
    assert!(mix(&only, &BTreeMap::from([("big".to_owned(), 0.1)])).is_empty());
}

#[test]
fn skills_give_their_examples_in_words_that_somebody_would_use() {
    let library = Library::built_in();
    let skill = BuiltInSkill::all().find(|skill| skill.name() == "svcs-services").unwrap();
    let files = skill
        .files()
        .into_iter()
        .map(|(path, bytes)| (path.to_owned(), String::from_utf8_lossy(bytes).into_owned()));
    let material = SkillMaterial {
        name: skill.name().to_owned(),
        licence: Some("MIT".to_owned()),
        files: files.collect(),
        pack: library.pack(skill.name()),
    };
    let examples = skill_examples(&material);
    let told = |example: &Example| {
        let request = example.request.lines().next().unwrap();
        format!(
            "{} {}: {request} -> {}",
            example.example_type.name(),
            example.artifact.as_deref().unwrap_or("-"),
            example.path.as_deref().unwrap_or("-")
        )
    };
    let told: Vec<String> = examples.iter().map(told).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    positive service: Add the service `CacheService`. Remember results of expensive calls for some minutes. -> services/cache_service.py
    positive service: Add the service `CheckoutService`. Check out a cart: place the order, then send the customer a confirmation. -> services/checkout_service.py
    positive service: Add the service `ClockService`. Tell the time in a way that tests can stop. -> services/clock_service.py
    positive service: Add the service `ConnectionPoolService`. Share a pool of connections among requests and close it when the application stops. -> services/connection_pool_service.py
    positive service: Add the service `CurrentUserService`. Make the logged-in user of a request available to all services of that request. -> services/current_user_service.py
    positive service: Add the service `DatabaseService`. Open one database connection per request and close it when the request ends. -> services/database_service.py
    positive service: Add the service `EventBusService`. Let parts of the application hear about events without knowing one another. -> services/event_bus_service.py
    positive service: Add the service `FeatureFlagService`. Switch features on for everybody, for some users or for a share of all users. -> services/feature_flag_service.py
    positive service: Add the service `GreetingService`. Greet people by name in one of several languages. -> services/greeting_service.py
    positive service: Add the service `HealthService`. Report which services of the application are healthy and which are not. -> services/health_service.py
    positive service: Add the service `JobQueueService`. Do slow work in the background and finish what was begun before shutting down. -> services/job_queue_service.py
    positive service: Add the service `MailService`. Send e-mails without waiting for the server, through a transport that can be replaced. -> services/mail_service.py
    positive service: Add the service `OrderService`. Place orders that are paid for, recorded and announced to whoever listens. -> services/order_service.py
    positive service: Add the service `PaymentService`. Take payments through an interface, so that the provider can be changed in one place. -> services/payment_service.py
    positive service: Add the service `RateLimitService`. Allow each client only so many requests per minute. -> services/rate_limit_service.py
    positive service: Add the service `RetryService`. Try a call that may fail for a moment again, waiting longer each time. -> services/retry_service.py
    positive service: Add the service `SettingsService`. Read the settings of the application once from environment variables and share them. -> services/settings_service.py
    positive service: Add the service `TokenService`. Sign tokens for links in e-mails and recognise them again until they expire. -> services/token_service.py
    positive service: Add the service `TransactionService`. Keep all changes of a request together: commit them at its end, undo them on an error. -> services/transaction_service.py
    positive service: Add the service `UserDirectoryService`. Look up and add users in the database. -> services/user_directory_service.py
    corrective -: Mend this code: A generator is not autowired as it is. -> -
    corrective -: Mend this code: A class with dependencies is not its own factory. -> -
    corrective -: Mend this code: A factory is registered, not its result. -> -
    corrective service: Mend this code: A service that is a dataclass has keyword-only fields. -> -
    corrective service: Mend this code: A service that is a dataclass has keyword-only fields. -> -
    corrective service: Mend this code: A service takes its dependencies by keyword. -> -
    corrective -: Mend this code: A registration names the type first. -> -
    ");
}
