//! Findings that the code's author has answered: `# grail: ignore[rule-id] reason`.
//!
//! The comment stands on the line of the finding or alone on the line above it; `ignore-file` holds for the whole file. One that answers
//! nothing is itself a finding, because it would hide the next one.

use std::sync::Arc;

use grail_code::{Edit, Parsed, Position, Span};
use serde::{Deserialize, Serialize};

use crate::{Finding, Fix, Layer, Safety, Severity};

/// The rule that reports comments which suppress nothing.
pub const UNUSED_SUPPRESSION: &str = "unused-suppression";
/// The rule that reports comments which cannot be read.
pub const INVALID_SUPPRESSION: &str = "invalid-suppression";

/// The suppressions of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppressions {
    comments: Vec<Comment>,
    /// Comments that name no rule.
    invalid: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Comment {
    /// The comment with the blanks before it; alone on its line, the whole line.
    removal: Span,
    /// The line it is about; `None` for the whole file.
    line: Option<u32>,
    rules: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Named {
    id: String,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    span: Span,
    start: Position,
    end: Position,
}

impl Suppressions {
    pub fn read(parsed: &Parsed) -> Self {
        let mut all = Self::default();
        // Nearly no file has one, and walking comments costs.
        if !parsed.text().contains("grail:") {
            return all;
        }
        for comment in parsed.comments() {
            all.read_comment(parsed, comment);
        }
        all
    }

    pub fn is_empty(&self) -> bool {
        self.comments.is_empty() && self.invalid.is_empty()
    }

    /// The rules that comments name, once for each comment.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.comments.iter().flat_map(|comment| comment.rules.iter().map(|named| named.id.as_str()))
    }

    fn read_comment(&mut self, parsed: &Parsed, comment: Span) {
        let (text, source) = (parsed.text(), parsed.source());
        let Some(at) = comment.of(text).find("grail:") else { return };
        let body = comment.of(text)[at + "grail:".len()..].trim_start();
        let (is_file, rest) = match (body.strip_prefix("ignore-file"), body.strip_prefix("ignore")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            // Prose about Grail is no suppression.
            (None, None) => return,
        };
        let names = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(names, _)| names);
        let Some(names) = names.filter(|names| !names.trim().is_empty()) else {
            self.invalid.push(Place::new(parsed, comment));
            return;
        };
        let mut start = comment.end - rest.len() as u32 + 1;
        let mut rules = Vec::new();
        for name in names.split(',') {
            let id = name.trim();
            let begin = start + (name.len() - name.trim_start().len()) as u32;
            if !id.is_empty() {
                let place = Place::new(parsed, Span::new(begin, begin + id.len() as u32));
                rules.push(Named { id: id.to_owned(), place });
            }
            start += name.len() as u32 + 1;
        }
        let before = &text[source.line_start(comment.start) as usize..comment.start as usize];
        let line = source.position(comment.start).line + u32::from(before.trim().is_empty());
        let removal = with_blanks(text, comment);
        self.comments.push(Comment { removal, line: (!is_file).then_some(line), rules });
    }

    /// Takes suppressed findings out, and adds one for each suppression that suppresses nothing. `is_in_force` knows the rules that ran:
    /// a comment about another rule may be right.
    pub(crate) fn apply(
        self,
        path: &Arc<str>,
        findings: &mut Vec<Finding>,
        is_in_force: impl Fn(&str) -> bool,
    ) {
        let mut used: Vec<Vec<bool>> =
            self.comments.iter().map(|comment| vec![false; comment.rules.len()]).collect();
        findings.retain(|finding| {
            let (first, last) = (finding.start.line, finding.end.line);
            let mut is_suppressed = false;
            for (comment, used) in self.comments.iter().zip(&mut used) {
                if comment.line.is_none_or(|line| line == first || line == last) {
                    for (named, used) in comment.rules.iter().zip(used) {
                        if *named.id == *finding.rule {
                            *used = true;
                            is_suppressed = true;
                        }
                    }
                }
            }
            !is_suppressed
        });
        for place in self.invalid {
            let message = "the comment suppresses nothing: it names no rule".to_owned();
            let help = Some("write `# grail: ignore[rule-id] reason`".to_owned());
            findings.push(finding(path, INVALID_SUPPRESSION, place, message, help, None));
        }
        for (comment, used) in self.comments.iter().zip(&used) {
            // A comment that does some good stays; taking one name out of it is left to its author.
            let fix = (!used.contains(&true)).then(|| Fix {
                title: "Remove the comment".to_owned(),
                safety: Safety::Safe,
                edits: vec![Edit::remove(comment.removal)],
            });
            for (named, _) in comment.rules.iter().zip(used).filter(|(_, is_used)| !**is_used) {
                if is_in_force(&named.id) {
                    let message = format!("the comment suppresses `{}`, which finds nothing here", named.id);
                    findings.push(finding(path, UNUSED_SUPPRESSION, named.place, message, None, fix.clone()));
                }
            }
        }
    }
}

impl Place {
    fn new(parsed: &Parsed, span: Span) -> Self {
        let source = parsed.source();
        Self { span, start: source.position(span.start), end: source.position(span.end) }
    }
}

fn finding(
    path: &Arc<str>,
    rule: &str,
    place: Place,
    message: String,
    help: Option<String>,
    fix: Option<Fix>,
) -> Finding {
    Finding {
        path: Arc::clone(path),
        layer: Layer::Rules,
        rule: rule.into(),
        severity: Severity::Warning,
        message,
        help,
        span: Some(place.span),
        start: place.start,
        end: place.end,
        fix,
    }
}

fn with_blanks(text: &str, comment: Span) -> Span {
    let before = &text[..comment.start as usize];
    let start = before.trim_end_matches([' ', '\t']).len();
    let is_line = start == 0 || before[..start].ends_with(['\n', '\r']);
    let after = &text[comment.end as usize..];
    let newline = match is_line {
        true if after.starts_with("\r\n") => 2,
        true if after.starts_with(['\n', '\r']) => 1,
        _ => 0,
    };
    Span::new(start as u32, comment.end + newline)
}
