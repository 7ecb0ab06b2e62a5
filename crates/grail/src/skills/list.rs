//! `grail skills list`

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use grail_rules::Origin;
use grail_skills::{Benchmark, CatalogueEntry, Cut, Listing, ShadowedSkill, SkillProblem, TrustState};
use serde::Serialize;

use super::Shelf;
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, ErrorRecord, RESET, Terminal, count, path_text, visible, visible_line};

/// List the skills there are, with what they say they are for
///
/// Skills come from `.agents/skills/` in the project, from the same folder in your home, and from Grail itself; the nearer one of the same
/// name wins. With `--budget` the list is what a model is told: names and descriptions of trusted skills in so many tokens, with a word
/// on what had to be left out. Tokens are estimated.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills list
  grail skills list --budget 500
  grail skills list --format json")]
pub struct Arguments {
    /// List what a model is told, in at most so many tokens
    #[arg(long, value_name = "TOKENS")]
    pub budget: Option<usize>,
}

#[derive(Serialize)]
struct ListRecord<'a> {
    skills: Vec<SkillRecord<'a>>,
    /// What a model is told.
    listing: Listing,
    shadowed: &'a [ShadowedSkill],
    /// What was not looked at.
    cut: &'a [Cut],
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct SkillRecord<'a> {
    name: &'a str,
    description: &'a str,
    origin: Origin,
    trust: TrustState,
    folder: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compatibility: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: &'a BTreeMap<String, String>,
    body_tokens: usize,
    runnable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmark: Option<&'a Benchmark>,
    #[serde(skip_serializing_if = "<[SkillProblem]>::is_empty")]
    warnings: &'a [SkillProblem],
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let catalogue = &shelf.catalogue;
    let skills: Vec<SkillRecord> =
        catalogue.entries.iter().map(|entry| skill_record(entry, &shelf)).collect();
    let trusted: BTreeSet<&str> =
        skills.iter().filter(|skill| skill.trust.is_trusted()).map(|skill| skill.name).collect();
    let listing =
        Listing::new(catalogue, arguments.budget, |entry| trusted.contains(entry.skill.name.as_str()));
    if terminal.format() == Format::Json {
        let errors = catalogue.problems.iter().map(ErrorRecord::from).collect();
        let (shadowed, cut) = (catalogue.shadowed.as_slice(), catalogue.cut.as_slice());
        terminal.json(&ListRecord { skills, listing, shadowed, cut, errors })?;
        return Ok(exit(&shelf));
    }
    match arguments.budget {
        Some(_) => terminal.raw(&visible(&listing.text()))?,
        None => {
            for skill in &skills {
                show(skill, terminal)?;
            }
        }
    }
    let (told, all) = (listing.tokens, listing.tokens_of_everything);
    let skills = count(skills.len(), "skill");
    terminal.note(format_args!(
        "{skills}; telling a model about them takes {told} tokens, loading all of them {all}"
    ))?;
    remarks(&shelf, terminal)?;
    Ok(exit(&shelf))
}

fn skill_record<'a>(entry: &'a CatalogueEntry, shelf: &Shelf) -> SkillRecord<'a> {
    let skill = &entry.skill;
    SkillRecord {
        name: &skill.name,
        description: &skill.description,
        origin: skill.origin,
        trust: shelf.trust.state(skill),
        folder: path_text(&entry.shown),
        license: entry.license.as_deref(),
        compatibility: entry.compatibility.as_deref(),
        metadata: &entry.metadata,
        body_tokens: entry.body_tokens,
        runnable: entry.is_runnable,
        benchmark: entry.benchmark.as_ref(),
        warnings: &entry.warnings,
    }
}

fn show(skill: &SkillRecord, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut about = vec![origin_name(skill.origin).to_owned()];
    about.extend(trust_word(skill.trust).map(str::to_owned));
    if skill.runnable {
        about.push("runnable".to_owned());
    }
    about.extend(skill.benchmark.map(|benchmark| visible_line(&benchmark.summary())));
    let (name, about) = (visible_line(skill.name), about.join(", "));
    terminal.line(format_args!("{BOLD}{name}{RESET} ({about})"))?;
    terminal.line(format_args!("  {}", visible_line(skill.description)))
}

/// What is wrong, hidden, or was not looked at.
fn remarks(shelf: &Shelf, terminal: &mut Terminal) -> anyhow::Result<()> {
    let catalogue = &shelf.catalogue;
    for shadowed in &catalogue.shadowed {
        let (folder, by) = (shadowed.folder.display().to_string(), shadowed.by.display().to_string());
        terminal.note(format_args!("`{}` is hidden by `{}`", visible_line(&folder), visible_line(&by)))?;
    }
    for cut in &catalogue.cut {
        terminal.warning(format_args!("{}: {}", cut.folder.display(), cut.message))?;
    }
    for warning in catalogue.entries.iter().flat_map(|entry| &entry.warnings) {
        terminal.warning(format_args!("{warning}"))?;
        if let Some(hint) = &warning.hint {
            terminal.note(format_args!("  {}", visible(hint)))?;
        }
    }
    for problem in &catalogue.problems {
        terminal.error(&problem.to_string(), problem.hint.as_deref())?;
    }
    Ok(())
}

/// A skill that cannot be used at all is worth more than a word.
fn exit(shelf: &Shelf) -> Exit {
    if shelf.catalogue.problems.is_empty() { Exit::Fine } else { Exit::CouldNotRun }
}

pub(super) fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::Home => "home",
        Origin::BuiltIn => "built-in",
    }
}

pub(super) fn trust_word(trust: TrustState) -> Option<&'static str> {
    match trust {
        TrustState::Trusted => None,
        TrustState::Untrusted => Some("not trusted"),
        TrustState::Changed => Some("changed, not trusted any more"),
    }
}
