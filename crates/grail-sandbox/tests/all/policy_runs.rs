//! Policies in force: what a run may do under each of them, and what it is told when it may not.

use grail_sandbox::{CallOptions, Context, Ending, Policies, ResourceGuard, Signature, Tool, Toolset, Value};
use serde_json::json;

use crate::support::{build, context, shown};

/// Uses everything up in one way each; none of them ends by itself.
const HUNGRY: [(&str, &str); 5] = [
    ("duration", "while True:\n    pass\n1"),
    ("memory", "kept = []\nwhile True:\n    kept.append('x' * 100_000)\n1"),
    ("recursion", "def f(n: int) -> int:\n    return f(n + 1)\nf(0)"),
    ("output", "while True:\n    print('x' * 1000)\n1"),
    ("result-size", "'x' * 1_000_000"),
];

fn echo() -> Toolset {
    let signature = Signature::parse("def echo(value: int) -> int: ...").unwrap();
    let tool = Tool::blocking(signature, |call| Ok(call.arguments[0].clone()));
    Toolset::new([tool]).unwrap()
}

async fn under(policy: &str) -> Context {
    build(Context::builder().tools(echo()).policy(Policies::default().resolve(policy).unwrap())).await
}

#[tokio::test]
async fn limit_violations_are_reported_as_the_limit_that_was_hit() {
    let context = under("strict").await;
    for (limit, code) in HUNGRY {
        let outcome = context.execute(code, json!({})).await;
        let Ending::LimitHit(hit) = &outcome.ending else { panic!("{limit}: {outcome:?}") };
        assert_eq!(hit.limit.name(), limit, "{outcome:?}");
    }
    assert_eq!(shown(&context.execute("1 + 1", json!({})).await), "2");
}

#[tokio::test]
async fn usage_is_returned_after_execution() {
    let context = under("default").await;
    let outcome = context.execute("kept = 'x' * 2_000_000\necho(1) + echo(2) + len(kept)", json!({})).await;
    assert_eq!(shown(&outcome), "2000003");
    let usage = &outcome.usage;
    assert_eq!((usage.tool_calls, usage.suspensions), (2, 2));
    assert!(usage.peak_memory >= 2_000_000 && usage.elapsed >= usage.executing, "{usage:?}");
}

#[tokio::test]
async fn with_nothing_configured_an_endless_loop_still_ends() {
    let outcome = context().await.execute(HUNGRY[0].1, json!({})).await;
    assert_eq!(outcome.ending.name(), "limit-hit");
}

#[tokio::test]
async fn strict_keeps_tools_away_and_says_so() {
    let outcome = under("strict").await.execute("tools.echo(1)", json!({})).await;
    assert_ne!(outcome.ending.name(), "value");
    let context = build(
        Context::builder()
            .tools(echo())
            .policy(Policies::default().resolve("strict").unwrap())
            .without_type_check(),
    )
    .await;
    let outcome = context.execute("echo(1)", json!({})).await;
    let Ending::Raised(raised) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(raised.message, "the policy does not allow the tool `echo`");
}

#[tokio::test]
async fn tool_calls_are_counted_against_the_policy() {
    let guard = ResourceGuard::builder().max_suspensions(3).build().unwrap();
    let context = build(Context::builder().tools(echo()).guard(guard)).await;
    assert_eq!(shown(&context.execute("echo(1) + echo(2) + echo(3)", json!({})).await), "6");
    let outcome = context.execute("echo(1) + echo(2) + echo(3) + echo(4)", json!({})).await;
    let Ending::LimitHit(hit) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(hit.limit.name(), "suspensions");
}

#[tokio::test]
async fn a_call_tightens_its_context_and_loosens_only_to_the_ceiling() {
    let context = under("default").await;
    let with = |limits: &str| CallOptions { limits: serde_json::from_str(limits).unwrap() };
    let deep = "def f(n: int) -> int:\n    return n if n == 0 else f(n - 1)\nf(100)";
    assert_eq!(context.execute(deep, json!({})).await.value(), Some(&Value::Int(0)));
    let outcome = context.execute_with(deep, json!({}), &with(r#"{"max-recursion": 50}"#)).await;
    assert_eq!(outcome.ending.name(), "limit-hit");
    let outcome = context.execute_with("1", json!({}), &with(r#"{"max-recursion": 900}"#)).await;
    let Ending::InvalidInput { errors } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(errors[0].message, "`max-recursion` is `900`, but policy `default` allows at most `500`");
    let outcome = context.execute_with("1", json!({}), &with(r#"{"max-duration": "60s"}"#)).await;
    assert_eq!(shown(&outcome), "1");
}

#[tokio::test]
async fn a_context_is_not_built_on_a_guard_that_the_policy_forbids() {
    let guard = ResourceGuard::builder().max_memory(1 << 30).build().unwrap();
    let workers = crate::support::workers().await;
    let Err(error) = Context::builder().guard(guard).build(workers) else { panic!("it was built") };
    assert_eq!(error.to_string(), "`max-memory` is `1GiB`, but policy `default` allows at most `512MiB`");
}
