//! `grail check --statistics`: how often each rule was broken.

use std::collections::BTreeMap;

use grail_rules::{CheckReport, Layer, Safety, Severity};
use serde::Serialize;

use crate::render::Terminal;

#[derive(Serialize)]
pub(super) struct Count<'a> {
    rule: &'a str,
    layer: Layer,
    severity: Severity,
    count: usize,
    /// How many of them have a fix that can be made.
    fixable: usize,
}

/// The rule that was broken most often first.
pub(super) fn counts(report: &CheckReport) -> Vec<Count<'_>> {
    let mut counts: BTreeMap<(Layer, &str), Count<'_>> = BTreeMap::new();
    for finding in &report.findings {
        let count = counts.entry((finding.layer, &finding.rule)).or_insert(Count {
            rule: &finding.rule,
            layer: finding.layer,
            severity: finding.severity,
            count: 0,
            fixable: 0,
        });
        count.count += 1;
        count.severity = count.severity.max(finding.severity);
        count.fixable +=
            usize::from(finding.fix.as_ref().is_some_and(|fix| fix.safety > Safety::DisplayOnly));
    }
    let mut counts: Vec<Count<'_>> = counts.into_values().collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.count));
    counts
}

pub(super) fn table(report: &CheckReport, terminal: &mut Terminal) -> anyhow::Result<()> {
    let counts = counts(report);
    let width = counts.iter().map(|count| count.count.to_string().len()).max().unwrap_or(0);
    let names = counts.iter().map(|count| count.rule.len()).max().unwrap_or(0);
    for Count { rule, severity, count, fixable, .. } in counts {
        let fix = if fixable > 0 { format!("{fixable} with a fix") } else { String::new() };
        let line = format!("{count:width$}  {rule:names$}  {:7}  {fix}", severity.name());
        terminal.line(format_args!("{}", line.trim_end()))?;
    }
    Ok(())
}
