//! Puts a command's edits and imports together into one set of edits of the original text.
//!
//! Imports are added and removed in the text that the edits leave behind, because only there it shows which are used; the steps are
//! then folded into edits of the original.

use super::{Arguments, Command, CommandContext, CommandError};
use crate::imports::{self, ImportError};
use crate::{Edit, EditConflict, Parsed, Semantic, Source, Span, edit, parse_module};

/// What a command makes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandResult {
    /// Edits of the original text, in order.
    pub edits: Vec<Edit>,
    /// The text with the edits applied.
    pub text: String,
    pub notes: Vec<String>,
}

/// Runs a command on a file. Nothing is changed if the result would not be valid Python although the file was.
pub fn run(
    command: &Command,
    context: &CommandContext<'_>,
    arguments: &Arguments,
) -> Result<CommandResult, CommandError> {
    let outcome = (command.run)(context, arguments)?;
    let original = context.parsed.text();
    let mut folded = Folded::new(original);
    let mut notes = outcome.notes;
    folded.apply(outcome.edits)?;

    let module = context.semantic.module();
    for request in &outcome.add_imports {
        let parsed = parse(folded.text());
        match imports::add(&Semantic::of_module(&parsed, module.clone()), request) {
            Ok(edits) => folded.apply(edits)?,
            Err(ImportError::Conflict(conflict)) => return Err(conflict.into()),
            Err(error @ ImportError::Invalid { .. }) => {
                return Err(CommandError::Refused { message: error.to_string() });
            }
            // The edits would use a name that means something else: better none at all.
            Err(error @ ImportError::NameTaken { .. }) => {
                notes.push(format!("left as it is: {error}"));
                return Ok(CommandResult { edits: Vec::new(), text: original.to_owned(), notes });
            }
        }
    }
    for request in &outcome.remove_imports_if_unused {
        let parsed = parse(folded.text());
        let edits = imports::remove_if_unused(&Semantic::of_module(&parsed, module.clone()), request);
        folded.apply(close_gaps(folded.text(), edits))?;
    }

    let text = folded.text().to_owned();
    if text != original && context.parsed.is_valid() {
        let parsed = parse(&text);
        if let Some(diagnostic) = parsed.diagnostics().first() {
            let message = format!("line {}: {}", diagnostic.start.line, diagnostic.message);
            return Err(CommandError::BrokenResult { command: command.name, message });
        }
    }
    Ok(CommandResult { edits: folded.into_edits(), text, notes })
}

fn parse(text: &str) -> Parsed {
    parse_module(Source::from_text(text))
}

/// Lets removals of whole lines take the blank lines on one side with them: the smaller gap goes, and at the top of the file all
/// of it.
fn close_gaps(text: &str, edits: Vec<Edit>) -> Vec<Edit> {
    let mut closed: Vec<Edit> = Vec::new();
    for edit in edits {
        match closed.last_mut() {
            Some(last)
                if edit.text.is_empty() && last.text.is_empty() && last.span.end == edit.span.start =>
            {
                last.span.end = edit.span.end;
            }
            _ => closed.push(edit),
        }
    }
    for edit in &mut closed {
        let (before, after) = (&text[..edit.span.start as usize], &text[edit.span.end as usize..]);
        let is_lines = edit.text.is_empty() && (before.is_empty() || before.ends_with('\n'));
        if !is_lines || !edit.span.of(text).ends_with('\n') {
            continue;
        }
        let blank_behind = leading_blank_lines(after.split_inclusive('\n'));
        if before.is_empty() {
            edit.span.end += blank_behind.1;
            continue;
        }
        let blank_before = leading_blank_lines(before.split_inclusive('\n').rev());
        if blank_before.0 <= blank_behind.0 {
            edit.span.start -= blank_before.1;
        } else {
            edit.span.end += blank_behind.1;
        }
    }
    closed
}

/// How many of the lines are blank before the first that is not, and how many bytes those are.
fn leading_blank_lines<'a>(lines: impl Iterator<Item = &'a str>) -> (usize, u32) {
    let blank = lines.take_while(|line| line.trim().is_empty() && line.ends_with('\n'));
    blank.fold((0, 0), |(count, bytes), line| (count + 1, bytes + line.len() as u32))
}

/// A text made from an original in several steps.
struct Folded<'a> {
    original: &'a str,
    text: String,
    segments: Vec<Segment>,
}

enum Segment {
    /// Bytes of the original.
    Kept(Span),
    New(String),
}

impl<'a> Folded<'a> {
    fn new(original: &'a str) -> Self {
        let whole = Span::new(0, original.len() as u32);
        Self { original, text: original.to_owned(), segments: vec![Segment::Kept(whole)] }
    }

    fn text(&self) -> &str {
        &self.text
    }

    /// Applies edits of the current text.
    fn apply(&mut self, edits: Vec<Edit>) -> Result<(), EditConflict> {
        if edits.is_empty() {
            return Ok(());
        }
        let edits = edit::order(edits)?;
        let mut result = Vec::new();
        let mut segments = std::mem::take(&mut self.segments).into_iter();
        let mut current = segments.next();
        // Where `current` begins in the current text.
        let mut offset = 0;
        for change in &edits {
            take(&mut segments, &mut current, &mut offset, change.span.start, &mut |part| result.push(part));
            result.push(Segment::New(change.text.clone()));
            take(&mut segments, &mut current, &mut offset, change.span.end, &mut |_| {});
        }
        result.extend(current);
        result.extend(segments);
        self.segments = result;
        self.text = edit::apply(&self.text, edits)?;
        Ok(())
    }

    fn into_edits(self) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut cursor = 0;
        let mut text = String::new();
        let end = Segment::Kept(Span::at(self.original.len() as u32));
        for segment in self.segments.into_iter().chain([end]) {
            match segment {
                Segment::New(new) => text.push_str(&new),
                Segment::Kept(span) => {
                    let replaced = Span::new(cursor, span.start);
                    if replaced.of(self.original) != text {
                        edits.push(Edit::replace(replaced, std::mem::take(&mut text)));
                    }
                    text.clear();
                    cursor = span.end;
                }
            }
        }
        edits
    }
}

/// Hands over segments up to the place `until` of the current text.
fn take(
    segments: &mut impl Iterator<Item = Segment>,
    current: &mut Option<Segment>,
    offset: &mut u32,
    until: u32,
    receive: &mut dyn FnMut(Segment),
) {
    while *offset < until {
        let Some(segment) = current.take() else { return };
        let wanted = until - *offset;
        match segment {
            Segment::Kept(span) if span.len() > wanted => {
                receive(Segment::Kept(Span::new(span.start, span.start + wanted)));
                *current = Some(Segment::Kept(Span::new(span.start + wanted, span.end)));
                *offset = until;
            }
            Segment::New(mut text) if text.len() as u32 > wanted => {
                let rest = text.split_off(wanted as usize);
                receive(Segment::New(text));
                *current = Some(Segment::New(rest));
                *offset = until;
            }
            whole => {
                *offset += match &whole {
                    Segment::Kept(span) => span.len(),
                    Segment::New(text) => text.len() as u32,
                };
                receive(whole);
                *current = segments.next();
            }
        }
    }
}
