//! A rule from a sentence: drafted, proved by its own examples, then a proposal.
//!
//! A rule that does not find its bad examples, or finds something in its good ones, is never proposed. A model writes it with tools; without a
//! model, sentences of a few shapes are understood, and all others are an error that names these shapes.

mod conversation;
mod phrases;
mod sentence;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use grail_flywheel::EventKind;
use grail_flywheel::event::ProposalDecision;
use grail_model::Model;
use grail_rules::{Origin, Pack, PythonRules, RuleProblem, SKILLS_FOLDER, test_rule};
use grail_skills::check_skill_name;

use crate::AgentError;
use crate::generate::{Company, check_intent};
use crate::proposal::{Making, Proposal, ProposedFile};
use crate::workspace::Workspace;

pub use sentence::SHAPES;

/// The skill for rules of a project that name no other.
pub const DEFAULT_SKILL: &str = "project-rules";
const PACK_FILE: &str = "rules/pack.toml";
const SKILL_FILE: &str = "SKILL.md";

/// Who drafts the rule.
#[derive(Clone, Copy)]
pub enum RuleWriter<'w> {
    /// Sentences of the shapes in [`SHAPES`].
    Template,
    Model {
        model: &'w dyn Model,
        /// The name in the settings.
        name: &'w str,
    },
}

/// The files of one rule, as they would be in the skill's folder: `rules/<id>.md`, perhaps `rules/<id>.py` and `rules/pack.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleFiles {
    pub(crate) id: String,
    pub(crate) files: BTreeMap<String, String>,
}

/// Drafts a rule and proposes it. Nothing is written; the proposal is not saved either.
pub async fn draft_rule(
    workspace: &Arc<Workspace>,
    writer: RuleWriter<'_>,
    sentence: &str,
    skill: Option<&str>,
    company: Company<'_>,
) -> Result<Proposal, AgentError> {
    let sentence = check_intent(sentence)?;
    let skill = skill.unwrap_or(DEFAULT_SKILL);
    if let Some(message) = check_skill_name(skill) {
        return Err(AgentError::Other { message, hint: Some("such as `shop-rules`".to_owned()) });
    }
    let name = match writer {
        RuleWriter::Template => "template",
        RuleWriter::Model { name, .. } => name,
    };
    workspace.session.emit_intent(sentence, Some("rule"), name);
    let drafted = match writer {
        RuleWriter::Template => from_sentence(workspace, skill, sentence),
        RuleWriter::Model { model, .. } => {
            conversation::write_rule(workspace, model, skill, sentence, company).await
        }
    };
    let result = drafted.and_then(|(rule, making)| proposal(workspace, skill, &rule, sentence, name, making));
    match &result {
        Ok(proposal) => workspace.session.emit_proposal(proposal, ProposalDecision::Made, None),
        Err(error) => drop(workspace.session.emit(EventKind::Failed { reason: error.to_string() })),
    }
    result
}

fn from_sentence(
    workspace: &Workspace,
    skill: &str,
    sentence: &str,
) -> Result<(RuleFiles, Making), AgentError> {
    let existing = pack_text(workspace, skill)?;
    let rule = sentence::understand(sentence, existing.as_deref())?;
    match prove(workspace, skill, &rule) {
        Ok(_) => Ok((rule, Making::default())),
        Err(reason) => Err(AgentError::NotAchieved { reason }),
    }
}

/// Reads the rule as part of its pack and runs its examples. The number of examples, or what is wrong, line by line.
pub(crate) fn prove(workspace: &Workspace, skill: &str, rule: &RuleFiles) -> Result<usize, String> {
    let mut files = rule.files.clone();
    if !files.contains_key(PACK_FILE)
        && let Ok(Some(text)) = pack_text(workspace, skill)
    {
        files.insert(PACK_FILE.to_owned(), text);
    }
    let pack = Pack::read(skill, Origin::Project, Path::new(""), &files).ok_or("there is no rule")?;
    if let Some(problem) = pack.problems.first() {
        return Err(told(problem));
    }
    let rule = pack.rules.iter().find(|one| *one.id == *rule.id).ok_or("there is no rule")?;
    let python = workspace.python_rules() as &dyn PythonRules;
    let report = test_rule(&Arc::clone(rule), &pack.kinds, Some(python));
    match report.passed() {
        true => Ok(report.examples),
        false => {
            let lines: Vec<String> = report
                .failures
                .iter()
                .take(10)
                .map(|failure| format!("rules/{}.md:{}: {}", report.rule, failure.line, failure.message))
                .collect();
            Err(lines.join("\n"))
        }
    }
}

fn told(problem: &RuleProblem) -> String {
    match &problem.hint {
        Some(hint) => format!("{problem}; hint: {hint}"),
        None => problem.to_string(),
    }
}

/// The `pack.toml` that the skill has, if it has one.
fn pack_text(workspace: &Workspace, skill: &str) -> Result<Option<String>, AgentError> {
    workspace.staging.read_from_disk(&place(skill, PACK_FILE))
}

fn place(skill: &str, path: &str) -> String {
    format!("{SKILLS_FOLDER}/{skill}/{path}")
}

fn proposal(
    workspace: &Workspace,
    skill: &str,
    rule: &RuleFiles,
    sentence: &str,
    model: &str,
    making: Making,
) -> Result<Proposal, AgentError> {
    let mut files = rule.files.clone();
    let rule_path = place(skill, &format!("rules/{}.md", rule.id));
    if workspace.staging.read_from_disk(&rule_path)?.is_some() {
        return Err(AgentError::Exists { path: rule_path });
    }
    if workspace.staging.read_from_disk(&place(skill, SKILL_FILE))?.is_none() {
        files.insert(SKILL_FILE.to_owned(), skill_text(skill));
    }
    let examples = prove(workspace, skill, rule).map_err(|reason| AgentError::NotAchieved { reason })?;
    let mut proposed = Vec::new();
    for (path, text) in files {
        let path = place(skill, &path);
        let before = workspace.staging.read_from_disk(&path)?;
        if before.as_deref() != Some(text.as_str()) {
            proposed.push(ProposedFile { path, before, after: Some(text) });
        }
    }
    let summary = format!("the rule `{}` of the skill `{skill}`: its {examples} examples hold", rule.id);
    let making = Making { summary, ..making };
    Proposal::of_files(workspace, "rule", sentence, model, proposed, making)
}

fn skill_text(skill: &str) -> String {
    let title = skill.replace('-', " ");
    format!(
        "---\nname: {skill}\ndescription: Rules of this project that were written down as they came up. Use when writing or changing its Python code.\n\
         ---\n\n# {title}\n\nThe rules are in `rules/`, each with why it holds and examples. `grail check` finds what breaks them.\n"
    )
}
