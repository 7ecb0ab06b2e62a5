//! Questions to the index. Answers are in an order that follows from names and numbers, never from when something was read.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};
use rustc_hash::FxHashSet;
use serde::Serialize;
use uuid::Uuid;

use super::Index;
use super::derive::{LOADED, OFFERED, PASSED, USED};
use crate::error::FlywheelError;
use crate::log::Position;

/// Days since 1970 in UTC, both included. Without bounds also events that have no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Days {
    pub from: Option<i64>,
    pub to: Option<i64>,
}

/// A name that is kept once; [`Index::word`] tells it.
pub type Word = i64;

/// One finished artifact.
#[derive(Clone, Copy, Debug)]
pub struct GenerationFact {
    pub session: Word,
    pub day: Option<i64>,
    pub artifact: Option<Word>,
    pub model: Option<Word>,
    pub phase: Option<Word>,
    pub branch: Option<Word>,
    pub validated: bool,
    pub types: Option<bool>,
    pub tests: Option<bool>,
    pub retries: u64,
    pub lines: u64,
    pub tokens: u64,
    /// A list in JSON.
    pub skills: Option<Word>,
    pub proposal: Option<Word>,
}

/// What became of one rule, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    pub rule: String,
    pub layer: String,
    pub fixer: u64,
    pub model: u64,
    pub stays: u64,
    pub silenced: u64,
    pub committed: u64,
    pub violated: u64,
}

/// How many sessions a skill reached each stage in. Later stages include earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Funnel {
    pub skill: String,
    pub offered: u64,
    pub loaded: u64,
    pub used: u64,
    pub passed: u64,
}

/// How often a rule ended in one way, in one week, for one kind of artifact, with one model of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FateCount {
    pub rule: Word,
    pub week: Option<i64>,
    pub artifact: Option<Word>,
    pub model: Option<Word>,
    pub phase: Option<Word>,
    pub fate: Fate,
    pub times: u64,
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It fired and was put right, by a fixer or by the model.
    Fixed,
    /// It fired and stays.
    Stays,
    /// It was silenced, or broken by hand.
    Overridden,
}

/// How many sessions of a week a skill reached each stage in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FunnelWeek {
    pub skill: String,
    pub week: Option<i64>,
    pub offered: u64,
    pub loaded: u64,
    pub used: u64,
    pub passed: u64,
}

/// Time that was worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkedTime {
    pub week: Option<i64>,
    pub model: Option<Word>,
    pub phase: Option<Word>,
    pub milliseconds: u64,
}

/// Where the line of an event stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventPlace {
    pub id: Uuid,
    pub session: String,
    pub file: String,
    pub offset: u64,
}

const DAYS: &str = "(?1 IS NULL OR day >= ?1) AND (?2 IS NULL OR day <= ?2)";
/// Monday is the first day of a week, and 1970 began on a Thursday.
const WEEK: &str = "(day + 3 - ((day + 3) % 7 + 7) % 7) / 7";
const PLACE: &str = "id, text, name, events.offset
  FROM events JOIN files USING (file) JOIN words ON word = session WHERE repeated = 0";

/// The week that a day is in, counted from the one of 1 January 1970.
pub fn week_of(day: i64) -> i64 {
    (day + 3).div_euclid(7)
}

/// The Monday of a week, as days since 1970.
pub fn monday_of(week: i64) -> i64 {
    week * 7 - 3
}

impl Index {
    /// Asks several things of the same state, whatever another program adds meanwhile.
    pub fn at_once<T>(&self, ask: impl FnOnce() -> Result<T, FlywheelError>) -> Result<T, FlywheelError> {
        let transaction = self.connection.unchecked_transaction().map_err(|source| self.failed(source))?;
        let answer = ask();
        // Nothing was written.
        drop(transaction);
        answer
    }

