//! The engine's own test cases, run through a context: they must end as they do on the bare engine.
//!
//! The cases come with the engine's crate and say in comments how they end. Where a context differs on purpose, the case is listed
//! with its outcome and a reason in `cases/conformance.toml`; an entry that no longer holds fails the test, as does a new difference.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use futures_util::stream::{self, StreamExt};
use grail_sandbox::{
    Access, Context, ContextBuilder, Ending, Files, Frame, Mount, Outcome, Policies, Record, Signature, Tool,
    ToolError, Toolset, Value, Workers,
};
use serde::Deserialize;
use serde_json::json;

use crate::support::workers;

const DIVERGENCES: &str = include_str!("../../cases/conformance.toml");

/// Names that the host gives to the cases with tools.
const CONSTANTS: &str = r#"{
    "CONST_INT": 42, "CONST_STR": "hello", "CONST_FLOAT": 3.14, "CONST_BOOL": true, "CONST_LIST": [1, 2, 3], "CONST_NONE": null
}"#;

/// How many cases are under way at once.
const CONCURRENT: usize = 8;

#[derive(Deserialize)]
struct Divergences {
    divergence: Vec<Divergence>,
}

/// A case that ends differently here, and why that is right.
#[derive(Deserialize)]
struct Divergence {
    case: String,
    outcome: String,
    reason: String,
}

/// How a case says that it ends.
#[derive(Debug, PartialEq)]
enum Expected {
    /// Its assertions hold.
    Passes,
    /// The `repr` of its value.
    Returns(String),
    /// `Type('message')`.
    Raises(String),
    /// Line and function of each frame, then `Type: message`.
    Traceback(Vec<(u32, String)>, String),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_of_the_engine_end_as_on_the_bare_engine() {
    let listed: Divergences = toml::from_str(DIVERGENCES).expect("a table of divergences");
    let mut listed: BTreeMap<String, Divergence> =
        listed.divergence.into_iter().map(|entry| (entry.case.clone(), entry)).collect();
    assert!(listed.values().all(|entry| !entry.reason.is_empty()));
    let mut paths: Vec<PathBuf> = fs::read_dir(cases_folder())
        .expect("the cases")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let scratch = tempfile::tempdir().expect("a folder");
    let contexts = Contexts::new(workers().await, scratch.path());
    let results: Vec<(String, Result<(), String>)> = stream::iter(&paths)
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let code = fs::read_to_string(path).expect("a case");
            let contexts = &contexts;
            async move { (name, contexts.run(&code).await) }
        })
        .buffer_unordered(CONCURRENT)
        .collect()
        .await;

    let mut findings = Vec::new();
    for (name, result) in &results {
        match (result, listed.remove(name)) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => findings.push(format!("{name}: listed as divergent, but it is not")),
            (Err(outcome), Some(entry)) if entry.outcome == *outcome => {}
            (Err(outcome), _) => findings.push(format!("{name}: {outcome}")),
        }
    }
    findings.extend(listed.keys().map(|name| format!("{name}: listed, but there is no such case")));
    findings.sort();
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    assert_eq!(results.len(), 590);
}

/// The contexts that cases ask for in their first lines.
struct Contexts {
    plain: Context,
    with_tools: Context,
    with_mount: Context,
}

impl Contexts {
    fn new(workers: Workers, scratch: &Path) -> Self {
        fill_mount(scratch);
        let mount = Files::none().mount(Mount::new("/mnt", scratch, Access::CopyOnWrite)).expect("a mount");
        let policy = || Policies::default().resolve("permissive").expect("a preset");
        let builder = || Context::builder().policy(policy()).without_type_check().result_optional();
        let build = |builder: ContextBuilder| builder.build(workers.clone()).expect("a context");
        Self {
            plain: build(builder()),
            with_tools: build(builder().tools(tools()).files(virtual_files()).inputs_as_names()),
            with_mount: build(builder().files(mount)),
        }
    }

