//! The file system of one run: answers its file calls.
//!
//! Every call passes the same gates: the path's length and bytes, its permission, the policy; then it goes to the mount that covers it
//! or to the tree in memory. Calls block; the caller keeps them off its runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

use monty_fs::{Mount as EngineMount, MountCallOutcome, MountMode, MountTable, OverlayState};
use monty_types::{
    ExcType, FileMode, MkdirCallArgs, MontyException, MontyFileHandle, MontyObject, OsFunctionCall, dir_stat,
    file_stat,
};

use super::fault::{Fault, callback_failed, decode};
use super::memory::{Memory, Node};
use super::{Access, CallbackFile, FileBudget, Files, Permission, path};
use crate::policy::FileAccess;

#[derive(Debug)]
pub(crate) struct FileSystem {
    /// Nothing was given, or the policy allows nothing.
    is_absent: bool,
    access: FileAccess,
    pub(super) memory: Memory,
    pub(super) mounts: Vec<RunMount>,
    /// By comparable path.
    permissions: BTreeMap<String, Permission>,
    budget: FileBudget,
}

#[derive(Debug)]
pub(super) struct RunMount {
    pub(super) path: String,
    pub(super) access: Access,
    /// Holds this one mount.
    table: MountTable,
    /// The paths a copy-on-write mount may differ in from the host's folder.
    pub(super) touched: BTreeSet<String>,
    /// Permissions differ inside of it, so no link may lead from one name to another.
    has_permissions: bool,
}

#[derive(Debug)]
pub(crate) enum FileAnswer {
    Return(MontyObject),
    Raise(MontyException),
    /// Not a call about files.
    NotHandled,
}

impl FileSystem {
    pub(crate) fn new(files: &Files, access: FileAccess) -> Self {
        let given = &*files.given;
        let permissions: BTreeMap<String, Permission> = given
            .permissions
            .iter()
            .map(|(path, permission)| (path::comparable(path), *permission))
            .collect();
        let mounts = given.mounts.iter().map(|mount| {
            let path = mount.root.virtual_path().to_owned();
            let access = mount.access.under(access);
            let mode = match access {
                Access::ReadOnly => MountMode::ReadOnly,
                Access::ReadWrite => MountMode::ReadWrite,
                Access::CopyOnWrite => MountMode::OverlayMemory(OverlayState::new()),
            };
            let engine_mount = EngineMount::with_root(mount.root.clone(), mode, Some(given.budget.bytes))
                .with_memory_usage_limit(given.budget.bytes);
            let mut table = MountTable::new();
            table.push_mount(engine_mount);
            let folder = path::comparable(&path);
            let has_permissions =
                permissions.keys().any(|rule| *rule != folder && path::is_within(rule, &folder));
            RunMount { path, access, table, touched: BTreeSet::new(), has_permissions }
        });
        Self {
            is_absent: files.is_none() || access == FileAccess::None,
            access,
            memory: Memory::new(given, now()),
            mounts: mounts.collect(),
            permissions,
            budget: given.budget,
        }
    }

    pub(crate) fn answer(&mut self, call: OsFunctionCall) -> FileAnswer {
        let Some(primary) = call.fs_primary_path() else { return FileAnswer::NotHandled };
        let source = primary.to_owned();
        let destination = call.rename_destination().map(str::to_owned);
        match self.answer_file_call(call, &source, destination.as_deref()) {
            Ok(object) => FileAnswer::Return(object),
            Err(exception) => FileAnswer::Raise(exception),
        }
    }

