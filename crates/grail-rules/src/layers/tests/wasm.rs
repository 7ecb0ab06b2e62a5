//! Tests on Python 3.14 in WebAssembly, under Node: for code that the project's interpreter is too old for.
//!
//! The walls are Node's permission model (only the runtime's folder can be read, nothing written, nothing started), an empty environment and
//! our deadline. The process gets the project's files as one request on its standard input and answers with one line, which is believed
//! no further than the tests themselves.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{BadTest, TestSettings, Tested, judge, on_one_line, runtime_folder};
use crate::bounded::read_text;
use crate::layers::LayerContext;
use crate::tools::{self, Capture, Environment, Invocation, Origin, Tool, ToolProblem, last_words, shorten};

/// What the runner takes at most.
const MAX_FILES: usize = 2000;
const MAX_REQUEST: usize = 16 * 1024 * 1024;
const MAX_RESULT: usize = 16 * 1024 * 1024;
const MAX_STDERR: usize = 1024 * 1024;
const MAX_RUNNER_BYTES: u64 = 1024 * 1024;
/// 512 MiB.
const MAX_PAGES: u32 = 8192;
const NAME: &str = "pytest (wasm)";
/// The runner as this program knows it. What a runtime has in its place could be of another version, or somebody else's.
const RUNNER_FILES: [(&str, &str); 4] = [
    ("inside.mjs", include_str!("../../../runners/inside.mjs")),
    ("local.py", include_str!("../../../runners/local.py")),
    ("quiet_loop.py", include_str!("../../../runners/quiet_loop.py")),
    ("wasm.mjs", include_str!("../../../runners/wasm.mjs")),
];
/// Settings of pytest that a bundle takes along.
const CONFIGURATION: [&str; 2] = ["pytest.ini", "pyproject.toml"];

pub(super) fn run(
    context: &LayerContext,
    settings: &TestSettings,
    files: &[Arc<str>],
) -> Result<Tested, ToolProblem> {
    let Some(word) = settings.command.iter().position(|word| word == "pytest") else {
        return Err(refused("the runner `wasm` runs `pytest` only".to_owned()));
    };
    let Some(runtime) =
        runtime_folder(context, settings).filter(|folder| folder.join("runners/wasm.mjs").is_file())
    else {
        let hint = "install Python for WebAssembly into `.grail/runtimes/wasm`, or set `runner = \"local\"`";
        return Ok(Tested::Missing { tool: "the runner `wasm`".to_owned(), hint: Some(hint.to_owned()) });
    };
    let node = tools::candidates(&context.root, "node", &context.tools);
    // A project's environment has no business in what runs its tests behind walls.
    let Some(node) = node.into_iter().find(|tool| tool.origin == Origin::Path) else {
        let hint = "install Node 20 or newer, or set `runner = \"local\"`".to_owned();
        return Ok(Tested::Missing { tool: "node".to_owned(), hint: Some(hint) });
    };
    let is_own = |(name, text): &(&str, &str)| {
        read_text(&runtime.join("runners").join(name), MAX_RUNNER_BYTES).is_some_and(|found| found == *text)
    };
    if let Some((name, _)) = RUNNER_FILES.iter().find(|file| !is_own(file)) {
        let file = runtime.join("runners").join(name);
        return Err(refused(format!("`{}` is not the runner of this version of Grail", file.display())));
    }
    let request = Request {
        id: 1,
        files: read_bundle(context, files)?,
        run: Run { pytest: &settings.command[word + 1..] },
        paths: &settings.import_paths,
    };
    let mut input = serde_json::to_vec(&request).map_err(|error| refused(error.to_string()))?;
    input.push(b'\n');
    if input.len() > MAX_REQUEST {
        return Err(refused(format!("the project's files have more than {MAX_REQUEST} bytes together")));
    }
    let output = node.invoke(&Invocation {
        program: node.program.clone(),
        arguments: node_arguments(&node, &runtime)?,
        directory: runtime,
        input,
        environment: Environment::Empty,
        deadline: settings.deadline,
        stdout: Capture::Whole(MAX_RESULT),
        stderr: Capture::Tail(MAX_STDERR),
    })?;
    let said = last_words(&output.stderr);
    match output.code {
        Some(0) if output.stdout.trim_ascii().is_empty() => {
            Err(ToolProblem::EmptyOutput { tool: NAME.to_owned(), code: 0, said })
        }
        // 3 comes with a line that says why.
        Some(0 | 3) => understand(&output.stdout),
        Some(code) => Err(ToolProblem::ExitCode { tool: NAME.to_owned(), code, said }),
        None => Err(ToolProblem::Killed { tool: NAME.to_owned(), said }),
    }
}

#[derive(Serialize)]
struct Request<'settings> {
    id: u32,
    files: BTreeMap<String, String>,
    run: Run<'settings>,
    paths: &'settings [String],
}

#[derive(Serialize)]
struct Run<'settings> {
    pytest: &'settings [String],
}

