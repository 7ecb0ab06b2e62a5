//! The indexes of many files, with what only they know together: who a re-exported name is, who calls what, who imports whom.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Call, Definition, FileIndex, ImportGraph};

/// How many names one question follows through re-exports.
const MAX_HOPS: usize = 64;

/// The indexes of a project's files, in order of paths.
#[derive(Clone, Debug, Default)]
pub struct ProjectIndex {
    files: Vec<(String, FileIndex)>,
    /// File and place of each definition; the last one of a name counts.
    definitions: FxHashMap<String, (usize, usize)>,
    modules: FxHashMap<String, usize>,
    calls: FxHashMap<String, Vec<(usize, usize)>>,
}

impl ProjectIndex {
    pub fn new(mut files: Vec<(String, FileIndex)>) -> Self {
        files.sort_by(|left, right| left.0.cmp(&right.0));
        let mut index = Self::default();
        for (file, (_, content)) in files.iter().enumerate() {
            if content.module.is_known() {
                index.modules.entry(content.module.name.clone()).or_insert(file);
            }
            for (place, definition) in content.definitions.iter().enumerate() {
                index.definitions.insert(definition.qualified_name.clone(), (file, place));
            }
            for (place, call) in content.calls.iter().enumerate() {
                index.calls.entry(call.name.clone()).or_default().push((file, place));
            }
        }
        index.files = files;
        index
    }

    pub fn files(&self) -> &[(String, FileIndex)] {
        &self.files
    }

    pub fn file(&self, path: &str) -> Option<&FileIndex> {
        let place = self.files.binary_search_by(|(other, _)| other.as_str().cmp(path)).ok()?;
        Some(&self.files[place].1)
    }

    /// The path and index of the file with this module name.
    pub fn module(&self, name: &str) -> Option<(&str, &FileIndex)> {
        let (path, index) = &self.files[*self.modules.get(name)?];
        Some((path, index))
    }

    /// Every definition with its path, in order.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &Definition)> {
        self.files.iter().flat_map(|(path, file)| {
            file.definitions.iter().map(move |definition| (path.as_str(), definition))
        })
    }

    /// The definition that a qualified name means, followed through re-exports such as `from .x import Y` in an `__init__.py`.
    pub fn resolve(&self, qualified_name: &str) -> Option<(&str, &Definition)> {
        let mut pending = VecDeque::from([qualified_name.to_owned()]);
        let mut seen = FxHashSet::default();
        while let Some(name) = pending.pop_front() {
            if seen.len() >= MAX_HOPS || !seen.insert(name.clone()) {
                continue;
            }
            if let Some((file, place)) = self.definitions.get(&name) {
                let (path, content) = &self.files[*file];
                return Some((path, &content.definitions[*place]));
            }
            pending.extend(self.passed_on(&name));
        }
        None
    }

    /// The calls of everything with this last part of its name, in order.
    pub fn calls_of(&self, last_part: &str) -> impl Iterator<Item = (&str, &Call)> {
        let places = self.calls.get(last_part).map_or(&[][..], Vec::as_slice);
        places.iter().map(|(file, place)| {
            let (path, content) = &self.files[*file];
            (path.as_str(), &content.calls[*place])
        })
    }

    /// Which module imports which when it is itself imported.
    pub fn import_graph(&self) -> ImportGraph {
        ImportGraph::new(self)
    }

    /// One cycle, the shortest through its first module, for each group of modules that import each other.
    pub fn import_cycles(&self) -> Vec<Vec<super::ImportEdge>> {
        self.import_graph().cycles()
    }

    /// What a name of a module is there because of an import.
    fn passed_on(&self, name: &str) -> Vec<String> {
        // The longest prefix that is a module of the project.
        let mut borders = name.rmatch_indices('.').map(|(at, _)| at).take(MAX_HOPS);
        let Some((file, rest)) =
            borders.find_map(|at| Some((*self.modules.get(&name[..at])?, &name[at + 1..])))
        else {
            return Vec::new();
        };
        let (first, tail) = rest.split_once('.').map_or((rest, None), |(first, tail)| (first, Some(tail)));
        let with_tail = |base: String| tail.map_or(base.clone(), |tail| format!("{base}.{tail}"));
        let mut names = Vec::new();
        for import in self.files[file].1.imports.iter().filter(|import| !import.in_function) {
            if import.alias.as_deref() == Some(first) {
                names.push(with_tail(import.module.clone()));
            }
            for imported in &import.names {
                if imported.name == "*" {
                    names.push(format!("{}.{rest}", import.module));
                } else if imported.alias.as_deref().unwrap_or(&imported.name) == first {
                    names.push(with_tail(format!("{}.{}", import.module, imported.name)));
                }
            }
        }
        names.retain(|next| next.len() <= super::MAX_VALUE);
        names
    }
}
