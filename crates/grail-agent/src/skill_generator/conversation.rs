//! The loop with a model: it writes files with tools, the whole is tried, and what fails goes back to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use grail_model::{Message, Model};
use grail_sandbox::{Tool, ToolError, Toolset};
use grail_skills::MANIFEST_FILE;
use grail_skills::lifecycle::StagedSkill;
use grail_skills::runnable::{Manifest, read_inline_metadata};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instructions::{build_generation_prompt, system_prompt};
use super::staged::{self, MAX_FILE_BYTES, MAX_FILES, StagingFolder, place_in};
use super::{SkillGeneratorConfig, SkillProposal, taken_ids, trial};
use crate::AgentError;
use crate::code_mode::fenced_blocks;
use crate::dialogue::{Dialogue, DialogueLimits, Turn};
use crate::generate::Company;
use crate::workspace::Workspace;

const SCRIPT_FILE: &str = "skill.py";
/// How often a model may talk without writing anything.
const MAX_NUDGES: usize = 2;

/// The files as the model has written them so far, and where they are tried.
#[derive(Clone)]
struct Draft {
    files: Arc<Mutex<BTreeMap<String, String>>>,
    staging: PathBuf,
}

pub(super) async fn write_skill(
    config: &SkillGeneratorConfig,
    workspace: &Workspace,
    model: &dyn Model,
    model_name: &str,
    intent: &str,
    staging: &StagingFolder,
    company: Company<'_>,
) -> Result<SkillProposal, AgentError> {
    let draft = Draft { files: Arc::default(), staging: staging.path().to_owned() };
    let limits = DialogueLimits { turns: config.max_llm_turns, ..DialogueLimits::default() };
    let mut dialogue = Dialogue::new(workspace, model, tools(&draft)?, None)
        .with_limits(limits)
        .with_approver(company.approver)
        .watched_by(company.watch);
    dialogue.say(Message::system(system_prompt()?));
    dialogue.say(Message::user(build_generation_prompt(intent)));
    let taken = taken_ids(workspace)?;
    let (mut rounds, mut nudges) = (0, 0);
    let mut tried = BTreeMap::new();
    loop {
        let turn = dialogue.turn().await?;
        if let Turn::Said(text) = &turn {
            draft.take_from(text);
        }
        let files = draft.files();
        let is_said = matches!(turn, Turn::Said(_));
        let is_complete = files.contains_key(MANIFEST_FILE) && files.keys().any(|path| path.ends_with(".py"));
        if !is_complete || files == tried {
            if is_said {
                nudges += 1;
                if nudges > MAX_NUDGES {
                    return Err(AgentError::NotAchieved { reason: "it wrote no skill".to_owned() });
                }
                dialogue.retry(
                    "There is no skill yet. Write `manifest.toml` and `skill.py` with `write_skill_file`.",
                );
            }
            continue;
        }
        tried.clone_from(&files);
        let problem = match draft.check(&files) {
            Ok((staged, _)) if taken.contains(&staged.manifest.id) => {
                format!(
                    "there is a skill `{}`; choose another `id`, and the same `NAME` in the script",
                    staged.manifest.id
                )
            }
            Ok((staged, folder)) => match trial::attempt(workspace, &folder, &staged).await {
                Ok(was_tried) => {
                    let mut proposal = SkillProposal::new(staged, files, folder, intent, model_name);
                    proposal.tried = was_tried;
                    if !was_tried {
                        proposal.notes.push(
                            "it needs packages and was not started yet; they are fetched when it is installed".to_owned(),
                        );
                    }
                    return Ok(proposal);
                }
                Err(reason) => format!("The script was started and greeted, and {reason}"),
            },
            Err(reason) => reason,
        };
        rounds += 1;
        if rounds >= config.max_test_rounds {
            let reason = format!("after {rounds} rounds it is still wrong: {problem}");
            return Err(AgentError::NotAchieved { reason });
        }
        dialogue.retry(&format!("The skill is not right yet. Write the files that have to change again, each as a whole.\n{problem}"));
    }
}

