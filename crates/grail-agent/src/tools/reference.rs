//! The reference page of all tools, made of their signatures.

use std::fmt::Write as _;
use std::sync::Arc;

use grail_model::{Model, Scripted};
use grail_project::{Config, Project};
use grail_sandbox::StubModule;
use tempfile::TempDir;

use super::{Effect, effect, toolset};
use crate::AgentError;
use crate::workspace::{Surroundings, Workspace};

/// What stands at the top of the page.
const INTRODUCTION: &str = "# Tools

Generated from the tools' signatures by `just gen`; edits here are lost.

What a model can do, in the loop of `grail generate` and over `grail mcp`. Reading sees what is staged for the proposal first; writing only
stages. A tool that asks waits for a person. Validators (`cst_validate_…`) are made of the kinds of artifacts that skills declare: a
project's own skills add theirs.

";

/// The page, for a project with nothing of its own.
pub fn tool_reference() -> Result<String, AgentError> {
    let folder = TempDir::with_prefix("grail-reference-")
        .map_err(|source| AgentError::Storage { path: "temporary folder".to_owned(), source })?;
    let project = Project { root: folder.path().to_owned(), config: Config::default() };
    let surroundings = Surroundings::new(None, std::path::PathBuf::new());
    let workspace = Arc::new(Workspace::open(project, surroundings)?);
    let model: Arc<dyn Model> = Arc::new(Scripted::new([]));
    let tools = toolset(&workspace)?.combine(crate::model_tools::toolset(&workspace, &model)?)?;
    let mut page = INTRODUCTION.to_owned();
    page.push_str("| tool | effect | what it does |\n| --- | --- | --- |\n");
    let mut stub = StubModule::new();
    for tool in tools.tools() {
        let signature = tool.signature();
        let doc = signature.doc.as_deref().unwrap_or_default().replace('|', "\\|").replace('\n', " ");
        let effect = effect(tool.name()).map_or("", Effect::name);
        let _ = writeln!(page, "| `{}` | {effect} | {doc} |", tool.name());
        stub = stub.tool(signature);
    }
    page.push_str("\nEffects: ");
    let effects = Effect::ALL.map(|effect| format!("*{}*: {}", effect.name(), effect.summary()));
    page.push_str(&effects.join("; "));
    let _ = write!(
        page,
        ".\n\n## As a program sees them\n\nIn code mode a model writes Python that calls the tools as functions, and these stubs are what it is \
         shown and\nchecked against. Called directly, a tool takes the same arguments and gives the same fields as JSON.\n\n```python\n{}```\n",
        stub.text()?
    );
    Ok(page)
}
