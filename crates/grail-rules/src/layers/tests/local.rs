//! Tests on the project's own interpreter. They are the project's code and have the rights of whoever runs the check.

use std::ffi::OsString;
use std::path::Path;

use super::{BadTest, TestSettings, Tested, judge, junit, on_one_line};
use crate::bounded::read_text;
use crate::layers::LayerContext;
use crate::libraries::installed_version;
use crate::tools::{
    self, Capture, Environment, Invocation, Origin, Output, Tool, ToolProblem, is_program, last_words,
    shorten,
};

const MAX_OUTPUT: usize = 1024 * 1024;
const MAX_REPORT: u64 = 64 * 1024 * 1024;

pub(super) fn run(context: &LayerContext, settings: &TestSettings) -> Result<Tested, ToolProblem> {
    let Some((name, arguments)) = settings.command.split_first() else {
        let message = "the command for the tests is empty".to_owned();
        return Err(ToolProblem::Refused { tool: "tests".to_owned(), message });
    };
    let Some(tool) = find_program(context, name) else {
        return Ok(Tested::Missing { tool: name.clone(), hint: None });
    };
    if settings.is_pytest() {
        return run_pytest(&tool, arguments, context, settings);
    }
    let output = run_command(&tool, arguments.iter().map(OsString::from).collect(), context, settings)?;
    let tool = shorten(&settings.command.join(" "), 80);
    match output.code {
        Some(0) => Ok(Tested::Ran { tool, bad: Vec::new() }),
        Some(code) => {
            let said = last_lines(&output);
            let message = format!("`{tool}` failed with exit code {code}{said}");
            let bad = BadTest { path: String::new(), line: None, rule: "tests-failed", message };
            Ok(Tested::Ran { tool, bad: vec![bad] })
        }
        None => Err(ToolProblem::Killed { tool, said: last_words(&output.stderr) }),
    }
}

fn run_pytest(
    tool: &Tool,
    arguments: &[String],
    context: &LayerContext,
    settings: &TestSettings,
) -> Result<Tested, ToolProblem> {
    let name = name_with_version(tool, context)?;
    let folder = tempfile::Builder::new().prefix("grail-tests-").tempdir();
    let folder = folder.map_err(|error| ToolProblem::Refused {
        tool: name.clone(),
        message: format!("no folder for the report could be made: {error}"),
    })?;
    let report = folder.path().join("report.xml");
    let mut all: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    all.extend(["-o", "junit_family=xunit1"].map(OsString::from));
    all.push(option("--junitxml=", &report));
    // Paths in the report are relative to this.
    all.push(option("--rootdir=", &context.root));
    let output = run_command(tool, all, context, settings)?;
    let said = match last_words(&output.stderr) {
        said if said.is_empty() => last_words(&output.stdout),
        said => said,
    };
    let Some(code) = output.code else {
        return Err(ToolProblem::Killed { tool: name, said });
    };
    // Without an agreement about the report there is none to read.
    if matches!(code, 3 | 4) {
        return judge(&name, code, 0, Vec::new(), said);
    }
    let Some(text) = read_text(&report, MAX_REPORT) else {
        return Err(match code {
            0 => ToolProblem::EmptyOutput { tool: name, code, said },
            code => ToolProblem::ExitCode { tool: name, code, said },
        });
    };
    let report = junit::read(&text)
        .map_err(|detail| ToolProblem::NotUnderstood { tool: name.clone(), detail: shorten(&detail, 200) })?;
    judge(&name, code, report.tests, report.bad, said)
}

/// Starting pytest only to ask for its version takes longer than many a test, so what is installed is read where that tells.
fn name_with_version(tool: &Tool, context: &LayerContext) -> Result<String, ToolProblem> {
    if tool.name != "pytest" {
        return Ok("pytest".to_owned());
    }
    let installed =
        (tool.origin == Origin::Project).then(|| installed_version(&context.root, "pytest")).flatten();
    installed.map_or_else(|| tool.version(&context.root), |version| Ok(format!("pytest {version}")))
}

/// A program of the project's environment, on `PATH`, or a path below the root. Never through `uvx`.
fn find_program(context: &LayerContext, name: &str) -> Option<Tool> {
    if name.contains('/') {
        let program = context.root.join(name);
        let tool =
            Tool { name: name.to_owned(), program, prefix_arguments: Vec::new(), origin: Origin::Project };
        return is_program(&tool.program).then_some(tool);
    }
    tools::candidates(&context.root, name, &context.tools).into_iter().find(|tool| tool.origin != Origin::Uvx)
}

fn run_command(
    tool: &Tool,
    arguments: Vec<OsString>,
    context: &LayerContext,
    settings: &TestSettings,
) -> Result<Output, ToolProblem> {
    tool.invoke(&Invocation {
        program: tool.program.clone(),
        arguments,
        directory: context.root.clone(),
        input: Vec::new(),
        environment: Environment::Plain,
        deadline: settings.deadline,
        // Tests may print as much as they like; only the end is of interest.
        stdout: Capture::Tail(MAX_OUTPUT),
        stderr: Capture::Tail(MAX_OUTPUT),
    })
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// The end of what a command said, on one line.
fn last_lines(output: &Output) -> String {
    let stream = if output.stderr.trim_ascii().is_empty() { &output.stdout } else { &output.stderr };
    let text = String::from_utf8_lossy(stream);
    let mut lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    lines.reverse();
    if lines.is_empty() { String::new() } else { format!(": {}", on_one_line(&lines.join("\n"))) }
}
