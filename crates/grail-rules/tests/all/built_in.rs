//! The built-in skills: every rule is read, and proves itself on its own examples.

use grail_rules::{Library, SandboxedRules, ScriptRunner, test_rule};

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

fn within(pack: &grail_rules::Pack, path: &std::path::Path) -> String {
    path.strip_prefix(&pack.folder).unwrap_or(path).display().to_string()
}
