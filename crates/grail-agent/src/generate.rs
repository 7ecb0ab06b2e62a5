//! An intent becomes a proposal.
//!
//! First what kind of artifact is meant, then what the model must know about it, then the loop: code is handed in, checked and fixed, and
//! what is left goes back as a retry, until everything passes or a limit is reached. A person may answer the proposal with a correction,
//! and the same conversation goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_code::{Field, Kind, Source, parse_module};
use grail_model::{Message, Model};
use grail_rules::Layer;
use grail_sandbox::{Tool, ToolError, Toolset};
use grail_skills::runnable::capabilities::infer_capabilities;

use crate::AgentError;
use crate::artifact::{ArtifactCode, ArtifactReport, ArtifactSettings, check_artifact, find_kind};
use crate::code_mode::{CodeMode, fenced_blocks};
use crate::dialogue::{Approver, Dialogue, DialogueLimits, Mode, NobodyApproves, Notice, Turn};
use crate::event::EventKind;
use crate::prompt::{briefing, tagged};
use crate::proposal::{FileChecks, ModelIdentity, Proposal, ProposalState, ProposedFile, RulesIdentity};
use crate::workspace::Workspace;

/// A longer intent is no sentence.
pub const MAX_INTENT_BYTES: usize = 16 * 1024;
/// How often a model may answer without handing anything in.
const MAX_NUDGES: usize = 2;

/// How an intent is worked on.
#[derive(Clone)]
pub struct GenerateSettings {
    /// The kind of artifact, if not as the intent says.
    pub kind: Option<String>,
    /// The name of the model in the settings.
    pub model_name: String,
    pub mode: Mode,
    pub limits: DialogueLimits,
    /// Only these layers; without any, those that the kind asks for.
    pub layers: Vec<Layer>,
}

impl Default for GenerateSettings {
    fn default() -> Self {
        Self {
            kind: None,
            model_name: "template".to_owned(),
            mode: Mode::Direct,
            limits: DialogueLimits::default(),
            layers: Vec::new(),
        }
    }
}

/// Who watches and who decides while the work goes on.
#[derive(Clone, Copy)]
pub struct Company<'c> {
    pub approver: &'c dyn Approver,
    pub watch: &'c (dyn Fn(Notice<'_>) + Sync),
}

impl Default for Company<'_> {
    fn default() -> Self {
        Self { approver: &NobodyApproves, watch: &|_| {} }
    }
}

/// Work on one intent, which a person may correct.
pub struct Generation<'g> {
    workspace: &'g Arc<Workspace>,
    settings: GenerateSettings,
    kind: String,
    dialogue: Dialogue<'g>,
    lineage: Vec<String>,
    skills: BTreeMap<String, String>,
    model_asked: String,
    retries: usize,
    mode: Mode,
}

impl<'g> Generation<'g> {
    /// Understands the intent and prepares the conversation. `tools` are what the model may use beside handing code in.
    pub async fn start(
        workspace: &'g Arc<Workspace>,
        model: &'g dyn Model,
        tools: Toolset,
        intent: &str,
        settings: GenerateSettings,
        company: Company<'g>,
    ) -> Result<Self, AgentError> {
        let intent = check_intent(intent)?;
        let kind = match &settings.kind {
            Some(kind) => kind.clone(),
            None => guess_kind(workspace, intent)?,
        };
        let (pack, artifact_kind) = find_kind(workspace, &kind)?;
        workspace.session.emit(EventKind::IntentStated {
            intent: intent.to_owned(),
            kind: Some(artifact_kind.name.clone()),
            model: settings.model_name.clone(),
        });
        let artifact_settings =
            ArtifactSettings { layers: settings.layers.clone(), ..ArtifactSettings::default() };
        let handing_in = Toolset::new([generate_artifact(workspace, artifact_settings)?])?;
        let tools = handing_in.combine(tools.filter(|tool| tool.name() != GENERATE_ARTIFACT))?;
        let code = match settings.mode {
            Mode::Code => Some(CodeMode::start(workspace, tools.clone()).await?),
            Mode::Auto | Mode::Direct => None,
        };
        let told =
            briefing(workspace, Some((&pack.name, &artifact_kind)), code.as_ref().map(CodeMode::stubs))?;
        for (skill, version) in &told.skills {
            workspace.session.emit(EventKind::SkillLoaded { skill: skill.clone(), version: version.clone() });
        }
        let mode = if code.is_some() { Mode::Code } else { Mode::Direct };
        let mut dialogue = Dialogue::new(workspace, model, tools, code)
            .with_limits(settings.limits)
            .with_approver(company.approver)
            .watched_by(company.watch);
        dialogue.say(Message::system(told.text));
        dialogue.say(Message::user(request(workspace, intent, &artifact_kind.name)));
        Ok(Self {
            workspace,
            kind: artifact_kind.name.clone(),
            dialogue,
            lineage: vec![intent.to_owned()],
            skills: told.skills.into_iter().collect(),
            model_asked: model.name().to_owned(),
            retries: 0,
            mode,
            settings,
        })
    }

