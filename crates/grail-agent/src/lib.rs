//! From a sentence to an approved change.
//!
//! A [`Workspace`] holds what the work is done with; whatever is written goes into its [`Staging`]. [`check_artifact`] takes code through
//! the layers. A [`Dialogue`] is the loop between a model and its tools. What comes out is a [`Proposal`], which a person approves.
//! Every step is an event of the [`Session`].

mod abilities;
pub mod answer;
pub mod artifact;
mod clock;
pub mod code_mode;
pub mod compare;
mod dialogue;
pub mod embedder;
mod error;
pub mod evaluate;
pub mod feature;
mod first_line;
pub mod generate;
pub mod improve;
pub mod learn;
mod listing;
pub mod model_tools;
pub mod models;
mod naming;
pub mod promotion;
pub mod prompt;
mod proposal;
pub mod report;
pub mod review;
pub mod rule_draft;
mod session;
mod shadow;
pub mod skill_generator;
pub mod spelling;
mod staging;
pub mod style;
mod subject;
mod templates;
pub mod tools;
pub mod training;
mod workspace;
pub mod written_tool;

pub use artifact::{
    ArtifactCode, ArtifactReport, ArtifactSettings, Making, check_artifact, record_generation,
};
pub use clock::{Clock, StoppedClock, SystemClock};
pub use code_mode::CodeMode;
pub use dialogue::{
    Approver, Called, Dialogue, DialogueLimits, Mode, NobodyApproves, Notice, Prices, Turn, definition,
    record_call,
};
pub use error::AgentError;
pub use proposal::{
    FileChecks, ModelIdentity, Proposal, ProposalState, ProposalStore, ProposedFile, ReviewFinding,
    RulesIdentity, StagedWork, propose_staged,
};
pub use session::Session;
pub use shadow::{Shadow, ShadowFiles};
pub use staging::{Staging, clean_path};
pub use templates::{kind_words, template_model};
pub use workspace::{Surroundings, Workspace};
