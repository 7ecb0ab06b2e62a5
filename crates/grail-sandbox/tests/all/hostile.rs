//! Programs that mean harm: each ends as its file says, soon, and leaves the host and the next run untouched.
//!
//! A file of `cases/hostile` opens with comments that are data:
//!
//! - `# expect:` how it ends, alternatives between `|`: `value JSON`, `raised CLASS`, `rejected CONSTRUCT`, `limit-hit LIMIT`, or the
//!   bare name of another ending
//! - `# policy:` limits other than [`POLICY`], as in `grail.toml`
//! - `# tools: echo` gives it a tool
//! - `# check: types` has its types checked first, which costs most programs their life before they did anything
//! - `# generate:` text that follows the rest of the file, from strings, `*` and `+`
//! - `# tries:` what it is up to
//!
//! `HOSTILE=memory_` in the environment runs only the files with that in their name.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use grail_sandbox::{Context, Ending, Outcome, Policies, Record, Step, Tool, Toolset, Value, Workers};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::workers;

/// Small, so that the suite is quick: what holds here holds for more. Only time is ample, because who runs into another limit must
/// get there on a loaded machine too.
const POLICY: &str = "max-duration = '20s'\nmax-memory = '32MiB'\nmax-output = '64KiB'\nmax-result = '1MiB'\n\
                      max-suspensions = 200\nmax-recursion = 200\ncheck-timeout = '20s'\n";

/// What a loaded machine may take for everything but the run itself. Limits are about seconds, not milliseconds.
const GRACE: Duration = Duration::from_secs(2);

