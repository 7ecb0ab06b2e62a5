//! An index over the events, in SQLite: only what makes numbers quick. The files are the truth; this can be deleted at any time.
//!
//! The only place with SQL. Whatever is wrong with the database (missing, deleted while in use, damaged, of a newer Grail, locked, on a disk
//! that cannot be written), questions are answered: from one made anew, or from one that lasts as long as the program.

mod catch_up;
mod derive;
mod files;
mod insert;
mod query;
mod schema;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::FlywheelError;
use crate::event::Event;
use crate::log::{Position, events_folder, read_single_files};
pub use catch_up::CaughtUp;
pub use derive::MAX_PAUSE_MINUTES;
pub use query::{
    Days, EventPlace, Fate, FateCount, Funnel, FunnelWeek, GenerationFact, RuleCount, Word, WorkedTime,
    monday_of, week_of,
};
pub use schema::{APPLICATION_ID, Found, MIGRATIONS, current_version, inspect, migrate};

/// How long another Grail that writes is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Index {
    root: PathBuf,
    connection: Connection,
    patience: Duration,
    /// Set if the answers do not come from `.grail/grail.db`.
    temporary_because: Option<String>,
    notes: Vec<String>,
}

/// Where the database is.
pub fn database_path(root: &Path) -> PathBuf {
    root.join(".grail").join("grail.db")
}

impl Index {
    /// The index of a project. Where none can be kept it lasts as long as the program; [`Index::notes`] says why.
    pub fn open(root: &Path) -> Result<Self, FlywheelError> {
        Self::open_with_patience(root, PATIENCE)
    }

    /// As [`Index::open`], waiting as long as said for another program that writes.
    pub fn open_with_patience(root: &Path, patience: Duration) -> Result<Self, FlywheelError> {
        let mut notes = Vec::new();
        let opened = if events_folder(root).is_dir() {
            open_database(root, patience, &mut notes)
        } else {
            // Nothing to keep, and asking does not make folders.
            Err(None)
        };
        let (connection, temporary_because) = match opened {
            Ok(connection) => (connection, None),
            Err(because) => {
                if let Some(because) = &because {
                    notes.push(format!("{because}; the events were read anew for this answer"));
                }
                (open_temporary(root)?, Some(because.unwrap_or_default()))
            }
        };
        Ok(Self { root: root.to_owned(), connection, patience, temporary_because, notes })
    }

    /// What happened to the database that somebody should know, in the order it happened.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether the database is kept in `.grail/`.
    pub fn is_kept(&self) -> bool {
        self.temporary_because.is_none()
    }

    /// Reads what is new in the files, and only that.
    pub fn catch_up(&mut self) -> Result<CaughtUp, FlywheelError> {
        self.catch_up_with(&mut |_, _| {})
    }

