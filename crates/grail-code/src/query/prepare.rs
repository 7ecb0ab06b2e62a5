//! From a code pattern as written to Python that the parser accepts, and back to the place in the pattern.
//!
//! `$` becomes a letter that nobody's pattern contains, so that a metavariable is an ordinary identifier. Patterns that are only a part
//! of a statement (`except $E: $$$`, `@$D`, `case $P: $$$`) or leave out the body get the missing rest.

use super::PatternError;
use crate::{Diagnostic, Kind, NodeId, Parsed, Source, Span, parse_expression, parse_module};

/// A parsed code pattern.
pub(super) struct Prepared {
    pub(super) parsed: Parsed,
    pub(super) sigil: char,
    /// The node that stands for the whole pattern: a module, an expression, or a clause.
    pub(super) root: NodeId,
    origins: Vec<u32>,
}

/// A metavariable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Metavariable<'a> {
    pub(super) is_many: bool,
    /// `None` for `$_` and `$$$`.
    pub(super) name: Option<&'a str>,
}

/// Letters in which no language writes identifiers for programs.
const SIGILS: [char; 4] = ['ǁ', 'ǂ', 'ǀ', 'ǃ'];

/// What a header without a body gets.
const ANY_BODY: &str = ": ǁǁǁ";

/// Rules that a pattern may break: `$$$` has no place among arguments, and `…` may stand in bytes.
const TOLERATED: [&str; 5] = [
    "bytes can only contain ASCII literal characters",
    "Positional argument cannot follow keyword argument",
    "Positional argument cannot follow keyword argument unpacking",
    "Parameter without a default cannot follow a parameter with a default",
    "Parameter cannot follow var-keyword parameter",
];

pub(super) fn prepare(pattern: &str) -> Result<Prepared, PatternError> {
    if pattern.trim().is_empty() {
        return Err(PatternError::new("the pattern is empty")
            .hint("a pattern is Python code, for instance `print($X)`"));
    }
    if let Some(at) = pattern.find('\0') {
        let span = Span::new(at as u32, at as u32 + 1);
        return Err(PatternError::new("a pattern cannot contain a null byte").at(span));
    }
    let Some(sigil) = SIGILS.into_iter().find(|sigil| !pattern.contains(*sigil)) else {
        return Err(PatternError::new(
            "the pattern uses all the letters that are set aside for metavariables",
        ));
    };
    let plain = Draft::new(pattern, sigil, Braces::Plain);
    let mut drafts = plain.variants();
    if plain.has_open_braces {
        drafts.extend(Draft::new(pattern, sigil, Braces::Unpacked).variants());
    }
    let mut first_error = None;
    for (draft, frame) in drafts {
        let parsed = match frame {
            Frame::Expression => parse_expression(Source::from_text(draft.text)),
            _ => parse_module(Source::from_text(draft.text)),
        };
        match parsed.diagnostics().iter().find(|diagnostic| !TOLERATED.contains(&diagnostic.message.as_str()))
        {
            None => {
                if let Some(root) = frame.root(&parsed) {
                    return Ok(Prepared { parsed, sigil, root, origins: draft.origins });
                }
            }
            // The spelling that says most about the author's intent comes first.
            Some(diagnostic) if first_error.is_none() => {
                first_error = Some(syntax_error(diagnostic, &draft.origins, pattern));
            }
            Some(_) => {}
        }
    }
    Err(first_error.unwrap_or_else(|| PatternError::new("the pattern is not Python")))
}

impl Prepared {
    /// The bytes of the pattern as written.
    pub(super) fn original(&self, span: Span) -> Span {
        original(&self.origins, span)
    }

    pub(super) fn metavariable<'t>(&self, text: &'t str) -> Option<Metavariable<'t>> {
        let name = text.trim_start_matches(self.sigil);
        let is_many = match (text.len() - name.len()) / self.sigil.len_utf8() {
            1 if !name.is_empty() => false,
            3 => true,
            _ => return None,
        };
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some(Metavariable { is_many, name: (!name.is_empty() && name != "_").then_some(name) })
    }

    /// Text of the pattern with its dollars.
    pub(super) fn written(&self, text: &str) -> String {
        text.replace(self.sigil, "$")
    }
}

/// How `$$$` directly in braces is read.
#[derive(Clone, Copy, PartialEq)]
enum Braces {
    /// As an element of a set.
    Plain,
    /// As entries of a dictionary.
    Unpacked,
}

/// Where the pattern stands in the text that is parsed.
#[derive(Clone, Copy)]
enum Frame {
    Statements,
    Expression,
    /// A clause of the first statement.
    Clause(Kind),
}

impl Frame {
    fn root(self, parsed: &Parsed) -> Option<NodeId> {
        match self {
            Frame::Statements | Frame::Expression => Some(parsed.root().id()),
            Frame::Clause(kind) => parsed.nodes_of(kind).next().map(|node| node.id()),
        }
    }
}

#[derive(Clone)]
struct Draft {
    text: String,
    /// For each byte of the text, the byte of the pattern it comes from.
    origins: Vec<u32>,
    sigil: char,
    has_open_braces: bool,
}

