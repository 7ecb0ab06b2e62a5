//! Code by its structure: patterns, symbols, renames, imports. What changes is staged, and the answer shows the difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_code::outline::{Outline, OutlineKind, outline};
use grail_code::query::{CaptureReport, MatchReport, Pattern, PatternError, find_all};
use grail_code::rename::{RenameError, RenameOptions, is_valid_name, rename_named};
use grail_code::{ModuleName, Parsed, Semantic, edit};
use grail_sandbox::Toolset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{MAX_DIFF_BYTES, beginning, diff, limit};
use super::sources::{self, folder, is_below, parsed};
use super::{failure, tool};
use crate::AgentError;
use crate::workspace::Workspace;

const MAX_PATTERN_BYTES: usize = 16 * 1024;
/// Of the source of one match.
const MAX_MATCH_BYTES: usize = 2_000;
const MAX_CAPTURES: usize = 50;
const MAX_UNSURE: usize = 20;
const MAX_NAME_BYTES: usize = 500;

#[derive(Deserialize, JsonSchema)]
struct FindPattern {
    /// A file or folder; `.` for the whole project.
    path: String,
    /// Code with placeholders such as `print($$$)` and `$OBJECT.save()`, or a node as data: `{"type": "Call", "func": "print"}`.
    pattern: PatternText,
    /// How many matches to tell: 100 if it is not said, at most 500.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum PatternText {
    Code(String),
    Data(serde_json::Map<String, serde_json::Value>),
}

/// Where a pattern matches.
#[derive(Serialize, JsonSchema)]
pub struct PatternMatches {
    /// By path and place.
    pub matches: Vec<PatternMatch>,
    /// Matches that are not told for want of room.
    pub more: usize,
    /// Files that do not parse; they were searched all the same, as far as they make sense.
    pub broken: Vec<String>,
}

