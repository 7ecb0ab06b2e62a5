//! `skills_run`: scripts of trusted skills as a tool of a model.
//!
//! Whether the skill is trusted was asked by the conversation. Here the call becomes a bounded run, and its outcome an answer.

use std::path::PathBuf;
use std::time::Duration;

use grail_rules::Origin;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::SkillError;
use crate::catalogue::CatalogueEntry;
use crate::conversation::{SkillTool, ToolDescription};
use crate::runnable::{Ending, StartSettings};
use crate::script::{ScriptRun, run_script};

/// Runs scripts for a conversation.
pub struct RunTool {
    pub settings: StartSettings,
    /// Where scripts run.
    pub directory: PathBuf,
    pub timeout: Duration,
    /// More output ends a run.
    pub max_output_bytes: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunCall {
    #[serde(rename = "name")]
    _name: String,
    script: PathBuf,
    #[serde(default)]
    arguments: Vec<String>,
}

impl SkillTool for RunTool {
    fn describe(&self) -> ToolDescription {
        ToolDescription {
            name: "skills_run",
            description: "Run a script of a skill, as its instructions say.",
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The skill's name, as listed"},
                    "script": {"type": "string", "description": "Such as `scripts/report.py`"},
                    "arguments": {"type": "array", "items": {"type": "string"}, "description": "What the script gets"}
                },
                "required": ["name", "script"],
                "additionalProperties": false
            }),
        }
    }

    fn call(&mut self, skill: Option<&CatalogueEntry>, arguments: &Value) -> Result<Value, SkillError> {
        let failed = |message: String| SkillError::ToolCall { message };
        let call = RunCall::deserialize(arguments).map_err(|error| failed(error.to_string()))?;
        let Some(CatalogueEntry { skill, .. }) = skill else {
            return Err(failed("the arguments name no skill".to_owned()));
        };
        if skill.origin == Origin::BuiltIn {
            return Err(failed(format!("the skill `{}` is built in and has no scripts", skill.name)));
        }
        let run = ScriptRun {
            skill: skill.name.clone(),
            folder: skill.folder.clone(),
            script: call.script,
            arguments: call.arguments.into_iter().map(Into::into).collect(),
            directory: self.directory.clone(),
            writes: false,
            timeout: self.timeout,
            max_output_bytes: self.max_output_bytes,
        };
        let output = run_script(&run, &self.settings)?;
        let ending = match output.ending {
            Ending::Code(code) => json!({"exit": code}),
            Ending::Signal(signal) => json!({"signal": signal}),
            Ending::Unknown => json!("unknown"),
        };
        Ok(json!({"ending": ending, "stdout": output.stdout, "stderr": output.stderr}))
    }
}
