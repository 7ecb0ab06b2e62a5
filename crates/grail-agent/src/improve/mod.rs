//! What would make answers better, the cheapest first: a fix, another text of the skill, then training.
//!
//! Everything is measured on prompts that nothing was learned from, in two halves: a candidate is proposed from the failures of one and chosen on it,
//! and has to win on the other. A phase has seen neither of them. What does not win is told with what it cost, and left alone.

mod drafts;
mod fixes;
mod texts;
mod training;

use std::sync::Arc;
use std::time::Instant;

use grail_flywheel::comparison::{CompareSettings, Comparison, Difference, compare_with};
use grail_flywheel::evaluation::{Evaluation, Measure};
use grail_flywheel::suite::{Suite, SuitePrompt, shuffled};
use grail_model::{Model, Usage};
use serde::Serialize;

use crate::AgentError;
use crate::compare::Watch;
use crate::evaluate::{Contender, EvaluateSettings, Evaluated, NamedArm, Progress, evaluate_once};
use crate::workspace::Workspace;

pub use self::drafts::FixCandidate;
pub use self::texts::SkillCandidate;
pub use self::training::{Train, train_phase};

/// How improvements are looked for.
pub struct ImproveSettings<'s> {
    pub evaluate: EvaluateSettings,
    /// A model that proposes fixes and texts from failures; without one, templates propose texts.
    pub proposer: Option<&'s dyn Model>,
    /// How many texts are tried for a skill, and how many fixes for a rule.
    pub candidates: usize,
    /// Trains a phase; without it, nothing is trained.
    pub train: Option<&'s Train<'s>>,
}

/// What was found.
#[derive(Serialize)]
pub struct Improvements {
    /// Whoever is to be improved.
    pub arm: String,
    /// The hash of its evaluation.
    pub evaluation: String,
    /// Rules that answers broke and no fix mended, the most first.
    pub failures: Vec<Failing>,
    /// In the order in which they were tried.
    pub levers: Vec<LeverReport>,
    /// Fixes and texts that won, for whoever wants to keep them.
    #[serde(skip)]
    pub fixes: Vec<FixCandidate>,
    #[serde(skip)]
    pub texts: Vec<SkillCandidate>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failing {
    pub rule: String,
    /// How many answers broke it.
    pub answers: u64,
    /// How many of those broke nothing else.
    pub alone: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lever {
    Fix,
    SkillText,
    Training,
}

/// What one lever gained and cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeverReport {
    pub lever: Lever,
    pub what: String,
    /// On the half that it was chosen by; of a phase, which nobody chose, on all prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gained: Option<Difference>,
    /// On the other half, if it came that far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Difference>,
    pub accepted: bool,
    /// None if it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What to do with it.
    pub next: String,
}

/// What it took now. What was answered before costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Answers that were asked for, those of whoever proposes among them.
    pub answers: usize,
    pub output_tokens: u64,
    pub seconds: f64,
}

impl Cost {
    /// One answer of whoever proposes.
    fn add_proposal(&mut self, usage: Usage) {
        self.answers += 1;
        self.output_tokens += usage.output_tokens;
    }

    /// What of an evaluation was asked now.
    fn add_evaluation(&mut self, evaluated: &Evaluated) {
        let Evaluated { evaluation, remembered, remembered_tokens, .. } = evaluated;
        self.answers += evaluation.answers.len().saturating_sub(*remembered);
        self.output_tokens += evaluation.score().output_tokens.saturating_sub(*remembered_tokens);
    }

    /// With the time until now.
    fn since(self, begun: Instant) -> Self {
        Self { seconds: seconds_since(begun), ..self }
    }
}

/// Looks for improvements of a phase or model on a suite.
pub async fn improve(
    workspace: &Workspace,
    suite: &Suite,
    name: &str,
    settings: &ImproveSettings<'_>,
    watch: Watch<'_>,
) -> Result<Improvements, AgentError> {
    let arm = NamedArm::of(workspace, suite, name).await?;
    improve_arm(workspace, suite, &arm, settings, watch).await
}

/// The same for whoever is there already.
pub async fn improve_contender(
    workspace: &Workspace,
    suite: &Suite,
    contender: Contender,
    settings: &ImproveSettings<'_>,
    watch: Watch<'_>,
) -> Result<Improvements, AgentError> {
    let arm = NamedArm { contender: Arc::new(contender), skill: None, control: None };
    improve_arm(workspace, suite, &arm, settings, watch).await
}

