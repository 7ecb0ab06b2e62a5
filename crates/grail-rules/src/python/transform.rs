//! Codemods written in Python: `def transform(tree)`, run in the sandbox over the tree as data.
//!
//! The script returns a tree, never text. The source is printed from that tree on this side: what the tree holds unchanged comes out byte
//! for byte, and a result that does not parse is refused.

use std::path::Path;

use grail_code::data::{codegen, from_json};
use grail_code::{ModuleName, Parsed, Source, parse_module};
use serde_json::json;

use super::runner::ScriptRunner;
use super::script::{Entry, Script};
use super::tree::tree_text;
use crate::{Options, RuleProblem};

/// A script with a function `transform`, and what it is called with.
pub struct Transform {
    script: Script,
    options: Options,
}

impl Transform {
    /// `path` is shown in messages.
    pub fn read(path: &Path, source: &str, options: Options) -> Result<Self, RuleProblem> {
        Ok(Self { script: Script::read(path, source, Entry::Transform)?, options })
    }

    /// The changed text of a file; `None` if the script changes nothing.
    pub fn apply(
        &self,
        runner: &ScriptRunner,
        path: &str,
        module: &ModuleName,
        parsed: &Parsed,
    ) -> Result<Option<String>, TransformError> {
        let tree = tree_text(parsed).ok_or(TransformError::TooDeep)?;
        let inputs = json!({"tree": tree, "path": path, "module": module.name, "options": self.options});
        let answer = runner.call(&self.script, inputs)?;
        if answer == "null" {
            return Ok(None);
        }
        let returned = from_json(&answer)
            .map_err(|error| self.script.problem(format!("`transform` returned no tree: {error}")))?;
        if returned.get("type").and_then(serde_json::Value::as_str) != Some("Module") {
            let problem = self.script.problem("`transform` returned something else than the file's tree");
            return Err(problem
                .hint("return the whole tree, or change it in place and return `None`")
                .into());
        }
        let text = codegen(&returned);
        if text == parsed.text() {
            return Ok(None);
        }
        let result = parse_module(Source::from_text(text.as_str()));
        match result.diagnostics().first() {
            Some(error) if parsed.is_valid() => {
                Err(TransformError::Broken { line: error.start.line, message: error.message.clone() })
            }
            _ => Ok(Some(text)),
        }
    }
}

/// Why a file was not changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TransformError {
    /// The script's fault, and so that of every file.
    #[error(transparent)]
    Script(Box<RuleProblem>),
    #[error("the code nests too deeply to be shown to a script")]
    TooDeep,
    #[error("the script's result does not parse: {message} on line {line}; nothing was changed")]
    Broken { line: u32, message: String },
}

impl From<RuleProblem> for TransformError {
    fn from(problem: RuleProblem) -> Self {
        Self::Script(Box::new(problem))
    }
}
