//! What a reader could not make an event of, and where. Files come from anywhere: what they say is quoted short and without control characters.

use std::fmt;

use uuid::Uuid;

use crate::event::EVENT_VERSION;

/// How much of a stranger's text is quoted.
const MAX_QUOTED: usize = 120;

/// A line, or a whole file, that gave no event. Reading goes on after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadProblem {
    /// The name of the file in `.grail/events/`.
    pub file: String,
    /// From 1; 0 if it is about the file.
    pub line: u64,
    /// Where the line begins.
    pub offset: u64,
    /// Its bytes, with the line feed.
    pub length: u64,
    pub kind: ReadProblemKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadProblemKind {
    /// The file ends in the middle of this line. It may go on later, so a reader that comes back starts here again.
    Torn,
    /// The line is longer than any event and was not looked at.
    TooLong,
    NotUtf8,
    /// No event, and why.
    Malformed(String),
    /// Written by a Grail that knows more.
    NewerVersion(u64),
    /// An event of a kind that this Grail does not know.
    UnknownKind(String),
    /// An event of that id was read before.
    Duplicate(Uuid),
    /// The line belongs to another session than its file.
    OtherSession(String),
    /// The file is of a session that was forgotten.
    Forgotten,
    /// The file is shorter than what was read of it before, or its lines are others.
    Rewritten,
    /// The file cannot be read, and why.
    Unreadable(String),
}

impl ReadProblem {
    /// Whether the next reader should begin at this line again instead of after it.
    pub fn may_go_on(&self) -> bool {
        matches!(self.kind, ReadProblemKind::Torn | ReadProblemKind::Unreadable(_))
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match &self.kind {
            ReadProblemKind::Torn => Some("the next event of this session sets it aside".to_owned()),
            ReadProblemKind::NewerVersion(_) | ReadProblemKind::UnknownKind(_) => {
                Some("update Grail to read it; it is kept as it is".to_owned())
            }
            ReadProblemKind::Forgotten => {
                let session = super::EventFileName::parse(&self.file).map_or("SESSION", |name| name.session);
                Some(format!("run `grail events forget {session}` to remove the file"))
            }
            ReadProblemKind::Rewritten => Some("run `grail events rebuild`".to_owned()),
            _ => None,
        }
    }
}

impl fmt::Display for ReadProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "`{}`: {}", self.file, self.kind),
            line => write!(formatter, "`{}:{line}`: {}", self.file, self.kind),
        }
    }
}

impl fmt::Display for ReadProblemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn => write!(formatter, "the file ends in the middle of this line"),
            Self::TooLong => write!(formatter, "the line is too long for an event"),
            Self::NotUtf8 => write!(formatter, "the line is not UTF-8"),
            Self::Malformed(why) => write!(formatter, "this is no event: {why}"),
            Self::NewerVersion(version) => write!(
                formatter,
                "written by a newer Grail: version {version} of the format, this one knows {EVENT_VERSION}"
            ),
            Self::UnknownKind(kind) => {
                write!(formatter, "events of the kind `{kind}` are unknown to this Grail")
            }
            Self::Duplicate(id) => write!(formatter, "the event `{id}` was read before"),
            Self::OtherSession(session) => {
                write!(formatter, "this is an event of the session `{session}`, not of the file's")
            }
            Self::Forgotten => write!(formatter, "the session was forgotten, but its file is here"),
            Self::Rewritten => write!(formatter, "the file is not the one that was read before"),
            Self::Unreadable(why) => write!(formatter, "{why}"),
        }
    }
}

/// A stranger's text, short and without control characters.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |character: char| matches!(character, '\'' | '"' | '\\');
    let mut quoted = String::new();
    for character in text.chars().take(MAX_QUOTED) {
        match is_plain(character) {
            true => quoted.push(character),
            false => quoted.extend(character.escape_debug()),
        }
    }
    if text.chars().nth(MAX_QUOTED).is_some() {
        quoted.push('…');
    }
    quoted
}