    /// Goes on until there is a proposal.
    pub async fn run(&mut self) -> Result<Proposal, AgentError> {
        let outcome = self.work().await;
        let result = match outcome {
            Ok(summary) => self.proposal(summary),
            Err(error) => Err(error),
        };
        if let Err(error) = &result {
            self.workspace.staging.clear();
            self.workspace.session.emit(EventKind::Failed { reason: error.to_string() });
        }
        result
    }

    /// A person meant something else. What was made so far is dropped, the conversation is not.
    pub async fn correct(&mut self, text: &str) -> Result<Proposal, AgentError> {
        let text = check_intent(text)?;
        self.workspace.session.emit(EventKind::Corrected { text: text.to_owned() });
        self.workspace.staging.clear();
        self.workspace.artifacts.clear();
        self.lineage.push(text.to_owned());
        self.dialogue.grant_more();
        self.dialogue.say(Message::user(format!(
            "The person has seen the code and answers with a correction. Hand the whole file in again.\n{}",
            tagged("correction", text)
        )));
        self.run().await
    }

    pub fn dialogue(&self) -> &Dialogue<'g> {
        &self.dialogue
    }

    /// The last thing the model said, once something is handed in that passes.
    async fn work(&mut self) -> Result<String, AgentError> {
        let mut nudges = 0;
        loop {
            let seen = self.workspace.artifacts.len();
            let turn = self.dialogue.turn().await?;
            if let Turn::Said(text) = &turn
                && let Some(code) = code_in(text)
            {
                self.hand_in(code)?;
            }
            let reports = self.workspace.artifacts.since(seen);
            let failed = reports.iter().filter(|report| !report.success).count();
            self.retries += failed;
            if reports.iter().any(|report| report.success) {
                return Ok(said(&turn));
            }
            if let (Turn::Said(_), Some(report)) = (&turn, reports.last()) {
                self.dialogue.retry(&serde_json::to_string(report).unwrap_or_default());
                continue;
            }
            if let Turn::Said(text) = turn {
                nudges += 1;
                if nudges == MAX_NUDGES {
                    return Err(AgentError::NotAchieved { reason: shortened(&text) });
                }
                self.retries += 1;
                self.dialogue.retry("Nothing was handed in. Call `generate_artifact` with the whole file.");
            }
        }
    }

    /// Code that was said instead of handed in.
    fn hand_in(&mut self, code: String) -> Result<(), AgentError> {
        let name = first_name(&code).unwrap_or_else(|| self.kind.replace('-', "_"));
        let artifact = ArtifactCode {
            artifact_type: self.kind.clone(),
            name,
            description: self.lineage.join("; "),
            code,
        };
        let settings =
            ArtifactSettings { layers: self.settings.layers.clone(), ..ArtifactSettings::default() };
        check_artifact(self.workspace, &artifact, &settings).map(drop)
    }

    fn proposal(&self, summary: String) -> Result<Proposal, AgentError> {
        let workspace = self.workspace;
        let root = &workspace.project.root;
        let files: Vec<ProposedFile> = workspace
            .staging
            .file_changes()?
            .iter()
            .map(|change| ProposedFile::of_change(grail_project_path(root, change.path()), change))
            .collect();
        let rules = workspace.rules(Some(&self.kind))?;
        let proposal = Proposal {
            id: workspace.clock.new_id()?,
            created: workspace.clock.now(),
            session: workspace.session.id.clone(),
            state: ProposalState::Waiting,
            lineage: self.lineage.clone(),
            kind: Some(self.kind.clone()),
            model: ModelIdentity {
                name: self.settings.model_name.clone(),
                asked: self.model_asked.clone(),
                answered: self.dialogue.answered_by().unwrap_or_default().to_owned(),
            },
            mode: if self.mode == Mode::Code { "code" } else { "direct" }.to_owned(),
            checks: checks(&files, &workspace.artifacts.since(0)),
            capabilities: capabilities(&files),
            files,
            retries: self.retries,
            turns: self.dialogue.turns(),
            usage: self.dialogue.usage(),
            cost: Some(self.settings.limits.prices.of(self.dialogue.usage())).filter(|cost| *cost > 0.0),
            skills: self.skills.clone(),
            rules: RulesIdentity { count: rules.rules().len(), hash: rules.hash().to_hex()[..16].to_owned() },
            review: Vec::new(),
            summary,
        };
        Ok(proposal)
    }
}

