//! What git knows, by git itself: status, difference, history; and pushing, which a person is asked about.
//!
//! Git is told to run no programs of the repository's choosing (hooks, external differs, file monitors) except when it pushes.

use std::ffi::OsString;
use std::sync::Arc;

use grail_rules::tools::Output;
use grail_sandbox::Toolset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{MAX_DIFF_BYTES, beginning, limit};
use super::programs::{Run, environment, installed, printed, refused};
use super::sources::folder;
use super::{failure, tool};
use crate::AgentError;
use crate::workspace::Workspace;

const SECONDS: u64 = 20;
const PUSH_SECONDS: u64 = 120;
const DEFAULT_COMMITS: usize = 20;
const MAX_COMMITS: usize = 200;
/// What a push needs beyond what every program does: how the user is known to the server.
const PUSH_VARIABLES: [&str; 11] = [
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

#[derive(Deserialize, JsonSchema)]
struct GitStatus {}

/// The state of the working tree on disk; what is staged for the proposal is not in it.
#[derive(Serialize, JsonSchema)]
pub struct WorkingTree {
    /// `None` if no branch is checked out.
    pub branch: Option<String>,
    /// The branch it follows.
    pub upstream: Option<String>,
    /// Commits that the upstream does not have.
    pub ahead: u32,
    /// Commits that only the upstream has.
    pub behind: u32,
    pub files: Vec<ChangedFile>,
    /// Files that are not named for want of room.
    pub more: usize,
}

/// A file that differs from the last commit.
#[derive(Serialize, JsonSchema)]
pub struct ChangedFile {
    /// Below the project's root.
    pub path: String,
    /// untracked, added, modified, deleted, renamed, copied, type-changed or conflicted.
    pub status: String,
    /// Whether the change is in git's index.
    pub in_index: bool,
}

#[derive(Deserialize, JsonSchema)]
struct GitDiff {
    /// A file or folder; everything if it is not said.
    #[serde(default)]
    path: Option<String>,
    /// Against this commit or branch; against the index if it is not said.
    #[serde(default)]
    revision: Option<String>,
    /// What git's index holds, instead of what the working tree does.
    #[serde(default)]
    index: bool,
}

/// A difference on disk; what is staged for the proposal is not in it.
#[derive(Serialize, JsonSchema)]
pub struct Difference {
    /// A unified diff.
    pub diff: String,
    /// Whether it was cut.
    pub is_cut: bool,
}

#[derive(Deserialize, JsonSchema)]
struct GitLog {
    /// Only commits that touch this file or folder.
    #[serde(default)]
    path: Option<String>,
    /// Beginning with this commit or branch; with the current one if it is not said.
    #[serde(default)]
    revision: Option<String>,
    /// How many: 20 if it is not said, at most 200.
    #[serde(default)]
    limit: Option<usize>,
}

/// Commits, newest first.
#[derive(Serialize, JsonSchema)]
pub struct History {
    pub commits: Vec<Commit>,
}

/// A commit.
#[derive(Serialize, JsonSchema)]
pub struct Commit {
    pub hash: String,
    pub author: String,
    /// When it was written, as ISO 8601.
    pub date: String,
    /// The first line of its message.
    pub subject: String,
}

#[derive(Deserialize, JsonSchema)]
struct GitPush {
    /// A remote of the repository, such as `origin`; never an address.
    #[serde(default)]
    remote: Option<String>,
    /// The branch; the current one if it is not said.
    #[serde(default)]
    branch: Option<String>,
}

/// What was pushed.
#[derive(Serialize, JsonSchema)]
pub struct Pushed {
    pub remote: String,
    pub branch: String,
    /// What git said.
    pub output: String,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([
        tool(
            workspace,
            "git_status",
            "The branch and the files that differ from the last commit, on disk.",
            status,
        )?,
        tool(workspace, "git_diff", "What differs on disk from the index or from a commit.", diff)?,
        tool(workspace, "git_log", "The last commits.", log)?,
        tool(
            workspace,
            "git_push",
            "Push a branch to a remote, as it is committed. Needs approval; never by force.",
            push,
        )?,
    ])?)
}

