//! `SKILL.md`, read leniently: whatever can be made of it is used, and what is wrong with it is a warning.
//!
//! Only a file that is no text, or far too large, is an error. Names and descriptions come out in one line without control characters:
//! they end up in terminals and in prompts.

use std::collections::BTreeMap;
use std::path::Path;

use super::yaml::{self, Node, Value};
use crate::SkillProblem;

pub const SKILL_FILE: &str = "SKILL.md";

/// A larger `SKILL.md` is not loaded.
pub const MAX_SKILL_BYTES: u64 = 1024 * 1024;
/// A longer front matter is not read as YAML.
pub(crate) const MAX_FRONT_BYTES: usize = 64 * 1024;
/// A longer description is cut when it is loaded. The specification allows 1,024 characters.
const MAX_DESCRIPTION: usize = 4 * 1024;
/// More and longer values under `metadata` are left out.
const MAX_METADATA: usize = 64;
const MAX_VALUE: usize = 1024;

/// Fields that earlier skills have at top level and the specification wants under `metadata`.
pub(crate) const MIGRATED: [&str; 3] = ["version", "requires", "patterns"];
/// The fields of the specification.
pub(crate) const FIELDS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// A `SKILL.md` that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// What the file calls the skill, which need not be its folder's name.
    pub name: Option<String>,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub allowed_tools: Vec<String>,
    pub body: String,
    /// The line the body starts on, from 1.
    pub body_line: usize,
    pub warnings: Vec<SkillProblem>,
}

impl Document {
    /// Reads a file. `path` is for messages; the last folder in it is what the skill should be called.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, SkillProblem> {
        let text = decode(path, bytes)?;
        let mut document = Self::default();
        let mut parts = split(text);
        if parts.front.is_none() && text.starts_with("---\n") {
            let hint = "end it with a line `---`";
            document.warn(path, 1, "the front matter is not closed", Some(hint));
            // It goes as far as the first paragraph does.
            let end = text.find("\n\n").map_or(text.len(), |end| end + 1);
            let body_line = text[..end].matches('\n').count() + 1;
            parts = Parts { front: Some(&text["---\n".len()..end]), body: &text[end..], body_line };
        }
        document.body = parts.body.trim_matches(['\r', '\n']).to_owned();
        document.body_line = parts.body_line + leading_lines(parts.body);
        match parts.front {
            None => document.warn(
                path,
                1,
                "there is no front matter",
                Some("start the file with `---`, `name: …`, `description: …`, `---`"),
            ),
            Some(front) => document.read_front(path, front),
        }
        document.check_name(path);
        if document.description.is_empty() {
            document.description = one_line(first_paragraph(&document.body), MAX_VALUE).0;
            let hint = "say in `description` what the skill does and when to use it";
            document.warn(path, 1, "there is no description", Some(hint));
        }
        Ok(document)
    }

    fn read_front(&mut self, path: &Path, front: &str) {
        if front.len() > MAX_FRONT_BYTES {
            let message = format!("the front matter is larger than {MAX_FRONT_BYTES} bytes");
            self.warn(path, 1, message, None);
            return self.read_lines(front);
        }
        let yaml = match yaml::parse(front) {
            Ok(yaml) => yaml,
            Err(remark) => {
                let message = format!("the front matter is not valid YAML: {}", remark.message);
                let hint = "put values with `: ` or `#` in quotes; `grail skills validate` has all mistakes";
                self.warn(path, remark.line + 1, message, Some(hint));
                return self.read_lines(front);
            }
        };
        for remark in yaml.refused {
            self.warn(path, remark.line + 1, remark.message, None);
        }
        match yaml.root {
            Some(root) if root.is_map() => self.read_fields(path, &root),
            _ => self.warn(path, 2, "the front matter is no list of `key: value`", None),
        }
    }

    fn read_fields(&mut self, path: &Path, root: &Node) {
        let mut migrated = Vec::new();
        for (field, key, value) in root.fields() {
            match field {
                "name" => self.name = Some(one_line(&value.flat_text(), MAX_VALUE).0),
                "description" => {
                    let (text, hidden) = one_line(&value.flat_text(), MAX_DESCRIPTION);
                    self.description = text;
                    if hidden > 0 {
                        let message = format!(
                            "the description has control or invisible characters, left out: {hidden}"
                        );
                        self.warn(path, key.line + 1, message, None);
                    }
                }
                "license" => self.license = Some(one_line(&value.flat_text(), MAX_VALUE).0),
                "compatibility" => self.compatibility = Some(one_line(&value.flat_text(), MAX_VALUE).0),
                "allowed-tools" => self.allowed_tools = tool_names(value),
                "metadata" => self.read_metadata(path, key.line + 1, value),
                other => {
                    let (other, _) = one_line(other, 64);
                    if MIGRATED.contains(&other.as_str()) {
                        let (text, _) = one_line(&value.flat_text(), MAX_VALUE);
                        self.metadata.entry(other.clone()).or_insert(text);
                        migrated.push((other, key.line + 1));
                    } else {
                        let message = format!("`{other}` is no field of a skill");
                        self.warn(path, key.line + 1, message, Some("put it under `metadata`"));
                    }
                }
            }
        }
        if let Some((_, line)) = migrated.first() {
            let names: Vec<String> = migrated.iter().map(|(name, _)| format!("`{name}`")).collect();
            let verb = if names.len() == 1 { "belongs" } else { "belong" };
            let message = format!("{} {verb} under `metadata`", names.join(", "));
            let line = *line;
            self.warn(path, line, message, Some("`grail skills validate --fix` moves it there"));
        }
    }

    fn read_metadata(&mut self, path: &Path, line: usize, value: &Node) {
        if !value.is_map() {
            return self.warn(path, line, "`metadata` is no list of `key: value`", None);
        }
        for (name, _, value) in value.fields().take(MAX_METADATA) {
            self.metadata.insert(one_line(name, 64).0, one_line(&value.flat_text(), MAX_VALUE).0);
        }
        let more = value.fields().count().saturating_sub(MAX_METADATA);
        if more > 0 {
            self.warn(path, line, format!("`metadata` has {more} entries too many, left out"), None);
        }
    }

    /// What can be had from front matter that is no YAML: `key: value` on lines of their own, with indented lines belonging to the one above.
    fn read_lines(&mut self, front: &str) {
        let mut fields: Vec<(&str, String)> = Vec::new();
        for line in front.lines().take(MAX_VALUE) {
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = fields.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            } else if let Some((key, value)) = line.split_once(':')
                && FIELDS.contains(&key.trim())
            {
                let value = value.trim();
                let value = if matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+") { "" } else { value };
                fields.push((key.trim(), value.to_owned()));
            } else {
                // A field that nobody knows must not have its lines taken for another's.
                fields.push(("", String::new()));
            }
        }
        for (key, value) in fields {
            let (value, _) = one_line(unquoted(value.trim()), MAX_DESCRIPTION);
            match key {
                "name" => self.name = Some(value),
                "description" => self.description = value,
                "license" => self.license = Some(value),
                "compatibility" => self.compatibility = Some(value),
                _ => {}
            }
        }
    }

    fn check_name(&mut self, path: &Path) {
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let (Some(folder), Some(name)) = (folder, &self.name) else { return };
        if folder != *name {
            let message = format!("the skill calls itself `{name}`, its folder `{folder}`");
            self.warn(path, 1, message, Some("the folder's name counts; make both the same"));
        }
    }

    fn warn(&mut self, path: &Path, line: usize, message: impl Into<String>, hint: Option<&str>) {
        let problem = SkillProblem::new(path, line, message);
        self.warnings.push(match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }
}

