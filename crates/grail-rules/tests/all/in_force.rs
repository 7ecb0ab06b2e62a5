//! Which rules are in force, what settings do to them, and which findings the code's author has answered.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use grail_code::{ModuleName, Source, parse_module};
use grail_project::CheckConfig;
use grail_rules::{Checker, Library, Origin, Pack, RuleSet, Selection, Usage};

fn rule(id: &str, front: &str, definition: &str) -> (String, String) {
    let text = format!("---\nid: {id}\n{front}---\n\n# {id}\n\n```yaml rule\n{definition}\n```\n");
    (format!("rules/{id}.md"), text)
}

fn old_variant((path, text): (String, String)) -> (String, String) {
    (path.replace("rules/", "rules/old/"), text)
}

fn library() -> Library {
    let calls = |name: &str| format!("match: {name}($$$)\nmessage: \"`{name}` is called\"");
    let tdom = [
        ("rules/pack.toml".to_owned(), "[libraries]\ntdom = \">=0.1\"\n\n[kinds.component]\ndescription = \"c\"\nrecognise = [\"def $NAME($$$) -> Template\"]\n".to_owned()),
        rule("no-old", "for: {tdom: \">=0.1.15\"}\n", &calls("new_era")),
        old_variant(rule("no-old", "for: {tdom: \"<0.1.15\"}\n", &calls("old_era"))),
        rule("documented", "applies-to: [component]\nseverity: warning\n", "unless: {predicate: is_private}\nmessage: \"`$NAME` is seen\""),
    ];
    let plain = [rule(
        "no-call",
        "options: {function: print}\n",
        "match: \"%{function}($$$)\"\nmessage: \"`%{function}` is called\"",
    )];
    let read = |name: &str, origin, files: &[(String, String)]| {
        let files: BTreeMap<String, String> = files.iter().cloned().collect();
        let pack = Pack::read(name, origin, Path::new(name), &files).expect("a pack");
        assert!(pack.problems.is_empty(), "{:?}", pack.problems);
        pack
    };
    Library {
        packs: vec![read("tdom", Origin::BuiltIn, &tdom), read("mine", Origin::Project, &plain)],
        ..Library::default()
    }
}

struct Settings<'s> {
    toml: &'s str,
    select: &'s [&'s str],
    kind: Option<&'s str>,
    tdom: Usage,
}

const PLAIN: Settings<'static> = Settings { toml: "", select: &[], kind: None, tdom: Usage::Absent };

fn rules(settings: &Settings<'_>) -> Result<RuleSet, String> {
    let config: CheckConfig = toml::from_str(settings.toml).map_err(|error| error.message().to_owned())?;
    let select: Vec<String> = settings.select.iter().map(|name| (*name).to_owned()).collect();
    let usage = |library: &str| if library == "tdom" { settings.tdom.clone() } else { Usage::Absent };
    Selection { config: &config, select: &select, ignore: &[], kind: settings.kind, usage: &usage }
        .rules(&library())
        .map_err(|problem| format!("{problem}; hint: {}", problem.hint.as_deref().unwrap_or("none")))
}

fn check(settings: &Settings<'_>, path: &str, code: &str) -> Vec<String> {
    let rules = rules(settings).expect("settings that hold");
    let parsed = parse_module(Source::from_text(code));
    let checker = Checker { rules: &rules, python: None };
    let path: Arc<str> = path.into();
    let findings = checker.check_parsed(&path, &ModuleName::default(), &parsed).report.findings;
    findings
        .iter()
        .map(|found| format!("{}:{}: {}", found.start.line, found.severity, found.message))
        .collect()
}

#[test]
fn a_built_in_pack_is_in_force_where_its_library_is_used() {
    let ids = |tdom: Usage| -> Vec<String> {
        let rules = rules(&Settings { tdom, ..PLAIN }).expect("rules");
        rules.rules().map(|rule| rule.rule.id.to_string()).collect()
    };
    assert_eq!(ids(Usage::Absent), ["no-call"]);
    assert_eq!(ids(Usage::AnyVersion), ["documented", "no-old", "no-call"]);
}

#[test]
fn the_variant_follows_the_version() {
    let code = "new_era()\nold_era()\n";
    let old = Usage::version("0.1.14").expect("a version");
    let new = Usage::version("0.1.20").expect("a version");
    assert_eq!(check(&Settings { tdom: old, ..PLAIN }, "a.py", code), ["2:error: `old_era` is called"]);
    assert_eq!(check(&Settings { tdom: new, ..PLAIN }, "a.py", code), ["1:error: `new_era` is called"]);
    assert_eq!(
        check(&Settings { tdom: Usage::AnyVersion, ..PLAIN }, "a.py", code),
        ["1:error: `new_era` is called"]
    );
}