    /// Every generation of these days, in no order.
    pub fn generations(&self, days: Days, mut each: impl FnMut(GenerationFact)) -> Result<(), FlywheelError> {
        let mut ask = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT session, day, artifact, model, phase, branch, validated, types, tests, retries, lines, tokens, skills, proposal
                 FROM generations WHERE {DAYS}"
            ))?;
            let mut rows = statement.query(params![days.from, days.to])?;
            while let Some(row) = rows.next()? {
                each(GenerationFact {
                    session: row.get(0)?,
                    day: row.get(1)?,
                    artifact: row.get(2)?,
                    model: row.get(3)?,
                    phase: row.get(4)?,
                    branch: row.get(5)?,
                    validated: row.get(6)?,
                    types: row.get(7)?,
                    tests: row.get(8)?,
                    retries: count(row, 9)?,
                    lines: count(row, 10)?,
                    tokens: count(row, 11)?,
                    skills: row.get(12)?,
                    proposal: row.get(13)?,
                });
            }
            Ok(())
        };
        ask().map_err(|source| self.failed(source))
    }

    /// What became of rules, by name.
    pub fn rule_counts(&self, days: Days) -> Result<Vec<RuleCount>, FlywheelError> {
        self.list(
            &format!(
                "SELECT rule.text, coalesce(min(layer.text), 'rules'), sum(fixer), sum(model), sum(stays), sum(silenced), sum(committed),
                   sum(violated)
                 FROM (
                   SELECT rule, layer, sum(fate = 'fixer') AS fixer, sum(fate = 'model') AS model, sum(fate = 'stays') AS stays,
                     sum(fate = 'silenced') AS silenced, sum(fate = 'committed') AS committed, sum(fate = 'violated') AS violated
                   FROM fates WHERE {DAYS} GROUP BY rule, layer
                 ) AS counts
                 JOIN words AS rule ON rule.word = counts.rule LEFT JOIN words AS layer ON layer.word = counts.layer
                 GROUP BY counts.rule ORDER BY rule.text"
            ),
            params![days.from, days.to],
            |row| {
                Ok(RuleCount {
                    rule: row.get(0)?,
                    layer: row.get(1)?,
                    fixer: count(row, 2)?,
                    model: count(row, 3)?,
                    stays: count(row, 4)?,
                    silenced: count(row, 5)?,
                    committed: count(row, 6)?,
                    violated: count(row, 7)?,
                })
            },
        )
    }

    /// What became of rules, taken apart by everything that is told apart; in no order.
    pub fn fates(&self, days: Days, mut each: impl FnMut(FateCount)) -> Result<(), FlywheelError> {
        let mut ask = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT rule, {WEEK} AS week, artifact, model, phase, fate, count(*) FROM fates WHERE {DAYS}
                 GROUP BY rule, week, artifact, model, phase, fate"
            ))?;
            let mut rows = statement.query(params![days.from, days.to])?;
            while let Some(row) = rows.next()? {
                let fate = match row.get_ref(5)?.as_str()? {
                    "fixer" | "model" => Fate::Fixed,
                    "stays" => Fate::Stays,
                    _ => Fate::Overridden,
                };
                each(FateCount {
                    rule: row.get(0)?,
                    week: row.get(1)?,
                    artifact: row.get(2)?,
                    model: row.get(3)?,
                    phase: row.get(4)?,
                    fate,
                    times: count(row, 6)?,
                });
            }
            Ok(())
        };
        ask().map_err(|source| self.failed(source))
    }

    /// How far skills came in each week, by name and week.
    pub fn funnel_weeks(&self, days: Days) -> Result<Vec<FunnelWeek>, FlywheelError> {
        self.list(
            &format!(
                "SELECT text, week, offered, loaded, used, passed FROM (
                   SELECT skill, {WEEK} AS week, sum(stage >= {OFFERED}) AS offered, sum(stage >= {LOADED}) AS loaded,
                     sum(stage >= {USED}) AS used, sum(stage >= {PASSED}) AS passed
                   FROM funnel WHERE {DAYS} GROUP BY skill, week
                 ) JOIN words ON word = skill ORDER BY text, week"
            ),
            params![days.from, days.to],
            |row| {
                Ok(FunnelWeek {
                    skill: row.get(0)?,
                    week: row.get(1)?,
                    offered: count(row, 2)?,
                    loaded: count(row, 3)?,
                    used: count(row, 4)?,
                    passed: count(row, 5)?,
                })
            },
        )
    }

    /// How far skills came, by name.
    pub fn funnels(&self, days: Days) -> Result<Vec<Funnel>, FlywheelError> {
        self.list(
            &format!(
                "SELECT text, offered, loaded, used, passed FROM (
                   SELECT skill, sum(stage >= {OFFERED}) AS offered, sum(stage >= {LOADED}) AS loaded, sum(stage >= {USED}) AS used,
                     sum(stage >= {PASSED}) AS passed
                   FROM funnel WHERE {DAYS} GROUP BY skill
                 ) JOIN words ON word = skill ORDER BY text"
            ),
            params![days.from, days.to],
            |row| {
                Ok(Funnel {
                    skill: row.get(0)?,
                    offered: count(row, 1)?,
                    loaded: count(row, 2)?,
                    used: count(row, 3)?,
                    passed: count(row, 4)?,
                })
            },
        )
    }

    /// Time between events, where the pause was shorter than so many minutes.
    pub fn worked(&self, days: Days, pause_minutes: i64) -> Result<Vec<WorkedTime>, FlywheelError> {
        self.list(
            &format!(
                "SELECT {WEEK} AS week, model, phase, sum(milliseconds) FROM activity
                 WHERE {DAYS} AND minutes < ?3 GROUP BY week, model, phase"
            ),
            params![days.from, days.to, pause_minutes],
            |row| {
                Ok(WorkedTime {
                    week: row.get(0)?,
                    model: row.get(1)?,
                    phase: row.get(2)?,
                    milliseconds: count(row, 3)?,
                })
            },
        )
    }

    /// Proposals (`approved`, `rejected`, `reverted`), branches (`merged`, `closed`) or sessions (`session_merged`, `session_closed`) of which
    /// that was said at any time.
    pub fn decided(&self, decision: &str) -> Result<FxHashSet<Word>, FlywheelError> {
        self.list("SELECT DISTINCT subject FROM decisions WHERE decision = ?1", [decision], |row| row.get(0))
            .map(|words: Vec<Word>| words.into_iter().collect())
    }

    /// How many events of each kind there are, by name.
    pub fn event_counts(&self, days: Days) -> Result<Vec<(String, u64)>, FlywheelError> {
        self.list(
            &format!(
                "SELECT kind, count(*) FROM events WHERE {DAYS} AND repeated = 0 GROUP BY kind ORDER BY kind"
            ),
            params![days.from, days.to],
            |row| Ok((row.get(0)?, count(row, 1)?)),
        )
    }

    /// How many sessions there are, all days taken together.
    pub fn session_count(&self) -> Result<u64, FlywheelError> {
        let ask = || {
            let question =
                "SELECT count(*) FROM words WHERE EXISTS (SELECT 1 FROM events WHERE session = word)";
            self.connection.query_row(question, [], |row| count(row, 0))
        };
        ask().map_err(|source| self.failed(source))
    }

    /// Lines that are no events: file, line and what is wrong.
    pub fn unreadable(&self) -> Result<Vec<(String, u64, String)>, FlywheelError> {
        self.list(
            "SELECT name, line, reason FROM unreadable JOIN files USING (file) ORDER BY name, unreadable.offset",
            [],
            |row| Ok((row.get(0)?, count(row, 1)?, row.get(2)?)),
        )
    }

    /// The newest events by their ids, which sort by time; the newest last.
    pub fn latest(&self, number: usize) -> Result<Vec<EventPlace>, FlywheelError> {
        let limit = i64::try_from(number).unwrap_or(i64::MAX);
        let question = format!("SELECT {PLACE} ORDER BY id DESC LIMIT ?1");
        self.list(&question, [limit], read_place).map(|mut places| {
            places.reverse();
            places
        })
    }

    /// The events of a session in their order.
    pub fn session_events(&self, session: &str) -> Result<Vec<EventPlace>, FlywheelError> {
        let question = format!("SELECT {PLACE} AND text = ?1 ORDER BY number, name, events.offset");
        self.list(&question, [session], read_place)
    }

    /// Events whose id begins or ends like this, in hexadecimal without dashes; no more than `limit`.
    pub fn find_events(&self, part: &str, limit: usize) -> Result<Vec<EventPlace>, FlywheelError> {
        let digits: String = part.chars().filter(|character| *character != '-').collect();
        if digits.is_empty() || digits.len() > 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let digits = digits.to_ascii_uppercase();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        if let Ok(id) = Uuid::try_parse(&digits) {
            let question = format!("SELECT {PLACE} AND id = ?1 LIMIT ?2");
            return self.list(&question, params![id.as_bytes().as_slice(), limit], read_place);
        }
        let question = format!(
            "SELECT {PLACE} AND (substr(hex(id), 1, length(?1)) = ?1 OR substr(hex(id), -length(?1)) = ?1) ORDER BY id LIMIT ?2"
        );
        self.list(&question, params![digits, limit], read_place)
    }

    /// Names of sessions that begin or end like this, by name; no more than `limit`.
    pub fn find_sessions(&self, part: &str, limit: usize) -> Result<Vec<String>, FlywheelError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.list(
            "SELECT text FROM words
             WHERE (substr(text, 1, length(?1)) = ?1 OR substr(text, -length(?1)) = ?1)
               AND EXISTS (SELECT 1 FROM events WHERE session = word)
             ORDER BY text <> ?1, text LIMIT ?2",
            params![part, limit],
            |row| row.get(0),
        )
    }

    /// How far each file was read.
    pub fn positions(&self) -> Result<BTreeMap<String, Position>, FlywheelError> {
        let read = |row: &Row| Ok((row.get(0)?, Position { offset: count(row, 1)?, lines: count(row, 2)? }));
        let positions = self.list("SELECT name, offset, line_count FROM files", [], read)?;
        Ok(positions.into_iter().collect())
    }

    pub fn word(&self, word: Word) -> Result<String, FlywheelError> {
        let ask = || {
            let mut statement = self.connection.prepare_cached("SELECT text FROM words WHERE word = ?1")?;
            statement.query_row([word], |row| row.get(0)).optional()
        };
        ask().map(Option::unwrap_or_default).map_err(|source| self.failed(source))
    }

    fn list<T>(
        &self,
        question: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, FlywheelError> {
        let ask = || {
            let mut statement = self.connection.prepare_cached(question)?;
            statement.query_map(parameters, read)?.collect::<rusqlite::Result<Vec<T>>>()
        };
        ask().map_err(|source| self.failed(source))
    }
}

fn read_place(row: &Row) -> rusqlite::Result<EventPlace> {
    let id: Vec<u8> = row.get(0)?;
    Ok(EventPlace {
        id: Uuid::from_slice(&id).unwrap_or_default(),
        session: row.get(1)?,
        file: row.get(2)?,
        offset: count(row, 3)?,
    })
}

fn count(row: &Row, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.max(0) as u64)
}
