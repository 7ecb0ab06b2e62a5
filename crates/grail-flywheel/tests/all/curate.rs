//! What of examples is kept, and why the rest is not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use grail_flywheel::curate::{
    CurateSettings, Curated, ProgramRunner, Ran, Reason, RuleValidator, Validator, curate, rewordings,
};
use grail_flywheel::event::{Problem, ReviewVerdict};
use grail_flywheel::example::{Example, ExampleType, Origin, Turn, Weight};
use grail_flywheel::extract::Review;
use grail_project::{Config, Project};
use grail_rules::Library;
use proptest::prelude::*;

const GOOD: &str = "from myapp.web import view\nfrom tdom import html\n\n\n@view\ndef user_view(*, name: str) -> str:\n    return html(t\"<h1>{name}</h1>\")\n";

/// Everything holds.
struct Content;

impl Validator for Content {
    fn validate(&self, _: &Example) -> Result<(), Reason> {
        Ok(())
    }
}

fn example(
    example_type: ExampleType,
    request: &str,
    chosen: Option<&str>,
    rejected: Option<&str>,
) -> Example {
    let mut example = Example {
        id: String::new(),
        example_type,
        artifact: Some("view".to_owned()),
        rules: Vec::new(),
        tools: Vec::new(),
        context: None,
        window: Vec::new(),
        request: request.to_owned(),
        chosen: chosen.map(str::to_owned),
        calls: Vec::new(),
        rejected: rejected.map(str::to_owned),
        problems: Vec::new(),
        path: Some("views/user_view.py".to_owned()),
        weight: Weight::new(example_type.base_weight(), 1.0),
        origin: Origin { source: "project".to_owned(), session: Some("s1".to_owned()), ..Origin::default() },
    };
    example.id = example.content_id();
    example
}

fn positive(request: &str, chosen: &str) -> Example {
    example(ExampleType::Positive, request, Some(chosen), None)
}

fn corrective(rule: &str, rejected: &str) -> Example {
    let mut example = example(ExampleType::Corrective, "make a user view", Some(GOOD), Some(rejected));
    example.rules = vec![rule.to_owned()];
    example.problems = vec![problem("rules", rule)];
    example
}

fn problem(layer: &str, rule: &str) -> Problem {
    Problem { layer: layer.to_owned(), rule: rule.to_owned(), message: String::new(), line: 1, hint: None }
}

fn at_session(mut example: Example, session: &str) -> Example {
    example.origin.session = Some(session.to_owned());
    example
}

fn reasons(curated: &Curated) -> Vec<String> {
    let mut reasons: Vec<String> = curated.dropped.iter().map(|(_, reason)| reason.to_string()).collect();
    reasons.sort();
    reasons
}

fn judged(examples: &[Example]) -> Vec<String> {
    let project = Project { root: PathBuf::from("."), config: Config::default() };
    let library = Library::built_in();
    let validator = RuleValidator::new(&project, &library);
    let told = |verdict: Result<(), Reason>| {
        verdict.map_or_else(|reason| reason.to_string(), |()| "holds".to_owned())
    };
    validator.validate_all(examples).into_iter().map(told).chain(validator.notes()).collect()
}

