//! Tools that a model writes: when none fits, it defines one as a Python function, and from then on it is a tool like any other.
//!
//! A tool is type-checked against its signature, run on its examples in the sandbox, and then shown to a person. What is approved is kept in the
//! project as two readable files, `.agents/tools/NAME.py` and `NAME.json`, by a proposal that can be reverted. A project's tools are
//! loaded only if this user approved exactly these files: whoever wrote the project may have written them. Every call runs in the sandbox under
//! the policy `strict`: no files, no other tools, one second.

mod annotation;
mod define;
mod run;
mod shelf;
mod trust;

use std::sync::Arc;

use grail_project::{ProjectError, read_source};
use grail_sandbox::{Signature, Toolset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::AgentError;
use crate::workspace::Workspace;

pub use define::{DEFINE_TOOL, ToolReport, define_tool, keep_tool};
pub(crate) use shelf::Shelf;

pub(crate) const FOLDER: &str = ".agents/tools";
/// Larger files are no tools: code, or examples that may be long.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// More tools are not loaded.
const MAX_TOOLS: usize = 100;
const MAX_EXAMPLES: usize = 20;

/// A tool as a model defines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDraft {
    /// The name of the function, such as `slugify`
    pub name: String,
    /// Its header: `def slugify(text: str, separator: str = "-") -> str: ...`. Types are str, int, float, bool, None, list[...], dict[str, ...]
    /// and unions of these
    pub signature: String,
    /// What it does and when to use it
    pub docstring: String,
    /// Python that defines the function. It may import what the sandbox has, and nothing else
    pub code: String,
    /// Calls that must give exactly these results
    pub examples: Vec<ToolExample>,
}

/// One call, and what must come of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExample {
    /// Arguments by name
    pub arguments: Map<String, Json>,
    pub result: Json,
}

/// What lies beside the code, in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    signature: String,
    docstring: String,
    examples: Vec<ToolExample>,
}

/// A tool of the project that is not loaded, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotLoaded {
    pub name: String,
    pub reason: String,
}

/// The written tools of a project.
pub struct WrittenTools {
    pub tools: Toolset,
    pub not_loaded: Vec<NotLoaded>,
}

/// The tools that were written for this project and approved by this user, ready to be called.
pub fn written_tools(workspace: &Workspace) -> Result<WrittenTools, AgentError> {
    let trust = trust::ToolTrust::open(workspace);
    let (mut tools, mut not_loaded) = (Vec::new(), Vec::new());
    for name in names(workspace) {
        let loaded = read(workspace, &name).and_then(|(draft, hash)| match trust.has(&name, &hash) {
            true => run::tool(workspace, &draft).map_err(|error| error.to_string()),
            false => Err("nobody here has approved it as it is now".to_owned()),
        });
        match loaded {
            Ok(tool) => tools.push(tool),
            Err(reason) => not_loaded.push(NotLoaded { name, reason }),
        }
    }
    Ok(WrittenTools { tools: Toolset::new(tools)?, not_loaded })
}

/// Tools with the project's written ones, and with the one that writes more. What has a name already keeps it.
pub fn with_written_tools(workspace: &Arc<Workspace>, tools: Toolset) -> Result<Toolset, AgentError> {
    let defining = Toolset::new([define_tool(workspace)?])?;
    let more = written_tools(workspace)?.tools.combine(defining)?;
    let taken: Vec<String> = tools.names().into_iter().map(str::to_owned).collect();
    Ok(tools.combine(more.filter(|tool| !taken.iter().any(|name| name == tool.name())))?)
}

/// Names of files that may be tools.
fn names(workspace: &Workspace) -> Vec<String> {
    let folder = workspace.project.root.join(FOLDER);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = files
        .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
        .filter(|name| is_tool_name(name))
        .collect();
    names.sort();
    names.truncate(MAX_TOOLS);
    names
}

/// Reads a tool, and the hash over both of its files.
fn read(workspace: &Workspace, name: &str) -> Result<(ToolDraft, String), String> {
    let text = |ending: &str| -> Result<String, String> {
        let path = workspace.staging.locate(&path_of(name, ending)).map_err(|error| error.to_string())?;
        match read_source(&path, MAX_FILE_BYTES) {
            Ok(file) => Ok(file.source.text().to_owned()),
            Err(ProjectError::PathMissing { .. }) => Err(format!("there is no `{name}.{ending}`")),
            Err(error) => Err(error.to_string()),
        }
    };
    let (code, about) = (text("py")?, text("json")?);
    let hash = hash_of(&code, &about);
    let about: About = serde_json::from_str(&about).map_err(|error| format!("`{name}.json`: {error}"))?;
    let About { signature, docstring, examples } = about;
    Ok((ToolDraft { name: name.to_owned(), signature, docstring, code, examples }, hash))
}

fn hash_of(code: &str, about: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in [code, about] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn path_of(name: &str, ending: &str) -> String {
    format!("{FOLDER}/{name}.{ending}")
}

/// It becomes the name of a function and of two files.
fn is_tool_name(name: &str) -> bool {
    (3..=48).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        // Names that programs in the sandbox have for something else; keywords fail where the code is read.
        && !["inputs", "tools"].contains(&name)
}

impl ToolDraft {
    fn signature(&self) -> Result<Signature, String> {
        let text = self.signature.trim();
        let text = match text.ends_with("...") {
            true => text.to_owned(),
            false => format!("{}: ...", text.trim_end_matches(':')),
        };
        let parsed = Signature::parse(&text).map_err(|error| error.to_string())?;
        if parsed.name != self.name {
            return Err(format!("the signature is of `{}`, not of `{}`", parsed.name, self.name));
        }
        Ok(parsed)
    }
}
