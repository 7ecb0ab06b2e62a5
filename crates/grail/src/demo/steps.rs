//! Steps that are commands of Grail itself: shown with their command line, timed, and believed by their exit code.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value as Json;

use crate::cli::Format;
use crate::render::{BOLD, CYAN, Failure, RESET, Terminal};

/// Where steps are written as they end, in JSON format.
const JOURNAL: &str = ".grail/demo.jsonl";

/// What is shown so far.
pub(super) struct Show<'s> {
    pub(super) root: PathBuf,
    pub(super) terminal: &'s mut Terminal,
    pub(super) steps: Vec<Step>,
    program: PathBuf,
    /// When the last heading was shown.
    begun: Instant,
}

/// One step, and what came of it.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub(super) title: &'static str,
    pub(super) command: String,
    pub(super) exit: i32,
    pub(super) seconds: f64,
    /// What the command says to machines; nothing in text format, where it is shown.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(super) said: Json,
}

impl<'s> Show<'s> {
    pub(super) fn new(root: &Path, terminal: &'s mut Terminal) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { root: root.to_owned(), terminal, steps: Vec::new(), program, begun: Instant::now() })
    }

    /// A command that has to work.
    pub(super) fn grail(&mut self, title: &'static str, arguments: &[&str]) -> anyhow::Result<()> {
        self.grail_may_fail(title, arguments)?;
        self.believe()
    }

    /// A command that may find something, or may not come to an end: that is what there is to see.
    pub(super) fn grail_may_fail(&mut self, title: &'static str, arguments: &[&str]) -> anyhow::Result<()> {
        let captured = self.terminal.format() == Format::Json;
        self.step(title, arguments, captured)
    }

    /// A command that has to work, and whose answer is wanted as data.
    pub(super) fn grail_json(&mut self, title: &'static str, arguments: &[&str]) -> anyhow::Result<Json> {
        self.step(title, arguments, true)?;
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

    fn step(&mut self, title: &'static str, arguments: &[&str], captured: bool) -> anyhow::Result<()> {
        let command =
            format!("$ grail {}", arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
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
    pub(super) fn done(&mut self, title: &'static str, command: String, exit: i32, said: Json) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let step = Step { title, command, exit, seconds, said };
        if self.terminal.format() == Format::Json {
            self.journal(&step);
        }
        self.steps.push(step);
    }

    /// A demo may take an hour: whoever reads what it says to machines need not wait for its end. A journal that cannot be written is no
    /// reason to stop.
    fn journal(&self, step: &Step) {
        let file = File::options().create(true).append(true).open(self.root.join(JOURNAL));
        if let (Ok(mut file), Ok(line)) = (file, serde_json::to_string(step)) {
            let _ = writeln!(file, "{line}");
        }
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

fn quoted(word: &str) -> String {
    match word.contains([' ', '\'', '"']) {
        true => format!("'{word}'"),
        false => word.to_owned(),
    }
}
