//! The style of a file: habits that it keeps, as rules that others can be held to.
//!
//! A habit is a rule that the file could have broken and did not. The candidates are rules like any other, made of patterns; those about
//! names and decorators are made from what the file's own definitions share. A file with few definitions shows few habits.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use grail_code::query::{Pattern, find_all};
use grail_code::{Field, Kind, Node, Parsed, Semantic, Source, parse_module};
use grail_rules::{Checker, CompiledRule, Options, Origin, Pack, RuleSet, RuleSetBuilder};

use crate::AgentError;
use crate::workspace::Workspace;

/// The habits of one file.
pub struct Style {
    /// The file they are taken from.
    pub path: String,
    /// What each habit says, one line each.
    pub habits: Vec<String>,
    pub rules: Arc<RuleSet>,
}

/// A rule, if the file has something it is about and nothing that breaks it.
struct Candidate {
    id: &'static str,
    title: String,
    /// There must be some of these, and how many.
    shown_by: (&'static str, usize),
    breaks: String,
    at: &'static str,
    message: &'static str,
}

impl Style {
    /// The habits of a file of the project.
    pub fn of_file(workspace: &Workspace, path: &str) -> Result<Self, AgentError> {
        let path = crate::staging::clean_path(path)?;
        let missing = || AgentError::Other {
            message: format!("there is no file `{path}` whose style could be kept"),
            hint: None,
        };
        let text = workspace.staging.read(&path)?.ok_or_else(missing)?;
        Self::of_text(&path, &text)
    }