impl Draft {
    fn new(pattern: &str, sigil: char, braces: Braces) -> Self {
        let mut draft = Self { text: String::new(), origins: Vec::new(), sigil, has_open_braces: false };
        let body = pattern.trim_end();
        let first = body.len() - body.trim_start().len();
        let line_start = body[..first].rfind('\n').map_or(0, |at| at + 1);
        let indentation = &body[line_start..first];
        let mut brackets = Vec::new();
        let mut previous = ' ';
        let mut offset = first;
        while let Some(character) = body[offset..].chars().next() {
            let rest = &body[offset..];
            let dollars = rest.len() - rest.trim_start_matches('$').len();
            if is_metavariable(rest, dollars) {
                let is_entry = dollars == 3 && brackets.last() == Some(&'{') && matches!(previous, '{' | ',');
                draft.has_open_braces |= is_entry;
                if is_entry && braces == Braces::Unpacked {
                    draft.push_str("**", offset);
                }
                for index in 0..dollars {
                    draft.push(sigil, offset + index);
                }
                offset += dollars;
                previous = '$';
                continue;
            }
            match character {
                '(' | '[' | '{' => brackets.push(character),
                ')' | ']' | '}' => {
                    brackets.pop();
                }
                _ => {}
            }
            if !character.is_whitespace() {
                previous = character;
            }
            draft.push(character, offset);
            offset += character.len_utf8();
            if character == '\n' {
                let common =
                    body[offset..].bytes().zip(indentation.bytes()).take_while(|(a, b)| a == b).count();
                offset += common;
            }
        }
        draft.origins.push(body.len() as u32);
        draft
    }

    fn push(&mut self, character: char, origin: usize) {
        self.text.push(character);
        self.origins.extend(std::iter::repeat_n(origin as u32, character.len_utf8()));
    }

    fn push_str(&mut self, text: &str, origin: usize) {
        text.chars().for_each(|character| self.push(character, origin));
    }

    /// The ways to complete the draft, the likeliest first.
    fn variants(&self) -> Vec<(Draft, Frame)> {
        let word = self.text.split(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
        let mut variants = Vec::new();
        let clause = match word {
            "except" => Some(("try: pass\n", Kind::ExceptHandler)),
            "finally" => Some(("try: pass\n", Kind::Finally)),
            "elif" => Some(("if x: pass\n", Kind::Elif)),
            "else" => Some(("if x: pass\n", Kind::Else)),
            "case" => Some(("match x:\n ", Kind::MatchCase)),
            _ => None,
        };
        if let Some((before, kind)) = clause {
            variants.push((self.framed(before, ""), Frame::Clause(kind)));
            variants.push((self.framed(before, ANY_BODY), Frame::Clause(kind)));
        }
        variants.push((self.clone(), Frame::Statements));
        variants.push((self.clone(), Frame::Expression));
        if matches!(word, "def" | "class" | "async" | "if" | "for" | "while" | "with" | "") {
            variants.push((self.framed("", ANY_BODY), Frame::Statements));
        }
        if self.text.starts_with('@') {
            variants.push((self.framed("", "\ndef x(): pass"), Frame::Clause(Kind::Decorator)));
        }
        variants
    }

    fn framed(&self, before: &str, after: &str) -> Draft {
        let end = self.origins.last().copied().unwrap_or_default();
        let mut origins = vec![0; before.len()];
        origins.extend(&self.origins);
        origins.extend(std::iter::repeat_n(end, after.len()));
        let after = after.replace(SIGILS[0], &self.sigil.to_string());
        Draft { text: format!("{before}{}{after}", self.text), origins, ..*self }
    }
}

fn is_metavariable(rest: &str, dollars: usize) -> bool {
    let starts_name = rest[dollars..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    dollars == 3 || (dollars == 1 && starts_name)
}

fn original(origins: &[u32], span: Span) -> Span {
    let at = |offset: u32| origins.get(offset as usize).or(origins.last()).copied().unwrap_or_default();
    let start = at(span.start);
    let last = at(span.end.saturating_sub(1).max(span.start));
    Span::new(start, if span.is_empty() { start } else { last.max(start) + 1 })
}

fn syntax_error(diagnostic: &Diagnostic, origins: &[u32], pattern: &str) -> PatternError {
    let span = original(origins, diagnostic.span);
    let mut message = diagnostic.message.clone();
    if let Some(first) = message.get(..1).map(str::to_lowercase)
        && !message.get(1..2).is_some_and(|second| second.chars().all(char::is_uppercase))
    {
        message.replace_range(..1, &first);
    }
    let error = PatternError::new(message).at(span);
    let at = (span.start as usize).min(pattern.len());
    if pattern.get(at..).is_some_and(|rest| rest.starts_with('$'))
        || pattern.get(..at).is_some_and(|text| text.ends_with('$'))
    {
        return error.hint(
            "a metavariable is `$NAME` or `$_` for one node, `$$$NAME` or `$$$` for any number of nodes",
        );
    }
    error.hint(
        "a code pattern is valid Python in which `$NAME` stands for one node and `$$$NAME` for any number",
    )
}
