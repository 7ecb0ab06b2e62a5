//! An intent becomes a proposal.
//!
//! First what kind of artifact is meant, then what the model must know about it, then the loop: code is handed in, checked and fixed, and
//! what is left goes back as a retry, until everything passes or a limit is reached. A person may answer the proposal with a correction,
//! and the same conversation goes on.

mod challenger;
mod work;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use grail_flywheel::EventKind;
use grail_flywheel::dataset::ChatForm;
use grail_flywheel::event::{CorrectionSource, Problem as EventProblem, SkillStage};
use grail_flywheel::words::Verdict;
use grail_model::prompt::tagged;
use grail_model::template::{KindGuess, guess_kind};
use grail_model::{Message, Model, Usage};
use grail_rules::{ArtifactKind, Layer};
use grail_sandbox::{Tool, ToolError, Toolset};
use grail_skills::runnable::capabilities::infer_capabilities;

use crate::AgentError;
use crate::answer::{self, name_of};
use crate::artifact::{
    ArtifactCode, ArtifactReport, ArtifactSettings, Making, Problem, check_artifact, find_kind,
    record_generation, run_tools,
};
use crate::code_mode::CodeMode;
use crate::dialogue::{Approver, Dialogue, DialogueLimits, Mode, NobodyApproves, Notice, Turn};
use crate::feature::{self, Part};
use crate::models::TEMPLATE;
use crate::prompt::briefing;
use crate::proposal::{
    FileChecks, ModelIdentity, Proposal, ProposalState, ProposedFile, ReviewFinding, RulesIdentity,
};
use crate::review::review_code;
use crate::style::Style;
use crate::subject::find_subject;
use crate::templates::{kind_words, libraries_in_use};
use crate::workspace::Workspace;

pub use self::challenger::answer_in_shadow;
use self::work::Work;

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
    /// The phase that answers, if one does.
    pub phase: Option<String>,
    pub mode: Mode,
    /// How a model is asked that answers without tools: as it was trained.
    pub form: ChatForm,
    pub limits: DialogueLimits,
    /// Only these layers; without any, those that the kind asks for.
    pub layers: Vec<Layer>,
    /// Several files that belong together.
    pub feature: bool,
    /// A file whose habits the new code must keep.
    pub like: Option<String>,
    /// How often tests may fail before the work is given up; without it, tests decide nothing.
    pub until_tests_pass: Option<usize>,
}

impl Default for GenerateSettings {
    fn default() -> Self {
        Self {
            kind: None,
            model_name: "template".to_owned(),
            phase: None,
            mode: Mode::Direct,
            form: ChatForm::default(),
            limits: DialogueLimits::default(),
            layers: Vec::new(),
            feature: false,
            like: None,
            until_tests_pass: None,
        }
    }
}

/// Who is there while the work goes on.
#[derive(Clone, Copy)]
pub struct Company<'c> {
    pub approver: &'c dyn Approver,
    pub watch: &'c (dyn Fn(Notice<'_>) + Sync),
    /// Looks at the work when it is done.
    pub reviewer: Option<&'c dyn Model>,
}

impl Default for Company<'_> {
    fn default() -> Self {
        Self { approver: &NobodyApproves, watch: &|_| {}, reviewer: None }
    }
}

/// Work on one intent, which a person may correct.
pub struct Generation<'g> {
    workspace: &'g Arc<Workspace>,
    model: &'g dyn Model,
    company: Company<'g>,
    tools: Toolset,
    settings: GenerateSettings,
    artifact_settings: ArtifactSettings,
    /// What is still to be made, in order.
    planned: VecDeque<Part>,
    /// What was made, with the conversation that made it.
    made: Vec<Work<'g>>,
    lineage: Vec<String>,
    skills: BTreeMap<String, String>,
    review: Vec<ReviewFinding>,
    retries: usize,
}

