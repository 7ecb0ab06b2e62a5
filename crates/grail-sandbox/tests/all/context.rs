//! Runs through a context: values, inputs, outputs, errors. The seed of this suite is a list of promises; each test is one.

use grail_sandbox::{Context, Ending, Limit, ResourceGuard, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{build, context, shown};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Address {
    street: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct User {
    name: String,
    address: Option<Address>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Order {
    user: User,
    amount: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Receipt {
    total: i64,
}

#[tokio::test]
async fn the_result_is_the_last_expression() {
    assert_eq!(shown(&context().await.execute("1 + 1", json!({})).await), "2");
}

#[tokio::test]
async fn a_return_at_top_level_leaves_nothing_undone() {
    let context = context().await;
    let code = "try:\n    return 1\nfinally:\n    print('tidied up')\n2";
    let outcome = context.execute(code, json!({})).await;
    assert_eq!((shown(&outcome).as_str(), outcome.printed.text.as_str()), ("1", "tidied up\n"));
    assert_eq!(outcome.usage.suspensions, 0);
    let code = "class Door:\n    def __enter__(self):\n        return self\n    def __exit__(self, *error):\n        print('shut')\nfor name in ['a', 'b']:\n    with Door():\n        return name, 1";
    let outcome = context.execute(code, json!({})).await;
    assert_eq!((shown(&outcome).as_str(), outcome.printed.text.as_str()), ("('a', 1)", "shut\n"));
}

#[tokio::test]
async fn inputs_are_read_by_name() {
    let context = context().await;
    assert_eq!(shown(&context.execute("inputs['a'] + inputs['b']", json!({"a": 1, "b": 2})).await), "3");
    assert_eq!(shown(&context.execute("inputs['name'].upper()", json!({"name": "alice"})).await), "'ALICE'");
    assert_eq!(
        shown(&context.execute("{'result': inputs['v'] * 2}", json!({"v": 21})).await),
        "{'result': 42}"
    );
}

#[tokio::test]
async fn nested_records_are_read_by_attribute() {
    let context = build(Context::builder().input::<Order>().expect("a schema")).await;
    let order = Order { user: User { name: "Ada".to_owned(), address: None }, amount: 3 };
    assert_eq!(
        shown(&context.execute("inputs['user'].name * inputs['amount']", &order).await),
        "'AdaAdaAda'"
    );
}

#[tokio::test]
async fn absent_inputs_have_their_defaults() {
    let schema = json!({"properties": {
        "limit": {"type": "integer", "default": 10},
        "user": {"properties": {"nick": {"type": ["string", "null"]}}},
    }});
    let context = build(Context::builder().input_schema(Schema::from_json(schema).expect("a schema"))).await;
    assert_eq!(
        shown(&context.execute("(inputs['limit'], inputs['user'].nick)", json!({"user": {}})).await),
        "(10, None)"
    );
}

#[tokio::test]
async fn inputs_can_be_names() {
    let context = build(Context::builder().inputs_as_names()).await;
    assert_eq!(shown(&context.execute("a + 1", json!({"a": 1})).await), "2");
}

#[tokio::test]
async fn a_wrong_input_is_named_by_its_path_and_nothing_runs() {
    let context = build(Context::builder().input::<Order>().expect("a schema")).await;
    let outcome = context
        .execute("print('ran'); 1", json!({"user": {"name": "Ada", "address": {"street": 7}}, "amount": 1}))
        .await;
    let Ending::InvalidInput { errors } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(errors[0].path, "user.address.street");
    assert_eq!(outcome.printed.text, "");
    let outcome = context.execute("1", json!({"user": {"name": "Ada"}})).await;
    let Ending::InvalidInput { errors } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(errors[0].path, "amount");
}

#[tokio::test]
async fn return_ends_the_program_with_its_value() {
    let context = context().await;
    let code = "for n in range(10):\n    if n * n > 20:\n        return n\nprint('not reached')\n0";
    let outcome = context.execute(code, json!({})).await;
    assert_eq!(shown(&outcome), "5");
    assert_eq!(outcome.printed.text, "");
    assert_eq!(shown(&context.execute("return 1, 2", json!({})).await), "(1, 2)");
    assert_eq!(shown(&context.execute("return", json!({})).await), "None");
}

#[tokio::test]
async fn a_trailing_assignment_is_an_error_with_a_hint() {
    let outcome = context().await.execute("total = 1 + 1", json!({})).await;
    let Ending::Rejected { rejections } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(rejections[0].construct, "trailing-assignment");
    assert!(rejections[0].hint.as_deref().unwrap_or_default().contains("total"), "{rejections:?}");
}

#[tokio::test]
async fn a_valid_output_becomes_the_rust_type() {
    let context = build(Context::builder().output::<Receipt>().expect("a schema")).await;
    let outcome = context.execute("{'total': 40 + 2}", json!({})).await;
    assert_eq!(outcome.decode::<Receipt>(), Ok(Receipt { total: 42 }));
}

#[tokio::test]
async fn an_invalid_output_is_named_by_its_path() {
    let context = build(Context::builder().output::<Receipt>().expect("a schema")).await;
    let outcome = context.execute("{'total': 'much'}", json!({})).await;
    let Ending::InvalidOutput { errors, .. } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(errors[0].path, "total");
}

#[tokio::test]
async fn a_json_schema_does_what_a_rust_type_does() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]});
    let context = build(Context::builder().input_schema(Schema::from_json(schema).expect("a schema"))).await;
    assert_eq!(shown(&context.execute("inputs['n'] + 1", json!({"n": 1})).await), "2");
    let outcome = context.execute("inputs['n'] + 1", json!({"n": 0})).await;
    assert_eq!(outcome.ending.name(), "invalid-input");
}

