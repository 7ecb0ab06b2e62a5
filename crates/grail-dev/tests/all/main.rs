//! The repository is in order, and the checks that say so can fail.

mod fuzz;
mod generated;
mod mutants;
mod rename;
mod roundtrip;
mod tidy;
