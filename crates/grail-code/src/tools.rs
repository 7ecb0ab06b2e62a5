//! Tools for agents, by the names agents know them by: one call, one typed result, and never an empty success.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::query::{CaptureReport, MatchReport, Pattern, find_all};
use crate::{Source, parse_module};

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
