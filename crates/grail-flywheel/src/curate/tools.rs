//! Examples before other people's tools: all of them in one run, in a folder beside links to the project's own files.
//!
//! They can import what the project has. What they import from beside their own place cannot be found here and is not held against them.

use std::collections::BTreeMap;

use grail_project::Project;
use grail_rules::{Finding, Layer};

/// What the findings of a layer are called in a sentence.
pub(super) fn told(layer: Layer) -> &'static str {
    match layer {
        Layer::Types => "types were",
        Layer::Lint => "lint was",
        Layer::Tests => "tests were",
        Layer::Syntax => "syntax was",
        Layer::Rules => "rules were",
    }
}

/// What a tool finds in each of these texts, by its place. An error is a sentence that says why nothing could be found.
#[cfg(unix)]
pub(super) fn findings(
    project: &Project,
    layer: Layer,
    texts: &[&str],
) -> Result<BTreeMap<usize, Vec<Finding>>, String> {
    use std::sync::Arc;

    use grail_rules::layers::{self, LayerStatus};

    /// Beside the project's own files.
    const FOLDER: &str = "grail_examples";
    /// What ty calls an import that it cannot find, in all its versions.
    const MISSING_IMPORTS: [&str; 2] = ["import-not-found", "unresolved-import"];

    let failed = |error: std::io::Error| error.to_string();
    let folder = tempfile::TempDir::with_prefix("grail-examples-").map_err(failed)?;
    let root = folder.path().canonicalize().map_err(failed)?;
    for entry in std::fs::read_dir(&project.root).map_err(failed)?.flatten() {
        let name = entry.file_name();
        let is_left_out = [".git", ".grail", "target", FOLDER].iter().any(|out| name == *out);
        if !is_left_out {
            std::os::unix::fs::symlink(entry.path(), root.join(&name)).map_err(failed)?;
        }
    }
    std::fs::create_dir(root.join(FOLDER)).map_err(failed)?;
    let mut paths: BTreeMap<String, usize> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        let path = format!("{FOLDER}/example_{place}.py");
        std::fs::write(root.join(&path), text).map_err(failed)?;
        paths.insert(path, place);
    }
    let files: Vec<Arc<str>> = paths.keys().map(|path| Arc::from(path.as_str())).collect();
    let copy = Project { root, config: project.config.clone() };
    let reports = layers::run_all(&copy, &[layer], &files).map_err(|problem| problem.to_string())?;
    let mut found: BTreeMap<usize, Vec<Finding>> = BTreeMap::new();
    for report in reports {
        match report.status {
            LayerStatus::Ran { .. } => {}
            LayerStatus::Skipped { reason } => return Err(reason),
            LayerStatus::Unavailable { tool, hint } => {
                return Err(format!("`{tool}` is not installed; {hint}"));
            }
            LayerStatus::Failed { message, .. } => return Err(message),
        }
        for finding in report.findings {
            let is_about_place = MISSING_IMPORTS.contains(&&*finding.rule);
            if let Some(place) = paths.get(&*finding.path).filter(|_| finding.is_failure() && !is_about_place)
            {
                found.entry(*place).or_default().push(finding);
            }
        }
    }
    Ok(found)
}

#[cfg(not(unix))]
pub(super) fn findings(_: &Project, _: Layer, _: &[&str]) -> Result<BTreeMap<usize, Vec<Finding>>, String> {
    Err("that needs links to the project's files".to_owned())
}