#[test]
fn the_answer_has_to_pass_today_as_it_stands() {
    let told = judged(&[
        positive("make a user view", GOOD),
        positive("make a user view", "def user_view("),
        positive("make a user view", &GOOD.replace("t\"", "f\"")),
        // A fix would put it right, but this is what would be learned.
        positive("make a user view", &GOOD.replace("*, ", "")),
    ]);
    insta::assert_snapshot!(told.join("\n"), @"
    holds
    the answer does not parse: unexpected EOF while parsing
    the answer breaks `view-no-f-string` today: HTML in an f-string is not escaped
    the answer breaks `view-keyword-only` today: the view `user_view` takes `name` by position
    ");
}

#[test]
fn what_should_not_be_answered_has_to_fail_still() {
    let told = judged(&[
        corrective("view-no-f-string", &GOOD.replace("t\"", "f\"")),
        corrective("view-no-f-string", &GOOD.replace("h1", "h2")),
        // A rule that is gone teaches nothing.
        corrective("view-in-latin", &GOOD.replace("t\"", "f\"")),
        corrective("syntax-error", "def user_view("),
        corrective("view-no-f-string", GOOD),
    ]);
    insta::assert_snapshot!(told.join("\n"), @"
    holds
    what should not be answered no longer breaks `view-no-f-string`
    what should not be answered no longer breaks `view-in-latin`
    holds
    the answer is also what should not be answered
    ");
    // What only types or tests can say is not asked here.
    let mut by_types = corrective("invalid-return-type", &GOOD.replace("h1", "h2"));
    by_types.problems = vec![problem("types", "invalid-return-type")];
    assert_eq!(judged(&[by_types]), ["holds"]);
}

#[test]
fn a_kind_that_is_gone_and_rules_in_python_that_cannot_run_are_told() {
    let mut unknown = positive("make a thing", "x = 1\n");
    unknown.artifact = Some("gadget".to_owned());
    insta::assert_snapshot!(judged(&[unknown]).join("\n"), @"
    holds
    no skill declares the kind `gadget` any more; its examples are judged by the rules for all code
    ");
}

#[test]
fn hostile_paths_are_no_paths() {
    for path in ["/etc/passwd.py", "../../x.py", "a//b.py", "C:\\x.py", "", "views/\0.py"] {
        let mut hostile = positive("make a user view", GOOD);
        hostile.path = Some(path.to_owned());
        assert_eq!(judged(&[hostile]), ["holds"], "{path:?}");
    }
}

#[test]
fn programs_are_run_where_they_can_run() {
    struct Runner;
    impl ProgramRunner for Runner {
        fn run(&self, code: &str, tools: &[String]) -> Ran {
            match code {
                _ if !tools.is_empty() => Ran::CannotRun,
                "1 / 0\n" => Ran::Failed("ZeroDivisionError: division by zero".to_owned()),
                _ => Ran::Well,
            }
        }
    }
    let project = Project { root: PathBuf::from("."), config: Config::default() };
    let library = Library::built_in();
    let validator = RuleValidator::new(&project, &library).with_runner(&Runner);
    let program = |code: &str, tools: &[&str]| {
        let mut program = example(ExampleType::MultiTool, "count", Some(code), None);
        (program.artifact, program.path) = (None, None);
        program.tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        validator.validate(&program).map_err(|reason| reason.to_string())
    };
    assert_eq!(program("1 + 1\n", &[]), Ok(()));
    assert_eq!(program("1 / 0\n", &["search"]), Ok(()));
    assert_eq!(
        program("1 / 0\n", &[]),
        Err("the answer does not run: ZeroDivisionError: division by zero".to_owned())
    );
}

#[test]
#[cfg(unix)]
fn types_are_checked_once_for_all_where_a_checker_is_installed() {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    if !venv.join("bin/ty").is_file() {
        return skip("no `ty` in the repository's .venv; scripts/venv makes it");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("shop.py"), "def price() -> int:\n    return 3\n").unwrap();
    std::os::unix::fs::symlink(venv.canonicalize().unwrap(), root.join(".venv")).unwrap();
    let project = Project { root, config: Config::default() };
    let library = Library::built_in();
    let validator = RuleValidator::new(&project, &library).with_tools();
    let code = |code: &str| {
        let mut example = positive("write it", code);
        (example.artifact, example.path) = (None, Some("a.py".to_owned()));
        example
    };
    let mended = |rejected: &str| {
        let mut example =
            example(ExampleType::Corrective, "write it", Some("total: str = '3'\n"), Some(rejected));
        (example.artifact, example.path) = (None, Some("a.py".to_owned()));
        example.problems = vec![problem("types", "invalid-assignment")];
        example.rules = vec!["invalid-assignment".to_owned()];
        example
    };
    let verdicts = validator.validate_all(&[
        code("import shop\n\ntotal: int = shop.price() * 2\n"),
        code("import shop\n\ntotal: str = shop.price()\n"),
        code("from .beside import something\n\nprint(something)\n"),
        mended("total: str = 3\n"),
        mended("total: str = 'three'\n"),
    ]);
    assert_eq!(validator.notes(), Vec::<String>::new());
    assert!(verdicts[0].is_ok() && verdicts[2].is_ok(), "{verdicts:?}");
    assert!(
        matches!(&verdicts[1], Err(Reason::Types { message }) if message.contains("int")),
        "{verdicts:?}"
    );
    assert!(verdicts[3].is_ok(), "{verdicts:?}");
    assert!(matches!(&verdicts[4], Err(Reason::LabelGone { .. })), "{verdicts:?}");
}

#[test]
#[cfg(unix)]
fn what_lint_found_has_to_be_found_still_and_what_tests_found_is_taken_as_it_was() {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    if !venv.join("bin/ruff").is_file() {
        return skip("no `ruff` in the repository's .venv; scripts/venv makes it");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(venv.canonicalize().unwrap(), root.join(".venv")).unwrap();
    let project = Project { root, config: Config::default() };
    let library = Library::built_in();
    let validator = RuleValidator::new(&project, &library).with_tools();
    let mended = |layers: &[&str], rule: &str, rejected: &str| {
        let mut example = example(ExampleType::Corrective, "write it", Some("total = 3\n"), Some(rejected));
        (example.artifact, example.path) = (None, Some("a.py".to_owned()));
        example.problems = layers.iter().map(|layer| problem(layer, rule)).collect();
        example.rules = vec![rule.to_owned()];
        example
    };
    let verdicts = validator.validate_all(&[
        mended(&["lint"], "F401", "import os\n\ntotal = 3\n"),
        mended(&["lint"], "F401", "total = 4\n"),
        mended(&["tests", "lint"], "F401", "total = 4\n"),
        mended(&["rules", "lint"], "F401", "total = 4\n"),
    ]);
    let gone: Vec<bool> =
        verdicts.iter().map(|verdict| matches!(verdict, Err(Reason::LabelGone { .. }))).collect();
    assert_eq!(gone, [false, true, false, true], "{verdicts:?}");
    let notes = validator.notes();
    assert!(
        notes
            .contains(&"tests are not run again: what they found is taken as it was in 1 example".to_owned()),
        "{notes:?}"
    );
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

#[test]
fn people_have_the_last_word_and_still_it_has_to_be_true() {
    let [no, other, broken] = ["one wish", "another wish entirely", "a third thing"]
        .map(|request| positive(request, &format!("{GOOD}# {request}\n")));
    let review =
        |verdict, corrected: Option<&str>| Review { verdict, corrected: corrected.map(str::to_owned) };
    let reviews: BTreeMap<String, Review> = [
        (no.id.clone(), review(ReviewVerdict::Reject, None)),
        (other.id.clone(), review(ReviewVerdict::Correct, Some(&GOOD.replace("h1", "h3")))),
        (broken.id.clone(), review(ReviewVerdict::Correct, Some("def broken("))),
    ]
    .into();
    let project = Project { root: PathBuf::from("."), config: Config::default() };
    let library = Library::built_in();
    let validator = RuleValidator::new(&project, &library);
    let curated =
        curate(vec![no, other, broken], &CurateSettings { reviews, ..CurateSettings::default() }, &validator);
    assert_eq!(curated.kept.len(), 1);
    assert!(curated.kept[0].chosen.as_ref().unwrap().contains("h3"));
    assert_eq!(curated.kept[0].id, curated.kept[0].content_id());
    assert_eq!(curated.reasons, BTreeMap::from([("rejected".to_owned(), 1), ("syntax".to_owned(), 1)]));
}

#[test]
fn what_stands_in_the_place_of_a_secret_is_not_learned() {
    let secret = positive("send a mail", "send('[redacted:email-address]')\n");
    let curated = curate(vec![secret], &CurateSettings::default(), &Content);
    assert_eq!(reasons(&curated), ["something secret was taken out of the answer"]);
}

#[test]
fn the_same_lesson_is_kept_once_with_all_that_it_comes_from() {
    let ids: Vec<uuid::Uuid> = (1..4).map(uuid::Uuid::from_u128).collect();
    let mut one = positive("make a user view", GOOD);
    one.origin.events = vec![ids[0]];
    let mut two = at_session(positive("make  a user view", &GOOD.replace('\n', "  \r\n")), "s2");
    two.origin.events = vec![ids[1]];
    two.weight = Weight::new(1.0, 1.2);
    two.window = vec![Turn { role: "user".to_owned(), text: "hello".to_owned() }];
    two.id = two.content_id();
    let curated = curate(vec![one, two.clone()], &CurateSettings::default(), &Content);
    assert_eq!(curated.kept.len(), 1);
    // The one from the merged branch weighs more and stays.
    assert_eq!(curated.kept[0].id, two.id);
    assert_eq!(curated.kept[0].origin.events, [ids[1], ids[0]]);
    assert_eq!(reasons(&curated), [format!("the same as `{}`", two.id)]);
}

#[test]
fn nearly_the_same_is_the_same_unless_it_teaches_another_rule() {
    let long = GOOD.repeat(4);
    let near = |number: usize| format!("{long}x = {number}\n");
    let request = "make a user view that greets people by their first name";
    let examples = vec![
        positive(request, &near(1)),
        positive(&format!("{request} please"), &near(2)),
        positive("clean up the shop", &near(3)),
    ];
    let curated = curate(examples, &CurateSettings::default(), &Content);
    assert_eq!(curated.kept.len(), 2);
    assert!(matches!(curated.dropped[0].1, Reason::NearDuplicate { percent: 85.., .. }));

    let mut pairs: Vec<Example> = (0..2).map(|number| corrective("view-suffix", &near(number))).collect();
    pairs[1].rules = vec!["view-decorator".to_owned()];
    let curated = curate(pairs, &CurateSettings::default(), &Content);
    assert_eq!(curated.kept.len(), 2);
}

#[test]
fn no_session_gives_more_than_its_share() {
    let examples: Vec<Example> = (0..10)
        .map(|number| {
            let words = ["ash", "bay", "cod", "dew", "elm", "fig", "gum", "hay", "ivy", "jam"][number];
            positive(&format!("{words} {words}s"), &format!("{words} = '{words}{number}'\n"))
        })
        .collect();
    let curated = curate(examples, &CurateSettings { session_cap: 4, ..CurateSettings::default() }, &Content);
    assert_eq!(curated.kept.len(), 4);
    assert_eq!(curated.reasons, BTreeMap::from([("session_cap".to_owned(), 6)]));
    assert_eq!(reasons(&curated)[0], "its session gives 4 better ones already");
}

#[test]
fn what_is_rare_is_raised_within_bounds_and_what_stays_rare_is_told() {
    let words: Vec<String> = (0..100).map(|number| format!("w{:x}", number * 7919 + 13)).collect();
    let kinds = |number: usize| match number {
        0 => "middleware",
        1..=3 => "service",
        _ => "view",
    };
    let examples: Vec<Example> = (0..100)
        .map(|number| {
            let mut example = positive(&words[number], &format!("{} = {number}\n", words[number]));
            example.artifact = Some(kinds(number).to_owned());
            at_session(example, &words[number])
        })
        .collect();
    let curated = curate(examples, &CurateSettings::default(), &Content);
    let told = |counts: &grail_flywheel::curate::Counts| {
        let line = |(name, share): (&String, &grail_flywheel::curate::Share)| {
            format!("{name} {} {:.1}%", share.examples, share.share * 100.0)
        };
        counts.artifacts.iter().map(line).collect::<Vec<_>>().join(", ")
    };
    insta::assert_snapshot!(told(&curated.before), @"middleware 1 1.0%, service 3 3.0%, view 96 96.0%");
    insta::assert_snapshot!(told(&curated.after), @"middleware 1 7.0%, service 3 8.9%, view 96 84.1%");
    insta::assert_snapshot!(curated.warnings.join("\n"), @"");
    assert!(curated.kept.iter().all(|example| (0.25..=4.0).contains(&example.weight.balance)));
    assert_eq!(curated.kept.len(), 100);
}

#[test]
fn requests_are_said_in_other_words_by_templates() {
    insta::assert_snapshot!(rewordings("Create a UserCard with a title.").join("\n"), @"
    Make a UserCard with a title.
    I need a UserCard with a title.
    Can you add a UserCard with a title?
    Please write a UserCard with a title.
    I would like you to build a UserCard with a title.
    A UserCard with a title is missing; implement it.
    ");
    assert!(rewordings("Why does this fail?").is_empty());
    assert!(rewordings("Create a card. Then delete it.").is_empty());
    assert!(rewordings("").is_empty());
}

#[test]
fn variations_are_few_light_and_true() {
    let source = positive("Create user_view that greets people", GOOD);
    let settings = CurateSettings { variations: 2, renames: true, ..CurateSettings::default() };
    let project = Project { root: PathBuf::from("."), config: Config::default() };
    let library = Library::built_in();
    let validator = RuleValidator::new(&project, &library);
    let curated = curate(vec![source.clone()], &settings, &validator);
    assert_eq!((curated.variations, curated.failed_variations), (3, 0));
    let mut told: Vec<String> = curated
        .kept
        .iter()
        .filter(|example| example.origin.variation_of.as_deref() == Some(source.id.as_str()))
        .map(|example| {
            let name =
                example.chosen.as_ref().unwrap().lines().find(|line| line.starts_with("def ")).unwrap();
            format!("{} => {name} ×{}", example.request, example.weight.total())
        })
        .collect();
    told.sort();
    insta::assert_snapshot!(told.join("\n"), @"
    Can you add user_view that greets people? => def user_view(*, name: str) -> str: ×0.5
    Create planet_view that greets people => def planet_view(*, name: str) -> str: ×0.5
    Make user_view that greets people. => def user_view(*, name: str) -> str: ×0.5
    ");
    assert!(curate(vec![source], &CurateSettings::default(), &validator).variations == 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn nothing_disappears_and_order_does_not_matter(
        picked in prop::collection::vec((0usize..6, 0usize..4, 0usize..3), 0..40)
    ) {
        let make = |(request, code, session): &(usize, usize, usize)| {
            let request = format!("wish number {request} of many that people have");
            at_session(positive(&request, &format!("{GOOD}y{code} = {code}\n")), &format!("s{session}"))
        };
        let mut examples: Vec<Example> = picked.iter().map(make).collect();
        let settings = CurateSettings { session_cap: 3, ..CurateSettings::default() };
        let first = curate(examples.clone(), &settings, &Content);
        prop_assert_eq!(first.kept.len() + first.dropped.len(), examples.len());
        prop_assert_eq!(first.before.examples, examples.len());
        prop_assert_eq!(first.after.examples, first.kept.len());
        examples.reverse();
        let again = curate(examples, &settings, &Content);
        prop_assert_eq!(&again.kept, &first.kept);
    }
}
