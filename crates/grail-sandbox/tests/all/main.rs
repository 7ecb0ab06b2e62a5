//! Behaviour of the sandbox at its public border, with real workers.

// Clippy's exemption for tests does not reach functions beside them.
#![allow(clippy::unwrap_used)]

mod approvals;
mod builtins;
mod conformance;
mod context;
mod files;
mod fuzz;
mod hostile;
#[cfg(feature = "in-process")]
mod in_process;
mod limits;
mod observe;
mod policy;
mod policy_runs;
mod pool;
mod promises;
mod schema;
mod schema_properties;
mod signature;
mod snapshots;
mod soak;
mod stub;
mod stub_checks;
mod support;
mod tools;
mod worker;
