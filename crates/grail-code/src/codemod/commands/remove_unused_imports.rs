//! `remove-unused-imports`: imports that no code of the file uses.

use super::{Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::imports::{UnusedOptions, remove_unused};

pub(super) const COMMAND: Command = Command {
    name: "remove-unused-imports",
    summary: "Remove imports that the file does not use",
    libcst: Some("RemoveUnusedImportsCommand"),
    arguments: &[Argument {
        name: "include-packages",
        help: "Whether to look into `__init__.py` files, whose imports are usually meant for others",
        default: Some("false"),
    }],
    run,
};

fn run(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let options = UnusedOptions { include_packages: arguments.is_set("include-packages")? };
    let edits = remove_unused(context.semantic, &options);
    // A block that goes with its last import may take another import's last use with it.
    let spans: Vec<_> = edits.iter().map(|edit| edit.span).collect();
    let remove_imports_if_unused = context.imports_used_in(&spans);
    Ok(CommandOutcome { edits, remove_imports_if_unused, ..CommandOutcome::default() })
}