fn status(workspace: &Workspace, _call: GitStatus) -> Result<WorkingTree, AgentError> {
    let prefix = printed(&git(workspace, &["rev-parse", "--show-prefix"])?.stdout);
    let arguments = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--", "."];
    let output = git(workspace, &arguments)?;
    Ok(read_status(&printed(&output.stdout), prefix.trim_end_matches(['\n', '\r'])))
}

/// The second porcelain format, with null bytes: entries of a renamed file are followed by its old name.
fn read_status(text: &str, prefix: &str) -> WorkingTree {
    let mut tree =
        WorkingTree { branch: None, upstream: None, ahead: 0, behind: 0, files: Vec::new(), more: 0 };
    let most = limit(Some(usize::MAX));
    let mut entries = text.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        if let Some(branch) = entry.strip_prefix("# branch.head ") {
            tree.branch = Some(branch.to_owned()).filter(|branch| branch != "(detached)");
        } else if let Some(upstream) = entry.strip_prefix("# branch.upstream ") {
            tree.upstream = Some(upstream.to_owned());
        } else if let Some(counts) = entry.strip_prefix("# branch.ab ") {
            let mut counts = counts.split(' ').filter_map(|count| count.get(1..)?.parse().ok());
            tree.ahead = counts.next().unwrap_or(0);
            tree.behind = counts.next().unwrap_or(0);
        }
        let (path, state) = match entry.as_bytes().first() {
            Some(b'?') => (entry.get(2..), "??"),
            Some(b'1') => (entry.splitn(9, ' ').nth(8), entry.get(2..4).unwrap_or("..")),
            Some(b'2') => {
                entries.next();
                (entry.splitn(10, ' ').nth(9), entry.get(2..4).unwrap_or(".."))
            }
            Some(b'u') => (entry.splitn(11, ' ').nth(10), "UU"),
            _ => continue,
        };
        let Some(path) = path else { continue };
        if tree.files.len() == most {
            tree.more += 1;
            continue;
        }
        let path = path.strip_prefix(prefix).unwrap_or(path).to_owned();
        tree.files.push(ChangedFile {
            path,
            status: state_name(state).to_owned(),
            in_index: !state.starts_with(['.', '?']),
        });
    }
    tree
}

/// The index speaks first; where it has nothing to say the working tree does.
fn state_name(state: &str) -> &'static str {
    let letter = state.chars().find(|letter| *letter != '.').unwrap_or('.');
    match letter {
        '?' => "untracked",
        'A' => "added",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        'T' => "type-changed",
        'U' => "conflicted",
        _ => "modified",
    }
}

fn diff(workspace: &Workspace, call: GitDiff) -> Result<Difference, AgentError> {
    let path = place(call.path.as_deref())?;
    // Outside a repository `git diff` compares any two files.
    git(workspace, &["rev-parse", "--git-dir"])?;
    let mut arguments = vec!["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative"];
    if call.index {
        arguments.push("--cached");
    }
    arguments.push("--end-of-options");
    if let Some(revision) = &call.revision {
        arguments.push(check_revision(revision)?);
    }
    arguments.extend(["--", &path]);
    let output = printed(&git(workspace, &arguments)?.stdout);
    Ok(Difference { is_cut: output.len() > MAX_DIFF_BYTES, diff: beginning(&output, MAX_DIFF_BYTES) })
}

