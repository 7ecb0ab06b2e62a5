//! Fixes as recipes: a list of small steps, each an edit of one place, that become one fix.
//!
//! ```yaml
//! fix:
//!   title: Add the decorator
//!   steps:
//!     - add_decorator: view
//!     - add_import: app.web:view
//! ```
//!
//! A step works on the violation (`of: CAPTURE` names another node). If one step cannot be done, there is no fix: half a fix is none.

use grail_code::codemod::Template;
use grail_code::imports::{self, ImportRequest};
use grail_code::layout::{CommaList, insert_list_item, remove_list_items};
use grail_code::{Edit, Field, Kind, Node, Semantic, Source, edit, parse_module, recipe};
use serde::Deserialize;
use serde_json::Value;

use super::definition::{Compiler, Subject};
use super::message::Message;
use super::scene::Scene;
use crate::RuleProblem;

pub(crate) struct Recipe {
    title: Message,
    steps: Vec<Step>,
}

struct Step {
    /// The capture it works on; the violation itself if `None`.
    of: Option<String>,
    action: Action,
}

enum Action {
    /// The violation becomes this code.
    Rewrite(Box<Template>),
    /// A capture becomes this code, which may hold it.
    Replace(Message),
    AddDecorator(Message),
    RemoveDecorator,
    AddImport(ImportRequest),
    RemoveImport(ImportRequest),
    AnnotateReturn(Message),
    AnnotateParameter(Message),
    KeywordOnly,
    AddArgument(Message),
    Prefix(String),
    Rename(Message),
    Remove,
    RemoveItem,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RecipeData {
    Titled(TitledData),
    Steps(Vec<Value>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TitledData {
    title: String,
    steps: Vec<Value>,
}

/// One step: the action, and what it works on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum ActionData {
    Rewrite(String),
    Wrap(String),
    Replace(String),
    AddDecorator(String),
    RemoveDecorator(bool),
    AddImport(String),
    RemoveImport(String),
    AnnotateReturn(String),
    AnnotateParameter(String),
    KeywordOnly(bool),
    AddArgument(String),
    Prefix(String),
    Rename(String),
    Remove(bool),
    RemoveItem(bool),
}

const STEPS: &str = "`rewrite`, `replace`, `wrap`, `add_decorator`, `remove_decorator`, `add_import`, `remove_import`, `annotate_return`, \
                     `annotate_parameter`, `keyword_only`, `add_argument`, `prefix`, `rename`, `remove` and `remove_item`";

impl Recipe {
    pub(crate) fn compile(
        compiler: &Compiler<'_>,
        data: &Value,
        line: usize,
        subjects: &[Subject],
    ) -> Result<Self, RuleProblem> {
        let wrong = || {
            compiler
                .problem(line, "`fix` is a list of steps, or a `title` with `steps`")
                .hint(format!("steps are {STEPS}"))
        };
        let (title, steps) = match RecipeData::deserialize(data).map_err(|_| wrong())? {
            RecipeData::Titled(data) => (Message::parse(&data.title), data.steps),
            RecipeData::Steps(steps) => (Message::parse("Fix it"), steps),
        };
        if steps.is_empty() {
            return Err(wrong());
        }
        let steps = steps.into_iter().map(|step| Step::compile(compiler, step, line, subjects));
        Ok(Self { title, steps: steps.collect::<Result<_, _>>()? })
    }

    /// The captures it names.
    pub(crate) fn names(&self) -> Vec<String> {
        let of = self.steps.iter().filter_map(|step| step.of.clone());
        let texts = self.steps.iter().flat_map(|step| match &step.action {
            Action::Replace(text)
            | Action::AddDecorator(text)
            | Action::AnnotateReturn(text)
            | Action::AnnotateParameter(text)
            | Action::AddArgument(text)
            | Action::Rename(text) => text.names(),
            _ => Vec::new(),
        });
        of.chain(texts).chain(self.title.names()).collect()
    }

    pub(crate) fn title(&self, scene: &Scene<'_>) -> String {
        self.title.render(scene)
    }

    /// The edits of all steps; `None` if one of them cannot be done here.
    pub(crate) fn edits(&self, scene: &Scene<'_>, semantic: &Semantic<'_>) -> Option<Vec<Edit>> {
        let mut all: Vec<Edit> = Vec::new();
        // Where an import and a decorator go to the top of the file, the import goes first. Whether an import is still needed shows last.
        let mut steps: Vec<&Step> = self.steps.iter().collect();
        steps.sort_by_key(|step| match step.action {
            Action::AddImport(_) => 0,
            Action::RemoveImport(_) => 2,
            _ => 1,
        });
        for step in steps {
            let edits = match &step.action {
                Action::RemoveImport(request) => remove_import(semantic, request, &all),
                _ => step.edits(scene, semantic)?,
            };
            for edit in edits {
                if !all.contains(&edit) {
                    all.push(edit);
                }
            }
        }
        // Steps that get into each other's way are no fix.
        edit::order(all).ok().filter(|edits| !edits.is_empty())
    }
}

impl Step {
    fn compile(
        compiler: &Compiler<'_>,
        data: Value,
        line: usize,
        subjects: &[Subject],
    ) -> Result<Self, RuleProblem> {
        let unknown = |found: &Value| {
            compiler
                .problem(line, format!("`{found}` is no step of a fix"))
                .hint(format!("steps are {STEPS}"))
        };
        let Value::Object(mut map) = data else { return Err(unknown(&data)) };
        let of = match map.remove("of") {
            Some(Value::String(name)) => Some(name.trim_start_matches('$').to_owned()),
            Some(other) => return Err(compiler.problem(line, format!("`of` names a capture, not `{other}`"))),
            None => None,
        };
        let value = Value::Object(map);
        let action = match ActionData::deserialize(&value).map_err(|_| unknown(&value))? {
            ActionData::RemoveDecorator(false)
            | ActionData::KeywordOnly(false)
            | ActionData::Remove(false)
            | ActionData::RemoveItem(false) => {
                return Err(compiler.problem(line, format!("the step `{value}` does nothing")));
            }
            ActionData::Rewrite(text) => {
                let [subject] = subjects else {
                    return Err(compiler.problem(line, "`rewrite` needs a `match` of exactly one pattern"));
                };
                let template =
                    Template::new(&text, &subject.pattern, subject.code.as_deref()).map_err(|error| {
                        let mut problem = compiler.problem(line, error.to_string());
                        problem.hint = error.hint;
                        problem
                    })?;
                Action::Rewrite(Box::new(template))
            }
            ActionData::Wrap(text) | ActionData::Replace(text) => Action::Replace(Message::parse(&text)),
            ActionData::AddDecorator(text) => {
                Action::AddDecorator(Message::parse(text.trim_start_matches('@')))
            }
            ActionData::RemoveDecorator(true) => Action::RemoveDecorator,
            ActionData::AddImport(text) => Action::AddImport(request(compiler, &text, line)?),
            ActionData::RemoveImport(text) => Action::RemoveImport(request(compiler, &text, line)?),
            ActionData::AnnotateReturn(text) => Action::AnnotateReturn(Message::parse(&text)),
            ActionData::AnnotateParameter(text) => Action::AnnotateParameter(Message::parse(&text)),
            ActionData::KeywordOnly(true) => Action::KeywordOnly,
            ActionData::AddArgument(text) => Action::AddArgument(Message::parse(&text)),
            ActionData::Prefix(text) => Action::Prefix(text),
            ActionData::Rename(text) => Action::Rename(Message::parse(&text)),
            ActionData::Remove(true) => Action::Remove,
            ActionData::RemoveItem(true) => Action::RemoveItem,
        };
        Ok(Self { of, action })
    }

    fn edits(&self, scene: &Scene<'_>, semantic: &Semantic<'_>) -> Option<Vec<Edit>> {
        let node = match &self.of {
            Some(name) => scene.node(name)?,
            None => scene.parsed.node(scene.found().node),
        };
        let edits = match &self.action {
            Action::Rewrite(template) => recipe::rewrite(scene.subject, template, scene.parsed).ok()?,
            Action::Replace(text) => vec![Edit::replace(node.span_with_parentheses(), text.code(scene))],
            Action::AddDecorator(text) => recipe::add_decorator(definition(node)?, &text.code(scene)),
            Action::RemoveDecorator => {
                let decorator = [node].into_iter().chain(node.ancestors());
                recipe::remove_decorator(decorator.into_iter().find(|node| node.kind() == Kind::Decorator)?)
            }
            // What Python brings itself is there already.
            Action::AddImport(request) if request.module == "builtins" && request.alias.is_none() => {
                return Some(Vec::new());
            }
            Action::AddImport(request) => return imports::add(semantic, request).ok(),
            Action::RemoveImport(request) => return Some(remove_import(semantic, request, &[])),
            Action::AnnotateReturn(text) => recipe::annotate_return(definition(node)?, &text.code(scene)),
            Action::AnnotateParameter(text) => {
                let parameter = [node].into_iter().chain(node.ancestors());
                let parameter = parameter.into_iter().find(|node| node.kind() == Kind::Parameter)?;
                recipe::annotate_parameter(parameter, &text.code(scene))
            }
            Action::KeywordOnly if node.kind() == Kind::Parameter => recipe::keyword_only_from(node),
            Action::KeywordOnly => recipe::keyword_only(definition(node)?),
            Action::AddArgument(text) => add_argument(node, &text.code(scene))?,
            Action::Prefix(prefix) => recipe::string_prefix(node, prefix),
            Action::Rename(text) => {
                let name = match node.kind() {
                    Kind::FunctionDef | Kind::ClassDef | Kind::Parameter => node.child(Field::Name)?,
                    _ => node,
                };
                recipe::rename(semantic, name, &text.code(scene)).ok()?
            }
            Action::Remove => recipe::remove_statement(node.statement()?),
            Action::RemoveItem => remove_item(node)?,
        };
        (!edits.is_empty()).then_some(edits)
    }
}

/// The function or class that a node is or stands in.
fn definition(node: Node<'_>) -> Option<Node<'_>> {
    [node]
        .into_iter()
        .chain(node.ancestors())
        .find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef))
}

/// Removes an import that nobody uses once the other edits are made.
fn remove_import(semantic: &Semantic<'_>, request: &ImportRequest, others: &[Edit]) -> Vec<Edit> {
    let Ok(text) = edit::apply(semantic.parsed().text(), others.to_vec()) else { return Vec::new() };
    let parsed = parse_module(Source::from_text(text));
    let after = Semantic::of_module(&parsed, semantic.module().clone());
    match imports::remove_if_unused(&after, request).is_empty() {
        true => Vec::new(),
        false => imports::remove(semantic, request),
    }
}

/// Adds an argument at the end of a call, or gives a keyword that is there its new value; a decorator or name without a call becomes one.
fn add_argument(node: Node<'_>, argument: &str) -> Option<Vec<Edit>> {
    let node = if node.kind() == Kind::Decorator { node.child(Field::Expression)? } else { node };
    if node.kind() != Kind::Call {
        return Some(vec![Edit::insert(node.span().end, format!("({argument})"))]);
    }
    let is_same = |keyword: &Node<'_>| {
        let name = keyword.child(Field::Keyword).map(Node::text);
        keyword.kind() == Kind::Keyword && name.is_some_and(|name| argument.starts_with(&format!("{name}=")))
    };
    if let Some(keyword) = node.list(Field::Args).find(is_same) {
        return Some(vec![Edit::replace(keyword.span(), argument)]);
    }
    let list = CommaList::of(node)?;
    let count = node.list(Field::Args).count();
    Some(insert_list_item(node.parsed(), &list, count, argument))
}

/// Takes one item out of the list it stands in: a parameter, an argument, a `/`.
fn remove_item(node: Node<'_>) -> Option<Vec<Edit>> {
    let holder = node.parent()?;
    let list = CommaList::of(holder)?;
    let index = holder.list(node.field()).position(|item| item.id() == node.id())?;
    Some(remove_list_items(node.parsed(), &list, &[index]))
}

fn request(compiler: &Compiler<'_>, text: &str, line: usize) -> Result<ImportRequest, RuleProblem> {
    ImportRequest::parse(text).map_err(|error| {
        compiler
            .problem(line, error.to_string())
            .hint("write `module`, `module:name` or `module:name as alias`")
    })
}
