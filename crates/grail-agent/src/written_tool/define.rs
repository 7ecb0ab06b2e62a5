//! `define_tool`: a draft is checked and tried, then shown to a person, then kept.

use std::sync::Arc;

use grail_code::{Field, Kind, Source, parse_module};
use grail_flywheel::EventKind;
use grail_flywheel::event::ProposalDecision;
use grail_sandbox::{Signature, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::{self, Runnable};
use super::{About, MAX_EXAMPLES, ToolDraft, hash_of, is_tool_name, path_of, trust};
use crate::AgentError;
use crate::proposal::{Making, Proposal, ProposalStore, ProposedFile};
use crate::workspace::Workspace;

pub const DEFINE_TOOL: &str = "define_tool";

/// Of code, signature and docstring together.
const MAX_DRAFT_BYTES: usize = 16 * 1024;
const MAX_EXAMPLES_BYTES: usize = 64 * 1024;

/// What came of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolReport {
    /// Whether it can be called from now on
    pub kept: bool,
    /// How it is called
    pub signature: String,
    /// How many examples hold
    pub examples: usize,
    /// The proposal that wrote it into the project
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
}

/// The tool that defines tools. It checks and tries; keeping needs a person, whom the loop asks afterwards.
pub fn define_tool(workspace: &Arc<Workspace>) -> Result<Tool, AgentError> {
    let workspace = Arc::clone(workspace);
    let tool = Tool::typed_async(
        DEFINE_TOOL,
        "Write a tool of your own as a Python function, when no other tool fits. It is type-checked, must pass its examples, and is shown to a \
         person; once approved it can be called like any other, now and in later conversations. It runs alone: no files, no network, no other tools.",
        move |draft: ToolDraft| {
            let workspace = Arc::clone(&workspace);
            async move { check(&workspace, draft).await.map_err(ToolError::value_error) }
        },
    )?;
    Ok(tool)
}

/// Checks a draft, and runs its examples. What passes waits for [`keep_tool`].
async fn check(workspace: &Workspace, draft: ToolDraft) -> Result<ToolReport, String> {
    if !is_tool_name(&draft.name) {
        return Err(format!(
            "`{}` cannot be the name of a tool: 3 to 48 lower-case letters, digits and `_`, and no keyword",
            draft.name.chars().take(60).collect::<String>()
        ));
    }
    let bytes = draft.code.len() + draft.signature.len() + draft.docstring.len();
    if bytes > MAX_DRAFT_BYTES {
        return Err(format!("a tool has at most {MAX_DRAFT_BYTES} bytes: a person has to read it"));
    }
    if draft.docstring.trim().is_empty() {
        return Err("a docstring is wanted: what the tool does, and when to use it".to_owned());
    }
    let shown = serde_json::to_string(&draft.examples).map_err(|error| error.to_string())?;
    if draft.examples.is_empty() || draft.examples.len() > MAX_EXAMPLES || shown.len() > MAX_EXAMPLES_BYTES {
        return Err(format!(
            "between 1 and {MAX_EXAMPLES} examples are wanted, of {MAX_EXAMPLES_BYTES} bytes in all"
        ));
    }
    if !defines(&draft.code, &draft.name) {
        return Err(format!("the code has no function `{}` at its top", draft.name));
    }
    let runnable = Runnable::new(workspace, &draft)?;
    for (number, example) in draft.examples.iter().enumerate() {
        let result = runnable.call(example.arguments.clone()).await;
        let result = result.map_err(|reason| format!("example {}: {reason}", number + 1))?;
        if result != example.result {
            return Err(format!("example {} gives {result}, not {}", number + 1, example.result));
        }
    }
    let report = ToolReport {
        kept: false,
        signature: header(&runnable.signature),
        examples: draft.examples.len(),
        proposal: None,
    };
    workspace.written.put_draft(draft);
    Ok(report)
}

/// A person has approved: the tool is written into the project by a proposal, remembered as approved, and offered.
pub fn keep_tool(workspace: &Workspace, name: &str) -> Result<ToolReport, AgentError> {
    let other = |message: String| AgentError::Other { message, hint: None };
    let draft = workspace.written.take_draft(name);
    let draft = draft.ok_or_else(|| other(format!("no tool `{name}` was checked")))?;
    let tool = run::tool(workspace, &draft)?;
    let signature = header(tool.signature());
    let code = format!("{}\n", draft.code.trim_end());
    let about = About { signature: draft.signature, docstring: draft.docstring, examples: draft.examples };
    let examples = about.examples.len();
    let text = serde_json::to_string_pretty(&about).map_err(|error| other(error.to_string()))? + "\n";
    let hash = hash_of(&code, &text);
    let mut files = Vec::new();
    for (ending, text) in [("py", code), ("json", text)] {
        let path = path_of(name, ending);
        let before = workspace.staging.read_from_disk(&path)?;
        files.push(ProposedFile { path, before, after: Some(text) });
    }
    let summary = format!("the tool `{name}`: its {examples} examples hold");
    let making = Making { summary, ..Making::default() };
    let proposal = Proposal::of_files(workspace, "tool", &about.docstring, "", files, making)?;
    let store = ProposalStore::of_project(&workspace.project.root);
    store.save(&proposal, None)?;
    store.approve(&proposal.id, workspace.clock.as_ref())?;
    trust::ToolTrust::open(workspace).grant(name, &hash)?;
    let session = &workspace.session;
    session.emit_proposal(&proposal, ProposalDecision::Made, None);
    session.emit_proposal(&proposal, ProposalDecision::Approved, None);
    session.emit(EventKind::Made { what: "tool".to_owned(), name: name.to_owned() });
    workspace.written.keep(tool);
    Ok(ToolReport { kept: true, signature, examples, proposal: Some(proposal.id) })
}

fn header(signature: &Signature) -> String {
    signature.header().trim_end_matches(':').to_owned()
}

fn defines(code: &str, name: &str) -> bool {
    let parsed = parse_module(Source::from_text(code));
    let body = parsed.root().list(Field::Body);
    let mut functions = body.filter(|node| node.kind() == Kind::FunctionDef);
    functions.any(|node| node.child(Field::Name).is_some_and(|found| found.text() == name))
}
