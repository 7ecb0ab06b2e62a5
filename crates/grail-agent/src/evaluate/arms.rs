//! Arms by name: `p3`, `smollm2-135m`, `template`, and any of them with the text of the skills, as `template+skill`.

use std::sync::Arc;

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
    /// Several arms may share one: a model is started once.
    pub contender: Arc<Contender>,
    pub skill: Option<SkillTexts>,
    pub control: Option<Control>,
}

impl NamedArm {
    /// The arm of this name, for a suite: of its kinds the skills are told.
    pub async fn of(workspace: &Workspace, suite: &Suite, name: &str) -> Result<Self, AgentError> {
        let contender = Contender::named(workspace, without_skill(name)).await?;
        Self::with(workspace, suite, name, Arc::new(contender))
    }

    /// Two arms; of the same model, if they are.
    pub async fn pair(
        workspace: &Workspace,
        suite: &Suite,
        names: [&str; 2],
    ) -> Result<[Self; 2], AgentError> {
        let [before, after] = names;
        let first = Self::of(workspace, suite, before).await?;
        let second = match without_skill(before) == without_skill(after) {
            true => Self::with(workspace, suite, after, Arc::clone(&first.contender))?,
            false => Self::of(workspace, suite, after).await?,
        };
        Ok([first, second])
    }

    fn with(
        workspace: &Workspace,
        suite: &Suite,
        name: &str,
        contender: Arc<Contender>,
    ) -> Result<Self, AgentError> {
        let with_skill = name.ends_with(WITH_SKILL);
        let control = match (&contender.phase, with_skill) {
            (Some(_), _) => None,
            (None, false) => Some(Control::Base),
            (None, true) => Some(Control::BaseWithSkill),
        };
        let skill = match with_skill {
            true => Some(SkillTexts::of_kinds(workspace, &suite.kinds())?),
            false => None,
        };
        Ok(Self { contender, skill, control })
    }

    pub fn arm(&self) -> ArmOf<'_> {
        ArmOf { control: self.control, ..ArmOf::told(&self.contender, self.skill.as_ref()) }
    }
}

fn without_skill(name: &str) -> &str {
    name.strip_suffix(WITH_SKILL).unwrap_or(name)
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
    let controls = ArmOf::controls(of_base, &texts);
    arms.extend(controls.into_iter().filter(|control| control.control != asked.control));
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

impl<'a> ArmOf<'a> {
    /// A contender that is told this.
    pub fn told(contender: &'a Contender, skill: Option<&'a SkillTexts>) -> Self {
        Self { contender, skill, control: None, label: None }
    }

    /// The base without a skill, and with the text of the skills.
    pub fn controls(base: &'a Contender, texts: &'a SkillTexts) -> [Self; 2] {
        [
            Self { control: Some(Control::Base), ..Self::told(base, None) },
            Self { control: Some(Control::BaseWithSkill), ..Self::told(base, Some(texts)) },
        ]
    }

    /// What reports call the arm.
    pub fn label(&self) -> String {
        match (self.label, self.skill) {
            (Some(label), _) => label.to_owned(),
            (None, Some(_)) => format!("{} with the skill", self.contender.name),
            (None, None) => self.contender.name.clone(),
        }
    }
}
