//! A script made ready for the sandbox: what `grail_tree.py` offers before it, the call of its function behind it.
//!
//! The names of `grail_tree.py` get a prefix of their own, so that no name a script defines can change what the helpers do; those for
//! scripts are there under their plain names as well, and may be imported from `grail_tree`, under other names too. Line numbers of the
//! script's own text never shift, apart from one constant: the lines that stand before it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use grail_code::data::PYTHON_MODULE;
use grail_code::{Edit, Field, Kind, Node, Parsed, Position, Semantic, Source, edit, parse_module};

use crate::RuleProblem;

/// What a script is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Check,
    CheckProject,
    Transform,
}

/// Python that runs over trees as data.
pub(crate) struct Script {
    /// As shown in messages.
    pub(crate) path: PathBuf,
    pub(crate) source: Source,
    pub(crate) entry: Entry,
    /// What the sandbox runs.
    pub(crate) program: String,
    /// Where the script's function is defined.
    pub(crate) line: usize,
}

/// Larger scripts are refused.
const MAX_SCRIPT_BYTES: usize = 64 * 1024;

/// Before every name of `grail_tree.py` and of what is added here.
const PREFIX: &str = "grail_tree_";

/// What scripts import the helpers from, if they do.
const MODULE: &str = "grail_tree";

/// The program up to the script's own text.
static PRELUDE: LazyLock<Prelude> = LazyLock::new(Prelude::new);

struct Prelude {
    text: String,
    lines: u32,
    /// The names that scripts may use.
    offered: Vec<String>,
}

impl Entry {
    pub(crate) const fn function(self) -> &'static str {
        match self {
            Entry::Check => "check",
            Entry::CheckProject => "check_project",
            Entry::Transform => "transform",
        }
    }

    const fn signature(self) -> &'static str {
        match self {
            Entry::Check => "def check(tree)",
            Entry::CheckProject => "def check_project(project)",
            Entry::Transform => "def transform(tree)",
        }
    }

    /// Calls the script's function and makes text of what it returned. Nothing of this is believed: whoever reads the answer checks it.
    const fn call(self) -> &'static str {
        match self {
            Entry::Check => {
                "grail_tree_json.dumps(grail_tree_findings(check(grail_tree_json.loads(inputs[\"tree\"]))))\n"
            }
            Entry::CheckProject => {
                "grail_tree_json.dumps(grail_tree_findings(check_project(grail_tree_json.loads(inputs[\"project\"]))))\n"
            }
            Entry::Transform => {
                "grail_tree_transformed(transform, grail_tree_json.loads(inputs[\"tree\"]), inputs[\"tree\"])\n"
            }
        }
    }
}

impl Script {
    pub(crate) fn read(path: &Path, text: &str, entry: Entry) -> Result<Self, RuleProblem> {
        if text.len() > MAX_SCRIPT_BYTES {
            let message = format!("the script has {} bytes; at most {MAX_SCRIPT_BYTES} are run", text.len());
            return Err(RuleProblem::new(path, 0, message).hint("say it with less code"));
        }
        let parsed = parse_module(Source::from_text(text));
        let source = parsed.source().clone();
        if let Some(error) = parsed.diagnostics().first() {
            return Err(problem_at(path, &source, error.start, error.message.clone())
                .hint("mend the syntax of the script"));
        }
        let is_entry = |node: &Node<'_>| {
            node.kind() == Kind::FunctionDef
                && node.child(Field::Name).is_some_and(|name| name.text() == entry.function())
        };
        let Some(function) = parsed.root().children().find(is_entry) else {
            let message = format!("the script has no function `{}`", entry.function());
            return Err(RuleProblem::new(path, 1, message).hint(format!("add `{}:`", entry.signature())));
        };
        let is_outside = |node: &Node<'_>| !node.ancestors().any(|node| node.kind() == Kind::FunctionDef);
        if let Some(node) = parsed.nodes_of(Kind::Return).find(is_outside) {
            let message = "`return` stands outside any function".to_owned();
            return Err(problem_at(path, &source, source.position(node.span().start), message)
                .hint(format!("the result is what `{}` returns", entry.function())));
        }
        let line =
            source.position(function.child(Field::Name).unwrap_or(function).span().start).line as usize;
        let text = resolve_imports(path, &parsed)?;
        let program = format!("{}{text}\n{}", PRELUDE.text, entry.call());
        Ok(Self { path: path.to_owned(), source, entry, program, line })
    }

    /// A place of the program as one of the script; `None` outside of it.
    pub(crate) fn position(&self, line: u32, column: u32) -> Option<Position> {
        let line = line.checked_sub(PRELUDE.lines)?;
        let last = self.source.line_starts().len() as u32;
        (1..=last).contains(&line).then_some(Position { line, column: column.max(1) })
    }

    pub(crate) fn problem_at(&self, position: Position, message: impl Into<String>) -> RuleProblem {
        problem_at(&self.path, &self.source, position, message.into())
    }

    /// A problem with what the function returned, or that cannot be placed better.
    pub(crate) fn problem(&self, message: impl Into<String>) -> RuleProblem {
        RuleProblem::new(&self.path, self.line, message)
    }
}

