//! `add-trailing-commas`: a comma behind the last parameter and the last argument, so that formatters put each on its own line.

use ruff_python_ast::token::TokenKind;

use super::{
    Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome, is_shown_as_source,
    prints_source,
};
use crate::tree::TokenSpan;
use crate::{Edit, Field, Kind, Node};

pub(super) const COMMAND: Command = Command {
    name: "add-trailing-commas",
    summary: "Add trailing commas to parameters and arguments",
    libcst: Some("AddTrailingCommas"),
    arguments: &[
        Argument { name: "formatter", help: "Preset for `black` or `yapf`", default: Some("black") },
        Argument {
            name: "parameter-count",
            help: "Fewest parameters that get a comma; the preset's number if empty",
            default: Some(""),
        },
        Argument {
            name: "argument-count",
            help: "Fewest arguments that get a comma; the preset's number if empty",
            default: Some(""),
        },
    ],
    run,
};

fn run(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let (parameter_preset, argument_preset) = match arguments.get("formatter") {
        "black" => (1, 2),
        "yapf" => (2, 2),
        value => {
            return Err(CommandError::InvalidArgument {
                argument: "formatter",
                value: value.to_owned(),
                expected: "`black` or `yapf`",
            });
        }
    };
    let count = |name: &'static str, preset: usize| match arguments.get(name) {
        "" => Ok(preset),
        _ => arguments.number(name).map(|count| count.max(1)),
    };
    let parameter_count = count("parameter-count", parameter_preset)?;
    let argument_count = count("argument-count", argument_preset)?;

    let mut outcome = CommandOutcome::default();
    // Chains of calls may be long: looking for what surrounds each is worth it only if there is something to find.
    let prints_source = context.nodes_of(Kind::Interpolation).any(prints_source);
    for node in context.parsed.nodes() {
        let is_wanted = match node.kind() {
            Kind::Parameters => {
                has_parentheses(node)
                    && node.list(Field::Params).filter(|param| param.kind() == Kind::Parameter).count()
                        >= parameter_count
                    && !is_receiver_alone(node)
            }
            Kind::Call => node.list(Field::Args).count() >= argument_count && !is_bare_generator(node),
            _ => false,
        };
        if is_wanted && !(prints_source && is_shown_as_source(node)) {
            outcome.edits.extend(comma_before_closing(context, node));
        }
    }
    Ok(outcome)
}

/// A lambda's parameters have none.
fn has_parentheses(parameters: Node<'_>) -> bool {
    parameters.parent().is_some_and(|parent| parent.kind() == Kind::FunctionDef)
}

fn is_receiver_alone(parameters: Node<'_>) -> bool {
    let mut params = parameters.list(Field::Params);
    let first = params.next().and_then(|param| param.child(Field::Name));
    first.is_some_and(|name| matches!(name.text(), "self" | "cls")) && params.next().is_none()
}

/// `f(x for x in y)`: a comma there is a syntax error.
fn is_bare_generator(call: Node<'_>) -> bool {
    call.list(Field::Args).any(|argument| {
        argument.kind() == Kind::GeneratorExp
            && argument.attribute("parenthesized") == Some(crate::tree::Attribute::Flag(false))
    })
}

fn comma_before_closing(context: &CommandContext<'_>, node: Node<'_>) -> Option<Edit> {
    let closing = node.span().end.checked_sub(1)?;
    let last = context.parsed.token_before(closing)?;
    let is_closed = context.parsed.text().as_bytes().get(closing as usize) == Some(&b')');
    let is_complete = matches!(last.kind(), TokenKind::Comma | TokenKind::Lpar);
    (is_closed && !is_complete).then(|| Edit::insert(last.range_span().end, ","))
}
