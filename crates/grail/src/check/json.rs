//! The one object of `grail check --format json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_rules::{CheckReport, Finding, Layer};
use serde::Serialize;

use super::Arguments;
use crate::changes::{ChangeRecord, change_record};
use crate::render::{ErrorRecord, Terminal};

#[derive(Serialize)]
struct Record<'a> {
    /// Paths are relative to the project's root.
    diagnostics: &'a [Finding],
    layers: Vec<LayerRecord>,
    /// How many fixes of each rule were made.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fixed: &'a BTreeMap<Arc<str>, usize>,
    /// What `--fix` changed or `--diff` would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeRecord>>,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct LayerRecord {
    layer: Layer,
    status: &'static str,
    findings: usize,
}

pub(super) fn render(
    arguments: &Arguments,
    layers: &[Layer],
    report: &CheckReport,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let count = |layer| report.findings.iter().filter(|finding| finding.layer == layer).count();
    let layers =
        layers.iter().map(|layer| LayerRecord { layer: *layer, status: "ran", findings: count(*layer) });
    let changes =
        (arguments.fix || arguments.diff).then(|| report.changes.changes.iter().map(change_record).collect());
    terminal.json(&Record {
        diagnostics: &report.findings,
        layers: layers.collect(),
        fixed: &report.fixed,
        changes,
        errors: report.problems.iter().map(ErrorRecord::from).collect(),
    })
}
