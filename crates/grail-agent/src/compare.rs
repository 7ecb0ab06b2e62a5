//! Two arms on the same prompts and seeds: phases, models, skills with and without, old text and new.
//!
//! Both are asked as in an evaluation. In the sequential mode prompts are asked in an order that has nothing to do with them, some at a time,
//! until the difference is decided beyond doubt or there is none left; looking in between costs nothing, because the test allows it.

use grail_flywheel::comparison::{CompareSettings, Comparison, compare_with};
use grail_flywheel::evaluation::{Answer, Evaluation};
use grail_flywheel::statistics::{Decision, SequentialTest};
use grail_flywheel::suite::{Suite, SuitePrompt, shuffled};

use crate::AgentError;
use crate::evaluate::{ArmOf, EvaluateSettings, Evaluated, Progress, Run, evaluate_once};
use crate::workspace::Workspace;

/// How many prompts are asked before the next look.
const PROMPTS_AT_ONCE: usize = 8;

/// How two arms are compared.
#[derive(Clone, Debug, Default)]
pub struct CompareArms {
    pub evaluate: EvaluateSettings,
    pub compare: CompareSettings,
    /// Whether asking stops as soon as the difference is decided.
    pub sequential: bool,
}

/// What came of it.
pub struct Compared {
    pub comparison: Comparison,
    pub before: Evaluated,
    pub after: Evaluated,
    /// Whether every prompt was asked.
    pub is_whole: bool,
}

/// Told who is asked, and how far that is.
pub type Watch<'w> = &'w (dyn Fn(&str, Progress) + Sync);

/// Asks both arms and compares them.
pub async fn compare_arms(
    workspace: &Workspace,
    suite: &Suite,
    [before, after]: [ArmOf<'_>; 2],
    settings: &CompareArms,
    watch: Watch<'_>,
) -> Result<Compared, AgentError> {
    if !settings.sequential {
        // What was evaluated before is neither asked nor judged again.
        let evaluate = async |arm: ArmOf<'_>| {
            let name = arm.label();
            let told = |progress: Progress| watch(&name, progress);
            evaluate_once(workspace, suite, arm, &settings.evaluate, &told).await
        };
        let (before, after) = (evaluate(before).await?, evaluate(after).await?);
        let comparison = compare_with(&before.evaluation, &after.evaluation, &settings.compare)?;
        return Ok(Compared { comparison, before, after, is_whole: true });
    }
    let mut runs = [
        Run::start(workspace, suite, before, &settings.evaluate)?,
        Run::start(workspace, suite, after, &settings.evaluate)?,
    ];
    let names = [before.label(), after.label()];
    let ids = shuffled(suite.prompts.iter().map(|prompt| prompt.id.as_str()), settings.compare.seed);
    let order: Vec<&SuitePrompt> = ids.into_iter().filter_map(|id| suite.get(id)).collect();
    let mut test = SequentialTest::new(settings.compare.confidence);
    let mut asked = 0;
    while asked < order.len() && test.decision() == Decision::Undecided {
        let next = &order[asked..order.len().min(asked + PROMPTS_AT_ONCE)];
        for (run, name) in runs.iter_mut().zip(&names) {
            run.ask(next, &|progress| watch(name, progress)).await?;
        }
        asked += next.len();
        let [before, after] = [runs[0].judge(next)?, runs[1].judge(next)?];
        for prompt in next {
            let mean = |evaluated: &Evaluated| {
                mean_of(&evaluated.evaluation.answers, &prompt.id, |answer| {
                    answer.passed(settings.compare.measure)
                })
            };
            test.push(mean(&after) - mean(&before));
        }
    }
    let [before, after] = runs;
    let prompts = &order[..asked];
    let (before, after) = (before.finish(prompts)?, after.finish(prompts)?);
    let mut comparison = compare_with(&before.evaluation, &after.evaluation, &settings.compare)?;
    comparison.sequential = test.verdict();
    Ok(Compared { comparison, before, after, is_whole: asked == order.len() })
}

fn mean_of(answers: &[Answer], prompt: &str, passed: impl Fn(&Answer) -> bool) -> f64 {
    let of_prompt: Vec<bool> = answers.iter().filter(|answer| answer.prompt == prompt).map(passed).collect();
    let count = of_prompt.iter().filter(|passed| **passed).count();
    if of_prompt.is_empty() { 0.0 } else { count as f64 / of_prompt.len() as f64 }
}

impl Compared {
    /// Both evaluations, before and after.
    pub fn evaluations(&self) -> [&Evaluation; 2] {
        [&self.before.evaluation, &self.after.evaluation]
    }
}