/// The tool that hands code in.
pub const GENERATE_ARTIFACT: &str = "generate_artifact";

pub fn generate_artifact(workspace: &Arc<Workspace>, settings: ArtifactSettings) -> Result<Tool, AgentError> {
    let workspace = Arc::clone(workspace);
    let tool = Tool::typed(
        GENERATE_ARTIFACT,
        "Hand in the whole file of one artifact. It is checked and fixed; if everything passes it becomes part of the proposal.",
        move |artifact: ArtifactCode| -> Result<ArtifactReport, ToolError> {
            check_artifact(&workspace, &artifact, &settings).map_err(|error| tool_error(&error))
        },
    )?;
    Ok(tool)
}

/// An error as a model sees it, with what to do about it.
pub fn tool_error(error: &AgentError) -> ToolError {
    let message = match error.hint() {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    };
    ToolError::value_error(message)
}

/// An intent that can be worked on.
pub fn check_intent(intent: &str) -> Result<&str, AgentError> {
    let intent = intent.trim();
    if !intent.chars().any(char::is_alphanumeric) {
        return Err(AgentError::Intent { message: "the intent says nothing".to_owned() });
    }
    if intent.len() > MAX_INTENT_BYTES {
        let message =
            format!("the intent has {} bytes; at most {MAX_INTENT_BYTES} are a sentence", intent.len());
        return Err(AgentError::Intent { message });
    }
    Ok(intent)
}

/// The kind of artifact that an intent names.
pub fn guess_kind(workspace: &Workspace, intent: &str) -> Result<String, AgentError> {
    let words: Vec<String> =
        intent.split(|character: char| !character.is_alphanumeric()).map(str::to_lowercase).collect();
    let mut known: Vec<&str> = workspace.library.kinds().map(|(_, kind)| kind.name.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let is_named = |kind: &&&str| {
        kind.split('-').all(|part| words.iter().any(|word| word == part || *word == format!("{part}s")))
    };
    let mut named: Vec<&str> = known.iter().filter(is_named).copied().collect();
    // `test-fixture` says more than `fixture`.
    let parts = |kind: &str| kind.split('-').count();
    let most = named.iter().map(|kind| parts(kind)).max().unwrap_or(0);
    named.retain(|kind| parts(kind) == most);
    match named.as_slice() {
        [one] => Ok((*one).to_owned()),
        several => Err(AgentError::UnclearKind {
            candidates: several.iter().map(|kind| (*kind).to_owned()).collect(),
        }),
    }
}

fn request(workspace: &Workspace, intent: &str, kind: &str) -> String {
    let mut request = format!("{}\n{}", tagged("intent", intent), tagged("kind", kind));
    if let Some(package) = workspace.package_folder() {
        request.push('\n');
        request.push_str(&tagged("package", &package));
    }
    request
}

fn said(turn: &Turn) -> String {
    match turn {
        Turn::Said(text) => shortened(text),
        Turn::Called(_) => String::new(),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(2_000).collect()
}

/// The longest fenced block of Python that defines something.
fn code_in(text: &str) -> Option<String> {
    let blocks = fenced_blocks(text).into_iter().map(|(_, code)| code);
    blocks.filter(|code| first_name(code).is_some()).max_by_key(String::len)
}

/// The first public function or class at the top of a file.
fn first_name(code: &str) -> Option<String> {
    let parsed = parse_module(Source::from_text(code));
    let body = parsed.root().list(Field::Body);
    let definitions = body.filter(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef));
    let names = definitions.filter_map(|node| Some(node.child(Field::Name)?.text().to_owned()));
    names.into_iter().find(|name| !name.starts_with('_'))
}

fn grail_project_path(root: &std::path::Path, path: &std::path::Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The last report about each file of the proposal.
fn checks(files: &[ProposedFile], reports: &[ArtifactReport]) -> Vec<FileChecks> {
    let of_file = |file: &ProposedFile| {
        let report = reports.iter().rev().find(|report| report.path == file.path && report.success)?;
        Some(FileChecks {
            path: report.path.clone(),
            layers: report.layers.clone(),
            fixed: report.fixed.clone(),
            problems: report.problems.clone(),
        })
    };
    files.iter().filter_map(of_file).collect()
}

fn capabilities(files: &[ProposedFile]) -> Vec<String> {
    let texts =
        files.iter().filter(|file| file.path.ends_with(".py")).filter_map(|file| file.after.as_deref());
    let used =
        texts.flat_map(|text| infer_capabilities(text, &std::collections::BTreeSet::new()).capabilities());
    let mut names: Vec<String> = used.map(|capability| capability.to_string()).collect();
    names.sort();
    names.dedup();
    names
}
