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
    correction    precision 0.993  recall 1.000  f1 0.996  of 135
    confirmation  precision 1.000  recall 1.000  f1 1.000  of 109
    neither       precision 1.000  recall 0.990  f1 0.995  of 104
    right         347 of 348
    ");
}

#[test]
fn messages_of_the_held_out_set_are_understood() {
    insta::assert_snapshot!(scores("held_out"), @"
    correction    precision 0.952  recall 0.983  f1 0.967  of 60
    confirmation  precision 1.000  recall 0.945  f1 0.972  of 55
    neither       precision 0.915  recall 0.935  f1 0.925  of 46
    right         154 of 161
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
    correction    precision 0.800  recall 0.571  f1 0.667  of 35
    confirmation  precision 0.958  recall 0.767  f1 0.852  of 30
    neither       precision 0.647  recall 0.943  f1 0.767  of 35
    right         76 of 100
    ");
}

#[test]
fn messages_that_were_written_before_the_rules_were_widened_are_understood() {
    insta::assert_snapshot!(scores("fresh"), @"
    correction    precision 0.967  recall 0.806  f1 0.879  of 36
    confirmation  precision 1.000  recall 0.667  f1 0.800  of 30
    neither       precision 0.660  recall 0.971  f1 0.786  of 34
    right         82 of 100
    ");
}
