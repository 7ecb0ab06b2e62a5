//! Runnable skills: a folder with a manifest and a script that answers JSON-RPC 2.0 requests, one per line, on its standard streams.

pub mod capabilities;
mod manifest;
pub mod protocol;

pub use capabilities::Capability;
pub use manifest::{Credential, MANIFEST_FILE, Manifest, is_skill_id};
