//! One event as rows: what numbers are made of, and nothing that a person said.
//!
//! Code, requests and messages stay in the files; the index keeps names, counts and where the line is.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use crate::event::{Event, EventKind, Problem};
use crate::log::ReadProblem;

/// Longer names are cut: nobody reads them in a table.
const MAX_WORD: usize = 400;
/// More rules or names of one event are not counted.
const MAX_LIST: usize = 500;
/// More skills of one generation are not counted.
const MAX_SKILLS: usize = 32;
/// No count is greater, so that no sum is too great for the database.
const MAX_COUNT: u64 = 1 << 40;

/// Names that were looked up in this transaction; another program may remove words between two of them.
#[derive(Default)]
pub(super) struct Words(FxHashMap<String, i64>);

impl Words {
    pub(super) fn intern(&mut self, connection: &Connection, text: &str) -> rusqlite::Result<i64> {
        self.intern_whole(connection, cut(text))
    }

    fn intern_whole(&mut self, connection: &Connection, text: &str) -> rusqlite::Result<i64> {
        if let Some(word) = self.0.get(text) {
            return Ok(*word);
        }
        let found = connection
            .prepare_cached("SELECT word FROM words WHERE text = ?1")?
            .query_row([text], |row| row.get(0))
            .optional()?;
        let word = match found {
            Some(word) => word,
            None => connection.prepare_cached("INSERT INTO words(text) VALUES (?1)")?.insert([text])?,
        };
        self.0.insert(text.to_owned(), word);
        Ok(word)
    }

    fn intern_some(&mut self, connection: &Connection, text: Option<&str>) -> rusqlite::Result<Option<i64>> {
        text.map(|text| self.intern(connection, text)).transpose()
    }
}

/// Adds an event. The same id twice counts once: the one whose file and place come first.
pub(super) fn insert_event(
    connection: &Connection,
    words: &mut Words,
    event: &Event,
    file: i64,
    offset: u64,
) -> rusqlite::Result<()> {
    let facts = Facts::of(&event.kind);
    let at = event.at.parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
    let day = at.map(|at| at.div_euclid(24 * 60 * 60 * 1000));
    let id = event.id.as_bytes().as_slice();
    let is_known = connection.prepare_cached("SELECT 1 FROM events WHERE id = ?1")?.exists([id])?;
    let session = words.intern(connection, &event.session)?;
    let context = &event.context;
    let row = connection
        .prepare_cached(
            "INSERT INTO events(file, offset, id, session, number, kind, at, day, branch, spec, config, model, phase,
               artifact, path, subject, detail, skills, passed, types, tests, retries, lines, input_tokens, output_tokens, milliseconds)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)",
        )?
        .insert(params![
            file,
            bounded(offset),
            id,
            session,
            i64::try_from(event.number).unwrap_or(i64::MAX),
            event.kind.name(),
            at,
            day,
            words.intern_some(connection, context.branch.as_deref())?,
            words.intern_some(connection, context.spec.as_deref())?,
            words.intern_some(connection, context.config.as_deref())?,
            words.intern_some(connection, context.model.as_deref())?,
            words.intern_some(connection, context.phase.as_deref())?,
            words.intern_some(connection, facts.artifact)?,
            words.intern_some(connection, facts.path)?,
            words.intern_some(connection, facts.subject)?,
            words.intern_some(connection, facts.detail)?,
            skill_list(facts.skills).map(|list| words.intern_whole(connection, &list)).transpose()?,
            facts.passed,
            facts.types,
            facts.tests,
            facts.retries,
            facts.lines.map(bounded),
            facts.input_tokens.map(bounded),
            facts.output_tokens.map(bounded),
            facts.milliseconds.map(bounded),
        ])?;
    let problems =
        facts.problems.iter().map(|problem| ("problem", Some(problem.layer.as_str()), &problem.rule));
    let fixed = facts.fixed.iter().map(|rule| ("fixed", None, rule));
    let suppressed = facts.suppressed.iter().map(|rule| ("suppressed", None, rule));
    let violated = facts.violated.iter().map(|rule| ("violated", None, rule));
    let marks = problems.chain(fixed).chain(suppressed).chain(violated).take(MAX_LIST);
    for (place, (way, layer, rule)) in marks.enumerate() {
        let (layer, rule) = (words.intern_some(connection, layer)?, words.intern(connection, rule)?);
        connection
            .prepare_cached("INSERT INTO rules(event, place, way, layer, rule) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![row, place as i64, way, layer, rule])?;
    }
    for name in facts.names.iter().take(MAX_LIST) {
        let name = words.intern(connection, name)?;
        connection
            .prepare_cached("INSERT OR IGNORE INTO names(event, name) VALUES (?1, ?2)")?
            .execute([row, name])?;
    }
    mark_stale(connection, session)?;
    if is_known {
        connection.prepare_cached("INSERT OR IGNORE INTO repeats(id) VALUES (?1)")?.execute([id])?;
        settle_repeats(connection, id)?;
    }
    Ok(())
}