    /// Runs a case; `Err` tells how it ended instead of as it says.
    async fn run(&self, code: &str) -> Result<(), String> {
        let outcome = if code.starts_with("# mount-fs\n") {
            // The cases expect a variable; it takes the place of the comment, so that lines stay.
            let code = code.replacen("# mount-fs", "from pathlib import Path; root = Path('/mnt')", 1);
            self.with_mount.execute(&code, json!({})).await
        } else if code.lines().any(|line| line == "# call-external") {
            let constants = serde_json::from_str::<serde_json::Value>(CONSTANTS).expect("constants");
            self.with_tools.execute(code, constants).await
        } else {
            self.plain.execute(code, json!({})).await
        };
        compare(&expected(code), &outcome)
    }
}

fn compare(expected: &Expected, outcome: &Outcome) -> Result<(), String> {
    let found = match (&outcome.ending, expected) {
        (Ending::Value { value }, Expected::Returns(_)) => Expected::Returns(value.repr()),
        (Ending::Value { .. }, _) => Expected::Passes,
        (ending, _) => {
            let Some((exception, message, traceback)) = raised(ending) else { return Err(describe(ending)) };
            if matches!(expected, Expected::Traceback(..)) {
                let function =
                    |frame: &Frame| frame.function.clone().unwrap_or_else(|| "<module>".to_owned());
                let frames = traceback.iter().map(|frame| (frame.line, function(frame))).collect();
                let last =
                    if message.is_empty() { exception.to_owned() } else { format!("{exception}: {message}") };
                Expected::Traceback(frames, last)
            } else {
                let message =
                    if message.is_empty() { String::new() } else { Value::Str(message.to_owned()).repr() };
                Expected::Raises(format!("{exception}({message})"))
            }
        }
    };
    if found == *expected { Ok(()) } else { Err(format!("{found:?}")) }
}

/// The exception behind an ending.
fn raised(ending: &Ending) -> Option<(&str, &str, &[Frame])> {
    match ending {
        Ending::Raised(raised) => Some((&raised.exception, &raised.message, &raised.traceback)),
        Ending::ToolFailed(failure) => Some((&failure.exception, &failure.message, &failure.traceback)),
        _ => None,
    }
}

fn describe(ending: &Ending) -> String {
    match ending {
        Ending::Rejected { rejections } => {
            let mut constructs: Vec<&str> =
                rejections.iter().map(|rejection| &*rejection.construct).collect();
            constructs.dedup();
            format!("rejected: {}", constructs.join(", "))
        }
        Ending::LimitHit(hit) => format!("limit hit: {}", hit.limit.name()),
        other => other.name().to_owned(),
    }
}

/// What the comments at the end of a case say.
fn expected(code: &str) -> Expected {
    if let Some((_, told)) = code.rsplit_once("\nTRACEBACK:\n") {
        return parse_traceback(told);
    }
    let last = code.trim_end().lines().last().unwrap_or_default();
    if let Some(value) = last.strip_prefix("# Return=") {
        return Expected::Returns(value.to_owned());
    }
    if let Some(value) = last.strip_prefix("# Return.str=") {
        return Expected::Returns(format!("'{value}'"));
    }
    match last.strip_prefix("# Raise=") {
        Some(exception) => Expected::Raises(exception.to_owned()),
        None => Expected::Passes,
    }
}

fn parse_traceback(told: &str) -> Expected {
    let told = told.trim_end().trim_end_matches("\"\"\"").trim_end();
    let mut frames = Vec::new();
    let mut last = String::new();
    for line in told.lines() {
        let place = line.strip_prefix("  File \"").and_then(|rest| rest.split_once("\", line "));
        if let Some((_, place)) = place {
            let (number, function) = place.split_once(", in ").unwrap_or((place, "<module>"));
            frames.push((number.parse().expect("a line number"), function.to_owned()));
        } else if !line.starts_with(' ') && !line.starts_with("Traceback ") {
            last = line.to_owned();
        }
    }
    Expected::Traceback(frames, last)
}

