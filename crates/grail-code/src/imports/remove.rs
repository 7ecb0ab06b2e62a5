//! Taking names out of import statements, and statements out of their blocks.

use rustc_hash::FxHashMap;

use super::ImportRequest;
use crate::semantic::Binding;
use crate::{Edit, Field, Kind, Node, NodeId, Parsed, Semantic, Span, edit, parse_module};

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
    let module =
        semantic.module().resolve(request.level, &request.module).unwrap_or_else(|| request.dotted_module());
    let wanted = match &request.name {
        Some(name) if module.is_empty() || module.ends_with('.') => format!("{module}{name}"),
        Some(name) => format!("{module}.{name}"),
        None => module,
    };
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
/// keeps a `pass`; an `if TYPE_CHECKING:` left with nothing goes too.
pub(crate) fn remove_aliases<'a>(parsed: &'a Parsed, aliases: impl Iterator<Item = Node<'a>>) -> Vec<Edit> {
    let mut by_statement: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    for alias in aliases {
        if let Some(statement) = alias.parent() {
            by_statement.entry(statement.id()).or_default().push(alias.id());
        }
    }
    let mut edits = Vec::new();
    let mut removed = Vec::new();
    for (statement, aliases) in &by_statement {
        let statement = parsed.node(*statement);
        let all: Vec<Node<'_>> = statement.list(Field::Names).collect();
        if all.iter().all(|alias| aliases.contains(&alias.id())) {
            removed.push(statement);
        } else {
            edits.extend(remove_from_list(&all, aliases));
        }
    }
    edits.extend(remove_statements(parsed, removed));
    edits.sort_by_key(|edit| edit.span);
    edits
}

/// Removes some of the items of a comma-separated list that keeps at least one.
fn remove_from_list(all: &[Node<'_>], removed: &[NodeId]) -> Vec<Edit> {
    let is_removed = |node: &Node<'_>| removed.contains(&node.id());
    let mut edits = Vec::new();
    let mut index = 0;
    while index < all.len() {
        if !is_removed(&all[index]) {
            index += 1;
            continue;
        }
        let first = index;
        while index < all.len() && is_removed(&all[index]) {
            index += 1;
        }
        let span = if index < all.len() {
            // Up to the next item: its place is taken over.
            Span::new(all[first].span().start, all[index].span().start)
        } else {
            // The last ones go with the comma before them; a trailing comma stays behind as it was.
            Span::new(all[first - 1].span().end, all[index - 1].span().end)
        };
        edits.push(Edit::remove(span));
    }
    edits
}

fn remove_statements(parsed: &Parsed, mut statements: Vec<Node<'_>>) -> Vec<Edit> {
    statements.sort_by_key(|statement| statement.id());
    let mut edits = Vec::new();
    let mut handled: Vec<NodeId> = Vec::new();
    for statement in &statements {
        if handled.contains(&statement.id()) {
            continue;
        }
        let Some(block) = statement.parent() else { continue };
        let siblings: Vec<Node<'_>> = block.list(statement.field()).collect();
        let is_emptied = block.kind() != Kind::Module
            && siblings.iter().all(|sibling| statements.iter().any(|other| other.id() == sibling.id()));
        if !is_emptied {
            edits.push(Edit::remove(statement_span(parsed, *statement)));
            continue;
        }
        handled.extend(siblings.iter().map(|sibling| sibling.id()));
        let is_bare_typing_block = block.kind() == Kind::If
            && block.child(Field::Orelse).is_none()
            && block.child(Field::Elifs).is_none()
            && block.child(Field::Test).is_some_and(|test| test.text().ends_with("TYPE_CHECKING"));
        let is_kept_alive = block.parent().is_some_and(|outer| outer.kind() == Kind::Module);
        if is_bare_typing_block && is_kept_alive {
            edits.push(Edit::remove(statement_span(parsed, block)));
        } else {
            edits.push(Edit::replace(siblings[0].span(), "pass"));
            edits.extend(siblings[1..].iter().map(|sibling| Edit::remove(statement_span(parsed, *sibling))));
        }
    }
    edits
}

/// The bytes to remove with a statement: its whole lines where it stands alone, else up to its neighbour on the line.
fn statement_span(parsed: &Parsed, statement: Node<'_>) -> Span {
    let source = parsed.source();
    let text = source.text();
    let span = statement.span();
    let line_start = source.line_start(span.start);
    let is_first = text[line_start as usize..span.start as usize].trim().is_empty();
    let line_end = source.line_end(span.end);
    let rest = text[span.end as usize..line_end as usize].trim_start();
    if let Some(after) = rest.strip_prefix(';')
        && !after.trim().is_empty()
        && !after.trim_start().starts_with('#')
    {
        // `import a; b()`: the next statement moves up.
        return Span::new(span.start, line_end - after.trim_start().len() as u32);
    }
    if is_first {
        return Span::new(line_start, source.next_line_start(span.end));
    }
    // `a(); import b`: from the semicolon before it.
    let before = text[..span.start as usize].trim_end();
    let start = before.strip_suffix(';').map_or(before.len(), |before| before.trim_end().len());
    let end = if rest.starts_with(';') {
        span.end + (text[span.end as usize..].find(';').unwrap_or(0) as u32) + 1
    } else {
        span.end
    };
    Span::new(start as u32, end)
}
