//! The specification of `grail-code`, one topic a module.

mod hostile;
mod semantic;
#[cfg(feature = "types")]
mod types;
