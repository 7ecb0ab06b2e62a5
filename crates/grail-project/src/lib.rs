//! The project on disk.
