//! Scratch projects, and the binary run inside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// A folder with these files; missing parents are made.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let path = scratch.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        scratch
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root().join(relative)
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    /// The binary with these arguments, in the scratch folder, with no colour and the help 100 columns wide.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_grail"));
        command.args(arguments).current_dir(self.root()).env("COLUMNS", "100");
        // The skills of whoever runs the tests are not theirs.
        command.env("HOME", self.path("no-home")).env("GRAIL_NO_KEYRING", "1");
        for variable in [
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "FORCE_COLOR",
            "CI",
            "XDG_STATE_HOME",
            "XDG_CACHE_HOME",
            "GRAIL_CACHE",
        ] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs the binary and renders everything there is to see: stdout, stderr behind `! `, and the exit code.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        render(&self.command(arguments).output().unwrap())
    }
}

/// Whether there is a Python that could run a skill; what needs one is left out where there is none, and that is said.
#[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
pub(crate) fn has_python() -> bool {
    let found = Command::new("python3")
        .args(["-c", "import sys; raise SystemExit(sys.version_info < (3, 11))"])
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("SKIPPED: there is no Python 3.11 or newer");
    }
    found
}

pub(crate) fn render(output: &Output) -> String {
    let mut seen = String::from_utf8(output.stdout.clone()).unwrap();
    for line in String::from_utf8(output.stderr.clone()).unwrap().lines() {
        seen.push_str(if line.is_empty() { "!" } else { "! " });
        seen.push_str(line);
        seen.push('\n');
    }
    seen + &format!("exit {}\n", output.status.code().unwrap())
}
