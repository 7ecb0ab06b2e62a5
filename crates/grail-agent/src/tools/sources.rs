//! Python files as they would be: what is staged over what is on disk.

use grail_code::{ModuleName, Parsed, Project, ProjectFile, Source, parse_module};
use grail_project::{ProjectError, PythonFile, WalkOptions, load_project, walk_python_files};

use super::bounds::check_paths;
use super::failure;
use crate::AgentError;
use crate::staging::clean_path;
use crate::workspace::Workspace;

/// The text of a file, under its clean path.
pub(super) fn text(workspace: &Workspace, path: &str) -> Result<(String, String), AgentError> {
    let path = clean_path(path)?;
    match workspace.staging.read(&path)? {
        Some(text) => Ok((path, text)),
        None => Err(missing(&path)),
    }
}

/// A Python file, parsed. Broken code is parsed too.
pub(super) fn parsed(workspace: &Workspace, path: &str) -> Result<(String, Parsed), AgentError> {
    let (path, text) = text(workspace, path)?;
    if !is_python(&path) {
        return Err(failure(format!("`{path}` is no Python file"), "it has to end in `.py` or `.pyi`"));
    }
    Ok((path, parse_module(Source::from_text(text))))
}

/// A path that names no file.
pub(super) fn missing(path: &str) -> AgentError {
    failure(format!("`{path}` does not exist"), "`list_files` shows what there is")
}

/// The Python files that these files and folders mean, in order; all of them if none is named.
pub(super) fn python_paths(workspace: &Workspace, paths: &[String]) -> Result<Vec<String>, AgentError> {
    check_paths(paths)?;
    let staged = workspace.staging.staged();
    let everything = [String::new()];
    let mut found = Vec::new();
    for path in if paths.is_empty() { &everything } else { paths } {
        let folder = folder(path)?;
        let before = found.len();
        match staged.get(&folder) {
            Some(Some(_)) => found.push(folder.clone()),
            Some(None) => return Err(missing(&folder)),
            None => {
                let full = workspace.staging.locate(&folder)?;
                if full.is_file() {
                    found.push(folder.clone());
                } else {
                    let is_there = |path: &String| staged.get(path).is_none_or(Option::is_some);
                    found.extend(walk(workspace, &folder)?.into_iter().filter(is_there));
                    let inside = |path: &&String| is_python(path) && is_below(path, &folder);
                    let new = staged.iter().filter(|(_, text)| text.is_some()).map(|(path, _)| path);
                    found.extend(new.filter(inside).cloned());
                    if found.len() == before && !full.is_dir() {
                        return Err(missing(&folder));
                    }
                }
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The project's Python files that `keep` wants by module and text, parsed. A file that never mentions a name need not be parsed to
/// find it.
pub(super) fn project(workspace: &Workspace, keep: impl Fn(&ModuleName, &str) -> bool + Sync) -> Project {
    let files = workspace.python_files();
    let staged = workspace.staging.staged();
    let mut project = load_project(&workspace.project, &files, &|_| {}, &keep).project;
    // What lies outside, behind a link, is none of a model's business.
    project.files.retain(|file| !file.path.starts_with('/') && !staged.contains_key(&file.path));
    for (path, text) in staged {
        let Some(text) = text.filter(|_| is_python(&path)) else { continue };
        let module = workspace.module_of(&path);
        if keep(&module, &text) {
            project.files.push(ProjectFile { path, module, parsed: parse_module(Source::from_text(text)) });
        }
    }
    project.files.sort_by(|left, right| left.path.cmp(&right.path));
    project
}

pub(super) fn is_python(path: &str) -> bool {
    path.ends_with(".py") || path.ends_with(".pyi")
}

/// Whether a path is the folder or lies in it; everything lies in the folder without a name.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// A clean path of a file or folder; the project itself is the empty one.
pub(super) fn folder(path: &str) -> Result<String, AgentError> {
    match path.trim_end_matches('/') {
        "" if !path.is_empty() => clean_path(path),
        "" | "." => Ok(String::new()),
        path => clean_path(path),
    }
}

fn walk(workspace: &Workspace, folder: &str) -> Result<Vec<String>, AgentError> {
    let root = &workspace.project.root;
    let options =
        WalkOptions { root: root.clone(), exclude: workspace.project.config.project.exclude.clone() };
    let files: Vec<PythonFile> = match walk_python_files(&[root.join(folder)], &options) {
        Ok(walked) => walked.files,
        Err(ProjectError::NoPythonFiles { .. } | ProjectError::PathMissing { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let relative = |file: &PythonFile| {
        let path = file.path.strip_prefix(root).ok()?;
        Some(path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"))
    };
    Ok(files.iter().filter_map(relative).filter(|path| workspace.staging.locate(path).is_ok()).collect())
}
