//! One rule: its documentation, its definition and its test, read from one Markdown file.
//!
//! A [`Rule`] is what the file says. A [`CompiledRule`] is the rule with its options filled in, ready to look at files; only the rules in
//! force are compiled.

mod definition;
mod document;
mod message;
mod options;
mod recipe;
mod scene;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use grail_code::query::Pattern;
use pep440_rs::VersionSpecifiers;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

pub use document::{Example, ExampleFile, Expectation};
pub use options::Options;

pub(crate) use definition::{Definition, Violation, yaml_message};
pub(crate) use scene::Scene;

use crate::{RuleProblem, Safety, Severity};
use definition::Compiler;
use document::Block;

/// A rule as its file has it.
pub struct Rule {
    pub id: Arc<str>,
    /// The pack it belongs to.
    pub pack: Arc<str>,
    /// The Markdown file, as shown in messages.
    pub path: PathBuf,
    /// What stands in it.
    pub text: Arc<str>,
    /// One line: what must hold.
    pub title: String,
    /// Why it must hold, in Markdown.
    pub why: String,
    pub severity: Severity,
    /// The artifact kinds it is about; empty if it is about any code.
    pub applies_to: Vec<String>,
    /// How safe its fix is; `None` if it has none.
    pub fix: Option<Safety>,
    /// The library versions it is for. All must hold.
    pub libraries: Vec<Requirement>,
    /// A file that contains none of these, or not all words of one, is not looked at.
    pub mentions: Vec<Vec<String>>,
    /// The options with their defaults.
    pub options: Options,
    pub examples: Vec<Example>,
    /// Changes when anything about the rule changes.
    pub hash: blake3::Hash,
    body: Body,
    /// Code that a script is about.
    occurs: Option<Occurs>,
    /// What it looks for with its options as they are by default.
    logic: Arc<Logic>,
}

/// Patterns, and the line they count from.
type Occurs = (Spanned<Value>, usize);

/// A library, and the versions of it that something is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub library: String,
    pub versions: VersionSpecifiers,
}

enum Body {
    Patterns(Block),
    Python(PythonRule),
}

/// A rule written in Python.
#[derive(Clone, Debug)]
pub struct PythonRule {
    /// The file, as shown in messages.
    pub path: PathBuf,
    pub source: Arc<str>,
    /// What `check_project` wants to see of the project; `None` for rules that look at one file at a time.
    pub project: Option<ProjectQuery>,
}

/// The slice of the project index that a rule across files asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ProjectQuery {
    /// Definitions whose name matches this regular expression.
    pub definitions: Option<String>,
    /// Functions at the top of a module whose name matches this one.
    pub functions: Option<String>,
    /// Definitions with a decorator of these names.
    pub decorated: Vec<String>,
    /// Calls of functions and methods of these names.
    pub calls: Vec<String>,
    /// Imports between the project's modules.
    pub imports: bool,
}

/// A rule with its options filled in.
pub struct CompiledRule {
    pub rule: Arc<Rule>,
    pub severity: Severity,
    /// Changes when anything about the rule, its options or its severity changes.
    pub(crate) hash: blake3::Hash,
    pub(crate) logic: Arc<Logic>,
}

impl CompiledRule {
    /// The options of a rule in Python, as its code sees them.
    pub fn python_options(&self) -> Option<&Options> {
        match &*self.logic {
            Logic::Python { options, .. } => Some(options),
            Logic::Patterns(_) => None,
        }
    }
}

pub(crate) enum Logic {
    Patterns(Box<Definition>),
    /// A file in which none of `occurs` is found, if there are any, is not shown to the script.
    Python {
        rule: Box<PythonRule>,
        options: Options,
        occurs: Vec<Pattern>,
    },
}

