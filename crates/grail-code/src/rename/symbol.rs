//! One symbol within one file.

use super::check::check_rename;
use super::{RenameError, RenameOptions, validate};
use crate::semantic::{BindingKind, ReferenceKind, SymbolId};
use crate::{Edit, Field, Kind, Node, Semantic, Span};

/// Renames a symbol and all that refers to it within its file. An import gets or changes its alias: what it imports keeps its name.
pub fn rename_in_file(
    semantic: &Semantic<'_>,
    symbol: SymbolId,
    new: &str,
    options: &RenameOptions,
    path: &str,
) -> Result<Vec<Edit>, RenameError> {
    validate(&semantic.symbol(symbol).name, new)?;
    check_rename(semantic, symbol, new, path)?;
    let mut edits = reference_edits(semantic, symbol, new, options);
    for id in &semantic.symbol(symbol).bindings {
        let binding = semantic.binding(*id);
        let node = semantic.parsed().node(binding.node);
        let is_bare_import = matches!(binding.kind, BindingKind::Import | BindingKind::ImportFrom)
            && node.field() == Field::Name;
        if !is_bare_import {
            edits.push(Edit::replace(binding.span, new));
        } else if node.text().contains('.') {
            // `import a.b` binds `a`; an alias would bind `a.b` instead.
            let name = semantic.symbol(symbol).name.clone().into_owned();
            return Err(RenameError::OutsideProject { name });
        } else {
            edits.push(Edit::insert(node.span().end, format!(" as {new}")));
        }
    }
    edits.extend(docstring_edits(semantic, symbol, new, options));
    Ok(edits)
}

/// Edits for the places that use a symbol, not for those that bind it.
pub(super) fn reference_edits(
    semantic: &Semantic<'_>,
    symbol: SymbolId,
    new: &str,
    options: &RenameOptions,
) -> Vec<Edit> {
    let symbol = semantic.symbol(symbol);
    let references = symbol.references.iter().map(|id| semantic.reference(*id));
    let wanted = references
        .filter(|reference| options.string_annotations || reference.kind != ReferenceKind::StringAnnotation);
    let spans = wanted.map(|reference| reference.span).chain(symbol.declarations.iter().copied());
    spans.map(|span| Edit::replace(span, new)).collect()
}

/// Whole words in docstrings, if asked for.
pub(super) fn docstring_edits(
    semantic: &Semantic<'_>,
    symbol: SymbolId,
    new: &str,
    options: &RenameOptions,
) -> Vec<Edit> {
    if !options.docstrings {
        return Vec::new();
    }
    word_edits_in_docstrings(semantic, &semantic.symbol(symbol).name, new)
}

pub(super) fn word_edits_in_docstrings(semantic: &Semantic<'_>, old: &str, new: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    for docstring in semantic.parsed().nodes().filter_map(docstring_of) {
        let text = docstring.text();
        for (at, _) in text.match_indices(old) {
            let is_word =
                |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
            if is_word(text[..at].chars().next_back()) || is_word(text[at + old.len()..].chars().next()) {
                continue;
            }
            let start = docstring.span().start + at as u32;
            edits.push(Edit::replace(Span::new(start, start + old.len() as u32), new));
        }
    }
    edits
}

/// The string that documents a module, class or function.
fn docstring_of(node: Node<'_>) -> Option<Node<'_>> {
    if !matches!(node.kind(), Kind::Module | Kind::ClassDef | Kind::FunctionDef) {
        return None;
    }
    let first = node.list(Field::Body).next().filter(|first| first.kind() == Kind::Expr)?;
    first.child(Field::Value).filter(|value| value.kind() == Kind::String)
}
