//! The text of a filled template as it grows: the template's own lines with the indentation of their place, captures in between.

use super::render::Place;
use super::template::Form;
use crate::layout::{indentation_unit, reindent};
use crate::{Kind, Node, Span};

/// Writes a template's own text, line by line, with the indentation of its place.
pub(super) struct Writer<'r> {
    form: &'r Form,
    output: String,
    newline: &'static str,
    base: &'r str,
    /// One level of indentation in the template, and in the file.
    units: (&'r str, &'r str),
    /// The indentation of the current line.
    line_indentation: String,
    /// The line has been opened but nothing written to it.
    is_fresh: bool,
    strings: Vec<Span>,
    words: Vec<(&'r str, &'r str)>,
}

impl<'r> Writer<'r> {
    pub(super) fn new(form: &'r Form, place: &'r Place<'_>, words: Vec<(&'r str, &'r str)>) -> Self {
        let strings = form.parsed.nodes().filter(|node| {
            matches!(node.kind(), Kind::String | Kind::Bytes | Kind::FString | Kind::TString)
                && node.text().contains('\n')
        });
        Self {
            form,
            output: String::new(),
            newline: place.parsed.source().newline(),
            base: &place.indentation,
            units: (indentation_unit(&form.parsed), indentation_unit(place.parsed)),
            line_indentation: place.indentation.clone(),
            is_fresh: false,
            strings: strings.map(Node::span).collect(),
            words,
        }
    }

    pub(super) fn literal(&mut self, span: Span) {
        let text = span.of(self.form.parsed.text());
        let mut offset = span.start;
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.output.push_str(self.newline);
                let is_in_string =
                    self.strings.iter().any(|string| string.start < offset && offset < string.end);
                self.is_fresh = !is_in_string;
                if is_in_string {
                    self.output.push_str(&self.written(line));
                    offset += line.len() as u32 + 1;
                    continue;
                }
                self.line_indentation.clear();
                self.line_indentation.push_str(self.base);
            }
            if self.is_fresh {
                let code = line.trim_start_matches([' ', '\t']);
                self.line_indentation.push_str(&self.converted(&line[..line.len() - code.len()]));
                if !code.is_empty() {
                    self.open_line();
                    self.output.push_str(&self.written(code));
                }
            } else {
                self.output.push_str(&self.written(line));
            }
            offset += line.len() as u32 + 1;
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        if text.starts_with(['\n', '\r']) {
            // A block that begins with a blank line, which gets no indentation.
            self.is_fresh = false;
        } else if self.is_fresh && !text.is_empty() {
            self.open_line();
        }
        self.output.push_str(text);
    }

    fn open_line(&mut self) {
        self.output.push_str(&self.line_indentation);
        self.is_fresh = false;
    }

    /// Starts a line one level deeper, behind a header.
    pub(super) fn break_line(&mut self) {
        let length = self.output.trim_end_matches([' ', '\t']).len();
        self.output.truncate(length);
        self.output.push_str(self.newline);
        self.line_indentation.push_str(self.units.1);
        self.is_fresh = true;
    }

    pub(super) fn is_at_line_start(&self) -> bool {
        self.is_fresh || self.output.is_empty()
    }

    pub(super) fn indentation(&self) -> &str {
        &self.line_indentation
    }

    /// Captured code with the lines behind its first moved from the indentation `from` to that of the current line.
    pub(super) fn shift(&self, text: &str, from: &str) -> String {
        let to = self.line_indentation.as_str();
        if from == to || !text.contains(['\n', '\r']) {
            return text.to_owned();
        }
        // In parentheses no line break is an end, and the first line is not one of those that move.
        let shifted = reindent(&format!("({text})"), from, to);
        let shifted = shifted.strip_prefix(to).unwrap_or(&shifted);
        shifted.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text).to_owned()
    }

    /// Leading white space in the units of the file.
    fn converted(&self, indentation: &str) -> String {
        let (from, to) = self.units;
        if from == to || self.form.root_expression().is_some() {
            return indentation.to_owned();
        }
        let mut rest = indentation;
        let mut converted = String::new();
        while let Some(next) = rest.strip_prefix(from) {
            converted.push_str(to);
            rest = next;
        }
        converted + rest
    }

    /// The template's own text. What looks like a capture here stands within a string or a comment: a captured name is filled in, all
    /// else gets its dollars back.
    fn written(&self, text: &str) -> String {
        let sigil = self.form.sigil;
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(sigil) {
            written.push_str(&rest[..at]);
            rest = &rest[at..];
            let dollars = rest.len() - rest.trim_start_matches(sigil).len();
            let behind = &rest[dollars..];
            let found = self.words.iter().find(|(name, _)| {
                let is_word = |next: char| next.is_ascii_alphanumeric() || next == '_';
                behind.strip_prefix(name).is_some_and(|after| !after.starts_with(is_word))
            });
            match found {
                Some((name, value)) => {
                    written.push_str(value);
                    rest = &behind[name.len()..];
                }
                None => {
                    written.extend(std::iter::repeat_n('$', dollars / sigil.len_utf8()));
                    rest = behind;
                }
            }
        }
        written.push_str(rest);
        written
    }

    pub(super) fn finish(self) -> String {
        self.output.trim_end_matches([' ', '\t', '\n', '\r']).to_owned()
    }
}
