//! A progress bar on stderr, for people who wait: only on a terminal, and only after a second.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);

/// Disappears when dropped.
pub struct Progress {
    started: Instant,
    total: usize,
    label: &'static str,
    noun: &'static str,
    is_watched: bool,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    pub fn new(label: &'static str, total: usize) -> Self {
        Self::of(label, total, "files")
    }

    /// Of something other than files.
    pub fn of(label: &'static str, total: usize, noun: &'static str) -> Self {
        Self {
            started: Instant::now(),
            total,
            label,
            noun,
            is_watched: io::stderr().is_terminal(),
            bar: OnceLock::new(),
        }
    }

    /// Where nobody knows how many there are.
    pub fn counting(label: &'static str) -> Self {
        Self::of(label, 0, "")
    }

    /// Tells how many are done. Cheap, and callable from any thread.
    pub fn advance(&self, done: usize) {
        if self.is_watched && self.started.elapsed() > PATIENCE {
            self.bar.get_or_init(|| draw_bar(self.label, self.total, self.noun)).set_position(done as u64);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn draw_bar(label: &'static str, total: usize, noun: &str) -> ProgressBar {
    if total == 0 {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{msg}: {pos}") {
            bar.set_style(style);
        }
        bar.set_message(label);
        return bar;
    }
    let bar = ProgressBar::new(total as u64);
    if let Ok(style) =
        ProgressStyle::with_template(&format!("{{msg}} {{wide_bar}} {{pos}}/{{len}} {noun}, {{eta}} left"))
    {
        bar.set_style(style);
    }
    bar.set_message(label);
    bar
}