#[derive(Debug, Deserialize)]
struct Answer {
    id: Option<u32>,
    exit: Option<i32>,
    #[serde(default)]
    tests: Vec<AnswerTest>,
    #[serde(default)]
    error: Option<AnswerError>,
    #[serde(default)]
    stdout: String,
}

#[derive(Debug, Deserialize)]
struct AnswerTest {
    /// `tests/test_cart.py::TestCart::test_sum`, or only the file.
    test: String,
    outcome: String,
    #[serde(default)]
    message: String,
    line: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct AnswerError {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

fn understand(stdout: &[u8]) -> Result<Tested, ToolProblem> {
    let unclear = |detail: String| ToolProblem::NotUnderstood { tool: NAME.to_owned(), detail };
    let answer: Answer =
        serde_json::from_slice(stdout).map_err(|error| unclear(shorten(&error.to_string(), 200)))?;
    if let Some(error) = answer.error {
        return Err(refused(shorten(&format!("{}: {}", error.kind, on_one_line(&error.message)), 400)));
    }
    if answer.id != Some(1) {
        return Err(unclear("it answers another request".to_owned()));
    }
    let Some(code) = answer.exit else {
        return Err(unclear("it has no exit code".to_owned()));
    };
    let count = answer.tests.len();
    let mut bad = Vec::new();
    for test in answer.tests {
        match test.outcome.as_str() {
            "passed" | "skipped" => {}
            "failed" | "error" => bad.push(describe(test)),
            other => return Err(unclear(format!("unknown outcome `{}`", shorten(other, 40)))),
        }
    }
    judge(NAME, code, count, bad, last_words(answer.stdout.as_bytes()))
}

fn describe(test: AnswerTest) -> BadTest {
    let message = on_one_line(&test.message);
    let Some((path, name)) = test.test.split_once("::") else {
        let message = format!("`{}` could not be collected: {message}", shorten(&test.test, 200));
        return BadTest { path: test.test, line: test.line, rule: "collection-error", message };
    };
    let (rule, verb) =
        if test.outcome == "error" { ("test-error", "broke") } else { ("test-failed", "failed") };
    let name = shorten(&name.replace("::", "."), 200);
    BadTest { path: path.to_owned(), line: test.line, rule, message: format!("`{name}` {verb}: {message}") }
}

/// The files as text, which is how the runner takes them.
fn read_bundle(context: &LayerContext, files: &[Arc<str>]) -> Result<BTreeMap<String, String>, ToolProblem> {
    if files.len() > MAX_FILES {
        return Err(refused(format!(
            "the project has {} files; {MAX_FILES} can be run at once",
            files.len()
        )));
    }
    let mut bundle = BTreeMap::new();
    for path in files {
        let file = grail_project::read_source(&context.root.join(&**path), context.max_file_bytes)
            .map_err(|error| refused(error.to_string()))?;
        if file.source.encoding() != "utf-8" {
            let encoding = file.source.encoding();
            return Err(refused(format!("`{path}` is {encoding}; files have to be UTF-8 to be run there")));
        }
        bundle.insert(path.to_string(), file.source.text().to_owned());
    }
    for name in CONFIGURATION {
        if let Some(text) = read_text(&context.root.join(name), context.max_file_bytes) {
            bundle.insert(name.to_owned(), text);
        }
    }
    Ok(bundle)
}

fn node_arguments(node: &Tool, runtime: &Path) -> Result<Vec<OsString>, ToolProblem> {
    let version = node.version(runtime)?;
    let Some(permission) = permission_flag(&version) else {
        return Err(refused(format!("Node {version} has no permission model; 20 is the first that has one")));
    };
    // Node takes a comma for the border between two paths and a star for all of them.
    let Some(readable) = runtime.to_str().filter(|path| !path.contains([',', '*'])) else {
        return Err(refused(format!("`{}` cannot be given to Node as a path to read", runtime.display())));
    };
    let arguments = [
        permission.to_owned(),
        format!("--allow-fs-read={readable}/"),
        "--disallow-code-generation-from-strings".to_owned(),
        "--experimental-vm-modules".to_owned(),
        "--no-warnings".to_owned(),
        format!("--wasm-max-mem-pages={MAX_PAGES}"),
        format!("{readable}/runners/wasm.mjs"),
    ];
    Ok(arguments.map(OsString::from).to_vec())
}

/// The flag lost its prefix in Node 22.13 and 23.5.
fn permission_flag(version: &str) -> Option<&'static str> {
    let mut parts = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    let version = (parts.next()?.ok()?, parts.next()?.ok()?);
    match version {
        (0..=19, _) => None,
        (20 | 21, _) | (22, 0..=12) | (23, 0..=4) => Some("--experimental-permission"),
        _ => Some("--permission"),
    }
}

fn refused(message: String) -> ToolProblem {
    ToolProblem::Refused { tool: NAME.to_owned(), message }
}
