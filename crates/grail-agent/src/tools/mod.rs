//! Everything a model can do here, as tools with typed arguments and typed results.
//!
//! A tool is a function of the [`Workspace`] and its arguments. What it takes and gives are Rust types; the schema, the stub and the
//! reference page come from them, so none can say something else. Reading sees what is staged first, writing only stages: no tool here
//! changes a file of the project. What has effects beyond the proposal is a fixed tool of its own that asks for approval ([`needs_approval`]).

mod artifacts;
mod bounds;
pub mod check;
pub mod code;
pub mod commands;
pub mod files;
pub mod git;
mod language_server;
pub mod layers;
pub mod navigation;
mod programs;
mod reference;
pub mod skills;
mod sources;
mod types;
pub mod validators;

use std::sync::Arc;

use grail_sandbox::{Tool, Toolset};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::AgentError;
use crate::code_mode::execute_code;
use crate::generate::tool_error;
use crate::workspace::Workspace;

pub use reference::tool_reference;

/// What a tool does beyond answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It changes what is staged, and nothing on disk.
    Stages,
    /// It runs a program of somebody else behind walls.
    Runs,
    /// It does something that cannot be taken back, or runs code with the rights of the user: a person is asked first.
    Asks,
}

/// Every fixed tool, those of [`crate::model_tools`] among them. Validators are made of the project's kinds and only read.
const EFFECTS: [(&str, Effect); 35] = [
    ("check", Effect::Reads),
    ("cst_add_import", Effect::Stages),
    ("cst_find_pattern", Effect::Reads),
    ("cst_rename", Effect::Stages),
    ("delete_file", Effect::Asks),
    ("document_symbols", Effect::Reads),
    // Its programs may call what only reads, and nothing else.
    ("execute_code", Effect::Reads),
    ("find_references", Effect::Reads),
    ("fix", Effect::Stages),
    ("generate_artifact", Effect::Stages),
    ("generate_feature", Effect::Stages),
    ("generate_in_style_of", Effect::Stages),
    ("git_diff", Effect::Reads),
    ("git_log", Effect::Reads),
    ("git_push", Effect::Asks),
    ("git_status", Effect::Reads),
    ("goto_definition", Effect::Reads),
    ("hover", Effect::Reads),
    ("install_package", Effect::Asks),
    ("list_files", Effect::Reads),
    ("list_skills", Effect::Reads),
    ("load_skill", Effect::Reads),
    // It runs code that a model wrote, with the rights of the user, unless it runs in WebAssembly.
    ("pytest_run", Effect::Asks),
    ("read_file", Effect::Reads),
    ("read_skill_file", Effect::Reads),
    // It runs tests that a model wrote, with the rights of the user.
    ("refine_until_tests_pass", Effect::Asks),
    ("review_code", Effect::Reads),
    ("ruff_check", Effect::Reads),
    ("run_command", Effect::Asks),
    ("run_skill_script", Effect::Runs),
    ("search_skills", Effect::Reads),
    ("staged_changes", Effect::Reads),
    ("typecheck", Effect::Reads),
    ("workspace_symbols", Effect::Reads),
    ("write_file", Effect::Stages),
];

/// All tools over a workspace. Those that need approval are marked; whoever calls them asks first.
pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    let groups = [
        files::toolset(workspace)?,
        check::toolset(workspace)?,
        code::toolset(workspace)?,
        navigation::toolset(workspace)?,
        layers::toolset(workspace)?,
        git::toolset(workspace)?,
        commands::toolset(workspace)?,
        skills::toolset(workspace)?,
        validators::toolset(workspace)?,
        artifacts::toolset(workspace)?,
    ];
    let mut all = Toolset::default();
    for group in groups {
        all = all.combine(group)?;
    }
    let reading = all.clone().filter(|tool| is_read_only(tool.name()));
    all = all.combine(Toolset::new([execute_code(workspace, reading)?])?)?;
    let may_run_tests = !layers::tests_need_approval(&workspace.project);
    Ok(all.require_approval(|tool| {
        needs_approval(tool.name()) && !(may_run_tests && tool.name() == layers::PYTEST_RUN)
    }))
}

impl Effect {
    pub const ALL: [Self; 4] = [Self::Reads, Self::Stages, Self::Runs, Self::Asks];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Stages => "stages",
            Self::Runs => "runs",
            Self::Asks => "asks",
        }
    }

    pub const fn summary(self) -> &'static str {
        match self {
            Self::Reads => "changes nothing",
            Self::Stages => "changes what is staged for the proposal, and nothing on disk",
            Self::Runs => "runs a program behind walls; nothing is changed",
            Self::Asks => "needs a person's approval",
        }
    }
}

/// What a model is offered while it makes an artifact: what it can look at. Validators are left out, because handing in code validates it;
/// the fewer tools, the fewer tokens.
pub fn for_generating(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    let groups = [
        files::toolset(workspace)?,
        check::toolset(workspace)?,
        code::toolset(workspace)?,
        navigation::toolset(workspace)?,
        git::toolset(workspace)?,
        skills::toolset(workspace)?,
    ];
    let mut all = Toolset::default();
    for group in groups {
        all = all.combine(group)?;
    }
    Ok(all.filter(|tool| is_read_only(tool.name())))
}

/// What a tool does beyond answering; `None` if there is no such tool.
pub fn effect(name: &str) -> Option<Effect> {
    let fixed = EFFECTS.iter().find(|(known, _)| *known == name).map(|(_, effect)| *effect);
    fixed.or_else(|| validators::is_validator(name).then_some(Effect::Reads))
}

/// Whether a tool changes nothing, not even what is staged.
pub fn is_read_only(name: &str) -> bool {
    effect(name) == Some(Effect::Reads)
}

/// Whether a person is asked before the tool runs. A tool that nobody knows is one to ask about.
pub fn needs_approval(name: &str) -> bool {
    matches!(effect(name), None | Some(Effect::Asks))
}

/// A tool over the workspace.
fn tool<Arguments, Returned>(
    workspace: &Arc<Workspace>,
    name: &str,
    documentation: &str,
    run: impl Fn(&Workspace, Arguments) -> Result<Returned, AgentError> + Send + Sync + 'static,
) -> Result<Tool, AgentError>
where
    Arguments: DeserializeOwned + JsonSchema,
    Returned: Serialize + JsonSchema,
{
    let workspace = Arc::clone(workspace);
    let handler = move |arguments: Arguments| run(&workspace, arguments).map_err(|error| tool_error(&error));
    Ok(Tool::typed(name, documentation, handler)?)
}

/// An error that is nothing but a sentence and what to do.
fn failure(message: impl Into<String>, hint: impl Into<String>) -> AgentError {
    AgentError::Other { message: message.into(), hint: Some(hint.into()) }
}
