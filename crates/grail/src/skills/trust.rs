//! `grail skills trust`

use clap::Args;
use grail_rules::Origin;
use grail_skills::{SkillFile, SkillFolder, TrustState};
use serde::Serialize;

use super::Shelf;
use crate::Exit;
use crate::cli::Format;
use crate::render::{Failure, Terminal, count, visible_line};

/// Trust skills of this project: let models read them and their scripts run
///
/// Whoever wrote the project wrote its skills. Until you trust one, you can read it here, but no model is told what it says and nothing
/// of it runs. Trust is given to the files as they are now, and remembered for you alone, outside the project; when one of them changes,
/// you are asked again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills trust shop\n  grail skills trust shop --revoke")]
pub struct Arguments {
    /// Names of skills
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Take trust back
    #[arg(long)]
    pub revoke: bool,
}

#[derive(Serialize)]
struct TrustReport {
    skills: Vec<TrustedRecord>,
}

#[derive(Serialize)]
struct TrustedRecord {
    name: String,
    trust: TrustState,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    files: Vec<SkillFile>,
}

/// Files that are named; the others are counted.
const NAMED: usize = 20;

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let mut shelf = Shelf::discover()?;
    // All names are looked up before anything is remembered.
    let mut skills = Vec::new();
    for name in &arguments.names {
        let skill = shelf.catalogue.entry(name)?.skill.clone();
        if skill.origin != Origin::Project {
            let message = format!("the skill `{name}` is not the project's, and trusted anyway");
            return Err(Failure::new(message).into());
        }
        skills.push(skill);
    }
    let mut records = Vec::new();
    for skill in skills {
        let files = SkillFolder::of(&skill)?.files()?;
        let hash = match arguments.revoke {
            true => {
                shelf.trust.revoke(&skill)?;
                None
            }
            false => Some(shelf.trust.grant(&skill)?.hash),
        };
        records.push(TrustedRecord { trust: shelf.trust.state(&skill), name: skill.name, hash, files });
    }
    if terminal.format() == Format::Json {
        terminal.json(&TrustReport { skills: records })?;
        return Ok(Exit::Fine);
    }
    for record in &records {
        let (name, files) = (visible_line(&record.name), count(record.files.len(), "file"));
        if record.hash.is_none() {
            terminal.line(format_args!("`{name}` is not trusted any more"))?;
            continue;
        }
        terminal.line(format_args!("`{name}` is trusted with these {files}:"))?;
        for file in record.files.iter().take(NAMED) {
            terminal.line(format_args!(
                "  {} ({})",
                visible_line(&file.path),
                count(file.bytes as usize, "byte")
            ))?;
        }
        if record.files.len() > NAMED {
            terminal.line(format_args!("  and {} more", record.files.len() - NAMED))?;
        }
    }
    Ok(Exit::Fine)
}
