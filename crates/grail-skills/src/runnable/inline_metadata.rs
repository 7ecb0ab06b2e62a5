//! The metadata a script carries in its own comments (PEP 723): which Python it needs, and which packages.
//!
//! [`find_blocks`] finds what the PEP's regular expression finds, no more and no less. Reading a script's metadata is stricter than the PEP in
//! one point: a `script` block that is never closed is an error, where the PEP lets tools pass over it, because whoever wrote it meant it.

use std::path::Path;
use std::str::FromStr;

use pep440_rs::VersionSpecifiers;
use pep508_rs::{Requirement, VerbatimUrl};

use crate::error::SkillProblem;

/// The block's type, and the name of what it holds.
const SCRIPT: &str = "script";
const OPENING: &str = "# /// ";
const CLOSING: &str = "# ///";
const FIELDS: [&str; 3] = ["requires-python", "dependencies", "tool"];

/// What a script says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineMetadata {
    pub requires_python: Option<VersionSpecifiers>,
    pub dependencies: Vec<Requirement<VerbatimUrl>>,
    /// Settings of other tools, as they are.
    pub tool: toml::Table,
    /// Where the block opens, from 1.
    pub line: usize,
}

/// A comment block `# /// TYPE` … `# ///`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'s> {
    pub kind: &'s str,
    /// The content without its comment marks.
    pub content: String,
    /// Where the block opens, from 1.
    pub line: usize,
}

/// The blocks of a script, and the openings that nothing closes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks<'s> {
    pub closed: Vec<Block<'s>>,
    /// Type and line.
    pub unclosed: Vec<(&'s str, usize)>,
}

/// The metadata of the script at `path`, whose text is `source`.
pub fn read_inline_metadata(path: &Path, source: &str) -> Result<InlineMetadata, SkillProblem> {
    read_optional_metadata(path, source)?.ok_or_else(|| {
        SkillProblem::new(path, 0, "the script has no inline metadata (PEP 723)").hint(
            "begin it with `# /// script`, `# requires-python = \">=3.11\"`, `# dependencies = []` and `# ///`, a line each",
        )
    })
}

/// The metadata of a script that need not have any. Blocks of other types are other tools' business.
pub fn read_optional_metadata(path: &Path, source: &str) -> Result<Option<InlineMetadata>, SkillProblem> {
    let text = with_plain_line_ends(source);
    let blocks = find_blocks(&text);
    let problem = |line: usize, message: String| SkillProblem::new(path, line, message);
    if let Some((_, line)) = blocks.unclosed.iter().find(|(kind, _)| *kind == SCRIPT) {
        return Err(problem(*line, "the block `# /// script` is never closed".to_owned())
            .hint("end it with a line `# ///`; every line in between begins with `# ` or is a lone `#`"));
    }
    let mut scripts = blocks.closed.iter().filter(|block| block.kind == SCRIPT);
    let Some(block) = scripts.next() else { return Ok(None) };
    if let Some(second) = scripts.next() {
        let message =
            format!("there is a second block `# /// script`; the first one is on line {}", block.line);
        return Err(problem(second.line, message).hint("put everything into one block"));
    }
    parse_block(path, block).map(Some)
}

/// What the regular expression of the PEP matches in a text whose lines end with `\n`.
pub fn find_blocks(text: &str) -> Blocks<'_> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut blocks = Blocks::default();
    let mut at = 0;
    while at < lines.len() {
        let Some(kind) = opened_kind(lines[at]) else {
            at += 1;
            continue;
        };
        let first = at + 1;
        let run = lines[first..].iter().take_while(|line| is_content(line)).count();
        // The last closing line of the run ends the block, and there is at least one line of content before it.
        let closing = (first + 1..first + run).rev().find(|&index| lines[index] == CLOSING);
        match closing {
            Some(closing) => {
                let content = lines[first..closing].iter().map(|line| uncommented(line)).collect();
                blocks.closed.push(Block { kind, content, line: at + 1 });
                at = closing + 1;
            }
            None => {
                // Whatever opens further down in the same run is not closed either; to look again would take quadratic time.
                let opened =
                    (at..first + run).filter_map(|index| Some((opened_kind(lines[index])?, index + 1)));
                blocks.unclosed.extend(opened);
                at = first + run;
            }
        }
    }
    blocks
}

/// Reading a file as Python does: without a byte order mark, and every line end is `\n`.
fn with_plain_line_ends(source: &str) -> String {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    source.replace("\r\n", "\n").replace('\r', "\n")
}

