//! Appending whole lines to a file that other processes append to as well.
//!
//! A file ends with a line feed whenever nobody holds its lock. Where it does not, a writer died in the middle: what it left is moved to
//! `torn/`, and the file is cut back to its last whole line. A write that fails takes back what it wrote.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use grail_project::{SyncPolicy, data_folder};
use memchr::memrchr;
use rustc_hash::FxHashSet;
use uuid::Uuid;

use super::names::{LOCK_FILE, TORN_FOLDER, events_folder};
use super::reader::parse_line;
use crate::error::FlywheelError;

/// How much is looked at in one go when the end of the last whole line is searched.
const SEARCH_BYTES: u64 = 64 * 1024;
/// A tail longer than this is no event.
const MAX_WHOLE_TAIL: u64 = 2 * 1024 * 1024;
/// How many names of files are remembered as safely in their folder.
const MAX_KNOWN_FILES: usize = 4096;

/// How often a file that is removed meanwhile is made again.
const MAX_ATTEMPTS: usize = 3;

/// The folder of events, held so that nothing in it is forgotten meanwhile.
pub(crate) struct HeldFolder {
    pub(crate) path: PathBuf,
    /// Unlocked when it is closed.
    _lock: File,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Together with other writers.
    Shared,
    /// Alone.
    Exclusive,
}

/// Appends, and remembers which files are known to survive a loss of power.
pub(crate) struct Appender {
    root: PathBuf,
    sync: SyncPolicy,
    known_files: FxHashSet<String>,
    is_folder_known: bool,
}

/// Lines that are in a file, which is held until they are safe.
pub(crate) struct Written {
    file: File,
    path: PathBuf,
    name: String,
    length_before: u64,
    is_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safety {
    Safe,
    /// Somebody removed the file meanwhile.
    Removed,
}

/// What was found broken on the way, and mended.
pub(crate) type Notices = Vec<String>;

impl Appender {
    pub(crate) fn new(root: &Path, sync: SyncPolicy) -> Self {
        Self { root: root.to_owned(), sync, known_files: FxHashSet::default(), is_folder_known: false }
    }

    /// The folder, made if it is not there.
    pub(crate) fn hold(&mut self, hold: Hold) -> Result<HeldFolder, FlywheelError> {
        let path = self.make_folder()?;
        let lock_path = path.join(LOCK_FILE);
        let lock =
            open_lock(&lock_path, hold).map_err(|source| FlywheelError::storage(&lock_path, source))?;
        Ok(HeldFolder { path, _lock: lock })
    }

    /// Appends whole lines to a file in the folder, all of them or none, and makes them safe.
    pub(crate) fn append(
        &mut self,
        folder: &HeldFolder,
        name: &str,
        lines: &[u8],
        notices: &mut Notices,
    ) -> Result<(), FlywheelError> {
        for _ in 0..MAX_ATTEMPTS {
            let written = self.write(folder, name, lines, notices)?;
            let mut outcomes = self.make_safe(folder, vec![written]);
            match outcomes.pop() {
                Some(Ok(Safety::Safe)) => return Ok(()),
                Some(Err(error)) => return Err(error),
                Some(Ok(Safety::Removed)) | None => {}
            }
        }
        Err(removed_again(&folder.path.join(name)))
    }

    /// Appends whole lines to a file in the folder: all of them or none. They are not safe yet, and nobody else can write to the file
    /// until they are. Whoever writes to several files does so in the order of their names, so that no two wait for each other.
    pub(crate) fn write(
        &mut self,
        folder: &HeldFolder,
        name: &str,
        lines: &[u8],
        notices: &mut Notices,
    ) -> Result<Written, FlywheelError> {
        let path = folder.path.join(name);
        // Somebody may remove the file between opening and locking it, or the whole folder.
        for _ in 0..MAX_ATTEMPTS {
            let written = write_once(&folder.path, &path, name, lines, notices);
            match written.map_err(|source| self.failed(&path, source))? {
                Some(written) => return Ok(written),
                None => {
                    self.known_files.remove(name);
                    self.is_folder_known = false;
                    self.make_folder()?;
                }
            }
        }
        Err(removed_again(&path))
    }

    /// Forces what was written to the disk, as the policy asks for. The first of several files takes the time; a journal carries the others
    /// along.
    pub(crate) fn make_safe(
        &mut self,
        folder: &HeldFolder,
        written: Vec<Written>,
    ) -> Vec<Result<Safety, FlywheelError>> {
        let must_sync = self.sync != SyncPolicy::Never;
        let is_known = |written: &Written| !written.is_new && self.known_files.contains(&written.name);
        let synced_folder = match must_sync && !written.iter().all(is_known) {
            true => sync_folder(&folder.path).map_err(|error| error.kind()),
            false => Ok(()),
        };
        written
            .into_iter()
            .map(|written| {
                let synced = match must_sync {
                    true => written.file.sync_data().and(synced_folder.map_err(io::Error::from)),
                    false => Ok(()),
                };
                if let Err(source) = synced {
                    // If this fails too, the next writer finds whole lines or a torn tail and deals with it.
                    let _ = written.file.set_len(written.length_before);
                    return Err(self.failed(&written.path, source));
                }
                if !is_still_there(&written.file, &written.path) {
                    self.known_files.remove(&written.name);
                    self.is_folder_known = false;
                    return Ok(Safety::Removed);
                }
                if self.known_files.len() >= MAX_KNOWN_FILES {
                    self.known_files.clear();
                }
                self.known_files.insert(written.name);
                Ok(Safety::Safe)
            })
            .collect()
    }

