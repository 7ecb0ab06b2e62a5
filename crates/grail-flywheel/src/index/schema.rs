//! The tables, how older ones become newer ones, and whether a file is ours at all.
//!
//! `user_version` counts the steps in [`MIGRATIONS`] that were taken. A database that grew step by step has the same schema, to the letter,
//! as one made today; one that has another schema was made by somebody else or is damaged.

use rusqlite::{Connection, TransactionBehavior};

/// "Grai" in ASCII: the file says by itself whose it is.
pub const APPLICATION_ID: i32 = 0x4772_6169;

/// One step each, never changed once it was published.
pub const MIGRATIONS: [&str; 2] = [FACTS, SESSIONS];

/// What the lines of the files say, one row per event. Names are kept once, in `words`.
const FACTS: &str = "
CREATE TABLE files(
  file INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- How far it was read, and how many lines that are.
  offset INTEGER NOT NULL,
  line_count INTEGER NOT NULL,
  -- What it looked like then; an unchanged file is not opened.
  length INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  -- Hashes of its beginning and of what comes before `offset`: a file that was written anew is noticed.
  head BLOB NOT NULL,
  tail BLOB NOT NULL
) STRICT;
CREATE TABLE words(word INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE events(
  event INTEGER PRIMARY KEY,
  file INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  id BLOB NOT NULL,
  session INTEGER NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  -- Milliseconds since 1970, and days; none where the clock wrote nonsense.
  at INTEGER,
  day INTEGER,
  branch INTEGER, spec INTEGER, config INTEGER, model INTEGER, phase INTEGER,
  artifact INTEGER, path INTEGER,
  -- The tool, skill, proposal, branch or commit it is about, and what became of that.
  subject INTEGER,
  detail INTEGER,
  -- A list of names in JSON, sorted.
  skills INTEGER,
  passed INTEGER, types INTEGER, tests INTEGER,
  retries INTEGER, lines INTEGER,
  input_tokens INTEGER, output_tokens INTEGER,
  milliseconds INTEGER,
  -- The same id stands further up in the files, which counts instead.
  repeated INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX events_by_id ON events(id);
CREATE INDEX events_by_session ON events(session, number);
CREATE INDEX events_by_file ON events(file);
CREATE INDEX events_by_kind ON events(kind, day, repeated);
CREATE TABLE rules(
  event INTEGER NOT NULL,
  place INTEGER NOT NULL,
  -- problem, fixed, suppressed or violated
  way TEXT NOT NULL,
  layer INTEGER,
  rule INTEGER NOT NULL,
  PRIMARY KEY(event, place)
) STRICT, WITHOUT ROWID;
-- The paths of a proposal or commit, the sessions of an outcome.
CREATE TABLE names(event INTEGER NOT NULL, name INTEGER NOT NULL, PRIMARY KEY(event, name)) STRICT, WITHOUT ROWID;
CREATE TABLE repeats(id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE unreadable(
  file INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  line INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY(file, offset)
) STRICT, WITHOUT ROWID;
-- Sessions with facts that are not yet counted below.
CREATE TABLE stale(session INTEGER PRIMARY KEY) STRICT;
";

/// What follows from the events of one session, computed anew whenever it has grown.
const SESSIONS: &str = "
CREATE TABLE generations(
  session INTEGER NOT NULL,
  event INTEGER NOT NULL,
  day INTEGER,
  artifact INTEGER, model INTEGER, phase INTEGER, branch INTEGER,
  validated INTEGER NOT NULL, types INTEGER, tests INTEGER,
  retries INTEGER NOT NULL, lines INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  skills INTEGER,
  proposal INTEGER,
  PRIMARY KEY(session, event)
) STRICT, WITHOUT ROWID;
-- What became of a rule that fired: fixer, model or stays; and where people did otherwise: silenced, committed or violated.
CREATE TABLE fates(
  session INTEGER NOT NULL,
  place INTEGER NOT NULL,
  day INTEGER,
  artifact INTEGER, model INTEGER, phase INTEGER,
  layer INTEGER,
  rule INTEGER NOT NULL,
  fate TEXT NOT NULL,
  PRIMARY KEY(session, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX fates_by_rule ON fates(rule, layer, fate, day);
-- How far a skill came in a session: 0 offered, 1 loaded, 2 used, 3 an artifact passed.
CREATE TABLE funnel(
  session INTEGER NOT NULL,
  skill INTEGER NOT NULL,
  day INTEGER,
  stage INTEGER NOT NULL,
  PRIMARY KEY(session, skill)
) STRICT, WITHOUT ROWID;
CREATE INDEX funnel_by_skill ON funnel(skill, stage, day);
-- Time between one event and the next, by whole minutes of the pause.
CREATE TABLE activity(
  session INTEGER NOT NULL,
  place INTEGER NOT NULL,
  day INTEGER,
  model INTEGER, phase INTEGER,
  minutes INTEGER NOT NULL,
  milliseconds INTEGER NOT NULL,
  PRIMARY KEY(session, place)
) STRICT, WITHOUT ROWID;
-- What was said about proposals (approved, rejected, reverted), branches (merged, closed) and sessions (session_merged, session_closed).
CREATE TABLE decisions(
  session INTEGER NOT NULL,
  place INTEGER NOT NULL,
  decision TEXT NOT NULL,
  subject INTEGER NOT NULL,
  PRIMARY KEY(session, place)
) STRICT, WITHOUT ROWID;
INSERT INTO stale SELECT DISTINCT session FROM events;
";

/// The version that this program writes and reads.
pub const fn current_version() -> usize {
    MIGRATIONS.len()
}

/// What is in a file that could be an index.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing yet.
    Empty,
    /// An index of this version or an older one, with the schema it should have.
    Ours {
        version: usize,
    },
    Newer {
        version: usize,
    },
    /// A database of somebody else, or with other tables than ours.
    Foreign,
}

pub fn inspect(connection: &Connection) -> rusqlite::Result<Found> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let schema = read_schema(connection)?;
    if application == 0 && version == 0 && schema.is_empty() {
        return Ok(Found::Empty);
    }
    let Ok(version) = usize::try_from(version) else { return Ok(Found::Foreign) };
    if application != APPLICATION_ID {
        return Ok(Found::Foreign);
    }
    if version > current_version() {
        return Ok(Found::Newer { version });
    }
    let expected = Connection::open_in_memory()?;
    for step in &MIGRATIONS[..version] {
        expected.execute_batch(step)?;
    }
    Ok(if read_schema(&expected)? == schema { Found::Ours { version } } else { Found::Foreign })
}

/// Takes the steps that are missing up to a version, all or none.
pub fn migrate(connection: &mut Connection, to: usize) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another program may have done it while this one waited for the lock.
    let version: usize = transaction
        .pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?
        .try_into()
        .unwrap_or(0);
    for step in MIGRATIONS.iter().take(to).skip(version) {
        transaction.execute_batch(step)?;
    }
    if version < to {
        transaction.pragma_update(None, "user_version", to as i64)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}

/// Every table and index with the text that made it.
fn read_schema(connection: &Connection) -> rusqlite::Result<Vec<(String, String, String)>> {
    let mut statement = connection.prepare(
        "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}
