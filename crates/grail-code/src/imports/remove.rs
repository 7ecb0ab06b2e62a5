//! Taking names out of import statements, and statements out of their blocks.

use std::collections::BTreeMap;

use super::ImportRequest;
use crate::layout::{self, LeadingComments};
use crate::semantic::Binding;
use crate::{Edit, Field, Kind, Node, NodeId, Parsed, Semantic, edit, parse_module};

/// Removes what `request` names, used or not: every module-level import of it.
pub fn remove(semantic: &Semantic<'_>, request: &ImportRequest) -> Vec<Edit> {
    let bindings = matching(semantic, request);
    remove_aliases(
        semantic.parsed(),
        bindings.iter().filter_map(|binding| alias_of(semantic.parsed(), binding.node)),
    )
}

/// Removes what `request` names if no code refers to it. Conditional imports (`try`/`except ImportError`) stay.
pub fn remove_if_unused(semantic: &Semantic<'_>, request: &ImportRequest) -> Vec<Edit> {
    let unused = super::unused(semantic, &super::UnusedOptions { include_packages: true });
    let wanted: Vec<NodeId> = matching(semantic, request).iter().map(|binding| binding.node).collect();
    let aliases = unused.iter().filter(|import| wanted.contains(&import.binding)).map(|import| import.alias);
    remove_aliases(
        semantic.parsed(),
        aliases.collect::<Vec<_>>().into_iter().map(|id| semantic.parsed().node(id)),
    )
}

/// Removes several imports from a text if they are unused, one after the other.
pub fn remove_all(
    text: &str,
    module: &crate::ModuleName,
    requests: &[ImportRequest],
) -> Result<String, super::ImportError> {
    let mut text = text.to_owned();
    for request in requests {
        let parsed = parse_module(crate::Source::from_text(text.as_str()));
        let edits = remove_if_unused(&Semantic::of_module(&parsed, module.clone()), request);
        if !edits.is_empty() {
            text = edit::apply(&text, edits)?;
        }
    }
    Ok(text)
}

fn matching<'s>(semantic: &'s Semantic<'_>, request: &ImportRequest) -> Vec<&'s Binding> {
    let wanted = request.imported(semantic.module());
    let is_wanted = |binding: &&Binding| {
        binding.imported.as_deref() == Some(wanted.as_str())
            && request.alias.as_deref().is_none_or(|alias| binding.span.of(semantic.parsed().text()) == alias)
    };
    semantic.bindings().iter().filter(is_wanted).collect()
}

/// The alias that a binding's node belongs to.
pub(super) fn alias_of(parsed: &Parsed, binding: NodeId) -> Option<Node<'_>> {
    parsed.node(binding).parent().filter(|parent| parent.kind() == Kind::Alias)
}

/// Edits that take these aliases out. A statement that loses all its names goes as a whole; a block that loses all its statements
/// keeps a `pass`; an `if TYPE_CHECKING:` left with nothing goes too. Comments above a statement stay.
pub(crate) fn remove_aliases<'a>(parsed: &'a Parsed, aliases: impl Iterator<Item = Node<'a>>) -> Vec<Edit> {
    let mut by_statement: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for alias in aliases {
        if let Some(statement) = alias.parent() {
            by_statement.entry(statement.id()).or_default().push(alias.id());
        }
    }
    let mut edits = Vec::new();
    let mut emptied = Vec::new();
    for (statement, aliases) in &by_statement {
        let statement = parsed.node(*statement);
        let names = statement.list(Field::Names).enumerate();
        let (removed, kept): (Vec<_>, Vec<_>) = names.partition(|(_, name)| aliases.contains(&name.id()));
        if kept.is_empty() {
            emptied.push(statement);
        } else if let Some(list) = layout::CommaList::of(statement) {
            let indexes: Vec<usize> = removed.into_iter().map(|(index, _)| index).collect();
            edits.extend(layout::remove_list_items(parsed, &list, &indexes));
        }
    }
    edits.extend(layout::remove_statements(&with_typing_blocks(emptied), LeadingComments::Keep));
    edits.sort_by_key(|edit| edit.span);
    edits
}

/// The statements to remove, with a top-level `if TYPE_CHECKING:` in place of everything it holds.
fn with_typing_blocks(statements: Vec<Node<'_>>) -> Vec<Node<'_>> {
    let is_emptied = |block: Node<'_>| {
        block.kind() == Kind::If
            && block.parent().is_some_and(|outer| outer.kind() == Kind::Module)
            && block.child(Field::Elifs).or_else(|| block.child(Field::Orelse)).is_none()
            && block.child(Field::Test).is_some_and(|test| test.text().ends_with("TYPE_CHECKING"))
            && block.list(Field::Body).all(|statement| statements.contains(&statement))
    };
    let mut result: Vec<Node<'_>> = Vec::new();
    for statement in &statements {
        let block = statement.parent().filter(|block| is_emptied(*block));
        let whole = block.unwrap_or(*statement);
        if !result.contains(&whole) {
            result.push(whole);
        }
    }
    result
}
