//! `grail skills generate`: a runnable skill from a sentence, shown before it is installed.

use std::io::{self, IsTerminal};

use clap::Args;
use grail_agent::generate::Company;
use grail_agent::skill_generator::{
    GeneratorOutcome, SkillGeneratorConfig, SkillGeneratorPipeline, SkillProposal, SkillWriter,
};
use grail_agent::{AgentError, Workspace, models};
use grail_skills::SkillError;
use grail_skills::lifecycle::{InstallReport, State};
use serde::Serialize;

use super::install::is_finding;
use crate::Exit;
use crate::cli::Format;
use crate::generate::ask::{TerminalApprover, question};
use crate::generate::watch::Watch;
use crate::memory::open_workspace;
use crate::render::{BOLD, CYAN, GREEN, RESET, Terminal, visible, visible_line};
use crate::run::wait_for;

/// Make a runnable skill from a sentence, or find the one that does it already
///
/// Skills that are installed or in the catalogue are looked at first. If none does it, a model writes one: its manifest and its script are
/// checked, and the script is started behind the fence. You see both files, what the code can do and which credentials it wants, and decide.
/// What is installed is byte for byte what was shown, and it is active only after a handshake.
///
/// Without `--model` the skill is made from a template: it works, and for many sentences its `run` is yours to finish.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail skills generate \"send email via SendGrid\"
  grail skills generate \"count the words of a text\" --yes
  grail skills generate \"turn invoices into CSV\" --model local
  grail skills generate --confirm send-email-via-sendgrid")]
pub struct Arguments {
    /// What the skill is to do, in a sentence
    #[arg(value_name = "INTENT", required_unless_present_any = ["confirm", "reject"])]
    pub intent: Option<String>,
    /// The model: `template`, a name in `grail.toml`, or `replay:FILE`
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Install what passes, without asking
    #[arg(long)]
    pub yes: bool,
    /// Install a skill that was proposed earlier
    #[arg(long, value_name = "ID", conflicts_with_all = ["intent", "reject"])]
    pub confirm: Option<String>,
    /// Drop a skill that was proposed earlier
    #[arg(long, value_name = "ID", conflicts_with = "intent")]
    pub reject: Option<String>,
}

#[derive(Serialize)]
struct GenerateRecord<'a> {
    #[serde(flatten)]
    outcome: &'a GeneratorOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<InstalledRecord>,
}

#[derive(Serialize)]
struct InstalledRecord {
    id: String,
    version: String,
    state: State,
}

pub(super) fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let workspace = &*open.workspace;
    let pipeline = SkillGeneratorPipeline::new(SkillGeneratorConfig::default());
    if let Some(id) = &arguments.confirm {
        return installed(pipeline.confirm(workspace, id, None), None, terminal);
    }
    if let Some(id) = &arguments.reject {
        pipeline.reject(workspace, id)?;
        terminal.note(format_args!("rejected; nothing was installed"))?;
        return Ok(Exit::Fine);
    }
    let intent = arguments.intent.as_deref().unwrap_or_default();
    let outcome = wait_for(generate(&pipeline, workspace, arguments.model.as_deref(), intent))?;
    match &outcome {
        GeneratorOutcome::Proposed(proposal) => {
            decide(arguments, &pipeline, workspace, &outcome, proposal, terminal)
        }
        GeneratorOutcome::ExistingMatch { skill_id, score, .. } => {
            let id = visible_line(skill_id);
            match terminal.format() {
                Format::Json => terminal.json(&GenerateRecord { outcome: &outcome, installed: None })?,
                Format::Text => {
                    terminal.line(format_args!(
                        "{GREEN}{score:.2}{RESET}  {BOLD}{id}{RESET} does this already"
                    ))?;
                    terminal
                        .note(format_args!("nothing was made; `grail skills search` shows why it fits"))?;
                }
            }
            Ok(Exit::Fine)
        }
        GeneratorOutcome::Failed { reason } => {
            if terminal.format() == Format::Json {
                terminal.json(&GenerateRecord { outcome: &outcome, installed: None })?;
            }
            let hint = "say more about what goes in and what comes out, or ask a larger model";
            terminal.error(&format!("no skill came of it: {reason}"), Some(hint))?;
            Ok(Exit::Findings)
        }
    }
}

