//! What may be seen of runs: counters, and texts without their secrets.

use std::sync::Arc;
use std::thread;

use grail_sandbox::{
    Context, Counters, Metrics, Redactor, ResourceGuard, SecretTooShort, Signature, Timeline, Tool,
    ToolError, Toolset, Value,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::build;

mod runs {
    use super::*;

    fn login() -> Toolset {
        let signature = Signature::parse("def login(user: str, *, key: str) -> str: ...").unwrap();
        let tool = Tool::blocking(signature, |call| {
            let key = call.keywords[0].1.repr();
            if call.arguments[0] == Value::str("bob") {
                return Err(ToolError::value_error(format!("{key} is not for bob")));
            }
            Ok(Value::str(format!("token for {key}")))
        });
        Toolset::new([tool]).unwrap()
    }

    /// The steps as JSON lines, without times.
    fn lines(timeline: &Timeline) -> String {
        let steps = timeline.steps.iter().map(|step| {
            let mut step = serde_json::to_value(step).unwrap();
            step.as_object_mut().unwrap().retain(|field, _| !field.ends_with("_micros"));
            step.to_string()
        });
        steps.collect::<Vec<_>>().join("\n")
    }

    #[tokio::test]
    async fn a_timeline_tells_what_happened_and_keeps_the_secret() {
        let redactor = Redactor::default().secret_name("api_key");
        let context = build(Context::builder().tools(login()).debug().redactor(redactor)).await;
        let code = "\
print('hello')
token = login('anna', key=inputs['api_key'])
try:
    login('bob', key=inputs['api_key'])
except ValueError:
    print('no')
token
";
        let outcome = context.execute(code, json!({"api_key": "k-123456"})).await;
        insta::assert_snapshot!(lines(&outcome.timeline.unwrap()), @r#"
        {"step":"started","policy":"default"}
        {"step":"checked"}
        {"step":"printed","bytes":6}
        {"step":"tool-call","tool":"login","arguments":["\"anna\""],"keywords":["key=\"[redacted]\""],"result":"\"token for '[redacted]'\""}
        {"step":"tool-call","tool":"login","arguments":["\"bob\""],"keywords":["key=\"[redacted]\""],"error":"ValueError: '[redacted]' is not for bob","variables":["token = \"token for '[redacted]'\""]}
        {"step":"printed","bytes":3}
        {"step":"finished","ending":"value"}
        "#);
    }

    #[tokio::test]
    async fn without_debug_there_is_no_timeline() {
        let context = build(Context::builder()).await;
        assert_eq!(context.execute("1", json!({})).await.timeline, None);
    }

    #[tokio::test]
    async fn runs_endings_and_limits_are_counted() {
        let counters = Arc::new(Counters::default());
        let guard = ResourceGuard::builder().max_recursion(20).build().unwrap();
        let context =
            build(Context::builder().metrics(Arc::clone(&counters) as Arc<dyn Metrics>).guard(guard)).await;
        for code in ["1", "2", "1 / 0", "def f(): return f()\nf()", "1 + 'a'"] {
            context.execute(code, json!({})).await;
        }
        let counts = counters
            .snapshot()
            .counts
            .into_iter()
            .map(|count| format!("{} {:?} {}", count.name, count.labels, count.value));
        insta::assert_snapshot!(counts.collect::<Vec<_>>().join("\n"), @r#"
        grail_limit_hits_total {"limit": "recursion"} 1
        grail_runs_total {"outcome": "limit-hit"} 1
        grail_runs_total {"outcome": "raised"} 1
        grail_runs_total {"outcome": "type-errors"} 1
        grail_runs_total {"outcome": "value"} 2
        grail_suspensions_total {} 0
        "#);
    }
}

mod redaction {
    use super::*;

    #[test]
    fn secrets_are_replaced_in_text() {
        let redactor = Redactor::default().secret("hunter22").unwrap().secret("pässword").unwrap();
        assert_eq!(redactor.text("hunter22 or pässword, hunter2"), "[redacted] or [redacted], hunter2");
        assert_eq!(redactor.text("nothing here"), "nothing here");
    }

    #[test]
    fn a_text_too_short_to_be_a_secret_is_refused() {
        assert_eq!(Redactor::default().secret("äöü").unwrap_err(), SecretTooShort { length: 3 });
        assert!(Redactor::default().secret("äöüß").is_ok());
    }

    #[test]
    fn no_end_of_overlapping_secrets_stays_behind() {
        let redactor =
            Redactor::default().secret("abcd").unwrap().secret("cdef").unwrap().secret("bc--").unwrap();
        assert_eq!(redactor.text("xabcdefx"), "x[redacted]x");
        let redactor = Redactor::default().secret("token").unwrap().secret("token-long").unwrap();
        assert_eq!(redactor.text("token-long token"), "[redacted] [redacted]");
    }

    #[test]
    fn secrets_are_found_as_python_and_json_quote_them() {
        let redactor = Redactor::default().secret("two\nlines'\"").unwrap();
        assert_eq!(redactor.text(r#"ValueError('two\nlines\'"')"#), "ValueError('[redacted]')");
        assert_eq!(redactor.text(r#"{"a": "two\nlines'\""}"#), r#"{"a": "[redacted]"}"#);
    }

    #[test]
    fn secrets_are_replaced_anywhere_in_a_value() {
        let redactor = Redactor::default().secret("hunter22").unwrap();
        let value =
            json!({"user": ["anna", {"hunter22": "is hunter22"}], "n": 1.5, "ok": true, "none": null});
        assert_eq!(
            redactor.json(&value),
            json!({"user": ["anna", {"[redacted]": "is [redacted]"}], "n": 1.5, "ok": true, "none": null})
        );
    }

    #[test]
    fn a_secret_input_is_hidden_by_name_and_by_value() {
        let redactor = Redactor::default()
            .secret_input("api_key", &json!({"id": "k-123456", "pin": 98765}))
            .secret_input("flag", &json!("on"));
        let shown = redactor.json(&json!({
            "inputs": {"api_key": {"id": "k-123456", "pin": 98765}, "flag": "on", "name": "on"},
            "url": "https://x.test/?key=k-123456",
            "number": 98765,
        }));
        assert_eq!(
            shown,
            json!({
                "inputs": {"api_key": "[redacted]", "flag": "[redacted]", "name": "on"},
                "url": "https://x.test/?key=[redacted]",
                "number": "[redacted]",
            })
        );
    }

    #[test]
    fn a_bottomless_value_is_cut() {
        let mut value = json!("hunter22");
        for _ in 0..5000 {
            value = serde_json::Value::Array(vec![value]);
        }
        let shown = Redactor::default().secret("hunter22").unwrap().json(&value).to_string();
        assert!(shown.contains("[too deep]") && !shown.contains("hunter22"));
        // Dropping so deep a value one level at a time spares the stack.
        while let serde_json::Value::Array(mut items) = value {
            value = items.pop().unwrap_or_default();
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        let redactor = Redactor::default().secret(&("a".repeat(5000) + "b")).unwrap().secret("aaaa").unwrap();
        let text = "a".repeat(2_000_000);
        assert_eq!(redactor.text(&text).len(), 2_000_000 / 4 * "[redacted]".len());
    }

    proptest! {
        #[test]
        fn no_secret_survives(secrets in prop::collection::vec("[ab'\\\\\n]{4,6}", 1..4), text in "[ab'\\\\\n]{0,60}") {
            let mut redactor = Redactor::default();
            for secret in &secrets {
                redactor = redactor.secret(secret).unwrap();
            }
            // What is left between two marks is text as it was.
            let redacted = redactor.text(&text).into_owned();
            for rest in redacted.split("[redacted]") {
                for secret in &secrets {
                    prop_assert!(!rest.contains(secret.as_str()), "{redacted}");
                }
            }
        }
    }
}

mod counters {
    use super::*;

    #[test]
    fn threads_count_together() {
        let counters = Arc::new(Counters::default());
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let counters = Arc::clone(&counters);
                thread::spawn(move || {
                    for _ in 0..1000 {
                        counters.count("runs", &[("ending", "value")], 1);
                        counters.record("seconds", &[], 0.5);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(
            serde_json::to_value(counters.snapshot()).unwrap(),
            json!({
                "counts": [{"name": "runs", "labels": {"ending": "value"}, "value": 4000}],
                "durations": [{"name": "seconds", "labels": {}, "count": 4000, "total_seconds": 2000.0}],
                "dropped": 0,
            })
        );
    }

    #[test]
    fn made_up_labels_do_not_fill_the_memory() {
        let counters = Counters::default();
        for number in 0..5000 {
            counters.count("calls", &[("tool", &number.to_string())], 1);
        }
        let snapshot = counters.snapshot();
        assert_eq!((snapshot.counts.len(), snapshot.dropped), (1000, 4000));
    }

    #[test]
    fn labels_are_escaped_for_prometheus() {
        let counters = Counters::default();
        counters.count("calls", &[("tool", "a\"b\\c\nd")], 2);
        assert_eq!(counters.prometheus(), "# TYPE calls counter\ncalls{tool=\"a\\\"b\\\\c\\nd\"} 2\n");
    }
}
