//! Calling a written tool: its code, a wrapper with the signature that was promised, and one call, in the sandbox.

use std::path::PathBuf;
use std::sync::Arc;

use grail_sandbox::{
    Call, Context, Ending, Outcome, ParameterKind, Policies, Preset, Schema, Signature, Tool, ToolError,
    Value, WorkerConfig, Workers,
};
use serde_json::{Map, Value as Json, json};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use super::ToolDraft;
use super::annotation::schema_of;
use crate::AgentError;
use crate::workspace::Workspace;

/// The function that has the signature which was promised; the tool's own one is called through it, and checked against it.
const WRAPPER: &str = "call_written_tool";

/// A tool ready to be run: what it takes, and where.
pub(super) struct Runnable {
    pub(super) signature: Signature,
    arguments: Schema,
    code: String,
    program: PathBuf,
    /// Workers are started at the first call.
    context: OnceCell<Context>,
}

impl Runnable {
    pub(super) fn new(workspace: &Workspace, draft: &ToolDraft) -> Result<Self, String> {
        let written = draft.signature()?;
        if written.is_async {
            return Err("a written tool is a plain `def`".to_owned());
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for parameter in &written.parameters {
            if !matches!(parameter.kind, ParameterKind::Normal | ParameterKind::KeywordOnly) {
                return Err(format!("`{}` has to be a parameter that can be given by name", parameter.name));
            }
            let mut property = schema_of(&parameter.annotation)?;
            match &parameter.default {
                Some(default) => {
                    if let Some(default) = literal(default) {
                        property["default"] = default;
                    }
                }
                None => required.push(parameter.name.clone()),
            }
            properties.insert(parameter.name.clone(), property);
        }
        let arguments = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let arguments = Schema::from_json(arguments).map_err(|error| error.to_string())?;
        let result = Schema::from_json(schema_of(&written.returns)?).map_err(|error| error.to_string())?;
        let signature = Signature::from_schemas(&draft.name, Some(&arguments), Some(&result))
            .map_err(|error| error.to_string())?
            .with_doc(draft.docstring.trim());
        let passed: Vec<String> =
            written.parameters.iter().map(|parameter| format!("{0}={0}", parameter.name)).collect();
        let declared: Vec<String> = written
            .parameters
            .iter()
            .map(|parameter| match &parameter.default {
                Some(default) => format!("{}: {} = {default}", parameter.name, parameter.annotation),
                None => format!("{}: {}", parameter.name, parameter.annotation),
            })
            .collect();
        let code = format!(
            "{}\n\n\ndef {WRAPPER}({}) -> {}:\n    return {}({})\n\n\n",
            draft.code.trim_end(),
            declared.join(", "),
            written.returns,
            draft.name,
            passed.join(", ")
        );
        let program = workspace.program.clone();
        Ok(Self { signature, arguments, code, program, context: OnceCell::new() })
    }

    /// The result, or what the caller or the author can do about it.
    pub(super) async fn call(&self, given: Map<String, Json>) -> Result<Json, String> {
        let names: Vec<String> =
            self.signature.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
            return Err(format!("there is no argument `{unknown}`"));
        }
        let passed: Vec<String> = given.keys().map(|name| format!("{name}=inputs[\"{name}\"]")).collect();
        let program = format!("{}{WRAPPER}({})\n", self.code, passed.join(", "));
        let context = self.context.get_or_try_init(|| self.open()).await?;
        told(&context.execute(&program, Json::Object(given)).await)
    }

    async fn open(&self) -> Result<Context, String> {
        let policy = Policies::default().resolve(Preset::Strict.name()).map_err(|error| error.to_string())?;
        let workers = Workers::start(WorkerConfig::new(self.program.clone())).await;
        let workers = workers.map_err(|error| error.to_string())?;
        let context = Context::builder().input_schema(self.arguments.clone()).policy(policy).build(workers);
        context.map_err(|error| error.to_string())
    }
}

/// The tool as models and programs call it.
pub(super) fn tool(workspace: &Workspace, draft: &ToolDraft) -> Result<Tool, AgentError> {
    let runnable = Runnable::new(workspace, draft).map_err(|message| AgentError::Other {
        message: format!("`{}`: {message}", draft.name),
        hint: None,
    })?;
    let runnable = Arc::new(runnable);
    let signature = runnable.signature.clone();
    let names: Vec<String> = signature.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    Ok(Tool::blocking(signature, move |call: Call| {
        let given = arguments(&names, call)?;
        // Tools of this kind are called on threads of their own, so one of them may wait.
        let handle = Handle::try_current().map_err(|error| ToolError::failed(error.to_string()))?;
        let result = handle.block_on(runnable.call(given)).map_err(ToolError::value_error)?;
        Value::from_json(&result).map_err(|error| ToolError::failed(error.to_string()))
    }))
}

/// A default as JSON, where it is a literal that both spell alike or nearly so.
fn literal(text: &str) -> Option<Json> {
    match text {
        "None" => Some(Json::Null),
        "True" => Some(Json::Bool(true)),
        "False" => Some(Json::Bool(false)),
        _ => serde_json::from_str(text).ok(),
    }
}

/// Arguments by name, whichever way they were given.
fn arguments(names: &[String], call: Call) -> Result<Map<String, Json>, ToolError> {
    if call.arguments.len() > names.len() {
        return Err(ToolError::type_error(format!("`{}` takes {} arguments", call.tool, names.len())));
    }
    let positional = names.iter().cloned().zip(call.arguments);
    let mut given = Map::new();
    for (name, value) in positional.chain(call.keywords) {
        if given.insert(name.clone(), value.to_json()).is_some() {
            return Err(ToolError::type_error(format!("`{name}` is given twice")));
        }
    }
    Ok(given)
}

fn told(outcome: &Outcome) -> Result<Json, String> {
    match &outcome.ending {
        Ending::Value { value } => Ok(value.to_json()),
        ending => {
            let mut text = serde_json::to_string(ending).unwrap_or_default();
            if let Some(advice) = ending.advice() {
                text = format!("{text}; hint: {advice}");
            }
            Err(text.chars().take(4_000).collect())
        }
    }
}
