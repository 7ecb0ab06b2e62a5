//! One artifact while it is made, and the conversation about it.

use std::time::Instant;

use grail_flywheel::dataset::ChatForm;
use grail_model::prompt::tagged;
use grail_model::{Message, Role, Usage};

use crate::answer::{self, first_name};
use crate::code_mode::fenced_blocks;
use crate::dialogue::Dialogue;

/// One artifact, and the conversation about it.
pub(super) struct Work<'g> {
    pub(super) kind: String,
    pub(super) request: String,
    pub(super) dialogue: Dialogue<'g>,
    /// What every question begins with, where only the last answer is remembered.
    pub(super) opening: Option<Vec<Message>>,
    pub(super) summary: String,
    pub(super) started: Instant,
    /// What earlier events have told of the tokens it took.
    pub(super) told: Usage,
}

impl Work<'_> {
    /// Says what is wrong. A model without tools is reminded of its last answer only: it has not learned to follow a long conversation.
    pub(super) fn retry(&mut self, words: &str) {
        if let Some(opening) = &self.opening {
            let last = self.dialogue.messages().last().cloned();
            self.dialogue.start_over(opening.iter().cloned().chain(last).collect());
        }
        self.dialogue.retry(words);
    }

    /// A person meant something else.
    pub(super) fn correct(&mut self, text: &str, form: &ChatForm) {
        self.dialogue.grant_more();
        if self.opening.is_none() {
            return self.dialogue.say(Message::user(format!(
                "The person has seen the code and answers with a correction. Hand the whole file in again.\n{}",
                tagged("correction", text)
            )));
        }
        // As corrections are learned: their words are part of the request.
        self.request = format!("{}\n\n{text}", self.request);
        let opening = answer::opening(form, &self.request);
        self.dialogue.start_over(opening.clone());
        self.opening = Some(opening);
    }

    /// Whether a model without tools gave the same answer again: it would go on to.
    pub(super) fn repeats_itself(&self) -> bool {
        let mut said =
            self.dialogue.messages().iter().rev().filter(|message| message.role == Role::Assistant);
        let (last, before) = (said.next(), said.next());
        self.opening.is_some() && last.is_some() && last == before
    }

    /// Code that was said.
    pub(super) fn code_in(&self, text: &str) -> Option<String> {
        match self.opening {
            Some(_) => answer::code_of(text, self.dialogue.finish()),
            None => code_in(text),
        }
    }
}

/// The longest fenced block of Python that defines something.
fn code_in(text: &str) -> Option<String> {
    let blocks = fenced_blocks(text).into_iter().map(|(_, code)| code);
    blocks.filter(|code| first_name(code).is_some()).max_by_key(String::len)
}
