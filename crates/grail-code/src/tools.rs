//! Tools for agents, by the names agents know them by: one call, one typed result, and never an empty success.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::imports::{self, ImportRequest};
use crate::query::{CaptureReport, MatchReport, Pattern, find_all};
use crate::rename::{RenameError, RenameOptions, rename_in_file, rename_named};
use crate::{Edit, ModuleName, Project, ProjectFile, Semantic, Source, edit, parse_module};

/// What [`cst_find_pattern`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CstFindResult {
    pub matches: Vec<CstMatch>,
    /// Why there are no matches, if it is not that the code has none: the pattern or the source is broken.
    pub error: Option<String>,
}

/// One match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CstMatch {
    pub line: u32,
    pub column: u32,
    pub source: String,
    pub node_type: String,
    pub captures: BTreeMap<String, CaptureReport>,
}

/// Finds a pattern, in either spelling, in the source of a module. Broken source is searched too; the error says that it is broken.
pub fn cst_find_pattern(source: &str, pattern: &str) -> CstFindResult {
    let compiled = match Pattern::parse(pattern) {
        Ok(compiled) => compiled,
        Err(error) => return CstFindResult { matches: Vec::new(), error: Some(error.render(pattern)) },
    };
    let parsed = parse_module(Source::from_text(source));
    let matches = find_all(&parsed, None, &compiled);
    let matches = matches.iter().map(|found| CstMatch::from(MatchReport::new(found, &parsed))).collect();
    let error = parsed.diagnostics().first().map(|diagnostic| {
        let start = diagnostic.start;
        format!(
            "the source does not parse: line {}, column {}: {}",
            start.line, start.column, diagnostic.message
        )
    });
    CstFindResult { matches, error }
}

/// What [`cst_rename`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CstRenameResult {
    pub changed: bool,
    /// How many places were changed.
    pub replacements: usize,
    /// The source afterwards; as it was if nothing changed.
    pub new_source: String,
    pub error: Option<String>,
}

/// Renames a function, class, variable or `Class.method` within the source of a module, with everything in it that refers to it.
/// Namesakes in other scopes stay. A name that only an inner scope binds is found if there is just one such scope.
pub fn cst_rename(source: &str, old_name: &str, new_name: &str) -> CstRenameResult {
    match rename_in_source(source, old_name, new_name) {
        Ok((replacements, new_source)) => {
            CstRenameResult { changed: new_source != source, replacements, new_source, error: None }
        }
        Err(error) => {
            CstRenameResult { new_source: source.to_owned(), error: Some(error), ..Default::default() }
        }
    }
}

fn rename_in_source(source: &str, old: &str, new: &str) -> Result<(usize, String), String> {
    /// The module needs some name for its symbols to have one; it never shows.
    const MODULE: &str = "__module__";
    let parsed = parse_module(Source::from_text(source));
    let file = ProjectFile { path: "the source".to_owned(), module: ModuleName::module(MODULE), parsed };
    let project = Project { files: vec![file] };
    let options = RenameOptions::default();
    let planned = rename_named(&project, &format!("{MODULE}.{old}"), new, &options, None);
    let edits: Vec<Edit> = match planned {
        Ok(plan) => plan.files.into_iter().flat_map(|file| file.edits).collect(),
        Err(RenameError::UnknownName { .. }) => {
            let file = &project.files[0];
            let semantic = Semantic::of_module(&file.parsed, file.module.clone());
            let mut namesakes = semantic.symbols().filter(|(_, symbol)| symbol.name == old).map(|(id, _)| id);
            match (namesakes.next(), namesakes.next()) {
                (Some(symbol), None) => {
                    let edits = rename_in_file(&semantic, symbol, new, &options, &file.path);
                    edit::order(edits.map_err(|error| error.to_string())?)
                        .map_err(|error| error.to_string())?
                }
                (Some(_), Some(_)) => {
                    return Err(format!("`{old}` names different things in several scopes"));
                }
                (None, _) => return Err(format!("nothing is called `{old}`")),
            }
        }
        Err(error) => return Err(error.to_string()),
    };
    let replacements = edits.len();
    let text = edit::apply(project.files[0].parsed.text(), edits).map_err(|error| error.to_string())?;
    Ok((replacements, text))
}

/// What [`cst_add_import`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CstImportResult {
    /// Whether the import was missing.
    pub added: bool,
    /// The source afterwards; as it was if nothing changed.
    pub new_source: String,
    pub error: Option<String>,
}

/// Adds `import module`, or `from module import name`, to the source of a module unless it is there. Leading dots make it relative.
pub fn cst_add_import(
    source: &str,
    module: &str,
    name: Option<&str>,
    alias: Option<&str>,
) -> CstImportResult {
    match add_import_to_source(source, module, name, alias) {
        Ok(new_source) => CstImportResult { added: new_source != source, new_source, error: None },
        Err(error) => CstImportResult { added: false, new_source: source.to_owned(), error: Some(error) },
    }
}

fn add_import_to_source(
    source: &str,
    module: &str,
    name: Option<&str>,
    alias: Option<&str>,
) -> Result<String, String> {
    if module.split_whitespace().count() != 1 {
        return Err(format!("`{module}` is not a module that can be imported"));
    }
    let alias = alias.map(|alias| format!(" as {alias}")).unwrap_or_default();
    let statement = match name {
        Some(name) => format!("from {module} import {name}{alias}"),
        None => format!("import {module}{alias}"),
    };
    let request = ImportRequest::parse(&statement).map_err(|error| error.to_string())?;
    let parsed = parse_module(Source::from_text(source));
    if let Some(problem) = parsed.diagnostics().first() {
        let at = problem.start;
        return Err(format!(
            "the source does not parse: line {}, column {}: {}",
            at.line, at.column, problem.message
        ));
    }
    let edits = imports::add(&Semantic::new(&parsed), &request).map_err(|error| error.to_string())?;
    edit::apply(parsed.text(), edits).map_err(|error| error.to_string())
}

impl From<MatchReport> for CstMatch {
    fn from(report: MatchReport) -> Self {
        Self {
            line: report.line,
            column: report.column,
            source: report.snippet,
            node_type: report.node_type.to_owned(),
            captures: report.captures,
        }
    }
}
