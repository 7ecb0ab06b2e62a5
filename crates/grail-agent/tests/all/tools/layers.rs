//! `typecheck`, `ruff_check` and `pytest_run`, with the real tools of the repository's `.venv`.

use serde_json::json;

use super::{Bench, with_tools};

const TESTED: [(&str, &str); 3] = [
    ("pyproject.toml", "[project]\nname = \"shop\"\nversion = \"1\"\n"),
    ("shop.py", "def price() -> int:\n    return 2\n"),
    (
        "test_shop.py",
        "from shop import price\n\n\ndef test_price():\n    assert price() == 2\n\n\ndef test_other():\n    assert price() > 0\n",
    ),
];

#[tokio::test]
async fn types_of_what_would_be() {
    let Some(bench) = with_tools("ty", &TESTED) else { return };
    let clean = bench.ok("typecheck", json!({})).await;
    assert_eq!((&clean["success"], &clean["problems"]), (&json!(true), &json!([])), "{clean}");
    bench
        .ok("write_file", json!({"path": "shop.py", "text": "def price() -> int:\n    return 'two'\n"}))
        .await;
    let wrong = bench.ok("typecheck", json!({"paths": ["shop.py"]})).await;
    assert_eq!((&wrong["status"], &wrong["problems"][0]["line"]), (&json!("failed"), &json!(2)), "{wrong}");
    assert!(wrong["detail"].as_str().unwrap().starts_with("ty "), "{wrong}");
}

#[tokio::test]
async fn lint_of_what_would_be() {
    let Some(bench) = with_tools("ruff", &TESTED) else { return };
    bench.ok("write_file", json!({"path": "shop.py", "text": "import os\n"})).await;
    let wrong = bench.ok("ruff_check", json!({"paths": ["shop.py"]})).await;
    assert_eq!(wrong["problems"][0]["rule"], json!("F401"), "{wrong}");
    assert_eq!(bench.ok("ruff_check", json!({"paths": ["test_shop.py"]})).await["success"], json!(true));
}

#[tokio::test]
async fn tests_of_what_would_be() {
    let Some(bench) = with_tools("pytest", &TESTED) else { return };
    assert!(bench.tools.needs_approval("pytest_run"));
    assert_eq!(bench.ok("pytest_run", json!({})).await["status"], json!("passed"));
    bench.ok("write_file", json!({"path": "shop.py", "text": "def price() -> int:\n    return 3\n"})).await;
    let failed = bench.ok("pytest_run", json!({})).await;
    assert_eq!(
        (&failed["status"], failed["problems"].as_array().unwrap().len()),
        (&json!("failed"), 1),
        "{failed}"
    );
    assert_eq!(failed["problems"][0]["path"], json!("test_shop.py"));
    let one = bench.ok("pytest_run", json!({"tests": ["test_shop.py::test_other"]})).await;
    assert_eq!(one["status"], json!("passed"), "{one}");
}

#[tokio::test]
async fn a_tool_that_is_missing_is_an_answer() {
    let bench = Bench::new(&TESTED);
    let answer = bench.ok("typecheck", json!({})).await;
    // Whoever has ty on `PATH` gets an answer of another kind.
    assert!(["unavailable", "passed"].contains(&answer["status"].as_str().unwrap()), "{answer}");
    for test in ["../x.py", "--collect-only", "-p evil", "test_none.py", "test_shop.py::a\nb"] {
        assert!(bench.call("pytest_run", json!({"tests": [test]})).await.is_err(), "{test:?}");
    }
}

#[test]
fn tests_in_webassembly_need_no_approval() {
    let bench = Bench::new(&[("grail.toml", "[check.tests]\nrunner = \"wasm\"\n")]);
    assert!(!bench.tools.needs_approval("pytest_run"));
    assert!(bench.tools.needs_approval("run_command"));
}
