//! Datasets: examples frozen under the hash of what they are, made of events, read by whoever trains.
//!
//! A dataset never changes. What is learned later is another dataset; the same events, imports and settings give the same bytes and the
//! same name. Every reading is verified first.

pub mod build;
pub mod chat;
pub mod export;
mod held_out;
pub mod import;
pub mod manifest;
pub mod review;
pub mod store;

pub use chat::{CHAT_TEMPLATE, ChatForm, MOST_READINGS, Message, SYSTEM_PROMPT};
pub use held_out::{held_out_file, remember_held_out};
pub use manifest::Manifest;
pub use store::{Dataset, Draft, Dropped, Frozen, freeze, list_datasets, open_dataset};
