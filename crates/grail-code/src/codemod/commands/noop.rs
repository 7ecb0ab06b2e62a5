//! `noop`: changes nothing. Shows what parsing, binding and comparing cost.

use super::{Command, CommandOutcome};

pub(super) const COMMAND: Command = Command {
    name: "noop",
    summary: "Change nothing",
    libcst: Some("NOOPCommand"),
    arguments: &[],
    run: |_, _| Ok(CommandOutcome::default()),
};
