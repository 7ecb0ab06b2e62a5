//! Which skill does what is asked: `send an email` finds the skill that mails messages.
//!
//! [`SearchIndex`] keeps in step with the skills and answers queries. A [`Hit`] has a score between 0 and 1: the chance that the skill does what was
//! asked, as fitted on pairs labelled by hand; from [`SAME`] on it is taken to be the same thing. Words are compared as they are (BM25) and by meaning
//! (an [`Embedder`]). The one that is always there, [`WordEmbedder`], is a table of words in the program: no file, no network.

mod calibration;
mod comparison;
mod embedder;
mod index;
mod intents;
mod opposites;
mod store;
mod vocabulary;
mod words;

pub use calibration::{Calibration, SAME, fitted_for_words};
pub use embedder::{Embedder, WordEmbedder};
pub use index::{Hit, SearchIndex, Update};
pub use intents::{Half, Mistake, Report, calibrate, cross_validate, describe_calibration, evaluate};
