//! One session: its events in order, what is kept of each lesson, and where it comes from.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::survey::Known;
use super::window::Turns;
use super::work::{self, Work};
use super::{CLOSED, ExtractSettings, MERGED, PassedOver, lessons, sequences};
use crate::event::{Event, EventContext};
use crate::example::{Example, ExampleType, Origin, Weight};
use crate::outcome::Outcome;

/// Longer code is no artifact.
pub(super) const MAX_CODE_BYTES: usize = 256 * 1024;
/// Longer requests are no requests.
const MAX_REQUEST_BYTES: usize = 32 * 1024;

#[derive(Default)]
pub(super) struct Learned {
    pub examples: Vec<Example>,
    pub passed_over: BTreeMap<PassedOver, usize>,
}

pub(super) struct Session<'e> {
    pub name: &'e str,
    pub events: &'e [Event],
    pub turns: Turns<'e>,
    known: &'e Known,
    settings: &'e ExtractSettings<'e>,
}

/// What a lesson is about, before it is an example.
#[derive(Default)]
pub(super) struct Draft<'e> {
    pub request: String,
    /// The position of what starts the work: the window ends before it.
    pub start: usize,
    pub context: Option<&'e EventContext>,
    pub events: Vec<Uuid>,
}

pub(super) fn learn(name: &str, events: &[Event], known: &Known, settings: &ExtractSettings<'_>) -> Learned {
    let session = Session { name, events, turns: Turns::of(events), known, settings };
    let mut learned = Learned::default();
    let mut works: Vec<Work<'_>> = work::works(events);
    work::decide(&mut works, events, known);
    let negatives = lessons::negatives(&session, &mut works, &mut learned);
    lessons::correctives(&session, &works, &mut learned);
    lessons::positives(&session, &works, &mut learned);
    learned.examples.extend(negatives);
    sequences::sequences(&session, &works, &mut learned);
    learned
}

impl Learned {
    pub(super) fn pass_over(&mut self, reason: PassedOver) {
        *self.passed_over.entry(reason).or_default() += 1;
    }
}

impl Session<'_> {
    /// An example without its lesson: request, window, context, weight and origin. `None` if there is no request to speak of.
    pub(super) fn example(
        &self,
        example_type: ExampleType,
        draft: Draft<'_>,
        learned: &mut Learned,
    ) -> Option<Example> {
        if draft.request.trim().is_empty() {
            learned.pass_over(PassedOver::NoRequest);
            return None;
        }
        if draft.request.len() > MAX_REQUEST_BYTES {
            learned.pass_over(PassedOver::TooLong);
            return None;
        }
        let context = draft.context.cloned().unwrap_or_default();
        let factor = self.outcome_factor(context.branch.as_deref());
        let anchor = self.turns.anchor(draft.start, &draft.request);
        let mut events = draft.events;
        if let Some(asked) = anchor.event
            && !events.contains(&asked)
        {
            events.insert(0, asked);
        }
        Some(Example {
            id: String::new(),
            example_type,
            artifact: None,
            rules: Vec::new(),
            tools: Vec::new(),
            context: self
                .settings
                .specs
                .zip(context.spec.as_deref())
                .and_then(|(specs, spec)| specs.summary(spec)),
            window: self.turns.before(anchor.position, self.settings),
            request: draft.request,
            chosen: None,
            calls: Vec::new(),
            rejected: None,
            problems: Vec::new(),
            path: None,
            weight: Weight::new(example_type.base_weight(), factor),
            origin: Origin {
                source: "project".to_owned(),
                session: Some(self.name.to_owned()),
                branch: context.branch,
                model: context.model,
                events,
                ..Origin::default()
            },
        })
    }
}

impl Session<'_> {
    /// What the session's own outcome makes it worth; where events tell none, what the settings say of the branch.
    fn outcome_factor(&self, branch: Option<&str>) -> f64 {
        match self.known.outcomes.of(self.name, branch) {
            Outcome::Merged => MERGED,
            Outcome::Closed => CLOSED,
            Outcome::Open => {
                let told = branch.and_then(|branch| self.settings.outcome_factors.get(branch));
                told.copied().unwrap_or(1.0)
            }
        }
    }
}

/// Gives an example its name and keeps it.
pub(super) fn keep(mut example: Example, examples: &mut Vec<Example>) {
    example.id = example.content_id();
    examples.push(example);
}
