//! Fits the coefficients of `grail skills search` anew and tells how good its scores are: `just skill-search`.
//!
//! With `--mistakes` it lists the pairs on the wrong side of 0.85, of the half that coefficients are fitted on only: who looks at the other one while
//! changing things has nothing left to measure with.

use std::env;

use grail_skills::SkillError;
use grail_skills::search::{
    Half, WordEmbedder, calibrate, cross_validate, describe_calibration, evaluate, fitted_for_words,
};

#[expect(clippy::print_stdout, reason = "this is a command line")]
fn main() -> Result<(), SkillError> {
    let fitted = calibrate(&WordEmbedder)?.rounded();
    println!("{}", describe_calibration(&fitted));
    if fitted != fitted_for_words() {
        println!("these are not the coefficients in crates/grail-skills/src/search/calibration.rs");
    }
    let crossed = cross_validate(&WordEmbedder)?;
    println!("\ncross-validated by topic, {crossed}");
    for half in [Half::Fitting, Half::HeldOut] {
        println!("{}", evaluate(&WordEmbedder, &fitted, half)?);
    }
    if env::args().any(|argument| argument == "--mistakes") {
        for mistake in &crossed.mistakes {
            let label = if mistake.same { "same" } else { "not the same" };
            println!("{:.2} {label}: {} / {}", mistake.score, mistake.intent, mistake.skill);
        }
    }
    Ok(())
}
