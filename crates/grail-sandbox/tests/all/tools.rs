//! Tools: typed, awaited, failing, unknown, composed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use grail_sandbox::{
    CacheResults, Context, Ending, LimitRate, Policies, Policy, Retry, Signature, Tool, ToolAccess,
    ToolError, Toolset, ToolsetError, Value,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Barrier;

use crate::support::{build, shown};

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    degrees: f64,
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

fn add() -> Tool {
    Tool::typed("add", "Adds two numbers.", |pair: Pair| Ok(pair.a + pair.b)).expect("a signature")
}

fn weather() -> Tool {
    Tool::typed_async("weather", "The weather in a city.", |city: City| async move {
        Ok(Weather { degrees: city.city.len() as f64, city: city.city })
    })
    .expect("a signature")
}

fn set(tools: impl IntoIterator<Item = Tool>) -> Toolset {
    Toolset::new(tools).expect("distinct names")
}

async fn with(tools: Toolset) -> Context {
    build(Context::builder().tools(tools)).await
}

#[tokio::test]
async fn a_tool_may_have_the_name_of_a_builtin_that_the_engine_lacks() {
    let signature = Signature::parse("def input(prompt: str) -> str: ...").expect("a signature");
    let answer = Tool::blocking(signature, |_| Ok(Value::Str("ada".to_owned())));
    assert_eq!(shown(&with(set([answer])).await.execute("input('name?')", json!({})).await), "'ada'");
    let outcome = with(set([])).await.execute("input('name?')", json!({})).await;
    let Ending::Rejected { rejections } = outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(rejections[0].message, "there is no builtin `input`");
}

#[tokio::test]
async fn tools_are_called_by_bare_name_and_through_tools() {
    let context = with(set([add()])).await;
    let outcome = context.execute("add(1, 2) + add(a=3, b=4) + tools.add(5, b=6)", json!({})).await;
    assert_eq!(shown(&outcome), "21");
    assert_eq!(outcome.usage.tool_calls, 3);
}

#[tokio::test]
async fn awaited_tools_are_awaited() {
    let context = with(set([weather()])).await;
    let outcome = context.execute("report = await weather('Oslo')\nreport.degrees", json!({})).await;
    assert_eq!(shown(&outcome), "4.0", "{outcome:?}");
}

#[tokio::test]
async fn concurrent_awaits_overlap() {
    // Both calls must be under way at the same time, or neither ever returns.
    let meeting = Arc::new(Barrier::new(2));
    let signature = Signature::parse("async def meet(name: str) -> str: ...").expect("a signature");
    let meet = Tool::awaited(signature, move |call| {
        let meeting = Arc::clone(&meeting);
        async move {
            meeting.wait().await;
            Ok(call.arguments[0].clone())
        }
    });
    let context = with(set([meet])).await;
    let code = "import asyncio\nawait asyncio.gather(meet('a'), meet('b'))";
    assert_eq!(shown(&context.execute(code, json!({})).await), "['a', 'b']");
}

#[tokio::test]
async fn a_failing_tool_raises_in_the_code() {
    let signature = Signature::parse("def fetch(url: str) -> str: ...").expect("a signature");
    let fetch = Tool::blocking(signature, |_| Err(ToolError::new("OSError", "no route")));
    let context = with(set([fetch])).await;
    let caught = "try:\n    fetch('x')\nexcept OSError as error:\n    answer = str(error)\nanswer";
    assert_eq!(shown(&context.execute(caught, json!({})).await), "'no route'");
    let outcome = context.execute("fetch('x')", json!({})).await;
    let Ending::ToolFailed(failure) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!((failure.tool.as_str(), failure.message.as_str()), ("fetch", "no route"));
    assert_eq!(failure.traceback[0].line, 1);
}

#[tokio::test]
async fn a_panicking_tool_fails_only_its_call() {
    let signature = Signature::parse("def boom() -> None: ...").expect("a signature");
    let boom = Tool::blocking(signature, |_| panic!("boom"));
    let outcome = with(set([boom])).await.execute("boom()", json!({})).await;
    assert_eq!(outcome.ending.name(), "tool-failed");
}

