//! Skills as tools of a model, in one conversation.
//!
//! The words are those of the command line: list, load, read; run and search are offered by whoever can do them. A body is told once. Of a
//! skill that is not trusted nothing is told but that it is there. Whatever a call comes to is an answer in JSON, never a panic.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::disclosure::{Listing, load_skill, read_skill_file};
use crate::{SkillError, Trust};

/// A tool as a model is told about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolDescription {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// A further tool, for instance one that runs a skill's scripts.
pub trait SkillTool {
    fn describe(&self) -> ToolDescription;

    /// `skill` is the one that the arguments name under `name`, if they do; it is trusted.
    fn call(&mut self, skill: Option<&CatalogueEntry>, arguments: &Value) -> Result<Value, SkillError>;
}

/// What has been told in one conversation.
pub struct Conversation<'c> {
    catalogue: &'c Catalogue,
    trust: &'c Trust,
    /// What a listing may cost unless the model asks for another number.
    budget: usize,
    /// The hash of each body that was told.
    loaded: BTreeMap<String, blake3::Hash>,
    more: Vec<Box<dyn SkillTool + 'c>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListCall {
    budget: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadCall {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadCall {
    name: String,
    path: String,
    #[serde(default = "first_line")]
    line: usize,
}

fn first_line() -> usize {
    1
}

/// What listings cost at most unless somebody says otherwise.
pub const DEFAULT_BUDGET: usize = 4_000;

const LIST: &str = "skills_list";
const LOAD: &str = "skills_load";
const READ: &str = "skills_read";

impl<'c> Conversation<'c> {
    pub fn new(catalogue: &'c Catalogue, trust: &'c Trust) -> Self {
        Self { catalogue, trust, budget: DEFAULT_BUDGET, loaded: BTreeMap::new(), more: Vec::new() }
    }

    pub fn with_budget(mut self, tokens: usize) -> Self {
        self.budget = tokens;
        self
    }

    /// Offers a further tool.
    pub fn with_tool(mut self, tool: impl SkillTool + 'c) -> Self {
        self.more.push(Box::new(tool));
        self
    }

    /// Every tool there is.
    pub fn tools(&self) -> Vec<ToolDescription> {
        let text = |about: &str| json!({"type": "string", "description": about});
        let mut tools = vec![
            ToolDescription {
                name: LIST,
                description: "List the skills there are: names, and what each is for.",
                parameters: object(
                    json!({"budget": {
                        "type": "integer", "minimum": 0,
                        "description": "Tokens that the list may take; what does not fit is counted"
                    }}),
                    &[],
                ),
            },
            ToolDescription {
                name: LOAD,
                description: "Load a skill before doing what it is for: its instructions, and which files it has.",
                parameters: object(json!({"name": text("The skill's name, as listed")}), &["name"]),
            },
            ToolDescription {
                name: READ,
                description: "Read one file of a skill that its instructions mention.",
                parameters: object(
                    json!({
                        "name": text("The skill's name, as listed"),
                        "path": text("The file below the skill's folder, such as `references/guide.md`"),
                        "line": {"type": "integer", "minimum": 1, "description": "The line to start at"}
                    }),
                    &["name", "path"],
                ),
            },
        ];
        tools.extend(self.more.iter().map(|tool| tool.describe()));
        tools
    }

    /// Answers a call. A mistake is an answer too: `{"error": …, "hint": …}`.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = match tool {
            LIST => read_arguments(arguments).map(|call| self.list(&call)),
            LOAD => read_arguments(arguments).and_then(|call| self.load(&call)),
            READ => read_arguments(arguments).and_then(|call| self.read(&call)),
            _ => self.call_other(tool, arguments),
        };
        answer.unwrap_or_else(|error| match error.hint() {
            Some(hint) => json!({"error": error.to_string(), "hint": hint}),
            None => json!({"error": error.to_string()}),
        })
    }

    fn list(&self, call: &ListCall) -> Value {
        let budget = call.budget.unwrap_or(self.budget);
        let listing =
            Listing::new(self.catalogue, Some(budget), |entry| self.trust.state(&entry.skill).is_trusted());
        json!({"skills": listing.text()})
    }

    fn load(&mut self, call: &LoadCall) -> Result<Value, SkillError> {
        let entry = self.trusted(&call.name)?;
        let loaded = load_skill(&entry.skill)?;
        let hash = blake3::hash(loaded.body.as_bytes());
        if self.loaded.insert(loaded.name.clone(), hash) == Some(hash) {
            return Ok(json!({"note": format!("`{}` is already loaded, see above", loaded.name)}));
        }
        let mut files: Vec<String> = loaded.files.into_iter().map(|file| file.path).collect();
        if loaded.more_files > 0 {
            files.push(format!("and {} more", loaded.more_files));
        }
        Ok(json!({"name": loaded.name, "body": loaded.body, "files": files}))
    }

    fn read(&self, call: &ReadCall) -> Result<Value, SkillError> {
        let entry = self.trusted(&call.name)?;
        let part = read_skill_file(&entry.skill, &call.path, call.line)?;
        let mut answer = json!({"path": part.path, "text": part.text});
        if let Some(next) = part.next_line {
            answer["note"] = format!("lines {} to {} of {}", part.line, next - 1, part.lines).into();
            answer["next_line"] = next.into();
        }
        Ok(answer)
    }

    fn call_other(&mut self, tool: &str, arguments: &Value) -> Result<Value, SkillError> {
        let Some(index) = self.more.iter().position(|other| other.describe().name == tool) else {
            let known = self.tools().iter().map(|tool| tool.name).collect::<Vec<_>>().join("`, `");
            return Err(SkillError::ToolCall {
                message: format!("there is no tool `{tool}`, only `{known}`"),
            });
        };
        let entry = match arguments.get("name").and_then(Value::as_str) {
            Some(name) => Some(self.trusted(name)?),
            None => None,
        };
        self.more[index].call(entry, arguments)
    }

    fn trusted(&self, name: &str) -> Result<&'c CatalogueEntry, SkillError> {
        let entry = self.catalogue.entry(name)?;
        self.trust.state(&entry.skill).require(&entry.skill)?;
        Ok(entry)
    }
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn read_arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, SkillError> {
    let none = json!({});
    let arguments = if arguments.is_null() { &none } else { arguments };
    if !arguments.is_object() {
        return Err(SkillError::ToolCall { message: "the arguments are not an object".to_owned() });
    }
    T::deserialize(arguments).map_err(|error| SkillError::ToolCall { message: error.to_string() })
}