/// Adds a line that is no event.
pub(super) fn insert_unreadable(
    connection: &Connection,
    file: i64,
    problem: &ReadProblem,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO unreadable(file, offset, line, reason) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            file,
            bounded(problem.offset),
            bounded(problem.line),
            cut(&problem.kind.to_string())
        ])?;
    Ok(())
}

/// Takes a file and all that it said out again.
pub(super) fn remove_file(connection: &Connection, file: i64) -> rusqlite::Result<()> {
    connection
        .execute("INSERT OR IGNORE INTO stale SELECT DISTINCT session FROM events WHERE file = ?1", [file])?;
    let repeats: Vec<Vec<u8>> = connection
        .prepare("SELECT id FROM repeats WHERE id IN (SELECT id FROM events WHERE file = ?1)")?
        .query_map([file], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    connection
        .execute("DELETE FROM rules WHERE event IN (SELECT event FROM events WHERE file = ?1)", [file])?;
    connection
        .execute("DELETE FROM names WHERE event IN (SELECT event FROM events WHERE file = ?1)", [file])?;
    connection.execute("DELETE FROM unreadable WHERE file = ?1", [file])?;
    connection.execute("DELETE FROM events WHERE file = ?1", [file])?;
    connection.execute("DELETE FROM files WHERE file = ?1", [file])?;
    for id in repeats {
        settle_repeats(connection, &id)?;
    }
    Ok(())
}

/// Forgets names that no event mentions any more.
pub(super) fn remove_unused_words(connection: &Connection) -> rusqlite::Result<()> {
    let columns = [
        "session", "branch", "spec", "config", "model", "phase", "artifact", "path", "subject", "detail",
        "skills",
    ];
    let mut used: Vec<String> = columns
        .iter()
        .map(|column| format!("SELECT {column} AS word FROM events WHERE {column} IS NOT NULL"))
        .collect();
    used.push("SELECT layer FROM rules WHERE layer IS NOT NULL".to_owned());
    used.push("SELECT rule FROM rules".to_owned());
    used.push("SELECT name FROM names".to_owned());
    // Skills are counted by name; the names stand in lists.
    used.push("SELECT skill FROM funnel".to_owned());
    connection.execute(&format!("DELETE FROM words WHERE word NOT IN ({})", used.join(" UNION ")), [])?;
    Ok(())
}

/// Lets the first one count, by file and place, and no other.
fn settle_repeats(connection: &Connection, id: &[u8]) -> rusqlite::Result<()> {
    connection.execute("INSERT OR IGNORE INTO stale SELECT session FROM events WHERE id = ?1", [id])?;
    connection.execute(
        "UPDATE events SET repeated = event <> (
           SELECT event FROM events JOIN files USING (file) WHERE id = ?1 ORDER BY name, events.offset LIMIT 1
         ) WHERE id = ?1",
        [id],
    )?;
    connection.execute(
        "DELETE FROM repeats WHERE id = ?1 AND (SELECT count(*) FROM events WHERE events.id = ?1) < 2",
        [id],
    )?;
    Ok(())
}

fn mark_stale(connection: &Connection, session: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("INSERT OR IGNORE INTO stale(session) VALUES (?1)")?.execute([session])?;
    Ok(())
}

/// What is counted of an event, whatever its kind.
#[derive(Default)]
struct Facts<'a> {
    artifact: Option<&'a str>,
    path: Option<&'a str>,
    subject: Option<&'a str>,
    detail: Option<&'static str>,
    skills: &'a [String],
    names: &'a [String],
    problems: &'a [Problem],
    fixed: &'a [String],
    suppressed: &'a [String],
    violated: &'a [String],
    passed: Option<bool>,
    types: Option<bool>,
    tests: Option<bool>,
    retries: Option<u32>,
    lines: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    milliseconds: Option<u64>,
}