#[tokio::test]
async fn a_quick_tool_is_called_where_the_run_is_driven() {
    let driver = std::thread::current().id();
    let signature = Signature::parse("def is_here() -> bool: ...").expect("a signature");
    let is_here = Tool::blocking(signature, move |_| Ok(Value::Bool(std::thread::current().id() == driver)));
    let context = with(set([is_here.clone()])).await;
    assert_eq!(shown(&context.execute("is_here()", json!({})).await), "False");
    let context = with(set([is_here.quick()])).await;
    assert_eq!(shown(&context.execute("is_here()", json!({})).await), "True");
}

#[tokio::test]
async fn a_quick_tool_that_panics_fails_only_its_call() {
    let signature = Signature::parse("def burn() -> int: ...").expect("a signature");
    let context = with(set([Tool::blocking(signature, |_| panic!("on purpose")).quick()])).await;
    let caught = "try:\n    burn()\nexcept RuntimeError as error:\n    answer = str(error)\nanswer";
    assert_eq!(shown(&context.execute(caught, json!({})).await), "'the tool `burn` panicked'");
}

#[tokio::test]
async fn wrong_arguments_are_a_type_error_of_the_call() {
    let context = build(Context::builder().tools(set([add()])).without_type_check()).await;
    let outcome = context.execute("add(1)", json!({})).await;
    let Ending::ToolFailed(failure) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(
        (failure.exception.as_str(), failure.message.as_str()),
        ("TypeError", "add() missing required argument: 'b'")
    );
    let checked = with(set([add()])).await.execute("add('one', 2)", json!({})).await;
    let Ending::TypeErrors { problems } = &checked.ending else { panic!("{checked:?}") };
    assert_eq!(
        (problems[0].rule.as_str(), problems[0].line, problems[0].column),
        ("invalid-argument-type", 1, 5)
    );
}

#[tokio::test]
async fn a_call_of_an_unknown_name_lists_what_exists() {
    let context = build(Context::builder().tools(set([add(), weather()])).without_type_check()).await;
    let outcome = context.execute("subtract(1, 2)", json!({})).await;
    let Ending::Raised(raised) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(raised.exception, "NameError");
    assert_eq!(raised.message, "name 'subtract' is not defined; the tools are add, weather");
    let outcome = context.execute("tools.subtract(1, 2)", json!({})).await;
    let Ending::Raised(raised) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(raised.exception, "AttributeError");
}

#[tokio::test]
async fn the_policy_decides_which_tools_exist() {
    let policy =
        Policy::builder().tools(ToolAccess::only(["weather"]).expect("valid")).build().expect("valid");
    let policies = Policies::define([("weather-only", policy)]).expect("valid");
    let policy = policies.resolve("weather-only").expect("resolves");
    let context =
        build(Context::builder().tools(set([add(), weather()])).policy(policy).without_type_check()).await;
    let outcome = context.execute("add(1, 2)", json!({})).await;
    let Ending::Raised(raised) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(raised.message, "the policy does not allow the tool `add`");
}

#[tokio::test]
async fn a_slow_tool_times_out() {
    let signature = Signature::parse("async def wait() -> None: ...").expect("a signature");
    let wait = Tool::awaited(signature, |_| std::future::pending());
    let policy = Policy::builder().tool_timeout(Duration::from_millis(50)).build().expect("valid");
    let policy = Policies::define([("quick", policy)]).expect("valid").resolve("quick").expect("resolves");
    let context = build(Context::builder().tools(set([wait])).policy(policy)).await;
    let outcome = context.execute("await wait()", json!({})).await;
    let Ending::ToolFailed(failure) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(failure.exception, "TimeoutError");
}

