//! Whether a phase may answer from now on: everything the gate wants to see is evaluated, compared and weighed.
//!
//! The gate itself is in the flywheel and knows only numbers and hashes. Here is what gets them: the phase, whoever answers now, and the two
//! controls, on the same suite with the same seeds. What was evaluated before is not asked again.

use grail_flywheel::comparison::{Comparison, compare};
use grail_flywheel::evaluation::Evaluation;
use grail_flywheel::gate::{Case, Margins, Verdict, decide, lineage_of};
use grail_flywheel::phase::{Current, Phase, Phases, Why};
use grail_flywheel::suite::Suite;

use crate::AgentError;
use crate::compare::Watch;
use crate::evaluate::{ArmOf, Contender, EvaluateSettings, Progress, SkillTexts, evaluate_once, of_phase};
use crate::workspace::Workspace;

/// A phase on the scales.
pub struct Weighed {
    pub phase: Phase,
    pub verdict: Verdict,
    /// Whoever answers now, and the phase.
    pub comparison: Comparison,
    pub current: Evaluation,
    pub candidate: Evaluation,
    /// The base, and the base with the text of the skills.
    pub controls: Vec<Evaluation>,
    /// What did not run, and why.
    pub notes: Vec<String>,
}

/// How a phase is weighed.
#[derive(Clone, Debug, Default)]
pub struct WeighSettings {
    pub evaluate: EvaluateSettings,
    pub margins: Margins,
}

impl WeighSettings {
    /// As the project's settings have it.
    pub fn of(workspace: &Workspace) -> Self {
        let learn = &workspace.project.config.learn;
        Self {
            evaluate: EvaluateSettings::with_seeds(learn.seeds),
            margins: Margins { kind_loss: learn.margin / 100.0, ..Margins::default() },
        }
    }
}

/// Who is weighed against whom.
pub struct Scales {
    pub candidate: Contender,
    /// What the phase was before training.
    pub base: Contender,
    /// Whoever answers now; without one, the base.
    pub current: Option<Contender>,
}

impl Scales {
    /// A phase, its base, and the phase that answers now.
    pub fn of(workspace: &Workspace, phase: &Phase) -> Result<Self, AgentError> {
        let phases = Phases::new(&workspace.project.root);
        let candidate = Contender::of_phase(workspace, phase)?;
        let mut current = match phases.current()?.phase.filter(|current| *current != phase.id) {
            Some(current) => Some(Contender::of_phase(workspace, &phases.get(&current)?)?),
            None => None,
        };
        if let Some(current) = &mut current {
            // Both are asked alike, or nothing could be compared.
            current.form.clone_from(&candidate.form);
        }
        Ok(Self { candidate, base: Contender::base_of(workspace, phase), current })
    }
}

/// Evaluates what is missing and lets the gate decide. Nothing changes.
pub async fn weigh(
    workspace: &Workspace,
    suite: &Suite,
    phase: &Phase,
    scales: &Scales,
    settings: &WeighSettings,
    watch: Watch<'_>,
) -> Result<Weighed, AgentError> {
    let root = &workspace.project.root;
    let Scales { candidate, base, current } = scales;
    let texts = SkillTexts::of_kinds(workspace, &suite.kinds())?;
    let mut notes = Vec::new();
    let mut evaluate = async |arm: ArmOf<'_>| {
        let label = arm.label();
        let told = |progress: Progress| watch(&label, progress);
        let evaluated = evaluate_once(workspace, suite, arm, &settings.evaluate, &told).await?;
        notes.extend(evaluated.notes);
        Ok::<Evaluation, AgentError>(evaluated.evaluation)
    };
    let candidate_arm = ArmOf::told(candidate, None);
    // What was measured for this phase counts, whoever answered: the gate says whether that was the phase.
    let candidate = match of_phase(workspace, suite, candidate_arm, &settings.evaluate)? {
        Some(known) => known,
        None => evaluate(candidate_arm).await?,
    };
    let mut controls = Vec::new();
    for control in ArmOf::controls(base, &texts) {
        controls.push(evaluate(control).await?);
    }
    let current = match current {
        Some(current) => evaluate(ArmOf::told(current, None)).await?,
        None => controls[0].clone(),
    };
    let comparison = compare(&current, &candidate)?;
    let lineage = lineage_of(root, phase, suite);
    let case = Case {
        suite,
        phase,
        current: &current,
        candidate: &candidate,
        comparison: &comparison,
        controls: &controls,
        lineage: &lineage,
        served: None,
    };
    let verdict = decide(&case, &settings.margins);
    notes.sort();
    notes.dedup();
    Ok(Weighed { phase: phase.clone(), verdict, comparison, current, candidate, controls, notes })
}

impl Weighed {
    /// Lets the phase answer, if the gate or somebody who insists says so.
    pub fn promote(&self, workspace: &Workspace, force: bool) -> Result<Current, AgentError> {
        let reasons: Vec<String> = match self.verdict.promote {
            true => vec![win(&self.comparison)],
            false => self.verdict.refusals.iter().map(ToString::to_string).collect(),
        };
        if !self.verdict.promote && !force {
            return Err(AgentError::Other {
                message: format!("the gate refuses `{}`: {}", self.phase.id, reasons.join("; ")),
                hint: Some("`--force` promotes it all the same, and that is recorded".to_owned()),
            });
        }
        let why = Why {
            forced: !self.verdict.promote,
            reasons,
            evaluations: vec![self.current.hash.clone(), self.candidate.hash.clone()],
        };
        Ok(Phases::new(&workspace.project.root).promote(&self.phase.id, why)?)
    }
}

/// Why a phase may answer, in a line.
pub fn win(comparison: &Comparison) -> String {
    format!("it wins {}", gained(comparison))
}

/// What is gained or lost, in a few words.
pub fn gained(comparison: &Comparison) -> String {
    let points = |share: f64| (share * 1000.0).round() / 10.0;
    let difference = &comparison.difference;
    format!(
        "{:+} points [{}, {}] on {} prompts",
        points(difference.estimate),
        points(difference.interval.low),
        points(difference.interval.high),
        comparison.prompts
    )
}