async fn improve_arm(
    workspace: &Workspace,
    suite: &Suite,
    arm: &NamedArm,
    settings: &ImproveSettings<'_>,
    watch: Watch<'_>,
) -> Result<Improvements, AgentError> {
    let label = arm.arm().label();
    let told = |progress: Progress| watch(&label, progress);
    let evaluation = evaluate_once(workspace, suite, arm.arm(), &settings.evaluate, &told).await?.evaluation;
    let halves = Halves::of(suite);
    let mut levers = fixes::try_fixes(workspace, suite, &evaluation, &halves)?;
    let (reports, fixes) = drafts::try_drafts(workspace, suite, &evaluation, &halves, settings).await?;
    levers.extend(reports);
    let mut found = Improvements {
        arm: label,
        evaluation: evaluation.hash.clone(),
        failures: failures(&evaluation),
        levers: Vec::new(),
        fixes,
        texts: Vec::new(),
    };
    let (reports, texts) =
        texts::try_texts(workspace, suite, arm, &evaluation, &halves, settings, watch).await?;
    levers.extend(reports);
    levers.push(training::try_training(workspace, suite, settings, watch).await?);
    found.levers = levers;
    found.texts = texts;
    Ok(found)
}

/// The suite in two: one half to choose by, one to confirm with. Kinds and groups are in both as chance has it.
pub(crate) struct Halves {
    pub(crate) choosing: Vec<String>,
    pub(crate) confirming: Vec<String>,
}

impl Halves {
    fn of(suite: &Suite) -> Self {
        let ids = shuffled(suite.prompts.iter().map(|prompt| prompt.id.as_str()), 1);
        let (mut choosing, mut confirming) = (Vec::new(), Vec::new());
        for (number, id) in ids.into_iter().enumerate() {
            if number % 2 == 0 { &mut choosing } else { &mut confirming }.push(id.to_owned());
        }
        Self { choosing, confirming }
    }

    /// What whoever proposes may see: with the other half as well, nothing would be held out.
    fn shown(&self, evaluation: &Evaluation) -> Evaluation {
        answers_to(evaluation, &self.choosing)
    }

    /// Some prompts of the suite, as a suite.
    fn part(suite: &Suite, ids: &[String], is_meant: impl Fn(&SuitePrompt) -> bool) -> Suite {
        let is_in = |prompt: &&SuitePrompt| ids.contains(&prompt.id) && is_meant(prompt);
        let prompts = suite.prompts.iter().filter(is_in).cloned().collect();
        Suite::new(suite.name.clone(), suite.description.clone(), prompts)
    }
}

/// Two evaluations compared on some prompts.
pub(crate) fn compare_on(
    before: &Evaluation,
    after: &Evaluation,
    ids: &[String],
    measure: Measure,
) -> Result<Option<Comparison>, AgentError> {
    let (before, after) = (answers_to(before, ids), answers_to(after, ids));
    if before.answers.is_empty() || after.answers.is_empty() {
        return Ok(None);
    }
    let settings = CompareSettings { measure, examples: 0, ..CompareSettings::default() };
    Ok(Some(compare_with(&before, &after, &settings)?))
}

/// An evaluation with the answers to some prompts only.
fn answers_to(evaluation: &Evaluation, ids: &[String]) -> Evaluation {
    let mut part = evaluation.clone();
    part.answers.retain(|answer| ids.contains(&answer.prompt));
    part
}

/// What answers broke that no fix mended.
fn failures(evaluation: &Evaluation) -> Vec<Failing> {
    let mut failing: Vec<Failing> = Vec::new();
    for answer in evaluation.answers.iter().filter(|answer| !answer.passed_with_fixes) {
        let mut rules: Vec<&str> = answer.problems.iter().map(|problem| problem.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        for rule in &rules {
            let at = match failing.iter().position(|known| known.rule == **rule) {
                Some(at) => at,
                None => {
                    failing.push(Failing { rule: (*rule).to_owned(), answers: 0, alone: 0 });
                    failing.len() - 1
                }
            };
            failing[at].answers += 1;
            failing[at].alone += u64::from(rules.len() == 1);
        }
    }
    failing.sort_by(|one, other| (other.answers, &one.rule).cmp(&(one.answers, &other.rule)));
    failing
}

/// How long something took, to a tenth of a second.
pub(crate) fn seconds_since(begun: Instant) -> f64 {
    (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0
}

/// What stands between the first fence and the last: a text about code has fences of its own.
pub(crate) fn between_fences(answer: &str) -> Option<String> {
    let lines: Vec<&str> = answer.lines().collect();
    let is_fence = |line: &&str| line.starts_with("```");
    let (first, last) = (lines.iter().position(is_fence)?, lines.iter().rposition(is_fence)?);
    let body = lines.get(first + 1..last)?.join("\n");
    (!body.trim().is_empty()).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::between_fences;

    #[test]
    fn a_text_may_have_fences_of_its_own() {
        let answer = "Here:\n```markdown\n# Cards\n```python\nx = 1\n```\nEnd\n```\nBye";
        assert_eq!(between_fences(answer).as_deref(), Some("# Cards\n```python\nx = 1\n```\nEnd"));
        assert_eq!(between_fences("none"), None);
        assert_eq!(between_fences("```\n```"), None);
    }
}