#[tokio::test]
async fn toolsets_compose() {
    let both = set([add()]).prefix("math_").expect("valid").combine(set([weather()])).expect("distinct");
    assert_eq!(both.names(), ["math_add", "weather"]);
    let renamed = both.clone().rename("weather", "forecast").expect("exists");
    assert_eq!(renamed.names(), ["math_add", "forecast"]);
    assert_eq!(both.clone().filter(|tool| tool.name().starts_with("math")).names(), ["math_add"]);
    assert_eq!(
        set([add()]).combine(set([add()])).expect_err("two adds"),
        ToolsetError::SameName { name: "add".to_owned() }
    );
    let context = with(both).await;
    assert_eq!(shown(&context.execute("math_add(1, 2)", json!({})).await), "3");
}

#[tokio::test]
async fn middleware_goes_round_every_call() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let signature = Signature::parse("def flaky(n: int) -> int: ...").expect("a signature");
    let flaky = Tool::blocking(signature, move |call| {
        // Every second call succeeds.
        if counted.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            return Err(ToolError::failed("try again"));
        }
        Ok(call.arguments[0].clone())
    });
    let tools = set([flaky]).wrap(Retry::new(2, Duration::ZERO)).wrap(CacheResults::new(10));
    let context = with(tools).await;
    assert_eq!(shown(&context.execute("[flaky(1), flaky(1), flaky(2)]", json!({})).await), "[1, 1, 2]");
    assert_eq!(calls.load(Ordering::SeqCst), 4, "two calls with one retry each, and one from the cache");

    let limited = with(set([add()]).wrap(LimitRate::new(2, Duration::from_secs(3600)))).await;
    let outcome = limited.execute("add(1, 1)\nadd(1, 2)\nadd(1, 3)", json!({})).await;
    assert_eq!(outcome.ending.name(), "tool-failed");
}

#[tokio::test]
async fn values_of_every_kind_come_back_unchanged() {
    let signature = Signature::parse("def same(value: object) -> object: ...").expect("a signature");
    let same = Tool::blocking(signature, |call| Ok(call.arguments.into_iter().next().unwrap_or(Value::None)));
    let context = with(set([same])).await;
    let code = "import datetime\nvalues = [None, True, 1, 2**70, 1.5, 'x', b'y', [1], (1, 2), {3}, frozenset({4}), {'k': {5: 'v'}}, datetime.date(2026, 1, 2)]\n[same(value) == value for value in values]";
    let outcome = context.execute(code, json!({})).await;
    assert_eq!(shown(&outcome), format!("[{}]", ["True"; 13].join(", ")));
}

#[tokio::test]
async fn a_watched_run_shows_its_variables_at_each_call() {
    let context = build(Context::builder().tools(set([add()])).debug()).await;
    let code = "total = 0\nfor n in [1, 2]:\n    total = add(total, n)\nlate = total\nlate";
    let outcome = context.execute(code, json!({})).await;
    let timeline = serde_json::to_value(outcome.timeline.expect("debugging")).expect("serializes");
    let variables: Vec<_> = timeline["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter(|step| step["step"] == "tool-call")
        .map(|step| step["variables"].clone())
        .collect();
    assert_eq!(variables, [json!(["total = 0", "n = 1"]), json!(["total = 1", "n = 2"])]);
}

#[tokio::test]
async fn arguments_of_calls_under_way_are_bounded() {
    let signature = Signature::parse("async def keep(text: str) -> None: ...").expect("a signature");
    let keep = Tool::awaited(signature, |_| std::future::pending());
    let context = with(set([keep])).await;
    let code =
        "import asyncio\ntext = 'a' * 10_000_000\nawait asyncio.gather(*[keep(text) for _ in range(900)])";
    let outcome = context.execute(code, json!({})).await;
    assert!(
        matches!(&outcome.ending, Ending::LimitHit(hit) if hit.limit == grail_sandbox::Limit::Memory),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_failure_python_has_no_class_for_is_still_the_tools() {
    let signature = Signature::parse("def get() -> str: ...").expect("a signature");
    let get = Tool::blocking(signature, |_| Err(ToolError::new("HTTPError", "404")));
    let outcome = with(set([get])).await.execute("get()", json!({})).await;
    let Ending::ToolFailed(failure) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!((failure.exception.as_str(), failure.message.as_str()), ("RuntimeError", "HTTPError: 404"));
}