fn log(workspace: &Workspace, call: GitLog) -> Result<History, AgentError> {
    let path = place(call.path.as_deref())?;
    let count = format!("-n{}", call.limit.unwrap_or(DEFAULT_COMMITS).clamp(1, MAX_COMMITS));
    let format = "--format=%H%x1f%an%x1f%aI%x1f%s";
    let mut arguments =
        vec!["log", "-z", "--no-show-signature", "--no-color", &count, format, "--end-of-options"];
    arguments.push(call.revision.as_deref().map_or(Ok("HEAD"), check_revision)?);
    arguments.extend(["--", &path]);
    let output = git(workspace, &arguments)?;
    let commit = |entry: &str| {
        let mut fields = entry.splitn(4, '\u{1f}').map(|field| beginning(field, 500));
        Some(Commit {
            hash: fields.next()?,
            author: fields.next()?,
            date: fields.next()?,
            subject: fields.next()?,
        })
    };
    Ok(History { commits: printed(&output.stdout).split('\0').filter_map(commit).collect() })
}

fn push(workspace: &Workspace, call: GitPush) -> Result<Pushed, AgentError> {
    let remotes = printed(&git(workspace, &["remote"])?.stdout);
    let remote = call.remote.unwrap_or_else(|| "origin".to_owned());
    if !remotes.lines().any(|known| known == remote) || remote.starts_with('-') {
        let known: Vec<String> = remotes.lines().map(|name| format!("`{name}`")).collect();
        let hint = match known.is_empty() {
            true => "a person adds one with `git remote add`".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        let shown: String = remote.chars().filter(|character| !character.is_control()).take(80).collect();
        return Err(failure(format!("the repository has no remote `{shown}`"), hint));
    }
    let branch = match call.branch {
        Some(branch) => check_revision(&branch)?.to_owned(),
        None => printed(&git(workspace, &["symbolic-ref", "--short", "HEAD"])?.stdout).trim().to_owned(),
    };
    let reference = format!("refs/heads/{branch}");
    let environment = environment(&PUSH_VARIABLES, &[("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")], None);
    let arguments = ["push", "--porcelain", "--", &remote, &format!("{reference}:{reference}")];
    let output = run(workspace, &arguments, environment, PUSH_SECONDS)?;
    let said = printed(&output.stdout) + &printed(&output.stderr);
    Ok(Pushed { remote, branch, output: beginning(&said, MAX_DIFF_BYTES) })
}

/// A commit or branch by name, with nothing in it that git would take for something else.
fn check_revision(text: &str) -> Result<&str, AgentError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./~^@{}-".contains(&byte);
    if !text.is_empty() && text.len() <= 200 && !text.starts_with(['-', '.']) && text.bytes().all(is_plain) {
        return Ok(text);
    }
    Err(failure("that is no commit or branch", "such as `main`, `HEAD~1` or the beginning of a hash"))
}

fn place(path: Option<&str>) -> Result<String, AgentError> {
    let path = folder(path.unwrap_or_default())?;
    // Read as it is: no magic, whatever it begins with.
    Ok(if path.is_empty() { ".".to_owned() } else { format!(":(literal){path}") })
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Result<Output, AgentError> {
    let quiet = [
        "--no-pager",
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.quotePath=false",
    ];
    let arguments: Vec<&str> = quiet.iter().chain(arguments).copied().collect();
    run(workspace, &arguments, environment(&[], &[("LC_ALL", "C")], None), SECONDS)
}

fn run(
    workspace: &Workspace,
    arguments: &[&str],
    environment: Vec<(OsString, OsString)>,
    seconds: u64,
) -> Result<Output, AgentError> {
    let root = &workspace.project.root;
    let program = installed(root, "git")
        .ok_or_else(|| failure("`git` is not installed", "go on without the history of the project"))?;
    let arguments = arguments.iter().map(OsString::from).collect();
    let run = Run { program: &program, arguments, directory: root, environment, seconds, tail: None };
    let output = run.start().map_err(|problem| refused(&problem))?;
    if output.code == Some(0) {
        return Ok(output);
    }
    let said = printed(&output.stderr);
    if said.contains("not a git repository") {
        return Err(failure("the project is not in a git repository", "go on without its history"));
    }
    let said = said.trim();
    let said = if said.is_empty() { printed(&output.stdout).trim().to_owned() } else { said.to_owned() };
    Err(AgentError::Other { message: format!("git refuses: {}", beginning(&said, 2_000).trim()), hint: None })
}
