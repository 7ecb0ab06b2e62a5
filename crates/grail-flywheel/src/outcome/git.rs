//! Git, asked as a program: no shell, bounded time and output, and nothing of a hostile repository is started.
//!
//! Only objects and references are read, with commands that know neither filters nor the working tree. What a repository's own settings
//! could start (monitors, hooks, external diffs, pagers, signature checks, transports for objects that are not there) is switched off, and
//! the variables by which git tells its hooks where they are do not reach it: the project says where the repository is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use grail_rules::tools::{Capture, Environment, Invocation, Origin, Tool, ToolProblem};

/// No question takes longer, unless the disk is asleep.
const DEADLINE: Duration = Duration::from_secs(30);
const MAX_STDERR: usize = 4 * 1024;

/// Variables of git's that only say who the user is and how git is configured.
const KEPT_VARIABLES: [&str; 6] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_EXEC_PATH",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

/// Settings that win over those of the repository.
const HARMLESS: [&str; 9] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.attributesFile=/dev/null",
    "diff.external=",
    "diff.renameLimit=1000",
    "log.showSignature=false",
    "protocol.allow=never",
    "i18n.logOutputEncoding=UTF-8",
];

/// The git of this machine, at a project.
#[derive(Clone, Debug)]
pub(super) struct Git {
    tool: Tool,
    folder: PathBuf,
}

impl Git {
    /// None if there is no git on the `PATH`.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        let name = if cfg!(windows) { "git.exe" } else { "git" };
        let path = std::env::var_os("PATH")?;
        // A relative entry would find what came with the project.
        let program = std::env::split_paths(&path)
            .filter(|entry| entry.is_absolute())
            .map(|entry| entry.join(name))
            .find(|candidate| candidate.is_file())?;
        let tool =
            Tool { name: "git".to_owned(), program, prefix_arguments: Vec::new(), origin: Origin::Path };
        Some(Self { tool, folder: folder.to_owned() })
    }

    /// What it answers; none if it fails or answers more than `limit`.
    pub(super) fn ask(&self, arguments: &[&str], limit: usize) -> Option<Vec<u8>> {
        self.ask_with(arguments, Vec::new(), limit)
    }

    pub(super) fn ask_with(&self, arguments: &[&str], input: Vec<u8>, limit: usize) -> Option<Vec<u8>> {
        let output = self.run(arguments, input, limit, &HARMLESS).ok()?;
        (output.code == Some(0)).then_some(output.stdout)
    }

    /// Whether it ends with 0, as in `merge-base --is-ancestor`.
    pub(super) fn holds(&self, arguments: &[&str]) -> bool {
        self.run(arguments, Vec::new(), MAX_STDERR, &HARMLESS).is_ok_and(|output| output.code == Some(0))
    }

    /// The first line of an answer, as text.
    pub(super) fn line(&self, arguments: &[&str]) -> Option<String> {
        let answer = String::from_utf8(self.ask(arguments, 64 * 1024)?).ok()?;
        answer.lines().next().map(str::to_owned).filter(|line| !line.is_empty())
    }

    /// Where git looks for hooks: the one question that the repository's own setting answers.
    pub(super) fn hooks_path(&self) -> Option<OsString> {
        let arguments = ["rev-parse", "--path-format=absolute", "--git-path", "hooks"];
        let output = self.run(&arguments, Vec::new(), 64 * 1024, &HARMLESS[2..]).ok()?;
        (output.code == Some(0)).then(|| path_of(&output.stdout))
    }

    fn run(
        &self,
        arguments: &[&str],
        input: Vec<u8>,
        limit: usize,
        settings: &[&str],
    ) -> Result<grail_rules::tools::Output, ToolProblem> {
        let mut all: Vec<OsString> = ["--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"]
            .iter()
            .map(OsString::from)
            .collect();
        for setting in settings {
            all.extend([OsString::from("-c"), OsString::from(setting)]);
        }
        all.extend(arguments.iter().map(OsString::from));
        self.tool.invoke(&Invocation {
            program: self.tool.program.clone(),
            arguments: all,
            directory: self.folder.clone(),
            input,
            environment: Environment::Only(environment()),
            deadline: DEADLINE,
            stdout: Capture::Whole(limit),
            stderr: Capture::Tail(MAX_STDERR),
        })
    }
}

/// Without its line feed. Paths need not be text.
#[cfg(unix)]
pub(super) fn path_of(answer: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(answer.strip_suffix(b"\n").unwrap_or(answer).to_vec())
}

#[cfg(not(unix))]
pub(super) fn path_of(answer: &[u8]) -> OsString {
    String::from_utf8_lossy(answer).trim_end_matches(['\r', '\n']).to_owned().into()
}

/// Ours, without what a hook is told by git, and with what keeps git from asking or fetching.
fn environment() -> Vec<(OsString, OsString)> {
    let is_kept = |name: &OsStr| {
        !name.to_string_lossy().starts_with("GIT_") || KEPT_VARIABLES.iter().any(|kept| name == *kept)
    };
    let mut variables: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| is_kept(name)).collect();
    let fixed = [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("LC_ALL", "C"),
    ];
    variables.extend(fixed.map(|(name, value)| (name.into(), value.into())));
    variables
}
