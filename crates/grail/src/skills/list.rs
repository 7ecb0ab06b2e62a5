//! `grail skills list`

use clap::Args;
use grail_rules::Origin;
use grail_skills::{CatalogueEntry, Cut, ShadowedSkill, TrustState};
use serde::Serialize;

use super::Shelf;
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, ErrorRecord, RESET, Terminal, count, visible, visible_line};

/// List the skills there are, with what they say they are for
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail skills list\n  grail skills list --format json")]
pub struct Arguments {}

#[derive(Serialize)]
struct ListRecord<'a> {
    skills: Vec<SkillRecord<'a>>,
    shadowed: &'a [ShadowedSkill],
    /// What was not looked at.
    cut: &'a [Cut],
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct SkillRecord<'a> {
    #[serde(flatten)]
    entry: &'a CatalogueEntry,
    trust: TrustState,
}

pub(super) fn run(_arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let catalogue = &shelf.catalogue;
    let skills: Vec<SkillRecord> = catalogue
        .entries
        .iter()
        .map(|entry| SkillRecord { entry, trust: shelf.trust.state(&entry.skill) })
        .collect();
    if terminal.format() == Format::Json {
        let errors = catalogue.problems.iter().map(ErrorRecord::from).collect();
        terminal.json(&ListRecord { skills, shadowed: &catalogue.shadowed, cut: &catalogue.cut, errors })?;
        return Ok(Exit::Fine);
    }
    for SkillRecord { entry, trust } in &skills {
        let mut about = vec![origin_name(entry.skill.origin).to_owned()];
        about.extend(trust_word(*trust).map(str::to_owned));
        let (name, about) = (visible_line(&entry.skill.name), about.join(", "));
        terminal.line(format_args!("{BOLD}{name}{RESET} ({about})"))?;
        terminal.line(format_args!("  {}", visible_line(&entry.skill.description)))?;
    }
    terminal.note(format_args!("{}", count(skills.len(), "skill")))?;
    for shadowed in &catalogue.shadowed {
        let (folder, by) = (shadowed.folder.display().to_string(), shadowed.by.display().to_string());
        terminal.note(format_args!("`{}` is hidden by `{}`", visible(&folder), visible(&by)))?;
    }
    Ok(Exit::Fine)
}

fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::Home => "home",
        Origin::BuiltIn => "built-in",
    }
}

fn trust_word(trust: TrustState) -> Option<&'static str> {
    match trust {
        TrustState::Trusted => None,
        TrustState::Untrusted => Some("not trusted"),
        TrustState::Changed => Some("changed, not trusted any more"),
    }
}
