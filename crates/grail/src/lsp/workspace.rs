//! The projects that open documents belong to, each with its rules. Read once; forgotten when rules or settings are saved.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grail_code::{ModuleName, Source, parse_module};
use grail_project::{Project, SourceRoots, find_root, project_path};
use grail_rules::{
    Checker, FileUnderCheck, Finding, Library, Origin, PythonRules, RuleSet, Safety, SandboxedRules,
};
use lsp_types::Uri;

use crate::check::{RuleArguments, library_problems, python_rules};

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
}

impl Workspaces {
    /// What is found in a document. `Err` says why it was not checked.
    pub(super) fn check(&mut self, uri: &Uri, source: &Source) -> Result<Vec<Finding>, String> {
        let (workspace, path, module) = self.place(uri, source.text())?;
        let checker = workspace.checker();
        let work = || {
            let parsed = parse_module(source.clone());
            checker.check(&FileUnderCheck::new(Arc::clone(&path), module.clone(), &parsed)).report.findings
        };
        // One document must not end the server.
        catch_unwind(AssertUnwindSafe(work))
            .map_err(|_| format!("checking `{path}` failed; this is a bug in Grail"))
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

    fn place(&mut self, uri: &Uri, text: &str) -> Result<(&Workspace, Arc<str>, ModuleName), String> {
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
        let workspace = workspace.as_ref().map_err(|_| "the project's rules cannot be used".to_owned())?;
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
        Ok(Self { project, roots, library, rules, python: python_rules() })
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
