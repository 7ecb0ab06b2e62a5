//! Steps that are commands of Grail itself: shown with their command line, timed, and believed by their exit code. A journal keeps what came of each, so
//! that a demo that was broken off goes on where it was.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::cli::Format;
use crate::render::{BOLD, CYAN, Failure, RESET, Terminal};

/// Where steps are written as they end.
pub(super) const JOURNAL: &str = ".grail/demo.jsonl";

/// What steps say is kept whole, whole evaluations among it; more than this no demo says.
const MOST_JOURNAL_BYTES: u64 = 256 << 20;

/// A training that was gone on with is the one that was begun.
const TRAINED: &str = "$ grail train";
const RESUMED: &str = "$ grail train --resume";

/// What is shown so far.
pub(super) struct Show<'s> {
    pub(super) root: PathBuf,
    pub(super) terminal: &'s mut Terminal,
    pub(super) steps: Vec<Step>,
    program: PathBuf,
    /// When the last heading was shown.
    begun: Instant,
    /// What an earlier run has done and this one has not come to.
    known: VecDeque<Step>,
}

/// One step, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) title: String,
    pub(super) command: String,
    pub(super) exit: i32,
    pub(super) seconds: f64,
    /// What the command says to machines; nothing in text format, where it is shown.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub(super) said: Json,
}

impl<'s> Show<'s> {
    pub(super) fn new(root: &Path, terminal: &'s mut Terminal) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let known = read_journal(root);
        Ok(Self { root: root.to_owned(), terminal, steps: Vec::new(), program, begun: Instant::now(), known })
    }

    /// Whether a step was done before this demo was broken off. From the first on that was not, everything is done anew.
    pub(super) fn was_done(&mut self, command: &str, needs_success: bool) -> bool {
        let is_same = |step: &Step| {
            step.command == command || (step.command == RESUMED && command.starts_with(TRAINED))
        };
        let is_known = |step: &Step| is_same(step) && (step.exit == 0 || !needs_success);
        match self.known.pop_front() {
            Some(step) if is_known(&step) => {
                self.steps.push(step);
                return true;
            }
            Some(_) => {
                self.known.clear();
                write_journal(&self.root, &self.steps, true);
            }
            None => {}
        }
        false
    }

    /// Whether there is something that was done before and is not to be done again.
    pub(super) fn is_replaying(&self) -> bool {
        !self.known.is_empty()
    }

    /// A command that has to work.
    pub(super) fn grail(&mut self, title: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let captured = self.terminal.format() == Format::Json;
        self.step(title, arguments, captured, true)?;
        self.believe()
    }

    /// A command that may find something, or may not come to an end: that is what there is to see.
    pub(super) fn grail_may_fail(&mut self, title: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let captured = self.terminal.format() == Format::Json;
        self.step(title, arguments, captured, false)
    }

    /// A command that has to work, and whose answer is wanted as data.
    pub(super) fn grail_json(&mut self, title: &str, arguments: &[&str]) -> anyhow::Result<Json> {
        self.step(title, arguments, true, true)?;
        self.believe()?;
        Ok(self.steps.last().map(|step| step.said.clone()).unwrap_or_default())
    }

    /// Something that is no command of its own.
    pub(super) fn heading(&mut self, title: &str, command: &str) -> anyhow::Result<()> {
        self.begun = Instant::now();
        if self.terminal.format() == Format::Text {
            self.terminal.line(format_args!("\n{BOLD}{CYAN}==>{RESET} {BOLD}{title}{RESET}\n{command}"))?;
            // What the command prints goes past our buffer.
            self.terminal.flush()?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        title: &str,
        arguments: &[&str],
        captured: bool,
        needs_success: bool,
    ) -> anyhow::Result<()> {
        let command =
            format!("$ grail {}", arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        if self.was_done(&command, needs_success) {
            return Ok(());
        }
        self.heading(title, &command)?;
        let mut child = Command::new(&self.program);
        child.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        let (code, said) = match captured {
            true => {
                let output = child.args(["--format", "json"]).stderr(Stdio::inherit()).output()?;
                (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
            }
            false => (child.status()?.code(), Json::Null),
        };
        self.done(title, command, code.unwrap_or(2), said);
        Ok(())
    }

    /// Keeps what came of the step that the last heading began.
    pub(super) fn done(&mut self, title: &str, command: String, exit: i32, said: Json) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let step = Step { title: title.to_owned(), command, exit, seconds, said };
        write_journal(&self.root, [&step], false);
        self.steps.push(step);
    }

    fn believe(&self) -> anyhow::Result<()> {
        match self.steps.last() {
            Some(step) if step.exit != 0 => {
                let message = format!("`{}` ended with {}", step.command.trim_start_matches("$ "), step.exit);
                let hint = format!("the project is left as it is in `{}`", self.root.display());
                Err(Failure::with_hint(message, hint).into())
            }
            _ => Ok(()),
        }
    }
}

/// What an earlier run did; nothing if that is no journal. A line that was cut short is taken out: the next one would be glued to it.
pub(super) fn read_journal(root: &Path) -> VecDeque<Step> {
    let text = read_text(&root.join(JOURNAL));
    let known: VecDeque<Step> = text.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
    if !known.is_empty() && known.len() < text.lines().count() {
        write_journal(root, &known, true);
    }
    known
}

/// The text of a journal; nothing if it cannot be one.
pub(super) fn read_text(path: &Path) -> String {
    let file = File::open(path).ok().filter(|file| {
        file.metadata().is_ok_and(|journal| journal.is_file() && journal.len() <= MOST_JOURNAL_BYTES)
    });
    file.and_then(|file| io::read_to_string(file.take(MOST_JOURNAL_BYTES)).ok()).unwrap_or_default()
}

/// A demo may take an hour: whoever reads what it says to machines need not wait for its end, and what was done is not lost. A journal that cannot be
/// written is no reason to stop.
fn write_journal<'s>(root: &Path, steps: impl IntoIterator<Item = &'s Step>, anew: bool) {
    write_lines(&root.join(JOURNAL), steps, anew);
}

pub(super) fn write_lines<T: Serialize>(path: &Path, lines: impl IntoIterator<Item = T>, anew: bool) {
    let _ = path.parent().map(fs::create_dir_all);
    let mut options = File::options();
    let options = if anew { options.write(true).truncate(true) } else { options.append(true) };
    if let Ok(mut file) = options.create(true).open(path) {
        for line in lines.into_iter().filter_map(|line| serde_json::to_string(&line).ok()) {
            let _ = writeln!(file, "{line}");
        }
    }
}

fn quoted(word: &str) -> String {
    match word.contains([' ', '\'', '"']) {
        true => format!("'{word}'"),
        false => word.to_owned(),
    }
}
