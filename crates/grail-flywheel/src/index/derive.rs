//! What follows from the events of one session: generations, the fates of rules, how far skills came, the time that was worked.
//!
//! Always computed from the whole session in the order of its numbers (then file, then place), so that it does not matter in which order
//! the events came to be known.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};
use rustc_hash::FxHashMap;

use super::insert::Words;

/// Longer pauses are never work, whatever the settings say.
pub const MAX_PAUSE_MINUTES: i64 = 60;

/// How far a skill came, as kept in `funnel`.
pub(super) const OFFERED: i64 = 0;
pub(super) const LOADED: i64 = 1;
pub(super) const USED: i64 = 2;
pub(super) const PASSED: i64 = 3;

/// Counts one session anew; says how many events it has.
pub(super) fn derive_session(
    connection: &Connection,
    words: &mut Words,
    session: i64,
) -> rusqlite::Result<usize> {
    for table in ["generations", "fates", "funnel", "activity", "decisions"] {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?.execute([session])?;
    }
    let mut story = Story { session, ..Story::default() };
    let mut statement = connection.prepare_cached(
        "SELECT event, kind, at, day, branch, model, phase, artifact, path, subject,
           (SELECT text FROM words WHERE word = detail), (SELECT text FROM words WHERE word = skills), skills,
           passed, types, tests, retries, lines, input_tokens, output_tokens
         FROM events JOIN files USING (file)
         WHERE session = ?1 AND repeated = 0
         ORDER BY number, name, events.offset",
    )?;
    let mut rows = statement.query([session])?;
    let mut events = 0;
    while let Some(row) = rows.next()? {
        events += 1;
        story.tell(connection, words, &Moment::read(row)?)?;
    }
    story.end(connection)?;
    Ok(events)
}

/// One row of `events`.
struct Moment {
    event: i64,
    kind: String,
    at: Option<i64>,
    day: Option<i64>,
    branch: Option<i64>,
    model: Option<i64>,
    phase: Option<i64>,
    artifact: Option<i64>,
    path: Option<i64>,
    subject: Option<i64>,
    detail: Option<String>,
    skill_names: Option<String>,
    skills: Option<i64>,
    passed: Option<bool>,
    types: Option<bool>,
    tests: Option<bool>,
    retries: Option<i64>,
    lines: Option<i64>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
}

impl Moment {
    fn read(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self {
            event: row.get(0)?,
            kind: row.get(1)?,
            at: row.get(2)?,
            day: row.get(3)?,
            branch: row.get(4)?,
            model: row.get(5)?,
            phase: row.get(6)?,
            artifact: row.get(7)?,
            path: row.get(8)?,
            subject: row.get(9)?,
            detail: row.get(10)?,
            skill_names: row.get(11)?,
            skills: row.get(12)?,
            passed: row.get(13)?,
            types: row.get(14)?,
            tests: row.get(15)?,
            retries: row.get(16)?,
            lines: row.get(17)?,
            input_tokens: row.get(18)?,
            output_tokens: row.get(19)?,
        })
    }
}

/// What is known of a session so far.
#[derive(Default)]
struct Story {
    session: i64,
    /// Of the event before, where it has a time.
    at: Option<i64>,
    /// Events that do not name a model belong to the one that answered last.
    model: Option<i64>,
    phase: Option<i64>,
    /// Attempts at a file that is not finished yet.
    chains: BTreeMap<Option<i64>, Chain>,
    /// The last generation of a path that no proposal holds yet.
    unproposed: FxHashMap<i64, i64>,
    skills: BTreeMap<i64, (Option<i64>, i64)>,
    activity: BTreeMap<Pause, i64>,
    fates: i64,
    decisions: i64,
}

/// Day, model, phase and whole minutes.
type Pause = (Option<i64>, Option<i64>, Option<i64>, i64);

/// All attempts at one file until it is finished.
#[derive(Default)]
struct Chain {
    rules: BTreeMap<i64, Seen>,
    last: Context,
}

#[derive(Default)]
struct Seen {
    layer: Option<i64>,
    was_problem: bool,
    /// In the newest check that is known.
    is_problem: bool,
    was_silenced: bool,
    has_fired: bool,
}

#[derive(Clone, Copy, Default)]
struct Context {
    day: Option<i64>,
    artifact: Option<i64>,
    model: Option<i64>,
    phase: Option<i64>,
}

