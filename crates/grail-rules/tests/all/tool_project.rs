//! Scratch projects with tools: the real ones of the repository's `.venv`, or small scripts that misbehave in one way each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use grail_project::TargetVersion;
use grail_rules::layers::LayerContext;
use grail_rules::tools::ToolSettings;
use tempfile::TempDir;

pub(crate) struct ToolProject {
    folder: TempDir,
    root: PathBuf,
}

impl ToolProject {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::with_prefix("grail-tools-").unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let project = Self { folder, root };
        for (path, text) in files {
            project.write(path, text.as_bytes());
        }
        project
    }

    /// With the tools of the repository as the project's own; says so and gives `None` where they are missing.
    pub(crate) fn with_real(tool: &str, files: &[(&str, &str)]) -> Option<Self> {
        let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
        if !venv.join("bin").join(tool).is_file() {
            skip(&format!("no `{tool}` in the repository's .venv; scripts/venv makes it"));
            return None;
        }
        let project = Self::new(files);
        #[cfg(unix)]
        std::os::unix::fs::symlink(fs::canonicalize(venv).unwrap(), project.root.join(".venv")).unwrap();
        Some(project)
    }

    /// A tool of the project that answers `--version` and otherwise runs these shell commands.
    pub(crate) fn fake(self, name: &str, script: &str) -> Self {
        let text =
            format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{name} 1.2.3'; exit 0; fi\n{script}\n");
        self.program(&format!(".venv/bin/{name}"), &text);
        self
    }

    pub(crate) fn program(&self, path: &str, text: &str) {
        self.write(path, text.as_bytes());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Without `PATH` and `uvx`, so that what is installed on the machine changes nothing.
    pub(crate) fn context(&self) -> LayerContext {
        LayerContext {
            root: self.root.clone(),
            max_file_bytes: 1024 * 1024,
            target_version: TargetVersion { major: 3, minor: 14 },
            tools: ToolSettings {
                uvx: false,
                deadline: Duration::from_secs(60),
                search_path: Some("".into()),
            },
        }
    }
}

pub(crate) fn paths(paths: &[&str]) -> Vec<Arc<str>> {
    paths.iter().map(|&path| path.into()).collect()
}

/// A test that cannot run must not look as if it had.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}
