//! The built-in skills: every rule is read, and proves itself on its own examples.

use std::fs;
use std::path::{Path, PathBuf};

use grail_code::{ModuleName, Source, parse_module};
use grail_project::CheckConfig;
use grail_rules::{
    ALL, Checker, FileUnderCheck, Library, ProjectUnderCheck, SandboxedRules, ScriptRunner, Selection, Usage,
    test_rule,
};

#[test]
fn built_in_packs_are_read_without_problems() {
    let library = Library::built_in();
    let problems: Vec<String> =
        library.packs.iter().flat_map(|pack| pack.problems.iter().map(ToString::to_string)).collect();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn built_in_rules_pass_their_own_examples() {
    let python = SandboxedRules::new(ScriptRunner::new(env!("CARGO_BIN_EXE_grail-rules-test-worker")));
    let mut failures = Vec::new();
    for (pack, rule) in Library::built_in().rules() {
        let report = test_rule(rule, &pack.kinds, Some(&python));
        let place = |line: usize| format!("skills/{}/{}:{line}", pack.name, within(pack, &report.path));
        failures.extend(
            report.failures.iter().map(|failure| format!("{}: {}", place(failure.line), failure.message)),
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn no_built_in_rule_objects_to_a_reference_example() {
    let python = SandboxedRules::new(ScriptRunner::new(env!("CARGO_BIN_EXE_grail-rules-test-worker")));
    let config = CheckConfig::default();
    let select = [ALL.to_owned()];
    let usage = |_: &str| Usage::AnyVersion;
    let selection = Selection { config: &config, select: &select, ignore: &[], kind: None, usage: &usage };
    let rules = selection.rules(&Library::built_in()).expect("built-in rules");
    let checker = Checker { rules: &rules, python: Some(&python) };
    let (mut examples, mut findings) = (0, Vec::new());
    for skill in ["tdom-components", "svcs-services", "middleware"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills").join(skill).join("examples");
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
        paths.sort();
        examples += paths.len();
        let mut files = Vec::new();
        for path in &paths {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let source = Source::from_text(fs::read_to_string(path).expect("an example"));
            files.push((format!("{name}.py"), name, source));
        }
        let mut indexed = Vec::new();
        for (path, module, source) in &files {
            let parsed = parse_module(source.clone());
            let file = FileUnderCheck::new(path.as_str(), ModuleName::module(module), &parsed);
            let check = checker.look(&file);
            assert!(check.problems.is_empty(), "{:?}", check.problems);
            findings.extend(check.report.findings);
            indexed.extend(check.indexed.map(|index| (file.path, index)));
        }
        let source = |path: &str| files.iter().find(|file| file.0 == path).map(|file| file.2.clone());
        findings.extend(checker.look_across(&ProjectUnderCheck::new(indexed, &source)).0);
    }
    let findings: Vec<String> = findings
        .iter()
        .map(|found| format!("{}:{}: {}", found.path, found.start.line, found.message))
        .collect();
    assert_eq!((examples, findings), (65, Vec::<String>::new()));
}

fn within(pack: &grail_rules::Pack, path: &std::path::Path) -> String {
    path.strip_prefix(&pack.folder).unwrap_or(path).display().to_string()
}