/// The file as text, or why it is none.
pub(crate) fn decode<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, SkillProblem> {
    if bytes.len() as u64 > MAX_SKILL_BYTES {
        return Err(too_large(path));
    }
    let not_text = |_| {
        SkillProblem::new(path, 0, "the file is not text in UTF-8")
            .hint("a skill is Markdown; save it in UTF-8")
    };
    let text = str::from_utf8(bytes).map_err(not_text)?;
    if text.contains('\0') {
        return Err(SkillProblem::new(path, 0, "the file is binary").hint("a skill is Markdown"));
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

pub(crate) fn too_large(path: &Path) -> SkillProblem {
    SkillProblem::new(path, 0, format!("the file is larger than {MAX_SKILL_BYTES} bytes"))
        .hint("move what is not always needed to files in `references/`")
}

pub(crate) struct Parts<'t> {
    /// Between the lines `---`.
    pub(crate) front: Option<&'t str>,
    pub(crate) body: &'t str,
    /// The line the body starts on, from 1.
    pub(crate) body_line: usize,
}

/// Front matter lies between a first line `---` and the next such line. Without the second one, everything is body.
pub(crate) fn split(text: &str) -> Parts<'_> {
    let whole = Parts { front: None, body: text, body_line: 1 };
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return whole };
    let mut at = first.len();
    for (index, line) in lines.enumerate() {
        let start = at;
        at += line.len();
        if line.trim_end() == "---" {
            return Parts { front: Some(&text[first.len()..start]), body: &text[at..], body_line: index + 3 };
        }
    }
    whole
}

fn leading_lines(body: &str) -> usize {
    let blank = body.len() - body.trim_start_matches(['\r', '\n']).len();
    body[..blank].matches('\n').count()
}

/// Text in one line, with runs of blanks as one and without characters that are not seen; and how many of these there were.
pub(crate) fn one_line(text: &str, max_characters: usize) -> (String, usize) {
    let mut line = String::new();
    let mut hidden = 0;
    let mut characters = 0;
    for character in text.trim().chars() {
        if character.is_whitespace() {
            if !line.ends_with(' ') {
                line.push(' ');
                characters += 1;
            }
        } else if is_hidden(character) {
            hidden += 1;
        } else {
            line.push(character);
            characters += 1;
        }
        if characters >= max_characters {
            line.push('…');
            break;
        }
    }
    (line.trim_end().to_owned(), hidden)
}

/// Control characters, and those that turn text round or are not there for whoever reads it. The last range can smuggle whole sentences.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn tool_names(value: &Node) -> Vec<String> {
    match &value.value {
        Value::List(items) => items.iter().map(|item| one_line(&item.flat_text(), 256).0).collect(),
        _ => value.flat_text().split_whitespace().map(|name| one_line(name, 256).0).collect(),
    }
}

fn unquoted(value: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value)
}

/// The first lines of prose.
fn first_paragraph(body: &str) -> &str {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let is_prose = !line.trim().is_empty() && !line.starts_with(['#', '`', '<', '|']);
        if is_prose {
            let rest = &body[at..];
            return rest.split("\n\n").next().unwrap_or(rest);
        }
        at += line.len();
    }
    ""
}
