//! Domain rules: what is right in *this* project, written once and used as a check, a fix, a message to a model and a label.
//!
//! A [`Pack`] is the `rules/` folder of a skill. Its rules are Markdown files that document, define and test themselves. A [`RuleSet`] is
//! the rules that are in force, compiled; it turns parsed files into [`Finding`]s. This crate returns data; all it writes is its cache.

mod bounded;
mod built_in;
mod cache;
mod check;
mod error;
mod file;
mod finding;
mod fixing;
mod kind;
pub mod layers;
pub mod libraries;
mod library;
mod pack;
mod project_check;
mod python;
mod reference;
mod rule;
mod ruleset;
mod selection;
mod slice;
mod spec;
mod suppression;
pub mod tools;

pub use built_in::BuiltInSkill;
pub use check::{Checker, FileCheck, PythonRules};
pub use error::{RuleProblem, RulesError};
pub use file::FileUnderCheck;
pub use finding::{Finding, Fix, Layer, Safety, Severity};
pub use fixing::{FixProblem, Fixed, MAX_ROUNDS, fix_text};
pub use kind::{Artifact, ArtifactKind};
pub use library::{Library, SKILLS_FOLDER, Shadowed};
pub use pack::{Origin, Pack};
pub use project_check::{CheckReport, ProjectCheck};
pub use python::{ProjectUnderCheck, SandboxedRules, ScriptRunner, Transform, TransformError};
pub use reference::rule_reference;
pub use rule::{
    CompiledRule, Example, ExampleFile, Expectation, Options, ProjectQuery, PythonRule, Requirement, Rule,
};
pub use ruleset::{FileReport, RuleSet, RuleSetBuilder, SYNTAX_ERROR, syntax_findings};
pub use selection::{ALL, Selection, Usage, options_of};
pub use spec::{SpecFailure, SpecReport, test_rule};
pub use suppression::{INVALID_SUPPRESSION, Suppressions, UNUSED_SUPPRESSION};
