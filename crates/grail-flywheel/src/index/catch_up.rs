//! Reading what is new: whole lines behind the place where each file was read to, in transactions of bounded size.
//!
//! Everything about a file is looked up inside the transaction that writes, so that two programs that read at once add each line once.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::derive::derive_session;
use super::files::{self, EventFile};
use super::insert::{Words, insert_event, insert_unreadable, remove_file, remove_unused_words};
use crate::error::FlywheelError;
use crate::log::{EventReader, Position, ReadProblemKind, read_single_files};

/// Events in one transaction: others wait for its end.
const BATCH_EVENTS: usize = 20_000;
/// Bytes in one transaction, for events that are large.
const BATCH_BYTES: u64 = 64 << 20;
/// Sessions that are looked up at a time.
const BATCH_SESSIONS: usize = 256;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaughtUp {
    pub events: u64,
    /// Lines that are no events.
    pub unreadable: u64,
    /// Files that were read, wholly or in part.
    pub files: u64,
    /// Files that are gone or were written anew.
    pub removed: u64,
    pub bytes: u64,
}

pub(super) fn catch_up(
    connection: &mut Connection,
    root: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<CaughtUp, FlywheelError> {
    let files = files::list(root)?;
    let mut caught_up = CaughtUp::default();
    let failed = |source| super::database_error(root, source);
    let known = known_files(connection).map_err(failed)?;
    let is_there = |name: &String| files.binary_search_by(|file| file.name.cmp(name)).is_ok();
    let gone: Vec<&String> = known.keys().filter(|name| !is_there(name)).collect();
    let is_changed = |file: &&EventFile| match known.get(&file.name) {
        Some(known) => known.modified == 0 || known.modified != file.modified || known.length != file.length,
        None => file.length > 0,
    };
    let changed: Vec<&EventFile> = files.iter().filter(is_changed).collect();

    if !gone.is_empty() {
        let transaction = begin(connection).map_err(failed)?;
        for name in gone {
            if let Some(known) = find_file(&transaction, name).map_err(failed)? {
                remove_file(&transaction, known.file).map_err(failed)?;
                caught_up.removed += 1;
            }
        }
        transaction.commit().map_err(failed)?;
    }
    let total: u64 = changed.iter().map(|file| file.length).sum();
    let mut done = 0;
    let mut reader = read_single_files(root);
    let mut waiting = changed.into_iter().peekable();
    while waiting.peek().is_some() {
        let transaction = begin(connection).map_err(failed)?;
        let mut batch = Batch { words: Words::default(), events: 0, bytes: 0 };
        while let Some(file) = waiting.peek() {
            if !advance(&transaction, root, file, &mut reader, &mut batch, &mut caught_up)? {
                break;
            }
            done += file.length;
            waiting.next();
        }
        transaction.commit().map_err(failed)?;
        progress(done, total);
    }
    count_sessions(connection).map_err(failed)?;
    if caught_up.removed > 0 {
        sweep(connection).map_err(failed)?;
    }
    Ok(caught_up)
}

struct Batch {
    words: Words,
    events: usize,
    bytes: u64,
}

struct KnownFile {
    file: i64,
    offset: u64,
    lines: u64,
    length: u64,
    modified: i64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl KnownFile {
    fn position(&self) -> Position {
        Position { offset: self.offset, lines: self.lines }
    }
}

/// Reads on in a file. Whether it came to its end, or the batch is full.
fn advance(
    transaction: &Connection,
    root: &Path,
    file: &EventFile,
    reader: &mut EventReader,
    batch: &mut Batch,
    caught_up: &mut CaughtUp,
) -> Result<bool, FlywheelError> {
    let failed = |source| super::database_error(root, source);
    let unreadable = |error| FlywheelError::storage(&file.path, error);
    // Forgotten since it was listed: the next time it is not listed any more.
    let Ok(mut opened) = File::open(&file.path) else { return Ok(true) };
    let mut known = find_file(transaction, &file.name).map_err(failed)?;
    if let Some(seen) = &known {
        let length = opened.metadata().map_err(unreadable)?.len();
        let is_same = length >= seen.offset && {
            let (head, tail) = files::fingerprint(&mut opened, seen.offset).map_err(unreadable)?;
            head.as_slice() == seen.head && tail.as_slice() == seen.tail
        };
        if !is_same {
            remove_file(transaction, seen.file).map_err(failed)?;
            caught_up.removed += 1;
            known = None;
        }
    }
    let start = known.as_ref().map_or(Position::default(), |known| known.position());
    let number = match &known {
        Some(known) => known.file,
        None => transaction
            .prepare_cached(
                "INSERT INTO files(name, offset, line_count, length, modified, head, tail) VALUES (?1, 0, 0, 0, 0, x'', x'')",
            )
            .and_then(|mut statement| statement.insert([&file.name]))
            .map_err(failed)?,
    };
    reader.turn_to(&file.name, start);
    let mut position = start;
    let mut is_at_end = false;
    while batch.events < BATCH_EVENTS && batch.bytes < BATCH_BYTES {
        let Some(line) = reader.next() else {
            is_at_end = true;
            break;
        };
        let end = match line {
            Ok(stored) => {
                insert_event(transaction, &mut batch.words, &stored.event, number, stored.offset)
                    .map_err(failed)?;
                caught_up.events += 1;
                stored.end()
            }
            // It may go on later, and is looked at again then.
            Err(problem) if problem.may_go_on() || problem.line == 0 => continue,
            Err(problem) => {
                // A copy of an event says nothing new, whether or not the first one is read in the same go.
                if !matches!(problem.kind, ReadProblemKind::Duplicate(_)) {
                    insert_unreadable(transaction, number, &problem).map_err(failed)?;
                    caught_up.unreadable += 1;
                }
                Position { offset: problem.offset + problem.length, lines: problem.line }
            }
        };
        batch.events += 1;
        batch.bytes += end.offset - position.offset;
        position = end;
    }
    caught_up.bytes += position.offset - start.offset;
    let (head, tail) = files::fingerprint(&mut opened, position.offset).map_err(unreadable)?;
    // Until its end was seen, the file has to be looked at again.
    let (length, modified) = if is_at_end { (file.length, file.modified) } else { (0, 0) };
    transaction
        .prepare_cached(
            "UPDATE files SET offset = ?2, line_count = ?3, length = ?4, modified = ?5, head = ?6, tail = ?7 WHERE file = ?1",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                number,
                position.offset as i64,
                position.lines as i64,
                length as i64,
                modified,
                head.as_slice(),
                tail.as_slice()
            ])
        })
        .map_err(failed)?;
    if is_at_end && position.offset > start.offset {
        caught_up.files += 1;
    }
    Ok(is_at_end)
}

