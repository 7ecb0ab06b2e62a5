//! `__all__`: the strings in it are references to the module's names.

use std::borrow::Cow;

use super::bind::Binder;
use super::{Export, Reference, ReferenceKind, ScopeId};
use crate::tree::string_literal;
use crate::{Context, Field, Kind, Node};

/// Looks at one statement of the module for `__all__ = […]`, `__all__ += […]`, `__all__.extend([…])` and the like.
pub(super) fn collect<'a>(binder: &mut Binder<'a>, statement: Node<'a>) {
    let Some(value) = exported_value(statement) else { return };
    binder.exports.get_or_insert_default();
    for string in value.subtree().filter(|node| node.kind() == Kind::String) {
        // Only elements of lists and tuples, possibly added up: not a string deep in some call.
        let is_element =
            string.ancestors().take_while(|ancestor| ancestor.id() >= value.id()).all(|ancestor| {
                matches!(ancestor.kind(), Kind::List | Kind::Tuple | Kind::BinOp | Kind::Starred)
            });
        let Some(literal) = string_literal(string).filter(|_| is_element) else { continue };
        if literal.content.contains('\\') {
            continue;
        }
        if let Some(exports) = &mut binder.exports {
            exports.push(Export { name: literal.content.to_owned(), span: literal.span });
        }
        binder.add_reference(Reference {
            name: Cow::Borrowed(literal.content),
            scope: ScopeId(0),
            symbol: None,
            node: None,
            span: literal.span,
            context: Context::Load,
            kind: ReferenceKind::Export,
        });
    }
}

fn exported_value(statement: Node<'_>) -> Option<Node<'_>> {
    let is_all = |node: Node<'_>| node.kind() == Kind::Name && node.text() == "__all__";
    match statement.kind() {
        Kind::Assign => {
            statement.list(Field::Targets).any(is_all).then(|| statement.child(Field::Value)).flatten()
        }
        Kind::AnnAssign | Kind::AugAssign => {
            statement.child(Field::Target).filter(|target| is_all(*target))?;
            statement.child(Field::Value)
        }
        Kind::Expr => {
            let call = statement.child(Field::Value).filter(|value| value.kind() == Kind::Call)?;
            let function = call.child(Field::Func).filter(|function| function.kind() == Kind::Attribute)?;
            function.child(Field::Value).filter(|value| is_all(*value))?;
            let method = function.child(Field::Attr)?.text();
            matches!(method, "extend" | "append" | "insert").then(|| call.list(Field::Args).last()).flatten()
        }
        _ => None,
    }
}
