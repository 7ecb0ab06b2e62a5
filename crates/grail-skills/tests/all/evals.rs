//! Evals and benchmarks: read strictly, because figures that contradict each other are worth nothing.

use std::path::Path;

use grail_rules::BuiltInSkill;
use grail_skills::{Benchmark, EVALS_FILE, Evals};
use serde_json::{Value, json};

fn evals(change: impl FnOnce(&mut Value)) -> String {
    let mut evals = json!({
        "skill_name": "invoices",
        "evals": [
            {"id": 1, "prompt": "Bill it.", "expected_output": "A bill.", "assertions": ["It is billed"], "files": ["evals/order.json"]},
            {"id": 2, "kind": "no-trigger", "prompt": "Tell me a joke."}
        ]
    });
    change(&mut evals);
    match Evals::parse(Path::new("evals.json"), evals.to_string().as_bytes()) {
        Ok(evals) => format!("{} evals", evals.evals.len()),
        Err(problem) => problem.to_string(),
    }
}

#[test]
fn evals_are_read_and_checked() {
    let outcomes = [
        evals(|_| {}),
        evals(|evals| evals["evals"] = json!([])),
        evals(|evals| evals["evals"][1]["id"] = json!(1)),
        evals(|evals| evals["evals"][0]["prompt"] = json!(" ")),
        evals(|evals| evals["evals"][0]["assertions"] = json!([])),
        evals(|evals| evals["evals"][0]["assertions"] = json!([""])),
        evals(|evals| evals["evals"][0]["files"] = json!(["../../secret"])),
        evals(|evals| evals["evals"][0]["kind"] = json!("dance")),
        evals(|evals| evals["evals"][0]["asertions"] = json!([])),
        evals(|evals| evals["skill_name"] = json!(3)),
        evals(|evals| *evals = json!([])),
    ];
    insta::assert_snapshot!(outcomes.join("\n"), @"
    2 evals
    evals.json: there are no evals
    evals.json: two evals have the id `1`
    evals.json: the eval `1` has no prompt
    evals.json: the eval `1` checks nothing
    evals.json: the eval `1` has an empty assertion
    evals.json: the eval `1` wants `../../secret`, which is not below the folder
    evals.json:1: unknown variant `dance`, expected one of `task`, `trigger`, `no-trigger`
    evals.json:1: unknown field `asertions`, expected one of `id`, `kind`, `prompt`, `expected_output`, `files`, `assertions`
    evals.json:1: invalid type: integer `3`, expected a string
    evals.json:1: invalid length 0, expected struct Evals with 2 elements
    ");
    assert_eq!(Evals::parse(Path::new("evals.json"), b"{\n  \"evals\": }").unwrap_err().line, 2);
}

#[test]
fn every_built_in_skill_has_evals() {
    for skill in BuiltInSkill::all() {
        let evals = Evals::parse(Path::new(EVALS_FILE), skill.file(EVALS_FILE).unwrap()).unwrap();
        assert_eq!(evals.skill_name, skill.name());
    }
}

fn benchmark(change: impl FnOnce(&mut Value)) -> String {
    let mut benchmark = json!({
        "model": "small-1", "n": 25, "with_skill": 0.72, "without_skill": 0.56, "difference": 0.16, "interval": [0.09, 0.23]
    });
    change(&mut benchmark);
    match Benchmark::parse(Path::new("benchmark.json"), benchmark.to_string().as_bytes()) {
        Ok(benchmark) => benchmark.summary(),
        Err(problem) => problem.to_string(),
    }
}

#[test]
fn benchmarks_are_read_and_checked() {
    let outcomes = [
        benchmark(|_| {}),
        benchmark(|benchmark| {
            *benchmark = json!({"model": "small-1", "n": 1, "with_skill": 0.5, "without_skill": 0.504, "difference": -0.004, "interval": [-0.1, 0.09]});
        }),
        benchmark(|benchmark| benchmark["n"] = json!(0)),
        benchmark(|benchmark| benchmark["model"] = json!("")),
        benchmark(|benchmark| benchmark["with_skill"] = json!(72)),
        benchmark(|benchmark| benchmark["difference"] = json!(0.3)),
        benchmark(|benchmark| benchmark["difference"] = json!(0.2)),
        benchmark(|benchmark| benchmark["interval"] = json!([0.23, 0.09])),
        benchmark(|benchmark| benchmark["interval"] = json!([0.1])),
        benchmark(|benchmark| benchmark["confidence"] = json!(95)),
        benchmark(|benchmark| benchmark["difference"] = Value::Null),
    ];
    insta::assert_snapshot!(outcomes.join("\n"), @"
    +16 points [9, 23], model small-1, 25 pairs
    +0 points [-10, 9], model small-1, 1 pair
    benchmark.json: `n` is 0: nothing was measured
    benchmark.json: `model` is empty
    benchmark.json: `with_skill` is `72`, not a share from 0 to 1
    benchmark.json: `difference` is `0.3`, which is not inside `[0.09, 0.23]`
    benchmark.json: `difference` is `0.2`, but 0.72 − 0.56 is not
    benchmark.json: `difference` is `0.16`, which is not inside `[0.23, 0.09]`
    benchmark.json:1: invalid length 1, expected an array of length 2
    benchmark.json: `confidence` is `95`, not between 0 and 1
    benchmark.json:1: invalid type: null, expected f64
    ");
}
