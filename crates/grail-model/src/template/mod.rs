//! The model that needs nothing: it fills the templates of artifact kinds from what it finds in a sentence.
//!
//! ```text
//!           words, kinds        wish, correction              fill
//! sentence ─────────────▶ kind ─────────────────▶ Wish ─────────────────▶ code
//!                                name, fields,           template of the kind,
//!                                action, path            what the project uses
//! ```
//!
//! Nothing here is learnt or drawn by lot, and nothing is read from disk: whoever asks brings the templates.

mod address;
mod correction;
mod field;
mod fill;
mod kinds;
mod model;
mod name;
mod subject;
mod wish;
mod words;

pub use address::{Address, Method};
pub use field::{Field, FieldType};
pub use fill::{Filled, Surroundings};
pub use kinds::{KindGuess, KindWords, guess_kind};
pub use model::{TEMPLATE_MODEL, TemplateModel};
pub use name::Name;
pub use subject::{Subject, SubjectMethod, SubjectParameter};
pub use wish::Wish;

/// The template of one artifact kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    pub words: KindWords,
    /// The name of its file, for messages.
    pub file: String,
    /// Jinja, with the names and functions that `docs/guides/templates.md` lists.
    pub source: String,
}
