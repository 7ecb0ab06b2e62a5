//! `grail check --format github`: workflow commands, which GitHub Actions shows beside the code.

use std::fmt::Write as _;

use grail_rules::{Finding, RulesError, Severity};

/// `::error file=…,line=…::message`. Whatever the text holds, it stays one command.
pub(super) fn annotation(finding: &Finding, shown: &str) -> String {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut line = format!("::{command} ");
    if !finding.path.is_empty() {
        let (start, end) = (finding.start, finding.end);
        let _ = write!(
            line,
            "file={},line={},endLine={},",
            property(shown),
            start.line,
            end.line.max(start.line)
        );
        // Columns are understood only where a finding is on one line.
        if start.line == end.line {
            let _ = write!(line, "col={},endColumn={},", start.column, end.column);
        }
    }
    let message = match &finding.help {
        Some(help) => format!("{}\n{help}", finding.message),
        None => finding.message.clone(),
    };
    let title = format!("grail ({})", finding.rule);
    let _ = write!(line, "title={}::{}", property(&title), data(&message));
    line
}

pub(super) fn problem(problem: &RulesError) -> String {
    format!("::error title=grail::{}", data(&problem.to_string()))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
