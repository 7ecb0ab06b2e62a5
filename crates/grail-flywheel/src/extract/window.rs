//! What was said: the turns of a session, and the last few of them before a request.

use uuid::Uuid;

use super::{ExtractSettings, MAX_WINDOW};
use crate::event::{Event, EventKind};
use crate::example::Turn;

const USER: &str = "user";
const ASSISTANT: &str = "assistant";
/// What was said longer ago has been forgotten.
const LOOK_BACK: usize = 50;

pub(super) struct Turns<'e> {
    turns: Vec<Said<'e>>,
}

struct Said<'e> {
    position: usize,
    event: Uuid,
    role: &'static str,
    text: &'e str,
    is_intent: bool,
}

/// Where a request was made.
pub(super) struct Anchor {
    pub position: usize,
    pub event: Option<Uuid>,
}

impl<'e> Turns<'e> {
    pub(super) fn of(events: &'e [Event]) -> Self {
        let mut turns: Vec<Said<'e>> = Vec::new();
        for (position, event) in events.iter().enumerate() {
            let (role, text) = match &event.kind {
                EventKind::Intent { request, .. } => (USER, request),
                EventKind::UserMessage { text } | EventKind::UserConfirmation { text, .. } => (USER, text),
                EventKind::UserCorrection { text, .. } => (USER, text),
                EventKind::ModelAnswer { text, .. } => (ASSISTANT, text),
                _ => continue,
            };
            let text = text.trim();
            // What was said may be noted as a message and as what is wanted.
            let is_repeated = turns.last().is_some_and(|last| last.role == role && last.text == text);
            if !text.is_empty() && !is_repeated {
                let is_intent = matches!(event.kind, EventKind::Intent { .. });
                turns.push(Said { position, event: event.id, role, text, is_intent });
            }
        }
        Self { turns }
    }

    /// The turn that asked for work which starts at `start`: the one with these words, or else the last that wants something.
    pub(super) fn anchor(&self, start: usize, request: &str) -> Anchor {
        let before = || self.latest(start + 1).filter(|said| said.role == USER);
        let same = before().find(|said| said.text == request.trim());
        match same.or_else(|| before().find(|said| said.is_intent)) {
            Some(said) => Anchor { position: said.position, event: Some(said.event) },
            None => Anchor { position: start, event: None },
        }
    }

    /// What a person wanted last before a position.
    pub(super) fn request_before(&self, position: usize) -> &'e str {
        let before = || self.latest(position).filter(|said| said.role == USER);
        before().find(|said| said.is_intent).or_else(|| before().next()).map_or("", |said| said.text)
    }

    /// What the last turns before a position say, together.
    pub(super) fn said_before(&self, position: usize) -> String {
        let turns: Vec<&str> = self.latest(position).map(|said| said.text).collect();
        turns.join("\n")
    }

    /// The last answer before a position.
    pub(super) fn answer_before(&self, position: usize) -> Option<(Uuid, &'e str)> {
        let answer = self.latest(position).find(|said| said.role == ASSISTANT);
        answer.map(|said| (said.event, said.text))
    }

    /// The last turns before a position, the latest first.
    fn latest(&self, position: usize) -> impl Iterator<Item = &Said<'e>> {
        let count = self.turns.partition_point(|said| said.position < position);
        self.turns[..count].iter().rev().take(LOOK_BACK)
    }

    pub(super) fn before(&self, position: usize, settings: &ExtractSettings<'_>) -> Vec<Turn> {
        let count = self.turns.partition_point(|said| said.position < position);
        let first = count.saturating_sub(settings.window.min(MAX_WINDOW));
        let turn =
            |said: &Said<'_>| Turn { role: said.role.to_owned(), text: cut(said.text, settings.turn_bytes) };
        self.turns[first..count].iter().map(turn).collect()
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
