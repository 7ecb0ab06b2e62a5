//! `grail proposals`: changes that wait for a person, and those that were decided.

use clap::{Args, Subcommand};
use grail_agent::{AgentError, Proposal, ProposalState, ProposalStore, Workspace};
use grail_flywheel::event::ProposalDecision;
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::generate::{approve, reject, show};
use crate::memory::open_workspace;
use crate::render::{BOLD, RESET, Terminal, count, visible_line};

/// Decide about changes that wait for approval, or undo one
///
/// What is approved is written byte for byte as it was shown, all of it or nothing; it is refused if a file has changed meanwhile. ID may be
/// left out while only one proposal waits, and shortened to a beginning or an end that only one has.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail proposals list
  grail proposals show
  grail proposals approve 20261116-104500-3fa2c1
  grail proposals revert 3fa2c1")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List what waits, newest first
    List {
        /// Also what was decided
        #[arg(long)]
        all: bool,
    },
    /// Show a proposal: the change, its checks, where it comes from
    Show {
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Write the files as they were shown
    Approve {
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Drop a proposal; nothing is written
    Reject {
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Put the files back as they were before an approved proposal
    Revert {
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let result = decide(arguments.command, &open.workspace, terminal);
    open.finish(terminal)?;
    result
}

fn decide(command: Command, workspace: &Workspace, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let store = ProposalStore::of_project(&workspace.project.root);
    match command {
        Command::List { all } => list(&store, all, terminal),
        Command::Show { id } => {
            let proposal = find(&store, id.as_deref())?;
            match terminal.format() {
                Format::Json => terminal.json(&json!({"proposal": proposal}))?,
                Format::Text => {
                    for step in &proposal.lineage {
                        terminal.line(format_args!("{BOLD}{}{RESET}", visible_line(step)))?;
                    }
                    show::proposal(&proposal, terminal)?;
                    terminal.line(format_args!("{}", proposal.state.name()))?;
                }
            }
            Ok(Exit::Fine)
        }
        Command::Approve { id } => {
            let proposal = find(&store, id.as_deref())?;
            approve(workspace, &store, &proposal, terminal)
        }
        Command::Reject { id, reason } => {
            let id = find(&store, id.as_deref())?.id;
            let proposal = reject(workspace, &store, &id, reason)?;
            decided(&proposal, "rejected; nothing was written", terminal)
        }
        Command::Revert { id } => revert(workspace, &store, &id, terminal),
    }
}

fn list(store: &ProposalStore, all: bool, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let (read, broken): (Vec<_>, Vec<_>) = store.list().into_iter().partition(Result::is_ok);
    let is_wanted = |proposal: &Proposal| all || proposal.state == ProposalState::Waiting;
    let proposals: Vec<Proposal> = read.into_iter().flatten().filter(is_wanted).collect();
    for error in broken.into_iter().filter_map(Result::err) {
        terminal.warning(format_args!("{}", visible_line(&error.to_string())))?;
    }
    if terminal.format() == Format::Json {
        terminal.json(&json!({"proposals": proposals}))?;
        return Ok(Exit::Fine);
    }
    for proposal in &proposals {
        let (state, files) = (proposal.state.name(), count(proposal.files.len(), "file"));
        let intent: String = visible_line(proposal.intent()).chars().take(80).collect();
        terminal.line(format_args!("{BOLD}{}{RESET} {state}, {files}: {intent}", proposal.id))?;
    }
    if proposals.is_empty() {
        terminal.note(format_args!("nothing waits; `grail generate` makes proposals"))?;
    }
    Ok(Exit::Fine)
}

fn revert(
    workspace: &Workspace,
    store: &ProposalStore,
    id: &str,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let id = store.find(id)?.id;
    let (proposal, _) = store.revert(&id, workspace.clock.as_ref())?;
    workspace.session.emit_proposal(&proposal, ProposalDecision::Reverted, None);
    decided(&proposal, "reverted: the files are as they were", terminal)
}

fn decided(proposal: &Proposal, text: &str, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match terminal.format() {
        Format::Json => terminal.json(&json!({"proposal": proposal}))?,
        Format::Text => terminal.note(format_args!("{text}"))?,
    }
    Ok(Exit::Fine)
}

/// The proposal of that name; without a name, the only one that waits.
fn find(store: &ProposalStore, id: Option<&str>) -> Result<Proposal, AgentError> {
    if let Some(id) = id {
        return store.find(id);
    }
    let waiting =
        store.list().into_iter().flatten().filter(|proposal| proposal.state == ProposalState::Waiting);
    let mut waiting: Vec<Proposal> = waiting.collect();
    match (waiting.pop(), waiting.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(AgentError::Other { message: "nothing waits for approval".to_owned(), hint: None }),
        (Some(_), false) => Err(AgentError::Other {
            message: format!("{} proposals wait", waiting.len() + 1),
            hint: Some("name one; `grail proposals list` shows them".to_owned()),
        }),
    }
}
