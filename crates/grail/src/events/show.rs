//! `grail events show`: one event whole, or the story of a session.

use clap::Args;
use grail_flywheel::event::Event;
use grail_flywheel::index::{EventPlace, Index};
use serde_json::{Value as Json, json};

use super::{open_index, project_root, story};
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, Failure, RESET, Terminal, count, visible, visible_line};

/// More that could be meant are not listed.
const MAX_CANDIDATES: usize = 5;

/// Show an event with all it holds, or a session event by event
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail events show 0f3a9c12\n  grail events show 20261116-104500-3fa2c1")]
pub struct Arguments {
    /// The id of an event or the name of a session, or a beginning or an end that only one has
    #[arg(value_name = "ID|SESSION")]
    pub name: String,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = project_root()?;
    let mut index = open_index(&root, terminal)?;
    let name = arguments.name.as_str();
    let meant = index.answer(|index| {
        let sessions = index.find_sessions(name, MAX_CANDIDATES)?;
        // A session's whole name comes first and stands alone.
        let sessions = if sessions.first().is_some_and(|first| first == name) {
            vec![name.to_owned()]
        } else {
            sessions
        };
        let is_exact = sessions.len() == 1 && sessions[0] == name;
        let events = if is_exact { Vec::new() } else { index.find_events(name, MAX_CANDIDATES)? };
        Ok((sessions, events))
    })?;
    match (meant.0.as_slice(), meant.1.as_slice()) {
        ([], [place]) => show_event(&index, place, terminal),
        ([session], []) => show_session(&mut index, session, terminal),
        ([], []) => Err(Failure::with_hint(
            format!("there is no event and no session `{}`", visible_line(name)),
            "`grail events tail` shows the newest",
        )
        .into()),
        (sessions, places) => {
            let ids = places.iter().map(|place| place.id.to_string());
            let names: Vec<String> = sessions.iter().cloned().chain(ids).take(MAX_CANDIDATES).collect();
            Err(Failure::with_hint(
                format!("`{}` could be several", visible_line(name)),
                format!("name one of {}", visible_line(&names.join(", "))),
            )
            .into())
        }
    }
}

fn show_event(index: &Index, place: &EventPlace, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let Some(event) = index.read(place) else {
        return Err(Failure::new(format!("the event `{}` is not in its file any more", place.id)).into());
    };
    let value = serde_json::to_value(&event)?;
    if terminal.format() == Format::Json {
        terminal.json(&json!({"events": [value]}))?;
        return Ok(Exit::Fine);
    }
    terminal.line(format_args!("{}", story::line(&event, true)))?;
    for (name, value) in value.as_object().into_iter().flatten() {
        if matches!(name.as_str(), "version" | "at" | "session" | "event") {
            continue;
        }
        show_field(name, value, terminal)?;
    }
    terminal.line(format_args!("{BOLD}file{RESET}: .grail/events/{}", visible_line(&place.file)))?;
    Ok(Exit::Fine)
}

/// Text of several lines stands below its name, everything else beside it.
fn show_field(name: &str, value: &Json, terminal: &mut Terminal) -> anyhow::Result<()> {
    let name = visible_line(name);
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Array(_) | Json::Object(_) => serde_json::to_string_pretty(value)?,
        other => other.to_string(),
    };
    if text.trim_end().contains('\n') {
        terminal.line(format_args!("{BOLD}{name}{RESET}:"))?;
        return visible(text.trim_end())
            .lines()
            .try_for_each(|line| terminal.line(format_args!("    {line}")));
    }
    terminal.line(format_args!("{BOLD}{name}{RESET}: {}", visible_line(text.trim_end())))
}

fn show_session(index: &mut Index, session: &str, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let places = index.answer(|index| index.session_events(session))?;
    let mut events = places.iter().filter_map(|place| index.read(place));
    if terminal.format() == Format::Json {
        let events: Vec<Event> = events.collect();
        terminal.json(&json!({"events": events}))?;
        return Ok(Exit::Fine);
    }
    let Some(first) = events.next() else {
        return Err(
            Failure::new(format!("the session `{}` is not there any more", visible_line(session))).into()
        );
    };
    let mut about = vec![count(places.len(), "event")];
    about
        .extend(first.context.branch.as_deref().map(|branch| format!("branch {}", story::brief(branch, 60))));
    about.extend(first.context.model.as_deref().map(|model| format!("model {}", story::brief(model, 60))));
    about.extend(first.context.spec.as_deref().map(|spec| format!("by {}", story::brief(spec, 60))));
    terminal.line(format_args!("{BOLD}{}{RESET}: {}", visible_line(session), about.join(", ")))?;
    terminal.line(format_args!("{}", story::line(&first, false)))?;
    for event in events {
        terminal.line(format_args!("{}", story::line(&event, false)))?;
    }
    Ok(Exit::Fine)
}
