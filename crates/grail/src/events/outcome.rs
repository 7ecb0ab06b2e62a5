//! `grail events outcome`: what became of branches, as git shows it or as somebody says.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use grail_code::{Source, parse_module};
use grail_flywheel::FlywheelError;
use grail_flywheel::event::{Event, EventKind, MergeWay};
use grail_flywheel::outcome::{CaughtUp, MAX_PAYLOAD_BYTES, Report, catch_up_judged, report_outcome};
use grail_project::{Project, SourceRoots};
use grail_rules::{Checker, Library};
use serde_json::json;

use crate::Exit;
use crate::check::RuleArguments;
use crate::cli::Format;
use crate::render::{BOLD, Failure, RESET, Terminal, count, visible_line};

/// Ask git what became of the work, or tell it
///
/// Without options git is asked, as every command does that shows events: new commits, branches that were merged, squashed, rebased or
/// given up, and artifacts that somebody changed by hand. A step of CI or a webhook can say what git here cannot know. Saying it twice
/// changes nothing, and merged beats closed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail events outcome
  grail events outcome --branch feature/cards --merged --into main
  grail events outcome --branch feature/cards --closed
  grail events outcome --payload - < webhook.json")]
pub struct Arguments {
    /// The branch, as `git branch` shows it
    #[arg(long, value_name = "BRANCH", conflicts_with = "payload")]
    pub branch: Option<String>,
    /// It was merged
    #[arg(long, requires = "branch", conflicts_with = "closed")]
    pub merged: bool,
    /// It was given up
    #[arg(long, requires = "branch")]
    pub closed: bool,
    /// What it was merged into
    #[arg(long, value_name = "BRANCH", requires = "merged")]
    pub into: Option<String>,
    /// Its last commit, with all digits
    #[arg(long, value_name = "COMMIT", requires = "branch")]
    pub commit: Option<String>,
    /// The body of a webhook, `-` for standard input: a pull request of GitHub or a merge request of GitLab
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let project = Project::discover(Path::new("."))?;
    let settings = &project.config.events;
    let report = match (&arguments.branch, &arguments.payload) {
        (Some(branch), _) => {
            if !arguments.merged && !arguments.closed {
                let hint = "say `--merged` or `--closed`";
                return Err(Failure::with_hint("what became of the branch is missing", hint).into());
            }
            let (into, commit) = (arguments.into.as_deref(), arguments.commit.as_deref());
            Some(Report::new(branch, arguments.merged, into, commit)?)
        }
        (None, Some(payload)) => match Report::from_payload(&read_payload(payload)?)? {
            Some(report) => Some(report),
            None => {
                tell(&[], "the payload tells of no end; nothing was kept", terminal)?;
                return Ok(Exit::Fine);
            }
        },
        (None, None) => None,
    };
    match report {
        Some(report) => {
            let event = report_outcome(&project.root, settings, &report)?;
            tell(event.as_slice(), "that is known already", terminal)?;
        }
        None => {
            let found = ask_git(&project)?;
            let nothing = match found.has_repository {
                true => "nothing new",
                false => "nothing to look at: no events yet, or no repository of git",
            };
            tell(&found.events, nothing, terminal)?;
        }
    }
    Ok(Exit::Fine)
}

/// Tells the events what git did since; what goes wrong is a word to the user, because the numbers are right without it.
pub(crate) fn look(root: &Path, terminal: &mut Terminal) -> anyhow::Result<()> {
    if let Ok(Err(problem)) = Project::discover(root).map(|project| ask_git(&project)) {
        terminal.warning(format_args!("git was not looked at: {problem}"))?;
    }
    Ok(())
}

/// What git did, and which rules people broke on purpose. Rules are compiled only if somebody changed what was made.
fn ask_git(project: &Project) -> Result<CaughtUp, FlywheelError> {
    let rules = OnceCell::new();
    let judge = |path: &str, code: &str| {
        let rules = rules.get_or_init(|| {
            let library = Library::discover(&project.root, env::home_dir().as_deref());
            RuleArguments::default().rules_in_force(project, &library).ok()
        });
        let Some(rules) = rules else { return BTreeSet::new() };
        let parsed = parse_module(Source::from_text(code));
        let module = SourceRoots::new(&project.root, &project.config.project.src)
            .module_of(&project.root.join(path))
            .unwrap_or_default();
        let found = Checker { rules, python: None }.check_parsed(&Arc::from(path), &module, &parsed);
        found.report.findings.iter().map(|finding| finding.rule.to_string()).collect()
    };
    catch_up_judged(&project.root, &project.config.events, &judge)
}

fn read_payload(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MAX_PAYLOAD_BYTES as u64 + 1;
    if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let shown = visible_line(&path.to_string_lossy());
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|problem| Failure::new(format!("`{shown}`: {problem}")))?;
    Ok(bytes)
}

fn tell(events: &[Event], nothing: &str, terminal: &mut Terminal) -> anyhow::Result<()> {
    if terminal.format() == Format::Json {
        return terminal.json(&json!({"outcomes": events}));
    }
    for event in events {
        let branch = visible_line(event.context.branch.as_deref().unwrap_or("no branch"));
        match &event.kind {
            EventKind::Commit { commit, paths, .. } => {
                let short: String = commit.chars().take(10).collect();
                terminal.line(format_args!(
                    "commit {short} on {BOLD}{branch}{RESET}, {}",
                    count(paths.len(), "file")
                ))?;
            }
            EventKind::BranchMerged { into, way, sessions, .. } => {
                let into =
                    if into.is_empty() { String::new() } else { format!(" into {}", visible_line(into)) };
                let (way, sessions) = (way_name(*way), count(sessions.len(), "session"));
                terminal.line(format_args!("{BOLD}{branch}{RESET} merged{into}{way}: {sessions}"))?;
            }
            EventKind::BranchClosed { sessions, .. } => {
                terminal.line(format_args!(
                    "{BOLD}{branch}{RESET} given up: {}",
                    count(sessions.len(), "session")
                ))?;
            }
            EventKind::UserCorrection { path, corrected, .. } => {
                let path = visible_line(path.as_deref().unwrap_or_default());
                let what = if corrected.is_some() { "changed by hand" } else { "nothing of it is left" };
                terminal.line(format_args!("{BOLD}{path}{RESET} {what}"))?;
            }
            other => terminal.line(format_args!("{}", other.name()))?,
        }
    }
    if events.is_empty() {
        terminal.note(format_args!("{nothing}"))?;
    }
    Ok(())
}

fn way_name(way: MergeWay) -> &'static str {
    match way {
        MergeWay::Merge | MergeWay::Reported => "",
        MergeWay::FastForward => " by fast-forward",
        MergeWay::Squash => " by squash",
        MergeWay::Rebase => " by rebase",
    }
}
