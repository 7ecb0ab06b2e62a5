//! `fix-variadic-callable`: `Callable[[...], X]` is not a type; `Callable[..., X]` was meant.

use super::type_expressions::{TypeTree, annotation_strings};
use super::{Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::{Edit, Field, Kind};

const CALLABLES: [&str; 3] = ["typing.Callable", "typing_extensions.Callable", "collections.abc.Callable"];

pub(super) const COMMAND: Command = Command {
    name: "fix-variadic-callable",
    summary: "Turn `Callable[[...], X]` into `Callable[..., X]`",
    libcst: Some("FixVariadicCallableCommmand"),
    arguments: &[],
    run,
};

fn run(context: &CommandContext<'_>, _arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    let strings = annotation_strings(context);
    let trees = std::iter::once(TypeTree::of_file(context))
        .chain(strings.iter().map(|string| TypeTree::of_string(context, string)));
    for tree in trees {
        for node in tree.parsed.nodes_of(Kind::Subscript) {
            let is_callable =
                node.child(Field::Value).is_some_and(|value| tree.name_among(value, &CALLABLES).is_some());
            let Some(slice) =
                node.child(Field::Slice).filter(|slice| is_callable && slice.kind() == Kind::Tuple)
            else {
                continue;
            };
            let Some(list) = slice.list(Field::Elts).next().filter(|first| first.kind() == Kind::List) else {
                continue;
            };
            let mut elements = list.list(Field::Elts);
            let ellipsis = elements.next().filter(|element| element.kind() == Kind::Ellipsis);
            if let Some(ellipsis) = ellipsis.filter(|_| elements.next().is_none()) {
                if super::format_literal::has_comment(list, list.span()) {
                    outcome.notes.push(context.note(tree.place(list), "a comment would be lost"));
                } else {
                    outcome.edits.push(Edit::replace(tree.in_file(list.span()), ellipsis.text()));
                }
            }
        }
    }
    Ok(outcome)
}
