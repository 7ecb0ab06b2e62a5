//! `grail.toml`, and where a project begins.
//!
//! Every key is optional, an unknown key is an error: a misspelt setting must never be silently ignored.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::error::{ConfigProblem, ProjectError};
use crate::event_config::EventSettings;
use crate::learn_config::LearnConfig;
use crate::model_config::{self, GenerateConfig, ModelConfig};
use crate::train_config::TrainConfig;

pub const CONFIG_FILE: &str = "grail.toml";

/// A project: its root folder (absolute) and its configuration.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: PathBuf,
    pub config: Config,
}

/// The whole of `grail.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    pub project: ProjectConfig,
    pub code: CodeConfig,
    pub sandbox: SandboxConfig,
    pub check: CheckConfig,
    /// `[policies.NAME]` as written. What a policy may say is known to the sandbox, which reads and checks it.
    pub policies: toml::Table,
    pub generate: GenerateConfig,
    pub events: EventSettings,
    pub train: TrainConfig,
    pub learn: LearnConfig,
    /// `[models.NAME]`: models on servers and on this machine.
    #[serde(deserialize_with = "model_config::models")]
    pub models: BTreeMap<String, ModelConfig>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ProjectConfig {
    /// Folders from which modules are imported, relative to the root.
    pub src: Vec<String>,
    /// Files and folders to leave alone, written as in `.gitignore`.
    pub exclude: Vec<String>,
    /// The oldest Python the project supports.
    pub target_version: TargetVersion,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CodeConfig {
    /// Larger files are reported instead of read.
    pub max_file_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SandboxConfig {
    /// The policy that runs are held to unless they name another: a preset or one of `[policies]`.
    pub policy: Option<String>,
}

/// Which rules are in force, and what else a check runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CheckConfig {
    /// Rules and packs that are in force whatever libraries the project uses; `ALL` means every one.
    pub select: Vec<String>,
    /// Rules and packs that are not in force.
    pub ignore: Vec<String>,
    /// Rules and packs that are not in force in files that match a glob.
    pub per_path: BTreeMap<String, Vec<String>>,
    /// `error`, `warning` or `info`, by rule.
    pub severity: BTreeMap<String, String>,
    /// Values for the options of rules, by rule. What options there are is known to the rules.
    pub options: BTreeMap<String, toml::Table>,
    /// Versions of libraries, where the project itself does not say: `tdom = "0.1.20"`.
    pub target: BTreeMap<String, String>,
    /// Whether fixes that may change what the code means are applied too.
    pub unsafe_fixes: bool,
    pub lint: ToolConfig,
    pub types: ToolConfig,
    pub tests: TestsConfig,
}

/// A layer of a check that another tool runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ToolConfig {
    /// Whether a check without `--layer` runs it.
    pub enabled: bool,
    /// Seconds after which the tool is stopped.
    pub timeout: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TestsConfig {
    /// Whether a check without `--layer` runs them.
    pub enabled: bool,
    /// The command; `pytest` if there is none.
    pub command: Vec<String>,
    /// `local`, `wasm`, or `auto`: what the code needs.
    pub runner: Option<String>,
    /// Seconds after which the tests are stopped.
    pub timeout: Option<u64>,
}

/// A Python version such as `3.14`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetVersion {
    pub major: u8,
    pub minor: u8,
}

impl Project {
    /// The project that holds `start` (a file or a folder).
    pub fn discover(start: &Path) -> Result<Self, ProjectError> {
        let root = find_root(start)?;
        let config = load_config(&root)?;
        Ok(Self { root, config })
    }
}

/// The nearest folder upward with a `grail.toml`, else with a `pyproject.toml`, else with `.git`, else the given folder.
pub fn find_root(start: &Path) -> Result<PathBuf, ProjectError> {
    let absolute = fs::canonicalize(start).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ProjectError::PathMissing { path: start.to_owned() },
        _ => ProjectError::Unreadable { path: start.to_owned(), source },
    })?;
    let folder = if absolute.is_dir() { absolute.as_path() } else { absolute.parent().unwrap_or(&absolute) };
    let marked = [CONFIG_FILE, "pyproject.toml", ".git"]
        .into_iter()
        .find_map(|marker| folder.ancestors().find(|ancestor| ancestor.join(marker).exists()));
    Ok(marked.unwrap_or(folder).to_owned())
}

/// Reads `grail.toml` in `root`; without the file every setting has its default.
pub fn load_config(root: &Path) -> Result<Config, ProjectError> {
    let path = root.join(CONFIG_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(source) => return Err(ProjectError::Unreadable { path, source }),
    };
    parse_config(&text, &path).map_err(|problem| ProjectError::Config(Box::new(problem)))
}

impl Default for ProjectConfig {
    fn default() -> Self {
        Self {
            src: vec!["src".to_owned(), ".".to_owned()],
            exclude: Vec::new(),
            target_version: TargetVersion { major: 3, minor: 14 },
        }
    }
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self { max_file_bytes: crate::DEFAULT_MAX_BYTES }
    }
}

impl FromStr for TargetVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed =
            text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match parsed {
            Some((major @ 3, minor @ 7..=14)) => Ok(Self { major, minor }),
            _ => Err(format!("`{text}` is not a supported Python version, expected `3.7` to `3.14`")),
        }
    }
}

impl<'de> Deserialize<'de> for TargetVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn parse_config(text: &str, path: &Path) -> Result<Config, ConfigProblem> {
    toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let (line, column, snippet) = point_at(text, &span);
        let (message, hint) = explain(error.message());
        ConfigProblem { path: path.to_owned(), line, column, message, snippet, hint }
    })
}

/// Line, column and a snippet with carets for a byte range of the file.
fn point_at(text: &str, span: &Range<usize>) -> (usize, usize, String) {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_text = text[line_start..].lines().next().unwrap_or_default();
    let line = text[..start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let end =
        text.floor_char_boundary(span.end.clamp(start, line_start + line_text.len().max(start - line_start)));
    let carets = "^".repeat(text[start..end].chars().count().max(1));
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let indent = " ".repeat(column - 1);
    (line, column, format!("{gutter} |\n{number} | {line_text}\n{gutter} | {indent}{carets}"))
}

/// Splits serde's "unknown field `a`, expected one of `b`, `c`" into a message and a hint that names the likeliest key.
fn explain(message: &str) -> (String, Option<String>) {
    let first_line = message.lines().next().unwrap_or_default();
    let Some((head, expected)) = first_line.split_once(", expected ") else {
        return (first_line.to_owned(), None);
    };
    let Some(name) = head.strip_prefix("unknown field `").and_then(|rest| rest.strip_suffix('`')) else {
        return (first_line.to_owned(), None);
    };
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance);
    let hint = match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => format!(
            "known here: {}",
            known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    (format!("unknown key `{name}`"), Some(hint))
}
