//! Where something is defined, who uses it, what it is.
//!
//! `ty server` answers where it is installed, because it knows types; the project's own names and imports answer otherwise. The
//! result says who did.

use std::path::Path;
use std::sync::Arc;

use grail_code::outline::{Outline, outline};
use grail_code::rename::{RenameError, usages_at};
use grail_code::semantic::BindingKind;
use grail_code::tree::string_literal;
use grail_code::{Field, Kind, ModuleName, Node, Parsed, Position, Project, Semantic, Span};
use grail_sandbox::Toolset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::bounds::{beginning, limit};
use super::language_server::{Found, LanguageServer, path_of, places};
use super::sources::{self, parsed};
use super::{failure, tool};
use crate::AgentError;
use crate::workspace::Workspace;

/// Of the line that is shown with a place.
const MAX_LINE_BYTES: usize = 300;
const MAX_HOVER_BYTES: usize = 4_000;
/// Re-exports may form a chain, and a broken project a circle.
const MAX_HOPS: usize = 32;

const TY: &str = "ty";
const OURS: &str = "grail";

#[derive(Deserialize, JsonSchema)]
struct Spot {
    /// The Python file, below the project's root. Staged text counts.
    path: String,
    /// From 1.
    line: u32,
    /// From 1, in characters; not needed if the name is said.
    #[serde(default)]
    column: Option<u32>,
    /// The name in that line.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct References {
    /// The Python file, below the project's root. Staged text counts.
    path: String,
    /// From 1.
    line: u32,
    /// From 1, in characters; not needed if the name is said.
    #[serde(default)]
    column: Option<u32>,
    /// The name in that line.
    #[serde(default)]
    name: Option<String>,
    /// How many to tell: 100 if it is not said, at most 500.
    #[serde(default)]
    limit: Option<usize>,
}

/// Places in code.
#[derive(Serialize, JsonSchema)]
pub struct Places {
    /// By path and position.
    pub places: Vec<CodePlace>,
    /// Places that are not told for want of room.
    pub more: usize,
    /// Places that spell the name and may mean it.
    pub unsure: Vec<CodePlace>,
    /// Who knows: `ty`, or `grail`, which does not infer types here.
    pub answered_by: String,
}

/// A place in code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct CodePlace {
    /// Below the project's root; a whole path if it lies elsewhere.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// The line as it is written; empty if the file lies elsewhere.
    pub text: String,
}

/// What something is.
#[derive(Serialize, JsonSchema)]
pub struct Hover {
    /// Its type or signature, and its documentation.
    pub text: String,
    /// Who knows: `ty`, or `grail`, which does not infer types here.
    pub answered_by: String,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    let server = Arc::new(LanguageServer::default());
    let [for_definitions, for_references, for_hover] = [(); 3].map(|()| Arc::clone(&server));
    Ok(Toolset::new([
        tool(
            workspace,
            "goto_definition",
            "Where the name at a place is defined.",
            move |workspace, spot| goto_definition(workspace, spot, &for_definitions),
        )?,
        tool(
            workspace,
            "find_references",
            "Every place that means what the name at a place means, its definition among them.",
            move |workspace, call| find_references(workspace, call, &for_references),
        )?,
        tool(
            workspace,
            "hover",
            "What the name at a place is: its type or signature, and its documentation.",
            move |workspace, spot| hover(workspace, spot, &for_hover),
        )?,
    ])?)
}

/// A place that was looked up.
struct Located {
    path: String,
    parsed: Parsed,
    offset: u32,
    at: Position,
}

fn goto_definition(workspace: &Workspace, spot: Spot, server: &LanguageServer) -> Result<Places, AgentError> {
    let located = locate(workspace, &spot)?;
    let (path, at) = (&located.path, located.at);
    if let Some(answer) =
        server.ask(workspace, "textDocument/definition", path, at.line, at.column, json!({}))
    {
        let found = found_places(workspace, &places(&answer));
        if !found.is_empty() {
            return Ok(Places::new(found, Vec::new(), TY, super::bounds::DEFAULT_LIMIT));
        }
    }
    let found: Vec<CodePlace> =
        definitions(workspace, &located).into_iter().map(|(place, _)| place).collect();
    if found.is_empty() {
        return Err(unknown(&located));
    }
    Ok(Places::new(found, Vec::new(), OURS, super::bounds::DEFAULT_LIMIT))
}

