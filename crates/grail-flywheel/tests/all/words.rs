//! How well messages are understood, measured on labelled ones: see `tests/messages/README.md` for what each set is worth.

use std::fs;

use grail_flywheel::words::{MessageClassifier, RuleClassifier, Verdict};
use serde::Deserialize;

#[derive(Deserialize)]
struct Labelled {
    label: Verdict,
    message: String,
}

fn labelled(half: &str) -> Vec<Labelled> {
    let path = format!("{}/tests/messages/{half}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Precision, recall and F1 for each label, and how many are right in all.
fn scores(half: &str) -> String {
    let messages = labelled(half);
    let judged: Vec<(Verdict, Verdict)> = messages
        .iter()
        .map(|message| (message.label, RuleClassifier.classify(&message.message).verdict))
        .collect();
    let count = |test: &dyn Fn(Verdict, Verdict) -> bool| {
        judged.iter().filter(|(label, said)| test(*label, *said)).count() as f64
    };
    let mut table = String::new();
    for verdict in Verdict::ALL {
        let right = count(&|label, said| label == verdict && said == verdict);
        let (said, labelled) = (count(&|_, said| said == verdict), count(&|label, _| label == verdict));
        let (precision, recall) = (right / said, right / labelled);
        let f1 = 2.0 * precision * recall / (precision + recall);
        table += &format!(
            "{:<13} precision {precision:.3}  recall {recall:.3}  f1 {f1:.3}  of {labelled}\n",
            verdict.name()
        );
    }
    let right = count(&|label, said| label == said);
    table + &format!("{:<13} {right} of {}\n", "right", judged.len())
}

#[test]
fn messages_of_the_development_set_are_understood() {
    insta::assert_snapshot!(scores("development"), @"
    correction    precision 1.000  recall 1.000  f1 1.000  of 95
    confirmation  precision 1.000  recall 1.000  f1 1.000  of 84
    neither       precision 1.000  recall 1.000  f1 1.000  of 79
    right         258 of 258
    ");
}

#[test]
fn messages_of_the_held_out_set_are_understood() {
    insta::assert_snapshot!(scores("held_out"), @"
    correction    precision 0.983  recall 0.967  f1 0.975  of 60
    confirmation  precision 1.000  recall 0.945  f1 0.972  of 55
    neither       precision 0.900  recall 0.978  f1 0.938  of 46
    right         155 of 161
    ");
}

#[test]
#[ignore = "for whoever works on the rules: lists the mistakes of the development set"]
#[expect(clippy::print_stdout, reason = "a list to look at")]
fn mistakes_of_the_development_set() {
    for message in labelled("development") {
        let judgement = RuleClassifier.classify(&message.message);
        if judgement.verdict != message.label {
            println!("{:?} {judgement:?} {:?}", message.label, message.message);
        }
    }
}

#[test]
fn messages_that_were_written_after_the_rules_are_understood_less_well() {
    insta::assert_snapshot!(scores("unseen"), @"
    correction    precision 0.765  recall 0.371  f1 0.500  of 35
    confirmation  precision 0.955  recall 0.700  f1 0.808  of 30
    neither       precision 0.541  recall 0.943  f1 0.688  of 35
    right         67 of 100
    ");
}

#[test]
fn messages_that_were_written_before_the_rules_were_widened_are_understood() {
    insta::assert_snapshot!(scores("fresh"), @"");
}