fn opened_kind(line: &str) -> Option<&str> {
    let kind = line.strip_prefix(OPENING)?;
    let is_kind = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (!kind.is_empty() && kind.bytes().all(is_kind)).then_some(kind)
}

fn is_content(line: &str) -> bool {
    line == "#" || line.starts_with("# ")
}

fn uncommented(line: &str) -> String {
    format!("{}\n", line.strip_prefix("# ").unwrap_or(&line[1..]))
}

fn parse_block(path: &Path, block: &Block) -> Result<InlineMetadata, SkillProblem> {
    let line_at = |offset: usize| {
        let before = block.content.get(..offset).unwrap_or(&block.content);
        block.line + 1 + before.matches('\n').count()
    };
    let table: toml::Table = block.content.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(block.line, |span| line_at(span.start));
        SkillProblem::new(path, line, format!("the metadata is not TOML: {}", first_line(error.message())))
            .hint("inside the comment is a TOML document, as in `# dependencies = [\"httpx>=0.27\"]`")
    })?;
    let line_of = |key: &str| block.line + 1 + line_of_key(&block.content, key);
    if let Some(unknown) = table.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        let nearest = FIELDS
            .iter()
            .max_by(|a, b| strsim::jaro_winkler(a, unknown).total_cmp(&strsim::jaro_winkler(b, unknown)));
        return Err(SkillProblem::new(
            path,
            line_of(unknown),
            format!("the metadata has no field `{unknown}`"),
        )
        .hint(format!("did you mean `{}`?", nearest.unwrap_or(&FIELDS[0]))));
    }
    Ok(InlineMetadata {
        requires_python: requires_python(&table)
            .map_err(|error| error.placed(path, line_of("requires-python")))?,
        dependencies: dependencies(&table).map_err(|error| error.placed(path, line_of("dependencies")))?,
        tool: match table.get("tool") {
            None => toml::Table::new(),
            Some(toml::Value::Table(tool)) => tool.clone(),
            Some(_) => {
                return Err(SkillProblem::new(path, line_of("tool"), "`tool` is not a table"));
            }
        },
        line: block.line,
    })
}

/// What is wrong with a field, before its place is known.
struct FieldProblem {
    message: String,
    hint: &'static str,
}

impl FieldProblem {
    fn placed(self, path: &Path, line: usize) -> SkillProblem {
        SkillProblem::new(path, line, self.message).hint(self.hint)
    }
}

fn requires_python(table: &toml::Table) -> Result<Option<VersionSpecifiers>, FieldProblem> {
    let hint = "a version specifier is a string like `>=3.11` or `>=3.11,<3.15`";
    match table.get("requires-python") {
        None => Ok(None),
        Some(toml::Value::String(text)) => VersionSpecifiers::from_str(text).map(Some).map_err(|error| {
            let reason = first_line(&error.to_string());
            FieldProblem { message: format!("`requires-python` is not a version specifier: {reason}"), hint }
        }),
        Some(_) => Err(FieldProblem { message: "`requires-python` is not a string".to_owned(), hint }),
    }
}

fn dependencies(table: &toml::Table) -> Result<Vec<Requirement<VerbatimUrl>>, FieldProblem> {
    let hint = "`dependencies` is a list of strings like `httpx>=0.27`";
    let entries = match table.get("dependencies") {
        None => return Ok(Vec::new()),
        Some(toml::Value::Array(entries)) => entries,
        Some(_) => return Err(FieldProblem { message: "`dependencies` is not a list".to_owned(), hint }),
    };
    let requirement = |entry: &toml::Value| {
        let Some(text) = entry.as_str() else {
            return Err(FieldProblem { message: format!("the dependency `{entry}` is not a string"), hint });
        };
        Requirement::from_str(text).map_err(|error| {
            let reason = first_line(&error.to_string());
            FieldProblem { message: format!("the dependency `{text}` is not a requirement: {reason}"), hint }
        })
    };
    entries.iter().map(requirement).collect()
}

/// The parsers draw the mistake on lines of their own; a message has one.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim().to_owned()
}

/// How many lines stand before the one that begins with the key. What is not found (a quoted key) is placed at the block's first line.
fn line_of_key(content: &str, key: &str) -> usize {
    let names_it = |line: &str| {
        let line = line.trim_start_matches(['[', ' ', '\t', '"', '\'']);
        line.strip_prefix(key).is_some_and(|rest| {
            !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-' || next == '_')
        })
    };
    content.lines().position(names_it).unwrap_or(0)
}
