//! Renaming symbols within a file and across a project.

use ruff_python_stdlib::identifiers::is_identifier;
use ruff_python_stdlib::keyword::is_keyword;

/// Whether `name` can be bound in Python: an identifier that is no keyword.
pub fn is_valid_name(name: &str) -> bool {
    is_identifier(name) && !is_keyword(name)
}