    fn answer_file_call(
        &mut self,
        call: OsFunctionCall,
        source: &str,
        destination: Option<&str>,
    ) -> Result<MontyObject, MontyException> {
        if self.is_absent {
            return Err(Fault::Denied.at(&path::elide(source)));
        }
        for (given, is_destination) in
            std::iter::once((source, false)).chain(destination.map(|path| (path, true)))
        {
            let problem = if path::is_too_long(given) {
                Fault::NameTooLong.at(&path::elide(given))
            } else if given.contains('\0') {
                MontyException::new(
                    ExcType::ValueError,
                    Some(call.embedded_null_message(is_destination).to_owned()),
                )
            } else {
                continue;
            };
            return if call.is_existence_check() { Ok(MontyObject::Bool(false)) } else { Err(problem) };
        }
        let path = path::normalize(source);
        if matches!(call, OsFunctionCall::Resolve(_) | OsFunctionCall::Absolute(_)) {
            return Ok(MontyObject::Path(path));
        }
        let writes = call.is_write() || matches!(&call, OsFunctionCall::Open(open) if open.mode.writable());
        let needed = if writes { Permission::Write } else { Permission::Read };
        let target = destination.map(path::normalize);
        let is_allowed = self.permission(&path) >= needed
            && target
                .as_ref()
                .is_none_or(|target| self.permission(target) >= needed && !self.moves_rules(&path, target));
        if !is_allowed {
            return match destination {
                _ if call.is_existence_check() => Ok(MontyObject::Bool(false)),
                Some(destination) => Err(Fault::Denied.between(source, destination)),
                None => Err(Fault::Denied.at(source)),
            };
        }
        if writes && self.access == FileAccess::Read {
            return Err(Fault::ReadOnly.at(source));
        }
        match (self.mount_of(&path), target) {
            (None, None) => self.answer_in_memory(call, source, &path),
            (Some(index), None) => self.answer_in_mount(index, call, source, &path, None),
            (from, Some(target)) => match (from, self.mount_of(&target)) {
                (None, None) => self.rename(source, destination.unwrap_or_default(), &path, &target),
                (Some(from), Some(to)) if from == to => {
                    self.answer_in_mount(from, call, source, &path, Some(&target))
                }
                _ => Err(Fault::CrossDevice.between(source, destination.unwrap_or_default())),
            },
        }
    }

    /// Of the nearest ancestor that has one.
    fn permission(&self, path: &str) -> Permission {
        if self.permissions.is_empty() {
            return Permission::Write;
        }
        let path = path::comparable(path);
        path::ancestors(&path)
            .find_map(|ancestor| self.permissions.get(ancestor).copied())
            .unwrap_or(Permission::Write)
    }

    /// A folder that is moved must not carry what lies below it out from under its permission, nor slip under one.
    fn moves_rules(&self, source: &str, target: &str) -> bool {
        let (source, target) = (path::comparable(source), path::comparable(target));
        self.permissions.keys().any(|rule| {
            [&source, &target].into_iter().any(|moved| rule != moved && path::is_within(rule, moved))
        })
    }

    pub(super) fn mount_of(&self, path: &str) -> Option<usize> {
        self.mounts.iter().position(|mount| path::is_within(path, &mount.path))
    }

    fn answer_in_mount(
        &mut self,
        index: usize,
        call: OsFunctionCall,
        source: &str,
        path: &str,
        target: Option<&str>,
    ) -> Result<MontyObject, MontyException> {
        let is_existence_check = call.is_existence_check();
        let lists = matches!(call, OsFunctionCall::Iterdir(_));
        let may_change = call.is_write();
        let limit = self.budget.files;
        let mount = &mut self.mounts[index];
        if mount.has_permissions
            && (mount.passes_link(path) || target.is_some_and(|target| mount.passes_link(target)))
        {
            return if is_existence_check {
                Ok(MontyObject::Bool(false))
            } else {
                Err(Fault::Denied.at(source))
            };
        }
        let tracked = may_change && mount.access == Access::CopyOnWrite;
        let moved = match target {
            Some(_) if tracked => mount.tree(path, limit).ok_or_else(|| Fault::NoSpace.at(source))?,
            _ => Vec::new(),
        };
        let answer = mount.call(call)?;
        if tracked {
            mount
                .touched
                .extend(path::ancestors(path).take_while(|above| *above != mount.path).map(str::to_owned));
            if let Some(target) = target {
                for old in moved {
                    mount.touched.insert(format!("{target}{}", &old[path.len()..]));
                    mount.touched.insert(old);
                }
            }
        }
        match answer {
            MontyObject::List(entries) if lists => {
                Ok(MontyObject::List(entries.into_iter().filter(|entry| self.is_listed(entry)).collect()))
            }
            answer => Ok(answer),
        }
    }

