//! Would a rename change what any name means? Python resolves names by scope, so the question has two halves: who would be captured
//! by the renamed symbol, and who of its own would be captured by another.

use super::{Place, RenameError};
use crate::semantic::SymbolId;
use crate::{Parsed, Semantic, Span};

/// Fails if renaming `symbol` to `new` collides with a name or changes the meaning of a reference.
pub(super) fn check_rename(
    semantic: &Semantic<'_>,
    symbol: SymbolId,
    new: &str,
    path: &str,
) -> Result<(), RenameError> {
    let old = semantic.symbol(symbol).name.as_ref();
    let home = semantic.symbol(symbol).scope;
    let collision = |span| RenameError::Collision {
        old: old.to_owned(),
        new: new.to_owned(),
        place: place(semantic.parsed(), path, span),
    };
    let capture = |span| RenameError::Capture {
        old: old.to_owned(),
        new: new.to_owned(),
        place: place(semantic.parsed(), path, span),
    };

    if let Some(existing) = semantic.scope(home).symbols.get(new)
        && let Some(binding) = semantic.symbol(*existing).bindings.first()
    {
        return Err(collision(semantic.binding(*binding).span));
    }
    // Bindings made from inner scopes by `global` and `nonlocal` must not meet the new name there.
    for id in &semantic.symbol(symbol).bindings {
        let binding = semantic.binding(*id);
        let scope = semantic.scope_of(semantic.parsed().node(binding.node));
        if scope != home
            && let Some(existing) = semantic.scope(scope).symbols.get(new)
            && let Some(other) = semantic.symbol(*existing).bindings.first()
        {
            return Err(collision(semantic.binding(*other).span));
        }
    }
    for id in &semantic.symbol(symbol).references {
        let reference = semantic.reference(*id);
        let between = semantic.lookup_chain(reference.scope).take_while(|scope| *scope != home);
        for scope in between {
            if semantic.scope(scope).symbols.contains_key(new) {
                return Err(capture(reference.span));
            }
        }
    }
    for reference in semantic.references().iter().filter(|reference| reference.name == new) {
        let current = reference.symbol.map(|symbol| semantic.symbol(symbol).scope);
        let passes_home = semantic
            .lookup_chain(reference.scope)
            .take_while(|scope| Some(*scope) != current)
            .any(|scope| scope == home);
        if passes_home {
            return Err(capture(reference.span));
        }
    }
    Ok(())
}

pub(super) fn place(parsed: &Parsed, path: &str, span: Span) -> Place {
    Place { path: path.to_owned(), at: parsed.source().position(span.start), span }
}
