//! One binary for all tests of the skill library.

mod protocol;
