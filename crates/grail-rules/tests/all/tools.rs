//! Where tools are found, and that a program can neither hang nor flood a check.

use std::time::Duration;

use grail_rules::layers::{LayerStatus, lint};
use grail_rules::tools::{self, Origin, ToolSettings};

use crate::tool_project::{ToolProject, paths};

fn settings(path: &std::path::Path) -> ToolSettings {
    ToolSettings { search_path: Some(path.as_os_str().to_owned()), ..ToolSettings::default() }
}

const SAYS_VERSION: &str = "#!/bin/sh\necho 'tool 1.0'\n";

#[test]
fn the_projects_own_tool_comes_before_path_and_uvx() {
    let project = ToolProject::new(&[]);
    project.program("elsewhere/ruff", SAYS_VERSION);
    project.program("elsewhere/uvx", SAYS_VERSION);
    let settings = settings(&project.root().join("elsewhere"));
    let origins = |name: &str| -> Vec<Origin> {
        tools::candidates(project.root(), name, &settings).iter().map(|tool| tool.origin).collect()
    };
    assert_eq!(origins("ruff"), [Origin::Path, Origin::Uvx]);
    assert_eq!(origins("ty"), [Origin::Uvx]);
    assert_eq!(origins("pytest"), []);
    project.program(".venv/bin/ruff", SAYS_VERSION);
    assert_eq!(origins("ruff"), [Origin::Project, Origin::Path, Origin::Uvx]);
    let through = tools::find(project.root(), "ty", &settings).unwrap();
    assert_eq!(through.prefix_arguments, ["--quiet", "ty"]);
    assert_eq!(tools::find(project.root(), "ty", &ToolSettings { uvx: false, ..settings.clone() }), None);
}

#[test]
fn files_that_cannot_be_run_and_relative_folders_of_path_do_not_count() {
    let project = ToolProject::new(&[(".venv/bin/ruff", "not executable")]);
    let relative = ToolSettings { search_path: Some(".:bin:".into()), ..ToolSettings::default() };
    assert_eq!(tools::find(project.root(), "ruff", &relative), None);
    assert_eq!(tools::find(project.root(), "../ruff", &relative), None);
}

#[test]
fn a_shim_with_nothing_behind_it_is_passed_over() {
    let project = ToolProject::new(&[]);
    project.program("shims/ruff", "#!/bin/sh\necho 'ruff: command not found' >&2\nexit 127\n");
    let settings = ToolSettings { uvx: false, ..settings(&project.root().join("shims")) };
    assert!(tools::find_working(project.root(), "ruff", &settings).unwrap().is_none());
}

#[test]
fn a_broken_tool_of_the_project_is_an_error_and_not_a_reason_to_look_elsewhere() {
    let project = ToolProject::new(&[]);
    project.program(".venv/bin/ruff", "#!/bin/sh\necho 'no such interpreter' >&2\nexit 3\n");
    project.program("bin/ruff", SAYS_VERSION);
    let problem =
        tools::find_working(project.root(), "ruff", &settings(&project.root().join("bin"))).unwrap_err();
    assert_eq!(problem.to_string(), "`ruff` failed with exit code 3: no such interpreter");
}

#[test]
fn a_tool_that_is_not_installed_runs_through_uvx() {
    let project = ToolProject::new(&[("a.py", "x = 1\n")]);
    let script = "[ \"$1 $2\" = '--quiet ruff' ] || exit 9\nif [ \"$3\" = --version ]; then echo 'ruff 9.9'; else echo '[]'; fi\n";
    project.program("bin/uvx", &format!("#!/bin/sh\n{script}"));
    let mut context = project.context();
    context.tools.search_path = Some(project.root().join("bin").into_os_string());
    let run = |uvx: bool| {
        let mut context = context.clone();
        context.tools.uvx = uvx;
        lint::run(&context, &paths(&["a.py"])).status
    };
    assert!(
        matches!(run(true), LayerStatus::Ran { tool: Some(tool), findings: 0, .. } if tool == "ruff 9.9")
    );
    assert!(matches!(run(false), LayerStatus::Unavailable { .. }));
}

/// The status of the lint layer with a `ruff` that does this.
fn status_with(script: &str, deadline: Duration) -> LayerStatus {
    let project = ToolProject::new(&[("a.py", "x = 1\n")]).fake("ruff", script);
    let mut context = project.context();
    context.tools.deadline = deadline;
    lint::run(&context, &paths(&["a.py"])).status
}

fn failure_with(script: &str, deadline: Duration) -> String {
    match status_with(script, deadline) {
        LayerStatus::Failed { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_tool_that_hangs_is_ended_with_all_it_started() {
    let hanging = "tail -f /dev/null & tail -f /dev/null";
    assert_eq!(failure_with(hanging, SHORT), "`ruff` had not ended after 0.3 seconds and was stopped");
    let without_output = "exec >/dev/null 2>&1; tail -f /dev/null";
    assert_eq!(failure_with(without_output, SHORT), "`ruff` had not ended after 0.3 seconds and was stopped");
}

#[test]
fn what_a_tool_leaves_behind_does_not_keep_the_check_waiting() {
    let status = status_with("tail -f /dev/null & echo '[]'", LONG);
    assert!(matches!(status, LayerStatus::Ran { findings: 0, .. }), "{status:?}");
}

#[test]
fn endless_output_is_cut_off() {
    assert_eq!(failure_with("yes", LONG), "`ruff` wrote more than 67108864 bytes and was stopped");
    // Endless complaints are not kept, and not waited for.
    assert_eq!(failure_with("yes >&2", SHORT), "`ruff` had not ended after 0.3 seconds and was stopped");
}

#[test]
fn a_tool_sees_no_terminal_no_input_and_the_projects_root() {
    let script = "[ ! -t 1 ] && [ -z \"$(cat)\" ] && [ \"$NO_COLOR\" = 1 ] && [ -f a.py ] && echo '[]'";
    assert!(matches!(status_with(script, LONG), LayerStatus::Ran { findings: 0, .. }));
}

#[test]
fn a_tool_that_a_signal_ended_has_failed() {
    assert_eq!(failure_with("echo '[]'; kill -9 $$", LONG), "`ruff` was ended by a signal");
}