impl Story {
    fn tell(&mut self, connection: &Connection, words: &mut Words, moment: &Moment) -> rusqlite::Result<()> {
        // What nobody saw is no work, and takes no time from it.
        if moment.kind == "shadow" {
            return Ok(());
        }
        self.model = moment.model.or(self.model);
        self.phase = moment.phase.or(self.phase);
        self.count_pause(moment);
        match moment.kind.as_str() {
            "skill" => {
                let stage = match moment.detail.as_deref() {
                    Some("loaded") => LOADED,
                    Some("used") => USED,
                    _ => OFFERED,
                };
                if let Some(skill) = moment.subject {
                    self.raise(skill, moment.day, stage);
                }
            }
            "domain_validation" => {
                let chain = self.chain(moment);
                chain.rules.values_mut().for_each(|seen| seen.is_problem = false);
                read_rules(connection, moment.event, chain)?;
            }
            "retry" => {
                let chain = self.chain(moment);
                read_rules(connection, moment.event, chain)?;
                if moment.passed == Some(true) {
                    chain.rules.values_mut().for_each(|seen| seen.is_problem = false);
                }
            }
            "generation" => self.finish(connection, words, moment)?,
            "proposal" => self.propose(connection, moment)?,
            "branch_merged" => self.outcome(connection, moment, "merged", "session_merged")?,
            "branch_closed" => self.outcome(connection, moment, "closed", "session_closed")?,
            "commit" | "user_correction" => {
                let mut chain = Chain { last: self.context(moment), ..Chain::default() };
                read_rules(connection, moment.event, &mut chain)?;
                let fate = if moment.kind == "commit" { "committed" } else { "violated" };
                for (rule, seen) in chain.rules.iter().filter(|(_, seen)| seen.was_silenced) {
                    self.keep_fate(connection, chain.last, *rule, seen.layer, fate)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Files that were never finished end as they were checked last.
    fn end(mut self, connection: &Connection) -> rusqlite::Result<()> {
        for chain in std::mem::take(&mut self.chains).into_values() {
            self.keep_fates(connection, &chain)?;
        }
        for (skill, (day, stage)) in &self.skills {
            connection
                .prepare_cached("INSERT INTO funnel(session, skill, day, stage) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![self.session, skill, day, stage])?;
        }
        for (place, ((day, model, phase, minutes), milliseconds)) in self.activity.iter().enumerate() {
            connection
                .prepare_cached(
                    "INSERT INTO activity(session, place, day, model, phase, minutes, milliseconds)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![self.session, place as i64, day, model, phase, minutes, milliseconds])?;
        }
        Ok(())
    }

    /// A clock that jumps back, or does not tell the time, adds nothing.
    fn count_pause(&mut self, moment: &Moment) {
        if let (Some(before), Some(at)) = (self.at, moment.at) {
            let pause = at.saturating_sub(before);
            let minutes = pause / 60_000;
            if pause > 0 && minutes < MAX_PAUSE_MINUTES {
                *self.activity.entry((moment.day, self.model, self.phase, minutes)).or_default() += pause;
            }
        }
        self.at = moment.at.or(self.at);
    }

    fn context(&self, moment: &Moment) -> Context {
        Context { day: moment.day, artifact: moment.artifact, model: self.model, phase: self.phase }
    }

    fn chain(&mut self, moment: &Moment) -> &mut Chain {
        let last = self.context(moment);
        let chain = self.chains.entry(moment.path).or_default();
        chain.last = last;
        chain
    }

    fn raise(&mut self, skill: i64, day: Option<i64>, stage: i64) {
        let entry = self.skills.entry(skill).or_insert((day, stage));
        entry.1 = entry.1.max(stage);
    }

    fn finish(
        &mut self,
        connection: &Connection,
        words: &mut Words,
        moment: &Moment,
    ) -> rusqlite::Result<()> {
        let chain = self.chain(moment);
        chain.rules.values_mut().for_each(|seen| seen.is_problem = false);
        read_rules(connection, moment.event, chain)?;
        if let Some(chain) = self.chains.remove(&moment.path) {
            self.keep_fates(connection, &chain)?;
        }
        let validated = moment.passed.unwrap_or(false);
        let names: Vec<String> = match &moment.skill_names {
            Some(list) => serde_json::from_str(list).unwrap_or_default(),
            None => Vec::new(),
        };
        for name in names {
            let skill = words.intern(connection, &name)?;
            self.raise(skill, moment.day, if validated { PASSED } else { USED });
        }
        if let Some(path) = moment.path {
            self.unproposed.insert(path, moment.event);
        }
        let tokens = moment.input_tokens.unwrap_or(0).saturating_add(moment.output_tokens.unwrap_or(0));
        connection
            .prepare_cached(
                "INSERT INTO generations(session, event, day, artifact, model, phase, branch, validated, types, tests, retries, lines,
                   tokens, skills, proposal)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, NULL)",
            )?
            .execute(params![
                self.session,
                moment.event,
                moment.day,
                moment.artifact,
                self.model,
                self.phase,
                moment.branch,
                validated,
                moment.types,
                moment.tests,
                moment.retries.unwrap_or(0),
                moment.lines.unwrap_or(0),
                tokens,
                moment.skills,
            ])?;
        Ok(())
    }

    /// A proposal holds the last generation of each of its files.
    fn propose(&mut self, connection: &Connection, moment: &Moment) -> rusqlite::Result<()> {
        match moment.detail.as_deref() {
            Some("made") => {
                let paths = read_names(connection, moment.event)?;
                for event in paths.iter().filter_map(|path| self.unproposed.remove(path)) {
                    connection
                        .prepare_cached(
                            "UPDATE generations SET proposal = ?3 WHERE session = ?1 AND event = ?2",
                        )?
                        .execute(params![self.session, event, moment.subject])?;
                }
                Ok(())
            }
            Some("approved") => self.decide(connection, "approved", moment.subject),
            Some("rejected") => self.decide(connection, "rejected", moment.subject),
            Some("reverted") => self.decide(connection, "reverted", moment.subject),
            _ => Ok(()),
        }
    }

    /// Whoever knows which sessions an outcome is about says so; otherwise it is about all with that branch.
    fn outcome(
        &mut self,
        connection: &Connection,
        moment: &Moment,
        of_branch: &str,
        of_session: &str,
    ) -> rusqlite::Result<()> {
        let sessions = read_names(connection, moment.event)?;
        if sessions.is_empty() {
            return self.decide(connection, of_branch, moment.subject);
        }
        sessions.into_iter().try_for_each(|session| self.decide(connection, of_session, Some(session)))
    }

    fn decide(
        &mut self,
        connection: &Connection,
        decision: &str,
        subject: Option<i64>,
    ) -> rusqlite::Result<()> {
        if let Some(subject) = subject {
            self.decisions += 1;
            connection
                .prepare_cached(
                    "INSERT INTO decisions(session, place, decision, subject) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![self.session, self.decisions, decision, subject])?;
        }
        Ok(())
    }

    fn keep_fates(&mut self, connection: &Connection, chain: &Chain) -> rusqlite::Result<()> {
        for (rule, seen) in &chain.rules {
            if seen.has_fired {
                let fate = match (seen.is_problem, seen.was_problem) {
                    (true, _) => "stays",
                    (false, true) => "model",
                    (false, false) => "fixer",
                };
                self.keep_fate(connection, chain.last, *rule, seen.layer, fate)?;
            }
            if seen.was_silenced {
                self.keep_fate(connection, chain.last, *rule, seen.layer, "silenced")?;
            }
        }
        Ok(())
    }

    fn keep_fate(
        &mut self,
        connection: &Connection,
        context: Context,
        rule: i64,
        layer: Option<i64>,
        fate: &str,
    ) -> rusqlite::Result<()> {
        self.fates += 1;
        connection
            .prepare_cached(
                "INSERT INTO fates(session, place, day, artifact, model, phase, layer, rule, fate)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                self.session,
                self.fates,
                context.day,
                context.artifact,
                context.model,
                context.phase,
                layer,
                rule,
                fate
            ])?;
        Ok(())
    }
}

/// Adds what an event says about rules to what is known of the file.
fn read_rules(connection: &Connection, event: i64, chain: &mut Chain) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("SELECT way, layer, rule FROM rules WHERE event = ?1 ORDER BY place")?;
    let mut rows = statement.query([event])?;
    while let Some(row) = rows.next()? {
        let (way, layer, rule) = (row.get::<_, String>(0)?, row.get(1)?, row.get(2)?);
        let seen = chain.rules.entry(rule).or_default();
        seen.layer = seen.layer.or(layer);
        match way.as_str() {
            "problem" => {
                (seen.has_fired, seen.was_problem, seen.is_problem) = (true, true, true);
            }
            "fixed" => seen.has_fired = true,
            _ => seen.was_silenced = true,
        }
    }
    Ok(())
}

fn read_names(connection: &Connection, event: i64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached("SELECT name FROM names WHERE event = ?1 ORDER BY name")?;
    statement.query_map([event], |row| row.get(0))?.collect()
}
