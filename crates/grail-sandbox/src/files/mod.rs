//! The files a run may see: none, unless it is given some.
//!
//! A run sees one tree of virtual paths. Files in memory and callback files live in it by name; folders of the host are mounted into
//! it. Host folders are opened here, once, and reached only through that descriptor afterwards, so no path leads out of them. What the
//! code may do with a path is decided by the permission of its nearest ancestor, and then by the policy's [`FileAccess`], which can
//! only take away.

mod fault;
mod memory;
mod path;
mod state;
mod system;
#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use monty_fs::MountRoot;

use crate::error::SandboxError;
use crate::policy::FileAccess;
pub(crate) use state::FilesState;
pub(crate) use system::{FileAnswer, FileSystem};

/// What a context gives to its runs. Cheap to clone; no run changes it.
#[derive(Clone, Debug, Default)]
pub struct Files {
    given: Arc<Given>,
}

/// How a host folder may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    /// Writes reach the host. Whatever reads them there must not trust them.
    ReadWrite,
    /// Writes stay in memory and are gone after the run.
    CopyOnWrite,
}

/// What may be done with a path and everything below it. Each level includes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Neither seen nor touched: listings leave it out, `exists()` is false, everything else raises `PermissionError`.
    None,
    Read,
    Write,
}

/// A folder of the host, to be mounted at a virtual path. That path is also the name by which a loaded snapshot finds it again.
#[derive(Clone, Debug)]
pub struct Mount {
    virtual_path: String,
    host: PathBuf,
    access: Access,
}

/// A file whose content the host makes up when it is asked for.
#[derive(Clone)]
pub struct CallbackFile {
    read: Arc<ReadCallback>,
    write: Option<Arc<WriteCallback>>,
}

type ReadCallback = dyn Fn() -> Result<Vec<u8>, String> + Send + Sync;
type WriteCallback = dyn Fn(&[u8]) -> Result<(), String> + Send + Sync;

/// What the files of one run may hold: in memory, in the writes to each copy-on-write mount, written to each read-write mount, and in
/// the result of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileBudget {
    pub bytes: u64,
    /// Files and folders in memory.
    pub files: usize,
}

impl Default for FileBudget {
    fn default() -> Self {
        Self { bytes: 64 << 20, files: 10_000 }
    }
}

#[derive(Clone, Debug, Default)]
struct Given {
    files: BTreeMap<String, GivenFile>,
    mounts: Vec<GivenMount>,
    permissions: BTreeMap<String, Permission>,
    budget: FileBudget,
}

#[derive(Clone, Debug)]
enum GivenFile {
    Content(Arc<Vec<u8>>),
    Callback(CallbackFile),
}

#[derive(Clone, Debug)]
struct GivenMount {
    root: MountRoot,
    access: Access,
}

impl Files {
    /// No file system: every file call raises `PermissionError`.
    pub fn none() -> Self {
        Self::default()
    }

    /// A file in memory. Each run has its own copy.
    ///
    /// # Errors
    /// The path is relative, contains `..`, or is taken.
    pub fn with_file(self, path: &str, content: impl Into<Vec<u8>>) -> Result<Self, SandboxError> {
        self.add(path, GivenFile::Content(Arc::new(content.into())))
    }

    /// A file that calls the host.
    ///
    /// # Errors
    /// The path is relative, contains `..`, or is taken.
    pub fn with_callback(self, path: &str, file: CallbackFile) -> Result<Self, SandboxError> {
        self.add(path, GivenFile::Callback(file))
    }

    /// Opens a folder of the host and keeps it open: renaming or replacing it later does not lead a run elsewhere.
    ///
    /// # Errors
    /// The virtual path is relative, contains `..` or overlaps another mount or file; the host folder cannot be opened.
    pub fn mount(mut self, mount: Mount) -> Result<Self, SandboxError> {
        let path = path::checked(&mount.virtual_path)?;
        if let Some(other) = self.mounts().find(|other| path::overlap(&path, other)) {
            return Err(refused(&path, format!("it overlaps the mount `{other}`")));
        }
        if let Some(file) = self.given.files.keys().find(|file| path::overlap(&path, file)) {
            return Err(refused(&path, format!("it overlaps the file `{file}`")));
        }
        let root = MountRoot::open(&path, &mount.host).map_err(|_| {
            refused(&path, format!("the host folder `{}` cannot be opened", mount.host.display()))
        })?;
        Arc::make_mut(&mut self.given).mounts.push(GivenMount { root, access: mount.access });
        Ok(self)
    }

    /// Limits what the code may do with a path and everything below it, down to the next path with a permission of its own.
    ///
    /// # Errors
    /// The path is relative or contains `..`.
    pub fn permission(mut self, path: &str, permission: Permission) -> Result<Self, SandboxError> {
        let path = path::checked(path)?;
        Arc::make_mut(&mut self.given).permissions.insert(path, permission);
        Ok(self)
    }

    pub fn budget(mut self, budget: FileBudget) -> Self {
        Arc::make_mut(&mut self.given).budget = budget;
        self
    }

    pub fn is_none(&self) -> bool {
        self.given.files.is_empty() && self.given.mounts.is_empty()
    }

    /// The virtual paths of the mounts.
    pub fn mounts(&self) -> impl Iterator<Item = &str> {
        self.given.mounts.iter().map(|mount| mount.root.virtual_path())
    }

    fn add(mut self, path: &str, file: GivenFile) -> Result<Self, SandboxError> {
        let path = path::checked(path)?;
        if path == "/" {
            return Err(refused(&path, "it is the root".to_owned()));
        }
        if let Some(mount) = self.mounts().find(|mount| path::overlap(&path, mount)) {
            return Err(refused(&path, format!("it overlaps the mount `{mount}`")));
        }
        if let Some(other) = self.given.files.keys().find(|other| path::overlap(&path, other)) {
            return Err(refused(&path, format!("it overlaps the file `{other}`")));
        }
        Arc::make_mut(&mut self.given).files.insert(path, file);
        Ok(self)
    }
}

impl Mount {
    pub fn new(virtual_path: impl Into<String>, host: impl AsRef<Path>, access: Access) -> Self {
        Self { virtual_path: virtual_path.into(), host: host.as_ref().to_owned(), access }
    }
}

impl CallbackFile {
    /// A file that can be read. `read` is called for each read.
    pub fn new(read: impl Fn() -> Result<Vec<u8>, String> + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read), write: None }
    }

    /// A file that can be written, too. `write` is called for each write, with all the content the file should have.
    pub fn writable(mut self, write: impl Fn(&[u8]) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.write = Some(Arc::new(write));
        self
    }
}

impl fmt::Debug for CallbackFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallbackFile")
            .field("writable", &self.write.is_some())
            .finish_non_exhaustive()
    }
}

impl Access {
    /// What the policy leaves of it.
    fn under(self, access: FileAccess) -> Self {
        match (self, access) {
            (_, FileAccess::None | FileAccess::Read) => Self::ReadOnly,
            (Self::ReadWrite, FileAccess::Overlay) => Self::CopyOnWrite,
            (given, FileAccess::Overlay | FileAccess::Write) => given,
        }
    }
}

fn refused(path: &str, reason: String) -> SandboxError {
    SandboxError::InvalidFiles { path: path.to_owned(), reason }
}