impl Draft {
    fn files(&self) -> BTreeMap<String, String> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn write(&self, path: &str, text: String) -> Result<usize, String> {
        staged::check_path(path)?;
        if text.len() > MAX_FILE_BYTES {
            return Err(format!("the text has {} bytes; at most {MAX_FILE_BYTES} are written", text.len()));
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.contains_key(path) && files.len() >= MAX_FILES {
            return Err(format!("a skill has at most {MAX_FILES} files"));
        }
        let bytes = text.len();
        files.insert(path.to_owned(), text);
        Ok(bytes)
    }

    /// Files that were said instead of written: one block of TOML, one of Python.
    fn take_from(&self, text: &str) {
        for (language, body) in fenced_blocks(text) {
            let path = match language.as_str() {
                "toml" => MANIFEST_FILE,
                "python" | "py" => SCRIPT_FILE,
                _ => continue,
            };
            let _ = self.write(path, body);
        }
    }

    fn check(&self, files: &BTreeMap<String, String>) -> Result<(StagedSkill, PathBuf), String> {
        let id = id_of(files)?;
        let folder = place_in(&self.staging, &id, files).map_err(|error| error.to_string())?;
        Ok((staged::check(&folder)?, folder))
    }
}

/// The id that the manifest gives the skill; its folder is called so.
fn id_of(files: &BTreeMap<String, String>) -> Result<String, String> {
    let text = files.get(MANIFEST_FILE).ok_or("there is no `manifest.toml`")?;
    let table: toml::Table =
        toml::from_str(text).map_err(|error| format!("manifest.toml: {}", error.message()))?;
    let id = table.get("id").and_then(toml::Value::as_str).unwrap_or_default();
    let manifest =
        Manifest::parse(Path::new(MANIFEST_FILE), text, id).map_err(|problem| match &problem.hint {
            Some(hint) => format!("{problem}; hint: {hint}"),
            None => problem.to_string(),
        })?;
    Ok(manifest.id)
}

#[derive(Deserialize, JsonSchema)]
struct WriteSkillFile {
    /// Below the skill's folder, such as `skill.py`
    path: String,
    /// The whole text of the file
    content: String,
}

#[derive(Serialize, JsonSchema)]
struct Written {
    path: String,
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// What looking at a file came to.
#[derive(Serialize, JsonSchema)]
struct Verdict {
    ok: bool,
    /// What is wrong, with its line, and what to do about it
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl From<Result<(), String>> for Verdict {
    fn from(result: Result<(), String>) -> Self {
        Self { ok: result.is_ok(), problem: result.err() }
    }
}

fn tools(draft: &Draft) -> Result<Toolset, AgentError> {
    let (writing, manifest, script) = (draft.clone(), draft.clone(), draft.clone());
    let write_skill_file = Tool::typed(
        "write_skill_file",
        "Write one file of the skill, whole. Nothing is installed: the files wait for a person.",
        move |file: WriteSkillFile| -> Result<Written, ToolError> {
            let bytes = writing.write(&file.path, file.content).map_err(ToolError::value_error)?;
            Ok(Written { path: file.path, bytes })
        },
    )?;
    let validate_manifest = Tool::typed(
        "validate_manifest",
        "Look whether `manifest.toml` is right.",
        move |_: Nothing| -> Result<Verdict, ToolError> { Ok(id_of(&manifest.files()).map(drop).into()) },
    )?;
    let validate_script = Tool::typed(
        "validate_script",
        "Look whether the script is right: Python, PEP 723 metadata, the methods of the protocol, and nothing that the manifest does not declare.",
        move |_: Nothing| -> Result<Verdict, ToolError> { Ok(check_script(&script).into()) },
    )?;
    Ok(Toolset::new([write_skill_file, validate_manifest, validate_script])?)
}

/// The whole skill where there is a manifest; otherwise what the script alone can show.
fn check_script(draft: &Draft) -> Result<(), String> {
    let files = draft.files();
    if files.contains_key(MANIFEST_FILE) {
        return draft.check(&files).map(drop);
    }
    let script = files.get(SCRIPT_FILE).ok_or("there is no `skill.py`")?;
    read_inline_metadata(Path::new(SCRIPT_FILE), script).map(drop).map_err(|problem| problem.to_string())?;
    Err("write `manifest.toml` too: the script is checked against it".to_owned())
}
