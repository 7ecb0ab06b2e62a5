//! Codemods: declarative replacements and built-in commands.

pub mod commands;
pub mod precedence;

mod definition;
mod gaps;
mod render;
mod replace;
mod run;
mod template;
mod unsaid;
mod writer;

pub use definition::{Codemod, DefinitionError, Rule};
pub(crate) use replace::replace_matches;
pub use replace::{Replacements, replace_all};
pub use run::{CodemodError, FileOutcome, Transformation, apply_to_file, may_apply};
pub use template::{Template, TemplateError};
