//! Codemods as data: a name and a list of rules, each a pattern and what becomes of its matches.
//!
//! ```yaml
//! name: modern-paths
//! description: Use pathlib instead of os.path
//! rules:
//!   - pattern: os.path.exists($PATH)
//!     replace: pathlib.Path($PATH).exists()
//!     add_imports: [pathlib]
//!     remove_imports: [os]
//! ```

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;
use thiserror::Error;

use super::template::{Template, TemplateError};
use crate::Position;
use crate::imports::ImportRequest;
use crate::query::{Pattern, PatternError};

/// A declarative codemod. Its rules run one after the other, each on what the one before it left.
pub struct Codemod {
    pub name: String,
    pub description: String,
    pub rules: Vec<Rule>,
}

/// A pattern, and what becomes of its matches. Imports change only in files where the rule matched.
pub struct Rule {
    pub pattern: Pattern,
    /// `None` only reports the matches.
    pub template: Option<Template>,
    pub add_imports: Vec<ImportRequest>,
    /// Removed if nothing uses them any more.
    pub remove_imports: Vec<ImportRequest>,
    /// A word on each match, for the reader of the report.
    pub message: Option<String>,
}

/// A mistake in a codemod, with the line of the file it stands on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{message}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct DefinitionError {
    pub line: Option<u64>,
    pub message: String,
    /// The offending code with a caret below it.
    pub snippet: Option<String>,
    pub hint: Option<String>,
}

