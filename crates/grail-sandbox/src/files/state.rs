//! What a run changed in its files, as data that a snapshot can hold.
//!
//! Files in memory are kept whole; of a copy-on-write mount, the paths that were written or removed. Host folders and callbacks are
//! not kept: the process that loads a snapshot brings them, and they are found again by their virtual paths.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use monty_types::{MkdirCallArgs, MontyException, MontyObject, OsFunctionCall, PathBytesDataArgs};
use serde::{Deserialize, Serialize};

use super::memory::Node;
use super::system::{FileSystem, RunMount, now};
use super::{Access, path, refused};
use crate::error::SandboxError;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilesState {
    memory: Vec<SavedEntry>,
    mounts: Vec<SavedMount>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedMount {
    name: String,
    copy_on_write: bool,
    changed: Vec<SavedEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedEntry {
    path: String,
    entry: Saved,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Saved {
    Folder,
    /// In base64.
    File(String),
    Missing,
}

impl FileSystem {
    pub(crate) fn save(&mut self) -> Result<FilesState, SandboxError> {
        let memory = self.memory.nodes().filter_map(|(path, node)| {
            let entry = match node {
                Node::Folder { .. } => Saved::Folder,
                Node::File { content, .. } => Saved::File(BASE64.encode(content.as_slice())),
                Node::Callback { .. } | Node::MountPoint => return None,
            };
            Some(SavedEntry { path: path.to_owned(), entry })
        });
        let memory = memory.collect();
        let mounts = self.mounts.iter_mut().map(RunMount::save).collect::<Result<_, _>>()?;
        Ok(FilesState { memory, mounts })
    }

    /// Takes up a saved state on a fresh file system made from files with the same mounts.
    pub(crate) fn restore(&mut self, state: FilesState) -> Result<(), SandboxError> {
        for saved in &state.mounts {
            let mount = self.mounts.iter().find(|mount| mount.path == saved.name);
            let mount = mount.ok_or_else(|| {
                refused(&saved.name, "the paused run had a mount of this name; give it again".to_owned())
            })?;
            // Writes that were kept in memory must not reach the host now, nor the other way round.
            if saved.copy_on_write != (mount.access == Access::CopyOnWrite) {
                return Err(refused(
                    &saved.name,
                    "the paused run had this mount with another access".to_owned(),
                ));
            }
        }
        let stale: Vec<String> = self
            .memory
            .nodes()
            .filter(|(path, node)| *path != "/" && matches!(node, Node::Folder { .. } | Node::File { .. }))
            .map(|(path, _)| path.to_owned())
            .collect();
        for path in stale {
            self.memory.remove(&path);
        }
        for SavedEntry { path, entry } in state.memory {
            let path = path::checked(&path)?;
            if self.mount_of(&path).is_some() || matches!(self.memory.get(&path), Some(Node::Callback { .. }))
            {
                return Err(refused(&path, "the paused run had a file of its own here".to_owned()));
            }
            let node = match entry {
                Saved::Folder => Node::Folder { modified: now() },
                Saved::File(content) => {
                    Node::File { content: Arc::new(decode(&path, &content)?), modified: now() }
                }
                Saved::Missing => continue,
            };
            self.memory.insert(&path, node).map_err(|_| {
                refused(&path, "the paused run's files are larger than the budget".to_owned())
            })?;
        }
        for saved in state.mounts {
            if let Some(mount) = self.mounts.iter_mut().find(|mount| mount.path == saved.name) {
                mount.restore(saved.changed)?;
            }
        }
        Ok(())
    }
}

impl RunMount {
    fn save(&mut self) -> Result<SavedMount, SandboxError> {
        let copy_on_write = self.access == Access::CopyOnWrite;
        let touched: Vec<String> = self.touched.iter().cloned().collect();
        let mut changed = Vec::with_capacity(touched.len());
        for path in touched {
            let entry = if self.is(OsFunctionCall::IsDir(path.as_str().into())) {
                Saved::Folder
            } else if self.is(OsFunctionCall::IsFile(path.as_str().into())) {
                match self.call(OsFunctionCall::ReadBytes(path.as_str().into())) {
                    Ok(MontyObject::Bytes(content)) => Saved::File(BASE64.encode(content)),
                    Ok(_) => Saved::Missing,
                    Err(exception) => return Err(failed(&path, &exception)),
                }
            } else {
                Saved::Missing
            };
            changed.push(SavedEntry { path, entry });
        }
        Ok(SavedMount { name: self.path.clone(), copy_on_write, changed })
    }

    /// Removes first, from the deepest up, then makes folders and files from the top down.
    fn restore(&mut self, changed: Vec<SavedEntry>) -> Result<(), SandboxError> {
        for SavedEntry { path, .. } in &changed {
            if path::checked(path)? != *path || !path::is_within(path, &self.path) {
                return Err(refused(path, "a paused run names it in another mount".to_owned()));
            }
        }
        for SavedEntry { path, entry } in changed.iter().rev() {
            let is_folder = self.is(OsFunctionCall::IsDir(path.as_str().into()));
            let is_file = self.is(OsFunctionCall::IsFile(path.as_str().into()));
            let removal = match entry {
                Saved::Missing | Saved::Folder if is_file => OsFunctionCall::Unlink(path.as_str().into()),
                Saved::Missing | Saved::File(_) if is_folder => OsFunctionCall::Rmdir(path.as_str().into()),
                _ => continue,
            };
            self.call(removal).map_err(|exception| failed(path, &exception))?;
        }
        for SavedEntry { path, entry } in &changed {
            let call = match entry {
                Saved::Folder => OsFunctionCall::Mkdir(MkdirCallArgs {
                    path: path.as_str().into(),
                    parents: true,
                    exist_ok: true,
                }),
                Saved::File(content) => OsFunctionCall::WriteBytes(PathBytesDataArgs {
                    path: path.as_str().into(),
                    data: decode(path, content)?,
                }),
                Saved::Missing => continue,
            };
            self.call(call).map_err(|exception| failed(path, &exception))?;
        }
        self.touched = changed.into_iter().map(|saved| saved.path).collect();
        Ok(())
    }
}

fn decode(path: &str, content: &str) -> Result<Vec<u8>, SandboxError> {
    BASE64.decode(content).map_err(|_| refused(path, "a paused run's copy of it is damaged".to_owned()))
}

fn failed(path: &str, exception: &MontyException) -> SandboxError {
    refused(
        path,
        format!(
            "the paused run's change cannot be kept: {}",
            exception.message().unwrap_or("no reason given")
        ),
    )
}