    fn failed(&mut self, path: &Path, source: io::Error) -> FlywheelError {
        self.is_folder_known = false;
        FlywheelError::storage(path, source)
    }

    fn make_folder(&mut self) -> Result<PathBuf, FlywheelError> {
        let folder = events_folder(&self.root);
        let data = self.root.join(".grail");
        for path in [&data, &folder] {
            refuse_link(path).map_err(|source| FlywheelError::storage(path, source))?;
        }
        if self.is_folder_known && folder.is_dir() {
            return Ok(folder);
        }
        let made = data_folder(&self.root).and_then(|_| create_private_folder(&folder));
        made.map_err(|source| FlywheelError::storage(&folder, source))?;
        if self.sync != SyncPolicy::Never {
            for path in [&data, &self.root] {
                sync_folder(path).map_err(|source| FlywheelError::storage(path, source))?;
            }
        }
        self.is_folder_known = true;
        Ok(folder)
    }
}

/// Whether there is a regular file; anything else that stands there is refused.
pub(crate) fn exists_as_file(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no regular file; Grail leaves it alone"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn lock(file: &File, hold: Hold) -> io::Result<()> {
    let locked = match hold {
        Hold::Shared => file.lock_shared(),
        Hold::Exclusive => file.lock(),
    };
    match locked {
        // Some network file systems know no locks; a single process is still safe there.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        other => other,
    }
}

/// Makes new names in a folder survive a loss of power.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn open_lock(path: &Path, hold: Hold) -> io::Result<File> {
    exists_as_file(path)?;
    let file = private(OpenOptions::new().read(true).append(true).create(true)).open(path)?;
    lock(&file, hold)?;
    Ok(file)
}

fn open_for_appending(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().read(true).append(true).create(true)).open(path)
}

/// What was said at work is nobody else's business.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// A link could lead the project's memory, or what somebody else put there, anywhere.
pub(crate) fn refuse_link(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is a symbolic link; Grail does not follow it",
        )),
        _ => Ok(()),
    }
}

/// Whether the open file is the one of that name: a line in a file without a name is lost.
fn is_still_there(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        match (file.metadata(), path.symlink_metadata()) {
            (Ok(open), Ok(named)) => open.dev() == named.dev() && open.ino() == named.ino(),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.is_file()
    }
}

/// None if the file was removed meanwhile.
fn write_once(
    folder: &Path,
    path: &Path,
    name: &str,
    lines: &[u8],
    notices: &mut Notices,
) -> io::Result<Option<Written>> {
    let is_new = !exists_as_file(path)?;
    let mut file = match open_for_appending(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    lock(&file, Hold::Exclusive)?;
    if !is_still_there(&file, path) {
        return Ok(None);
    }
    let length_before = mend_tail(&mut file, folder, name, notices)?;
    if let Err(error) = file.write_all(lines) {
        // If this fails too, the next writer finds a torn tail and deals with it.
        let _ = file.set_len(length_before);
        return Err(error);
    }
    Ok(Some(Written { file, path: path.to_owned(), name: name.to_owned(), length_before, is_new }))
}

fn removed_again(path: &Path) -> FlywheelError {
    let source = io::Error::other("the file is removed again and again while events are written to it");
    FlywheelError::storage(path, source)
}

/// Sees to it that the file ends with a whole line, and tells its length.
fn mend_tail(file: &mut File, folder: &Path, name: &str, notices: &mut Notices) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let whole = whole_lines(file, length)?;
    if whole == length {
        return Ok(length);
    }
    if length - whole <= MAX_WHOLE_TAIL {
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(whole))?;
        file.take(length - whole).read_to_end(&mut tail)?;
        // Only the line feed is missing, as after an edit by hand: nothing is torn.
        if parse_line(&tail).is_ok() {
            file.write_all(b"\n")?;
            return Ok(length + 1);
        }
    }
    let piece = set_aside(file, whole, length, folder, name)?;
    file.set_len(whole)?;
    file.sync_data()?;
    notices.push(format!(
        "`{name}` ended in the middle of a line, as after a crash: {} bytes were set aside as `{TORN_FOLDER}/{piece}`",
        length - whole
    ));
    Ok(whole)
}

/// How many bytes whole lines take.
pub(crate) fn whole_lines(file: &mut File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut chunk = Vec::new();
    while end > 0 {
        let start = if end == length { end - 1 } else { end.saturating_sub(SEARCH_BYTES) };
        file.seek(SeekFrom::Start(start))?;
        chunk.clear();
        file.take(end - start).read_to_end(&mut chunk)?;
        if let Some(place) = memrchr(b'\n', &chunk) {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn set_aside(file: &mut File, start: u64, end: u64, folder: &Path, name: &str) -> io::Result<String> {
    let torn = folder.join(TORN_FOLDER);
    refuse_link(&torn)?;
    create_private_folder(&torn)?;
    let piece = format!("{name}.{start}.{}", Uuid::now_v7().simple());
    let path = torn.join(&piece);
    let mut copy = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.seek(SeekFrom::Start(start))?;
    io::copy(&mut file.take(end - start), &mut copy)?;
    copy.sync_all()?;
    Ok(piece)
}
