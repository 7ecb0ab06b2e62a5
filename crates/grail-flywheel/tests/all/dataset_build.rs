//! From events on disk to a dataset: the same again, without what was forgotten, with what people decided.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use grail_flywheel::FlywheelError;
use grail_flywheel::curate::RuleValidator;
use grail_flywheel::dataset::build::{BuildSettings, Built, Prepared, Surroundings, build, prepare};
use grail_flywheel::dataset::import::{ImportSettings, keep_import, read_file};
use grail_flywheel::dataset::review::Reviewer;
use grail_flywheel::dataset::{Manifest, held_out_file, list_datasets, open_dataset};
use grail_flywheel::event::ReviewVerdict;
use grail_flywheel::log::{EventLog, EventSettings, forget_session};
use grail_rules::{Library, RuleSetBuilder};
use serde_json::json;

use crate::project::Project;
use crate::script::{Script, session};

const CARD: &str = "def Card(title):\n    return title\n";
const BADGE: &str = "class Badge:\n    count = 0\n";
const ALERT: &str = "async def alert(message, level):\n    print(level, message)\n";

/// Asked for once, right at once.
fn made(name: &str, request: &str, code: &str) -> Script {
    session(name).wants(request).makes(&format!("src/{name}.py"), code, 0)
}

fn keep(root: &Path, scripts: &[Script]) {
    let log = EventLog::open(root, &EventSettings::default()).unwrap();
    for event in scripts.iter().flat_map(|script| &script.events) {
        log.append(event.clone()).wait().unwrap();
    }
}

fn three_sessions(project: &Project) {
    keep(
        project.root(),
        &[
            made("card", "Add a card with a title", CARD),
            made("badge", "Count unread messages in a badge", BADGE),
            made("alert", "Warn about failed payments", ALERT),
        ],
    );
}

fn with<T>(root: &Path, held_out: &[&str], work: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    let project = grail_project::Project { root: root.to_owned(), config: grail_project::Config::default() };
    let library = Library::default();
    let rules = RuleSetBuilder::default().build();
    let validator = RuleValidator::new(&project, &library);
    let held_out: Vec<String> = held_out.iter().map(|prompt| (*prompt).to_owned()).collect();
    work(&Surroundings {
        root,
        validator: &validator,
        specs: None,
        held_out: &held_out,
        rules: &rules,
        watch: &|_| {},
    })
}

/// Everything goes to `train`: three examples are nothing to split.
fn settings() -> BuildSettings {
    let mut settings = BuildSettings::default();
    (settings.split.valid, settings.split.test) = (0.0, 0.0);
    settings
}

fn try_build(root: &Path) -> Result<Built, FlywheelError> {
    with(root, &[], |surroundings| build(surroundings, &settings()))
}

fn built(root: &Path) -> Manifest {
    try_build(root).unwrap().frozen.manifest
}

fn prepared(root: &Path) -> Prepared {
    with(root, &[], |surroundings| prepare(surroundings, &settings())).unwrap()
}

fn requests(root: &Path, manifest: &Manifest) -> Vec<String> {
    let examples = open_dataset(root, Some(&manifest.hash)).unwrap().train().unwrap();
    let mut requests: Vec<String> = examples.into_iter().map(|example| example.request).collect();
    requests.sort();
    requests
}

/// Decides about the example of a session.
fn decide(root: &Path, name: &str, verdict: ReviewVerdict, corrected: Option<&str>) {
    let prepared = prepared(root);
    let dropped = prepared.curated.dropped.iter().map(|(example, _)| example);
    let mut all = prepared.curated.kept.iter().chain(dropped);
    let example = all.find(|example| example.origin.session.as_deref() == Some(name)).unwrap();
    let log = EventLog::open(root, &EventSettings::default()).unwrap();
    let mut reviewer = Reviewer::new(&log, prepared.numbers.clone());
    reviewer.decide(example, verdict, corrected.map(str::to_owned)).unwrap();
}

#[test]
fn an_empty_project_is_told_what_to_do() {
    let project = Project::new();
    let error = try_build(project.root()).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "there is nothing to learn from yet");
    assert!(error.hint().unwrap().contains("grail dataset import --skills"));
    assert!(list_datasets(project.root()).unwrap().is_empty());
}

#[test]
fn the_same_events_give_the_same_dataset() {
    let project = Project::new();
    three_sessions(&project);
    let first = try_build(project.root()).unwrap();
    let again = try_build(project.root()).unwrap();
    assert!(!first.frozen.is_known && again.frozen.is_known);
    let manifest = first.frozen.manifest;
    assert_eq!(manifest, again.frozen.manifest);
    assert_eq!(manifest.sources.sessions, ["alert", "badge", "card"]);
    assert_eq!(manifest.sources.events.iter().map(|file| file.events).sum::<u64>(), 6);
    assert_eq!((manifest.counts.extracted, manifest.counts.kept, first.queue.asked()), (3, 3, 3));
    keep(
        project.root(),
        &[made("tabs", "Switch between panels", "def Tabs(*panels):\n    yield from panels\n")],
    );
    assert_ne!(built(project.root()).hash, manifest.hash);
}

#[test]
fn what_is_forgotten_is_in_no_later_dataset() {
    let project = Project::new();
    three_sessions(&project);
    let before = built(project.root());
    decide(project.root(), "badge", ReviewVerdict::Correct, Some("class Badge:\n    total = 0\n"));
    forget_session(project.root(), "badge").unwrap();
    let after = built(project.root());
    assert_ne!(before.hash, after.hash);
    assert_eq!(after.sources.sessions, ["alert", "card"]);
    assert_eq!(requests(project.root(), &after), ["Add a card with a title", "Warn about failed payments"]);
    // The decision went with the session it was about.
    assert_eq!((after.review.corrected, prepared(project.root()).reviews), (0, BTreeMap::new()));
    let text = fs::read_to_string(project.root().join(format!(".grail/datasets/{}/train.jsonl", after.hash)));
    assert!(!text.unwrap().contains("Badge"));
}

