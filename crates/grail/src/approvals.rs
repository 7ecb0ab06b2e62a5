//! `grail approvals`: runs that wait for a person.
//!
//! Script, policy and call are read from the sealed run, not from the copy beside it, and compared with the call the run stands at: what a
//! person reads is what is carried out. The time and the state are not sealed, nor is the content of the tools file. A decision is carried
//! out here: the tool is called, or the call raises, and the run goes on to its end or to the next question.

use clap::{Args, Subcommand};
use grail_project::Project;
use grail_sandbox::{
    Approval, ApprovalState, ApprovalStore, Decision, PausedRun, Purpose, SnapshotKey, Step, ToolError,
};
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::render::{ErrorRecord, Failure, Terminal, visible_line};
use crate::run::report::{Script, brief_call, call_text};
use crate::run::settings::sandbox_failure;
use crate::run::{self, Kept, Origin};

/// Decide about runs that wait for approval
///
/// `grail run` keeps a run here when its code calls a tool marked `needs-approval`. Each run can be decided once. ID may be left out
/// while only one run waits, and shortened to any part that only one has.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail approvals list\n  grail approvals approve\n  \
                        grail approvals deny 5f3c --reason 'too expensive'")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List what waits, oldest first
    List {
        /// Also what was decided
        #[arg(long)]
        all: bool,
    },
    /// Show what a run asks for
    Show {
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Call the tool and let the run go on
    Approve {
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Let the call raise `PermissionError` and the run go on
    Deny {
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// What the code is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Answer in the tool's place and let the run go on
    Answer {
        #[arg(value_name = "ID")]
        id: String,
        /// What the call returns
        #[arg(value_name = "JSON", allow_hyphen_values = true)]
        json: String,
    },
}

/// A run that waits, and what the seal vouches for.
struct Waiting {
    approval: Approval,
    paused: PausedRun,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let project = Project::discover(std::path::Path::new("."))?;
    let store = run::approvals(&project);
    let key = run::key(&project)?;
    let (id, decision) = match arguments.command {
        Command::List { all } => return list(&store, &key, all, terminal),
        Command::Show { id } => {
            let waiting = find(&store, &key, id.as_deref())?;
            return show(&waiting, terminal);
        }
        Command::Approve { id } => (id, Decision::Approved { reason: None }),
        Command::Deny { id, reason } => (id, Decision::Denied { reason }),
        Command::Answer { id, json } => {
            (Some(id), Decision::Answered { value: run::parse_json_answer(&json)? })
        }
    };
    let waiting = find(&store, &key, id.as_deref())?;
    run::wait_for(decide(waiting, decision, &project, &store, &key, terminal))
}

async fn decide(
    waiting: Waiting,
    decision: Decision,
    project: &Project,
    store: &ApprovalStore,
    key: &SnapshotKey,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let Waiting { approval, paused } = waiting;
    let id = approval.id;
    let origin: Origin = serde_json::from_value(paused.question.origin.clone())
        .map_err(|_| Failure::new(format!("the run `{id}` was not kept by `grail run`")))?;
    let context = origin.settings.context(project, &run::speech(terminal.format(), false)).await?;
    let answer = match &decision {
        Decision::Answered { value } => Some(run::answer_value(value)?),
        Decision::Approved { .. } | Decision::Denied { .. } => None,
    };
    let suspended = run::load(&context, &paused, key).await?;
    if matches!(decision, Decision::Approved { .. }) && !suspended.can_be_called() {
        return Err(Failure::with_hint(
            format!("`{}` has no command, so approving it calls nothing", suspended.tool()),
            "answer in its place: `grail approvals answer ID JSON`",
        )
        .into());
    }
    // All that can be checked is checked. From here on the decision counts, and nobody else can take another.
    store.decide(&id, decision.clone()).map_err(|error| sandbox_failure(&error.into()))?;
    if matches!(decision, Decision::Approved { .. }) {
        terminal.note(format_args!("approved: {}", call(&paused)))?;
    }
    let step: Step = match (answer, decision) {
        (Some(answer), _) => suspended.resume(answer).await,
        (None, Decision::Denied { reason }) => {
            let reason = reason.unwrap_or_else(|| "the call was denied".to_owned());
            suspended.fail(ToolError::new("PermissionError", reason)).await
        }
        (None, _) => suspended.call_tool().await,
    };
    let ending = match &step {
        Step::Finished(outcome) => outcome.ending.name(),
        Step::Suspended(_) => "suspended",
    };
    store.finish(&id, ending).map_err(|error| sandbox_failure(&error.into()))?;
    let script = Script { name: &origin.script, text: &origin.source };
    run::finish(step, &script, Kept { settings: &origin.settings, snapshot_out: None, project }, terminal)
        .await
}

/// The one run that waits, or the one whose id has `part` in it.
fn find(store: &ApprovalStore, key: &SnapshotKey, part: Option<&str>) -> anyhow::Result<Waiting> {
    let list = store.list().map_err(|error| sandbox_failure(&error.into()))?;
    let mut found = list.approvals.into_iter().filter(|approval| approval.state == ApprovalState::Pending);
    let hint = "`grail approvals list` shows what waits";
    let missing = || match part {
        Some(part) => Failure::with_hint(format!("no run waits under `{part}`"), hint),
        None => Failure::with_hint("no run waits for approval", hint),
    };
    let mut matching = found.by_ref().filter(|approval| part.is_none_or(|part| approval.id.contains(part)));
    let approval = matching.next().ok_or_else(missing)?;
    if matching.next().is_some() {
        let message = match part {
            Some(part) => format!("more than one run waits under `{part}`"),
            None => "more than one run waits".to_owned(),
        };
        return Err(Failure::with_hint(message, "give the id; `grail approvals list` shows them").into());
    }
    open(store, key, approval)
}

fn open(store: &ApprovalStore, key: &SnapshotKey, approval: Approval) -> anyhow::Result<Waiting> {
    let bytes = store.snapshot(&approval.id).map_err(|error| sandbox_failure(&error.into()))?;
    let paused = PausedRun::open(&bytes, key, Purpose::Approval).map_err(|_| {
        Failure::with_hint(
            format!("the run `{}` was changed, or sealed with another key", approval.id),
            "run the script again; this run cannot be trusted",
        )
    })?;
    Ok(Waiting { approval, paused })
}

fn list(
    store: &ApprovalStore,
    key: &SnapshotKey,
    all: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let list = store.list().map_err(|error| sandbox_failure(&error.into()))?;
    let mut errors: Vec<String> =
        list.broken.into_iter().map(|broken| format!("`{}`: {}", broken.file, broken.reason)).collect();
    let mut shown = Vec::new();
    for approval in list.approvals {
        if all || approval.state == ApprovalState::Pending {
            match open(store, key, approval) {
                Ok(waiting) => shown.push(waiting),
                Err(error) => errors.push(error.to_string()),
            }
        }
    }
    if terminal.format() == Format::Json {
        let shown: Vec<_> = shown.iter().map(record).collect();
        let records: Vec<ErrorRecord> =
            errors.iter().map(|message| ErrorRecord { message: message.clone(), hint: None }).collect();
        terminal.json(&json!({ "approvals": shown, "errors": records }))?;
    } else {
        for Waiting { approval, paused } in &shown {
            let call = brief_call(&call(paused));
            if all {
                terminal.line(format_args!("{} {:8} {call}", approval.id, approval.state.name()))?;
            } else {
                terminal.line(format_args!("{} {call}", approval.id))?;
            }
        }
        if shown.is_empty() {
            terminal.note(format_args!("no run waits for approval"))?;
        }
        for error in &errors {
            terminal.warning(format_args!("{}", visible_line(error)))?;
        }
    }
    Ok(if errors.is_empty() { Exit::Fine } else { Exit::Findings })
}

fn show(waiting: &Waiting, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if terminal.format() == Format::Json {
        terminal.json(&record(waiting))?;
        return Ok(Exit::Fine);
    }
    let Waiting { approval, paused } = waiting;
    terminal.line(format_args!("run    {}", approval.id))?;
    terminal.line(format_args!("asked  {}", visible_line(&approval.created_at)))?;
    terminal.line(format_args!("script {}", visible_line(script(waiting))))?;
    terminal.line(format_args!("policy {}", visible_line(&paused.question.policy)))?;
    terminal.line(format_args!("call   {}", call(paused)))?;
    Ok(Exit::Fine)
}

fn call(paused: &PausedRun) -> String {
    let question = &paused.question;
    call_text(&question.tool, &question.arguments, &question.keywords)
}

fn script(waiting: &Waiting) -> &str {
    waiting.paused.question.origin.get("script").and_then(|script| script.as_str()).unwrap_or("unknown")
}

fn record(waiting: &Waiting) -> serde_json::Value {
    let question = &waiting.paused.question;
    json!({
        "id": waiting.approval.id,
        "state": waiting.approval.state,
        "created_at": waiting.approval.created_at,
        "script": script(waiting),
        "policy": question.policy,
        "tool": question.tool,
        "arguments": question.arguments,
        "keywords": question.keywords,
    })
}
