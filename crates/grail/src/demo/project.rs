//! The sample project: a small shop with conventions of its own, and one page that breaks them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::render::Failure;

const FILES: [(&str, &str); 5] = [
    (
        "grail.toml",
        r#"# The conventions of this shop. `grail rules list` shows what is in force.
[check]
select = ["view-conventions", "tdom-components", "svcs-services", "middleware", "routes-and-wiring", "pytest-tests"]

[check.options.view-decorator]
decorator = "shop.web:view"
"#,
    ),
    (
        "pyproject.toml",
        r#"[project]
name = "shop"
version = "0.1.0"
requires-python = ">=3.14"
dependencies = ["tdom==0.1.20", "svcs==26.2.0"]
"#,
    ),
    ("src/shop/__init__.py", "\"\"\"A small shop.\"\"\"\n"),
    (
        "src/shop/web.py",
        r#""""What the shop is served with."""

from collections.abc import Callable


def view[**P](function: Callable[P, str]) -> Callable[P, str]:
    """Marks a function that answers a request with a page."""
    return function
"#,
    ),
    (
        "src/shop/views/search_view.py",
        r#""""What was found. Whoever searches for `<script>` gets more than that."""

from tdom import html


def search_view(query: str, hits: list[str]) -> str:
    return html(f"<h1>{query}</h1><p>{len(hits)} found</p>")
"#,
    ),
];

/// A folder with a type checker, the sources it needs, and Python for WebAssembly.
pub(super) fn find_runtimes(runtimes: &Path) -> anyhow::Result<PathBuf> {
    let absent = || {
        Failure::with_hint(
            format!("there are no runtimes in `{}`", runtimes.display()),
            "`scripts/runtimes` of Grail's repository installs them",
        )
    };
    let found = runtimes.canonicalize().ok().filter(|folder| folder.join("local/bin").is_dir());
    Ok(found.ok_or_else(absent)?)
}

/// Lets the project use what [`find_runtimes`] found.
pub(super) fn link_runtimes(root: &Path, runtimes: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(root.join(".grail"))?;
    link(&runtimes.join("local"), &root.join(".venv"))?;
    link(runtimes, &root.join(".grail/runtimes"))?;
    let types = serde_json::to_string(&runtimes.join("types"))?;
    let settings = format!(
        "\n[tool.ty.environment]\npython-version = \"3.14\"\nroot = [\"src\"]\nextra-paths = [{types}]\n"
    );
    let mut file = fs::OpenOptions::new().append(true).open(root.join("pyproject.toml"))?;
    Ok(file.write_all(settings.as_bytes())?)
}

#[cfg(unix)]
fn link(folder: &Path, name: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(folder, name)
}

#[cfg(windows)]
fn link(folder: &Path, name: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(folder, name)
}

/// Writes the project, and makes it a repository where git is there: branches are part of what is remembered.
pub(super) fn write(root: &Path) -> io::Result<()> {
    for (path, text) in FILES {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=demo", "-c", "user.email=demo@localhost"]).args(arguments);
        command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let _ = git(&["init", "--quiet"]) && git(&["add", "."]) && git(&["commit", "--quiet", "-m", "Begin"]);
    Ok(())
}