fn problem_at(path: &Path, source: &Source, position: Position, message: String) -> RuleProblem {
    let line = source.text().lines().nth(position.line.saturating_sub(1) as usize).unwrap_or_default();
    let problem = RuleProblem::new(path, position.line as usize, message);
    if line.trim().is_empty() || line.len() > MAX_SHOWN_LINE {
        return problem;
    }
    let before = line.chars().take(position.column.saturating_sub(1) as usize);
    // A tab stays a tab, so that the caret stands below what it points at.
    let indent: String = before.map(|character| if character == '\t' { '\t' } else { ' ' }).collect();
    problem.snippet(format!("  {line}\n  {indent}^"))
}

const MAX_SHOWN_LINE: usize = 400;

/// The script with its imports from `grail_tree` as assignments, which take as many lines.
fn resolve_imports(path: &Path, parsed: &Parsed) -> Result<String, RuleProblem> {
    let place = |node: Node<'_>| parsed.source().position(node.span().start);
    let mut edits = Vec::new();
    for node in parsed.nodes() {
        let module = node.child(Field::Module).map(|module| module.text());
        match node.kind() {
            Kind::ImportFrom if module == Some(MODULE) && node.import_level() == 0 => {
                let mut names = Vec::new();
                let mut values = Vec::new();
                for alias in node.list(Field::Names) {
                    let name = alias.child(Field::Name).map_or("*", |name| name.text());
                    if !PRELUDE.offered.iter().any(|offered| offered == name) {
                        let message = format!("`{MODULE}` has no `{name}`");
                        return Err(problem_at(path, parsed.source(), place(alias), message)
                            .hint(format!("it has `{}`", PRELUDE.offered.join("`, `"))));
                    }
                    names.push(alias.child(Field::Asname).map_or(name, |name| name.text()));
                    values.push(format!("{PREFIX}{name}"));
                }
                let lines = "\n".repeat(node.text().matches('\n').count());
                let text = format!("{} = ({}{lines})", names.join(", "), values.join(", "));
                edits.push(Edit::replace(node.span(), text));
            }
            Kind::Import if node.list(Field::Names).any(|alias| is_module(alias)) => {
                let message = format!("`{MODULE}` can only be imported from");
                return Err(problem_at(path, parsed.source(), place(node), message)
                    .hint(format!("for example `from {MODULE} import findall`")));
            }
            _ => {}
        }
    }
    // Import statements do not overlap.
    Ok(edit::apply(parsed.text(), edits).unwrap_or_else(|_| parsed.text().to_owned()))
}

fn is_module(alias: Node<'_>) -> bool {
    alias.child(Field::Name).is_some_and(|name| name.text() == MODULE)
}

impl Prelude {
    fn new() -> Self {
        let parsed = parse_module(Source::from_text(PYTHON_MODULE));
        let semantic = Semantic::new(&parsed);
        let mut edits = Vec::new();
        let mut offered = Vec::new();
        let own = semantic.symbols().filter(|(_, symbol)| symbol.scope == semantic.module_scope());
        for (_, symbol) in own {
            let bindings = symbol.bindings.iter().map(|id| semantic.binding(*id).span);
            if bindings.len() == 0 {
                continue;
            }
            let references = symbol.references.iter().map(|id| semantic.reference(*id).span);
            edits.extend(bindings.chain(references).map(|span| Edit::insert(span.start, PREFIX)));
            // Functions, and what they are called with; the tables are their own business.
            if symbol.name.starts_with(|first: char| first.is_ascii_lowercase()) || symbol.name == "REMOVE" {
                offered.push(symbol.name.to_string());
            }
        }
        offered.sort();
        // One insertion per place; a name is bound or read there, never both.
        let helpers = edit::apply(parsed.text(), edits).unwrap_or_default();
        let names = offered.join(", ");
        let values: Vec<String> = offered.iter().map(|name| format!("{PREFIX}{name}")).collect();
        let text = format!("{helpers}\n{ANSWERS}\n{names} = {}\n{GIVEN}", values.join(", "));
        let lines = text.matches('\n').count() as u32;
        Self { text, lines, offered }
    }
}

/// What a script sees besides its argument.
const GIVEN: &str = "options, path, module = inputs[\"options\"], inputs[\"path\"], inputs[\"module\"]\n";

/// Nodes in answers become their ranges here, because a node brings all that is below it.
const ANSWERS: &str = r#"
import json as grail_tree_json


def grail_tree_plain(value):
    if isinstance(value, dict) and isinstance(value.get("node"), dict):
        value = dict(value)
        node = value.pop("node")
        if "range" not in value:
            value["range"] = node.get("range")
        if "path" not in value and "path" in node:
            value["path"] = node["path"]
    return value


def grail_tree_findings(found):
    if not isinstance(found, (list, tuple)):
        return found
    answer = []
    for item in found:
        item = grail_tree_plain(item)
        if isinstance(item, dict) and isinstance(item.get("fix"), dict):
            fix = dict(item["fix"])
            if isinstance(fix.get("edits"), (list, tuple)):
                fix["edits"] = [grail_tree_plain(edit) for edit in fix["edits"]]
            item = dict(item)
            item["fix"] = fix
        answer.append(item)
    return answer


def grail_tree_transformed(function, tree, before):
    changed = function(tree)
    if changed is None:
        changed = tree
    text = grail_tree_json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
    if text == before:
        return "null"
    return text
"#;