fn find_references(
    workspace: &Workspace,
    call: References,
    server: &LanguageServer,
) -> Result<Places, AgentError> {
    let References { path, line, column, name, limit: wanted } = call;
    let located = locate(workspace, &Spot { path, line, column, name })?;
    let (path, at) = (&located.path, located.at);
    let with_definition = json!({"context": {"includeDeclaration": true}});
    if let Some(answer) =
        server.ask(workspace, "textDocument/references", path, at.line, at.column, with_definition)
    {
        let found = found_places(workspace, &places(&answer));
        if !found.is_empty() {
            return Ok(Places::new(found, Vec::new(), TY, limit(wanted)));
        }
    }
    let word = word_at(located.parsed.text(), located.offset as usize).unwrap_or_default().to_owned();
    let module = workspace.module_of(path);
    let project = sources::project(workspace, |other, text| {
        text.contains(&word) || text.contains("import *") || (module.is_known() && *other == module)
    });
    let oracle = super::types::oracle(workspace);
    let usages = usages_at(&project, path, at, oracle.as_deref()).map_err(|error| match error {
        RenameError::NeedsTypes { name } => failure(
            format!("who uses `{name}` is for types to say"),
            "install ty in the project, or search with `cst_find_pattern`",
        ),
        error => AgentError::Other { hint: error.hint().map(str::to_owned), message: error.to_string() },
    })?;
    let shown = |places: Vec<grail_code::rename::Place>| -> Vec<CodePlace> {
        let places = places.into_iter().filter_map(|place| {
            let file = project.file(&place.path)?;
            Some(CodePlace::new(&place.path, &file.parsed, place.span))
        });
        places.collect()
    };
    Ok(Places::new(shown(usages.certain), shown(usages.unsure), OURS, limit(wanted)))
}

fn hover(workspace: &Workspace, spot: Spot, server: &LanguageServer) -> Result<Hover, AgentError> {
    let located = locate(workspace, &spot)?;
    let (path, at) = (&located.path, located.at);
    if let Some(answer) = server.ask(workspace, "textDocument/hover", path, at.line, at.column, json!({})) {
        let text = hover_text(&answer["contents"]);
        if !text.is_empty() {
            return Ok(Hover { text: beginning(&text, MAX_HOVER_BYTES), answered_by: TY.to_owned() });
        }
    }
    let texts: Vec<String> = definitions(workspace, &located).into_iter().map(|(_, text)| text).collect();
    if texts.is_empty() {
        return Err(unknown(&located));
    }
    Ok(Hover { text: beginning(&texts.join("\n\n"), MAX_HOVER_BYTES), answered_by: OURS.to_owned() })
}