#[tokio::test]
async fn exceptions_keep_their_type_message_and_lines() {
    let code = "def half(x):\n    if x % 2:\n        raise ValueError('odd: ' + str(x))\n    return x // 2\n\nhalf(3)\n";
    let outcome = context().await.execute(code, json!({})).await;
    let Ending::Raised(raised) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!((raised.exception.as_str(), raised.message.as_str()), ("ValueError", "odd: 3"));
    let lines: Vec<_> = raised
        .traceback
        .iter()
        .map(|frame| (frame.line, frame.function.as_deref(), frame.source.as_str()))
        .collect();
    assert_eq!(lines, [(6, None, "half(3)"), (3, Some("half"), "raise ValueError('odd: ' + str(x))")]);
}

#[tokio::test]
async fn tracebacks_show_return_as_it_was_written() {
    let outcome = context().await.execute("x = 0\nreturn 1 / x", json!({})).await;
    let Ending::Raised(raised) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(raised.traceback[0].source, "return 1 / x");
    assert_eq!((raised.traceback[0].line, raised.traceback[0].column), (2, 8));
}

#[tokio::test]
async fn type_errors_are_found_before_anything_runs() {
    let outcome = context().await.execute("print('ran')\n'a' + 1\n", json!({})).await;
    let Ending::TypeErrors { problems } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!((problems[0].line, problems[0].rule.as_str()), (2, "unsupported-operator"));
    assert_eq!(outcome.printed.text, "");
}

#[tokio::test]
async fn an_endless_loop_ends_without_any_configuration() {
    let context = context().await;
    let guard =
        ResourceGuard::builder().max_duration(std::time::Duration::from_millis(200)).build().expect("valid");
    let options = grail_sandbox::CallOptions { limits: guard };
    let outcome = context.execute_with("while True:\n    pass", json!({}), &options).await;
    let Ending::LimitHit(hit) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(hit.limit, Limit::Duration);
    assert_eq!(shown(&context.execute("1 + 1", json!({})).await), "2");
}

#[tokio::test]
async fn memory_and_recursion_are_limited() {
    let context = context().await;
    let outcome = context.execute("x = [0] * 10\nwhile True:\n    x = x + x\nx", json!({})).await;
    let Ending::LimitHit(hit) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(hit.limit, Limit::Memory);
    let outcome = context.execute("def f(n):\n    return f(n + 1)\nf(0)", json!({})).await;
    let Ending::LimitHit(hit) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(hit.limit, Limit::Recursion);
    assert_eq!(shown(&context.execute("1 + 1", json!({})).await), "2");
}

#[tokio::test]
async fn printed_output_and_usage_come_with_every_outcome() {
    let outcome =
        context().await.execute("print('one')\nprint('two')\nraise ValueError('x')", json!({})).await;
    assert_eq!(outcome.printed.text, "one\ntwo\n");
    assert!(outcome.usage.elapsed >= outcome.usage.executing);
    assert!(outcome.usage.peak_memory > 0, "{outcome:?}");
    assert_eq!(outcome.ending.page().as_deref(), Some("docs/guides/sandbox-outcomes.md#raised"));
}

#[tokio::test]
async fn a_flood_of_output_ends_the_run() {
    let context = context().await;
    let outcome = context.execute("while True:\n    print('x' * 1000)", json!({})).await;
    let Ending::LimitHit(hit) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(hit.limit, Limit::Output);
    assert!(outcome.printed.truncated);
    assert_eq!(outcome.printed.text.len() as u64, context.limits().max_output);
}

