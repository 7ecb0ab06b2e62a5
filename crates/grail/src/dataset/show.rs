//! `grail dataset show`

use std::collections::BTreeMap;

use clap::Args;
use grail_flywheel::dataset::manifest::{Counts, Manifest, type_counts};
use grail_flywheel::dataset::open_dataset;
use grail_flywheel::dataset::store::short_hash;
use grail_flywheel::log::forgotten_sessions;
use grail_project::Project;
use serde_json::{Value as Json, json};

use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, RESET, Terminal, count, visible_line};

/// Explain a dataset: what is in it, what is not and why, how it is balanced, and what keeps its splits apart
///
/// The files of the dataset are verified first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail dataset show
  grail dataset show 3fa2c1d0
  grail dataset show --dropped")]
pub struct Arguments {
    /// The dataset, or the beginning of its hash
    #[arg(value_name = "HASH")]
    pub hash: Option<String>,
    /// List every example that was left out
    #[arg(long)]
    pub dropped: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = Project::discover(std::path::Path::new("."))?.root;
    let dataset = open_dataset(&root, arguments.hash.as_deref())?;
    let forgotten = forgotten_sessions(&root)?;
    let sessions = &dataset.manifest.sources.sessions;
    let forgotten: Vec<&String> = sessions.iter().filter(|session| forgotten.contains(*session)).collect();
    let dropped = if arguments.dropped { dataset.dropped()? } else { Vec::new() };
    if terminal.format() == Format::Json {
        let mut told = json!({"dataset": dataset.manifest, "forgotten": forgotten});
        if arguments.dropped {
            told["dropped"] = json!(dropped);
        }
        terminal.json(&told)?;
        return Ok(Exit::Fine);
    }
    explain(&dataset.manifest, terminal)?;
    for dropped in &dropped {
        let detail = dropped.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        terminal.line(format_args!("{} {}{}", dropped.id, dropped.reason, visible_line(&detail)))?;
    }
    if !forgotten.is_empty() {
        let sessions = count(forgotten.len(), "session");
        terminal.warning(format_args!("{sessions} in it were forgotten since; build the dataset anew"))?;
    }
    Ok(Exit::Fine)
}

fn explain(manifest: &Manifest, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (counts, sources) = (&manifest.counts, &manifest.sources);
    terminal.line(format_args!("{BOLD}{}{RESET} built {}", short_hash(&manifest.hash), manifest.built))?;
    let events: u64 = sources.events.iter().map(|file| file.events).sum();
    terminal.line(format_args!(
        "made of {} in {}, {}",
        count(events as usize, "event"),
        count(sources.events.len(), "file"),
        count(sources.imports.len(), "import")
    ))?;
    for import in &sources.imports {
        let share =
            if import.ratio < 1.0 { format!(", at most {}", percent(import.ratio)) } else { String::new() };
        let examples = count(import.examples as usize, "example");
        terminal.line(format_args!("  import {}: {examples}{share}", visible_line(&import.name)))?;
    }
    let varied = if counts.varied > 0 { format!(", {} varied", counts.varied) } else { String::new() };
    let left_out: u64 = counts.dropped.values().sum();
    terminal.line(format_args!(
        "{BOLD}examples{RESET} {} extracted, {} imported{varied}: {} kept, {left_out} left out",
        counts.extracted, counts.imported, counts.kept
    ))?;
    dropped(counts, terminal)?;
    terminal.line(format_args!(
        "{BOLD}split{RESET} {} train, {} valid, {} test",
        counts.train, counts.valid, counts.test
    ))?;
    terminal.line(format_args!("  {}", proof(&manifest.proof)))?;
    if sources.held_out > 0 {
        let prompts = count(sources.held_out as usize, "prompt");
        terminal.line(format_args!("  {prompts} held out for evaluation, and nothing like them is in it"))?;
    }
    balance(manifest, terminal)?;
    let tokens = &manifest.tokens;
    terminal.line(format_args!(
        "{BOLD}tokens{RESET} about {} in prompts, {} in answers, {} in the longest example",
        tokens.prompts, tokens.answers, tokens.longest
    ))?;
    let review = &manifest.review;
    terminal.line(format_args!(
        "{BOLD}review{RESET} {} accepted, {} corrected, {} rejected, {} waiting",
        review.accepted, review.corrected, review.rejected, review.waiting
    ))?;
    let licences: Vec<String> = manifest
        .licences
        .iter()
        .map(|(licence, number)| format!("{number} {}", visible_line(licence)))
        .collect();
    terminal.line(format_args!("{BOLD}licences{RESET} {}", licences.join(", ")))?;
    let packs: Vec<String> =
        manifest.rules.iter().map(|(pack, hash)| format!("{} {hash}", visible_line(pack))).collect();
    let packs = if packs.is_empty() { "none".to_owned() } else { packs.join(", ") };
    terminal.line(format_args!("{BOLD}rules{RESET} {packs}"))?;
    terminal
        .line(format_args!("{BOLD}system prompt{RESET} {}", visible_line(&manifest.form.system_prompt)))?;
    terminal
        .line(format_args!("{BOLD}chat template{RESET} {}", visible_line(&manifest.form.chat_template)))?;
    let times = match manifest.form.readings {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    };
    terminal.line(format_args!("{BOLD}requests{RESET} said {times}"))
}