impl<'g> Generation<'g> {
    /// Understands the intent and plans the work. `tools` are what the model may use beside handing code in.
    pub async fn start(
        workspace: &'g Arc<Workspace>,
        model: &'g dyn Model,
        tools: Toolset,
        intent: &str,
        settings: GenerateSettings,
        company: Company<'g>,
    ) -> Result<Self, AgentError> {
        let intent = check_intent(intent)?;
        let style =
            settings.like.as_deref().map(|path| Style::of_file(workspace, path)).transpose()?.map(Arc::new);
        let planned = plan(workspace, model, intent, &settings).await?;
        let kind = planned.first().filter(|_| planned.len() == 1).map(|part| part.kind.as_str());
        workspace.session.answered_in_phase(settings.phase.as_deref());
        workspace.session.emit_intent(intent, kind, &settings.model_name);
        let artifact_settings = ArtifactSettings {
            layers: settings.layers.clone(),
            style,
            runs_tests: settings.until_tests_pass.is_some(),
            ..ArtifactSettings::default()
        };
        let handing_in = Toolset::new([generate_artifact(workspace, artifact_settings.clone())?])?;
        let tools = handing_in.combine(tools.filter(|tool| tool.name() != GENERATE_ARTIFACT))?;
        Ok(Self {
            workspace,
            model,
            company,
            tools,
            settings,
            artifact_settings,
            planned: planned.into(),
            made: Vec::new(),
            lineage: vec![intent.to_owned()],
            skills: BTreeMap::new(),
            review: Vec::new(),
            retries: 0,
        })
    }

    /// Goes on until there is a proposal. If there is none, nothing is left staged.
    pub async fn run(&mut self) -> Result<Proposal, AgentError> {
        let mut result = self.work_on_everything().await;
        if result.is_ok() {
            result = self.let_review().await;
        }
        let result = result.and_then(|()| self.proposal());
        if let Err(error) = &result {
            self.workspace.staging.clear();
            self.workspace.session.emit(EventKind::Failed { reason: error.to_string() });
        }
        result
    }

    /// A person meant something else. What was made so far is dropped, the conversations are not.
    pub async fn correct(&mut self, text: &str) -> Result<Proposal, AgentError> {
        let text = check_intent(text)?.to_owned();
        let staged = self.workspace.staging.staged();
        let only = (staged.len() == 1).then(|| staged.into_iter().next()).flatten();
        // "Also a discount" wants more; "no, I meant a discount" says that something was wrong.
        let is_correction = self.workspace.classifier.classify(&text).verdict == Verdict::Correction;
        self.workspace.session.emit(match is_correction {
            true => EventKind::UserCorrection {
                text: text.clone(),
                source: CorrectionSource::Words,
                subject: None,
                path: only.as_ref().map(|(path, _)| path.clone()),
                original: only.and_then(|(_, text)| text),
                corrected: None,
                violates: Vec::new(),
            },
            false => EventKind::UserMessage { text: text.clone() },
        });
        self.workspace.staging.clear();
        self.workspace.artifacts.clear();
        self.review.clear();
        let mut made = std::mem::take(&mut self.made);
        let mut result = Ok(());
        for work in &mut made {
            if result.is_ok() {
                work.correct(&text, &self.settings.form);
                result = self.finish(work).await;
            }
        }
        // Whatever came of it, the conversations go on.
        self.made = made;
        if let Err(error) = result {
            self.workspace.staging.clear();
            self.workspace.session.emit(EventKind::Failed { reason: error.to_string() });
            return Err(error);
        }
        self.lineage.push(text);
        self.run().await
    }

    async fn work_on_everything(&mut self) -> Result<(), AgentError> {
        while let Some(part) = self.planned.pop_front() {
            let mut work = self.begin(&part).await?;
            self.finish(&mut work).await?;
            self.made.push(work);
        }
        Ok(())
    }