/// One match.
#[derive(Serialize, JsonSchema)]
pub struct PatternMatch {
    pub path: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// The last line of the match.
    pub end_line: u32,
    /// The kind of node, such as `Call`.
    pub node_type: String,
    /// The matching code.
    pub source: String,
    /// What the placeholders stand for.
    pub captures: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
struct Rename {
    /// The file that defines it.
    path: String,
    /// A function, class or variable of the file, or `Class.method`.
    old_name: String,
    new_name: String,
}

/// A rename, staged.
#[derive(Serialize, JsonSchema)]
pub struct Renamed {
    pub changed: bool,
    /// How many places were changed.
    pub replacements: usize,
    /// Files that were staged.
    pub files: Vec<String>,
    /// Against the text before.
    pub diff: String,
    /// Places that spell the name and may mean it; they were left as they are: `path:line:column`.
    pub unsure: Vec<String>,
    /// What to know about the answer.
    pub note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct AddImport {
    /// The file that gets the import.
    path: String,
    /// Such as `collections.abc`; leading dots make it relative.
    module: String,
    /// What to import from the module; the module itself if it is not said.
    #[serde(default)]
    name: Option<String>,
    /// The name it gets in the file.
    #[serde(default)]
    alias: Option<String>,
}

/// An import, staged.
#[derive(Serialize, JsonSchema)]
pub struct ImportAdded {
    /// Whether it was missing.
    pub added: bool,
    pub path: String,
    /// Against the text before.
    pub diff: String,
}

#[derive(Deserialize, JsonSchema)]
struct DocumentSymbols {
    /// The Python file, below the project's root.
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct WorkspaceSymbols {
    /// A part of the name; upper and lower case are the same.
    query: String,
    /// How many to tell: 100 if it is not said, at most 500.
    #[serde(default)]
    limit: Option<usize>,
}

/// Classes, functions and methods.
#[derive(Serialize, JsonSchema)]
pub struct Symbols {
    pub symbols: Vec<Symbol>,
    /// Symbols that are not told for want of room.
    pub more: usize,
    /// Who knows: `grail`.
    pub answered_by: String,
}

/// A class, function or method.
#[derive(Serialize, JsonSchema)]
pub struct Symbol {
    pub path: String,
    /// class, function or method.
    pub kind: String,
    pub name: String,
    /// `Class.method`, `outer.<locals>.inner`.
    pub qualified_name: String,
    /// As written, on one line.
    pub signature: String,
    /// From 1.
    pub line: u32,
    pub end_line: u32,
    /// The first line of the docstring.
    pub summary: Option<String>,
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([
        tool(
            workspace,
            "cst_find_pattern",
            "Find code by its structure, in one file or in many. Staged text counts.",
            find_pattern,
        )?,
        tool(
            workspace,
            "cst_rename",
            "Rename something that a file defines, with everything in the project that refers to it, and stage the result. \
             Refuses where the new name would collide.",
            rename,
        )?,
        tool(
            workspace,
            "cst_add_import",
            "Add an import where it belongs, unless it is there, and stage the result.",
            add_import,
        )?,
        tool(
            workspace,
            "document_symbols",
            "The classes, functions and methods of a file, in source order.",
            document_symbols,
        )?,
        tool(
            workspace,
            "workspace_symbols",
            "Find classes, functions and methods of the project by a part of their name, best first.",
            workspace_symbols,
        )?,
    ])?)
}

fn find_pattern(workspace: &Workspace, call: FindPattern) -> Result<PatternMatches, AgentError> {
    let pattern = compile(&call.pattern)?;
    let limit = limit(call.limit);
    let folder = folder(&call.path)?;
    let mut found = PatternMatches { matches: Vec::new(), more: 0, broken: Vec::new() };
    let is_file = sources::is_python(&folder) && !workspace.staging.locate(&folder)?.is_dir();
    if is_file {
        let (path, parsed) = parsed(workspace, &folder)?;
        found.look(&pattern, &path, &workspace.module_of(&path), &parsed, limit);
        return Ok(found);
    }
    if !folder.is_empty() && sources::python_paths(workspace, std::slice::from_ref(&folder))?.is_empty() {
        return Err(failure(format!("`{folder}` has no Python files"), "`.` searches the whole project"));
    }
    let project = sources::project(workspace, |_, text| pattern.prefilter(text));
    for file in project.files.iter().filter(|file| is_below(&file.path, &folder)) {
        found.look(&pattern, &file.path, &file.module, &file.parsed, limit);
    }
    Ok(found)
}

fn compile(pattern: &PatternText) -> Result<Pattern, AgentError> {
    let too_long = || failure("the pattern is too long", format!("at most {MAX_PATTERN_BYTES} bytes"));
    let refused =
        |error: &PatternError, text: &str| AgentError::Other { message: error.render(text), hint: None };
    match pattern {
        PatternText::Code(text) if text.len() > MAX_PATTERN_BYTES => Err(too_long()),
        PatternText::Code(text) => Pattern::parse(text).map_err(|error| refused(&error, text)),
        PatternText::Data(data) => {
            let data = serde_json::Value::Object(data.clone());
            if data.to_string().len() > MAX_PATTERN_BYTES {
                return Err(too_long());
            }
            Pattern::structural(&data).map_err(|error| refused(&error, ""))
        }
    }
}

impl PatternMatches {
    fn look(&mut self, pattern: &Pattern, path: &str, module: &ModuleName, parsed: &Parsed, limit: usize) {
        if !parsed.is_valid() && self.broken.len() < limit {
            self.broken.push(path.to_owned());
        }
        let semantic = pattern.needs_names().then(|| Semantic::of_module(parsed, module.clone()));
        for found in find_all(parsed, semantic.as_ref(), pattern) {
            if self.matches.len() == limit {
                self.more += 1;
                continue;
            }
            self.matches.push(PatternMatch::new(path, MatchReport::new(&found, parsed)));
        }
    }
}

impl PatternMatch {
    fn new(path: &str, report: MatchReport) -> Self {
        let texts = |capture: CaptureReport| match capture {
            CaptureReport::One(text) => vec![text],
            CaptureReport::Many(texts) => texts,
        };
        let bounded = |texts: Vec<String>| {
            texts.iter().take(MAX_CAPTURES).map(|text| beginning(text, MAX_MATCH_BYTES)).collect()
        };
        let captures = report.captures.into_iter().take(MAX_CAPTURES);
        Self {
            path: path.to_owned(),
            line: report.line,
            column: report.column,
            end_line: report.end_line,
            node_type: report.node_type.to_owned(),
            source: beginning(&report.snippet, MAX_MATCH_BYTES),
            captures: captures.map(|(name, capture)| (name, bounded(texts(capture)))).collect(),
        }
    }
}

fn rename(workspace: &Workspace, call: Rename) -> Result<Renamed, AgentError> {
    let (path, home) = parsed(workspace, &call.path)?;
    let last = call.old_name.rsplit('.').next().unwrap_or_default();
    let parts = call.old_name.split('.');
    if call.old_name.len() > MAX_NAME_BYTES || !parts.clone().all(is_valid_name) {
        return Err(failure("the old name is no name", "such as `total`, or `Order.total`"));
    }
    let module = workspace.module_of(&path);
    let words: Vec<&str> = parts.collect();
    let is_home = |other: &ModuleName| module.is_known() && *other == module;
    let project = sources::project(workspace, |other, text| {
        is_home(other) || text.contains("import *") || words.iter().any(|word| text.contains(word))
    });
    let options = RenameOptions::default();
    let dotted = format!("{}.{}", module.name, call.old_name);
    let oracle = super::types::oracle(workspace);
    let planned = match module.is_known() && project.file(&path).is_some() {
        true => rename_named(&project, &dotted, &call.new_name, &options, oracle.as_deref()),
        false => Err(RenameError::UnknownName { name: dotted }),
    };
    match planned {
        Ok(plan) => {
            let mut texts = Vec::new();
            let mut replacements = 0;
            for file in plan.files {
                let Some(source) = project.file(&file.path) else { continue };
                let before = source.parsed.text().to_owned();
                replacements += file.edits.len();
                let after = edit::apply(&before, file.edits).map_err(RenameError::from).map_err(refused)?;
                texts.push((file.path, before, after));
            }
            let unsure = plan.unsure.iter().take(MAX_UNSURE).map(ToString::to_string).collect();
            let note = plan.may_override_outside.then(|| {
                format!(
                    "a base class could not be found; if it defines `{last}`, this is no longer an override"
                )
            });
            staged(workspace, texts, replacements, unsure, note)
        }
        // A name of an inner scope is the file's own affair.
        Err(RenameError::UnknownName { .. }) => {
            let renamed = grail_code::tools::cst_rename(home.text(), &call.old_name, &call.new_name);
            if let Some(message) = renamed.error {
                return Err(failure(message, format!("`document_symbols` shows what `{path}` defines")));
            }
            let texts = vec![(path, home.text().to_owned(), renamed.new_source)];
            staged(workspace, texts, renamed.replacements, Vec::new(), None)
        }
        Err(error) => Err(refused(error)),
    }
}

/// All files of a change, or none: what cannot be staged undoes the rest.
fn staged(
    workspace: &Workspace,
    texts: Vec<(String, String, String)>,
    replacements: usize,
    unsure: Vec<String>,
    note: Option<String>,
) -> Result<Renamed, AgentError> {
    let mut all = String::new();
    let before = workspace.staging.staged();
    let mut files = Vec::<String>::new();
    for (path, old, new) in texts.into_iter().filter(|(_, old, new)| old != new) {
        if all.len() < MAX_DIFF_BYTES {
            all += &diff(&path, &old, &new);
        }
        if let Err(error) = workspace.staging.write(&path, new) {
            for path in &files {
                match before.get(path) {
                    Some(Some(text)) => drop(workspace.staging.write(path, text.clone())),
                    _ => workspace.staging.forget(path),
                }
            }
            return Err(error);
        }
        files.push(path);
    }
    let diff = beginning(&all, MAX_DIFF_BYTES);
    Ok(Renamed { changed: !files.is_empty(), replacements, files, diff, unsure, note })
}

fn refused(error: RenameError) -> AgentError {
    AgentError::Other { hint: error.hint().map(str::to_owned), message: error.to_string() }
}

fn add_import(workspace: &Workspace, call: AddImport) -> Result<ImportAdded, AgentError> {
    let (path, parsed) = parsed(workspace, &call.path)?;
    let texts = [Some(&call.module), call.name.as_ref(), call.alias.as_ref()];
    let is_odd =
        |text: &&String| text.len() > MAX_NAME_BYTES || text.contains(['\n', '\r', ';', '#', ',', '(', '*']);
    if texts.into_iter().flatten().any(|text| is_odd(&text)) {
        return Err(failure("one name at a time", "such as `module=\"typing\", name=\"Optional\"`"));
    }
    let added = grail_code::tools::cst_add_import(
        parsed.text(),
        &call.module,
        call.name.as_deref(),
        call.alias.as_deref(),
    );
    if let Some(message) = added.error {
        return Err(AgentError::Other { message, hint: None });
    }
    let diff = diff(&path, parsed.text(), &added.new_source);
    if added.added {
        workspace.staging.write(&path, added.new_source)?;
    }
    Ok(ImportAdded { added: added.added, path, diff })
}

fn document_symbols(workspace: &Workspace, call: DocumentSymbols) -> Result<Symbols, AgentError> {
    let (path, parsed) = parsed(workspace, &call.path)?;
    let symbols = outline(&Semantic::new(&parsed));
    let symbols = symbols.into_iter().map(|symbol| Symbol::new(&path, symbol)).collect();
    Ok(Symbols::new(symbols, super::bounds::MAX_LIMIT))
}

fn workspace_symbols(workspace: &Workspace, call: WorkspaceSymbols) -> Result<Symbols, AgentError> {
    let query = call.query.trim().to_lowercase();
    if query.is_empty() || query.len() > MAX_NAME_BYTES {
        return Err(failure("the query says nothing, or too much", "a part of a name, such as `order`"));
    }
    let mentions = |text: &str| text.contains(&query) || text.to_lowercase().contains(&query);
    let project = sources::project(workspace, |_, text| mentions(text));
    let mut ranked: Vec<(u8, Symbol)> = Vec::new();
    for file in &project.files {
        for symbol in outline(&Semantic::of_module(&file.parsed, ModuleName::default())) {
            let name = symbol.name.to_lowercase();
            let rank = match () {
                () if name == query => 0,
                () if name.starts_with(&query) => 1,
                () if name.contains(&query) => 2,
                () => continue,
            };
            ranked.push((rank, Symbol::new(&file.path, symbol)));
        }
    }
    ranked.sort_by(|(left_rank, left), (right_rank, right)| {
        (left_rank, &left.name, &left.path, left.line).cmp(&(
            right_rank,
            &right.name,
            &right.path,
            right.line,
        ))
    });
    Ok(Symbols::new(ranked.into_iter().map(|(_, symbol)| symbol).collect(), limit(call.limit)))
}

impl Symbols {
    fn new(mut symbols: Vec<Symbol>, limit: usize) -> Self {
        let more = symbols.len().saturating_sub(limit);
        symbols.truncate(limit);
        Self { symbols, more, answered_by: "grail".to_owned() }
    }
}

impl Symbol {
    fn new(path: &str, outline: Outline) -> Self {
        let kind = match outline.kind {
            OutlineKind::Class => "class",
            OutlineKind::Function => "function",
            OutlineKind::Method => "method",
        };
        Self {
            path: path.to_owned(),
            kind: kind.to_owned(),
            name: outline.name,
            qualified_name: outline.qualified_name,
            signature: beginning(&outline.signature, 500),
            line: outline.start.line,
            end_line: outline.end_line,
            summary: outline.summary.map(|summary| beginning(&summary, 500)),
        }
    }
}
