//! `grail events forget`: a session that must not be remembered.

use std::io::{self, IsTerminal};

use clap::Args;
use grail_flywheel::log::forget_session;
use serde_json::json;

use super::{open_index, project_root};
use crate::Exit;
use crate::cli::Format;
use crate::generate::ask::question;
use crate::render::{Failure, Terminal, count, visible_line};

/// Remove a session from the files, the index, and every dataset built later
///
/// Only its name stays, so that it cannot come back. Datasets that were built before are not changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grail events forget 20261116-104500-3fa2c1\n  grail events forget 20261116-104500-3fa2c1 --yes"
)]
pub struct Arguments {
    /// Its whole name
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = project_root()?;
    let session = arguments.session.as_str();
    let mut index = open_index(&root, terminal)?;
    let events = index.answer(|index| index.session_events(session))?.len();
    let is_forgotten = grail_flywheel::log::forgotten_sessions(&root)?.contains(session);
    if events == 0 && !is_forgotten {
        let near = index.answer(|index| index.find_sessions(session, 3))?;
        let hint = match near.as_slice() {
            [] => "`grail events tail` names the sessions".to_owned(),
            near => format!("did you mean {}?", visible_line(&near.join(", "))),
        };
        return Err(
            Failure::with_hint(format!("there is no session `{}`", visible_line(session)), hint).into()
        );
    }
    if !arguments.yes && !is_agreed(session, events)? {
        terminal.note(format_args!("nothing was forgotten"))?;
        return Ok(Exit::Findings);
    }
    let report = forget_session(&root, session)?;
    index.catch_up()?;
    match terminal.format() {
        Format::Json => terminal.json(&json!({"forgotten": report}))?,
        Format::Text => {
            let (events, files) = (count(report.events as usize, "event"), count(report.files, "file"));
            terminal.note(format_args!("forgotten: {events} of {files}"))?;
        }
    }
    Ok(Exit::Fine)
}

fn is_agreed(session: &str, events: usize) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Failure::with_hint(
            "forgetting cannot be undone, and nobody can be asked here",
            "add `--yes` if it is meant",
        )
        .into());
    }
    let events = count(events, "event");
    let answer = question(&format!("forget `{}` with {events} for ever? [y/N] ", visible_line(session)))?;
    Ok(matches!(answer.as_deref().map(str::trim), Some("y" | "yes")))
}