    fn is_listed(&self, entry: &MontyObject) -> bool {
        match entry {
            MontyObject::Path(entry) => self.permission(&path::normalize(entry)) > Permission::None,
            _ => true,
        }
    }

    fn answer_in_memory(
        &mut self,
        call: OsFunctionCall,
        source: &str,
        path: &str,
    ) -> Result<MontyObject, MontyException> {
        use OsFunctionCall as Call;
        let node = self.memory.get(path);
        match call {
            Call::Exists(_) => Ok(MontyObject::Bool(node.is_some())),
            Call::IsFile(_) => {
                Ok(MontyObject::Bool(matches!(node, Some(Node::File { .. } | Node::Callback { .. }))))
            }
            Call::IsDir(_) => {
                Ok(MontyObject::Bool(matches!(node, Some(Node::Folder { .. } | Node::MountPoint))))
            }
            Call::IsSymlink(_) => Ok(MontyObject::Bool(false)),
            Call::ReadText(_) => {
                self.read(source, path).and_then(|content| decode(&content)).map(MontyObject::String)
            }
            Call::ReadBytes(_) => {
                self.read(source, path).map(|content| MontyObject::Bytes(Arc::unwrap_or_clone(content)))
            }
            Call::Stat(_) => match node {
                Some(Node::File { content, modified }) => {
                    Ok(file_stat(0o644, as_int(content.len()), *modified))
                }
                Some(Node::Folder { modified }) => Ok(dir_stat(0o755, *modified)),
                Some(Node::MountPoint) => Ok(dir_stat(0o755, 0.0)),
                Some(Node::Callback { .. }) => {
                    self.read(source, path).map(|content| file_stat(0o644, as_int(content.len()), now()))
                }
                None => Err(self.memory.absence(path).at(source)),
            },
            Call::Iterdir(_) => match node {
                Some(Node::Folder { .. }) => {
                    let entries = self
                        .memory
                        .list(path)
                        .into_iter()
                        .map(|name| MontyObject::Path(path::join(source, name)));
                    Ok(MontyObject::List(entries.filter(|entry| self.is_listed(entry)).collect()))
                }
                Some(_) => Err(Fault::NotADirectory.at(source)),
                None => Err(self.memory.absence(path).at(source)),
            },
            Call::WriteText(write) => {
                let length = write.data.chars().count();
                self.write(source, path, write.data.into_bytes(), false)?;
                Ok(MontyObject::Int(as_int(length)))
            }
            Call::AppendText(write) => {
                let length = write.data.chars().count();
                self.write(source, path, write.data.into_bytes(), true)?;
                Ok(MontyObject::Int(as_int(length)))
            }
            Call::WriteBytes(write) => {
                let length = write.data.len();
                self.write(source, path, write.data, false)?;
                Ok(MontyObject::Int(as_int(length)))
            }
            Call::AppendBytes(write) => {
                let length = write.data.len();
                self.write(source, path, write.data, true)?;
                Ok(MontyObject::Int(as_int(length)))
            }
            Call::Open(open) => self.open(source, path, open.mode),
            Call::Mkdir(arguments) => self.make_folder(source, path, &arguments),
            Call::Unlink(_) => match node {
                Some(Node::File { .. }) => {
                    self.memory.remove(path);
                    Ok(MontyObject::None)
                }
                Some(Node::Callback { .. }) => Err(Fault::Denied.at(source)),
                Some(Node::Folder { .. } | Node::MountPoint) => Err(Fault::IsADirectory.at(source)),
                None => Err(self.memory.absence(path).at(source)),
            },
            Call::Rmdir(_) => match node {
                Some(Node::Folder { .. }) if path == "/" => Err(Fault::Denied.at(source)),
                Some(Node::Folder { .. }) if self.memory.has_children(path) => {
                    Err(Fault::NotEmpty.at(source))
                }
                Some(Node::Folder { .. }) => {
                    self.memory.remove(path);
                    Ok(MontyObject::None)
                }
                Some(_) => Err(Fault::NotADirectory.at(source)),
                None => Err(self.memory.absence(path).at(source)),
            },
            other => Err(other.on_no_handler()),
        }
    }

