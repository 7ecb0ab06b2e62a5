//! A skill without a model: the template of the skill `python-skill`, with what the sentence says filled in.
//!
//! What comes out works: it answers every method, and an invocation does something that the sentence asked for. Requests to a service are
//! complete; tasks of a few kinds are done; for everything else the frame is there and the work is left to write, and the proposal says so.
//! The sentence is data: wherever it goes, it goes through [`python_text`] or through the TOML library.

mod task;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use grail_rules::BuiltInSkill;
use grail_skills::MANIFEST_FILE;
use grail_skills::runnable::{Manifest, is_skill_id};
use semver::Version;

use crate::AgentError;

use task::Task;

/// The name of the model that is none.
pub(super) const TEMPLATE: &str = "template";

const SCRIPT_FILE: &str = "skill.py";
const SKILL_OF_TEMPLATES: &str = "python-skill";
/// Of the sentence, in the manifest's description.
const MAX_DESCRIPTION_CHARACTERS: usize = 400;
const MAX_ID_WORDS: usize = 6;
const MAX_ID_BYTES: usize = 48;

/// What the template made.
pub(super) struct Made {
    pub(super) id: String,
    pub(super) files: BTreeMap<String, String>,
    pub(super) notes: Vec<String>,
}

pub(super) fn make(intent: &str, taken: &BTreeSet<String>) -> Result<Made, AgentError> {
    let id = free_id(skill_id_for(intent), taken);
    let task = Task::understand(intent);
    let manifest = Manifest {
        name: title(&id),
        version: Version::new(0, 1, 0),
        description: description(intent),
        entry_file: PathBuf::from(SCRIPT_FILE),
        min_python: None,
        min_uv_version: None,
        capabilities: task.capabilities(),
        credentials: task.credentials(),
        id: id.clone(),
    };
    let script = script(&id, intent, &task)?;
    let files = [(MANIFEST_FILE.to_owned(), manifest.to_toml()), (SCRIPT_FILE.to_owned(), script)];
    Ok(Made { id, files: files.into(), notes: task.notes() })
}

/// The id for an intent: its first words that say something.
pub fn skill_id_for(intent: &str) -> String {
    const EMPTY: [&str; 12] =
        ["a", "an", "the", "my", "our", "please", "that", "which", "skill", "i", "want", "need"];
    let start: String = intent.chars().take(1_000).collect::<String>().to_lowercase();
    let words = start.split(|character: char| !character.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !EMPTY.contains(word)).take(MAX_ID_WORDS);
    let mut id = String::new();
    for word in words {
        if id.len() + word.len() + 1 > MAX_ID_BYTES {
            break;
        }
        if !id.is_empty() {
            id.push('-');
        }
        id.push_str(word);
    }
    if is_skill_id(&id) { id } else { "generated-skill".to_owned() }
}

/// A text as a literal of Python: letters and plain signs as they are, everything else escaped.
pub(super) fn python_text(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(character);
            }
            '\n' => literal.push_str("\\n"),
            ' '..='~' => literal.push(character),
            _ if character.is_alphanumeric() => literal.push(character),
            _ if (character as u32) <= 0xffff => literal.push_str(&format!("\\u{:04x}", character as u32)),
            _ => literal.push_str(&format!("\\U{:08x}", character as u32)),
        }
    }
    literal.push('"');
    literal
}

fn free_id(id: String, taken: &BTreeSet<String>) -> String {
    if !taken.contains(&id) {
        return id;
    }
    let numbered = (2..).map(|number: u32| format!("{id}-{number}"));
    numbered.into_iter().find(|candidate| !taken.contains(candidate)).unwrap_or(id)
}

/// `send-email` as `Send email`.
fn title(id: &str) -> String {
    let text = id.replace(['-', '_'], " ");
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// The sentence on one line, as people and the search read it.
fn description(intent: &str) -> String {
    // Nor may anything turn the order of letters round for whoever reads it.
    let is_hidden = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let plain: String =
        intent.chars().map(|character| if is_hidden(character) { ' ' } else { character }).collect();
    let joined = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = joined.chars().take(MAX_DESCRIPTION_CHARACTERS).collect();
    if short.len() < joined.len() {
        short.push('…');
    }
    short
}

/// The template's script with its name, its sentence and its task. Everything else is the protocol and stays as it is.
fn script(id: &str, intent: &str, task: &Task) -> Result<String, AgentError> {
    let template = template_file("skill.py")?;
    let (before, rest) = split(&template, "def run(input: Any) -> Any:")?;
    let (_, after) = split(rest, "def handshake(")?;
    let (head, imports) = split(before, "import contextlib\n")?;
    let (metadata, _) = split(head, "\"\"\"")?;
    let (_, constants) = split(imports, "from collections.abc import Callable")?;
    let constants = constants.replacen("NAME = \"example\"", &format!("NAME = {}", python_text(id)), 1);
    let modules: BTreeSet<&str> = ["contextlib", "json", "sys"].into_iter().chain(task.modules()).collect();
    let imports: String = modules.iter().map(|module| format!("import {module}\n")).collect();
    let sentence = python_text(&description(intent));
    Ok(format!(
        "{metadata}{sentence}\n\n{imports}from collections.abc import Callable{constants}{}\n\n\ndef handshake({after}",
        task.code(&sentence)
    ))
}

/// The manifest and the script that every skill begins with: those of the program, whatever a project calls by the same name.
pub(super) fn template_file(name: &str) -> Result<String, AgentError> {
    let skill = BuiltInSkill::all().find(|skill| skill.name() == SKILL_OF_TEMPLATES);
    let bytes = skill.and_then(|skill| skill.file(&format!("templates/{name}")));
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.map(str::to_owned).ok_or_else(|| broken_template(name))
}

fn split<'t>(text: &'t str, mark: &str) -> Result<(&'t str, &'t str), AgentError> {
    text.split_once(mark).ok_or_else(|| broken_template(mark))
}

fn broken_template(part: &str) -> AgentError {
    AgentError::Other { message: format!("the template of runnable skills has no `{part}`"), hint: None }
}
