//! Files as they would be: reading sees what is staged, writing and deleting only stage.

use std::sync::Arc;

use grail_sandbox::Toolset;
use ignore::WalkBuilder;
use ignore::overrides::{Override, OverrideBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{MAX_DIFF_BYTES, beginning, diff, limit};
use super::sources::{folder, is_below, text};
use super::{failure, tool};
use crate::AgentError;
use crate::staging::clean_path;
use crate::workspace::Workspace;

/// As much of a file as is read at once.
const MAX_LINES: usize = 2_000;
const MAX_BYTES: usize = 64 * 1024;
/// More entries of the disk are not looked at for a list.
const MAX_WALKED: usize = 100_000;
/// Folders that hold nothing a model should read.
const LEFT_OUT: [&str; 5] = ["__pycache__", "node_modules", "venv", "target", "dist"];

#[derive(Deserialize, JsonSchema)]
struct ReadFile {
    /// The file, below the project's root.
    path: String,
    /// The first line, from 1.
    #[serde(default)]
    line: Option<usize>,
    /// How many lines; as many as fit if it is not said.
    #[serde(default)]
    lines: Option<usize>,
}

/// A file, or a part of it.
#[derive(Serialize, JsonSchema)]
pub struct FileText {
    pub path: String,
    pub text: String,
    /// The first line of the text, from 1.
    pub line: usize,
    /// Lines of the whole file.
    pub total_lines: usize,
    /// The line to go on with, if there is more.
    pub next_line: Option<usize>,
    /// Whether this is what the proposal would write, not what is on disk.
    pub is_staged: bool,
}

#[derive(Deserialize, JsonSchema)]
struct WriteFile {
    /// The file, below the project's root.
    path: String,
    /// The whole text.
    text: String,
}

/// A file that was staged.
#[derive(Serialize, JsonSchema)]
pub struct FileStaged {
    pub path: String,
    /// created, changed, removed, or unchanged.
    pub change: String,
    /// Against the file on disk.
    pub diff: String,
}

#[derive(Deserialize, JsonSchema)]
struct ListFiles {
    /// Only files in this folder; the whole project if it is not said.
    #[serde(default)]
    folder: Option<String>,
    /// Only files whose path matches this glob, such as `*.py` or `src/**/test_*.py`.
    #[serde(default)]
    pattern: Option<String>,
    /// How many to name: 100 if it is not said, at most 500.
    #[serde(default)]
    limit: Option<usize>,
}

/// Files of the project.
#[derive(Serialize, JsonSchema)]
pub struct FileList {
    /// By path.
    pub files: Vec<ListedFile>,
    /// Files that are not named for want of room.
    pub more: usize,
}

/// A file of the project.
#[derive(Serialize, JsonSchema)]
pub struct ListedFile {
    pub path: String,
    pub bytes: u64,
    /// Whether the proposal would create or change it.
    pub is_staged: bool,
}

#[derive(Deserialize, JsonSchema)]
struct DeleteFile {
    /// The file, below the project's root.
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct StagedChanges {}

/// What the proposal would change so far.
#[derive(Serialize, JsonSchema)]
pub struct Staged {
    /// By path.
    pub files: Vec<StagedFile>,
    /// All changes as one unified diff.
    pub diff: String,
}

/// A file that the proposal would change.
#[derive(Serialize, JsonSchema)]
pub struct StagedFile {
    pub path: String,
    /// created, changed or removed.
    pub change: String,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([
        tool(workspace, "read_file", "Read a file of the project, or a part of it.", read_file)?,
        tool(
            workspace,
            "write_file",
            "Stage the whole text of a file. It is written to disk only when a person approves the proposal.",
            write_file,
        )?,
        tool(
            workspace,
            "list_files",
            "List the files of the project. Ignored and hidden files are left out.",
            list_files,
        )?,
        tool(
            workspace,
            "delete_file",
            "Stage the removal of a file. Needs approval; it is removed from disk only with the proposal.",
            delete_file,
        )?,
        tool(workspace, "staged_changes", "What the proposal would change so far.", staged_changes)?,
    ])?)
}

fn read_file(workspace: &Workspace, call: ReadFile) -> Result<FileText, AgentError> {
    let (path, text) = text(workspace, &call.path)?;
    let first = call.line.unwrap_or(1).max(1);
    let most = call.lines.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
    let total_lines = text.lines().count();
    if first > total_lines.max(1) {
        return Err(failure(format!("`{path}` has no line {first}"), format!("it has {total_lines} lines")));
    }
    let mut part = String::new();
    let mut read = 0;
    for line in text.split_inclusive('\n').skip(first - 1).take(most) {
        if read > 0 && part.len() + line.len() > MAX_BYTES {
            break;
        }
        read += 1;
        part.push_str(&beginning(line, MAX_BYTES));
    }
    let next = first + read;
    let is_staged = workspace.staging.is_staged(&path);
    let next_line = (next <= total_lines).then_some(next);
    Ok(FileText { path, text: part, line: first, total_lines, next_line, is_staged })
}

fn write_file(workspace: &Workspace, call: WriteFile) -> Result<FileStaged, AgentError> {
    if call.text.contains('\0') {
        return Err(failure("the text has null bytes", "only text files can be written"));
    }
    let path = clean_path(&call.path)?;
    let before = workspace.staging.read_from_disk(&path)?;
    let path = workspace.staging.write(&path, call.text.clone())?;
    let change = match &before {
        None => "created",
        Some(before) if *before == call.text => "unchanged",
        Some(_) => "changed",
    };
    let diff = diff(&path, before.as_deref().unwrap_or_default(), &call.text);
    Ok(FileStaged { path, change: change.to_owned(), diff })
}

fn delete_file(workspace: &Workspace, call: DeleteFile) -> Result<FileStaged, AgentError> {
    let (path, text) = text(workspace, &call.path)?;
    workspace.staging.remove(&path)?;
    let diff = diff(&path, &text, "");
    Ok(FileStaged { path, change: "removed".to_owned(), diff })
}

fn list_files(workspace: &Workspace, call: ListFiles) -> Result<FileList, AgentError> {
    let folder = folder(call.folder.as_deref().unwrap_or_default())?;
    let pattern = call.pattern.as_deref().map(|pattern| matcher(workspace, pattern)).transpose()?;
    let is_wanted = |path: &str| {
        is_below(path, &folder)
            && clean_path(path).is_ok()
            && pattern.as_ref().is_none_or(|pattern| pattern.matched(path, false).is_whitelist())
    };
    let staged = workspace.staging.staged();
    let mut files: Vec<ListedFile> = on_disk(workspace, &folder)?
        .into_iter()
        .filter(|(path, _)| is_wanted(path) && !staged.contains_key(path))
        .map(|(path, bytes)| ListedFile { path, bytes, is_staged: false })
        .collect();
    files.extend(staged.into_iter().filter_map(|(path, text)| {
        let bytes = text?.len() as u64;
        is_wanted(&path).then_some(ListedFile { path, bytes, is_staged: true })
    }));
    if files.is_empty() && pattern.is_none() && !folder.is_empty() {
        return Err(failure(
            format!("`{folder}` has no files"),
            "`list_files` without a folder shows what there is",
        ));
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let limit = limit(call.limit);
    let more = files.len().saturating_sub(limit);
    files.truncate(limit);
    Ok(FileList { files, more })
}

fn staged_changes(workspace: &Workspace, _call: StagedChanges) -> Result<Staged, AgentError> {
    let mut staged = Staged { files: Vec::new(), diff: String::new() };
    for (path, text) in workspace.staging.staged() {
        let before = workspace.staging.read_from_disk(&path)?;
        let change = match (&before, &text) {
            (None, _) => "created",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        };
        if staged.diff.len() < MAX_DIFF_BYTES {
            staged.diff +=
                &diff(&path, before.as_deref().unwrap_or_default(), text.as_deref().unwrap_or_default());
        }
        staged.files.push(StagedFile { path, change: change.to_owned() });
    }
    staged.diff = beginning(&staged.diff, MAX_DIFF_BYTES);
    Ok(staged)
}

fn matcher(workspace: &Workspace, pattern: &str) -> Result<Override, AgentError> {
    let bad = |reason: String| {
        failure(format!("the pattern makes no sense: {reason}"), "write `*.py` or `src/**/*.html`")
    };
    if pattern.len() > 500 || pattern.starts_with('!') || pattern.chars().any(char::is_control) {
        return Err(bad("it is too long, negated, or has control characters".to_owned()));
    }
    let mut builder = OverrideBuilder::new(&workspace.project.root);
    builder.add(pattern).map_err(|error| bad(error.to_string()))?;
    builder.build().map_err(|error| bad(error.to_string()))
}

/// Files that are not ignored, with their sizes. Links are left out: they could lead anywhere.
fn on_disk(workspace: &Workspace, folder: &str) -> Result<Vec<(String, u64)>, AgentError> {
    let root = &workspace.project.root;
    let start = workspace.staging.locate(folder)?;
    let is_wanted = |entry: &ignore::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        // An environment may have any name; its marker has not.
        let is_environment = || entry.path().join("pyvenv.cfg").is_file();
        entry.depth() == 0 || !(name == ".git" || LEFT_OUT.contains(&&*name) || is_environment())
    };
    let walker = WalkBuilder::new(start).hidden(false).require_git(false).filter_entry(is_wanted).build();
    let entries = walker
        .flatten()
        .take(MAX_WALKED)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let file = |entry: ignore::DirEntry| {
        let relative = entry.path().strip_prefix(root).ok()?;
        let path = relative.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>()?.join("/");
        Some((path, entry.metadata().map_or(0, |metadata| metadata.len())))
    };
    Ok(entries.filter_map(file).collect())
}
