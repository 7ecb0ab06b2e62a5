//! Renaming symbols within a file and across a project.
