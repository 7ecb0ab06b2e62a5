//! What a test is about: the function or class of the project that an intent names.
//!
//! Found by its name, as written (`CartService`, `load_user`) or as spoken (`the cart service`), in what is staged first and then on disk.
//! Only files that mention the name are parsed.

use std::collections::BTreeSet;

use grail_code::{Field, Kind, Node, Parsed, Source, parse_module};
use grail_model::template::{Subject, SubjectMethod, SubjectParameter};
use grail_project::{SourceFile, project_path, read_source};

use crate::workspace::Workspace;

/// More names are not looked for.
const MAX_NAMES: usize = 60;
/// More files are not read.
const MAX_FILES: usize = 5_000;

/// The first thing in the project that the intent names.
pub(crate) fn find_subject(workspace: &Workspace, intent: &str) -> Option<Subject> {
    let names = candidate_names(intent);
    let mut best: Option<(usize, Subject)> = None;
    let mut consider = |path: &str, text: &str| {
        for (rank, name) in names.iter().enumerate() {
            let is_better = best.as_ref().is_none_or(|(known, _)| rank < *known);
            if is_better
                && text.contains(name.as_str())
                && let Some(subject) = subject_in(workspace, path, text, name)
            {
                best = Some((rank, subject));
                return;
            }
        }
    };
    for (path, text) in workspace.staging.staged() {
        if let Some(text) = text.filter(|_| is_source(&path)) {
            consider(&path, &text);
        }
    }
    let root = &workspace.project.root;
    for file in workspace.python_files().into_iter().take(MAX_FILES) {
        let path = project_path(root, &file.path);
        if !is_source(&path) {
            continue;
        }
        let read = read_source(&file.path, workspace.project.config.code.max_file_bytes);
        if let Ok(SourceFile { source, .. }) = read {
            consider(&path, source.text());
        }
    }
    best.map(|(_, subject)| subject)
}

fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.ends_with(".py")
        && !path.starts_with("tests/")
        && !name.starts_with("test_")
        && name != "conftest.py"
}

/// Names that an intent may mean: those written as identifiers first, then runs of words as a class and as a function, the longest first.
fn candidate_names(intent: &str) -> Vec<String> {
    let words: Vec<&str> = intent
        .split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|word| !word.is_empty())
        .take(MAX_NAMES)
        .collect();
    let is_identifier = |word: &&str| {
        word.contains('_')
            || word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase)
    };
    let mut names: Vec<String> =
        words.iter().filter(|word| is_identifier(word)).map(|word| (*word).to_owned()).collect();
    for length in (1..=4).rev() {
        for run in words.windows(length) {
            let lower: Vec<String> = run.iter().map(|word| word.to_lowercase()).collect();
            names.push(lower.iter().map(|word| capitalised(word)).collect());
            if length > 1 {
                names.push(lower.join("_"));
            }
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| name.len() > 2 && seen.insert(name.clone()));
    names.truncate(MAX_NAMES * 4);
    names
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

fn subject_in(workspace: &Workspace, path: &str, text: &str, name: &str) -> Option<Subject> {
    let parsed = parse_module(Source::from_text(text));
    let definition = top_level(&parsed, name)?;
    let module = workspace.module_of(path).name;
    if module.is_empty() {
        return None;
    }
    let is_class = definition.kind() == Kind::ClassDef;
    let methods: Vec<Node<'_>> = match is_class {
        true => definition.list(Field::Body).filter(|node| node.kind() == Kind::FunctionDef).collect(),
        false => Vec::new(),
    };
    let initialiser = methods.iter().find(|method| name_of(**method) == Some("__init__"));
    let parameters = match (is_class, initialiser) {
        (true, Some(initialiser)) => parameters(*initialiser, true),
        (true, None) => fields(definition),
        (false, _) => parameters(definition, false),
    };
    Some(Subject {
        module,
        name: name.to_owned(),
        is_class,
        is_async: is_async(definition),
        parameters,
        returns: annotation(definition, Field::Returns),
        methods: methods.iter().filter_map(|method| method_of(&parsed, *method)).collect(),
    })
}

fn method_of(parsed: &Parsed, method: Node<'_>) -> Option<SubjectMethod> {
    let name = name_of(method)?;
    if name.starts_with('_') && name != "__call__" {
        return None;
    }
    let returns = annotation(method, Field::Returns);
    let returned = top_level(parsed, &returns).filter(|node| node.kind() == Kind::ClassDef);
    let gives = returned.map(|class| fields(class).into_iter().map(|field| field.name).collect());
    Some(SubjectMethod {
        name: name.to_owned(),
        is_async: is_async(method),
        parameters: parameters(method, true),
        returns,
        gives: gives.unwrap_or_default(),
    })
}

fn top_level<'a>(parsed: &'a Parsed, name: &str) -> Option<Node<'a>> {
    let mut body = parsed.root().list(Field::Body);
    body.find(|node| {
        matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef) && name_of(*node) == Some(name)
    })
}

fn parameters(function: Node<'_>, is_method: bool) -> Vec<SubjectParameter> {
    let Some(list) = function.child(Field::Params) else { return Vec::new() };
    let nodes = list.list(Field::Params).filter(|node| node.kind() == Kind::Parameter);
    let is_plain = |node: &Node<'_>| !node.text().starts_with('*');
    nodes.filter(is_plain).skip(usize::from(is_method)).filter_map(parameter).collect()
}

fn parameter(node: Node<'_>) -> Option<SubjectParameter> {
    Some(SubjectParameter {
        name: name_of(node)?.to_owned(),
        annotation: annotation(node, Field::Annotation),
        has_default: node.child(Field::Default).is_some(),
    })
}

/// The annotated fields of a class body, as a dataclass takes them.
fn fields(class: Node<'_>) -> Vec<SubjectParameter> {
    let assignments = class.list(Field::Body).filter(|node| node.kind() == Kind::AnnAssign);
    let field = |node: Node<'_>| {
        Some(SubjectParameter {
            name: node.child(Field::Target)?.text().to_owned(),
            annotation: annotation(node, Field::Annotation),
            has_default: node.child(Field::Value).is_some(),
        })
    };
    assignments.filter_map(field).collect()
}

fn annotation(node: Node<'_>, field: Field) -> String {
    node.child(field).map(|annotation| annotation.text().to_owned()).unwrap_or_default()
}

fn name_of<'a>(node: Node<'a>) -> Option<&'a str> {
    node.child(Field::Name).map(Node::text)
}

fn is_async(function: Node<'_>) -> bool {
    function.kind() == Kind::FunctionDef && function.text().starts_with("async")
}
