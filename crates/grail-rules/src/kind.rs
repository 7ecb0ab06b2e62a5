//! Artifact kinds: what a skill calls a component, a service or a test, how to recognise one, and where a new one goes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use grail_code::query::Pattern;
use grail_code::{Field, Kind as NodeKind, Node, NodeId};
use serde::Deserialize;

use crate::file::FileUnderCheck;
use crate::{Layer, RuleProblem};

/// How the names of templates end that can be filled.
pub(crate) const TEMPLATE_ENDING: &str = ".jinja";

/// One artifact kind, as `rules/pack.toml` declares it.
pub struct ArtifactKind {
    pub name: String,
    pub description: String,
    /// Any of these makes a function or class an artifact of this kind.
    pub(crate) patterns: Vec<Pattern>,
    /// In files of these names every top-level function and class that could be one is one.
    pub(crate) files: Vec<GlobMatcher>,
    /// Only files of these names hold any, if there are some: a `test_…` elsewhere is no test.
    pub(crate) only: Vec<GlobMatcher>,
    /// Files that hold none, whatever they look like: a fake in a test is no service.
    pub(crate) except: Vec<GlobMatcher>,
    /// Which definitions it may be.
    pub(crate) shapes: Vec<NodeKind>,
    /// The rules that apply to it beside those that name it under `applies-to`.
    pub rules: Vec<String>,
    /// Where a new one goes: `src/{package}/components/{name}.py`.
    pub file: Option<String>,
    /// Words for it in a sentence: `service`, `component middleware`. Its name if none are declared.
    pub words: Vec<String>,
    /// Things that are of this kind, and say so in their names: `card`, `badge`.
    pub such_as: Vec<String>,
    /// The template for a new one: a file in `templates/`.
    pub template: Option<String>,
    /// The text of the template, where it is there and ends in `.jinja`. It says nothing about code that exists, so no finding depends on it.
    pub template_text: Option<Arc<str>>,
    /// The layers that must pass before one is accepted.
    pub checks: Vec<Layer>,
    /// Of the file that declares it.
    pub(crate) hash: blake3::Hash,
}

/// A function or class that is of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub kind: String,
    pub name: String,
    pub(crate) node: NodeId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct KindData {
    description: String,
    #[serde(default)]
    recognise: Vec<toml::Spanned<String>>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
    #[serde(default)]
    shape: Vec<String>,
    #[serde(default)]
    rules: Vec<String>,
    file: Option<String>,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    such_as: Vec<String>,
    template: Option<String>,
    #[serde(default = "default_checks")]
    checks: Vec<Layer>,
}

fn default_checks() -> Vec<Layer> {
    vec![Layer::Syntax, Layer::Rules]
}

impl ArtifactKind {
    pub(crate) fn compile(path: &Path, text: &str, name: &str, data: KindData) -> Result<Self, RuleProblem> {
        let problem = |message: String| RuleProblem::new(path, 0, format!("kind `{name}`: {message}"));
        let compile = |pattern: &toml::Spanned<String>| {
            Pattern::parse(pattern.get_ref()).map_err(|error| {
                let line = text[..pattern.span().start.min(text.len())].matches('\n').count() + 1;
                let mut problem = RuleProblem::new(path, line, format!("kind `{name}`: {}", error.message));
                problem.hint = error.hint;
                problem
            })
        };
        let patterns = data.recognise.iter().map(compile).collect::<Result<_, _>>()?;
        let glob = |glob: &String| {
            Glob::new(glob).map(|glob| glob.compile_matcher()).map_err(|error| problem(error.to_string()))
        };
        let files = data.files.iter().map(glob).collect::<Result<_, _>>()?;
        let only = data.only.iter().map(glob).collect::<Result<_, _>>()?;
        let except = data.except.iter().map(glob).collect::<Result<_, _>>()?;
        let shape = |name: &String| match name.as_str() {
            "function" => Ok(NodeKind::FunctionDef),
            "class" => Ok(NodeKind::ClassDef),
            other => Err(problem(format!("`{other}` is no shape")).hint("`function` or `class`")),
        };
        let mut shapes = data.shape.iter().map(shape).collect::<Result<Vec<_>, _>>()?;
        if shapes.is_empty() {
            shapes = vec![NodeKind::FunctionDef, NodeKind::ClassDef];
        }
        if let Some(template) = data.file.iter().chain(&data.template).find(|path| !stays_inside(path)) {
            return Err(problem(format!("`{template}` leads out of its folder")));
        }
        Ok(Self {
            name: name.to_owned(),
            description: data.description,
            patterns,
            files,
            only,
            except,
            shapes,
            rules: data.rules,
            file: data.file,
            words: if data.words.is_empty() { vec![name.replace('-', " ")] } else { data.words },
            such_as: data.such_as,
            template: data.template,
            template_text: None,
            checks: data.checks,
            hash: blake3::hash(text.as_bytes()),
        })
    }

