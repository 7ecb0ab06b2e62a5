//! The specification of `grail-code`, one topic a module.

mod hostile;
mod imports;
mod layout;
mod rename;
mod refactor;
mod semantic;
#[cfg(feature = "types")]
mod types;
