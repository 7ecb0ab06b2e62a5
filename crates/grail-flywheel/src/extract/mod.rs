//! Events to examples: the few moments of a session that are worth learning from.
//!
//! Most of a conversation teaches nothing. What teaches is an error and how it was mended, code that was right at once, an answer that
//! was not meant, and several tools that work together. The same events give the same bytes, in whatever order they are read.

mod fields;
mod homes;
mod lessons;
mod sequences;
mod session;
mod shape;
mod spec;
mod survey;
mod window;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use uuid::Uuid;

use crate::FlywheelError;
use crate::event::{Event, ReviewVerdict};
use crate::example::Example;
use crate::log::{EventReader, Filter, Position, ReadProblem, StoredEvent, read_events, read_single_files};

pub use fields::{ToolFlow, fields_accessed, tool_flow};
use homes::Move;
pub use spec::SpecFiles;
use survey::Survey;

/// What an example counts whose branch was merged.
pub const MERGED: f64 = 1.2;
/// What an example counts whose branch was given up.
pub const CLOSED: f64 = 0.5;
/// More turns are no window.
pub const MAX_WINDOW: usize = 5;

pub struct ExtractSettings<'s> {
    /// How many turns before the request are kept, at most [`MAX_WINDOW`].
    pub window: usize,
    /// Longer turns are cut.
    pub turn_bytes: usize,
    /// By branch, for outcomes that the events do not tell. A branch that neither knows is open and counts as it is.
    pub outcome_factors: BTreeMap<String, f64>,
    /// Sessions that must not be learned from.
    pub forgotten: BTreeSet<String>,
    /// What a spec says, in a few lines.
    pub specs: Option<&'s dyn SpecSource>,
}

/// Tells what a spec is about.
pub trait SpecSource: Sync {
    fn summary(&self, spec: &str) -> Option<String>;
}

/// What was found in the events.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Extraction {
    /// In the order of sessions and of what happened in them.
    pub examples: Vec<Example>,
    /// What people said about examples, by the examples' names: the last word counts.
    pub reviews: BTreeMap<String, Review>,
    pub sessions: usize,
    pub events: usize,
    /// Moments that looked like examples and are none, by reason.
    pub passed_over: BTreeMap<PassedOver, usize>,
}

/// A decision about an example.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Review {
    pub verdict: ReviewVerdict,
    pub corrected: Option<String>,
}

/// Why a moment is no example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PassedOver {
    /// An artifact that never passed its checks.
    NeverPassed,
    /// Code that passed after retries, and that nobody approved or confirmed: its errors are learned from, it is not.
    NotConfirmed,
    /// Code whose proposal was rejected or reverted.
    Refused,
    /// Code that a person corrected: the correction is learned from.
    Corrected,
    /// Code that is the better half of a pair already, or that a later one of the session replaces.
    Superseded,
    /// Nobody said what was wanted.
    NoRequest,
    /// A correction of something that is not known.
    NothingToCorrect,
    /// Several tools, of which none uses what another gave.
    Independent,
    /// Several tools in a session that came to nothing.
    NoGoodEnd,
    /// A call failed on the way.
    FailedCall,
    /// A field is used that no result has.
    FabricatedField,
    /// Arguments that were too long to keep.
    CutArguments,
    /// Code or a request beyond all measure.
    TooLong,
    /// The whole session was forgotten.
    ForgottenSession,
    /// The whole session answered an evaluation, which must never be learned from.
    EvaluationSession,
}

impl Default for ExtractSettings<'_> {
    fn default() -> Self {
        Self {
            window: 4,
            turn_bytes: 2000,
            outcome_factors: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            specs: None,
        }
    }
}

/// Makes examples of events. They may come in any order; what cannot be part of an example is let go as it is read, and the rest is held.
pub fn extract(events: impl IntoIterator<Item = Event>, settings: &ExtractSettings<'_>) -> Extraction {
    let mut survey = Survey::default();
    let mut sessions: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for event in events {
        if survey.note(&event, settings) {
            match sessions.get_mut(&event.session) {
                Some(events) => events.push(event),
                None => drop(sessions.insert(event.session.clone(), vec![event])),
            }
        }
    }
    learn_all(survey, settings, || (), |(), name| sessions.get(name).cloned().unwrap_or_default())
}

