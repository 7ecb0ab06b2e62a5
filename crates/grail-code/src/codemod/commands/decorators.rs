//! `add-decorator` and `remove-decorator`, on functions and classes chosen by name.

use super::{Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::imports::ImportRequest;
use crate::{Edit, Field, Kind, Node, Source, Span, parse_expression};

const TARGET: Argument = Argument {
    name: "target",
    help: "Which functions or classes: a name, a dotted name such as `Class.method`, or a pattern such as `test_*`",
    default: None,
};

const KIND: Argument = Argument { name: "kind", help: "`function`, `class` or `any`", default: Some("any") };

pub(super) const ADD: Command = Command {
    name: "add-decorator",
    summary: "Add a decorator to functions or classes",
    libcst: None,
    arguments: &[
        TARGET,
        Argument { name: "decorator", help: "The decorator, without its `@`", default: None },
        Argument {
            name: "import",
            help: "An import the decorator needs, such as `functools:cache` or `functools`",
            default: Some(""),
        },
        KIND,
        Argument {
            name: "position",
            help: "`outer` puts it above the others, `inner` below them",
            default: Some("outer"),
        },
    ],
    run: add,
};

pub(super) const REMOVE: Command = Command {
    name: "remove-decorator",
    summary: "Remove a decorator from functions or classes",
    libcst: None,
    arguments: &[
        Argument { default: Some("*"), ..TARGET },
        Argument {
            name: "decorator",
            help: "The decorator's qualified name, such as `functools.cache`, or its text",
            default: None,
        },
        KIND,
    ],
    run: remove,
};

fn add(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let text = arguments.get("decorator").trim().trim_start_matches('@');
    if !parse_expression(Source::from_text(text)).is_valid() {
        return Err(CommandError::InvalidArgument {
            argument: "decorator",
            value: text.to_owned(),
            expected: "an expression",
        });
    }
    let is_outer = match arguments.get("position") {
        "outer" => true,
        "inner" => false,
        value => {
            return Err(CommandError::InvalidArgument {
                argument: "position",
                value: value.to_owned(),
                expected: "`outer` or `inner`",
            });
        }
    };
    let source = context.parsed.source();
    let mut outcome = CommandOutcome::default();
    for definition in targets(context, arguments)? {
        let has_it = definition
            .list(Field::Decorators)
            .any(|decorator| decorator.child(Field::Expression).is_some_and(|it| it.text() == text));
        if has_it {
            continue;
        }
        let last = definition.list(Field::Decorators).last();
        let start = match last {
            Some(last) if !is_outer => context
                .parsed
                .tokens_in(Span::new(last.span().end, definition.span().end))
                .iter()
                .find(|token| {
                    use ruff_python_ast::token::TokenKind;
                    matches!(token.kind(), TokenKind::Def | TokenKind::Class | TokenKind::Async)
                })
                .map_or(definition.span().start, |token| crate::tree::TokenSpan::range_span(token).start),
            _ => definition.span().start,
        };
        let indentation = source.indentation(start);
        outcome.edits.push(Edit::insert(start, format!("@{text}{}{indentation}", source.newline())));
    }
    let import = arguments.get("import");
    if !outcome.edits.is_empty() && !import.is_empty() {
        let request = ImportRequest::parse(import).map_err(|_| CommandError::InvalidArgument {
            argument: "import",
            value: import.to_owned(),
            expected: "`module` or `module:name`",
        })?;
        outcome.add_imports.push(request);
    }
    Ok(outcome)
}

fn remove(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let wanted = arguments.get("decorator").trim().trim_start_matches('@');
    let source = context.parsed.source();
    let mut outcome = CommandOutcome::default();
    for definition in targets(context, arguments)? {
        for decorator in definition.list(Field::Decorators) {
            let Some(expression) = decorator.child(Field::Expression) else { continue };
            let function = expression.child(Field::Func).filter(|_| expression.kind() == Kind::Call);
            let is_wanted = expression.text() == wanted
                || function.is_some_and(|function| function.text() == wanted)
                || context.semantic.has_qualified_name(expression, wanted);
            if !is_wanted {
                continue;
            }
            let line_end = source.line_end(decorator.span().end);
            let behind = Span::new(decorator.span().end, line_end).of(source.text()).trim();
            if behind.is_empty() || is_about_the_line(behind) {
                let start = source.line_start(decorator.span().start);
                outcome
                    .edits
                    .push(Edit::remove(Span::new(start, source.next_line_start(decorator.span().end))));
            } else {
                // The comment gets the line.
                let gap = source.text()[decorator.span().end as usize..].len()
                    - source.text()[decorator.span().end as usize..].trim_start_matches([' ', '\t']).len();
                let end = decorator.span().end + gap as u32;
                outcome.edits.push(Edit::remove(Span::new(decorator.span().start, end)));
            }
            outcome.remove_imports_if_unused.extend(context.imports_used_in(&[expression.span()]));
        }
    }
    Ok(outcome)
}

/// Whether a comment only makes sense on the line it stands on.
fn is_about_the_line(comment: &str) -> bool {
    let content = comment.trim_start_matches('#').trim_start();
    ["noqa", "type:", "pragma", "pylint:", "ruff:", "pyright:", "mypy:"]
        .iter()
        .any(|marker| content.starts_with(marker))
}

fn targets<'a>(context: &CommandContext<'a>, arguments: &Arguments) -> Result<Vec<Node<'a>>, CommandError> {
    let kinds: &[Kind] = match arguments.get("kind") {
        "function" => &[Kind::FunctionDef],
        "class" => &[Kind::ClassDef],
        "any" => &[Kind::FunctionDef, Kind::ClassDef],
        value => {
            return Err(CommandError::InvalidArgument {
                argument: "kind",
                value: value.to_owned(),
                expected: "`function`, `class` or `any`",
            });
        }
    };
    let pattern = arguments.get("target");
    let is_target = |node: &Node<'_>| {
        let Some(name) = node.child(Field::Name) else { return false };
        if pattern.contains('.') {
            let names = context.semantic.qualified_names(*node);
            names.iter().any(|qualified| glob_matches(pattern, &qualified.name))
        } else {
            glob_matches(pattern, name.text())
        }
    };
    Ok(context.parsed.nodes().filter(|node| kinds.contains(&node.kind())).filter(is_target).collect())
}

/// Whether `pattern`, in which `*` stands for any text, matches the whole name.
fn glob_matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(previous) = last.replace(part) {
            match rest.find(previous) {
                Some(at) => rest = &rest[at + previous.len()..],
                None => return false,
            }
        }
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => rest.is_empty(),
    }
}