    fn read(&self, source: &str, path: &str) -> Result<Arc<Vec<u8>>, MontyException> {
        match self.memory.get(path) {
            Some(Node::File { content, .. }) => Ok(Arc::clone(content)),
            Some(Node::Callback { file, .. }) => file.call_read(source, self.budget.bytes).map(Arc::new),
            Some(Node::Folder { .. } | Node::MountPoint) => Err(Fault::IsADirectory.at(source)),
            None => Err(self.memory.absence(path).at(source)),
        }
    }

    fn write(
        &mut self,
        source: &str,
        path: &str,
        data: Vec<u8>,
        appends: bool,
    ) -> Result<(), MontyException> {
        let (limit, access) = (self.budget.bytes, self.access);
        match self.memory.get_mut(path) {
            Some(Node::Folder { .. } | Node::MountPoint) => Err(Fault::IsADirectory.at(source)),
            Some(Node::Callback { file, written }) => {
                if access != FileAccess::Write {
                    return Err(Fault::ReadOnly.at(source));
                }
                let mut content = match (appends, written.take()) {
                    (false, _) => Vec::new(),
                    (true, Some(written)) => written,
                    (true, None) => file.call_read(source, limit)?,
                };
                if content.len() as u64 + data.len() as u64 > limit {
                    return Err(Fault::NoSpace.at(source));
                }
                content.extend_from_slice(&data);
                file.call_write(source, &content)?;
                *written = Some(content);
                Ok(())
            }
            Some(Node::File { .. }) if appends => {
                self.memory.append(path, &data, now()).map_err(|fault| fault.at(source))
            }
            Some(Node::File { .. }) | None => {
                self.memory.write(path, data, now()).map_err(|fault| fault.at(source))
            }
        }
    }

    /// Does what opening does: checks, truncates, creates. No handle stays open; the code's own holds the virtual path.
    fn open(&mut self, source: &str, path: &str, mode: FileMode) -> Result<MontyObject, MontyException> {
        let access = self.access;
        match self.memory.get_mut(path) {
            Some(Node::Folder { .. } | Node::MountPoint) => return Err(Fault::IsADirectory.at(source)),
            Some(Node::Callback { file, written }) if mode.writable() => {
                if access != FileAccess::Write {
                    return Err(Fault::ReadOnly.at(source));
                }
                if file.write.is_none() {
                    return Err(Fault::Denied.at(source));
                }
                // The host hears of the new content when there is some.
                if mode.truncate() {
                    *written = Some(Vec::new());
                }
            }
            Some(Node::File { .. }) if mode.truncate() => self.write(source, path, Vec::new(), false)?,
            Some(_) => {}
            None if mode.create() => self.write(source, path, Vec::new(), false)?,
            None => return Err(self.memory.absence(path).at(source)),
        }
        Ok(MontyObject::FileHandle(MontyFileHandle { path: path.to_owned(), mode, position: 0 }))
    }

    fn make_folder(
        &mut self,
        source: &str,
        path: &str,
        arguments: &MkdirCallArgs,
    ) -> Result<MontyObject, MontyException> {
        match self.memory.get(path) {
            Some(Node::Folder { .. } | Node::MountPoint) if arguments.exist_ok => {}
            Some(_) => return Err(Fault::Exists.at(source)),
            None => {
                self.memory.make_folder(path, arguments.parents, now()).map_err(|fault| fault.at(source))?;
            }
        }
        Ok(MontyObject::None)
    }

