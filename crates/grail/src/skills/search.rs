//! `grail skills search`

use clap::Args;
use grail_agent::embedder::search_index;
use grail_skills::search::{Hit, SAME};
use grail_skills::{Skill, TrustState};
use serde::Serialize;

use super::Shelf;
use super::list::{origin_name, trust_word};
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, ErrorRecord, GREEN, RESET, Terminal, count, visible_line};

/// Find the skill that does what you want, in your own words
///
/// Skills are compared by their words and by their meaning. The score is the chance that a skill does what is asked; from 0.85 on it is taken to
/// be the same thing. Nothing leaves the machine. Exit 1 if no skill reaches the threshold.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills search \"send an email\"
  grail skills search \"my test is flaky\" --limit 1
  grail skills search \"convert csv to json\" --threshold 0.85 --format json")]
pub struct Arguments {
    /// What you want to do
    #[arg(value_name = "INTENT")]
    pub intent: String,
    /// Show at most this many skills
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub limit: usize,
    /// Show only skills with at least this score, between 0 and 1
    #[arg(long, value_name = "SCORE", default_value_t = 0.1, value_parser = parse_score)]
    pub threshold: f32,
}

#[derive(Serialize)]
struct SearchRecord<'a> {
    intent: &'a str,
    threshold: f32,
    hits: Vec<HitRecord<'a>>,
    /// Skills that were looked at.
    searched: usize,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct HitRecord<'a> {
    #[serde(flatten)]
    hit: &'a Hit,
    /// Whether the score says that it is the same thing.
    same: bool,
    /// Whether it is a runnable skill that can be invoked.
    installed: bool,
    trust: TrustState,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let shelf = Shelf::discover()?;
    let installed = shelf.installed();
    let is_installed = |skill: &Skill| installed.iter().any(|one| one.folder == skill.folder);
    let told = shelf.catalogue.entries.iter().map(|entry| &entry.skill);
    let skills: Vec<Skill> = told.chain(&installed).cloned().collect();
    let mut index = search_index(&shelf.project)?;
    index.update(&skills)?;
    index.save(&shelf.project.root);
    let mut hits = index.search(&arguments.intent, arguments.limit)?;
    hits.retain(|hit| hit.score >= arguments.threshold);
    let exit = if hits.is_empty() { Exit::Findings } else { Exit::Fine };
    if terminal.format() == Format::Json {
        let records = hits
            .iter()
            .map(|hit| HitRecord {
                hit,
                same: hit.score >= SAME,
                installed: is_installed(&hit.skill),
                trust: shelf.trust.state(&hit.skill),
            })
            .collect();
        terminal.json(&SearchRecord {
            intent: &arguments.intent,
            threshold: arguments.threshold,
            hits: records,
            searched: index.len(),
            errors: shelf.catalogue.problems.iter().map(ErrorRecord::from).collect(),
        })?;
        return Ok(exit);
    }
    for hit in &hits {
        let origin = match is_installed(&hit.skill) {
            true => "installed",
            false => origin_name(hit.skill.origin),
        };
        let mut about = vec![origin.to_owned()];
        about.extend(trust_word(shelf.trust.state(&hit.skill)).map(str::to_owned));
        let (name, about) = (visible_line(&hit.skill.name), about.join(", "));
        let color = if hit.score >= SAME { GREEN } else { "" };
        terminal.line(format_args!("{color}{:.2}{RESET}  {BOLD}{name}{RESET} ({about})", hit.score))?;
        terminal.line(format_args!("      {}", visible_line(&hit.why)))?;
    }
    let (shown, searched) = (hits.len(), count(index.len(), "skill"));
    terminal.note(format_args!(
        "{shown} found among {searched}; those below {} are not shown",
        arguments.threshold
    ))?;
    Ok(exit)
}

fn parse_score(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(score) if (0.0..=1.0).contains(&score) => Ok(score),
        _ => Err("a number between 0 and 1 is wanted".to_owned()),
    }
}
