//! Runs on a thread, for those who choose it: the same outcomes, without the border.

use grail_sandbox::{Context, Ending, Limit, Policies, Policy, Workers};
use serde_json::json;

use crate::support::shown;

#[tokio::test]
async fn a_thread_gives_the_same_outcomes() {
    let policy =
        Policy::builder().max_duration(std::time::Duration::from_millis(200)).build().expect("valid");
    let policy = Policies::define([("short", policy)]).expect("valid").resolve("short").expect("resolves");
    let context = Context::builder().policy(policy).build(Workers::in_process()).expect("builds");
    let outcome = context.execute("print('hello')\ninputs['a'] + 1", json!({"a": 1})).await;
    assert_eq!((shown(&outcome), outcome.printed.text.as_str()), ("2".to_owned(), "hello\n"));
    assert_eq!(context.execute("'a' + 1", json!({})).await.ending.name(), "type-errors");
    assert_eq!(context.execute("1 / 0", json!({})).await.ending.name(), "raised");
    let outcome = context.execute("while True:\n    pass", json!({})).await;
    assert!(matches!(&outcome.ending, Ending::LimitHit(hit) if hit.limit == Limit::Duration), "{outcome:?}");
}
