//! The repository is in order, and the checks that say so can fail.

mod fuzz;
mod generated;
mod rename;
mod roundtrip;
mod tidy;
