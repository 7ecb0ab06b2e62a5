//! Codemods: declarative replacements and built-in commands.

pub mod commands;