    /// As [`Index::catch_up`], telling how many bytes of how many were read.
    pub fn catch_up_with(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<CaughtUp, FlywheelError> {
        if self.is_kept() && !self.is_in_place() {
            self.notes.push("`.grail/grail.db` was deleted; it was made anew from the events".to_owned());
            self.reopen()?;
        }
        match catch_up::catch_up(&mut self.connection, &self.root, progress) {
            Err(error) if self.is_kept() && is_damage(&error) => {
                self.notes.push(format!(
                    "`.grail/grail.db` was damaged ({}); it was made anew from the events",
                    plain(&error)
                ));
                self.replace(progress)
            }
            Err(FlywheelError::Database { source, .. }) if self.is_kept() => {
                // Locked for too long, a full disk, a folder that cannot be written: the answer need not wait for that.
                self.become_temporary(&describe(&source))?;
                catch_up::catch_up(&mut self.connection, &self.root, progress)
            }
            result => result,
        }
    }

    /// Makes the database anew from the files, beside the old one, and puts it in its place.
    pub fn rebuild(&mut self) -> Result<CaughtUp, FlywheelError> {
        self.rebuild_with(&mut |_, _| {})
    }

    /// As [`Index::rebuild`], telling how many bytes of how many were read.
    pub fn rebuild_with(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<CaughtUp, FlywheelError> {
        if events_folder(&self.root).is_dir() {
            return self.replace(progress);
        }
        self.connection = open_temporary(&self.root)?;
        catch_up::catch_up(&mut self.connection, &self.root, progress)
    }

    /// Answers a question; a database that turns out to be damaged is made anew first.
    pub fn answer<T>(
        &mut self,
        question: impl Fn(&Self) -> Result<T, FlywheelError>,
    ) -> Result<T, FlywheelError> {
        match question(self) {
            Err(error) if is_damage(&error) => {
                self.notes.push(format!(
                    "`.grail/grail.db` was damaged ({}); it was made anew from the events",
                    plain(&error)
                ));
                self.rebuild()?;
                question(self)
            }
            answer => answer,
        }
    }

    /// The event that stands there, from its file. None if it was forgotten meanwhile.
    pub fn read(&self, place: &EventPlace) -> Option<Event> {
        let mut reader = read_single_files(&self.root);
        reader.turn_to(&place.file, Position { offset: place.offset, lines: 0 });
        reader.next()?.ok().map(|stored| stored.event).filter(|event| event.id == place.id)
    }

    /// What the text of SQLite is about.
    pub(crate) fn failed(&self, source: rusqlite::Error) -> FlywheelError {
        database_error(&self.root, source)
    }

    /// Whether the file that is open is still the one that others would open.
    fn is_in_place(&self) -> bool {
        // SQLite itself refuses to write to a file that was moved or deleted, so only what is gone is looked for.
        let path = database_path(&self.root);
        path.is_file()
    }

    fn reopen(&mut self) -> Result<(), FlywheelError> {
        match open_database(&self.root, self.patience, &mut self.notes) {
            Ok(connection) => {
                self.connection = connection;
                Ok(())
            }
            Err(because) => self.become_temporary(&because.unwrap_or_default()),
        }
    }

    fn become_temporary(&mut self, because: &str) -> Result<(), FlywheelError> {
        self.notes.push(format!("{because}; the events were read anew for this answer"));
        self.connection = open_temporary(&self.root)?;
        self.temporary_because = Some(because.to_owned());
        Ok(())
    }

    fn replace(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<CaughtUp, FlywheelError> {
        // Whatever happens below, this one is not asked any more.
        self.connection = open_temporary(&self.root)?;
        let made = build_beside(&self.root, progress);
        let (file, caught_up) = match made {
            Ok(made) => made,
            Err(error) => {
                self.become_temporary(&plain(&error))?;
                return catch_up::catch_up(&mut self.connection, &self.root, progress);
            }
        };
        if let Err(error) = put_in_place(file, &self.root, self.patience) {
            self.become_temporary(&plain(&error))?;
            return catch_up::catch_up(&mut self.connection, &self.root, progress);
        }
        self.temporary_because = None;
        self.reopen()?;
        if !self.is_kept() {
            return catch_up::catch_up(&mut self.connection, &self.root, progress);
        }
        Ok(caught_up)
    }
}

/// Opens what is there, or makes it. `Err` says why not, in a sentence without its end.
fn open_database(
    root: &Path,
    patience: Duration,
    notes: &mut Vec<String>,
) -> Result<Connection, Option<String>> {
    let path = database_path(root);
    let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_symlink());
    if is_link {
        return Err(Some("`.grail/grail.db` is a link and is not followed".to_owned()));
    }
    match try_open(&path, patience) {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(Found::Newer { version })) => Err(Some(format!(
            "`.grail/grail.db` was written by a newer Grail (version {version}; this one knows {})",
            current_version()
        ))),
        Ok(Err(_)) => Err(Some(
            "`.grail/grail.db` is not an index of events; `grail events rebuild` replaces it".to_owned(),
        )),
        Err(error) if is_damaged(&error) => {
            notes.push(format!("`.grail/grail.db` was damaged ({error}); it was made anew from the events"));
            remove_database(&path).map_err(|error| Some(format!("`.grail/grail.db`: {error}")))?;
            match try_open(&path, patience) {
                Ok(Ok(connection)) => Ok(connection),
                Ok(Err(_)) => Err(Some("`.grail/grail.db` cannot be replaced".to_owned())),
                Err(error) => Err(Some(describe(&error))),
            }
        }
        Err(error) => Err(Some(describe(&error))),
    }
}

fn try_open(path: &Path, patience: Duration) -> rusqlite::Result<Result<Connection, Found>> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    configure(&connection, patience)?;
    match inspect(&connection)? {
        Found::Ours { version } if version == current_version() => {}
        Found::Empty | Found::Ours { .. } => {
            keep_journal(&connection)?;
            migrate(&mut connection, current_version())?;
        }
        other => return Ok(Err(other)),
    }
    Ok(Ok(connection))
}

fn configure(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(patience)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // What was forgotten is gone from the file, not only from its tables.
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    connection.pragma_update(None, "cache_size", -32_000)
}

