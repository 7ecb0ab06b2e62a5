//! The built-in rules notice harm that is done to good code, and put it right. `just mutants` prints the figures.

use grail_dev::mutation;
use grail_rules::{SandboxedRules, ScriptRunner};

#[test]
fn rules_catch_what_is_done_to_the_reference_examples() {
    let python = SandboxedRules::new(ScriptRunner::new(env!("CARGO_BIN_EXE_grail-dev")));
    let report =
        mutation::run(&grail_dev::repository_root(), Some(&python)).expect("examples that can be read");
    assert!(report.open.mutants > 200 && report.frozen.mutants > 100, "{report}");
    assert!(report.open.is_enough(), "{report}{}", report.missed.join("\n"));
    // Nothing is told of the frozen mutants but how many there are.
    assert!(report.frozen.is_enough(), "{report}");
}
