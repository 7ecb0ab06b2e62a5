//! The suites that come with Grail, for the kinds of the built-in skills.

use super::{Suite, parse_suite};
use crate::FlywheelError;

/// All of it: what a phase is promoted by.
pub const HELD_OUT: &str = "held-out";
/// Forty of its prompts, of every kind and group, for a demonstration.
pub const QUICK: &str = "quick";

const HELD_OUT_TEXT: &str = include_str!("../../suites/held-out.toml");

pub fn builtin_names() -> [&'static str; 2] {
    [HELD_OUT, QUICK]
}

/// A suite that comes with Grail, by its name.
pub fn builtin(name: &str) -> Option<Result<Suite, FlywheelError>> {
    match name {
        HELD_OUT => Some(parse_suite("held-out.toml", HELD_OUT_TEXT)),
        QUICK => Some(parse_suite("held-out.toml", HELD_OUT_TEXT).map(|suite| quick(&suite))),
        _ => None,
    }
}

/// The middle of each of forty stretches: spread over kinds, groups and families by the order of their names.
fn quick(suite: &Suite) -> Suite {
    const PROMPTS: usize = 40;
    let (count, wanted) = (suite.prompts.len(), PROMPTS.min(suite.prompts.len()));
    let middle = |number: usize| (2 * number + 1) * count / (2 * wanted);
    let prompts = (0..wanted).map(|number| suite.prompts[middle(number)].clone());
    Suite::new(QUICK, "forty of the held-out prompts", prompts.collect())
}
