//! The staging folder, and what can be found out about a skill in it without starting it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use grail_code::{ModuleName, Source, parse_module};
use grail_project::CheckConfig;
use grail_rules::{Checker, Library, RuleSet, Selection, Severity, Usage};
use grail_skills::lifecycle::{StagedSkill, validate_staged_skill};
use grail_skills::runnable::capabilities::uncovered;
use grail_skills::{SkillError, SkillProblem};
use tempfile::TempDir;

use crate::AgentError;

/// More files in one skill are not written.
pub(super) const MAX_FILES: usize = 24;
/// A larger file is not written.
pub(super) const MAX_FILE_BYTES: usize = 256 * 1024;
const MAX_PATH_BYTES: usize = 160;

/// A folder of this attempt alone, which nobody else can look into. It goes when this is dropped.
pub(super) struct StagingFolder {
    folder: TempDir,
}

impl StagingFolder {
    pub(super) fn new(root: &Path) -> Result<Self, AgentError> {
        let folder = tempfile::Builder::new().prefix("grail-skill-staging-").tempdir_in(root);
        let folder =
            folder.map_err(|source| AgentError::Storage { path: root.display().to_string(), source })?;
        Ok(Self { folder })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes files as the skill `id`, into a folder that did not exist before.
    pub(super) fn place(&self, id: &str, files: &BTreeMap<String, String>) -> Result<PathBuf, AgentError> {
        place_in(self.path(), id, files)
    }
}

/// As [`StagingFolder::place`], for whoever has only the path: a tool that outlives the attempt finds no folder and writes nothing.
pub(super) fn place_in(
    staging: &Path,
    id: &str,
    files: &BTreeMap<String, String>,
) -> Result<PathBuf, AgentError> {
    let failed = |path: &Path, source| AgentError::Storage { path: path.display().to_string(), source };
    let round = tempfile::Builder::new().prefix("round-").tempdir_in(staging);
    let round = round.map_err(|source| failed(staging, source))?.keep();
    let folder = round.join(id);
    fs::create_dir(&folder).map_err(|source| failed(&folder, source))?;
    for (path, text) in files {
        check_path(path).map_err(|reason| AgentError::Path { path: path.clone(), reason })?;
        let file = folder.join(path);
        let write = || {
            fs::create_dir_all(file.parent().unwrap_or(&folder))?;
            fs::write(&file, text)
        };
        write().map_err(|source| failed(&file, source))?;
    }
    Ok(folder)
}

/// Why a path is none that a file of a skill can have.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        return Err(format!("a path has between 1 and {MAX_PATH_BYTES} bytes"));
    }
    let allowed = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if !path.chars().all(allowed) {
        return Err("a path has letters, digits, `_`, `-`, `.` and `/`".to_owned());
    }
    let is_plain = Path::new(path).components().all(|part| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        _ => false,
    });
    // What is left out of an install must not be in a proposal either.
    if !is_plain
        || path.contains("//")
        || path.ends_with('/')
        || path.split('/').any(|part| part == "__pycache__")
    {
        return Err("it has to lie inside the skill's folder, and no part begins with a dot".to_owned());
    }
    Ok(())
}

/// Checks a staged skill: everything an install would, and that the manifest declares what the code can do.
pub(super) fn check(folder: &Path) -> Result<StagedSkill, String> {
    let staged = validate_staged_skill(folder).map_err(|error| told(error, folder))?;
    check_rules(&staged)?;
    let undeclared = uncovered(&staged.used(), &staged.manifest.declared());
    if undeclared.is_empty() {
        return Ok(staged);
    }
    let uses =
        staged.capabilities.iter().flat_map(|(path, file)| file.uses.iter().map(move |one| (path, one)));
    let mut lines: Vec<String> = uses
        .filter(|(_, one)| undeclared.contains(&one.capability))
        .take(10)
        .map(|(path, one)| {
            format!("{path}:{}: `{}` {} (`{}`)", one.line, one.by, one.capability.meaning(), one.capability)
        })
        .collect();
    lines.push(
        "the manifest does not declare this; hint: declare it under `[capabilities]` in `manifest.toml`, or do without".to_owned(),
    );
    Err(lines.join("\n"))
}

/// The rules of runnable skills, which know the mistakes that a handshake does not show. Those of the program itself: a project may have others of
/// the same name, and what is made here is no part of the project.
fn check_rules(staged: &StagedSkill) -> Result<(), String> {
    static RULES: LazyLock<Option<RuleSet>> = LazyLock::new(|| {
        let selection = Selection {
            config: &CheckConfig::default(),
            select: &["python-skill".to_owned()],
            ignore: &[],
            kind: None,
            usage: &|_| Usage::Absent,
        };
        selection.rules(&Library::built_in()).ok()
    });
    let Some(rules) = RULES.as_ref() else { return Ok(()) };
    let path = staged.manifest.entry_file.to_string_lossy().into_owned();
    let parsed = parse_module(Source::from_text(staged.script.as_str()));
    let checker = Checker { rules, python: None };
    let found = checker.check_parsed(&path.into(), &ModuleName::module("skill"), &parsed).report.findings;
    let wrong = found.iter().filter(|finding| finding.severity == Severity::Error);
    let lines: Vec<String> = wrong
        .take(10)
        .map(|finding| {
            let (path, line, rule) = (&finding.path, finding.start.line, &finding.rule);
            match &finding.help {
                Some(help) => format!("{path}:{line}: {} (`{rule}`); hint: {help}", finding.message),
                None => format!("{path}:{line}: {} (`{rule}`)", finding.message),
            }
        })
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

/// A problem as a model is told it: with the path that it wrote, and with what to do.
fn told(error: SkillError, folder: &Path) -> String {
    let error = match error {
        SkillError::Problem(problem) => {
            let path = problem.path.strip_prefix(folder).map(Path::to_owned).unwrap_or(problem.path);
            SkillError::Problem(SkillProblem { path, ..problem })
        }
        other => other,
    };
    match error.hint() {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    }
}