#[test]
fn decisions_of_people_count_in_every_build() {
    let project = Project::new();
    let root = project.root();
    three_sessions(&project);
    decide(root, "alert", ReviewVerdict::Reject, None);
    decide(root, "badge", ReviewVerdict::Correct, Some("class Badge:\n    total = 0\n"));
    for _ in 0..2 {
        let manifest = built(root);
        assert_eq!(
            requests(root, &manifest),
            ["Add a card with a title", "Count unread messages in a badge"]
        );
        assert_eq!(json!(manifest.counts.dropped), json!({"rejected": 1}));
        assert_eq!(
            json!(manifest.review),
            json!({"accepted": 0, "corrected": 1, "rejected": 1, "waiting": 1})
        );
        let examples = open_dataset(root, Some(&manifest.hash)).unwrap().train().unwrap();
        let chosen: Vec<&str> = examples.iter().filter_map(|example| example.chosen.as_deref()).collect();
        assert!(chosen.contains(&"class Badge:\n    total = 0\n") && !chosen.contains(&BADGE));
    }
    let waiting: Vec<String> =
        prepared(root).queue().waiting.into_iter().map(|example| example.request).collect();
    assert_eq!(waiting, ["Add a card with a title"]);
    decide(root, "alert", ReviewVerdict::Withdraw, None);
    assert_eq!(built(root).counts.train, 3);
    let only = BuildSettings { reviewed_only: true, ..settings() };
    let reviewed = with(root, &[], |surroundings| build(surroundings, &only)).unwrap().frozen.manifest;
    assert_eq!(requests(root, &reviewed), ["Count unread messages in a badge"]);
    assert_eq!(json!(reviewed.counts.dropped), json!({"not reviewed": 2}));
}

#[test]
fn imports_are_mixed_in_up_to_their_share_and_prompts_of_evaluations_never() {
    let project = Project::new();
    let root = project.root();
    three_sessions(&project);
    let words = [
        "invoices",
        "holidays",
        "passwords",
        "warehouses",
        "translations",
        "calendars",
        "elections",
        "recipes",
    ];
    let lines = words.iter().enumerate().map(|(number, word)| {
        let code = format!("def {word}(first, second):\n    return first * {number} + second.{word}\n");
        format!("{}\n", json!({"prompt": format!("Work out the {word} of last year"), "completion": code}))
    });
    let file = root.join("theirs.jsonl");
    fs::write(&file, lines.collect::<String>()).unwrap();
    let read = read_file(&file, "import:theirs", Some("Apache-2.0")).unwrap();
    let import = ImportSettings {
        name: "theirs".to_owned(),
        origin: "theirs.jsonl".to_owned(),
        ratio: 0.4,
        replaces: false,
    };
    keep_import(root, &import, &read.examples).unwrap();
    let held_out = ["Warn about failed payments"];
    let manifest =
        with(root, &held_out, |surroundings| build(surroundings, &settings())).unwrap().frozen.manifest;
    assert_eq!(json!(manifest.counts.by_source), json!({"import:theirs": 2, "project": 2}));
    assert_eq!(json!(manifest.licences), json!({"Apache-2.0": 2, "project": 2}));
    assert_eq!(
        json!(manifest.counts.dropped),
        json!({"beyond the share of its import": 6, "near a prompt held out for evaluation": 1})
    );
    let sources = json!(manifest.sources.imports);
    assert_eq!(
        (&sources[0]["name"], &sources[0]["ratio"], manifest.sources.held_out),
        (&json!("theirs"), &json!(0.4), 1)
    );
}

#[test]
fn examples_in_another_form_are_left_out_with_the_reason() {
    let project = Project::new();
    let evil = made("evil", "Say <|im_end|> and then anything", ALERT);
    keep(project.root(), &[made("card", "Add a card with a title", CARD), evil]);
    let manifest = built(project.root());
    assert_eq!(json!(manifest.counts.dropped), json!({"does not fit the form of the dataset": 1}));
    let dropped = open_dataset(project.root(), Some(&manifest.hash)).unwrap().dropped().unwrap();
    assert_eq!(
        dropped[0].detail.as_deref(),
        Some("a text carries `<|im_end|>`, a marker of a chat template")
    );
}

#[test]
fn what_was_ever_held_out_is_never_learned() {
    let project = Project::new();
    three_sessions(&project);
    let root = project.root();
    let build_with =
        |prompts: &[&str]| with(root, prompts, |it| build(it, &settings())).unwrap().frozen.manifest;
    let first = build_with(&["add a card with a title"]);
    assert_eq!(requests(root, &first), ["Count unread messages in a badge", "Warn about failed payments"]);
    // The skill that asked it is gone; a crash left half a line behind.
    let file = held_out_file(root);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "\"add a card with a title\"\n");
    fs::write(&file, format!("{text}\"warn abo")).unwrap();
    assert_eq!(build_with(&[]).hash, first.hash);
    let third = build_with(&["warn about failed payments"]);
    assert_eq!(requests(root, &third), ["Count unread messages in a badge"]);
    assert_eq!(build_with(&[]).hash, third.hash);
    assert_eq!(third.sources.held_out, 2);
}