/// Counts the sessions that have changed, some at a time.
fn count_sessions(connection: &mut Connection) -> rusqlite::Result<()> {
    loop {
        let is_done = !connection.prepare_cached("SELECT 1 FROM stale LIMIT 1")?.exists([])?;
        if is_done {
            return Ok(());
        }
        let transaction = begin(connection)?;
        let mut words = Words::default();
        let sessions: Vec<i64> = transaction
            .prepare_cached("SELECT session FROM stale ORDER BY session LIMIT ?1")?
            .query_map([BATCH_SESSIONS as i64], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut events = 0;
        for session in sessions {
            events += derive_session(&transaction, &mut words, session)?;
            transaction.prepare_cached("DELETE FROM stale WHERE session = ?1")?.execute([session])?;
            if events >= BATCH_EVENTS {
                break;
            }
        }
        transaction.commit()?;
    }
}

/// Leaves nothing of what was removed, neither in the tables nor in the journal.
fn sweep(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = begin(connection)?;
    remove_unused_words(&transaction)?;
    transaction.commit()?;
    // Fails to reach the end if somebody reads; the next one does it then.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn begin(connection: &mut Connection) -> rusqlite::Result<rusqlite::Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn known_files(connection: &Connection) -> rusqlite::Result<BTreeMap<String, KnownFile>> {
    let mut statement = connection
        .prepare_cached("SELECT file, offset, line_count, length, modified, head, tail, name FROM files")?;
    let rows = statement.query_map([], |row| Ok((row.get(7)?, read_file_row(row)?)))?;
    rows.collect()
}

fn find_file(connection: &Connection, name: &str) -> rusqlite::Result<Option<KnownFile>> {
    connection
        .prepare_cached(
            "SELECT file, offset, line_count, length, modified, head, tail FROM files WHERE name = ?1",
        )?
        .query_row([name], read_file_row)
        .optional()
}

fn read_file_row(row: &rusqlite::Row) -> rusqlite::Result<KnownFile> {
    let count = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.max(0) as u64);
    Ok(KnownFile {
        file: row.get(0)?,
        offset: count(1)?,
        lines: count(2)?,
        length: count(3)?,
        modified: row.get(4)?,
        head: row.get(5)?,
        tail: row.get(6)?,
    })
}