async fn generate(
    pipeline: &SkillGeneratorPipeline,
    workspace: &Workspace,
    model: Option<&str>,
    intent: &str,
) -> anyhow::Result<GeneratorOutcome> {
    let watch = Watch::new();
    let notice = |notice: grail_agent::Notice<'_>| watch.hear(notice);
    let approver = TerminalApprover { watch: &watch };
    let company = Company { approver: &approver, watch: &notice, ..Company::default() };
    let configured = workspace.project.config.generate.model.as_deref();
    let outcome = match model.or(configured).unwrap_or(models::TEMPLATE) {
        models::TEMPLATE => pipeline.generate(workspace, SkillWriter::Template, intent, company).await,
        name => {
            let chosen = models::choose(workspace, Some(name)).await?;
            let writer = SkillWriter::Model { model: chosen.model.as_ref(), name: &chosen.name };
            pipeline.generate(workspace, writer, intent, company).await
        }
    };
    watch.clear();
    Ok(outcome?)
}

fn decide(
    arguments: &Arguments,
    pipeline: &SkillGeneratorPipeline,
    workspace: &Workspace,
    outcome: &GeneratorOutcome,
    proposal: &SkillProposal,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let id = &proposal.skill_id;
    let confirm = || pipeline.confirm(workspace, id, Some(&proposal.hash));
    if terminal.format() == Format::Json {
        return match arguments.yes {
            true => installed(confirm(), Some(outcome), terminal),
            false => {
                terminal.json(&GenerateRecord { outcome, installed: None })?;
                Ok(Exit::Fine)
            }
        };
    }
    show(proposal, !arguments.yes, terminal)?;
    if arguments.yes {
        return installed(confirm(), None, terminal);
    }
    let answer = match io::stdin().is_terminal() {
        true => question("install it? yes (y), no (n), later (l): ")?,
        false => None,
    };
    match answer.as_deref().map(str::trim) {
        Some("y" | "yes" | "a" | "approve") => installed(confirm(), None, terminal),
        Some("n" | "no" | "r" | "reject") => {
            pipeline.reject(workspace, id)?;
            terminal.note(format_args!("rejected; nothing was installed"))?;
            Ok(Exit::Fine)
        }
        _ => {
            terminal.note(format_args!(
                "nothing is installed yet: `grail skills generate --confirm {id}` installs it, byte for byte"
            ))?;
            Ok(Exit::Fine)
        }
    }
}

/// Everything a person needs to decide: the files, what the code can do, what it wants.
fn show(proposal: &SkillProposal, with_files: bool, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (id, version) = (&proposal.skill_id, &proposal.version);
    terminal.line(format_args!("{BOLD}{id} {version}{RESET} (by {})", visible_line(&proposal.model)))?;
    terminal.line(format_args!("  {}", visible_line(&proposal.description)))?;
    for (path, text) in proposal.files.iter().filter(|_| with_files) {
        terminal.line(format_args!("\n{CYAN}── {}{RESET}", visible_line(path)))?;
        terminal.raw(&visible(text))?;
        if !text.ends_with('\n') {
            terminal.raw("\n")?;
        }
    }
    if with_files {
        terminal.line(format_args!(""))?;
    }
    for capability in &proposal.capabilities {
        terminal.line(format_args!("  {GREEN}{capability}{RESET}: {}", capability.meaning()))?;
    }
    for credential in &proposal.credentials {
        let (name, variable) = (&credential.name, &credential.env_var);
        let about = visible_line(&credential.description);
        terminal.line(format_args!("  credential: {name} as {variable}: {about}"))?;
    }
    if !proposal.dependencies.is_empty() {
        terminal.line(format_args!("  dependencies: {}", visible_line(&proposal.dependencies.join(", "))))?;
    }
    let tried = match proposal.tried {
        true => "it was started behind the fence, greeted, and is well",
        false => "it was not started yet",
    };
    terminal.line(format_args!("  {tried}"))?;
    for note in &proposal.notes {
        terminal.line(format_args!("  note: {}", visible_line(note)))?;
    }
    Ok(())
}

fn installed(
    result: Result<InstallReport, AgentError>,
    outcome: Option<&GeneratorOutcome>,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let report = match result {
        Ok(report) => report,
        Err(AgentError::Skill(error)) if is_finding(&error) => {
            terminal.failure(&SkillError::into(error));
            return Ok(Exit::Findings);
        }
        Err(error) => return Err(error.into()),
    };
    let Some(current) = &report.record.current else { return Ok(Exit::Fine) };
    let (id, version) = (&report.record.id, &current.version);
    if terminal.format() == Format::Json {
        let record = InstalledRecord { id: id.clone(), version: version.to_string(), state: current.state };
        match outcome {
            Some(outcome) => terminal.json(&GenerateRecord { outcome, installed: Some(record) })?,
            None => terminal.json(&serde_json::json!({"installed": record}))?,
        }
        return Ok(Exit::Fine);
    }
    terminal.note(format_args!(
        "{GREEN}{id} {version} is active{RESET}: `grail skills invoke {id} --input '…'`"
    ))?;
    Ok(Exit::Fine)
}