    /// Takes the text of its template from the files of its skill. One that is declared and missing is a problem; one that is not Jinja is
    /// for people and models to read.
    pub(crate) fn find_template(
        &mut self,
        path: &Path,
        files: &BTreeMap<String, String>,
    ) -> Option<RuleProblem> {
        let template = self.template.as_ref().filter(|template| template.ends_with(TEMPLATE_ENDING))?;
        match files.get(&format!("templates/{template}")) {
            Some(text) => {
                self.template_text = Some(text.as_str().into());
                None
            }
            None => {
                let message = format!("kind `{}`: there is no `templates/{template}`", self.name);
                Some(RuleProblem::new(path, 0, message))
            }
        }
    }

    /// The artifacts of this kind in a file. A kind that is forced takes every public function and class at the top.
    pub(crate) fn artifacts<'a>(&self, file: &FileUnderCheck<'a>, is_forced: bool) -> Vec<Artifact> {
        let is_among = |globs: &[GlobMatcher]| globs.iter().any(|glob| glob.is_match(file.path.as_ref()));
        let may_hold_some = (self.only.is_empty() || is_among(&self.only)) && !is_among(&self.except);
        if !is_forced && !may_hold_some {
            return Vec::new();
        }
        let is_by_name = is_forced || is_among(&self.files);
        let mut found: Vec<NodeId> = Vec::new();
        if is_by_name {
            let body = file.parsed.root().list(Field::Body);
            found.extend(
                body.filter(|node| self.shapes.contains(&node.kind()) && is_public(*node)).map(Node::id),
            );
        }
        if !is_forced {
            for pattern in &self.patterns {
                found.extend(file.find(pattern).into_iter().map(|found| found.node));
            }
        }
        found.sort_unstable();
        found.dedup();
        let artifact = |node: NodeId| {
            let name = file.parsed.node(node).child(Field::Name)?.text().to_owned();
            Some(Artifact { kind: self.name.clone(), name, node })
        };
        found
            .into_iter()
            .filter(|node| self.shapes.contains(&file.parsed.node(*node).kind()))
            .filter_map(artifact)
            .collect()
    }

    /// The path of a new artifact, below the project's root.
    pub fn path_for(&self, name: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            return None;
        }
        self.file.as_ref().map(|template| PathBuf::from(template.replace("{name}", &snake_case(name))))
    }
}

fn is_public(node: Node<'_>) -> bool {
    node.child(Field::Name).is_some_and(|name| !name.text().starts_with('_'))
}

fn stays_inside(path: &str) -> bool {
    !path.starts_with(['/', '\\']) && !path.split(['/', '\\']).any(|part| part == "..")
}

/// `UserCard` → `user_card`, `HTTPService` → `http_service`.
fn snake_case(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut result = String::new();
    for (index, &c) in characters.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|index| characters.get(index)).copied();
        let ends_word = |c: char| c.is_lowercase() || c.is_numeric();
        let begins_word = characters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if c.is_uppercase()
            && previous.is_some_and(|before| ends_word(before) || (before.is_uppercase() && begins_word))
        {
            result.push('_');
        }
        result.extend(c.to_lowercase());
    }
    result
}
