//! Domain rules: what is right in *this* project, written once and used as a check, a fix, a message to a model and a label.
//!
//! A [`Pack`] is the `rules/` folder of a skill. Its rules are Markdown files that document, define and test themselves. A [`RuleSet`] is
//! the rules that are in force, compiled; it turns parsed files into [`Finding`]s. This crate returns data and writes nothing.

mod error;
mod finding;

pub use error::{RuleProblem, RulesError};
pub use finding::{Finding, Fix, Layer, Safety, Severity};
