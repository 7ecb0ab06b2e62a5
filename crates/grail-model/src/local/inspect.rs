//! What the sibling program says of weights without loading them: which ones they are, and what they would take.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;

use super::program::find_local_program;
use crate::ModelError;

const MAX_REPORT_BYTES: u64 = 1 << 20;

/// Weights, with or without an adapter.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Inspection {
    #[serde(default)]
    pub architecture: String,
    #[serde(default)]
    pub parameters: u64,
    /// Of the weights.
    pub sha256: String,
    /// As a server says it of itself.
    pub identity: String,
}

/// Asks the program about weights.
pub fn inspect_weights(weights: &Path, adapter: Option<&Path>) -> Result<Inspection, ModelError> {
    let program = find_local_program()?;
    let shown = weights.display().to_string();
    let failed =
        |reason: String, hint: Option<String>| ModelError::Inspection { path: shown.clone(), reason, hint };
    let mut command = Command::new(&program);
    command.args(["inspect", "--model"]).arg(weights);
    if let Some(adapter) = adapter {
        command.arg("--adapter").arg(adapter);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string(), None))?;
    let complaints = child.stderr.take().map(|pipe| thread::spawn(move || read_all(pipe)));
    let report = child.stdout.take().map(read_all).unwrap_or_default();
    let status = child.wait().map_err(|error| failed(error.to_string(), None))?;
    let complaints = complaints.and_then(|reader| reader.join().ok()).unwrap_or_default();
    if !status.success() {
        let after = |mark: &str| {
            complaints
                .lines()
                .rev()
                .find_map(|line| line.trim().strip_prefix(mark))
                .map(|it| it.trim().to_owned())
        };
        return Err(failed(after("error:").unwrap_or_else(|| status.to_string()), after("hint:")));
    }
    serde_json::from_str(&report)
        .map_err(|error| failed(format!("what it says cannot be read: {error}"), None))
}

fn read_all(pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.take(MAX_REPORT_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
