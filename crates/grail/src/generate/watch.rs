//! What is going on, in one line on stderr, for people who wait.

use std::io::{self, IsTerminal};
use std::time::Duration;

use grail_agent::Notice;
use indicatif::{ProgressBar, ProgressStyle};

use crate::render::visible_line;

#[derive(Clone)]
pub(crate) struct Watch {
    bar: Option<ProgressBar>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar: Some(bar) }
    }

    pub(crate) fn hear(&self, notice: Notice<'_>) {
        let Some(bar) = &self.bar else { return };
        bar.set_message(match notice {
            Notice::Asking { turn } => format!("turn {turn}: asking the model"),
            Notice::Heard { bytes } => format!("the model answers: {bytes} bytes"),
            Notice::Calling { tool } => format!("calling {}", visible_line(tool)),
            Notice::Retrying { .. } => "something is left to mend".to_owned(),
        });
    }

    /// What somebody else says of how it goes.
    pub(crate) fn say(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(visible_line(line));
        }
    }

    /// Nothing is left on the screen.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message("");
            bar.finish_and_clear();
        }
    }

    /// Makes room for a question.
    pub(crate) fn pause<T>(&self, question: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(question),
            None => question(),
        }
    }
}
