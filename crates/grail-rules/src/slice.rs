//! What the rules across files ask for, taken together: of each file only that is indexed and remembered.

use grail_code::index::{FileIndex, Wanted, index_wanted};
use grail_code::{Field, Kind, Node, Semantic};
use regex::Regex;
use rustc_hash::FxHashSet;

use crate::rule::ProjectQuery;

#[derive(Default)]
pub(crate) struct IndexSlice {
    /// Names of definitions that some rule asks for.
    definitions: Vec<Regex>,
    /// Names of functions at the top of a module.
    functions: Vec<Regex>,
    decorators: FxHashSet<String>,
    calls: FxHashSet<String>,
}

impl IndexSlice {
    /// A query that cannot be read asks for nothing: the rule itself will say so.
    pub(crate) fn add(&mut self, query: &ProjectQuery) {
        self.definitions.extend(query.definition_names().ok().flatten());
        self.functions.extend(query.function_names().ok().flatten());
        self.decorators.extend(query.decorated.iter().cloned());
        self.calls.extend(query.calls.iter().cloned());
    }

    pub(crate) fn index(&self, semantic: &Semantic<'_>) -> FileIndex {
        let definition = |node: Node<'_>| self.wants(node);
        let call = |name: &str| self.calls.contains(name);
        index_wanted(semantic, Wanted { definition: &definition, call: &call })
    }

    fn wants(&self, node: Node<'_>) -> bool {
        let Some(name) = node.child(Field::Name).map(|name| name.text()) else { return false };
        let is_named = |names: &[Regex]| names.iter().any(|names| names.is_match(name));
        let is_at_top = || node.parent().is_some_and(|parent| parent.kind() == Kind::Module);
        is_named(&self.definitions)
            || (node.kind() == Kind::FunctionDef && is_at_top() && is_named(&self.functions))
            || (!self.decorators.is_empty() && decorators(node).any(|name| self.decorators.contains(name)))
    }
}

/// The last names of a definition's decorators: `fixture` for `@pytest.fixture()`.
fn decorators<'a>(node: Node<'a>) -> impl Iterator<Item = &'a str> {
    node.list(Field::Decorators).filter_map(|decorator| {
        let expression = decorator.child(Field::Expression)?;
        let called =
            if expression.kind() == Kind::Call { expression.child(Field::Func)? } else { expression };
        Some(called.child(Field::Attr).unwrap_or(called).text())
    })
}
