//! Skills as tools: which there are, then one body, then one file, then its scripts.
//!
//! Of a skill that is not trusted nothing is told but that it is there. A body is told once: whoever asks again is sent to the first answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use grail_flywheel::EventKind;
use grail_flywheel::event::SkillStage;
use grail_rules::Origin;
use grail_sandbox::Toolset;
use grail_skills::runnable::{Ending, StartSettings, Surroundings};
use grail_skills::script::{ScriptRun, run_script};
use grail_skills::search::SearchIndex;
use grail_skills::{CatalogueEntry, DEFAULT_BUDGET, Listing, Skill, SkillError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{failure, tool};
use crate::AgentError;
use crate::embedder::search_index;
use crate::workspace::Workspace;

/// How long a script may take unless more is asked for, and at most.
const DEFAULT_SECONDS: u64 = 60;
const MAX_SECONDS: u64 = 300;
const MAX_OUTPUT_BYTES: usize = 64 * 1024;
const MAX_ARGUMENTS: usize = 100;
const MAX_ARGUMENT_BYTES: usize = 16 * 1024;
const DEFAULT_HITS: usize = 5;
const MAX_HITS: usize = 20;

#[derive(Deserialize, JsonSchema)]
struct ListSkills {
    /// Tokens that the list may take; what does not fit is counted.
    #[serde(default)]
    budget: Option<usize>,
}

/// The skills there are.
#[derive(Serialize, JsonSchema)]
pub struct SkillList {
    /// Nearest first: the project's, the user's, the built-in ones.
    pub skills: Vec<SkillSummary>,
    /// What is not in the list, and why.
    pub remarks: String,
    /// What the list costs.
    pub tokens: usize,
}

/// What a skill is for.
#[derive(Serialize, JsonSchema)]
pub struct SkillSummary {
    pub name: String,
    pub description: String,
}

#[derive(Deserialize, JsonSchema)]
struct LoadSkill {
    /// The skill's name, as listed.
    name: String,
}

/// The instructions of a skill.
#[derive(Serialize, JsonSchema)]
pub struct SkillBody {
    pub name: String,
    /// Empty if it was told before.
    pub body: String,
    /// Files that `read_skill_file` can read.
    pub files: Vec<String>,
    /// Files that are not named for want of room.
    pub more_files: usize,
    /// What to know about the answer.
    pub note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ReadSkillFile {
    /// The skill's name, as listed.
    name: String,
    /// The file below the skill's folder, such as `references/guide.md`.
    path: String,
    /// The first line, from 1.
    #[serde(default)]
    line: Option<usize>,
}

/// A file of a skill, or a part of it.
#[derive(Serialize, JsonSchema)]
pub struct SkillFileText {
    pub path: String,
    pub text: String,
    /// The first line of the text, from 1.
    pub line: usize,
    /// Lines of the whole file.
    pub total_lines: usize,
    /// The line to go on with, if there is more.
    pub next_line: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct RunSkillScript {
    /// The skill's name, as listed.
    name: String,
    /// Such as `scripts/report.py`.
    script: String,
    /// What the script gets.
    #[serde(default)]
    arguments: Vec<String>,
    /// How long it may take: 60 if it is not said, at most 300.
    #[serde(default)]
    seconds: Option<u64>,
}

/// How a script ended and what it printed.
#[derive(Serialize, JsonSchema)]
pub struct ScriptResult {
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    pub stdout: String,
    /// The end of it.
    pub stderr: String,
}

#[derive(Deserialize, JsonSchema)]
struct SearchSkills {
    /// What is to be done, such as `send an email`.
    query: String,
    /// How many to name: 5 if it is not said, at most 20.
    #[serde(default)]
    limit: Option<usize>,
}

/// Skills that may do it, best first.
#[derive(Serialize, JsonSchema)]
pub struct SkillHits {
    pub skills: Vec<SkillHit>,
}

/// A skill that may do it.
#[derive(Serialize, JsonSchema)]
pub struct SkillHit {
    pub name: String,
    pub description: String,
    /// The chance that it does just that; 0.85 or more is as good as sure.
    pub score: f64,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    let told: Mutex<BTreeMap<String, blake3::Hash>> = Mutex::default();
    let index: OnceLock<SearchIndex> = OnceLock::new();
    Ok(Toolset::new([
        tool(workspace, "list_skills", "List the skills there are: names, and what each is for.", list)?,
        tool(
            workspace,
            "load_skill",
            "Load a skill before doing what it is for: its instructions, and which files it has.",
            move |workspace, call| load(workspace, call, &told),
        )?,
        tool(workspace, "read_skill_file", "Read one file of a skill that its instructions mention.", read)?,
        tool(
            workspace,
            "run_skill_script",
            "Run a Python script of a skill, as its instructions say: behind walls, without network, and without writing to the project.",
            run,
        )?,
        tool(
            workspace,
            "search_skills",
            "Find skills by what they do. A score of 0.85 or more means that a skill does just that.",
            move |workspace, call| search(workspace, call, &index),
        )?,
    ])?)
}

fn list(workspace: &Workspace, call: ListSkills) -> Result<SkillList, AgentError> {
    let budget = call.budget.unwrap_or(DEFAULT_BUDGET).min(DEFAULT_BUDGET * 4);
    let listing = Listing::new(&workspace.catalogue, Some(budget), |entry| is_trusted(workspace, entry));
    let remarks = listing.remarks();
    let skills = listing
        .skills
        .into_iter()
        .map(|skill| SkillSummary { name: skill.name, description: skill.description })
        .collect();
    Ok(SkillList { skills, remarks, tokens: listing.tokens })
}

fn load(
    workspace: &Workspace,
    call: LoadSkill,
    told: &Mutex<BTreeMap<String, blake3::Hash>>,
) -> Result<SkillBody, AgentError> {
    let skill = trusted(workspace, &call.name)?;
    let loaded = grail_skills::load_skill(skill)?;
    let hash = blake3::hash(loaded.body.as_bytes());
    let before = told.lock().unwrap_or_else(PoisonError::into_inner).insert(loaded.name.clone(), hash);
    let files = loaded.files.into_iter().map(|file| file.path).collect();
    if before == Some(hash) {
        let note = Some(format!("`{}` is already loaded, see above", loaded.name));
        return Ok(SkillBody {
            name: loaded.name,
            body: String::new(),
            files,
            more_files: loaded.more_files,
            note,
        });
    }
    let version = hash.to_hex()[..16].to_owned();
    workspace.session.emit(EventKind::Skill {
        skill: loaded.name.clone(),
        version,
        stage: SkillStage::Loaded,
    });
    Ok(SkillBody { name: loaded.name, body: loaded.body, files, more_files: loaded.more_files, note: None })
}

fn read(workspace: &Workspace, call: ReadSkillFile) -> Result<SkillFileText, AgentError> {
    let skill = trusted(workspace, &call.name)?;
    let part = grail_skills::read_skill_file(skill, &call.path, call.line.unwrap_or(1))?;
    used(workspace, &skill.name);
    Ok(SkillFileText {
        path: part.path,
        text: part.text,
        line: part.line,
        total_lines: part.lines,
        next_line: part.next_line,
    })
}

/// Something of a skill is about to be used.
fn used(workspace: &Workspace, skill: &str) {
    let (skill, version) = (skill.to_owned(), String::new());
    workspace.session.emit(EventKind::Skill { skill, version, stage: SkillStage::Used });
}

fn run(workspace: &Workspace, call: RunSkillScript) -> Result<ScriptResult, AgentError> {
    let skill = trusted(workspace, &call.name)?;
    if skill.origin == Origin::BuiltIn {
        let message = format!("the skill `{}` is built in and has no scripts", skill.name);
        return Err(failure(message, "do what its instructions say with the other tools"));
    }
    let bytes: usize = call.arguments.iter().map(String::len).sum();
    if call.arguments.len() > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES {
        return Err(failure(
            "the arguments are too many",
            format!("at most {MAX_ARGUMENTS} with {MAX_ARGUMENT_BYTES} bytes together"),
        ));
    }
    if call.arguments.iter().any(|argument| argument.contains('\0')) {
        return Err(failure("an argument has null bytes", "programs cannot be given any"));
    }
    let run = ScriptRun {
        skill: skill.name.clone(),
        folder: skill.folder.clone(),
        script: PathBuf::from(call.script),
        arguments: call.arguments.into_iter().map(Into::into).collect(),
        directory: workspace.project.root.clone(),
        writes: false,
        timeout: Duration::from_secs(call.seconds.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS)),
        max_output_bytes: MAX_OUTPUT_BYTES,
    };
    let mut settings =
        StartSettings::new(Surroundings::of_this_process(Some(workspace.project.root.clone())));
    settings.launcher = Some(workspace.program.clone());
    let output = run_script(&run, &settings)?;
    let exit_code = match output.ending {
        Ending::Code(code) => Some(code),
        Ending::Signal(_) | Ending::Unknown => None,
    };
    Ok(ScriptResult { exit_code, stdout: output.stdout, stderr: output.stderr })
}

fn search(
    workspace: &Workspace,
    call: SearchSkills,
    index: &OnceLock<SearchIndex>,
) -> Result<SkillHits, AgentError> {
    let index = match index.get() {
        Some(index) => index,
        None => {
            let made = trusted_index(workspace)?;
            index.get_or_init(|| made)
        }
    };
    let limit = call.limit.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
    // Trust may have been lost since the index was made.
    let hits = index.search(&call.query, limit)?.into_iter();
    let hits = hits.filter(|hit| workspace.trust.state(&hit.skill).is_trusted());
    let skills = hits.map(|hit| SkillHit {
        name: hit.skill.name,
        description: hit.skill.description,
        score: f64::from((hit.score * 100.0).round()) / 100.0,
    });
    Ok(SkillHits { skills: skills.collect() })
}

fn trusted_index(workspace: &Workspace) -> Result<SearchIndex, AgentError> {
    let entries = workspace.catalogue.entries.iter().filter(|entry| is_trusted(workspace, entry));
    let skills: Vec<Skill> = entries.map(|entry| entry.skill.clone()).collect();
    let mut index = search_index(&workspace.project)?;
    index.update(&skills)?;
    Ok(index)
}

fn is_trusted(workspace: &Workspace, entry: &CatalogueEntry) -> bool {
    workspace.trust.state(&entry.skill).is_trusted()
}

fn trusted<'w>(workspace: &'w Workspace, name: &str) -> Result<&'w Skill, SkillError> {
    let entry = workspace.catalogue.entry(name)?;
    workspace.trust.state(&entry.skill).require(&entry.skill)?;
    Ok(&entry.skill)
}