/// The folder of the engine's cases, in the crate as cargo unpacked it.
fn cases_folder() -> PathBuf {
    let version = output_of(Command::new("rustc").arg("-vV"));
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    // Without the filter, cargo asks for crates of other platforms, which nobody has downloaded.
    let arguments =
        ["metadata", "--format-version=1", "--offline", "--filter-platform", host, "--manifest-path"];
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let metadata = output_of(Command::new(env!("CARGO")).args(arguments).arg(manifest));
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let engine = packages.iter().find(|package| package["name"] == "monty").expect("the engine");
    Path::new(engine["manifest_path"].as_str().expect("a path")).with_file_name("test_cases")
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The host functions that the cases call.
fn tools() -> Toolset {
    let record = |class: &str, fields: &[(&str, Value)]| {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Value::Record(Record { class: class.to_owned(), fields })
    };
    let point = record("Point", &[("x", Value::Int(1)), ("y", Value::Int(2))]);
    let mutable_point = record("MutablePoint", &[("x", Value::Int(1)), ("y", Value::Int(2))]);
    let empty = record("Empty", &[]);
    let tools = [
        blocking("add_ints", |arguments| match arguments {
            [Value::Int(left), Value::Int(right)] => Ok(Value::Int(left + right)),
            _ => Err(ToolError::type_error("two integers are due")),
        }),
        blocking("concat_strings", |arguments| match arguments {
            [Value::Str(left), Value::Str(right)] => Ok(Value::Str(format!("{left}{right}"))),
            _ => Err(ToolError::type_error("two strings are due")),
        }),
        blocking("return_value", |arguments| Ok(arguments.first().cloned().unwrap_or(Value::None))),
        blocking("get_list", |_| Ok(Value::List(vec![Value::Int(1), Value::Int(2), Value::Int(3)]))),
        blocking("raise_error", fail),
        blocking("make_point", move |_| Ok(point.clone())),
        blocking("make_mutable_point", move |_| Ok(mutable_point.clone())),
        blocking("make_empty", move |_| Ok(empty.clone())),
        blocking("make_user", move |arguments| {
            let name = arguments.first().cloned().unwrap_or(Value::None);
            Ok(record("User", &[("name", name), ("active", Value::Bool(true))]))
        }),
        Tool::awaited(signature("async_call"), |call| async move {
            Ok(call.arguments.first().cloned().unwrap_or(Value::None))
        }),
        Tool::awaited(signature("async_fail"), |call| async move { fail(&call.arguments) }),
    ];
    Toolset::new(tools).expect("distinct names")
}

fn blocking(
    name: &str,
    answer: impl Fn(&[Value]) -> Result<Value, ToolError> + Send + Sync + 'static,
) -> Tool {
    Tool::blocking(signature(name), move |call| answer(&call.arguments))
}

fn signature(name: &str) -> Signature {
    Signature::parse(&format!("def {name}(*arguments: object, **keywords: object) -> object: ..."))
        .expect("a signature")
}

fn fail(arguments: &[Value]) -> Result<Value, ToolError> {
    match arguments {
        [Value::Str(exception), Value::Str(message)] => Err(ToolError::new(exception, message)),
        _ => Err(ToolError::type_error("an exception and a message are due")),
    }
}

const TREE: [(&str, &[u8]); 5] = [
    ("empty.txt", b""),
    ("data.bin", b"\x00\x01\x02\x03"),
    ("subdir/nested.txt", b"nested content"),
    ("readonly.txt", b"readonly content"),
    ("hello.txt", b"hello world\n"),
];

fn fill_mount(folder: &Path) {
    fs::create_dir_all(folder.join("subdir/deep")).expect("folders");
    for (name, content) in TREE {
        fs::write(folder.join(name), content).expect("a file");
    }
    fs::write(folder.join("subdir/deep/file.txt"), "deep file").expect("a file");
}

fn virtual_files() -> Files {
    let files: [(&str, &[u8]); 6] = [
        ("/virtual/file.txt", b"hello world\n"),
        ("/virtual/data.bin", b"\x00\x01\x02\x03"),
        ("/virtual/empty.txt", b""),
        ("/virtual/subdir/nested.txt", b"nested content"),
        ("/virtual/subdir/deep/file.txt", b"deep"),
        ("/virtual/readonly.txt", b"readonly"),
    ];
    files
        .into_iter()
        .fold(Files::none(), |all, (path, content)| all.with_file(path, content).expect("a file"))
}
