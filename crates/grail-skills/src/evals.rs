//! How good a skill is: tasks to try it on (`evals/evals.json`), and what trying them came to (`evals/benchmark.json`).
//!
//! Both are read and checked here. Running the tasks needs a model, and is not this crate's business.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::SkillProblem;
use crate::skill::is_inside;

pub const EVALS_FILE: &str = "evals/evals.json";
pub const BENCHMARK_FILE: &str = "evals/benchmark.json";

/// More tasks than anybody runs.
const MAX_EVALS: usize = 1_000;

/// The tasks of one skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evals {
    pub skill_name: String,
    pub evals: Vec<Eval>,
}

/// One task: what is asked, and what must hold for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eval {
    pub id: u64,
    #[serde(default)]
    pub kind: EvalKind,
    pub prompt: String,
    /// What a good answer is, for whoever judges.
    #[serde(default)]
    pub expected_output: String,
    /// Files the task starts from, below the skill's folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What must hold, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<String>,
}

/// What a task tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvalKind {
    /// Whether the answer is better with the skill.
    #[default]
    Task,
    /// Whether the skill is loaded when it should be.
    Trigger,
    /// Whether it is left alone when it should be.
    NoTrigger,
}

/// The same tasks with and without the skill, compared in pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    pub model: String,
    /// Pairs of runs.
    pub n: u64,
    /// Mean share of what passed, from 0 to 1.
    pub with_skill: f64,
    pub without_skill: f64,
    /// The mean of the pairs' differences.
    pub difference: f64,
    /// Where the difference lies with this confidence.
    pub interval: [f64; 2],
    #[serde(default = "default_confidence")]
    pub confidence: f64,
    /// When it was measured, in the words of whoever did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

fn default_confidence() -> f64 {
    0.95
}

impl Evals {
    /// Reads and checks `evals.json`. `path` is for messages.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SkillProblem> {
        let evals: Self = serde_json::from_slice(bytes).map_err(|error| json_problem(path, &error))?;
        let problem = |message: String| Err(SkillProblem::new(path, 0, message));
        if evals.evals.is_empty() {
            return problem("there are no evals".to_owned());
        }
        if evals.evals.len() > MAX_EVALS {
            return problem(format!("there are more than {MAX_EVALS} evals"));
        }
        let mut ids = BTreeSet::new();
        for eval in &evals.evals {
            let id = eval.id;
            if !ids.insert(id) {
                return problem(format!("two evals have the id `{id}`"));
            }
            if eval.prompt.trim().is_empty() {
                return problem(format!("the eval `{id}` has no prompt"));
            }
            if eval.kind == EvalKind::Task && eval.assertions.is_empty() {
                let problem = SkillProblem::new(path, 0, format!("the eval `{id}` checks nothing"));
                return Err(problem.hint("say under `assertions` what must hold for the answer"));
            }
            if eval.assertions.iter().any(|assertion| assertion.trim().is_empty()) {
                return problem(format!("the eval `{id}` has an empty assertion"));
            }
            if let Some(file) = eval.files.iter().find(|file| !is_inside(file)) {
                return problem(format!("the eval `{id}` wants `{file}`, which is not below the folder"));
            }
        }
        Ok(evals)
    }
}

impl Benchmark {
    /// Reads and checks `benchmark.json`: figures that contradict each other are worth nothing.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SkillProblem> {
        let benchmark: Self = serde_json::from_slice(bytes).map_err(|error| json_problem(path, &error))?;
        match benchmark.mistake() {
            Some(message) => Err(SkillProblem::new(path, 0, message)),
            None => Ok(benchmark),
        }
    }

    /// Is the skill a gain, beyond what chance explains?
    pub fn is_gain(&self) -> bool {
        self.interval[0] > 0.0
    }

    /// `+16 points [9, 23], model X, 25 pairs`.
    pub fn summary(&self) -> String {
        let points = |share: f64| {
            let points = (share * 100.0).round();
            // Nobody wants to read `-0`.
            if points == 0.0 { 0.0 } else { points }
        };
        let [low, high] = self.interval.map(points);
        let (difference, model) = (points(self.difference), &self.model);
        let pairs = if self.n == 1 { "1 pair".to_owned() } else { format!("{} pairs", self.n) };
        format!("{difference:+} points [{low}, {high}], model {model}, {pairs}")
    }

    fn mistake(&self) -> Option<String> {
        let Self { with_skill, without_skill, difference, interval: [low, high], confidence, .. } = self;
        if self.model.trim().is_empty() {
            return Some("`model` is empty".to_owned());
        }
        if self.n == 0 {
            return Some("`n` is 0: nothing was measured".to_owned());
        }
        for (name, share) in [("with_skill", with_skill), ("without_skill", without_skill)] {
            if !(0.0..=1.0).contains(share) {
                return Some(format!("`{name}` is `{share}`, not a share from 0 to 1"));
            }
        }
        if !(*confidence > 0.0 && *confidence < 1.0) {
            return Some(format!("`confidence` is `{confidence}`, not between 0 and 1"));
        }
        if !(low <= difference && difference <= high && *low >= -1.0 && *high <= 1.0) {
            return Some(format!("`difference` is `{difference}`, which is not inside `[{low}, {high}]`"));
        }
        if (with_skill - without_skill - difference).abs() > 0.011 {
            let message =
                format!("`difference` is `{difference}`, but {with_skill} − {without_skill} is not");
            return Some(message);
        }
        None
    }
}

fn json_problem(path: &Path, error: &serde_json::Error) -> SkillProblem {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    SkillProblem::new(path, error.line(), message)
}
