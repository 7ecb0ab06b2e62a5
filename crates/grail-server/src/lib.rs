//! Grail for other programs: agents that speak the Model Context Protocol, and hosts that send envelopes.
//!
//! Both are adapters over one [`grail_agent::Workspace`]. Whatever a call wants to change becomes a proposal; it touches the project only
//! when somebody approved it. Lines that come in are hostile: bounded, and answered with an error where they make no sense.

mod error;
pub mod feedback;
pub mod host;
pub mod mcp;
mod proposals;
mod watched;

pub use error::ServerError;
pub use proposals::ProposalNote;
pub use watched::WatchedEvents;
