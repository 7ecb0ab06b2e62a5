//! `grail events rebuild`: the index anew.

use clap::Args;
use grail_flywheel::index::Index;
use grail_flywheel::log::set_torn_aside;
use serde_json::json;

use super::{Reading, project_root, tell_empty};
use crate::Exit;
use crate::cli::Format;
use crate::render::{Terminal, count};

/// Make `.grail/grail.db` anew from the files of events
///
/// The new one is made beside the old one and put in its place whole; other Grails may go on meanwhile. Never needed for right numbers:
/// a database that is damaged or gone is noticed and made anew by itself. Half a line that a crash left at the end of a file is set aside in
/// `.grail/events/torn/`.
#[derive(Debug, Args)]
pub struct Arguments {}

pub(super) fn run(_arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = project_root()?;
    // Where nothing can be written, nothing can be set aside; the events are read all the same.
    let torn = set_torn_aside(&root).unwrap_or_default();
    torn.iter().try_for_each(|notice| terminal.warning(format_args!("{notice}")))?;
    let mut index = Index::open(&root)?;
    let known = index.notes().len();
    let mut reading = Reading::default();
    let found = index.rebuild_with(&mut |done, total| reading.advance(done, total))?;
    drop(reading);
    // What was wrong with the old one is mended now.
    let is_replaced = index.is_kept();
    if !is_replaced {
        index.notes().iter().skip(known).try_for_each(|note| terminal.warning(format_args!("{note}")))?;
    }
    let unreadable = index.answer(|index| index.unreadable())?;
    if terminal.format() == Format::Json {
        terminal.json(&json!({"rebuilt": {
            "kept": is_replaced, "events": found.events, "files": found.files, "bytes": found.bytes,
            "set_aside": torn,
            "unreadable": unreadable.iter().map(|(file, line, reason)| json!({"file": file, "line": line, "reason": reason})).collect::<Vec<_>>(),
        }}))?;
        return Ok(Exit::Fine);
    }
    for (file, line, reason) in &unreadable {
        terminal.warning(format_args!("`{file}:{line}`: {reason}"))?;
    }
    if found.events == 0 {
        tell_empty(terminal)?;
    } else {
        let (events, files) = (count(found.events as usize, "event"), count(found.files as usize, "file"));
        terminal.note(format_args!("{events} of {files} are in the index"))?;
    }
    Ok(Exit::Fine)
}
