//! `grail skills new`

use std::path::PathBuf;

use clap::Args;
use grail_project::{ChangeSet, FileChange, NewFile, Project, write_changes};
use grail_rules::SKILLS_FOLDER;
use grail_skills::{EVALS_FILE, SKILL_FILE, check_skill_name};
use serde::Serialize;

use crate::Exit;
use crate::cli::Format;
use crate::render::{Failure, Terminal, path_text};

/// Start a skill in this project: a SKILL.md and its first evals
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills new shop-views --description 'Write views of the shop. Use when adding or changing a page.'")]
pub struct Arguments {
    /// Its name: small letters, digits and hyphens
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What it does and when to use it, in one or two sentences
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
}

#[derive(Serialize)]
struct NewRecord {
    name: String,
    created: Vec<String>,
}

const DESCRIPTION: &str =
    "Say what the skill does. Use when … (say which tasks, in the words people use for them).";

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let project = Project::discover(std::path::Path::new("."))?;
    let name = &arguments.name;
    if let Some(message) = check_skill_name(name) {
        return Err(Failure::with_hint(message, "such as `shop-views`").into());
    }
    let folder = PathBuf::from(SKILLS_FOLDER).join(name);
    if project.root.join(&folder).symlink_metadata().is_ok() {
        return Err(Failure::new(format!("`{}` exists", folder.display())).into());
    }
    let description = arguments.description.as_deref().unwrap_or(DESCRIPTION);
    let files = [(SKILL_FILE, skill_text(name, description)?), (EVALS_FILE, evals_text(name)?)];
    let mut changes = Vec::new();
    let mut created = Vec::new();
    for (path, text) in files {
        created.push(path_text(&folder.join(path)));
        let path = project.root.join(&folder).join(path);
        changes.push(FileChange { before: None, after: Some(NewFile { path, text }), explicit: false });
    }
    write_changes(&ChangeSet::new(changes), &project.root)?;
    if terminal.format() == Format::Json {
        terminal.json(&NewRecord { name: name.clone(), created })?;
        return Ok(Exit::Fine);
    }
    for path in created {
        terminal.line(format_args!("created {path}"))?;
    }
    terminal.note(format_args!(
        "write it, see `grail skills validate {name}`, then `grail skills trust {name}`"
    ))?;
    Ok(Exit::Fine)
}

/// In double quotes, which JSON and YAML read alike.
fn skill_text(name: &str, description: &str) -> anyhow::Result<String> {
    let title: String = name.replace('-', " ");
    let description = serde_json::to_string(description.trim())?;
    Ok(format!(
        "---
name: {name}
description: {description}
---

# {title}

Say what is right, with the shortest example that shows it. Stay below 500 lines: what is not always needed goes to files in
`references/`, which are read when they are mentioned here.
"
    ))
}

fn evals_text(name: &str) -> anyhow::Result<String> {
    let evals = serde_json::json!({
        "skill_name": name,
        "evals": [{
            "id": 1,
            "prompt": "A task in the words of somebody who has it.",
            "expected_output": "What a good answer is.",
            "assertions": ["Something that holds for a good answer and can be checked"],
        }],
    });
    Ok(serde_json::to_string_pretty(&evals)? + "\n")
}