impl<'a> Facts<'a> {
    fn of(kind: &'a EventKind) -> Self {
        let none = Self::default();
        match kind {
            EventKind::Intent { artifact, .. } => Self { artifact: artifact.as_deref(), ..none },
            EventKind::Skill { skill, stage, .. } => {
                Self { subject: Some(skill), detail: Some(stage.name()), ..none }
            }
            EventKind::ModelAnswer { tokens, .. } => {
                Self { input_tokens: Some(tokens.input), output_tokens: Some(tokens.output), ..none }
            }
            EventKind::ToolCall { tool, result, microseconds, .. } => Self {
                subject: Some(tool),
                passed: Some(result.ok),
                milliseconds: Some(microseconds / 1000),
                ..none
            },
            EventKind::SandboxRun { result, microseconds, .. } => {
                Self { passed: Some(result.ok), milliseconds: Some(microseconds / 1000), ..none }
            }
            EventKind::DomainValidation {
                validator,
                artifact,
                path,
                passed,
                problems,
                fixed,
                suppressed,
                types,
                tests,
                ..
            } => Self {
                artifact: Some(artifact),
                path: Some(path),
                subject: Some(validator),
                passed: Some(*passed),
                problems,
                fixed,
                suppressed,
                types: *types,
                tests: *tests,
                ..none
            },
            EventKind::Retry { artifact, path, attempt, problems, passed, .. } => Self {
                artifact: Some(artifact),
                path: Some(path),
                retries: Some(*attempt),
                problems,
                passed: Some(*passed),
                ..none
            },
            EventKind::Generation {
                artifact,
                code,
                validated,
                types,
                tests,
                problems,
                retries,
                path,
                skills,
                tokens,
                milliseconds,
                ..
            } => Self {
                artifact: Some(artifact),
                path: Some(path),
                lines: Some(count_lines(code)),
                passed: Some(*validated),
                types: *types,
                tests: *tests,
                problems,
                retries: Some(*retries),
                skills,
                input_tokens: Some(tokens.input),
                output_tokens: Some(tokens.output),
                milliseconds: Some(*milliseconds),
                ..none
            },
            EventKind::UserCorrection { source, path, violates, .. } => {
                Self { path: path.as_deref(), detail: Some(source.name()), violated: violates, ..none }
            }
            EventKind::Proposal { proposal, decision, paths, .. } => {
                Self { subject: Some(proposal), detail: Some(decision.name()), names: paths, ..none }
            }
            EventKind::Approval { tool, allowed, .. } => {
                Self { subject: Some(tool), passed: Some(*allowed), ..none }
            }
            EventKind::Commit { commit, paths, suppressed, .. } => {
                Self { subject: Some(commit), names: paths, suppressed, ..none }
            }
            EventKind::BranchMerged { merged, way, sessions, .. } => {
                Self { subject: Some(merged), detail: Some(way.name()), names: sessions, ..none }
            }
            EventKind::BranchClosed { closed, sessions, .. } => {
                Self { subject: Some(closed), names: sessions, ..none }
            }
            EventKind::Evaluation { suite, passed, problems, tokens, milliseconds, .. } => Self {
                subject: Some(suite),
                passed: Some(*passed),
                problems,
                input_tokens: Some(tokens.input),
                output_tokens: Some(tokens.output),
                milliseconds: Some(*milliseconds),
                ..none
            },
            // What it broke and what it was told counts for nothing.
            EventKind::Shadow { challenger, answer, .. } => Self {
                subject: Some(challenger),
                problems: &[],
                skills: &[],
                ..answer.as_deref().map_or(none, Self::of)
            },
            EventKind::ExampleReview { example, verdict, .. } => {
                Self { subject: Some(example), detail: Some(verdict.name()), ..none }
            }
            EventKind::Made { name, .. } => Self { subject: Some(name), ..none },
            EventKind::UserConfirmation { .. }
            | EventKind::UserMessage { .. }
            | EventKind::Review { .. }
            | EventKind::Failed { .. } => none,
        }
    }
}

/// Lines with something on them.
fn count_lines(code: &str) -> u64 {
    code.lines().filter(|line| !line.trim().is_empty()).count() as u64
}

fn skill_list(skills: &[String]) -> Option<String> {
    let mut names: Vec<&str> = skills.iter().take(MAX_SKILLS).map(|name| cut(name)).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| serde_json::to_string(&names).unwrap_or_default())
}

/// SQLite has no unsigned numbers; nothing real is that large.
fn bounded(number: u64) -> i64 {
    number.min(MAX_COUNT) as i64
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(MAX_WORD) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
