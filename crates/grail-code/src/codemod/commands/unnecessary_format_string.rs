//! `unnecessary-format-string`: `f"abc"` formats nothing and becomes `"abc"`.

use super::format_literal::undouble_braces;
use super::{Arguments, Command, CommandContext, CommandError, CommandOutcome, is_shown_as_source};
use crate::tree::string_literal;
use crate::{Edit, Field, Kind};

pub(super) const COMMAND: Command = Command {
    name: "unnecessary-format-string",
    summary: "Turn f-strings without placeholders into plain strings",
    libcst: Some("UnnecessaryFormatString"),
    arguments: &[],
    run,
};

fn run(context: &CommandContext<'_>, _arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    for node in context.nodes_of(Kind::FString) {
        if node.list(Field::Parts).any(|part| part.kind() == Kind::Interpolation) || is_shown_as_source(node)
        {
            continue;
        }
        let Some(literal) = string_literal(node) else { continue };
        let prefix: String = literal.prefix.chars().filter(|letter| !matches!(letter, 'f' | 'F')).collect();
        let start = node.span().start;
        outcome
            .edits
            .push(Edit::replace(crate::Span::new(start, start + literal.prefix.len() as u32), prefix));
        let content = undouble_braces(literal.content, literal.is_raw());
        if content != literal.content {
            outcome.edits.push(Edit::replace(literal.span, content));
        }
    }
    Ok(outcome)
}
