//! What the rules across files ask for, taken together: of each file only that is indexed and remembered.

use grail_code::Semantic;
use grail_code::index::{FileIndex, Wanted, index_wanted};
use regex::Regex;
use rustc_hash::FxHashSet;

use crate::rule::ProjectQuery;

#[derive(Default)]
pub(crate) struct IndexSlice {
    /// Names of definitions that some rule asks for.
    definitions: Vec<Regex>,
    calls: FxHashSet<String>,
}

impl IndexSlice {
    /// A query that cannot be read asks for nothing: the rule itself will say so.
    pub(crate) fn add(&mut self, query: &ProjectQuery) {
        self.definitions.extend(query.definition_names().ok().flatten());
        self.calls.extend(query.calls.iter().cloned());
    }

    pub(crate) fn index(&self, semantic: &Semantic<'_>) -> FileIndex {
        let definition = |name: &str| self.definitions.iter().any(|names| names.is_match(name));
        let call = |name: &str| self.calls.contains(name);
        index_wanted(semantic, Wanted { definition: &definition, call: &call })
    }
}
