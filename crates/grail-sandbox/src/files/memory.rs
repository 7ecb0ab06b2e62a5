//! The tree of files in memory: flat, by normalised path. Every file's parent is a folder in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fault::Fault;
use super::path;
use super::{CallbackFile, FileBudget, Given, GivenFile};

/// What an entry costs beside its name and content.
const ENTRY_BYTES: u64 = 256;

#[derive(Clone, Debug)]
pub(super) struct Memory {
    nodes: BTreeMap<String, Node>,
    bytes: u64,
    budget: FileBudget,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Folder {
        modified: f64,
    },
    File {
        content: Arc<Vec<u8>>,
        modified: f64,
    },
    Callback {
        file: CallbackFile,
        written: Option<Vec<u8>>,
    },
    /// Where a host folder is mounted; calls below it never come here.
    MountPoint,
}

impl Memory {
    pub(super) fn new(given: &Given, now: f64) -> Self {
        let mut memory = Self { nodes: BTreeMap::new(), bytes: 0, budget: given.budget };
        memory.nodes.insert("/".to_owned(), Node::Folder { modified: now });
        for (name, file) in &given.files {
            let node = match file {
                GivenFile::Content(content) => Node::File { content: Arc::clone(content), modified: now },
                GivenFile::Callback(file) => Node::Callback { file: file.clone(), written: None },
            };
            memory.add_with_parents(name, node, now);
        }
        for mount in &given.mounts {
            memory.add_with_parents(mount.root.virtual_path(), Node::MountPoint, now);
        }
        memory
    }

    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    pub(super) fn get_mut(&mut self, path: &str) -> Option<&mut Node> {
        self.nodes.get_mut(path)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Why nothing is found at a path: CPython tells a missing folder from a file in its place.
    pub(super) fn absence(&self, path: &str) -> Fault {
        let obstacle = path::ancestors(path).skip(1).find_map(|ancestor| self.nodes.get(ancestor));
        match obstacle {
            Some(Node::File { .. } | Node::Callback { .. }) => Fault::NotADirectory,
            _ => Fault::NotFound,
        }
    }

    /// The names in a folder, sorted.
    pub(super) fn list(&self, folder: &str) -> Vec<&str> {
        let prefix = if folder == "/" { "/".to_owned() } else { format!("{folder}/") };
        self.descendants(&prefix)
            .filter(|(path, _)| !path[prefix.len()..].contains('/'))
            .map(|(path, _)| &path[prefix.len()..])
            .collect()
    }

    pub(super) fn write(&mut self, path: &str, content: Vec<u8>, now: f64) -> Result<(), Fault> {
        self.require_parent(path)?;
        self.insert(path, Node::File { content: Arc::new(content), modified: now })
    }

    pub(super) fn append(&mut self, path: &str, more: &[u8], now: f64) -> Result<(), Fault> {
        let Some(Node::File { content, modified }) = self.nodes.get_mut(path) else {
            return self.write(path, more.to_vec(), now);
        };
        let grown = self.bytes.saturating_add(more.len() as u64);
        if grown > self.budget.bytes {
            return Err(Fault::NoSpace);
        }
        Arc::make_mut(content).extend_from_slice(more);
        *modified = now;
        self.bytes = grown;
        Ok(())
    }

    pub(super) fn make_folder(&mut self, path: &str, parents: bool, now: f64) -> Result<(), Fault> {
        let missing: Vec<&str> =
            path::ancestors(path).take_while(|path| !self.nodes.contains_key(*path)).collect();
        if let [_, above, ..] = missing.as_slice()
            && !parents
        {
            return Err(self.absence(above));
        }
        self.require_parent(missing.last().copied().unwrap_or(path))?;
        for folder in missing.into_iter().rev() {
            self.insert(folder, Node::Folder { modified: now })?;
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &str) {
        if let Some(node) = self.nodes.remove(path) {
            self.bytes = self.bytes.saturating_sub(cost(path, &node));
        }
    }

    /// Moves a file or a folder with all that is in it. The destination's old entry, if any, is replaced.
    pub(super) fn rename(&mut self, source: &str, destination: &str) -> Result<(), Fault> {
        let below = format!("{source}/");
        let mut moved: Vec<String> = self.descendants(&below).map(|(path, _)| path.to_owned()).collect();
        moved.push(source.to_owned());
        let growth =
            (moved.len() as u64).saturating_mul(destination.len().saturating_sub(source.len()) as u64);
        if self.bytes.saturating_add(growth) > self.budget.bytes {
            return Err(Fault::NoSpace);
        }
        self.remove(destination);
        for path in moved {
            let Some(node) = self.nodes.remove(&path) else { continue };
            self.bytes = self.bytes.saturating_sub(cost(&path, &node));
            let path = format!("{destination}{}", &path[source.len()..]);
            self.bytes = self.bytes.saturating_add(cost(&path, &node));
            self.nodes.insert(path, node);
        }
        Ok(())
    }

    pub(super) fn has_children(&self, path: &str) -> bool {
        self.descendants(&format!("{path}/")).next().is_some()
    }

    pub(super) fn require_parent(&self, path: &str) -> Result<(), Fault> {
        match path::parent(path).map(|parent| self.nodes.get(parent)) {
            None | Some(Some(Node::Folder { .. })) => Ok(()),
            Some(Some(_)) => Err(Fault::NotADirectory),
            Some(None) => Err(self.absence(path)),
        }
    }

    fn descendants<'memory>(
        &'memory self,
        prefix: &str,
    ) -> impl Iterator<Item = (&'memory str, &'memory Node)> {
        let prefix = prefix.to_owned();
        self.nodes
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .filter(|(path, _)| path.as_str() != "/")
            .map(|(path, node)| (path.as_str(), node))
    }

    pub(super) fn insert(&mut self, path: &str, node: Node) -> Result<(), Fault> {
        let old = self.nodes.get(path);
        let bytes =
            self.bytes.saturating_sub(old.map_or(0, |old| cost(path, old))).saturating_add(cost(path, &node));
        if bytes > self.budget.bytes || (old.is_none() && self.nodes.len() >= self.budget.files) {
            return Err(Fault::NoSpace);
        }
        self.nodes.insert(path.to_owned(), node);
        self.bytes = bytes;
        Ok(())
    }

    /// What the host gives is never refused for its size, only counted.
    fn add_with_parents(&mut self, path: &str, node: Node, now: f64) {
        for ancestor in path::ancestors(path).skip(1) {
            self.nodes.entry(ancestor.to_owned()).or_insert(Node::Folder { modified: now });
        }
        self.bytes = self.bytes.saturating_add(cost(path, &node));
        self.nodes.insert(path.to_owned(), node);
    }
}

fn cost(path: &str, node: &Node) -> u64 {
    let content = match node {
        Node::File { content, .. } => content.len(),
        Node::Callback { written, .. } => written.as_ref().map_or(0, Vec::len),
        Node::Folder { .. } | Node::MountPoint => 0,
    };
    ENTRY_BYTES.saturating_add((path.len() + content) as u64)
}