#[test]
fn selecting_on_the_command_line_leaves_nothing_else() {
    let settings = Settings { select: &["no-old"], ..PLAIN };
    assert_eq!(check(&settings, "a.py", "new_era()\nprint()\n"), ["1:error: `new_era` is called"]);
}

#[test]
fn settings_ignore_change_and_except() {
    let code = "print(1)\nlog(1)\n";
    let with = |toml| check(&Settings { toml, ..PLAIN }, "tests/a.py", code);
    assert_eq!(with(""), ["1:error: `print` is called"]);
    assert_eq!(with("ignore = [\"no-call\"]"), Vec::<String>::new());
    assert_eq!(with("ignore = [\"mine\"]"), Vec::<String>::new());
    assert_eq!(with("severity = {no-call = \"info\"}"), ["1:info: `print` is called"]);
    assert_eq!(with("options.no-call = {function = \"log\"}"), ["2:error: `log` is called"]);
    assert_eq!(with("per-path = {\"tests/**\" = [\"no-call\"]}"), Vec::<String>::new());
    assert_eq!(with("per-path = {\"src/**\" = [\"ALL\"]}"), ["1:error: `print` is called"]);
}

#[test]
fn a_setting_about_nothing_is_refused() {
    let problem = |toml| rules(&Settings { toml, ..PLAIN }).err().expect("a refusal");
    insta::assert_snapshot!(problem("ignore = [\"no-cal\"]"), @"grail.toml: there is no rule and no pack `no-cal`; hint: did you mean `no-call`?");
    insta::assert_snapshot!(problem("severity = {no-call = \"loud\"}"), @"grail.toml: `loud` is no severity; hint: `error`, `warning` or `info`");
    insta::assert_snapshot!(problem("options.no-call = {colour = 1}"), @"mine/rules/no-call.md: `no-call` has no option `colour`; hint: its options are `function`");
    insta::assert_snapshot!(problem("options.no-call = {function = 1}"), @r#"mine/rules/no-call.md: the option `function` of `no-call` cannot be `1`; hint: its default is `"print"`"#);
    insta::assert_snapshot!(rules(&Settings { kind: Some("componnt"), ..PLAIN }).err().expect("a refusal"), @"--kind: no skill declares the kind `componnt`; hint: did you mean `component`?");
}

#[test]
fn a_rule_about_a_kind_looks_only_at_artifacts_of_it() {
    let code = "def a() -> Template: ...\ndef b(): ...\ndef _c() -> Template: ...\n";
    let settings = Settings { select: &["documented"], ..PLAIN };
    assert_eq!(check(&settings, "a.py", code), ["1:warning: `a` is seen"]);
}

#[test]
fn a_kind_that_is_forced_takes_every_public_definition() {
    let code = "def a() -> Template: ...\ndef b(): ...\ndef _c() -> Template: ...\n";
    let settings = Settings { select: &["documented"], kind: Some("component"), ..PLAIN };
    assert_eq!(check(&settings, "a.py", code), ["1:warning: `a` is seen", "2:warning: `b` is seen"]);
}

#[test]
fn suppressions_answer_the_line_the_next_line_or_the_file() {
    let check = |code| check(&PLAIN, "a.py", code);
    assert_eq!(check("print(1)  # grail: ignore[no-call] a script\n"), Vec::<String>::new());
    assert_eq!(
        check("# grail: ignore[no-call] a script\nprint(1)\nprint(2)\n"),
        ["3:error: `print` is called"]
    );
    assert_eq!(check("print(1)\nprint(2)\n# grail: ignore-file[no-call] a script\n"), Vec::<String>::new());
    assert_eq!(check("print(\n    1,\n)  # grail: ignore[no-call] a script\n"), Vec::<String>::new());
}

#[test]
fn suppressions_that_answer_nothing_are_reported() {
    let check = |code| check(&PLAIN, "a.py", code);
    assert_eq!(
        check("log(1)  # grail: ignore[no-call]\n"),
        ["1:warning: the comment suppresses `no-call`, which finds nothing here"]
    );
    assert_eq!(
        check("print(1)  # grail: ignore\n"),
        ["1:error: `print` is called", "1:warning: the comment suppresses nothing: it names no rule"]
    );
    assert_eq!(check("log(1)  # grail: ignore[another-rule]\n"), Vec::<String>::new());
    assert_eq!(check("text = '# grail: ignore[no-call]'\n"), Vec::<String>::new());
}
