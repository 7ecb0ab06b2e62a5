//! The `grail` command line.

fn main() {}
