//! What the rules say about a proposal that a person has edited. Nothing is fixed: what was written by hand stays.

use super::{FileChecks, Proposal};
use crate::AgentError;
use crate::artifact::check_text;
use crate::workspace::Workspace;

impl Proposal {
    /// Replaces the checks of every Python file whose text is no longer what was checked.
    pub fn recheck(&mut self, workspace: &Workspace, shown: &Self) -> Result<(), AgentError> {
        let kind = self.kind.clone();
        for file in self.files.iter().filter(|file| !shown.files.contains(file) && file.path.ends_with(".py"))
        {
            let Some(text) = &file.after else { continue };
            let (_, mut report) = check_text(workspace, kind.as_deref(), &file.path, text)?;
            // What would be fixed is left as it is, so it is left to mend.
            for (rule, count) in std::mem::take(&mut report.fixed) {
                report.layers.iter_mut().filter(|layer| layer.layer == "rules").for_each(|layer| {
                    layer.status = "failed".to_owned();
                    layer.findings += count;
                    layer.detail = format!("`{rule}` could be fixed: `grail check --fix`");
                });
            }
            self.checks.retain(|checks| checks.path != file.path);
            self.checks.push(FileChecks {
                path: file.path.clone(),
                layers: report.layers,
                fixed: report.fixed,
                problems: report.problems,
            });
        }
        Ok(())
    }
}
