//! `grail check --format sarif`: SARIF 2.1.0, as code scanning services read it.
//!
//! Columns count UTF-16 code units unless a run says otherwise; ours says that they count characters. Paths are relative to the project's
//! root, which is named in `originalUriBaseIds`.

use std::collections::BTreeMap;

use grail_code::{Position, Source};
use grail_project::Project;
use grail_rules::{CheckReport, Finding, Library, Rule, Safety, Severity};
use serde_json::{Value, json};

use super::sources::Sources;

/// The base of all paths.
const ROOT: &str = "SRCROOT";

pub(super) fn document(project: &Project, library: &Library, report: &CheckReport) -> Value {
    let known: BTreeMap<&str, &Rule> = library.rules().map(|(_, rule)| (&*rule.id, &**rule)).collect();
    let mut ids: Vec<&str> = report.findings.iter().map(|finding| &*finding.rule).collect();
    ids.sort_unstable();
    ids.dedup();
    let rules: Vec<Value> = ids.iter().map(|id| descriptor(id, known.get(id).copied())).collect();
    let mut sources = Sources::new(report);
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| result(finding, ids.binary_search(&&*finding.rule).ok(), sources.of(finding)))
        .collect();
    let notifications: Vec<Value> = report
        .problems
        .iter()
        .map(|problem| json!({"level": "error", "message": {"text": problem.to_string()}}))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "grail",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {ROOT: {"uri": root_uri(project)}},
            "invocations": [{
                "executionSuccessful": report.problems.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    })
}

fn descriptor(id: &str, rule: Option<&Rule>) -> Value {
    let Some(rule) = rule else { return json!({"id": id}) };
    let mut descriptor = json!({
        "id": id,
        "shortDescription": {"text": rule.title},
        "defaultConfiguration": {"level": level(rule.severity)},
        "properties": {"pack": *rule.pack},
    });
    if !rule.why.is_empty() {
        descriptor["fullDescription"] = json!({"text": rule.why});
        descriptor["help"] = json!({"text": rule.why, "markdown": rule.why});
    }
    descriptor
}

fn result(finding: &Finding, index: Option<usize>, source: Option<&Source>) -> Value {
    let message = match &finding.help {
        Some(help) => format!("{}\n{help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": *finding.rule,
        "level": level(finding.severity),
        "message": {"text": message},
        "properties": {"layer": finding.layer},
    });
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
    if !finding.path.is_empty() {
        result["locations"] = json!([{"physicalLocation": {
            "artifactLocation": location(finding),
            "region": region(finding.start, finding.end),
        }}]);
    }
    if let Some(fix) = fix(finding, source) {
        result["fixes"] = json!([fix]);
    }
    result
}

/// The fix as deletions and insertions; left out where its places cannot be told.
fn fix(finding: &Finding, source: Option<&Source>) -> Option<Value> {
    let fix = finding.fix.as_ref().filter(|fix| fix.safety > Safety::DisplayOnly && !fix.edits.is_empty())?;
    let source = source?;
    let replacements: Option<Vec<Value>> = fix
        .edits
        .iter()
        .map(|edit| {
            source.text().get(edit.span.start as usize..edit.span.end as usize)?;
            let (start, end) = (source.position(edit.span.start), source.position(edit.span.end));
            Some(json!({"deletedRegion": region(start, end), "insertedContent": {"text": edit.text}}))
        })
        .collect();
    Some(json!({
        "description": {"text": fix.title},
        "artifactChanges": [{"artifactLocation": location(finding), "replacements": replacements?}],
    }))
}

fn region(start: Position, end: Position) -> Value {
    json!({
        "startLine": start.line.max(1),
        "startColumn": start.column.max(1),
        "endLine": end.line.max(start.line).max(1),
        "endColumn": end.column.max(1),
    })
}

fn location(finding: &Finding) -> Value {
    json!({"uri": escape(&finding.path), "uriBaseId": ROOT})
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn root_uri(project: &Project) -> String {
    let path = project.root.to_string_lossy().replace('\\', "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}/", escape(&path))
}

/// A path as part of a URI: everything but unreserved characters and `/` as `%XX`.
pub(crate) fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                escaped.push(byte.into())
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_parts_of_uris() {
        assert_eq!(escape("app/größe 1%.py"), "app/gr%C3%B6%C3%9Fe%201%25.py");
    }
}
