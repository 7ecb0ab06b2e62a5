//! Matches as data for people and machines: positions, text, captures.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Capture, Match};
use crate::{Parsed, Span};

/// A match without the tree it was found in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatchReport {
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    pub span: Span,
    pub node_type: &'static str,
    pub captures: BTreeMap<String, CaptureReport>,
    /// The source text of the match.
    pub snippet: String,
}

/// The text of a capture: one, or one for each node of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CaptureReport {
    One(String),
    Many(Vec<String>),
}

impl MatchReport {
    pub fn new(found: &Match, parsed: &Parsed) -> Self {
        let start = parsed.source().position(found.span.start);
        let end = parsed.source().position(found.span.end);
        Self {
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            span: found.span,
            node_type: parsed.node(found.node).kind().name(),
            captures: captures(found, parsed),
            snippet: found.text(parsed).to_owned(),
        }
    }
}

fn captures(found: &Match, parsed: &Parsed) -> BTreeMap<String, CaptureReport> {
    let text = |id: &crate::NodeId| parsed.node(*id).text().to_owned();
    let report = |capture: &Capture| match capture {
        Capture::Node(id) => CaptureReport::One(text(id)),
        Capture::Nodes(ids) => CaptureReport::Many(ids.iter().map(text).collect()),
    };
    found.captures.iter().map(|(name, capture)| (name.to_owned(), report(capture))).collect()
}
