//! The names every module has without binding them.

use ruff_python_stdlib::builtins::{is_python_builtin, python_magic_globals};

/// The newest Python we parse.
const MINOR_VERSION: u8 = 14;

/// Whether `name` means something that Python provides.
pub fn is_builtin(name: &str) -> bool {
    is_python_builtin(name, MINOR_VERSION, false)
        || (name.starts_with("__") && python_magic_globals(MINOR_VERSION).any(|magic| magic == name))
}