/// Text in any of the three forms it may have.
fn hover_text(contents: &Json) -> String {
    match contents {
        Json::String(text) => text.clone(),
        Json::Array(parts) => {
            parts.iter().map(hover_text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        contents => contents["value"].as_str().unwrap_or_default().to_owned(),
    }
}

fn unknown(located: &Located) -> AgentError {
    let word = word_at(located.parsed.text(), located.offset as usize).unwrap_or_default();
    failure(
        format!("nothing in the project says what `{word}` is"),
        "it may come from a library, or only types could tell",
    )
}

fn locate(workspace: &Workspace, spot: &Spot) -> Result<Located, AgentError> {
    let (path, parsed) = parsed(workspace, &spot.path)?;
    let source = parsed.source();
    let no_place = || {
        failure(format!("`{path}` has no such line"), format!("it has {} lines", source.line_starts().len()))
    };
    let first = source.offset(Position { line: spot.line, column: 1 }).ok_or_else(no_place)?;
    let line = Span::new(first, source.line_end(first)).of(source.text());
    let column = match (&spot.name, spot.column) {
        (Some(name), wanted) => {
            let after = wanted.map_or(0, |column| (column.max(1) - 1) as usize);
            let byte = line.char_indices().nth(after).map_or(0, |(at, _)| at);
            let found = find_word(line, name, byte).or_else(|| find_word(line, name, 0));
            let found = found.ok_or_else(|| {
                let shown: String =
                    name.chars().filter(|character| !character.is_control()).take(80).collect();
                failure(
                    format!("line {} of `{path}` does not mention `{shown}`", spot.line),
                    "look at the file again",
                )
            })?;
            line[..found].chars().count() as u32 + 1
        }
        (None, Some(column)) => column,
        (None, None) => {
            let start = line.find(|character: char| character.is_alphabetic() || character == '_');
            start.map_or(1, |start| line[..start].chars().count() as u32 + 1)
        }
    };
    let at = Position { line: spot.line, column };
    let offset = source.offset(at).ok_or_else(no_place)?;
    if word_at(source.text(), offset as usize).is_none() {
        return Err(failure(
            format!("there is no name at {path}:{}:{}", at.line, at.column),
            "say the name with `name`",
        ));
    }
    Ok(Located { path, at, offset, parsed })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// A whole word from some byte on.
fn find_word(line: &str, name: &str, from: usize) -> Option<usize> {
    if name.is_empty() || !name.chars().all(is_word) {
        return None;
    }
    let is_whole = |at: &usize| {
        !line[..*at].chars().next_back().is_some_and(is_word)
            && !line[at + name.len()..].chars().next().is_some_and(is_word)
    };
    line.match_indices(name).map(|(at, _)| at).filter(|at| *at >= from).find(is_whole)
}

/// The identifier that covers or ends at `offset`.
fn word_at(text: &str, offset: usize) -> Option<&str> {
    let start = text[..offset].char_indices().rev().take_while(|(_, character)| is_word(*character)).last();
    let start = start.map_or(offset, |(at, _)| at);
    let end =
        text[offset..].find(|character| !is_word(character)).map_or(text.len(), |length| offset + length);
    (start < end).then(|| &text[start..end])
}

/// Places that the server found. What is outside the project is named, not read.
fn found_places(workspace: &Workspace, found: &[Found]) -> Vec<CodePlace> {
    let root = &workspace.project.root;
    let place = |found: &Found| {
        let full = path_of(&found.uri).unwrap_or_else(|| found.uri.clone());
        let relative = Path::new(&full).strip_prefix(root).ok().and_then(Path::to_str);
        let (line, column) = (found.line.saturating_add(1), found.character.saturating_add(1));
        let text = relative.and_then(|path| workspace.staging.read(path).ok().flatten());
        let text = text.and_then(|text| Some(text.lines().nth(found.line as usize)?.trim().to_owned()));
        let path = relative.map_or(full.clone(), |path| path.replace('\\', "/"));
        CodePlace { path, line, column, text: beginning(&text.unwrap_or_default(), MAX_LINE_BYTES) }
    };
    found.iter().map(place).collect()
}

/// What the project's own names say: every definition of the name, with what it is.
fn definitions(workspace: &Workspace, located: &Located) -> Vec<(CodePlace, String)> {
    let module = workspace.module_of(&located.path);
    let semantic = Semantic::of_module(&located.parsed, module);
    let Some(node) = located.parsed.node_at(located.offset) else { return Vec::new() };
    let attribute =
        node.parent().filter(|parent| parent.kind() == Kind::Attribute && node.field() == Field::Attr);
    if let Some(attribute) = attribute {
        let names = semantic.fully_qualified_names(attribute);
        return names.iter().flat_map(|name| follow(workspace, &name.name)).collect();
    }
    let Some(symbol) = semantic.symbol_of(node) else { return Vec::new() };
    let bindings = semantic.symbol(symbol).bindings.iter().map(|id| semantic.binding(*id));
    let mut found = Vec::new();
    for binding in bindings.take(MAX_HOPS) {
        let followed = match &binding.imported {
            Some(name) => follow(workspace, name),
            None => Vec::new(),
        };
        match followed.is_empty() {
            true => found.push((
                CodePlace::new(&located.path, &located.parsed, binding.span),
                describe(&located.parsed, binding.span, binding.kind),
            )),
            false => found.extend(followed),
        }
    }
    found
}

/// The definition of a dotted name in the project, through re-exports.
fn follow(workspace: &Workspace, name: &str) -> Vec<(CodePlace, String)> {
    let mut name = name.to_owned();
    for _ in 0..MAX_HOPS {
        let wanted = |module: &ModuleName| {
            module.is_known()
                && name
                    .strip_prefix(&module.name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let project = sources::project(workspace, |module, _| wanted(module));
        // The longest name of a module goes before the package it lies in.
        let Some(file) = project.files.iter().max_by_key(|file| file.module.name.len()) else {
            return Vec::new();
        };
        let rest = name[file.module.name.len()..].trim_start_matches('.').to_owned();
        if rest.is_empty() {
            let place = CodePlace::new(&file.path, &file.parsed, Span::at(0));
            return vec![(place, format!("module {}", file.module.name))];
        }
        match inside(&project, &file.path, &rest) {
            Inside::Here(found) => return found,
            Inside::Elsewhere(other) if other != name => name = other,
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

enum Inside {
    Here(Vec<(CodePlace, String)>),
    Elsewhere(String),
    Nowhere,
}

/// A name within a module: `function`, `Class.method`, a variable, or something that is imported from elsewhere.
fn inside(project: &Project, path: &str, name: &str) -> Inside {
    let Some(file) = project.file(path) else { return Inside::Nowhere };
    let semantic = Semantic::of_module(&file.parsed, file.module.clone());
    let plain = Semantic::new(&file.parsed);
    let symbols: Vec<Outline> =
        outline(&plain).into_iter().filter(|symbol| symbol.qualified_name == name).collect();
    if !symbols.is_empty() {
        let found = symbols.iter().filter_map(|symbol| {
            let offset = file.parsed.source().offset(symbol.start)?;
            Some((CodePlace::new(path, &file.parsed, Span::at(offset)), signature(&file.parsed, symbol)))
        });
        return Inside::Here(found.collect());
    }
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let scope = semantic.scope(semantic.module_scope());
    let Some(symbol) = scope.symbols.get(first) else { return Inside::Nowhere };
    let mut here = Vec::new();
    for id in semantic.symbol(*symbol).bindings.iter().take(MAX_HOPS) {
        let binding = semantic.binding(*id);
        match &binding.imported {
            Some(imported) if rest.is_empty() => return Inside::Elsewhere(imported.clone()),
            Some(imported) => return Inside::Elsewhere(format!("{imported}.{rest}")),
            None if rest.is_empty() => here.push((
                CodePlace::new(path, &file.parsed, binding.span),
                describe(&file.parsed, binding.span, binding.kind),
            )),
            None => {}
        }
    }
    if here.is_empty() { Inside::Nowhere } else { Inside::Here(here) }
}

/// What a binding is: the signature and documentation of a definition, or the line that binds.
fn describe(parsed: &Parsed, span: Span, kind: BindingKind) -> String {
    if matches!(kind, BindingKind::Class | BindingKind::Function) {
        let symbols = outline(&Semantic::new(parsed));
        let at = parsed.source().position(span.start);
        if let Some(symbol) = symbols.iter().find(|symbol| symbol.start == at) {
            return signature(parsed, symbol);
        }
    }
    line_at(parsed, span.start)
}

fn signature(parsed: &Parsed, symbol: &Outline) -> String {
    let name = parsed.source().offset(symbol.start).and_then(|offset| parsed.node_at(offset));
    let definition = name.and_then(|name| {
        name.ancestors().find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef))
    });
    match definition.and_then(docstring) {
        Some(doc) => format!("{}\n\n{doc}", symbol.signature),
        None => symbol.signature.clone(),
    }
}

fn docstring(definition: Node<'_>) -> Option<String> {
    let first = definition.list(Field::Body).next().filter(|first| first.kind() == Kind::Expr)?;
    let literal = string_literal(first.child(Field::Value).filter(|value| value.kind() == Kind::String)?)?;
    let text = literal.value();
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    Some(lines.join("\n"))
}

fn line_at(parsed: &Parsed, offset: u32) -> String {
    let source = parsed.source();
    let line = Span::new(source.line_start(offset), source.line_end(offset)).of(source.text());
    beginning(line.trim(), MAX_LINE_BYTES)
}

impl Places {
    fn new(mut places: Vec<CodePlace>, mut unsure: Vec<CodePlace>, answered_by: &str, limit: usize) -> Self {
        places.sort();
        places.dedup();
        let more = places.len().saturating_sub(limit);
        places.truncate(limit);
        unsure.truncate(limit);
        Self { places, more, unsure, answered_by: answered_by.to_owned() }
    }
}

impl CodePlace {
    fn new(path: &str, parsed: &Parsed, span: Span) -> Self {
        let Position { line, column } = parsed.source().position(span.start);
        Self { path: path.to_owned(), line, column, text: line_at(parsed, span.start) }
    }
}
