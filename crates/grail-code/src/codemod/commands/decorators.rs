//! `add-decorator` and `remove-decorator`, on functions and classes chosen by name.

use super::{Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::imports::ImportRequest;
use crate::layout::{DecoratorPlace, add_decorator, remove_decorator};
use crate::{Field, Kind, Node, Source, parse_expression};

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
    let place = match arguments.get("position") {
        "outer" => DecoratorPlace::Outer,
        "inner" => DecoratorPlace::Inner,
        value => {
            return Err(CommandError::InvalidArgument {
                argument: "position",
                value: value.to_owned(),
                expected: "`outer` or `inner`",
            });
        }
    };
    let mut outcome = CommandOutcome::default();
    for definition in targets(context, arguments)? {
        outcome.edits.extend(add_decorator(definition, text, place));
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
            outcome.edits.extend(remove_decorator(decorator));
            outcome.remove_imports_if_unused.extend(context.imports_used_in(&[expression.span()]));
        }
    }
    Ok(outcome)
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
