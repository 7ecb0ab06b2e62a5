//! State across snippets.