impl Codemod {
    /// Reads a codemod from YAML (or JSON, which is YAML).
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let data: CodemodData = serde_saphyr::from_str(text).map_err(|error| DefinitionError {
            line: error.location().map(|location| location.line()).filter(|line| *line > 0),
            message: plain_message(&error),
            snippet: None,
            hint: None,
        })?;
        if data.rules.is_empty() {
            return Err(DefinitionError {
                line: None,
                message: "the codemod has no rules".to_owned(),
                snippet: None,
                hint: Some("give `rules`, a list of mappings with `pattern` and `replace`".to_owned()),
            });
        }
        let rules = data.rules.into_iter().map(RuleData::compile).collect::<Result<_, _>>()?;
        Ok(Self { name: data.name, description: data.description, rules })
    }

    /// A codemod of one rule, as given on a command line.
    pub fn replace(pattern: &str, replacement: &str) -> Result<Self, DefinitionError> {
        let pattern_text = pattern;
        let pattern = Pattern::parse(pattern).map_err(|error| pattern_error(&error, pattern_text, None))?;
        let template = Template::new(replacement, &pattern, Some(pattern_text))
            .map_err(|error| template_error(&error, replacement, None))?;
        let rule = Rule {
            pattern,
            template: Some(template),
            add_imports: Vec::new(),
            remove_imports: Vec::new(),
            message: None,
        };
        Ok(Self { name: "replace".to_owned(), description: String::new(), rules: vec![rule] })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodemodData {
    name: String,
    #[serde(default)]
    description: String,
    rules: Vec<Spanned<RuleData>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleData {
    pattern: Option<Spanned<String>>,
    #[serde(rename = "match")]
    structure: Option<Spanned<Value>>,
    #[serde(rename = "where")]
    constraints: Option<Spanned<Value>>,
    replace: Option<Spanned<String>>,
    #[serde(default)]
    add_imports: Vec<Spanned<String>>,
    #[serde(default)]
    remove_imports: Vec<Spanned<String>>,
    message: Option<String>,
}

impl RuleData {
    fn compile(rule: Spanned<Self>) -> Result<Rule, DefinitionError> {
        let at = rule.referenced.line();
        let rule = rule.value;
        let pattern = rule.pattern(at)?;
        let template = match &rule.replace {
            Some(text) => Some(
                Template::new(&text.value, &pattern, rule.pattern.as_ref().map(|code| code.value.as_str()))
                    .map_err(|error| template_error(&error, &text.value, Some(text.referenced.line())))?,
            ),
            None => None,
        };
        if template.is_none() && rule.message.is_none() && rule.add_imports.is_empty() {
            return Err(DefinitionError {
                line: Some(at),
                message: "the rule does nothing".to_owned(),
                snippet: None,
                hint: Some(
                    "give `replace` (an empty text removes the matches), `message` or `add_imports`"
                        .to_owned(),
                ),
            });
        }
        Ok(Rule {
            pattern,
            template,
            add_imports: requests(&rule.add_imports)?,
            remove_imports: requests(&rule.remove_imports)?,
            message: rule.message,
        })
    }

    fn pattern(&self, at: u64) -> Result<Pattern, DefinitionError> {
        let (text, line, data) = match (&self.pattern, &self.structure) {
            (Some(code), None) => {
                (code.value.as_str(), code.referenced.line(), Value::String(code.value.clone()))
            }
            (None, Some(structure)) => ("", structure.referenced.line(), structure.value.clone()),
            _ => {
                return Err(DefinitionError {
                    line: Some(at),
                    message: "a rule has either a `pattern` (code) or a `match` (structure)".to_owned(),
                    snippet: None,
                    hint: None,
                });
            }
        };
        let data = match (&self.constraints, data) {
            (None, data) => data,
            (Some(constraints), Value::Object(mut map)) => {
                map.insert("where".to_owned(), constraints.value.clone());
                Value::Object(map)
            }
            (Some(constraints), code) => {
                serde_json::json!({ "pattern": code, "where": constraints.value })
            }
        };
        let pattern = match &data {
            Value::String(code) => Pattern::code(code),
            structure => Pattern::structural(structure),
        };
        pattern.map_err(|error| pattern_error(&error, text, Some(line)))
    }
}

fn requests(texts: &[Spanned<String>]) -> Result<Vec<ImportRequest>, DefinitionError> {
    let parse = |text: &Spanned<String>| {
        ImportRequest::parse(&text.value).map_err(|error| DefinitionError {
            line: Some(text.referenced.line()),
            message: error.to_string(),
            snippet: None,
            hint: Some("write `module`, `module:name` or `module:name as alias`".to_owned()),
        })
    };
    texts.iter().map(parse).collect()
}

fn pattern_error(error: &PatternError, text: &str, line: Option<u64>) -> DefinitionError {
    let mut message = format!("invalid pattern: {}", error.message);
    if !error.path.is_empty() {
        message.push_str(&format!(" (at `{}`)", error.path));
    }
    let at = error.span.map(|span| {
        let source = crate::Source::from_text(text);
        source.position(span.start.min(source.text().len() as u32))
    });
    let snippet = at.map(|at| caret(text, at));
    DefinitionError { line: line_within(line, at), message, snippet, hint: error.hint.clone() }
}

fn template_error(error: &TemplateError, text: &str, line: Option<u64>) -> DefinitionError {
    let snippet = error.at.map(|at| caret(text, at));
    let line = line_within(line, error.at);
    DefinitionError { line, message: error.to_string(), snippet, hint: error.hint.clone() }
}

/// The line of the file, for a place in a text that starts on `line`.
fn line_within(line: Option<u64>, at: Option<Position>) -> Option<u64> {
    line.map(|line| line + at.map_or(0, |at| u64::from(at.line) - 1))
}

/// A line of code, and a caret below a column of it.
fn caret(text: &str, at: Position) -> String {
    let line = text.lines().nth(at.line.saturating_sub(1) as usize).unwrap_or_default();
    format!("  {line}\n  {}^", " ".repeat(at.column.saturating_sub(1) as usize))
}

/// The library's message without the place, which is told apart.
fn plain_message(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.split(" at line ").next().unwrap_or(line);
    line.trim_start_matches("error: ").trim_end_matches([':', ' ']).to_owned()
}
