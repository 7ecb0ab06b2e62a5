//! The projects that open documents belong to, each with its rules. Read once; forgotten when rules or settings are saved.
//!
//! Rules across files look at what is on disk, when a project is first met and whenever a file is saved. What they find in a document is
//! shown as long as it is as it was saved.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grail_code::{ModuleName, Source, parse_module};
use grail_project::{
    Project, SourceRoots, WalkOptions, find_root, project_path, read_source, walk_python_files,
};
use grail_rules::{
    Checker, FileUnderCheck, Finding, Layer, Library, Origin, ProjectCheck, PythonRules, RuleSet, Safety,
    SandboxedRules,
};
use lsp_types::Uri;

use crate::check::{RuleArguments, build_identity, library_problems, python_rules};

#[derive(Default)]
pub(super) struct Workspaces {
    /// By root. A project whose settings or rules cannot be used says why.
    known: BTreeMap<PathBuf, Result<Workspace, String>>,
    /// What is to be told to the client.
    problems: Vec<String>,
}

struct Workspace {
    project: Project,
    roots: SourceRoots,
    library: Library,
    rules: RuleSet,
    python: Option<SandboxedRules>,
    /// What rules across files found, by path; `None` if they have yet to look.
    across: Option<BTreeMap<Arc<str>, Vec<Finding>>>,
}

impl Workspaces {
    /// What is found in a document. `Err` says why it was not checked.
    pub(super) fn check(&mut self, uri: &Uri, source: &Source) -> Result<Vec<Finding>, String> {
        let (workspace, path, module) = self.place(uri, source.text())?;
        let work = || {
            let parsed = parse_module(source.clone());
            let file = FileUnderCheck::new(Arc::clone(&path), module.clone(), &parsed);
            let mut findings = workspace.checker().check(&file).report.findings;
            findings.extend(workspace.found_across(&path, source.text()));
            findings.sort_by_key(|finding| (finding.start, finding.end));
            findings
        };
        // One document must not end the server.
        catch_unwind(AssertUnwindSafe(work))
            .map_err(|_| format!("checking `{path}` failed; this is a bug in Grail"))
    }

    /// A file was saved: rules across files must look again.
    pub(super) fn saved(&mut self) {
        for workspace in self.known.values_mut().flatten() {
            workspace.across = None;
        }
    }

    /// The text after all safe fixes.
    pub(super) fn fix(&mut self, uri: &Uri, text: &str) -> Result<String, String> {
        let (workspace, path, module) = self.place(uri, text)?;
        let checker = workspace.checker();
        let work = || checker.fix(&path, &module, text, Safety::Safe).text;
        catch_unwind(AssertUnwindSafe(work))
            .map_err(|_| format!("fixing `{path}` failed; this is a bug in Grail"))
    }

    /// Where a rule of the project or of the home folder is written down.
    pub(super) fn documentation(&self, uri: &Uri, rule: &str) -> Option<Uri> {
        let root = find_root(&existing(&file_path(uri)?)).ok()?;
        let workspace = self.known.get(&root)?.as_ref().ok()?;
        let (pack, rule) = workspace.library.rules().find(|(_, known)| *known.id == *rule)?;
        let path = match pack.origin {
            Origin::Project => root.join(&rule.path),
            Origin::Home => env::home_dir()?.join(rule.path.strip_prefix("~").ok()?),
            Origin::BuiltIn => return None,
        };
        file_uri(&path)
    }

    pub(super) fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    fn place(&mut self, uri: &Uri, text: &str) -> Result<(&mut Workspace, Arc<str>, ModuleName), String> {
        let file = file_path(uri).ok_or_else(|| format!("`{}` is no file", uri.as_str()))?;
        let root = find_root(&existing(&file)).map_err(|error| error.to_string())?;
        let problems = &mut self.problems;
        let workspace = self.known.entry(root.clone()).or_insert_with(|| {
            let workspace = Workspace::read(&root);
            match &workspace {
                Ok(workspace) => {
                    problems.extend(library_problems(&workspace.library).iter().map(ToString::to_string));
                }
                Err(message) => problems.push(message.clone()),
            }
            workspace
        });
        // It was told when it was found out.
        let workspace = workspace.as_mut().map_err(|_| "the project's rules cannot be used".to_owned())?;
        let limit = workspace.project.config.code.max_file_bytes;
        if text.len() as u64 > limit {
            return Err(format!("`{}` is larger than {limit} bytes and is not checked", file.display()));
        }
        let path = project_path(&workspace.project.root, &file).into();
        let module = workspace.roots.module_of(&file).unwrap_or_default();
        Ok((workspace, path, module))
    }
}

