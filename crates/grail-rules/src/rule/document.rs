//! A rule's Markdown file, taken apart: front matter, reason, definition, and the examples that prove it.
//!
//! Nothing is compiled here. Every part keeps the line it starts on, so that a mistake in it can be pointed at.

use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::{RuleProblem, Severity};

/// Larger rule files are refused.
pub(crate) const MAX_RULE_BYTES: usize = 256 * 1024;

pub(crate) struct Document {
    /// The YAML between the `---` lines, and the line it starts on.
    pub(crate) front: Block,
    pub(crate) title: String,
    /// The prose between the title and the definition.
    pub(crate) why: String,
    /// The `yaml rule` block.
    pub(crate) definition: Option<Block>,
    pub(crate) examples: Vec<Example>,
}

pub(crate) struct Block {
    pub(crate) text: String,
    /// The line of its first line of text, from 1.
    pub(crate) line: usize,
}

/// A `Good` or `Bad` section: one small project, and what must be found in it.
#[derive(Clone, Debug)]
pub struct Example {
    pub title: String,
    pub is_bad: bool,
    /// The line of the heading.
    pub line: usize,
    /// Sources without the comments that say what is expected.
    pub files: Vec<ExampleFile>,
    /// What `--fix` must make of the files, by path.
    pub fixed: Vec<ExampleFile>,
    /// Options for this example, from a `toml` block.
    pub options: Option<String>,
    /// The artifact kind that the files are taken for, from `kind=NAME` behind ```` ```python ````.
    pub kind: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleFile {
    pub path: String,
    pub text: String,
    /// The line of the rule file that the text starts on.
    pub line: usize,
    pub expected: Vec<Expectation>,
}

/// A comment `# error: message` behind code, or alone on the line above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The line within the file, from 1.
    pub line: u32,
    pub severity: Severity,
    pub message: String,
}

pub(crate) fn parse(path: &Path, text: &str) -> Result<Document, RuleProblem> {
    if text.len() > MAX_RULE_BYTES {
        return Err(RuleProblem::new(path, 0, format!("the file is larger than {MAX_RULE_BYTES} bytes")));
    }
    let text = text.replace("\r\n", "\n");
    let (front, body_at) = front_matter(path, &text)?;
    let mut reader = Reader {
        path,
        text: &text,
        body_at,
        document: Document {
            front,
            title: String::new(),
            why: String::new(),
            definition: None,
            examples: Vec::new(),
        },
    };
    reader.read()?;
    let document = reader.document;
    if document.title.is_empty() {
        return Err(RuleProblem::new(path, line_at(&text, body_at), "the rule has no title")
            .hint("start the text with a heading: `# What must hold`"));
    }
    Ok(document)
}

fn front_matter(path: &Path, text: &str) -> Result<(Block, usize), RuleProblem> {
    let missing = || {
        RuleProblem::new(path, 1, "the file does not start with front matter")
            .hint("start with `---`, `id: my-rule`, `severity: error`, `---`")
    };
    let rest = text.strip_prefix("---\n").ok_or_else(missing)?;
    let end = rest.find("\n---\n").ok_or_else(missing)?;
    let block = Block { text: rest[..=end].to_owned(), line: 2 };
    Ok((block, "---\n".len() + end + "\n---\n".len()))
}

struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    body_at: usize,
    document: Document,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), RuleProblem> {
        let body = &self.text[self.body_at..];
        let mut events = Parser::new(body).into_offset_iter();
        let mut why_start = None;
        let mut why_end = None;
        while let Some((event, range)) = events.next() {
            let line = line_at(self.text, self.body_at + range.start);
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let mut title = String::new();
                    for (event, _) in events.by_ref() {
                        match event {
                            Event::End(TagEnd::Heading(_)) => break,
                            Event::Code(text) => {
                                title.push('`');
                                title.push_str(&text);
                                title.push('`');
                            }
                            Event::Text(text) => title.push_str(&text),
                            _ => {}
                        }
                    }
                    if level == HeadingLevel::H1 && self.document.title.is_empty() {
                        self.document.title = title;
                        why_start = Some(range.end);
                    } else {
                        why_end.get_or_insert(range.start);
                        self.open_example(&title, line);
                    }
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    why_end.get_or_insert(range.start);
                    let mut code = String::new();
                    for (event, _) in events.by_ref() {
                        match event {
                            Event::End(TagEnd::CodeBlock) => break,
                            Event::Text(text) => code.push_str(&text),
                            _ => {}
                        }
                    }
                    self.block(&info, Block { text: code, line: line + 1 })?;
                }
                _ => {}
            }
        }
        if let Some(start) = why_start {
            let end = why_end.unwrap_or(body.len()).max(start);
            self.document.why = body[start..end].trim().to_owned();
        }
        Ok(())
    }

    fn open_example(&mut self, heading: &str, line: usize) {
        let (word, title) = heading.split_once(':').unwrap_or((heading, ""));
        let is_bad = match word.trim() {
            "Bad" => true,
            "Good" => false,
            _ => return,
        };
        self.document.examples.push(Example {
            title: title.trim().to_owned(),
            is_bad,
            line,
            files: Vec::new(),
            fixed: Vec::new(),
            options: None,
            kind: None,
        });
    }

    fn block(&mut self, info: &str, block: Block) -> Result<(), RuleProblem> {
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        if language == "yaml" && words == ["rule"] {
            if self.document.definition.is_some() {
                return Err(RuleProblem::new(self.path, block.line, "the rule has two definitions"));
            }
            self.document.definition = Some(block);
            return Ok(());
        }
        let Some(example) = self.document.examples.last_mut() else { return Ok(()) };
        match language {
            "python" => {
                let mut is_fixed = false;
                let mut path = "example.py".to_owned();
                for word in words {
                    match word.split_once('=') {
                        Some(("kind", kind)) => example.kind = Some(kind.to_owned()),
                        _ if word == "fixed" => is_fixed = true,
                        _ if word.ends_with(".py") && is_inside(word) => path = word.to_owned(),
                        _ => {
                            return Err(RuleProblem::new(
                                self.path,
                                block.line - 1,
                                format!("`{word}` means nothing on a block of Python"),
                            )
                            .hint("a path such as `app/views.py`, `fixed`, or `kind=NAME`"));
                        }
                    }
                }
                if is_fixed {
                    let file = ExampleFile { path, text: block.text, line: block.line, expected: Vec::new() };
                    example.fixed.push(file);
                } else {
                    example.files.push(expectations(path, &block));
                }
            }
            "toml" => example.options = Some(block.text),
            _ => {}
        }
        Ok(())
    }
}

fn is_inside(path: &str) -> bool {
    !path.starts_with('/') && !path.contains('\\') && !path.split('/').any(|part| part == "..")
}

/// Takes the comments that say what is expected out of a source.
fn expectations(path: String, block: &Block) -> ExampleFile {
    let mut text = String::new();
    let mut expected = Vec::new();
    let mut line = 1;
    for source in block.text.split_inclusive('\n') {
        let (code, markers) = split_markers(source.trim_end_matches('\n'));
        expected.extend(markers.into_iter().map(|(severity, message)| Expectation {
            line,
            severity,
            message,
        }));
        if code.trim().is_empty() && source.contains('#') && code.len() < source.trim_end().len() {
            continue;
        }
        text.push_str(code);
        if source.ends_with('\n') {
            text.push('\n');
        }
        line += 1;
    }
    ExampleFile { path, text, line: block.line, expected }
}

fn split_markers(line: &str) -> (&str, Vec<(Severity, String)>) {
    let mut code = line;
    let mut markers = Vec::new();
    loop {
        let last = [Severity::Error, Severity::Warning, Severity::Info]
            .into_iter()
            .filter_map(|severity| Some((code.rfind(&format!("# {severity}: "))?, severity)))
            .max_by_key(|(at, _)| *at);
        let Some((at, severity)) = last else { break };
        let message = code[at..].split_once(": ").map_or("", |(_, message)| message);
        markers.insert(0, (severity, message.trim().to_owned()));
        code = code[..at].trim_end();
    }
    (code, markers)
}

/// The line of a byte offset, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
