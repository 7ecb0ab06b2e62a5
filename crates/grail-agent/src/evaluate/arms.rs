//! Arms by name: `p3`, `smollm2-135m`, `template`, and any of them with the text of the skills, as `template+skill`.

use grail_flywheel::evaluation::{Control, Evaluation};
use grail_flywheel::phase::Phases;
use grail_flywheel::suite::Suite;

use super::{ArmOf, Contender, EvaluateSettings, Progress, SkillTexts, evaluate_once};
use crate::AgentError;
use crate::compare::Watch;
use crate::workspace::Workspace;

/// Behind the name of a model that is told the text of the skills.
pub const WITH_SKILL: &str = "+skill";

/// Who is asked, and what it is told.
pub struct NamedArm {
    pub contender: Contender,
    pub skill: Option<SkillTexts>,
    pub control: Option<Control>,
}

impl NamedArm {
    /// The arm of this name, for a suite: of its kinds the skills are told.
    pub async fn of(workspace: &Workspace, suite: &Suite, name: &str) -> Result<Self, AgentError> {
        let (model, with_skill) = match name.strip_suffix(WITH_SKILL) {
            Some(model) => (model, true),
            None => (name, false),
        };
        let mut contender = Contender::named(workspace, model).await?;
        let control = match (&contender.phase, with_skill) {
            (Some(_), _) => None,
            (None, false) => Some(Control::Base),
            (None, true) => Some(Control::BaseWithSkill),
        };
        let skill = match with_skill {
            true => Some(SkillTexts::of_kinds(workspace, &suite.kinds())?),
            false => None,
        };
        if with_skill {
            contender.name = format!("{} with the skill", contender.name);
        }
        Ok(Self { contender, skill, control })
    }

    pub fn arm(&self) -> ArmOf<'_> {
        ArmOf { contender: &self.contender, skill: self.skill.as_ref(), control: self.control }
    }
}

/// Several arms on one suite.
pub struct ManyEvaluated {
    /// The one that was asked for, then its controls.
    pub evaluations: Vec<Evaluation>,
    /// What did not run, and why.
    pub notes: Vec<String>,
    /// How many answers were there already.
    pub remembered: usize,
}

/// Evaluates a phase or a model, and the controls that say what its numbers are worth: the base without a skill, and with its text.
pub async fn evaluate_with_controls(
    workspace: &Workspace,
    suite: &Suite,
    name: &str,
    settings: &EvaluateSettings,
    watch: Watch<'_>,
) -> Result<ManyEvaluated, AgentError> {
    let asked = NamedArm::of(workspace, suite, name).await?;
    let texts = SkillTexts::of_kinds(workspace, &suite.kinds())?;
    let base = match &asked.contender.phase {
        Some(phase) => Some(Contender::base_of(workspace, &Phases::new(&workspace.project.root).get(phase)?)),
        None => None,
    };
    let of_base = base.as_ref().unwrap_or(&asked.contender);
    let mut arms = vec![asked.arm()];
    if asked.control != Some(Control::Base) {
        arms.push(ArmOf { contender: of_base, skill: None, control: Some(Control::Base) });
    }
    if asked.control != Some(Control::BaseWithSkill) {
        arms.push(ArmOf { contender: of_base, skill: Some(&texts), control: Some(Control::BaseWithSkill) });
    }
    let mut many = ManyEvaluated { evaluations: Vec::new(), notes: Vec::new(), remembered: 0 };
    for arm in arms {
        let label = arm.label();
        let told = |progress: Progress| watch(&label, progress);
        let evaluated = evaluate_once(workspace, suite, arm, settings, &told).await?;
        many.evaluations.push(evaluated.evaluation);
        many.notes.extend(evaluated.notes);
        many.remembered += evaluated.remembered;
    }
    many.notes.sort();
    many.notes.dedup();
    Ok(many)
}

impl ArmOf<'_> {
    /// What reports call the arm.
    pub fn label(&self) -> String {
        let name = &self.contender.name;
        match self.control {
            Some(Control::BaseWithSkill) if !name.ends_with("with the skill") => {
                format!("{name} with the skill")
            }
            _ => name.clone(),
        }
    }
}
