//! `order-default-parameters`: `def f(a=1, b)` is a syntax error; parameters without a default go first.
//!
//! The names and defaults change places, each with the comment behind it; everything between them stays. Keyword-only parameters
//! may have any order and keep it.

use ruff_python_ast::token::TokenKind;

use super::{Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::tree::{ParameterKind, TokenSpan};
use crate::{Edit, Field, Kind, Node, Span};

pub(super) const COMMAND: Command = Command {
    name: "order-default-parameters",
    summary: "Put parameters without a default before those with one",
    libcst: None,
    arguments: &[],
    run,
};

fn run(context: &CommandContext<'_>, _arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    for parameters in context.nodes_of(Kind::Parameters) {
        let of_kind = |kind: ParameterKind| -> Vec<Node<'_>> {
            parameters.list(Field::Params).filter(|param| param.parameter_kind() == Some(kind)).collect()
        };
        let positional_only = of_kind(ParameterKind::PositionalOnly);
        let positional = of_kind(ParameterKind::Positional);
        let has_default = |param: &Node<'_>| param.child(Field::Default).is_some();
        if positional_only.iter().any(has_default) && !positional.iter().all(has_default) {
            let reason = "a parameter would have to move across the `/`";
            outcome.notes.push(context.note(parameters, reason));
            continue;
        }
        for group in [positional_only, positional] {
            let mut ordered = group.clone();
            ordered.sort_by_key(has_default);
            if ordered == group {
                continue;
            }
            for (place, param) in group.iter().zip(&ordered).filter(|(place, param)| place != param) {
                outcome.edits.push(Edit::replace(place.span(), param.text()));
                let (old, new) = (comment_behind(*place), comment_behind(*param));
                if old.of(context.parsed.text()) != new.of(context.parsed.text()) {
                    outcome.edits.push(Edit::replace(old, new.of(context.parsed.text())));
                }
            }
        }
    }
    Ok(outcome)
}

/// The comment on the parameter's line with the blanks before it; empty, where it would stand, if there is none or if the line
/// holds other parameters.
fn comment_behind(param: Node<'_>) -> Span {
    let parsed = param.parsed();
    let source = parsed.source();
    let start = param.span().end;
    let code_end = match parsed.token_after(start) {
        Some(comma) if comma.kind() == TokenKind::Comma => comma.range_span().end,
        _ => start,
    };
    let line_end = source.line_end(code_end);
    let rest = Span::new(code_end, line_end);
    let is_comment = rest.of(parsed.text()).trim_start_matches([' ', '\t']).starts_with('#');
    if is_comment { rest } else { Span::at(code_end) }
}
