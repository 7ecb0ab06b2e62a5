//! Grail for other programs.