struct Case {
    name: String,
    source: String,
    expected: Vec<String>,
    policy: String,
    with_tool: bool,
    check_types: bool,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hostile_program_ends_as_it_should() {
    let only = std::env::var("HOSTILE").unwrap_or_default();
    let cases: Vec<Case> = all_cases().into_iter().filter(|case| case.name.contains(&only)).collect();
    assert!(!only.is_empty() || cases.len() >= 70, "only {} cases", cases.len());
    let workers = workers().await;
    let surprises: Vec<String> = futures_util::stream::iter(&cases)
        .map(|case| surprise(case, workers.clone()))
        .buffer_unordered(2)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

/// Tools answer for a host, and hosts make mistakes.
#[tokio::test]
async fn answers_that_make_no_sense_cost_at_most_their_run() {
    let deep = (0..1000).fold(Value::None, |inner, _| Value::List(vec![inner]));
    let unhashable = Value::List(Vec::new());
    let record =
        Record { class: "not a name".to_owned(), fields: vec![("__class__".to_owned(), Value::Int(1))] };
    let answers = [
        (deep, "tool-failed"),
        (Value::Str("a".repeat(60 << 20)), "limit-hit memory"),
        (Value::Dict(vec![(unhashable.clone(), Value::None)]), "raised RuntimeError"),
        (Value::Set(vec![unhashable.clone(), unhashable]), "raised RuntimeError"),
        (Value::Float(f64::NAN), "value \"nan\""),
        (Value::Record(record), r#"value "not a name(__class__=1)""#),
        (Value::Str("\0\u{202e}".to_owned()), r#"value "'\\x00\\u202e'""#),
    ];
    let limits: toml::Table = toml::from_str(&format!("[hostile]\n{POLICY}")).unwrap();
    let policy = Policies::from_toml(&limits).unwrap().resolve("hostile").unwrap();
    let builder = Context::builder().policy(policy).tools(echo()).without_type_check();
    let context = builder.build(workers().await).unwrap();
    for (answer, expected) in answers {
        let Step::Suspended(suspended) = context.start("repr(echo(1))", json!({})).await else {
            panic!("no call")
        };
        let Step::Finished(outcome) = suspended.resume(answer).await else { panic!("a second call") };
        assert_eq!(ending(&outcome), expected, "{:?}", outcome.ending);
    }
    assert_eq!(ending(&context.execute("1 + 1", json!({})).await), "value 2");
}

/// What did not go as it should, if anything.
async fn surprise(case: &Case, workers: Workers) -> Option<String> {
    let policy = format!("[hostile]\n{}", case.policy);
    let policy = Policies::from_toml(&toml::from_str(&policy).unwrap()).unwrap().resolve("hostile").unwrap();
    let most = 2 * (policy.limits.max_duration + policy.limits.check_timeout) + GRACE;
    let mut builder = Context::builder().policy(policy).result_optional();
    if case.with_tool {
        builder = builder.tools(echo());
    }
    if !case.check_types {
        builder = builder.without_type_check();
    }
    let context = builder.build(workers).unwrap();
    let started = Instant::now();
    let outcome = context.execute(&case.source, json!({})).await;
    let elapsed = started.elapsed();
    let found = ending(&outcome);
    if !case.expected.contains(&found) {
        return Some(format!(
            "{}: expected {}, got {found}: {:?}",
            case.name,
            case.expected.join(" | "),
            outcome.ending
        ));
    }
    if elapsed > most {
        return Some(format!("{}: took {elapsed:?}", case.name));
    }
    let next = context.execute("1 + 1", json!({})).await;
    (ending(&next) != "value 2").then(|| format!("{}: the next run ended with {:?}", case.name, next.ending))
}

/// An ending in the words of the files.
fn ending(outcome: &Outcome) -> String {
    let detail = match &outcome.ending {
        Ending::Value { value } => value.to_json().to_string(),
        Ending::Raised(raised) => raised.exception.clone(),
        Ending::Rejected { rejections } => rejections[0].construct.clone(),
        Ending::LimitHit(hit) => hit.limit.name().to_owned(),
        _ => return outcome.ending.name().to_owned(),
    };
    format!("{} {detail}", outcome.ending.name())
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    value: serde_json::Value,
}

fn echo() -> Toolset {
    Toolset::new([Tool::typed("echo", "Gives back what it was given.", |echo: Echo| Ok(echo.value)).unwrap()])
        .unwrap()
}

fn all_cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/hostile");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| read_case(file)).collect()
}

fn read_case(file: &Path) -> Case {
    let text = fs::read_to_string(file).unwrap();
    let mut case = Case {
        name: file.file_stem().unwrap().to_string_lossy().into_owned(),
        source: String::new(),
        expected: Vec::new(),
        policy: String::new(),
        with_tool: false,
        check_types: false,
    };
    let mut generated = String::new();
    let mut rest = text.as_str();
    let mut explained = false;
    while let Some((key, value)) =
        rest.split_once('\n').and_then(|(line, _)| line.strip_prefix("# ")?.split_once(": "))
    {
        match key {
            "expect" => case.expected = value.split(" | ").map(str::to_owned).collect(),
            "policy" => case.policy.push_str(&format!("{value}\n")),
            "tools" => case.with_tool = value == "echo",
            "check" => case.check_types = value == "types",
            "generate" => generated = generate(value),
            "tries" => explained = true,
            _ => break,
        }
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    assert!(explained && !case.expected.is_empty(), "{}: incomplete", case.name);
    // Lines of its own replace those of the common policy.
    for line in POLICY.lines() {
        let name = line.split_once(" = ").unwrap().0;
        if !case.policy.contains(name) {
            case.policy.push_str(&format!("{line}\n"));
        }
    }
    case.source = format!("{rest}{generated}");
    case
}

/// `"1+" * 3 + "1"` is `1+1+1+1`.
fn generate(expression: &str) -> String {
    let mut text = String::new();
    let mut rest = expression;
    loop {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let piece = stream.next().unwrap().unwrap_or_else(|error| panic!("`{rest}`: {error}"));
        rest = rest[stream.byte_offset()..].trim_start();
        if let Some(count) = rest.strip_prefix('*') {
            let end = count.find('+').unwrap_or(count.len());
            text.push_str(&piece.repeat(count[..end].trim().parse().unwrap()));
            rest = &count[end..];
        } else {
            text.push_str(&piece);
        }
        match rest.strip_prefix('+') {
            Some(following) => rest = following.trim_start(),
            None => return text,
        }
    }
}