impl Workspace {
    fn read(root: &Path) -> Result<Self, String> {
        let project = Project::discover(root).map_err(|error| error.to_string())?;
        let library = Library::discover(&project.root, env::home_dir().as_deref());
        let rules = RuleArguments::default()
            .rules_in_force(&project, &library)
            .map_err(|error| format!("{error:#}"))?;
        let roots = SourceRoots::new(&project.root, &project.config.project.src);
        Ok(Self { project, roots, library, rules, python: python_rules(), across: None })
    }

    /// What rules across files found in a document, if its text is the one they have seen.
    fn found_across(&mut self, path: &Arc<str>, text: &str) -> Vec<Finding> {
        if !self.checker().has_project_rules() {
            return Vec::new();
        }
        let across = match self.across.take() {
            Some(known) => known,
            None => self.look_across(),
        };
        let found = across.get(path).cloned().unwrap_or_default();
        self.across = Some(across);
        let limit = self.project.config.code.max_file_bytes;
        let is_saved = || {
            read_source(&self.project.root.join(&**path), limit).is_ok_and(|file| file.source.text() == text)
        };
        if !found.is_empty() && is_saved() { found } else { Vec::new() }
    }

    /// Runs the whole check, of which only what has changed since the last one takes time.
    fn look_across(&self) -> BTreeMap<Arc<str>, Vec<Finding>> {
        let options = WalkOptions {
            root: self.project.root.clone(),
            exclude: self.project.config.project.exclude.clone(),
        };
        let files = walk_python_files(std::slice::from_ref(&self.project.root), &options);
        let build = build_identity();
        let check = ProjectCheck {
            project: &self.project,
            files: &files.map(|walked| walked.files).unwrap_or_default(),
            checker: self.checker(),
            layers: &[Layer::Rules],
            fix: None,
            cache: build.as_deref(),
            progress: &|_| {},
        };
        let is_across =
            |finding: &Finding| self.rules.project_rules().any(|rule| rule.rule.id == finding.rule);
        let mut across: BTreeMap<Arc<str>, Vec<Finding>> = BTreeMap::default();
        for finding in check.run().findings.into_iter().filter(is_across) {
            across.entry(Arc::clone(&finding.path)).or_default().push(finding);
        }
        across
    }

    fn checker(&self) -> Checker<'_> {
        let python = self.python.as_ref().map(|python| python as &dyn PythonRules);
        Checker { rules: &self.rules, python }
    }
}

/// The nearest folder that exists: a new document may not be on disk yet.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new(".")).to_owned()
}

/// `file:///a%20b.py` → `/a b.py`.
fn file_path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (high, low) = (hexadecimal(left.next()?)?, hexadecimal(left.next()?)?);
        bytes.push(high * 16 + low);
    }
    let path = String::from_utf8(bytes).ok()?;
    // `/C:/a.py` of Windows.
    let is_drive = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if is_drive { &path[1..] } else { &path }))
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn file_uri(path: &Path) -> Option<Uri> {
    let path = path.to_str()?.replace('\\', "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}", crate::check::escape_path(&path)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_uris_and_back() {
        let path = Path::new("/tmp/größe 1%/a.py");
        let uri = file_uri(path).expect("a URI");
        assert_eq!(uri.as_str(), "file:///tmp/gr%C3%B6%C3%9Fe%201%25/a.py");
        assert_eq!(file_path(&uri).as_deref(), Some(path));
        let untitled: Uri = "untitled:Untitled-1".parse().expect("a URI");
        assert_eq!(file_path(&untitled), None);
    }
}
