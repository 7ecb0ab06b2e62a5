//! From a sentence to an approved change.