    pub fn of_text(path: &str, text: &str) -> Result<Self, AgentError> {
        let parsed = parse_module(Source::from_text(text));
        if !parsed.is_valid() {
            let message = format!("`{path}` does not parse, so its style cannot be told");
            return Err(AgentError::Other { message, hint: None });
        }
        let semantic = Semantic::new(&parsed);
        let candidates = general().into_iter().chain(shared_by_definitions(&parsed));
        let mut files = BTreeMap::new();
        for candidate in candidates {
            if candidate.is_shown_by(&parsed, &semantic)? {
                files.insert(format!("rules/{}.md", candidate.id), candidate.rule_file());
            }
        }
        let pack = Pack::read("style", Origin::Project, Path::new("style"), &files);
        let shown: Arc<str> = path.into();
        let (mut habits, mut builder) = (Vec::new(), RuleSetBuilder::default());
        for rule in pack.iter().flat_map(|pack| &pack.rules) {
            let compiled = compile(rule)?;
            let mut alone = RuleSetBuilder::default();
            alone.rule(compile(rule)?, Vec::new());
            let rules = alone.build();
            let check = Checker { rules: &rules, python: None };
            let broken =
                check.check_parsed(&shown, &grail_code::ModuleName::default(), &parsed).report.findings;
            if broken.is_empty() {
                habits.push(rule.title.clone());
                builder.rule(compiled, Vec::new());
            }
        }
        if let Some(problem) = pack.iter().flat_map(|pack| &pack.problems).next() {
            return Err(problem.clone().into());
        }
        if habits.is_empty() {
            return Err(AgentError::Other {
                message: format!("`{path}` shows no habits that others could keep"),
                hint: Some("choose a file with a few functions or classes".to_owned()),
            });
        }
        Ok(Self { path: path.to_owned(), habits, rules: Arc::new(builder.build()) })
    }
}

fn compile(rule: &Arc<grail_rules::Rule>) -> Result<CompiledRule, AgentError> {
    Ok(Arc::clone(rule).compile(&Options::new(), None)?)
}

const PUBLIC_FUNCTION: &str = "{type: FunctionDef, predicate: [top_level, is_public]}";
const ANY_FUNCTION: &str = "{type: FunctionDef}";
const PUBLIC_CLASS: &str = "{type: ClassDef, predicate: [top_level, is_public]}";

fn general() -> Vec<Candidate> {
    let candidate = |id, title: &str, shown_by, breaks: &str, at, message| Candidate {
        id,
        title: title.to_owned(),
        shown_by,
        breaks: breaks.to_owned(),
        at,
        message,
    };
    vec![
        candidate(
            "style-module-docstring",
            "A file opens with a docstring",
            ("{type: Module, body: [{type: Expr, value: {predicate: is_docstring}}, \"$$$\"]}", 1),
            "type: Module\nbody: [{capture: FIRST, not: {type: Expr, value: {predicate: is_docstring}}}, \"$$$\"]",
            "$FIRST",
            "the file does not open with a docstring",
        ),
        candidate(
            "style-function-docstrings",
            "Public functions have docstrings",
            (PUBLIC_FUNCTION, 1),
            "type: FunctionDef\npredicate: [top_level, is_public]\nname: $NAME\nbody: [{not: {type: Expr, value: {predicate: is_docstring}}}, \"$$$\"]",
            "$NAME",
            "`$NAME` has no docstring",
        ),
        candidate(
            "style-class-docstrings",
            "Public classes have docstrings",
            (PUBLIC_CLASS, 1),
            "type: ClassDef\npredicate: [top_level, is_public]\nname: $NAME\nbody: [{not: {type: Expr, value: {predicate: is_docstring}}}, \"$$$\"]",
            "$NAME",
            "`$NAME` has no docstring",
        ),
        candidate(
            "style-parameters-annotated",
            "Parameters are annotated",
            ("{type: Parameter, annotation: true}", 1),
            "type: FunctionDef\nparams: [\"$$$\", {type: Parameter, annotation: false, capture: PARAMETER, name: {not: {regex: \"^(self|cls)$\"}}}, \"$$$\"]",
            "$PARAMETER",
            "`$PARAMETER` has no annotation",
        ),
        candidate(
            "style-returns-annotated",
            "Functions say what they return",
            ("{type: FunctionDef, returns: true}", 1),
            "type: FunctionDef\nname: $NAME\nreturns: false",
            "$NAME",
            "`$NAME` does not say what it returns",
        ),
        candidate(
            "style-keyword-only",
            "Public functions take their parameters by keyword",
            (
                "{type: FunctionDef, predicate: [top_level, is_public], params: [\"$$$\", {type: Parameter, kind: keyword_only}, \"$$$\"]}",
                1,
            ),
            "type: FunctionDef\npredicate: [top_level, is_public]\nparams: [\"$$$\", {type: Parameter, kind: positional, capture: PARAMETER}, \"$$$\"]",
            "$PARAMETER",
            "`$PARAMETER` can be given by position",
        ),
        candidate(
            "style-imports-names",
            "Names are imported, not modules",
            ("{type: ImportFrom}", 2),
            "type: Import\ncapture: IMPORT",
            "$IMPORT",
            "`$IMPORT` imports a module",
        ),
        candidate(
            "style-imports-modules",
            "Modules are imported, not names",
            ("{type: Import}", 2),
            "type: ImportFrom\ncapture: IMPORT",
            "$IMPORT",
            "`$IMPORT` imports names",
        ),
        candidate(
            "style-dataclasses",
            "Classes are dataclasses",
            ("{type: ClassDef, predicate: is_dataclass}", 1),
            "type: ClassDef\nname: $NAME\nnot: {predicate: is_dataclass}",
            "$NAME",
            "`$NAME` is no dataclass",
        ),
        candidate(
            "style-synchronous",
            "Functions are not asynchronous",
            (ANY_FUNCTION, 3),
            "type: FunctionDef\nname: $NAME\npredicate: is_async",
            "$NAME",
            "`$NAME` is asynchronous",
        ),
    ]
}

/// What all public functions, or all public classes, have in common: the end of their names, a decorator.
fn shared_by_definitions(parsed: &Parsed) -> Vec<Candidate> {
    let definitions = |kind: Kind| -> Vec<Node<'_>> {
        let body = parsed.root().list(Field::Body).filter(move |node| node.kind() == kind);
        body.filter(|node| name_of(*node).is_some_and(|name| !name.starts_with('_'))).collect()
    };
    let (functions, classes) = (definitions(Kind::FunctionDef), definitions(Kind::ClassDef));
    let mut candidates = Vec::new();
    if let Some(ending) = shared(&functions, |node| {
        name_of(node).and_then(|name| Some(format!("_{}", name.rsplit_once('_')?.1)))
    }) {
        candidates.push(Candidate {
            id: "style-function-names",
            title: format!("Names of functions end in `{ending}`"),
            shown_by: (PUBLIC_FUNCTION, 2),
            breaks: format!("type: FunctionDef\npredicate: [top_level, is_public]\nname: {{capture: NAME, not: {{regex: \"{ending}$\"}}}}"),
            at: "$NAME",
            message: "the name `$NAME` does not end as the others do",
        });
    }
    if let Some(ending) = shared(&classes, |node| name_of(node).and_then(last_word)) {
        candidates.push(Candidate {
            id: "style-class-names",
            title: format!("Names of classes end in `{ending}`"),
            shown_by: (PUBLIC_CLASS, 2),
            breaks: format!("type: ClassDef\npredicate: [top_level, is_public]\nname: {{capture: NAME, not: {{regex: \"{ending}$\"}}}}"),
            at: "$NAME",
            message: "the name `$NAME` does not end as the others do",
        });
    }
    for (id, kind, shown_by, nodes) in [
        ("style-function-decorator", "FunctionDef", PUBLIC_FUNCTION, &functions),
        ("style-class-decorator", "ClassDef", PUBLIC_CLASS, &classes),
    ] {
        let Some(decorator) = shared(nodes, first_decorator) else { continue };
        candidates.push(Candidate {
            id,
            title: format!("Each is decorated with `@{decorator}`"),
            shown_by: (shown_by, 2),
            breaks: format!(
                "type: {kind}\npredicate: [top_level, is_public]\nname: $NAME\nnot: {{type: {kind}, decorators: [\"$$$\", {{type: Decorator, text: {{regex: \"^@{decorator}\\\\b\"}}}}, \"$$$\"]}}"
            ),
            at: "$NAME",
            message: "`$NAME` is not decorated as the others are",
        });
    }
    candidates
}

