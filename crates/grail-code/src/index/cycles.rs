//! Imports as a graph, and the cycles in it. Only what runs when a module is imported counts: not what is imported within functions or
//! for types alone.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::ProjectIndex;
use crate::Span;

/// Modules of a project and their imports of each other, in order of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportGraph {
    modules: Vec<String>,
    /// By module: the modules it imports, each once, with the first import of it.
    imports: Vec<BTreeMap<usize, Place>>,
}

/// One module's import of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportEdge {
    pub from: String,
    pub to: String,
    /// The importing file and its statement.
    pub path: String,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: String,
    span: Span,
}

impl ImportGraph {
    pub(super) fn new(index: &ProjectIndex) -> Self {
        let known = index.files().iter().filter(|(_, file)| file.module.is_known());
        let mut modules: Vec<String> = known.clone().map(|(_, file)| file.module.name.clone()).collect();
        modules.sort();
        modules.dedup();
        let find = |name: &str| modules.binary_search_by(|other| other.as_str().cmp(name)).ok();
        let mut imports = vec![BTreeMap::new(); modules.len()];
        for (path, file) in known {
            let Some(from) = find(&file.module.name) else { continue };
            for import in file.imports.iter().filter(|import| !import.in_function && !import.is_typing_only) {
                let mut targets = Vec::new();
                if import.names.is_empty() {
                    targets.extend(find(&import.module));
                }
                for imported in &import.names {
                    // A submodule, or a name that the module itself has.
                    let submodule = find(&format!("{}.{}", import.module, imported.name));
                    targets.extend(submodule.or_else(|| find(&import.module)));
                }
                for to in targets {
                    imports[from]
                        .entry(to)
                        .or_insert_with(|| Place { path: path.clone(), span: import.span });
                }
            }
        }
        Self { modules, imports }
    }

    pub fn modules(&self) -> &[String] {
        &self.modules
    }

    /// Every import of one module by another, in order.
    pub fn edges(&self) -> impl Iterator<Item = ImportEdge> {
        (0..self.modules.len())
            .flat_map(move |from| self.imports[from].keys().map(move |to| self.edge(from, *to)))
    }

    /// Groups of modules of which each can be reached from each other by imports, in order of names; a module alone only if it imports
    /// itself.
    pub fn components(&self) -> Vec<Vec<&str>> {
        let groups = self.strong_components().into_iter();
        groups.map(|group| group.into_iter().map(|module| self.modules[module].as_str()).collect()).collect()
    }

    pub(super) fn cycles(&self) -> Vec<Vec<ImportEdge>> {
        self.strong_components().iter().map(|group| self.shortest_cycle(group)).collect()
    }

    fn edge(&self, from: usize, to: usize) -> ImportEdge {
        let place = self.imports[from].get(&to);
        ImportEdge {
            from: self.modules[from].clone(),
            to: self.modules[to].clone(),
            path: place.map(|place| place.path.clone()).unwrap_or_default(),
            span: place.map(|place| place.span).unwrap_or_default(),
        }
    }

    /// Tarjan's algorithm with a stack of its own, for chains of imports may be long.
    fn strong_components(&self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let count = self.modules.len();
        let targets: Vec<Vec<usize>> = self.imports.iter().map(|to| to.keys().copied().collect()).collect();
        let (mut order, mut low) = (vec![UNSEEN; count], vec![UNSEEN; count]);
        let mut is_open = vec![false; count];
        let mut open = Vec::new();
        let mut next_order = 0;
        let mut groups = Vec::new();
        for start in 0..count {
            if order[start] != UNSEEN {
                continue;
            }
            // A module and how many of its imports have been followed.
            let mut path = vec![(start, 0)];
            while let Some((module, followed)) = path.last_mut() {
                let module = *module;
                if *followed == 0 {
                    (order[module], low[module]) = (next_order, next_order);
                    next_order += 1;
                    is_open[module] = true;
                    open.push(module);
                }
                if let Some(target) = targets[module].get(*followed).copied() {
                    *followed += 1;
                    if order[target] == UNSEEN {
                        path.push((target, 0));
                    } else if is_open[target] {
                        low[module] = low[module].min(order[target]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[module]);
                }
                if low[module] == order[module] {
                    let first = open.iter().rposition(|other| *other == module).unwrap_or(0);
                    let mut group = open.split_off(first);
                    group.iter().for_each(|member| is_open[*member] = false);
                    group.sort_unstable();
                    if group.len() > 1 || targets[module].contains(&module) {
                        groups.push(group);
                    }
                }
            }
        }
        groups.sort();
        groups
    }

    fn shortest_cycle(&self, group: &[usize]) -> Vec<ImportEdge> {
        let Some(&start) = group.first() else { return Vec::new() };
        let mut previous: BTreeMap<usize, usize> = BTreeMap::new();
        let mut pending = VecDeque::from([start]);
        while let Some(module) = pending.pop_front() {
            for &target in self.imports[module].keys().filter(|target| group.binary_search(target).is_ok()) {
                if target == start {
                    let mut edges = vec![self.edge(module, start)];
                    let mut current = module;
                    while let Some(&before) = previous.get(&current) {
                        edges.push(self.edge(before, current));
                        current = before;
                    }
                    edges.reverse();
                    return edges;
                }
                if let Entry::Vacant(entry) = previous.entry(target) {
                    entry.insert(module);
                    pending.push_back(target);
                }
            }
        }
        Vec::new()
    }
}
