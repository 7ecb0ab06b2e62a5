//! Tools of the command line: a TOML file that says how sandboxed code may call programs of the host.
//!
//! ```toml
//! [tools.exchange_rate]
//! signature = "(currency: str, day: str = 'today') -> float"
//! doc = "What one euro is worth"
//! command = ["python3", "rates.py"]   # arguments as JSON on stdin, the result as JSON on stdout
//! timeout = "5s"
//! needs-approval = true
//! ```
//!
//! A tool without a command is answered by whoever resumes the run. Commands run in the folder of the file, with the environment of
//! `grail`; no shell is involved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use grail_sandbox::{Call, Field, ResourceGuard, Signature, Tool, ToolError, Toolset, Value};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::runtime::Handle;

use crate::render::Failure;

/// A result larger than this is no result.
const MAX_RESULT_BYTES: u64 = 16 << 20;
/// As much of a command's complaints as is worth keeping.
const MAX_COMPLAINT_BYTES: u64 = 64 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolFile {
    #[serde(default)]
    tools: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    /// A stub, `def name(…) -> …: ...`, or only what follows the name.
    signature: String,
    doc: Option<String>,
    command: Option<Vec<String>>,
    timeout: Option<Json>,
    #[serde(default)]
    needs_approval: bool,
}

/// A program of the host and how it is run.
struct Program {
    tool: String,
    arguments: Vec<String>,
    folder: PathBuf,
    timeout: Duration,
    signature: Signature,
}

/// Reads a tools file. No call takes longer than `longest`.
pub(super) fn read_tools(path: &Path, longest: Duration) -> anyhow::Result<Toolset> {
    let shown = from_here(path);
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the tools file `{}` cannot be read", shown.display()))?;
    let file: ToolFile = toml::from_str(&text).map_err(|error| refused(path, error.message()))?;
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let mut tools = Vec::new();
    let mut guarded = Vec::new();
    for (name, entry) in file.tools {
        let problem = |reason: String| refused(path, &format!("`{name}`: {reason}"));
        let mut signature =
            Signature::parse(&stub(&name, &entry.signature)).map_err(|error| problem(error.to_string()))?;
        if signature.name != name {
            return Err(problem(format!("its signature is that of `{}`", signature.name)).into());
        }
        if let Some(doc) = entry.doc {
            signature = signature.with_doc(doc);
        }
        if entry.needs_approval {
            guarded.push(name.clone());
        }
        let timeout = entry.timeout.map(|timeout| duration(&timeout)).transpose().map_err(problem)?;
        tools.push(match entry.command {
            None => Tool::external(signature),
            Some(arguments) if arguments.is_empty() => {
                return Err(problem("its command is empty".to_owned()).into());
            }
            Some(arguments) => command_tool(Program {
                tool: name.clone(),
                arguments,
                folder: folder.clone(),
                timeout: timeout.unwrap_or(longest).min(longest),
                signature,
            }),
        });
    }
    let tools = Toolset::new(tools).map_err(|error| refused(path, &error.to_string()))?;
    Ok(tools.require_approval(|tool| guarded.iter().any(|name| name == tool.name())))
}

fn stub(name: &str, signature: &str) -> String {
    let signature = signature.trim();
    if signature.starts_with('(') {
        return format!("def {name}{signature}: ...");
    }
    match signature.strip_prefix("async (") {
        Some(rest) => format!("async def {name}({rest}: ..."),
        None => signature.to_owned(),
    }
}

/// Written like the limits of a policy.
fn duration(written: &Json) -> Result<Duration, String> {
    let name = Field::ToolTimeout.name();
    let guard: ResourceGuard =
        serde_json::from_value(json!({ name: written })).map_err(|error| error.to_string())?;
    guard
        .get(Field::ToolTimeout)
        .map(Duration::from_micros)
        .ok_or_else(|| "the timeout cannot be read".to_owned())
}