    fn rename(
        &mut self,
        source: &str,
        destination: &str,
        path: &str,
        target: &str,
    ) -> Result<MontyObject, MontyException> {
        let fail = |fault: Fault| Err(fault.between(source, destination));
        let moves_fixture = self.memory.nodes().any(|(name, node)| {
            matches!(node, Node::MountPoint | Node::Callback { .. })
                && (path::is_within(name, path) || name == target)
        });
        let Some(node) = self.memory.get(path) else { return fail(self.memory.absence(path)) };
        if moves_fixture || path == "/" || target == "/" {
            return fail(Fault::Denied);
        }
        if path == target {
            return Ok(MontyObject::None);
        }
        match (node, self.memory.get(target)) {
            (Node::Folder { .. }, Some(Node::File { .. })) => return fail(Fault::NotADirectory),
            (Node::Folder { .. }, Some(_)) if self.memory.has_children(target) => {
                return fail(Fault::NotEmpty);
            }
            (Node::File { .. }, Some(Node::Folder { .. })) => return fail(Fault::IsADirectory),
            (Node::Folder { .. }, _) if path::is_within(target, path) => {
                let text = format!("[Errno 22] Invalid argument: '{source}' -> '{destination}'");
                return Err(MontyException::new(ExcType::OSError, Some(text)));
            }
            _ => {}
        }
        // What lies below a moved folder gets longer names, too.
        let longest = self
            .memory
            .nodes()
            .filter(|(name, _)| path::is_within(name, path))
            .map(|(name, _)| &name[path.len()..]);
        if longest.into_iter().any(|rest| path::is_too_long(&format!("{target}{rest}"))) {
            return fail(Fault::NameTooLong);
        }
        self.memory
            .require_parent(target)
            .and_then(|()| self.memory.rename(path, target))
            .map_err(|fault| fault.between(source, destination))?;
        Ok(MontyObject::None)
    }
}

impl RunMount {
    pub(super) fn call(&mut self, call: OsFunctionCall) -> Result<MontyObject, MontyException> {
        match self.table.handle_os_call(call) {
            MountCallOutcome::Handled(Ok(object)) => Ok(object),
            MountCallOutcome::Handled(Err(error)) => Err(error.into_exception()),
            MountCallOutcome::NotHandled(call) => Err(call.on_no_handler()),
        }
    }

    pub(super) fn is(&mut self, call: OsFunctionCall) -> bool {
        matches!(self.call(call), Ok(MontyObject::Bool(true)))
    }

    /// Whether a link lies on the way to `path`, asked through the mount's own descriptor. Sandboxed code cannot make links.
    fn passes_link(&mut self, path: &str) -> bool {
        let steps: Vec<String> =
            path::ancestors(path).take_while(|step| *step != self.path).map(str::to_owned).collect();
        steps.into_iter().any(|step| self.is(OsFunctionCall::IsSymlink(step.into())))
    }

    /// A path and all that lies below it, or nothing if that is more than `limit`.
    fn tree(&mut self, path: &str, limit: usize) -> Option<Vec<String>> {
        let mut found = vec![path.to_owned()];
        let mut next = 0;
        while let Some(folder) = found.get(next).cloned() {
            next += 1;
            if !self.is(OsFunctionCall::IsDir(folder.as_str().into())) {
                continue;
            }
            let Ok(MontyObject::List(entries)) = self.call(OsFunctionCall::Iterdir(folder.into())) else {
                continue;
            };
            found.extend(entries.into_iter().filter_map(|entry| match entry {
                MontyObject::Path(entry) => Some(entry),
                _ => None,
            }));
            if found.len() > limit {
                return None;
            }
        }
        Some(found)
    }
}

impl CallbackFile {
    fn call_read(&self, path: &str, limit: u64) -> Result<Vec<u8>, MontyException> {
        let content = catch_unwind(AssertUnwindSafe(|| (self.read)()))
            .unwrap_or_else(|_| Err("the file's handler panicked".to_owned()))
            .map_err(|message| callback_failed(&message, path))?;
        if content.len() as u64 > limit {
            return Err(callback_failed("the file is larger than the budget for files", path));
        }
        Ok(content)
    }

    fn call_write(&self, path: &str, content: &[u8]) -> Result<(), MontyException> {
        let Some(write) = &self.write else { return Err(Fault::Denied.at(path)) };
        catch_unwind(AssertUnwindSafe(|| write(content)))
            .unwrap_or_else(|_| Err("the file's handler panicked".to_owned()))
            .map_err(|message| callback_failed(&message, path))
    }
}

pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

fn as_int(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
