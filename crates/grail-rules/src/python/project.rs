//! The project as rules across files see it: the slice of its index that a rule asks for, as data.

use std::sync::Arc;

use grail_code::index::{
    Argument, ArgumentValue, Call, Definition, DefinitionKind, FileIndex, ImportEdge, ProjectIndex,
};
use grail_code::{Source, Span};
use regex::{Regex, RegexBuilder};
use rustc_hash::FxHashSet;
use serde_json::{Value as Json, json};

use crate::ProjectQuery;

/// Entries of one kind that a rule is shown.
const MAX_ENTRIES: usize = 20_000;

/// What a rule is shown, as text.
const MAX_BYTES: usize = 16 << 20;

/// A regular expression of a rule may not compile to more.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// All files of a check: what they define, import and call, and where their text is, which findings point into.
pub struct ProjectUnderCheck<'c> {
    pub index: ProjectIndex,
    paths: FxHashSet<Arc<str>>,
    source: &'c dyn Fn(&str) -> Option<Source>,
}

impl<'c> ProjectUnderCheck<'c> {
    /// `source` gives the text of a file. It is asked for few of them: those that something is found in.
    pub fn new(
        files: impl IntoIterator<Item = (Arc<str>, FileIndex)>,
        source: &'c dyn Fn(&str) -> Option<Source>,
    ) -> Self {
        let mut paths = FxHashSet::default();
        let indexes = files.into_iter().map(|(path, index)| {
            let name = path.to_string();
            paths.insert(path);
            (name, index)
        });
        let index = ProjectIndex::new(indexes.collect());
        Self { index, paths, source }
    }

    /// The text of a file of the check.
    pub(crate) fn file(&self, path: &str) -> Option<(Arc<str>, Source)> {
        let path = self.paths.get(path)?;
        Some((Arc::clone(path), (self.source)(path)?))
    }
}

impl ProjectQuery {
    /// The pattern for names of definitions; the error says what is wrong with it.
    pub(crate) fn definition_names(&self) -> Result<Option<Regex>, String> {
        self.definitions.as_deref().map(names).transpose()
    }

    /// The same for functions at the top of a module.
    pub(crate) fn function_names(&self) -> Result<Option<Regex>, String> {
        self.functions.as_deref().map(names).transpose()
    }
}

fn names(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(MAX_REGEX_BYTES).build().map_err(|error| {
        let reason = error.to_string();
        format!(
            "`{pattern}` is no regular expression: {}",
            reason.lines().last().unwrap_or_default().trim_start_matches("error: ")
        )
    })
}

/// What `check_project` is called with, as text; the error says why there is none.
pub(crate) fn slice_text(project: &ProjectUnderCheck<'_>, query: &ProjectQuery) -> Result<String, String> {
    let index = &project.index;
    let (names, functions) = (query.definition_names()?, query.function_names()?);
    let is_wanted = |(_, definition): &(&str, &Definition)| {
        let is_named = |names: &Option<Regex>| {
            names.as_ref().is_some_and(|names| names.is_match(last_part(&definition.qualified_name)))
        };
        let is_function =
            definition.kind == DefinitionKind::Function && !definition.qualified_name.contains("<locals>");
        let is_asked_for =
            |decorator: &String| query.decorated.iter().any(|name| name == last_part(decorator));
        is_named(&names)
            || (is_function && is_named(&functions))
            || definition.decorators.iter().any(is_asked_for)
    };
    let definitions: Vec<(&str, &Definition)> =
        index.definitions().filter(is_wanted).take(MAX_ENTRIES + 1).collect();
    let calls: Vec<(&str, &Call)> =
        query.calls.iter().flat_map(|name| index.calls_of(name)).take(MAX_ENTRIES + 1).collect();
    let edges: Vec<ImportEdge> = match query.imports {
        true => index.import_graph().edges().take(MAX_ENTRIES + 1).collect(),
        false => Vec::new(),
    };
    let cycles = if query.imports { index.import_cycles() } else { Vec::new() };
    for (what, count) in
        [("definitions", definitions.len()), ("calls", calls.len()), ("imports", edges.len())]
    {
        if count > MAX_ENTRIES {
            return Err(format!("the project has more than {MAX_ENTRIES} `{what}` that the rule asks for"));
        }
    }
    let shown = |edges: &[ImportEdge]| edges.iter().map(import).collect::<Vec<Json>>();
    let data = json!({
        "definitions": definitions.into_iter().map(|found| definition(index, found)).collect::<Vec<Json>>(),
        "calls": calls.into_iter().map(|found| call(index, found)).collect::<Vec<Json>>(),
        "imports": shown(&edges),
        "cycles": cycles.iter().map(|cycle| shown(cycle)).collect::<Vec<Vec<Json>>>(),
        "modules": index.files().iter().filter(|(_, file)| file.module.is_known()).map(|(path, file)| {
            json!({"name": file.module.name, "path": path})
        }).collect::<Vec<Json>>(),
    });
    let text = data.to_string();
    if text.len() > MAX_BYTES {
        return Err("what the rule asks for is too large to be shown to it".to_owned());
    }
    Ok(text)
}

fn definition(index: &ProjectIndex, (path, definition): (&str, &Definition)) -> Json {
    let annotation = |annotation: &Option<grail_code::index::Annotation>| {
        annotation.as_ref().map(|annotation| {
            let name = annotation.qualified_name.as_deref().map(|name| resolved(index, name));
            json!({"text": annotation.text, "qualified_name": name})
        })
    };
    let parameters = definition.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "kind": parameter.kind,
            "annotation": annotation(&parameter.annotation),
            "has_default": parameter.has_default,
        })
    });
    json!({
        "path": path,
        "range": range(definition.name_span),
        "line": definition.line,
        "name": last_part(&definition.qualified_name),
        "qualified_name": definition.qualified_name,
        "kind": definition.kind,
        "bases": definition.bases.iter().map(|base| resolved(index, base)).collect::<Vec<&str>>(),
        "decorators": definition.decorators,
        "parameters": parameters.collect::<Vec<Json>>(),
        "returns": annotation(&definition.returns),
        "is_async": definition.is_async,
    })
}

fn call(index: &ProjectIndex, (path, call): (&str, &Call)) -> Json {
    let argument = |Argument { keyword, value }: &Argument| match value {
        ArgumentValue::Name(name) => json!({"keyword": keyword, "name": resolved(index, name)}),
        ArgumentValue::String(text) => json!({"keyword": keyword, "string": text}),
        ArgumentValue::Text(text) => json!({"keyword": keyword, "text": text}),
    };
    json!({
        "path": path,
        "range": range(call.span),
        "callee": resolved(index, &call.callee),
        "name": call.name,
        "arguments": call.arguments.iter().map(argument).collect::<Vec<Json>>(),
        "enclosing": call.enclosing,
    })
}

fn import(edge: &ImportEdge) -> Json {
    json!({"path": edge.path, "range": range(edge.span), "from": edge.from, "to": edge.to})
}

/// The name by which something is defined, whatever it was imported from.
fn resolved<'i>(index: &'i ProjectIndex, name: &'i str) -> &'i str {
    index.resolve(name).map_or(name, |(_, definition)| definition.qualified_name.as_str())
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn range(span: Span) -> [u32; 2] {
    [span.start, span.end]
}
