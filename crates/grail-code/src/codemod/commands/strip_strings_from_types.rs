//! `strip-strings-from-types`: annotations without quotes, evaluated lazily by `from __future__ import annotations`.

use super::type_expressions::{AnnotationString, TypeTree, annotation_strings, parse_content};
use super::{Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::imports::ImportRequest;
use crate::{Edit, Field, Kind, Node, edit};

/// Their arguments are, or may be, strings that are no types.
const VALUES: [&str; 4] =
    ["typing.Literal", "typing_extensions.Literal", "typing.Annotated", "typing_extensions.Annotated"];

pub(super) const COMMAND: Command = Command {
    name: "strip-strings-from-types",
    summary: "Take the quotes off annotations and import `annotations` from `__future__`",
    libcst: Some("StripStringsCommand"),
    arguments: &[],
    run,
};

fn run(context: &CommandContext<'_>, _arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    for string in annotation_strings(context) {
        let Some(content) = unquoted(context, &string) else {
            outcome.notes.push(context.note(string.node, "the annotation holds a string of its own"));
            continue;
        };
        let root = string.parsed.root();
        let is_open = root.span_with_parentheses() == root.span();
        let text =
            if is_open && needs_parentheses(string.node, root) { format!("({content})") } else { content };
        let before = context.parsed.text()[..string.node.span().start as usize].chars().next_back();
        let is_glued = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
        let space = if is_glued { " " } else { "" };
        outcome.edits.push(Edit::replace(string.node.span(), format!("{space}{text}")));
    }
    if !outcome.edits.is_empty() {
        outcome.add_imports.push(ImportRequest::name("__future__", "annotations"));
    }
    Ok(outcome)
}

/// The content without the quotes of the strings in it, except those of `Literal` and of metadata.
fn unquoted(context: &CommandContext<'_>, string: &AnnotationString<'_>) -> Option<String> {
    let tree = TypeTree::of_string(context, string);
    let mut edits = Vec::new();
    for node in string.parsed.nodes() {
        match node.kind() {
            // Not allowed once the annotation is code.
            Kind::NamedExpr | Kind::Yield | Kind::YieldFrom | Kind::Await => return None,
            Kind::String if !is_value(&tree, node) => {
                let mut inner = parse_content(node)?;
                inner.node = string.node;
                edits.push(Edit::replace(node.span(), unquoted(context, &inner)?));
            }
            _ => {}
        }
    }
    edit::apply(string.parsed.text(), edits).ok()
}

/// Whether a string is a value of its own rather than a quoted type.
fn is_value<'t>(tree: &TypeTree<'t>, node: Node<'t>) -> bool {
    let is_special = |ancestor: Node<'t>| {
        ancestor.kind() == Kind::Call
            || ancestor.kind() == Kind::ConcatenatedString
            || (ancestor.kind() == Kind::Subscript
                && ancestor
                    .child(Field::Value)
                    .is_some_and(|value| tree.name_among(value, &VALUES).is_some()))
    };
    node.ancestors().any(is_special)
}

/// Whether the content would fall apart where the string stood.
fn needs_parentheses(string: Node<'_>, content: Node<'_>) -> bool {
    let Some(parent) = string.parent() else { return false };
    let is_operand = matches!(
        (parent.kind(), string.field()),
        (Kind::BinOp | Kind::UnaryOp | Kind::Attribute | Kind::Await, _)
            | (Kind::Subscript, Field::Value)
            | (Kind::Call, Field::Func)
    );
    let is_union = |node: Node<'_>| {
        node.kind() == Kind::BinOp && node.child(Field::Op).is_some_and(|op| op.text() == "|")
    };
    if is_union(parent) && is_union(content) {
        return false;
    }
    match content.kind() {
        Kind::Tuple => !content.is_parenthesized_tuple() && string.field() != Field::Slice,
        Kind::BinOp | Kind::UnaryOp | Kind::BoolOp | Kind::Compare | Kind::IfExp | Kind::Lambda => is_operand,
        _ => false,
    }
}
