//! Documents made from code. A test fails while one of them is stale; `just gen` writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use grail_sandbox::{Field, Preset};

/// A path in the repository, and what makes the document there.
type Document = (&'static str, fn() -> String);

/// A new document is one more line here.
const DOCUMENTS: [Document; 6] = [
    ("docs/reference/cli.md", command_reference),
    ("docs/reference/nodes.md", grail_code::data::node_reference),
    ("docs/reference/policies.md", policy_reference),
    ("docs/reference/python-subset.md", grail_sandbox::subset_reference),
    ("docs/reference/rules.md", grail_rules::rule_reference),
    ("docs/reference/tools.md", tool_reference),
];

/// One line for each document that differs from what the code says now.
pub fn find_stale(root: &Path) -> anyhow::Result<Vec<String>> {
    let stale = stale_documents(root)?;
    Ok(stale
        .iter()
        .map(|(path, _)| format!("{path}: stale; `cargo run -p grail-dev -- gen` writes it anew"))
        .collect())
}

/// Writes the documents that differ, and names them.
pub fn write_stale(root: &Path) -> anyhow::Result<Vec<&'static str>> {
    let stale = stale_documents(root)?;
    for (path, text) in &stale {
        let target = root.join(path);
        fs::create_dir_all(target.parent().unwrap_or(root))?;
        fs::write(target, text)?;
    }
    Ok(stale.into_iter().map(|(path, _)| path).collect())
}

fn stale_documents(root: &Path) -> anyhow::Result<Vec<(&'static str, String)>> {
    let mut stale = Vec::new();
    for (path, make) in DOCUMENTS {
        let text = make();
        let current = fs::read_to_string(root.join(path)).unwrap_or_default();
        // Git may have checked the file out with other line endings.
        if current.replace("\r\n", "\n") != text {
            stale.push((path, text));
        }
    }
    Ok(stale)
}

/// Every tool of a model. What keeps the page from being made is what it says.
fn tool_reference() -> String {
    grail_agent::tools::tool_reference().unwrap_or_else(|error| error.to_string())
}

/// The presets side by side, and what each limit means and may be.
fn policy_reference() -> String {
    let mut document = String::from(
        "# Policies\n\nGenerated from the sandbox by `just gen`; edits here are lost.\n\n\
         A policy says what a run may use. Four are built in; `[policies.NAME]` in `grail.toml` defines others, which may inherit. Composed,\n\
         the strictest of every limit and permission wins. Where a ceiling is named (\"up to\"), a call may ask for more than the limit,\n\
         up to that; everywhere else it may only ask for less. There is no network in any policy: what needs it is a tool.\n\n",
    );
    document.push_str(&Preset::table());
    document.push_str("\n## The presets\n\n");
    for preset in Preset::ALL {
        let _ = writeln!(document, "- `{}`: {}", preset.name(), preset.summary());
    }
    document.push_str("\n## The limits\n\n| limit | what it bounds | from … to |\n| --- | --- | --- |\n");
    for field in Field::ALL {
        let _ = writeln!(document, "| `{}` | {} | {} |", field.name(), field.summary(), field.range());
    }
    document
}

/// Every command with its help, in the order of the command tree.
fn command_reference() -> String {
    let mut document = String::from(
        "# Command line\n\nGenerated from the command tree by `just gen`; edits here are lost.\n\n\
         Results go to stdout, everything else to stderr. `--format json` prints one object for machines.\n\
         Exit codes: 0 fine, 1 findings or a failed check, 2 could not run.\n",
    );
    let mut command = grail::command().term_width(100);
    command.build();
    write_command(&mut document, &mut command, "");
    document
}

fn write_command(document: &mut String, command: &mut clap::Command, parent: &str) {
    let name = format!("{parent} {}", command.get_name()).trim().to_owned();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(document, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for child in command.get_subcommands_mut().filter(|child| !child.is_hide_set()) {
        write_command(document, child, &name);
    }
}
