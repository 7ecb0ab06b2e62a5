//! `rename-typing-generic-aliases`: `typing.List[int]` becomes `list[int]` (PEP 585).

use super::type_expressions::{TypeTree, annotation_strings};
use super::{Arguments, Command, CommandContext, CommandError, CommandOutcome, is_shown_as_source};
use crate::{Context, Edit, Kind};

const ALIASES: [(&str, &str); 6] = [
    ("typing.Dict", "dict"),
    ("typing.FrozenSet", "frozenset"),
    ("typing.List", "list"),
    ("typing.Set", "set"),
    ("typing.Tuple", "tuple"),
    ("typing.Type", "type"),
];

pub(super) const COMMAND: Command = Command {
    name: "rename-typing-generic-aliases",
    summary: "Turn `typing.List` and its like into the builtin types",
    libcst: Some("RenameTypingGenericAliases"),
    arguments: &[],
    run,
};

fn run(context: &CommandContext<'_>, _arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    let strings = annotation_strings(context);
    let trees = std::iter::once(TypeTree::of_file(context))
        .chain(strings.iter().map(|string| TypeTree::of_string(context, string)));
    let names = ALIASES.map(|(name, _)| name);
    for tree in trees {
        for node in tree.parsed.nodes() {
            if !matches!(node.kind(), Kind::Name | Kind::Attribute) || node.context() != Some(Context::Load) {
                continue;
            }
            let Some(name) = tree.name_among(node, &names) else { continue };
            let Some((_, builtin)) = ALIASES.iter().find(|(alias, _)| *alias == name) else { continue };
            if is_shown_as_source(node) {
                continue;
            }
            if !tree.sees_builtin(node, builtin) {
                let reason = format!("`{builtin}` means something else there");
                outcome.notes.push(context.note(tree.place(node), &reason));
                continue;
            }
            outcome.edits.push(Edit::replace(tree.in_file(node.span()), *builtin));
        }
    }
    let spans: Vec<_> = outcome.edits.iter().map(|edit| edit.span).collect();
    outcome.remove_imports_if_unused = context.imports_used_in(&spans);
    Ok(outcome)
}