#[tokio::test]
async fn nothing_of_one_run_is_there_for_the_next() {
    let workers = {
        let mut config = grail_sandbox::WorkerConfig::new(env!("CARGO_BIN_EXE_grail-sandbox-worker"));
        config.most = 1;
        grail_sandbox::Workers::start(config).await.expect("starts")
    };
    let context = Context::builder().without_type_check().result_optional().build(workers).expect("builds");
    assert_eq!(shown(&context.execute("secret = 41\nsecret + 1", json!({})).await), "42");
    let outcome = context.execute("secret", json!({})).await;
    let Ending::Raised(raised) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(raised.exception, "NameError");
}

#[tokio::test]
async fn extra_fields_are_taken_or_refused_as_the_schema_says() {
    let schema = |additional: bool| {
        let json = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": additional});
        Schema::from_json(json).expect("a schema")
    };
    let inputs = json!({"a": 1, "b": 2});
    let open = build(Context::builder().input_schema(schema(true))).await;
    assert_eq!(shown(&open.execute("inputs['a']", &inputs).await), "1");
    let closed = build(Context::builder().input_schema(schema(false))).await;
    let outcome = closed.execute("inputs['a']", &inputs).await;
    let Ending::InvalidInput { errors } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(errors[0].path, "b");
}

#[tokio::test]
async fn missing_and_none_fields_of_the_output_follow_the_schema() {
    let context = build(Context::builder().output::<Order>().expect("a schema")).await;
    let complete = "{'user': {'name': 'Ada', 'address': None}, 'amount': 1}";
    assert_eq!(context.execute(complete, json!({})).await.ending.name(), "value");
    let outcome = context.execute("{'user': {'address': {'street': 'Main'}}, 'amount': 1}", json!({})).await;
    let Ending::InvalidOutput { errors, .. } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(errors[0].path, "user.name");
    assert_eq!(context.execute("None", json!({})).await.ending.name(), "invalid-output");
}

#[tokio::test]
async fn a_return_of_the_wrong_type_is_found_before_anything_runs() {
    let context = build(Context::builder().output::<i64>().expect("a schema")).await;
    let outcome = context.execute("print('ran')\nreturn 'one'", json!({})).await;
    let Ending::TypeErrors { problems } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!((problems[0].line, problems[0].column), (2, 8));
    assert_eq!(outcome.printed.text, "");
}

#[tokio::test]
async fn a_program_is_checked_once() {
    let counters = std::sync::Arc::new(grail_sandbox::Counters::default());
    let context = build(Context::builder().metrics(counters.clone())).await;
    let first = context.execute("1 + 1", json!({})).await;
    let again = context.execute("1 + 1", json!({})).await;
    assert_eq!(shown(&first), shown(&again));
    assert!(
        counters.prometheus().contains("grail_runs_total{outcome=\"value\"} 2"),
        "{}",
        counters.prometheus()
    );
}

#[tokio::test]
async fn a_thousand_runs_at_once_share_the_workers() {
    let context = context().await;
    let runs = (0..1_000).map(|n| {
        let context = context.clone();
        tokio::spawn(async move { context.execute("inputs['n'] * 2", json!({ "n": n })).await })
    });
    for (n, run) in runs.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(shown(&run.await.expect("no panic")), (n * 2).to_string());
    }
}

#[tokio::test]
async fn code_that_pretends_to_hit_a_limit_has_raised() {
    let context = build(Context::builder().without_type_check()).await;
    for class in [
        "MemoryError('memory limit exceeded: 9 bytes > 1 bytes')",
        "RecursionError('maximum recursion depth exceeded')",
    ] {
        let outcome = context.execute(&format!("raise {class}"), json!({})).await;
        assert_eq!(outcome.ending.name(), "raised", "{outcome:?}");
    }
}

#[tokio::test]
async fn an_integer_too_long_to_write_is_no_result() {
    let outcome = context().await.execute("1 << 10_000_000", json!({})).await;
    assert!(
        matches!(&outcome.ending, Ending::LimitHit(hit) if hit.limit == Limit::ResultSize),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn defaults_that_multiply_are_cut() {
    let schema = json!({"type": "object", "properties": {"x": {
        "type": "object", "default": {}, "properties": {"a": {"$ref": "#/properties/x"}, "b": {"$ref": "#/properties/x"}},
    }}});
    // Refused or filled in part, but answered.
    if let Ok(schema) = Schema::from_json(schema) {
        let context = build(Context::builder().input_schema(schema)).await;
        context.execute("1", json!({})).await;
    }
}
