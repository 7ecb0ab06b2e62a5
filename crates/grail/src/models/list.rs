//! `grail models list`

use std::path::Path;

use clap::Args;
use grail_flywheel::dataset::store::short_hash;
use grail_flywheel::phase::{Phase, PhaseState, Phases};
use grail_model::local::list_weights;
use grail_project::Project;
use serde_json::json;

use super::{cache, megabytes};
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, GREEN, RESET, Terminal, path_text, visible_line};

/// List what can be pulled, what is here, and the phases of this project
#[derive(Debug, Args)]
pub struct Arguments {}

pub fn run(_: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let held = list_weights(&cache()?);
    let project = Project::discover(Path::new("."))?;
    let phases = Phases::new(&project.root);
    let (current, listed) = (phases.current()?, phases.list()?);
    if terminal.format() == Format::Json {
        let weights = held.iter().map(|held| {
            json!({
                "name": held.entry.name,
                "about": held.entry.about,
                "licence": held.entry.licence,
                "bytes": held.entry.bytes,
                "sha256": held.entry.sha256,
                "path": held.path.as_deref().map(path_text),
            })
        });
        let weights: Vec<_> = weights.collect();
        let errors = listed.iter().filter_map(|phase| phase.as_ref().err()).map(ToString::to_string);
        let errors: Vec<_> = errors.collect();
        let phases: Vec<&Phase> = listed.iter().filter_map(|phase| phase.as_ref().ok()).collect();
        terminal.json(
            &json!({"weights": weights, "phases": phases, "current": current.phase, "errors": errors}),
        )?;
        return Ok(Exit::Fine);
    }
    for held in &held {
        let entry = held.entry;
        let place = match &held.path {
            Some(path) => visible_line(&path_text(path)),
            None => format!("not here; `grail models pull {}`", entry.name),
        };
        terminal.line(format_args!(
            "{BOLD}{}{RESET} {}, {}, licence {}: {place}",
            entry.name,
            entry.about,
            megabytes(entry.bytes),
            entry.licence
        ))?;
    }
    for phase in listed {
        match phase {
            Ok(phase) => {
                let is_current = current.phase.as_deref() == Some(&phase.id);
                let mark = if is_current { format!(" {GREEN}current{RESET}") } else { String::new() };
                let dataset = phase.dataset.as_deref().map_or("unknown", short_hash);
                let base = visible_line(&phase.base.name);
                let state = state(&phase);
                terminal.line(format_args!(
                    "{BOLD}phase:{}{RESET}{mark} {base} with dataset {dataset}, {state}",
                    phase.id
                ))?;
            }
            Err(error) => terminal.error(&error.to_string(), error.hint().as_deref())?,
        }
    }
    Ok(Exit::Fine)
}

fn state(phase: &Phase) -> String {
    match &phase.state {
        PhaseState::Training => "not trained to its end; `grail train --resume` goes on".to_owned(),
        PhaseState::Trained => format!("trained by {}", visible_line(&phase.trainer)),
        PhaseState::Failed { reason } => format!("failed: {}", visible_line(reason)),
    }
}
