//! A suite asked of a model, several times, and every answer judged: what comes out is an [`Evaluation`].
//!
//! Requests go out together, in the very form that phases are trained in, so that a local model can answer them as one batch. Who answers is
//! asserted with every answer. Answers are kept as they come ([`answers`]): whoever is interrupted goes on there, and nobody is asked twice.

pub mod answers;
mod arms;
mod ask;
mod contender;
mod judge;
mod known;
mod render;
mod skill_text;
mod validate;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use grail_flywheel::EventKind;
use grail_flywheel::evaluation::{Answer, Arm, Asking, Control, EVALUATION_FORMAT, Evaluation, SuiteName};
use grail_flywheel::event::Tokens;
use grail_flywheel::suite::{Suite, SuitePrompt};
use grail_model::FinishReason;

use self::answers::{Answers, Given};
use self::judge::Verdict;
use crate::AgentError;
use crate::artifact::find_kind;
use crate::workspace::Workspace;

pub use self::arms::{ManyEvaluated, NamedArm, WITH_SKILL, evaluate_with_controls};
pub use self::contender::{CURRENT, Contender, is_phase_name};
pub use self::known::{evaluate_once, of_phase};
pub use self::skill_text::{SkillTexts, trusted_text};
pub(crate) use self::validate::{count_right, prompt_of};

/// How a suite is asked and judged.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluateSettings {
    /// Every prompt is asked once with each.
    pub seeds: Vec<u64>,
    pub temperature: f32,
    pub max_tokens: u32,
    /// How often a wrong answer is sent back with what is wrong.
    pub retries: u32,
    /// How many requests are out at once.
    pub concurrency: usize,
    /// Whether types are checked, if there is a type checker.
    pub types: bool,
    /// Whether answers are rendered, if Python in WebAssembly is installed.
    pub render: bool,
}

/// With several seeds there has to be some chance, or all answers were the same.
const SOME_CHANCE: f32 = 0.2;

impl EvaluateSettings {
    /// So many seeds. With one the likeliest answer counts, as in daily use.
    pub fn with_seeds(count: u64) -> Self {
        Self {
            seeds: (1..=count.max(1)).collect(),
            temperature: if count > 1 { SOME_CHANCE } else { 0.0 },
            max_tokens: 512,
            retries: 0,
            concurrency: 32,
            types: true,
            render: true,
        }
    }
}

impl Default for EvaluateSettings {
    fn default() -> Self {
        Self::with_seeds(3)
    }
}

/// One arm: a contender, and what it is told.
#[derive(Clone, Copy)]
pub struct ArmOf<'a> {
    pub contender: &'a Contender,
    pub skill: Option<&'a SkillTexts>,
    pub control: Option<Control>,
    /// What reports call it, if not as it follows from the rest.
    pub label: Option<&'a str>,
}

/// What came of an arm.
pub struct Evaluated {
    pub evaluation: Evaluation,
    /// What did not run, and why.
    pub notes: Vec<String>,
    /// How many answers were there already.
    pub remembered: usize,
    /// How many tokens those had.
    pub remembered_tokens: u64,
}

/// Told how far an evaluation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
}

/// One arm while it is evaluated.
pub struct Run<'r> {
    workspace: &'r Workspace,
    suite: &'r Suite,
    arm: ArmOf<'r>,
    settings: &'r EvaluateSettings,
    answers: Answers,
    remembered: usize,
    remembered_tokens: u64,
    /// Who answered first.
    answered_by: OnceLock<String>,
}