fn command_tool(program: Program) -> Tool {
    let signature = program.signature.clone();
    let program = Arc::new(program);
    if signature.is_async {
        return Tool::awaited(signature, move |call| {
            let program = Arc::clone(&program);
            async move { program.call(&call).await }
        });
    }
    // Blocking handlers run on threads of the runtime's, which its driver serves meanwhile.
    Tool::blocking(signature, move |call| Handle::current().block_on(program.call(&call)))
}

impl Program {
    async fn call(&self, call: &Call) -> Result<Value, ToolError> {
        let arguments = Json::Object(call.by_name(&self.signature)?);
        tokio::time::timeout(self.timeout, self.run(arguments.to_string())).await.unwrap_or_else(|_| {
            let seconds = self.timeout.as_secs_f64();
            Err(ToolError::new("TimeoutError", format!("`{}` took longer than {seconds} seconds", self.tool)))
        })
    }

    async fn run(&self, input: String) -> Result<Value, ToolError> {
        let failed = |reason: String| ToolError::failed(format!("`{}` {reason}", self.tool));
        let (first, rest) =
            self.arguments.split_first().ok_or_else(|| failed("has no command".to_owned()))?;
        let is_path = first.contains('/') && Path::new(first).is_relative();
        let first = if is_path { self.folder.join(first) } else { PathBuf::from(first) };
        let mut child = Command::new(&first)
            .args(rest)
            .current_dir(if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(format!("could not be started from `{}`: {error}", first.display())))?;
        let mut stdin = child.stdin.take();
        let feed = async {
            if let Some(stdin) = &mut stdin {
                // A command that does not want its arguments may close the pipe early.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            drop(stdin);
        };
        let (_, output, complaint) = tokio::join!(
            feed,
            read_some(child.stdout.take(), MAX_RESULT_BYTES + 1),
            read_some(child.stderr.take(), MAX_COMPLAINT_BYTES)
        );
        if output.len() as u64 > MAX_RESULT_BYTES {
            return Err(failed("wrote more than 16 MiB".to_owned()));
        }
        let status = child.wait().await.map_err(|error| failed(error.to_string()))?;
        if !status.success() {
            return Err(self.complaint(status, &String::from_utf8_lossy(&complaint)));
        }
        let json: Json = serde_json::from_slice(&output)
            .map_err(|_| failed("wrote no JSON on its standard output".to_owned()))?;
        Value::from_json(&json).map_err(|error| failed(format!("wrote a value that {error}")))
    }

    /// The last line of what the command said; one like `ValueError: no such day` is that exception in the code.
    fn complaint(&self, status: std::process::ExitStatus, text: &str) -> ToolError {
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let line: String = line.chars().take(500).collect();
        match line.split_once(": ") {
            Some((exception, message))
                if exception.ends_with("Error") && exception.chars().all(char::is_alphanumeric) =>
            {
                ToolError::new(exception, message)
            }
            _ if line.is_empty() => ToolError::failed(format!("`{}` failed ({status})", self.tool)),
            _ => ToolError::failed(format!("`{}` failed ({status}): {line}", self.tool)),
        }
    }
}

async fn read_some(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> Vec<u8> {
    let mut content = Vec::new();
    if let Some(stream) = stream {
        // What was read before an error is all there is.
        let mut limited = stream.take(limit);
        let _ = limited.read_to_end(&mut content).await;
        // The rest is read and dropped, so that the command does not stall on a full pipe.
        let _ = tokio::io::copy(&mut limited.into_inner(), &mut tokio::io::sink()).await;
    }
    content
}

/// The path as somebody in this folder would write it.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

fn refused(path: &Path, reason: &str) -> Failure {
    Failure::with_hint(
        format!("the tools file `{}` cannot be used: {}", from_here(path).display(), reason.trim()),
        "each `[tools.NAME]` has a `signature`, and a `command` unless somebody else answers it; see docs/guides/sandbox.md",
    )
}
