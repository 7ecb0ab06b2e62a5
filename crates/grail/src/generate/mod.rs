//! `grail generate`: a sentence becomes a proposal.

pub(crate) mod ask;
pub(crate) mod show;
pub(crate) mod watch;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueEnum};
use grail_agent::generate::{Company, GenerateSettings, Generation, answer_in_shadow};
use grail_agent::models::Choosing;
use grail_agent::written_tool::with_written_tools;
use grail_agent::{AgentError, DialogueLimits, Mode, Proposal, ProposalStore, Workspace, models, tools};
use grail_flywheel::EventKind;
use grail_flywheel::event::{CorrectionSource, ProposalDecision};
use grail_flywheel::words::Verdict;
use grail_model::Recorder;
use grail_project::project_path;
use grail_rules::tools::interruption;
use serde_json::json;

use self::ask::{Answer, Terminal as _, TerminalApprover};
use self::watch::Watch;
use crate::Exit;
use crate::asking::Desk;
use crate::check::LayerName;
use crate::cli::Format;
use crate::memory::{OpenWorkspace, open_workspace};
use crate::render::{Failure, Terminal, visible_line};

/// Turn a sentence into checked, fixed code, as a proposal to approve
///
/// The kind of artifact is taken from the sentence, or from `--kind`. What the model writes is checked by the rules of that kind and by the
/// tools it asks for, fixed where a rule knows how, and handed back with line and hint where not. You then see the change and its checks:
/// approve it, reject it, edit it, or simply answer with a correction. Nothing is written before.
///
/// `template` is the model that needs nothing: it fills the kind's template from your sentence. Others are named in `grail.toml`, or lie on
/// this machine: `grail models list` shows them. Without a name it is the project's choice, or the phase that was promoted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail generate \"a user profile view with avatar, name and bio\"
  grail generate \"an order service\" --kind service --model local --yes
  grail generate \"a cart component\" --layer syntax --layer rules --format json
  grail generate \"…\" --model replay:.grail/proposals/ID/transcript.json")]
pub struct Arguments {
    /// What you want, in a sentence
    #[arg(value_name = "INTENT")]
    pub intent: String,
    /// The kind of artifact, if the sentence does not say
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// The model: `template`, a name in `grail.toml`, `smollm2-135m` or what else was pulled, `local:PATH`, `phase:ID`, or `replay:FILE`
    #[arg(long, value_name = "MODEL", help_heading = "Model")]
    pub model: Option<String>,
    /// How the model uses tools
    #[arg(long, value_enum, default_value_t, value_name = "MODE", help_heading = "Model")]
    pub mode: ModeName,
    /// How often the model may be asked
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Limits")]
    pub turns: usize,
    /// Tokens the conversation may take, in and out
    #[arg(long, value_name = "N", default_value_t = 400_000, help_heading = "Limits")]
    pub tokens: u64,
    /// Seconds the conversation may take
    #[arg(long, value_name = "SECONDS", default_value_t = 900, help_heading = "Limits")]
    pub timeout: u64,
    /// What the conversation may cost, by the prices in `grail.toml`
    #[arg(long, value_name = "AMOUNT", help_heading = "Limits")]
    pub cost: Option<f64>,
    /// Run only this layer; may be repeated. Without it: what the kind asks for
    #[arg(long = "layer", value_name = "LAYER", value_enum, help_heading = "Checks")]
    pub layers: Vec<LayerName>,
    /// Several files that belong together: a service, a component, a route and a test, as one proposal
    #[arg(long, conflicts_with = "kind", help_heading = "Work")]
    pub feature: bool,
    /// Let a model look at the code when it is done; without a name, the same one
    #[arg(long, value_name = "MODEL", num_args = 0..=1, default_missing_value = "", help_heading = "Work")]
    pub review: Option<String>,
    /// Keep the habits of this file: naming, docstrings, annotations, imports
    #[arg(long, value_name = "FILE", help_heading = "Work")]
    pub like: Option<String>,
    /// The document that the work is done by: what is learned from it later says why
    #[arg(long, value_name = "FILE", help_heading = "Work")]
    pub spec: Option<String>,
    /// Run the project's tests, and let the model mend its code until they pass, at most N times
    #[arg(long, value_name = "N", help_heading = "Work")]
    pub until_tests_pass: Option<usize>,
    /// Approve what passes, without asking
    #[arg(long)]
    pub yes: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// What the model is able to do decides
    #[default]
    Auto,
    /// One tool call at a time
    Direct,
    /// Programs that call tools
    Code,
    /// No tools: the answer is the file, asked for as in training
    Answer,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let workspace = open_workspace()?;
    let result = generate(arguments, &workspace, terminal);
    workspace.finish(terminal)?;
    result
}

