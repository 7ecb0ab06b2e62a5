//! The static check: constructs the engine cannot run, and those it runs differently from CPython.

use grail_code::Parsed;

use crate::outcome::{Note, Rejection};

/// What the engine refuses, and what it does differently, in source order.
pub(crate) fn check(_parsed: &Parsed) -> (Vec<Rejection>, Vec<Note>) {
    (Vec::new(), Vec::new())
}