impl Logic {
    fn of(path: &Path, body: &Body, occurs: Option<&Occurs>, options: Options) -> Result<Self, RuleProblem> {
        Ok(match body {
            Body::Patterns(block) => Self::Patterns(Box::new(Definition::compile(path, block, &options)?)),
            Body::Python(rule) => {
                let occurs = match occurs {
                    Some((patterns, line)) => {
                        Compiler { path, line: *line, options: &options }.patterns(patterns)?
                    }
                    None => Vec::new(),
                };
                Self::Python { rule: Box::new(rule.clone()), options, occurs }
            }
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FrontData {
    id: String,
    #[serde(default)]
    severity: Severity,
    #[serde(default)]
    applies_to: Vec<String>,
    fix: Option<Safety>,
    #[serde(default, rename = "for")]
    libraries: BTreeMap<String, String>,
    #[serde(default)]
    mentions: Vec<Mention>,
    occurs: Option<Spanned<Value>>,
    #[serde(default)]
    options: Options,
    project: Option<ProjectQuery>,
}

/// A word, or several that must all be there.
#[derive(Deserialize)]
#[serde(untagged)]
enum Mention {
    Word(String),
    Words(Vec<String>),
}

impl Mention {
    fn words(self) -> Vec<String> {
        match self {
            Mention::Word(word) => vec![word],
            Mention::Words(words) => words,
        }
    }
}

impl Rule {
    /// Reads a rule from its Markdown, and from the Python file beside it if it has one.
    pub fn parse(
        pack: &Arc<str>,
        path: &Path,
        text: &str,
        python: Option<(&Path, &str)>,
    ) -> Result<Self, RuleProblem> {
        let document = document::parse(path, text)?;
        let front: FrontData = serde_saphyr::from_str(&document.front.text).map_err(|error| {
            let line = error.location().map_or(1, |location| location.line() as usize);
            RuleProblem::new(path, document.front.line + line.max(1) - 1, yaml_message(&error)).hint(
                "front matter has `id`, `severity`, `applies-to`, `fix`, `for`, `mentions`, `occurs`, `options` and `project`",
            )
        })?;
        let problem = |message: String| RuleProblem::new(path, document.front.line, message);
        if !is_id(&front.id) {
            return Err(problem(format!("`{}` is not an id", front.id))
                .hint("lower-case words joined by hyphens: `no-f-string-in-template`"));
        }
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if stem != front.id {
            return Err(problem(format!("the rule `{}` is in a file called `{stem}`", front.id))
                .hint(format!("call the file `{}.md`", front.id)));
        }
        let body = match (document.definition, python) {
            (Some(block), None) => Body::Patterns(block),
            (None, Some((path, source))) => Body::Python(PythonRule {
                path: path.to_owned(),
                source: source.into(),
                project: front.project.clone(),
            }),
            (None, None) => {
                return Err(problem("the rule has no definition".to_owned()).hint(format!(
                    "add a block that starts with ```yaml rule, or a file `{}.py` with `def check(tree)`",
                    front.id
                )));
            }
            (Some(block), Some((python, _))) => {
                return Err(RuleProblem::new(
                    path,
                    block.line,
                    format!("the rule is defined twice: here and in `{}`", python.display()),
                ));
            }
        };
        if let Some(query) = &front.project {
            query
                .definition_names()
                .and(query.function_names())
                .map_err(|message| problem(message).hint("for example `definitions: Service$`"))?;
        }
        if front.occurs.is_some() && !matches!(&body, Body::Python(PythonRule { project: None, .. })) {
            let message = "only a rule with `def check(tree)` can say what `occurs` in the files it looks at";
            return Err(problem(message.to_owned()).hint("in a definition, `match` says it"));
        }
        let libraries = front.libraries.iter().map(|(library, versions)| {
            Requirement::parse(library, versions)
                .map_err(|message| problem(message).hint("for example `for: {tdom: \">=0.1.15\"}`"))
        });
        let mut hasher = blake3::Hasher::new();
        hasher.update(pack.as_bytes()).update(text.as_bytes());
        if let Some((_, source)) = python {
            hasher.update(source.as_bytes());
        }
        let occurs = front.occurs.map(|patterns| (patterns, document.front.line));
        // A mistake in the definition is found when the rule is read, not when it first matters.
        let logic = Logic::of(path, &body, occurs.as_ref(), front.options.clone())?;
        if let Logic::Patterns(definition) = &logic
            && definition.recipe.is_some() != front.fix.is_some()
        {
            let message = match front.fix {
                Some(_) => "the front matter promises a fix, but the definition has none",
                None => "the definition has a fix, but the front matter does not say how safe it is",
            };
            return Err(
                RuleProblem::new(path, 2, message).hint("`fix: safe`, `fix: unsafe` or `fix: display-only`")
            );
        }
        Ok(Self {
            id: front.id.into(),
            pack: Arc::clone(pack),
            path: path.to_owned(),
            text: text.into(),
            title: document.title,
            why: document.why,
            severity: front.severity,
            applies_to: front.applies_to,
            fix: front.fix,
            libraries: libraries.collect::<Result<_, _>>()?,
            mentions: front.mentions.into_iter().map(Mention::words).collect(),
            options: front.options,
            examples: document.examples,
            hash: hasher.finalize(),
            body,
            occurs,
            logic: Arc::new(logic),
        })
    }

    /// Fills the options in. Those given go before the defaults; one that the rule does not have is refused.
    pub fn compile(
        self: Arc<Self>,
        given: &Options,
        severity: Option<Severity>,
    ) -> Result<CompiledRule, RuleProblem> {
        let mut options = self.options.clone();
        for (name, value) in given {
            match options.get_mut(name) {
                Some(default) if same_type(default, value) => *default = value.clone(),
                Some(default) => {
                    return Err(RuleProblem::new(
                        &self.path,
                        0,
                        format!("the option `{name}` of `{}` cannot be `{value}`", self.id),
                    )
                    .hint(format!("its default is `{default}`")));
                }
                None => {
                    let known: Vec<&str> = self.options.keys().map(String::as_str).collect();
                    return Err(RuleProblem::new(
                        &self.path,
                        0,
                        format!("`{}` has no option `{name}`", self.id),
                    )
                    .hint(match known.is_empty() {
                        true => "it has no options".to_owned(),
                        false => format!("its options are `{}`", known.join("`, `")),
                    }));
                }
            }
        }
        let severity = severity.unwrap_or(self.severity);
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.hash.as_bytes()).update(severity.name().as_bytes());
        hasher.update(Value::Object(options.clone()).to_string().as_bytes());
        let logic = match options == self.options {
            true => Arc::clone(&self.logic),
            false => Arc::new(Logic::of(&self.path, &self.body, self.occurs.as_ref(), options)?),
        };
        Ok(CompiledRule { rule: self, severity, hash: hasher.finalize(), logic })
    }

    /// The Python it is written in, if it is.
    pub fn python(&self) -> Option<&PythonRule> {
        match &self.body {
            Body::Python(rule) => Some(rule),
            Body::Patterns(_) => None,
        }
    }

    /// Whether it finds just what another one finds, as patterns say: they may differ in their fixes, their words and their examples.
    pub fn finds_the_same_as(&self, other: &Self) -> bool {
        let without_fix = |rule: &Self| {
            let mut definition: Options = serde_saphyr::from_str(rule.definition()?).ok()?;
            definition.remove("fix");
            Some((
                definition,
                rule.severity,
                rule.applies_to.clone(),
                rule.mentions.clone(),
                rule.options.clone(),
            ))
        };
        let is_known = self.id == other.id && self.libraries == other.libraries;
        is_known && without_fix(self).is_some_and(|found| Some(found) == without_fix(other))
    }

    /// The definition in YAML, if it has one.
    pub fn definition(&self) -> Option<&str> {
        match &self.body {
            Body::Patterns(block) => Some(&block.text),
            Body::Python(_) => None,
        }
    }
}

impl Requirement {
    pub fn parse(library: &str, versions: &str) -> Result<Self, String> {
        let versions = VersionSpecifiers::from_str(versions).map_err(|error| {
            format!("`{versions}` is no set of versions: {}", first_line(&error.to_string()))
        })?;
        Ok(Self { library: library.to_owned(), versions })
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Lower-case words joined by single hyphens.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() <= 64
        && text.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}