fn generate(arguments: &Arguments, open: &OpenWorkspace, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let workspace = &open.workspace;
    let desk = Desk::saying(|| Failure::new("interrupted; nothing was written"))?;
    let watch = Watch::new();
    let starting = watch.clone();
    let chosen = desk.work(models::choose_with(
        workspace,
        Choosing {
            name: arguments.model.as_deref(),
            intent: Some(&arguments.intent),
            listener: Arc::new(move |line| starting.say(line)),
        },
    ))?;
    let settings = GenerateSettings {
        kind: arguments.kind.clone(),
        model_name: chosen.name.clone(),
        phase: chosen.phase.clone(),
        mode: arguments.mode.resolve(&chosen),
        form: chosen.form.clone(),
        limits: DialogueLimits {
            turns: arguments.turns,
            tokens: arguments.tokens,
            time: Duration::from_secs(arguments.timeout),
            cost: arguments.cost,
            prices: chosen.prices,
        },
        layers: arguments.layers.iter().map(|name| name.layer()).collect(),
        feature: arguments.feature,
        like: arguments.like.as_deref().map(|path| in_project(workspace, path)),
        until_tests_pass: arguments.until_tests_pass,
    };
    workspace
        .session
        .work_by_spec(arguments.spec.as_deref().map(|path| existing(workspace, path)).transpose()?);
    let reviewer = match arguments.review.as_deref() {
        // The same one is there already.
        None | Some("") => None,
        Some(name) => Some(desk.work(models::choose(workspace, Some(name)))?),
    };
    let reviews_itself = arguments.review.as_deref() == Some("");
    let reviewer_name = reviewer.as_ref().map_or(&chosen.name, |reviewer| &reviewer.name);
    if arguments.review.is_some() && reviewer_name == models::TEMPLATE {
        let message = "`template` fills in templates; it cannot review";
        return Err(Failure::with_hint(message, "name a model: `--review MODEL`").into());
    }
    let recorder = Recorder::new(chosen.model.as_ref());
    let notice = |notice: grail_agent::Notice<'_>| watch.hear(notice);
    let approver = TerminalApprover { watch: &watch };
    let itself = reviews_itself.then(|| chosen.model.as_ref());
    let reviewer = reviewer.as_ref().map(|reviewer| reviewer.model.as_ref()).or(itself);
    let company = Company { approver: &approver, watch: &notice, reviewer };
    let tools = with_written_tools(workspace, tools::for_generating(workspace)?)?;
    let mut unseen = Some(settings.clone());
    let mut let_challenge = |terminal: &mut Terminal| match unseen.take() {
        Some(settings) => challenge_in_shadow(arguments, workspace, &desk, settings, terminal),
        None => Ok(()),
    };
    let mut generation =
        desk.work(Generation::start(workspace, &recorder, tools, &arguments.intent, settings, company))?;
    let mut proposal = match desk.work(generation.run()) {
        Ok(proposal) => proposal,
        Err(error) => {
            // Whoever is compared only where the other one succeeds is not compared.
            if !interruption().load(Ordering::SeqCst) {
                let_challenge(terminal)?;
            }
            return Err(error);
        }
    };
    let store = ProposalStore::of_project(&workspace.project.root);
    store.save(&proposal, Some(&recorder.recording()))?;
    workspace.session.emit_proposal(&proposal, ProposalDecision::Made, None);
    loop {
        watch.clear();
        if arguments.yes {
            // It is to see the project as the other one did: before anything is written.
            let_challenge(terminal)?;
            return approve(workspace, &store, &proposal, terminal);
        }
        if terminal.format() == Format::Json {
            terminal.json(&json!({"proposal": proposal}))?;
            let_challenge(terminal)?;
            return Ok(Exit::Fine);
        }
        show::proposal(&proposal, terminal)?;
        let_challenge(terminal)?;
        if !io::stdin().is_terminal() {
            terminal.note(format_args!(
                "nothing is written yet: `grail proposals approve {}` writes it, byte for byte",
                proposal.id
            ))?;
            return Ok(Exit::Fine);
        }
        match terminal.ask(&proposal)? {
            Answer::Approve => return approve(workspace, &store, &proposal, terminal),
            Answer::Later => {
                terminal.note(format_args!("`grail proposals approve {}` writes it later", proposal.id))?;
                return Ok(Exit::Fine);
            }
            Answer::Reject => {
                reject(workspace, &store, &proposal.id, None)?;
                terminal.note(format_args!("rejected; nothing was written"))?;
                return Ok(Exit::Fine);
            }
            Answer::Edited(mut edited) => {
                edited.recheck(workspace, &proposal)?;
                store.save(&edited, None)?;
                record_edits(workspace, &proposal, &edited);
                proposal = *edited;
            }
            Answer::Words(text) if workspace.classifier.classify(&text).verdict == Verdict::Confirmation => {
                workspace
                    .session
                    .emit(EventKind::UserConfirmation { text, subject: Some(proposal.id.clone()) });
                terminal.note(format_args!("glad to hear it; `a` approves the proposal, byte for byte"))?;
            }
            Answer::Words(text) => match desk.work(generation.correct(&text)) {
                Ok(corrected) => {
                    store.save(&corrected, Some(&recorder.recording()))?;
                    workspace.session.emit_proposal(&corrected, ProposalDecision::Made, None);
                    reject(workspace, &store, &proposal.id, Some(text))?;
                    proposal = corrected;
                }
                Err(error) if interruption().load(Ordering::SeqCst) => return Err(error),
                // What was there before is not lost.
                Err(error) => terminal.failure(&error),
            },
        }
    }
}

