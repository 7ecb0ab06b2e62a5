//! Suites and evaluations for tests: prompts of two kinds, and arms that pass those that a test says.

use grail_flywheel::evaluation::{Answer, Arm, Asking, Control, Evaluation, SuiteName};
use grail_flywheel::event::{Problem, Tokens};
use grail_flywheel::suite::{Checks, Group, Suite, SuitePrompt};

/// So many prompts, by turns a view and a service; every fifth of an unseen pattern.
pub(crate) fn suite(prompts: usize) -> Suite {
    let prompt = |number: usize| {
        let kind = if number.is_multiple_of(2) { "view" } else { "service" };
        SuitePrompt {
            id: format!("{kind}-{number:03}"),
            kind: kind.to_owned(),
            prompt: format!("Somebody wants the {kind} of thing {number} in words of its own"),
            group: if number.is_multiple_of(5) { Group::UnseenPattern } else { Group::SeenPattern },
            family: "plain".to_owned(),
            checks: Checks::default(),
        }
    };
    Suite::new("trial", "for tests", (0..prompts).map(prompt).collect())
}

/// An evaluation with these seeds. `passes` is told the place of the prompt in the suite and the seed.
pub(crate) fn evaluation(
    name: &str,
    suite: &Suite,
    seeds: &[u64],
    passes: impl Fn(usize, u64) -> bool,
) -> Evaluation {
    let mut answers = Vec::new();
    for (place, prompt) in suite.prompts.iter().enumerate() {
        for seed in seeds {
            answers.push(answer(prompt, *seed, passes(place, *seed)));
        }
    }
    let mut evaluation = Evaluation {
        format: 1,
        arm: Arm {
            name: name.to_owned(),
            model: "tiny".to_owned(),
            identity: format!("0011223344556677+{name}"),
            ..Arm::default()
        },
        suite: SuiteName::from(suite),
        seeds: seeds.to_vec(),
        asking: Asking { max_tokens: 400, ..Asking::default() },
        answers,
        ..Evaluation::default()
    };
    evaluation.hash = evaluation.content_hash();
    evaluation
}

/// The same as a control.
pub(crate) fn control(evaluation: Evaluation, control: Control) -> Evaluation {
    let mut evaluation = evaluation;
    evaluation.arm.control = Some(control);
    evaluation.hash = evaluation.content_hash();
    evaluation
}

fn answer(prompt: &SuitePrompt, seed: u64, passed: bool) -> Answer {
    let problem = Problem {
        layer: "rules".to_owned(),
        rule: format!("{}-suffix", prompt.kind),
        message: "the name has no suffix".to_owned(),
        line: 3,
        hint: None,
    };
    Answer {
        prompt: prompt.id.clone(),
        kind: prompt.kind.clone(),
        group: prompt.group,
        seed,
        code: format!("def {}(): ...\n", if passed { "right" } else { "wrong" }),
        first_try_passed: passed,
        passed_with_fixes: passed || prompt.kind == "view",
        problems: if passed { Vec::new() } else { vec![problem] },
        fixed: Vec::new(),
        retries: u32::from(!passed),
        tokens: Tokens { input: 20, output: 50 },
        milliseconds: 10,
        finish: "stop".to_owned(),
    }
}
