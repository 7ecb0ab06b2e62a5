//! The door: a context holds everything a run may see, and starts runs.
