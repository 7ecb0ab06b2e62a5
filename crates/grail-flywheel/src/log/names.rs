//! Which file holds what.
//!
//! Nothing but names of this form is read or written, so no name from outside can lead out of the folder.

use std::path::{Path, PathBuf};

use crate::event::is_session_name;

/// Where the events of a project are.
pub fn events_folder(root: &Path) -> PathBuf {
    root.join(".grail").join("events")
}

/// Holds back forgetting while lines are written.
pub(crate) const LOCK_FILE: &str = ".lock";
/// Which sessions are forgotten.
pub(crate) const TOMBSTONES: &str = "forgotten.jsonl";
/// Tails of files that a crash left behind.
pub(crate) const TORN_FOLDER: &str = "torn";

const ENDING: &str = ".jsonl";
const DAY_LENGTH: usize = "2026-01-31".len();

/// `2026-11-16-SESSION.jsonl`, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventFileName<'a> {
    /// When its first event was kept, as `2026-11-16`.
    pub day: &'a str,
    pub session: &'a str,
}

impl<'a> EventFileName<'a> {
    pub fn parse(name: &'a str) -> Option<Self> {
        let stem = name.strip_suffix(ENDING)?;
        let (day, rest) = stem.split_at_checked(DAY_LENGTH)?;
        let session = rest.strip_prefix('-')?;
        (is_day(day) && is_session_name(session)).then_some(Self { day, session })
    }

    /// A torn piece is called like its file, and something after that.
    pub(crate) fn parse_torn(name: &'a str) -> Option<Self> {
        let end = name.find(ENDING)? + ENDING.len();
        Self::parse(&name[..end])
    }
}

pub(crate) fn event_file(day: &str, session: &str) -> String {
    format!("{day}-{session}{ENDING}")
}

/// The day of a moment, if it begins with one.
pub(crate) fn day_of(moment: &str) -> Option<&str> {
    moment.get(..DAY_LENGTH).filter(|day| is_day(day))
}

fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == DAY_LENGTH
        && bytes.iter().enumerate().all(|(place, byte)| match place {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