/// Readers and one writer at a time. Two programs that set this at once get in each other's way without waiting, hence the second try.
fn keep_journal(connection: &Connection) -> rusqlite::Result<()> {
    let set =
        || connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
    match set() {
        Err(error) if is_locked(&error) => {
            connection.execute_batch("BEGIN IMMEDIATE; COMMIT;")?;
            set().map(drop)
        }
        result => result.map(drop),
    }
}

/// One that is deleted with the program. SQLite keeps it in memory while it is small, and in a file without a name when it is not.
fn open_temporary(root: &Path) -> Result<Connection, FlywheelError> {
    let open = || {
        let mut connection = Connection::open("")?;
        configure(&connection, PATIENCE)?;
        migrate(&mut connection, current_version())?;
        Ok(connection)
    };
    open().map_err(|source| database_error(root, source))
}

/// A whole index in a file of its own.
fn build_beside(
    root: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(tempfile::NamedTempFile, CaughtUp), FlywheelError> {
    let folder = root.join(".grail");
    let file = tempfile::Builder::new()
        .prefix("grail.db.new-")
        .tempfile_in(&folder)
        .map_err(|error| FlywheelError::storage(&folder, error))?;
    let open = || {
        let mut connection = Connection::open(file.path())?;
        configure(&connection, PATIENCE)?;
        // Nobody else reads it, and half of it is worth nothing.
        connection.pragma_update_and_check(None, "journal_mode", "OFF", |row| row.get::<_, String>(0))?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        migrate(&mut connection, current_version())?;
        Ok(connection)
    };
    let mut connection = open().map_err(|source| database_error(root, source))?;
    let caught_up = catch_up::catch_up(&mut connection, root, progress)?;
    connection.close().map_err(|(_, source)| database_error(root, source))?;
    file.as_file().sync_all().map_err(|error| FlywheelError::storage(file.path(), error))?;
    Ok((file, caught_up))
}

/// Others may have the old database open. If it is sound its pages are replaced in one transaction, which they see whole or not at all;
/// otherwise the file itself is replaced.
fn put_in_place(file: tempfile::NamedTempFile, root: &Path, patience: Duration) -> Result<(), FlywheelError> {
    let path = database_path(root);
    let is_plain_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
    if is_plain_file && let Ok(Ok(mut old)) = try_open(&path, patience) {
        let mut copy = || -> rusqlite::Result<bool> {
            let new = Connection::open(file.path())?;
            let backup = Backup::new(&new, &mut old)?;
            let result = backup.step(-1)?;
            Ok(result == StepResult::Done)
        };
        match copy() {
            Ok(true) => return Ok(()),
            Ok(false) => {
                let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                return Err(database_error(root, rusqlite::Error::SqliteFailure(busy, None)));
            }
            Err(error) if is_damaged(&error) => {}
            Err(error) => return Err(database_error(root, error)),
        }
    }
    remove_database(&path).map_err(|error| FlywheelError::storage(&path, error))?;
    file.persist(&path).map_err(|error| FlywheelError::storage(&path, error.error))?;
    let connection = Connection::open(&path).map_err(|source| database_error(root, source))?;
    keep_journal(&connection).map_err(|source| database_error(root, source))
}

/// The database and what belongs to it: a journal that outlives its database would be taken for the next one's.
fn remove_database(path: &Path) -> io::Result<()> {
    for ending in ["-wal", "-shm", "-journal", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        match fs::remove_file(PathBuf::from(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn database_error(root: &Path, source: rusqlite::Error) -> FlywheelError {
    FlywheelError::Database { path: database_path(root).display().to_string(), source }
}

fn is_damage(error: &FlywheelError) -> bool {
    matches!(error, FlywheelError::Database { source, .. } if is_damaged(source))
}

/// Whether the file is not what it should be: to be made anew. Also if it was moved away under us.
fn is_damaged(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => {
            matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                || failure.extended_code == rusqlite::ffi::SQLITE_READONLY_DBMOVED
                || failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ
        }
        // Values of another type than the tables allow.
        rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}

fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Why the database cannot be used, for people.
fn describe(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "`.grail/grail.db` is in use by another Grail".to_owned()
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "`.grail/grail.db` cannot be written".to_owned()
        }
        Some(ErrorCode::DiskFull) => "there is no room for `.grail/grail.db`".to_owned(),
        _ => format!("`.grail/grail.db` cannot be used ({error})"),
    }
}

fn plain(error: &FlywheelError) -> String {
    match error {
        FlywheelError::Database { source, .. } => describe(source),
        other => other.to_string(),
    }
}
