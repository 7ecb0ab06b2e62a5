//! The one object of `grail check --format json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_rules::layers::LayerReport;
use grail_rules::{Finding, Layer};
use serde::Serialize;

use super::Outcome;
use super::statistics::{self, Count};
use crate::changes::{ChangeRecord, change_record};
use crate::render::{ErrorRecord, Terminal};

#[derive(Serialize)]
struct Record<'a> {
    /// Paths are relative to the project's root.
    diagnostics: &'a [Finding],
    layers: Vec<LayerRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Vec<Count<'a>>>,
    /// How many fixes of each rule were made.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fixed: &'a BTreeMap<Arc<str>, usize>,
    /// What `--fix` changed or `--diff` would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeRecord>>,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum LayerRecord<'a> {
    Own { layer: Layer, status: &'static str, findings: usize },
    Tool(&'a LayerReport),
}

pub(super) fn render(outcome: &Outcome<'_>, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (arguments, report) = (outcome.arguments, &outcome.report);
    let own = outcome.layers.iter().filter(|layer| matches!(layer, Layer::Syntax | Layer::Rules));
    let own = own.map(|layer| {
        let findings = report.findings.iter().filter(|finding| finding.layer == *layer).count();
        LayerRecord::Own { layer: *layer, status: "ran", findings }
    });
    let changes =
        (arguments.fix || arguments.diff).then(|| report.changes.changes.iter().map(change_record).collect());
    terminal.json(&Record {
        diagnostics: &report.findings,
        layers: own.chain(outcome.tools.iter().map(LayerRecord::Tool)).collect(),
        statistics: arguments.statistics.then(|| statistics::counts(report)),
        fixed: &report.fixed,
        changes,
        errors: report.problems.iter().map(ErrorRecord::from).collect(),
    })
}