    /// Opens the conversation about one part: what the model must know, and what is made already.
    async fn begin(&mut self, part: &Part) -> Result<Work<'g>, AgentError> {
        let workspace = self.workspace;
        let (pack, kind) = find_kind(workspace, &part.kind)?;
        if self.settings.mode == Mode::Answer {
            return self.begin_answer(part, &kind.name);
        }
        let code = match self.settings.mode {
            Mode::Code => Some(CodeMode::start(workspace, self.tools.clone()).await?),
            Mode::Auto | Mode::Direct | Mode::Answer => None,
        };
        let habits = self.artifact_settings.style.as_ref().map_or(&[][..], |style| &style.habits);
        let told =
            briefing(workspace, Some((&pack.name, &kind)), habits, code.as_ref().map(CodeMode::stubs))?;
        let session = &workspace.session;
        for skill in told.offered.into_iter().filter(|_| self.made.is_empty()) {
            session.emit(EventKind::Skill { skill, version: String::new(), stage: SkillStage::Offered });
        }
        for (skill, version) in told.skills {
            if self.skills.insert(skill.clone(), version.clone()).is_none() {
                session.emit(EventKind::Skill { skill, version, stage: SkillStage::Loaded });
            }
        }
        let mut dialogue = Dialogue::new(workspace, self.model, self.tools.clone(), code)
            .with_limits(self.settings.limits)
            .with_approver(self.company.approver)
            .watched_by(self.company.watch);
        dialogue.say(Message::system(told.text));
        dialogue.say(Message::user(request(workspace, &part.intent, &kind)));
        let (request, started) = (part.intent.clone(), Instant::now());
        Ok(Work {
            kind: kind.name.clone(),
            request,
            dialogue,
            opening: None,
            summary: String::new(),
            started,
            told: Usage::default(),
        })
    }

    /// The same for a model that is asked as it was trained: no tools, no knowledge but its own.
    fn begin_answer(&self, part: &Part, kind: &str) -> Result<Work<'g>, AgentError> {
        answer::check_question(&part.intent)?;
        let opening = answer::opening(&self.settings.form, &part.intent);
        let mut dialogue = Dialogue::new(self.workspace, self.model, Toolset::default(), None)
            .with_limits(self.settings.limits)
            .watched_by(self.company.watch);
        dialogue.start_over(opening.clone());
        Ok(Work {
            kind: kind.to_owned(),
            request: part.intent.clone(),
            dialogue,
            opening: Some(opening),
            summary: String::new(),
            started: Instant::now(),
            told: Usage::default(),
        })
    }

    /// Goes on with one part until something is handed in that passes. What came of it is an event.
    async fn finish(&mut self, work: &mut Work<'g>) -> Result<(), AgentError> {
        let (seen, retries) = (self.workspace.artifacts.len(), self.retries);
        let result = self.finish_unrecorded(work).await;
        if let Some(checked) = self.workspace.artifacts.last_since(seen) {
            let usage = work.dialogue.usage();
            let making = Making {
                request: &work.request,
                retries: self.retries - retries,
                skills: self.skills.keys().cloned().collect(),
                usage: usage - work.told,
                took: work.started.elapsed(),
                is_kept: result.is_ok(),
            };
            (work.told, work.started) = (usage, Instant::now());
            record_generation(self.workspace, &checked, making);
        }
        result
    }

    async fn finish_unrecorded(&mut self, work: &mut Work<'g>) -> Result<(), AgentError> {
        let (mut nudges, mut failed_tests) = (0, 0);
        // Why the last thing handed in was not even checked.
        let mut refused = None;
        loop {
            let seen = self.workspace.artifacts.len();
            let turn = work.dialogue.turn().await?;
            if let Turn::Said(text) = &turn
                && let Some(code) = work.code_in(text)
            {
                self.hand_in(work, code)?;
            }
            let reports = self.workspace.artifacts.since(seen);
            self.retries += reports.iter().filter(|report| !report.success).count();
            if reports.iter().any(|report| report.success) {
                let failures = self.failing_tests()?;
                if failures.is_empty() {
                    work.summary = if work.opening.is_some() { String::new() } else { said(&turn) };
                    return Ok(());
                }
                failed_tests += 1;
                if Some(failed_tests) > self.settings.until_tests_pass {
                    let first = failures.first().map(|problem| problem.message.clone()).unwrap_or_default();
                    return Err(AgentError::NotAchieved {
                        reason: format!("tests still fail: {}", shortened(&first)),
                    });
                }
                self.retries += 1;
                self.doubt(work, failures.iter().map(EventProblem::from).collect());
                work.retry(&match &work.opening {
                    Some(_) => answer::mending(&failures),
                    None => format!("Tests fail. Mend the code and hand it in again.\n{}", told(&failures)),
                });
                continue;
            }
            let text = match turn {
                Turn::Said(text) => text,
                Turn::Called(called) => {
                    let handed_in = called.iter().rfind(|called| called.call.name == GENERATE_ARTIFACT);
                    refused =
                        handed_in.and_then(|called| Some(called.result.as_ref().err()?.message.clone()));
                    continue;
                }
            };
            if let Some(report) = reports.last() {
                if work.repeats_itself() {
                    return Err(AgentError::NotAchieved { reason: report.reason() });
                }
                work.retry(&match &work.opening {
                    Some(_) => answer::mending(&report.problems),
                    None => told(report),
                });
                continue;
            }
            nudges += 1;
            if nudges == MAX_NUDGES {
                let last = self.workspace.artifacts.since(0).pop().filter(|report| !report.success);
                let reason = refused.or_else(|| Some(last?.reason())).unwrap_or_else(|| shortened(&text));
                return Err(AgentError::NotAchieved { reason });
            }
            self.retries += 1;
            work.retry(match &work.opening {
                Some(_) => answer::NO_CODE,
                None => "Nothing was handed in. Call `generate_artifact` with the whole file.",
            });
        }
    }

    /// Code that was said instead of handed in.
    fn hand_in(&self, work: &Work<'g>, code: String) -> Result<(), AgentError> {
        let mended_by = work.opening.is_some().then(|| work.request.clone());
        let name = name_of(&code, &work.kind);
        let description = self.lineage.join("; ");
        let artifact = ArtifactCode { artifact_type: work.kind.clone(), name, description, code };
        let settings = ArtifactSettings { mended_by, ..self.artifact_settings.clone() };
        check_artifact(self.workspace, &artifact, &settings).map(drop)
    }

    /// What passed its own check is wrong all the same.
    fn doubt(&self, work: &Work<'g>, problems: Vec<EventProblem>) {
        if let Some(checked) = self.workspace.artifacts.last_since(0) {
            self.workspace.session.emit_doubt(&work.kind, checked.code, problems);
        }
    }

    /// What the project's tests say about everything staged, if they are to pass.
    fn failing_tests(&self) -> Result<Vec<Problem>, AgentError> {
        if self.settings.until_tests_pass.is_none() || !self.planned.is_empty() {
            return Ok(Vec::new());
        }
        let mut report = ArtifactReport::default();
        run_tools(self.workspace, &[], |layer| *layer == Layer::Tests, true, &mut report)?;
        // Tests that did not run have not passed.
        let unknown =
            report.layers.iter().find(|layer| !matches!(layer.status.as_str(), "passed" | "failed"));
        match unknown {
            Some(layer) => Err(AgentError::Other {
                message: format!("the tests cannot tell: {}", layer.detail),
                hint: Some(
                    "`--until-tests-pass` needs tests that run; `[check.tests]` in `grail.toml` says how"
                        .to_owned(),
                ),
            }),
            None => Ok(report.problems),
        }
    }

    /// A second look. What must be mended is worth one more round.
    async fn let_review(&mut self) -> Result<(), AgentError> {
        let Some(reviewer) = self.company.reviewer else { return Ok(()) };
        for round in 0..2 {
            let description = self.lineage.join("; ");
            let code =
                self.workspace.staging.staged().into_values().flatten().collect::<Vec<_>>().join("\n\n");
            let review = review_code(reviewer, &description, &code).await?;
            let demand = review.demand();
            self.review = review.into_findings();
            self.workspace.session.emit(EventKind::Review {
                findings: count(self.review.len()),
                must_mend: count(self.review.iter().filter(|finding| finding.must_be_mended()).count()),
            });
            let Some(demand) = demand.filter(|_| round == 0) else { return Ok(()) };
            let mut made = std::mem::take(&mut self.made);
            for work in &mut made {
                self.retries += 1;
                work.retry(&demand);
                self.finish(work).await?;
            }
            self.made = made;
        }
        Ok(())
    }

    fn proposal(&self) -> Result<Proposal, AgentError> {
        let workspace = self.workspace;
        let root = &workspace.project.root;
        let changes = workspace.staging.file_changes()?;
        let files: Vec<ProposedFile> = changes
            .iter()
            .map(|change| ProposedFile::of_change(relative(root, change.path()), change))
            .collect();
        let kind = match self.made.as_slice() {
            [only] => Some(only.kind.clone()),
            _ => None,
        };
        let rules = workspace.rules(kind.as_deref())?;
        let mut usage = Usage::default();
        self.made.iter().for_each(|work| usage += work.dialogue.usage());
        let answered = self.made.iter().rev().find_map(|work| work.dialogue.answered_by());
        let summaries: Vec<&str> =
            self.made.iter().map(|work| work.summary.as_str()).filter(|text| !text.is_empty()).collect();
        Ok(Proposal {
            id: workspace.clock.new_id()?,
            created: workspace.clock.now(),
            session: workspace.session.id.clone(),
            state: ProposalState::Waiting,
            lineage: self.lineage.clone(),
            kind,
            model: ModelIdentity {
                name: self.settings.model_name.clone(),
                asked: self.model.name().to_owned(),
                answered: answered.unwrap_or_default().to_owned(),
            },
            mode: self.settings.mode.name().to_owned(),
            checks: checks(&files, &workspace.artifacts.since(0)),
            capabilities: capabilities(&files),
            files,
            retries: self.retries,
            turns: self.made.iter().map(|work| work.dialogue.turns()).sum(),
            usage,
            cost: Some(self.settings.limits.prices.of(usage)).filter(|cost| *cost > 0.0),
            skills: self.skills.clone(),
            rules: RulesIdentity { count: rules.rules().len(), hash: rules.hash().to_hex()[..16].to_owned() },
            review: self.review.clone(),
            summary: summaries.join("\n"),
        })
    }
}

