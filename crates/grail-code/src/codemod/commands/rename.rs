//! `rename`: a qualified name becomes another, in imports and uses, whatever alias it goes by.
//!
//! This is the file's side of a rename: the definition itself moves with `grail code rename`.

use super::{Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::rename::rename_dotted;

pub(super) const COMMAND: Command = Command {
    name: "rename",
    summary: "Replace a qualified name by another in imports and uses",
    libcst: Some("RenameCommand"),
    arguments: &[
        Argument { name: "old-name", help: "The dotted name, such as `os.path.join`", default: None },
        Argument { name: "new-name", help: "The dotted name to use instead", default: None },
    ],
    run,
};

fn run(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    // LibCST's `module:name` says where the module ends; the import is the same either way.
    let new = arguments.get("new-name").replace(':', ".");
    let change = rename_dotted(context.semantic, arguments.get("old-name"), &new)
        .map_err(|error| CommandError::Refused { message: error.to_string() })?;
    Ok(CommandOutcome {
        edits: change.edits,
        add_imports: change.add_imports,
        remove_imports_if_unused: change.remove_imports_if_unused,
        notes: Vec::new(),
    })
}
