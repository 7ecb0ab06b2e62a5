//! Where the new function goes, and whether its name is free there.

use super::{Context, Names};
use crate::layout::block_indentation;
use crate::refactor::entity::MethodKind;
use crate::refactor::error::{Place, RefactorError};
use crate::semantic::SymbolId;
use crate::{Field, Kind, Node, Span};

/// The new function's home.
pub(super) struct Home {
    /// The method kind and first parameter, if it becomes a method.
    pub(super) receiver: Option<(MethodKind, SymbolId)>,
    /// Where its text is inserted: the start of a line.
    pub(super) offset: u32,
    pub(super) indentation: String,
    /// Blank lines owed before it and behind it.
    pub(super) blank_before: usize,
    pub(super) blank_after: usize,
}

pub(super) fn find(context: &Context<'_, '_>, names: &Names, name: &str) -> Result<Home, RefactorError> {
    let receiver = context.receiver().filter(|(_, symbol)| {
        let is_kept = !names.outputs.contains(symbol);
        is_kept && (names.inputs.contains(symbol) || super_use(context).is_some())
    });
    match receiver {
        Some(receiver) => {
            refuse_taken_member(context, name)?;
            Ok(home(context, context.owner, Some(receiver)))
        }
        None => {
            if let Some(node) = super_use(context) {
                return Err(context.refuse(node.span(), "`super` works in a method only"));
            }
            if let Some(node) = mangled(context) {
                let reason = "a name with two underscores means another one outside of its class";
                return Err(context.refuse(node.span(), reason));
            }
            refuse_taken_name(context, name)?;
            let statement = context.selected.nodes[0]
                .ancestors()
                .chain([context.selected.nodes[0]])
                .filter(|node| node.parent().is_some_and(|parent| parent.kind() == Kind::Module))
                .last();
            Ok(home(context, statement.unwrap_or(context.owner), None))
        }
    }
}

fn home(context: &Context<'_, '_>, anchor: Node<'_>, receiver: Option<(MethodKind, SymbolId)>) -> Home {
    let text = context.file.parsed.text();
    let offset = start_with_comments(context, anchor);
    let before = &text[..offset as usize];
    let blank_lines = before.lines().rev().take_while(|line| line.trim().is_empty()).count();
    let wanted = if receiver.is_some() { 1 } else { 2 };
    let line_before = before.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_first = before.trim().is_empty() || (receiver.is_some() && line_before.trim_end().ends_with(':'));
    Home {
        receiver,
        offset,
        indentation: block_indentation(anchor),
        blank_before: if is_first { 0 } else { wanted - blank_lines.min(wanted) },
        blank_after: wanted,
    }
}

/// The start of a statement's lines, with the comments right above it, but below a file's header.
fn start_with_comments(context: &Context<'_, '_>, statement: Node<'_>) -> u32 {
    let source = context.file.parsed.source();
    let text = context.file.parsed.text();
    let own = source.line_start(statement.span().start);
    let mut start = own;
    while start > 0 {
        let line = Span::new(source.line_start(start - 1), start);
        if !line.of(text).trim_start().starts_with('#') {
            return start;
        }
        start = line.start;
    }
    own
}

/// `super` or `__class__`, which only a method knows.
fn super_use<'a>(context: &Context<'_, 'a>) -> Option<Node<'a>> {
    let nodes = context.selected.nodes.iter().flat_map(|node| node.subtree());
    let mut uses = nodes.filter(|node| {
        node.kind() == Kind::Name
            && matches!(node.text(), "super" | "__class__")
            && context.semantic.symbol_of(*node).is_none()
    });
    // A class within the selection brings its own.
    uses.find(|node| {
        !node.ancestors().any(|outer| outer.kind() == Kind::ClassDef && context.is_selected(outer.span()))
    })
}

fn mangled<'a>(context: &Context<'_, 'a>) -> Option<Node<'a>> {
    let first = context.selected.nodes[0];
    first.ancestors().find(|node| node.kind() == Kind::ClassDef)?;
    let mut nodes = context.selected.nodes.iter().flat_map(|node| node.subtree());
    nodes.find(|node| {
        matches!(node.kind(), Kind::Name | Kind::Identifier)
            && node.text().starts_with("__")
            && !node.text().ends_with("__")
    })
}

fn refuse_taken_member(context: &Context<'_, '_>, name: &str) -> Result<(), RefactorError> {
    let Some(class) = context.owner.parent() else { return Ok(()) };
    let taken = class.descendants().find(|node| match node.kind() {
        Kind::Identifier => {
            node.text() == name
                && (node.field() == Field::Attr || node.parent().and_then(Node::parent) == Some(class))
        }
        Kind::Name => node.text() == name && node.statement().and_then(Node::parent) == Some(class),
        _ => false,
    });
    match taken {
        Some(node) => Err(name_taken(context, name, node.span())),
        None => Ok(()),
    }
}

/// Nothing the file reads may come to mean the new function, and the call must not mean anything else.
fn refuse_taken_name(context: &Context<'_, '_>, name: &str) -> Result<(), RefactorError> {
    let semantic = context.semantic;
    let scope = semantic.scope_of(context.selected.nodes[0]);
    let module = semantic.scope(semantic.module_scope()).symbols.get(name).copied();
    if let Some(symbol) = semantic.lookup(scope, name).or(module) {
        let first = semantic.symbol(symbol).bindings.first().map(|id| semantic.binding(*id).span);
        return Err(name_taken(context, name, first.unwrap_or(context.selected.span)));
    }
    match semantic.references().iter().find(|reference| reference.name == name && reference.symbol.is_none())
    {
        Some(reference) => Err(name_taken(context, name, reference.span)),
        None => Ok(()),
    }
}

fn name_taken(context: &Context<'_, '_>, name: &str, span: Span) -> RefactorError {
    let place = Place::of(&context.file.path, &context.file.parsed, span);
    RefactorError::NameTaken { name: name.to_owned(), place }
}
