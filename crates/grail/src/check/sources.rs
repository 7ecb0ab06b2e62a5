//! The text behind findings, read when it is to be shown. Findings come sorted by path, so one text is held at a time.

use std::path::Path;
use std::sync::Arc;

use grail_code::Source;
use grail_project::{DEFAULT_MAX_BYTES, read_source};
use grail_rules::{CheckReport, Finding};

pub(super) struct Sources<'r> {
    report: &'r CheckReport,
    open: Option<(Arc<str>, Option<Source>)>,
}

impl<'r> Sources<'r> {
    pub(super) fn new(report: &'r CheckReport) -> Self {
        Self { report, open: None }
    }

    /// The file of a finding as it is now. `None` if it cannot be read.
    pub(super) fn of(&mut self, finding: &Finding) -> Option<&Source> {
        if self.open.as_ref().is_none_or(|(path, _)| *path != finding.path) {
            let shown = shown_path(self.report, finding);
            let source = read_source(shown, DEFAULT_MAX_BYTES).ok().map(|file| file.source);
            self.open = Some((Arc::clone(&finding.path), source));
        }
        self.open.as_ref().and_then(|(_, source)| source.as_ref())
    }
}

/// The path of a finding's file as the user knows it.
pub(super) fn shown_path<'r>(report: &'r CheckReport, finding: &'r Finding) -> &'r Path {
    report.files.get(&finding.path).map_or(Path::new(&*finding.path), |path| path.as_path())
}
