//! Answers that were given, kept as they come: `.grail/answers/HASH.jsonl`, one file for each suite, model and way of asking.
//!
//! Only answers are kept, no verdicts: those follow from the rules of today. An evaluation that was interrupted goes on where it was, and an arm
//! that was asked before is not asked again. A line that cannot be read was cut off in the middle; it is asked for again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::answer::Asked;

const FOLDER: &str = "answers";
/// What is beyond that is somebody else's.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// What a model said to one prompt, try by try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Given {
    pub prompt: String,
    pub seed: u64,
    pub tries: Vec<Asked>,
    /// Why there is no answer, or no better one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A prompt and a seed.
type Key = (String, u64);

/// The answers of one arm, on disk.
pub struct Answers {
    path: PathBuf,
    known: BTreeMap<Key, Given>,
    /// Those that are in events already.
    told: BTreeSet<Key>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Given(Given),
    /// All answers before this line are in the events.
    Told,
}

impl Answers {
    /// The answers under this key so far.
    pub fn open(root: &Path, key: &str) -> Result<Self, AgentError> {
        let folder = root.join(".grail").join(FOLDER);
        let path = folder.join(format!("{key}.jsonl"));
        let storage = |source| AgentError::Storage { path: path.display().to_string(), source };
        fs::create_dir_all(&folder).map_err(storage)?;
        if folder.symlink_metadata().map_err(storage)?.is_symlink() {
            return Err(storage(std::io::Error::other("the folder is a link to elsewhere")));
        }
        let mut answers = Self { path: path.clone(), known: BTreeMap::new(), told: BTreeSet::new() };
        match File::open(&path) {
            Ok(file) => answers.read(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(storage(error)),
        }
        Ok(answers)
    }

    fn read(&mut self, file: File) {
        let lines = BufReader::new(file.take(MAX_FILE_BYTES)).split(b'\n').map_while(Result::ok);
        for line in lines.filter_map(|line| serde_json::from_slice::<Line>(&line).ok()) {
            match line {
                // The first answer counts: asking twice is no second chance.
                Line::Given(given) => {
                    self.known.entry((given.prompt.clone(), given.seed)).or_insert(given);
                }
                Line::Told => self.told = self.known.keys().cloned().collect(),
            }
        }
    }

    pub fn get(&self, prompt: &str, seed: u64) -> Option<&Given> {
        self.known.get(&(prompt.to_owned(), seed))
    }

    /// Whether an answer is in the events already.
    pub fn is_told(&self, prompt: &str, seed: u64) -> bool {
        self.told.contains(&(prompt.to_owned(), seed))
    }

    /// Where answers are written, for whoever cannot wait for the rest.
    pub fn journal(&self) -> Journal {
        Journal { path: self.path.clone() }
    }

    /// Knows an answer that was written.
    pub fn remember(&mut self, given: Given) {
        self.known.entry((given.prompt.clone(), given.seed)).or_insert(given);
    }

    /// Everything so far is in the events.
    pub fn mark_told(&mut self) -> Result<(), AgentError> {
        self.told = self.known.keys().cloned().collect();
        self.journal().write(&Line::Told)
    }
}

/// The file of one arm's answers.
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// Keeps an answer before anybody hears of it.
    pub fn keep(&self, given: &Given) -> Result<(), AgentError> {
        self.write(&Line::Given(given.clone()))
    }

    /// One line, in one piece, so that two writers do not mix theirs. A line that was cut off before is ended first.
    fn write(&self, line: &Line) -> Result<(), AgentError> {
        let storage = |source| AgentError::Storage { path: self.path.display().to_string(), source };
        let mut text = serde_json::to_string(line).map_err(|error| storage(error.into()))?;
        text.push('\n');
        if !is_ended(&self.path).map_err(storage)? {
            text.insert(0, '\n');
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(storage)?;
        file.write_all(text.as_bytes()).map_err(storage)
    }
}

/// Whether the last line of a file is whole.
fn is_ended(path: &Path) -> std::io::Result<bool> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