/// Lets a phase that challenges in the shadow answer the same intent, if one does. Nobody sees its answer, and if there is none, the work goes on.
fn challenge_in_shadow(
    arguments: &Arguments,
    workspace: &Workspace,
    desk: &Desk,
    settings: GenerateSettings,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    if arguments.model.is_some() {
        return Ok(());
    }
    // Whoever waits reads meanwhile.
    terminal.flush()?;
    let answered = desk.work(async {
        let Some(name) = models::shadow_name(workspace, &arguments.intent)? else { return Ok(()) };
        let challenger = models::choose(workspace, Some(&name)).await?;
        answer_in_shadow(workspace, &challenger, &arguments.intent, settings).await
    });
    match answered {
        Err(error) if !interruption().load(Ordering::SeqCst) => {
            let said = visible_line(&error.to_string());
            terminal.warning(format_args!("the challenger did not answer in the shadow: {said}"))
        }
        answered => answered,
    }
}

/// What a person changed in a proposal by hand is how it should have been.
pub(crate) fn record_edits(workspace: &Workspace, before: &Proposal, edited: &Proposal) {
    for (before, after) in before.files.iter().zip(&edited.files).filter(|(before, after)| before != after) {
        workspace.session.emit(EventKind::UserCorrection {
            text: String::new(),
            source: CorrectionSource::ProposalEdit,
            subject: Some(edited.id.clone()),
            path: Some(after.path.clone()),
            original: before.after.clone(),
            corrected: after.after.clone(),
            violates: Vec::new(),
        });
    }
}

/// A file that is there, by its path below the project's root.
fn existing(workspace: &Workspace, path: &str) -> anyhow::Result<String> {
    let relative = in_project(workspace, path);
    match workspace.project.root.join(&relative).is_file() {
        true => Ok(relative),
        false => Err(Failure::with_hint(
            format!("there is no file `{}`", visible_line(path)),
            "`--spec` names a document in the project",
        )
        .into()),
    }
}

/// A path as the user wrote it, below the project's root.
fn in_project(workspace: &Workspace, path: &str) -> String {
    project_path(&workspace.project.root, Path::new(path))
}

/// Writes a proposal and says what was written.
pub(crate) fn approve(
    workspace: &Workspace,
    store: &ProposalStore,
    proposal: &Proposal,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let (approved, _) = store.approve(&proposal.id, workspace.clock.as_ref())?;
    workspace.session.emit_proposal(&approved, ProposalDecision::Approved, None);
    if terminal.format() == Format::Json {
        terminal.json(&json!({"proposal": approved}))?;
        return Ok(Exit::Fine);
    }
    for file in &approved.files {
        let what = match (&file.before, &file.after) {
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        };
        terminal.line(format_args!("{what} {}", visible_line(&file.path)))?;
    }
    terminal.note(format_args!("`grail proposals revert {}` undoes it", approved.id))?;
    Ok(Exit::Fine)
}

pub(crate) fn reject(
    workspace: &Workspace,
    store: &ProposalStore,
    id: &str,
    reason: Option<String>,
) -> Result<Proposal, AgentError> {
    let proposal = store.reject(id, reason.clone(), workspace.clock.as_ref())?;
    workspace.session.emit_proposal(&proposal, ProposalDecision::Rejected, reason);
    Ok(proposal)
}

impl ModeName {
    fn resolve(self, chosen: &models::ChosenModel) -> Mode {
        match self {
            Self::Auto => chosen.preferred_mode,
            Self::Direct => Mode::Direct,
            Self::Code => Mode::Code,
            Self::Answer => Mode::Answer,
        }
    }
}
