//! `ensure-import-present`: adds an import unless the file has it.

use super::{Argument, Command, CommandOutcome};
use crate::imports::ImportRequest;

pub(super) const COMMAND: Command = Command {
    name: "ensure-import-present",
    summary: "Add an import unless it is there",
    libcst: Some("EnsureImportPresentCommand"),
    arguments: &[
        Argument { name: "module", help: "Module to import, or to import from", default: None },
        Argument { name: "entity", help: "Name to import from the module", default: Some("") },
        Argument { name: "alias", help: "Name to import it as", default: Some("") },
    ],
    run: |_, arguments| {
        let optional = |name: &str| Some(arguments.get(name).to_owned()).filter(|value| !value.is_empty());
        let module = arguments.get("module");
        let mut request = match optional("entity") {
            Some(entity) => ImportRequest::name(module, entity),
            None => ImportRequest::module(module),
        };
        request.alias = optional("alias");
        Ok(CommandOutcome { add_imports: vec![request], ..CommandOutcome::default() })
    },
};
