//! Whether an answer can be rendered: imported and called under Python 3.14 in WebAssembly, behind the walls that tests have there.
//!
//! This layer is optional: it runs where the runner is installed, for the kinds that give HTML. What needs more than the standard library, tdom and its own
//! file cannot be rendered here, and that is not held against it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use grail_flywheel::event::Problem;
use grail_flywheel::suite::Suite;
use grail_project::Project;
use grail_rules::layers::tests::{Runner, TestSettings, run};
use grail_rules::layers::{LayerContext, LayerStatus};
use tempfile::TempDir;

use super::judge::Verdict;
use crate::workspace::Workspace;

/// What imports an artifact, makes up its arguments and renders it.
const RENDERING: &str = include_str!("render.py");
/// What the layer is called.
pub(super) const RENDER: &str = "render";
/// Kinds that give HTML.
const KINDS: [&str; 2] = ["component", "view"];
const RUNTIME: &str = ".grail/runtimes/wasm";
pub(super) const NOT_INSTALLED: &str =
    "answers were not rendered: Python for WebAssembly is not in `.grail/runtimes/wasm`";
/// Files for one run of the runner.
const AT_ONCE: usize = 400;

/// Whether answers were rendered, and what is to be said about that.
pub(super) struct Rendered {
    pub ran: bool,
    pub notes: Vec<String>,
}

/// Whether a suite asks for anything that can be rendered.
pub(super) fn is_wanted(suite: &Suite) -> bool {
    suite.kinds().iter().any(|kind| KINDS.contains(kind))
}

/// Whether the runner is there.
pub(super) fn is_installed(workspace: &Workspace) -> bool {
    workspace.project.root.join(RUNTIME).join("runners/wasm.mjs").is_file()
}

/// Renders the files that pass so far.
pub(super) fn judge_rendering(workspace: &Workspace, verdicts: &mut [(&str, &mut Verdict)]) -> Rendered {
    let note =
        |reason: String| Rendered { ran: false, notes: vec![format!("answers were not rendered: {reason}")] };
    if !is_installed(workspace) {
        return Rendered { ran: false, notes: vec![NOT_INSTALLED.to_owned()] };
    }
    let mut files: Vec<(usize, bool, String)> = Vec::new();
    for (place, (_, verdict)) in verdicts.iter().enumerate().filter(|(_, (kind, _))| KINDS.contains(kind)) {
        let as_it_stands = verdict.code.as_ref().filter(|_| verdict.passes());
        let after_fixes = verdict.fixed.as_ref().filter(|_| verdict.passes_with_fixes());
        files.extend(as_it_stands.map(|code| (place, false, code.clone())));
        files.extend(
            after_fixes.filter(|_| as_it_stands != after_fixes).map(|code| (place, true, code.clone())),
        );
    }
    for chunk in files.chunks(AT_ONCE) {
        let texts: Vec<&str> = chunk.iter().map(|(_, _, code)| code.as_str()).collect();
        let failed = match failures(&workspace.project, &texts) {
            Ok(failed) => failed,
            Err(reason) => return note(reason),
        };
        for (number, message) in failed {
            let Some((place, is_fixed, _)) = chunk.get(number) else { continue };
            let layer = RENDER.to_owned();
            let problem = Problem { rule: layer.clone(), layer, message, line: 0, hint: None };
            let verdict = &mut *verdicts[*place].1;
            let is_same = verdict.code == verdict.fixed;
            if !is_fixed {
                verdict.problems.push(problem.clone());
            }
            if *is_fixed || is_same {
                verdict.left.push(problem);
            }
        }
    }
    Rendered { ran: true, notes: Vec::new() }
}

/// What is wrong with those that cannot be rendered, by their place.
fn failures(project: &Project, texts: &[&str]) -> Result<BTreeMap<usize, String>, String> {
    let folder = TempDir::with_prefix("grail-render-").map_err(|error| error.to_string())?;
    let root = folder.path().canonicalize().map_err(|error| error.to_string())?;
    let mut files: Vec<Arc<str>> = Vec::new();
    let mut write = |path: String, text: &str| {
        let target = root.join(&path);
        files.push(path.into());
        fs::create_dir_all(target.parent().unwrap_or(Path::new("."))).and_then(|()| fs::write(&target, text))
    };
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    let mut written = write("rendering/grail_rendering.py".to_owned(), RENDERING);
    for (number, text) in texts.iter().enumerate() {
        let test = format!("tests/test_answer_{number}.py");
        let call = format!(
            "from grail_rendering import render\n\n\ndef test_rendering():\n    render(\"grail_answer_{number}\")\n"
        );
        written = written
            .and_then(|()| write(format!("rendering/grail_answer_{number}.py"), text))
            .and_then(|()| write(test.clone(), &call));
        wanted.insert(test, number);
    }
    written.map_err(|error| error.to_string())?;
    let copy = Project { root: root.clone(), config: project.config.clone() };
    let settings = TestSettings {
        runner: Runner::Wasm,
        runtime: Some(project.root.join(RUNTIME)),
        import_paths: vec!["rendering".to_owned()],
        ..TestSettings::default()
    };
    let report = run(&LayerContext::new(&copy), &settings, &files);
    match report.status {
        // With nothing but skipped tests nothing is wrong.
        LayerStatus::Ran { .. } | LayerStatus::Skipped { .. } => {}
        LayerStatus::Unavailable { tool, hint } => return Err(format!("{tool} is not installed; {hint}")),
        LayerStatus::Failed { message, .. } => return Err(message),
    }
    let mut failed = BTreeMap::new();
    for finding in report.findings {
        if let Some(number) = wanted.get(&*finding.path) {
            failed.entry(*number).or_insert(finding.message);
        }
    }
    Ok(failed)
}