/// What was left out, most of it first.
pub(super) fn dropped(counts: &Counts, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut reasons: Vec<(&String, &u64)> = counts.dropped.iter().collect();
    reasons.sort_by_key(|(reason, number)| (std::cmp::Reverse(**number), *reason));
    for (reason, number) in reasons {
        terminal.line(format_args!("  {number} left out: {}", visible_line(reason)))?;
    }
    Ok(())
}

/// How many there are of each kind, and how much of the whole weight they have.
fn balance(manifest: &Manifest, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (counts, weights) = (&manifest.counts, &manifest.weights);
    terminal.line(format_args!(
        "{BOLD}weights{RESET} {} in all, from {} to {}",
        weights.total, weights.least, weights.greatest
    ))?;
    for (kind, number) in type_counts(counts) {
        let weight = weights.by_type.get(kind.name()).copied().unwrap_or_default();
        let share = if weights.total > 0.0 { weight / weights.total } else { 0.0 };
        terminal.line(format_args!(
            "  {:<10} {number:>5}  {:>4} of the weight",
            kind.name(),
            percent(share)
        ))?;
    }
    for (name, counted) in [
        ("artifacts", &counts.by_artifact),
        ("rules", &counts.by_rule),
        ("tools", &counts.by_tool),
        ("sources", &counts.by_source),
    ] {
        if !counted.is_empty() {
            terminal.line(format_args!("  {name}: {}", most_frequent(counted)))?;
        }
    }
    let warnings = manifest.balance["warnings"].as_array().into_iter().flatten();
    for warning in warnings.filter_map(Json::as_str) {
        terminal.line(format_args!("  {}", visible_line(warning)))?;
    }
    Ok(())
}

fn most_frequent(counted: &BTreeMap<String, u64>) -> String {
    const SHOWN: usize = 12;
    let mut counted: Vec<(&String, &u64)> = counted.iter().collect();
    counted.sort_by_key(|(name, number)| (std::cmp::Reverse(**number), *name));
    let mut told: Vec<String> =
        counted.iter().take(SHOWN).map(|(name, number)| format!("{number} {}", visible_line(name))).collect();
    if counted.len() > SHOWN {
        told.push(format!("{} more", counted.len() - SHOWN));
    }
    told.join(", ")
}

/// The proof in a sentence.
fn proof(proof: &Json) -> String {
    let number = |name: &str| proof[name].as_u64().unwrap_or_default();
    let similar = |name: &str| proof[name].as_f64().unwrap_or_default();
    if !proof["holds"].as_bool().unwrap_or_default() {
        return "nothing proves that the splits are apart".to_owned();
    }
    let (checked, pairs, clusters) = (number("pairs_checked"), number("pairs"), number("clusters"));
    let (highest, limit) = (similar("highest_similarity"), similar("threshold"));
    match proof["is_exhaustive"].as_bool().unwrap_or_default() {
        true => format!(
            "no leak: all {checked} of {pairs} pairs across the borders compared, none more alike than {highest:.2} (limit {limit:.2}); {clusters} clusters"
        ),
        false => format!(
            "no leak: of {pairs} pairs across the borders all that could be near compared ({checked}), none reaches {limit:.2}, the nearest is {highest:.2}; {clusters} clusters"
        ),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
