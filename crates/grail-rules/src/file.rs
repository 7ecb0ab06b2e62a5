//! One file while rules look at it. What several rules need is worked out once, and only if one needs it.

use std::cell::OnceCell;
use std::sync::Arc;

use grail_code::query::{Match, Pattern, find_among};
use grail_code::{Kind, ModuleName, NodeId, Parsed, Semantic};

use crate::python::tree_text;

pub struct FileUnderCheck<'a> {
    /// The path relative to the project's root, with `/`.
    pub path: Arc<str>,
    pub module: ModuleName,
    pub parsed: &'a Parsed,
    semantic: OnceCell<Semantic<'a>>,
    by_kind: OnceCell<NodesByKind>,
    data: OnceCell<Option<Arc<str>>>,
}

/// The nodes of a file, sorted by kind and then by place.
struct NodesByKind {
    /// Where the nodes of a kind start; the next kind's start is their end.
    starts: Vec<u32>,
    nodes: Vec<NodeId>,
}

impl<'a> FileUnderCheck<'a> {
    pub fn new(path: impl Into<Arc<str>>, module: ModuleName, parsed: &'a Parsed) -> Self {
        Self {
            path: path.into(),
            module,
            parsed,
            semantic: OnceCell::new(),
            by_kind: OnceCell::new(),
            data: OnceCell::new(),
        }
    }

    /// The tree as data, as text, for scripts. `None` if it nests too deeply.
    pub(crate) fn data(&self) -> Option<&Arc<str>> {
        self.data.get_or_init(|| tree_text(self.parsed).map(Arc::from)).as_ref()
    }

    /// What the names of the file stand for.
    pub fn semantic(&self) -> &Semantic<'a> {
        self.semantic.get_or_init(|| Semantic::of_module(self.parsed, self.module.clone()))
    }

    /// Every match of a pattern, in source order.
    pub(crate) fn find(&self, pattern: &Pattern) -> Vec<Match> {
        let index = self.by_kind.get_or_init(|| NodesByKind::new(self.parsed));
        let semantic = pattern.needs_names().then(|| self.semantic());
        let mut kinds = pattern.root_kinds();
        let first = kinds.next();
        match (first, kinds.next()) {
            (None, _) => Vec::new(),
            (Some(kind), None) => {
                let nodes = index.of(kind).iter().map(|id| self.parsed.node(*id));
                find_among(nodes, self.parsed, semantic, pattern)
            }
            (Some(first), Some(second)) => {
                let mut ids: Vec<NodeId> = [first, second]
                    .into_iter()
                    .chain(kinds)
                    .flat_map(|kind| index.of(kind))
                    .copied()
                    .collect();
                ids.sort_unstable();
                let nodes = ids.into_iter().map(|id| self.parsed.node(id));
                find_among(nodes, self.parsed, semantic, pattern)
            }
        }
    }
}

impl NodesByKind {
    fn new(parsed: &Parsed) -> Self {
        let mut starts = vec![0_u32; Kind::ALL.len() + 1];
        for node in parsed.nodes() {
            starts[node.kind() as usize + 1] += 1;
        }
        for kind in 0..Kind::ALL.len() {
            starts[kind + 1] += starts[kind];
        }
        let mut next = starts.clone();
        let mut nodes = vec![parsed.root().id(); parsed.len()];
        for node in parsed.nodes() {
            let place = &mut next[node.kind() as usize];
            nodes[*place as usize] = node.id();
            *place += 1;
        }
        Self { starts, nodes }
    }

    fn of(&self, kind: Kind) -> &[NodeId] {
        let (start, end) = (self.starts[kind as usize], self.starts[kind as usize + 1]);
        &self.nodes[start as usize..end as usize]
    }
}
