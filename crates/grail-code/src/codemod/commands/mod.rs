//! The built-in codemod commands, one file each.
