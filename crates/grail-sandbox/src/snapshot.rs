//! Paused runs as sealed bytes.