/// One part, or those of a feature.
async fn plan(
    workspace: &Workspace,
    model: &dyn Model,
    intent: &str,
    settings: &GenerateSettings,
) -> Result<Vec<Part>, AgentError> {
    if settings.feature {
        let cannot_plan = model.name() == TEMPLATE || settings.mode == Mode::Answer;
        let plan = match cannot_plan {
            true => feature::usual_plan(workspace, intent),
            false => feature::plan(workspace, model, intent).await?,
        };
        return match plan.parts.is_empty() {
            true => Err(AgentError::UnclearKind { candidates: Vec::new() }),
            false => Ok(plan.parts),
        };
    }
    let kind = match &settings.kind {
        Some(kind) => find_kind(workspace, kind)?.1.name.clone(),
        None => guess(workspace, intent)?,
    };
    Ok(vec![Part { kind, intent: intent.to_owned() }])
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

/// The kind of artifact that an intent asks for.
fn guess(workspace: &Workspace, intent: &str) -> Result<String, AgentError> {
    match guess_kind(intent, &kind_words(&workspace.library)) {
        KindGuess::One(kind) => Ok(kind),
        KindGuess::Several(candidates) => Err(AgentError::UnclearKind { candidates }),
        KindGuess::Unclear => Err(AgentError::UnclearKind { candidates: Vec::new() }),
    }
}

/// The first message of a person: the intent, and what of the project bears on it.
fn request(workspace: &Workspace, intent: &str, kind: &ArtifactKind) -> String {
    let mut request = format!("{}\n{}", tagged("intent", intent), tagged("kind", &kind.name));
    let mut add = |tag: &str, text: &str| {
        request.push('\n');
        request.push_str(&tagged(tag, text));
    };
    if let Some(package) = workspace.package_folder() {
        add("package", &package);
    }
    let uses = libraries_in_use(workspace);
    if !uses.is_empty() {
        add("uses", &uses);
    }
    if kind.checks.contains(&Layer::Tests)
        && let Some(subject) = find_subject(workspace, intent)
    {
        add("subject", &told(&subject));
    }
    let made = feature::made_so_far(workspace);
    if !made.is_empty() {
        request.push_str("\nThese files are made already and belong to the same change:\n");
        request.push_str(&tagged("made", &made));
    }
    request
}

fn said(turn: &Turn) -> String {
    match turn {
        Turn::Said(text) => shortened(text),
        Turn::Called(_) => String::new(),
    }
}

fn count(length: usize) -> u32 {
    length.try_into().unwrap_or(u32::MAX)
}

fn shortened(text: &str) -> String {
    text.chars().take(2_000).collect()
}

fn relative(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// As a model is told it.
fn told(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The last report about each file of the proposal.
pub(crate) fn checks(files: &[ProposedFile], reports: &[ArtifactReport]) -> Vec<FileChecks> {
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

pub(crate) fn capabilities(files: &[ProposedFile]) -> Vec<String> {
    let texts =
        files.iter().filter(|file| file.path.ends_with(".py")).filter_map(|file| file.after.as_deref());
    let used =
        texts.flat_map(|text| infer_capabilities(text, &std::collections::BTreeSet::new()).capabilities());
    let mut names: Vec<String> = used.map(|capability| capability.to_string()).collect();
    names.sort();
    names.dedup();
    names
}