/// Makes examples of the events of a project, which it reads twice: once for what holds beyond a session, and once session by session. So it
/// holds one session for each core, and what came of the others. `watch` is shown what is read, the first time.
pub fn extract_log(
    root: &Path,
    settings: &ExtractSettings<'_>,
    mut watch: impl FnMut(&Result<StoredEvent, ReadProblem>),
) -> Result<Extraction, FlywheelError> {
    let mut survey = Survey::default();
    let mut files: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for item in read_events(root, &Filter::default())? {
        watch(&item);
        let Ok(stored) = item else { continue };
        if !survey.note(&stored.event, settings) {
            continue;
        }
        let end = stored.offset + stored.length;
        // What is written from now on is for the next time.
        match files.get_mut(&stored.event.session).and_then(|ends| ends.get_mut(&stored.file)) {
            Some(known) => *known = end,
            None => drop(files.entry(stored.event.session).or_default().insert(stored.file, end)),
        }
    }
    let again = |reader: &mut EventReader, name: &str| {
        let mut events = Vec::new();
        for (file, end) in files.get(name).into_iter().flatten() {
            reader.turn_to(file, Position::default());
            let read = reader.by_ref().flatten().take_while(|stored| stored.offset < *end);
            events.extend(
                read.map(|stored| stored.event)
                    .filter(|event| event.session == name && survey::is_material(&event.kind)),
            );
        }
        events
    };
    Ok(learn_all(survey, settings, || read_single_files(root), again))
}

/// Learns from one session after the other, on all cores. `events_of` gives what is known of a session, in whatever order.
fn learn_all<R>(
    survey: Survey,
    settings: &ExtractSettings<'_>,
    reader: impl Fn() -> R + Sync + Send,
    events_of: impl Fn(&mut R, &str) -> Vec<Event> + Sync,
) -> Extraction {
    let (names, known) = survey.finish();
    let in_order = |reader: &mut R, name: &str| {
        let mut events = events_of(reader, name);
        events.sort_by_key(|event| (event.number, event.id));
        let mut seen = FxHashSet::default();
        events.retain(|event| seen.insert(event.id));
        events
    };
    let mut leaving: BTreeMap<&str, FxHashSet<Uuid>> = BTreeMap::new();
    for Move { from, event, .. } in &known.moves {
        leaving.entry(from).or_default().insert(*event);
    }
    // Corrections that go elsewhere become examples there: few, and to be held anyway.
    let mut moving: FxHashMap<Uuid, Event> = FxHashMap::default();
    for (name, leaving) in &leaving {
        let events = in_order(&mut reader(), name).into_iter();
        moving.extend(events.filter(|event| leaving.contains(&event.id)).map(|event| (event.id, event)));
    }
    let mut arriving: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for Move { to, event, .. } in &known.moves {
        arriving.entry(to).or_default().extend(moving.get(event));
    }
    let learned: Vec<session::Learned> = names
        .par_iter()
        .map_init(&reader, |reader, name| {
            let mut events = in_order(reader, name);
            if let Some(leaving) = leaving.get(name.as_str()) {
                events.retain(|event| !leaving.contains(&event.id));
            }
            events.extend(arriving.get(name.as_str()).into_iter().flatten().copied().cloned());
            session::learn(name, &events, &known, settings)
        })
        .collect();
    let mut extraction = Extraction {
        sessions: names.len(),
        events: known.events,
        passed_over: known.passed_over,
        reviews: known.reviews,
        ..Extraction::default()
    };
    for learned in learned {
        extraction.examples.extend(learned.examples);
        for (reason, count) in learned.passed_over {
            *extraction.passed_over.entry(reason).or_default() += count;
        }
    }
    extraction
}