/// Asks a whole suite and judges the answers.
pub async fn evaluate(
    workspace: &Workspace,
    suite: &Suite,
    arm: ArmOf<'_>,
    settings: &EvaluateSettings,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Evaluated, AgentError> {
    let mut run = Run::start(workspace, suite, arm, settings)?;
    let all: Vec<&SuitePrompt> = suite.prompts.iter().collect();
    run.ask(&all, watch).await?;
    run.finish(&all)
}

impl<'r> Run<'r> {
    pub fn start(
        workspace: &'r Workspace,
        suite: &'r Suite,
        arm: ArmOf<'r>,
        settings: &'r EvaluateSettings,
    ) -> Result<Self, AgentError> {
        for kind in suite.kinds() {
            find_kind(workspace, kind)?;
        }
        if settings.seeds.is_empty() || suite.prompts.is_empty() {
            return Err(AgentError::Other {
                message: "there is nothing to ask".to_owned(),
                hint: Some("a suite has at least one prompt, and is asked with at least one seed".to_owned()),
            });
        }
        let answers = Answers::open(&workspace.project.root, &key(suite, arm, settings))?;
        let (mut remembered, mut remembered_tokens) = (0, 0);
        let answered_by = OnceLock::new();
        for prompt in &suite.prompts {
            for given in settings.seeds.iter().filter_map(|seed| answers.get(&prompt.id, *seed)) {
                remembered += 1;
                remembered_tokens += given.tries.iter().map(|asked| asked.usage.output_tokens).sum::<u64>();
                if let Some(asked) = given.tries.first() {
                    answered_by.get_or_init(|| asked.answered_by.clone());
                }
            }
        }
        Ok(Self { workspace, suite, arm, settings, answers, remembered, remembered_tokens, answered_by })
    }

    /// Asks these prompts with every seed, as far as they were not asked before.
    pub async fn ask(
        &mut self,
        prompts: &[&SuitePrompt],
        watch: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), AgentError> {
        ask::ask_missing(self, prompts, watch).await
    }

    /// Judges the answers to these prompts and keeps what they came to as events.
    pub fn finish(mut self, prompts: &[&SuitePrompt]) -> Result<Evaluated, AgentError> {
        let evaluated = self.judge(prompts)?;
        self.tell(&evaluated.evaluation)?;
        Ok(evaluated)
    }

    /// Judges the answers to these prompts.
    pub fn judge(&self, prompts: &[&SuitePrompt]) -> Result<Evaluated, AgentError> {
        let mut given: Vec<(&SuitePrompt, &Given)> = Vec::new();
        for prompt in prompts {
            for seed in &self.settings.seeds {
                let missing = || AgentError::Other {
                    message: format!("`{}` was not answered with seed {seed}", prompt.id),
                    hint: None,
                };
                given.push((prompt, self.answers.get(&prompt.id, *seed).ok_or_else(missing)?));
            }
        }
        // All tries of all answers, one after the other.
        let mut files: Vec<(&SuitePrompt, Option<&str>)> = Vec::new();
        for (prompt, given) in &given {
            files.extend(given.tries.iter().map(|asked| (*prompt, asked.code.as_deref())));
        }
        let mut verdicts = judge::judge_files(self.workspace, &files)?;
        let mut with_kinds: Vec<(&str, &mut Verdict)> = files
            .iter()
            .zip(&mut verdicts)
            .map(|((prompt, _), verdict)| (prompt.kind.as_str(), verdict))
            .collect();
        let (layers, notes) = self.judge_with_tools(&mut with_kinds);
        let mut retold = judge::retell_objected(self.workspace, &files, &mut verdicts)?;
        if !retold.is_empty() {
            self.judge_with_tools(&mut retold);
        }
        let mut verdicts = verdicts.into_iter();
        let answers = given
            .iter()
            .map(|(prompt, given)| {
                let tries: Vec<Verdict> = verdicts.by_ref().take(given.tries.len()).collect();
                answer(prompt, given, &tries)
            })
            .collect();
        let evaluation = self.evaluation(layers, answers)?;
        let Self { remembered, remembered_tokens, .. } = *self;
        Ok(Evaluated { evaluation, notes, remembered, remembered_tokens })
    }

    /// Lets other tools look at what passes so far. Says which layers have judged, and what is to be said about that.
    fn judge_with_tools(&self, verdicts: &mut [(&str, &mut Verdict)]) -> (Vec<String>, Vec<String>) {
        let mut layers: Vec<String> = ["syntax", "rules"].map(str::to_owned).into();
        let mut notes = Vec::new();
        if self.settings.types {
            let checked = judge::judge_types(self.workspace, verdicts);
            layers.extend(checked.ran.then(|| judge::TYPES.to_owned()));
            notes.extend(checked.notes);
        }
        if self.settings.render && render::is_wanted(self.suite) {
            let rendered = render::judge_rendering(self.workspace, verdicts);
            layers.extend(rendered.ran.then(|| render::RENDER.to_owned()));
            notes.extend(rendered.notes);
        }
        (layers, notes)
    }

    fn evaluation(&self, layers: Vec<String>, answers: Vec<Answer>) -> Result<Evaluation, AgentError> {
        let contender = self.arm.contender;
        let mut evaluation = Evaluation {
            format: EVALUATION_FORMAT,
            hash: String::new(),
            made: self.workspace.clock.now(),
            arm: Arm {
                name: self.arm.label(),
                model: contender.model.clone(),
                identity: contender.identity.clone(),
                phase: contender.phase.clone(),
                skill: self.arm.skill.map(SkillTexts::identity),
                control: self.arm.control,
            },
            suite: SuiteName::from(self.suite),
            seeds: self.settings.seeds.clone(),
            asking: asking(self.arm, self.settings),
            rules: rules_in_force(self.workspace, self.suite)?,
            layers,
            grail: env!("CARGO_PKG_VERSION").to_owned(),
            answers,
        };
        evaluation.hash = evaluation.content_hash();
        Ok(evaluation)
    }

    /// Keeps what was not told before as events.
    fn tell(&mut self, evaluation: &Evaluation) -> Result<(), AgentError> {
        let session = &self.workspace.session;
        session.answered_by(&evaluation.arm.model);
        session.answered_in_phase(evaluation.arm.phase.as_deref());
        let mut is_told = true;
        for answer in evaluation.answers.iter().filter(|it| !self.answers.is_told(&it.prompt, it.seed)) {
            is_told = false;
            session.emit(EventKind::Evaluation {
                suite: evaluation.suite.name.clone(),
                prompt: answer.prompt.clone(),
                seed: answer.seed,
                passed: answer.first_try_passed,
                problems: answer.problems.clone(),
                tokens: answer.tokens,
                milliseconds: answer.milliseconds,
            });
        }
        if is_told { Ok(()) } else { self.answers.mark_told() }
    }
}

/// What the rules that judge a suite hash to, by pack.
fn rules_in_force(workspace: &Workspace, suite: &Suite) -> Result<BTreeMap<String, String>, AgentError> {
    let mut rules = BTreeMap::new();
    for kind in suite.kinds() {
        let (pack, _) = find_kind(workspace, kind)?;
        let hash = workspace.rules_with_pack(&pack.name)?.hash().to_hex()[..16].to_owned();
        rules.insert(pack.name.to_string(), hash);
    }
    Ok(rules)
}

/// One answer with its verdicts. The first try says how well it was known; the last one, or the first that passes, what came of it.
fn answer(prompt: &SuitePrompt, given: &Given, tries: &[Verdict]) -> Answer {
    let none = Verdict::default();
    let first = tries.first().unwrap_or(&none);
    let final_try =
        tries.iter().position(Verdict::passes_with_fixes).unwrap_or(tries.len().saturating_sub(1));
    let last = tries.get(final_try).unwrap_or(&none);
    let mut tokens = Tokens::default();
    let mut milliseconds = 0;
    for asked in &given.tries {
        tokens.input += asked.usage.input_tokens;
        tokens.output += asked.usage.output_tokens;
        milliseconds += u64::try_from(asked.took.as_millis()).unwrap_or(u64::MAX);
    }
    let mut problems = first.problems.clone();
    if let Some(failure) = given.failure.as_ref().filter(|_| tries.is_empty()) {
        problems.push(no_answer(failure));
    }
    Answer {
        prompt: prompt.id.clone(),
        kind: prompt.kind.clone(),
        group: prompt.group,
        seed: given.seed,
        code: last.code.clone().unwrap_or_default(),
        first_try_passed: first.passes(),
        passed_with_fixes: last.passes_with_fixes(),
        problems,
        fixed: last.fixed_rules.clone(),
        retries: u32::try_from(final_try).unwrap_or(u32::MAX),
        tokens,
        milliseconds,
        finish: match (&given.failure, given.tries.last().map(|asked| asked.finish)) {
            (Some(failure), _) => failure.clone(),
            (None, Some(FinishReason::Length)) => "length".to_owned(),
            (None, _) => "stop".to_owned(),
        },
    }
}

fn no_answer(failure: &str) -> grail_flywheel::event::Problem {
    grail_flywheel::event::Problem {
        layer: "answer".to_owned(),
        rule: "no-answer".to_owned(),
        message: failure.to_owned(),
        line: 0,
        hint: None,
    }
}

fn asking(arm: ArmOf<'_>, settings: &EvaluateSettings) -> Asking {
    Asking {
        system_prompt: arm.contender.form.system_prompt.clone(),
        readings: arm.contender.form.readings,
        max_tokens: settings.max_tokens,
        temperature: rounded(settings.temperature),
        retries: settings.retries,
        known_names: true,
    }
}

/// What a float of half the size was meant to be.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}

/// Names what is asked, of whom and how: the same key, the same answers.
fn key(suite: &Suite, arm: ArmOf<'_>, settings: &EvaluateSettings) -> String {
    let asking = serde_json::to_string(&asking(arm, settings)).unwrap_or_default();
    let form = serde_json::to_string(&arm.contender.form).unwrap_or_default();
    let skill = arm.skill.map(|skill| skill.identity().hash).unwrap_or_default();
    let parts = [
        suite.hash.as_str(),
        &arm.contender.model,
        &arm.contender.identity,
        arm.contender.phase.as_deref().unwrap_or_default(),
        &skill,
        &asking,
        &form,
    ];
    blake3::hash(parts.join("\n").as_bytes()).to_hex()[..24].to_owned()
}