/// What all of at least two nodes have in common.
fn shared(nodes: &[Node<'_>], of: impl Fn(Node<'_>) -> Option<String>) -> Option<String> {
    let (first, rest) = nodes.split_first()?;
    let common = of(*first)?;
    let is_plain = common.chars().all(|character| character.is_alphanumeric() || character == '_');
    (!rest.is_empty() && is_plain && rest.iter().all(|node| of(*node).as_ref() == Some(&common)))
        .then_some(common)
}

fn name_of<'a>(node: Node<'a>) -> Option<&'a str> {
    node.child(Field::Name).map(Node::text)
}

/// `UserService` → `Service`.
fn last_word(name: &str) -> Option<String> {
    let start = name.char_indices().rev().find(|(_, character)| character.is_uppercase())?.0;
    (start > 0).then(|| name[start..].to_owned())
}

/// Its name, if it has one without dots.
fn first_decorator(node: Node<'_>) -> Option<String> {
    let decorator = node.list(Field::Decorators).next()?.child(Field::Expression)?;
    let called = decorator.child(Field::Func).unwrap_or(decorator);
    Some(called.text().to_owned())
}

impl Candidate {
    fn is_shown_by(&self, parsed: &Parsed, semantic: &Semantic<'_>) -> Result<bool, AgentError> {
        let (pattern, least) = self.shown_by;
        let pattern = Pattern::parse(pattern)
            .map_err(|error| AgentError::Other { message: error.message, hint: error.hint })?;
        Ok(find_all(parsed, Some(semantic), &pattern).len() >= least)
    }

    /// The rule as a file: what is made here is what a person could have written.
    fn rule_file(&self) -> String {
        let Self { id, title, breaks, at, message, .. } = self;
        let indented = breaks.replace('\n', "\n  ");
        format!(
            "---\nid: {id}\nseverity: warning\n---\n\n# {title}\n\nThe file that sets the style keeps to it.\n\n\
             ```yaml rule\nmatch:\n  {indented}\nat: {at}\nmessage: \"{message}\"\n```\n"
        )
    }
}
