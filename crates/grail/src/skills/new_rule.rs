//! `grail skills new-rule`: a rule from a sentence, proved by its examples before it is kept.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use clap::Args;
use grail_agent::generate::Company;
use grail_agent::rule_draft::{DEFAULT_SKILL, RuleWriter, draft_rule};
use grail_agent::{Proposal, ProposalStore, Workspace, models};
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::generate::ask::{TerminalApprover, question};
use crate::generate::watch::Watch;
use crate::generate::{approve, reject};
use crate::memory::open_workspace;
use crate::render::{Terminal, visible, visible_line};
use crate::run::wait_for;

/// Draft a rule from a sentence: documented, defined and tested in one file
///
/// The rule comes with a bad example that it must find and a good one that it must not; one whose examples do not hold is never proposed.
/// Without `--model`, sentences of a few shapes are understood: who must not call, import or use what, who must be decorated, how names begin or
/// end, who needs docstrings, annotations, a base class or `async`. A model understands more. Approved rules are in force at once;
/// `grail proposals revert` undoes one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills new-rule \"views must not query the database\"
  grail skills new-rule \"service names end with Service\" --skill shop --yes
  grail skills new-rule \"every handler logs who called it\" --model local")]
pub struct Arguments {
    /// What must hold, in a sentence
    #[arg(value_name = "SENTENCE")]
    pub sentence: String,
    /// The skill of this project that the rule belongs to
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SKILL)]
    pub skill: String,
    /// The model: `template`, a name in `grail.toml`, or `replay:FILE`
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Keep the rule without asking
    #[arg(long)]
    pub yes: bool,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let workspace = &open.workspace;
    let proposal = wait_for(draft(arguments, workspace))?;
    let store = ProposalStore::of_project(&workspace.project.root);
    store.save(&proposal, None)?;
    if arguments.yes {
        return approve(workspace, &store, &proposal, terminal);
    }
    if terminal.format() == Format::Json {
        terminal.json(&json!({"proposal": proposal}))?;
        return Ok(Exit::Fine);
    }
    for file in &proposal.files {
        terminal.diff(&visible(&file.diff()))?;
    }
    terminal.note(format_args!("{}", visible_line(&proposal.summary)))?;
    let answer = match io::stdin().is_terminal() {
        true => question("keep it? yes (y), no (n), later (l): ")?,
        false => None,
    };
    match answer.as_deref().map(str::trim) {
        Some("y" | "yes" | "a" | "approve") => approve(workspace, &store, &proposal, terminal),
        Some("n" | "no" | "r" | "reject") => {
            reject(workspace, &store, &proposal.id, None)?;
            terminal.note(format_args!("rejected; nothing was written"))?;
            Ok(Exit::Fine)
        }
        _ => {
            terminal.note(format_args!(
                "nothing is written yet: `grail proposals approve {}` writes it, byte for byte",
                proposal.id
            ))?;
            Ok(Exit::Fine)
        }
    }
}

async fn draft(arguments: &Arguments, workspace: &Arc<Workspace>) -> anyhow::Result<Proposal> {
    let watch = Watch::new();
    let notice = |notice: grail_agent::Notice<'_>| watch.hear(notice);
    let approver = TerminalApprover { watch: &watch };
    let company = Company { approver: &approver, watch: &notice, ..Company::default() };
    let (sentence, skill) = (arguments.sentence.as_str(), Some(arguments.skill.as_str()));
    let configured = workspace.project.config.generate.model.as_deref();
    let drafted = match arguments.model.as_deref().or(configured).unwrap_or(models::TEMPLATE) {
        models::TEMPLATE => draft_rule(workspace, RuleWriter::Template, sentence, skill, company).await,
        name => {
            let chosen = models::choose(workspace, Some(name)).await?;
            let writer = RuleWriter::Model { model: chosen.model.as_ref(), name: &chosen.name };
            draft_rule(workspace, writer, sentence, skill, company).await
        }
    };
    watch.clear();
    Ok(drafted?)
}
