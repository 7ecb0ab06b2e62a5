//! Another prefix for a string literal, with the braces that the change makes or ends as special.

use crate::tree::{StringLiteral, string_literal};
use crate::{Edit, Kind, Node, Span};

/// Gives a string the prefix `f`, `t` or none; `r` stays where it is. Of adjacent literals all become `t`-strings, for these mix with no
/// others. None of it if the result would not be Python: bytes, or interpolations that would end as text.
pub fn string_prefix(string: Node<'_>, prefix: &str) -> Vec<Edit> {
    let whole = string.parent().filter(|parent| parent.kind() == Kind::ConcatenatedString).unwrap_or(string);
    let parts: Vec<Node<'_>> = match whole.kind() {
        Kind::ConcatenatedString => whole.children().collect(),
        _ => vec![whole],
    };
    let is_formatted = |part: &Node<'_>| matches!(part.kind(), Kind::FString | Kind::TString);
    let Some(wanted) = Wanted::parse(prefix) else { return Vec::new() };
    // Plain literals may stand beside f-strings.
    let spares_plain = wanted == Wanted::Letter('f') && parts.iter().any(is_formatted);
    let mut edits = Vec::new();
    for part in parts.into_iter().filter(|part| !spares_plain || is_formatted(part)) {
        match change(part, wanted) {
            Some(changed) => edits.extend(changed),
            None => return Vec::new(),
        }
    }
    edits
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Plain,
    /// `f` or `t`.
    Letter(char),
}

impl Wanted {
    fn parse(prefix: &str) -> Option<Self> {
        match prefix {
            "" => Some(Self::Plain),
            "f" => Some(Self::Letter('f')),
            "t" => Some(Self::Letter('t')),
            _ => None,
        }
    }
}

/// The edits for one literal; `None` if it cannot have the prefix.
fn change(literal: Node<'_>, wanted: Wanted) -> Option<Vec<Edit>> {
    let spelled = string_literal(literal)?;
    let has_interpolations = literal.children().any(|part| part.kind() == Kind::Interpolation);
    let braces = match (literal.kind(), wanted) {
        (Kind::Bytes, _) => return None,
        (Kind::String, Wanted::Plain) => return Some(Vec::new()),
        (Kind::String, Wanted::Letter(_)) => double_braces(&spelled),
        (_, Wanted::Plain) if has_interpolations => return None,
        (_, Wanted::Plain) => halve_braces(&spelled),
        (_, Wanted::Letter(_)) => Vec::new(),
    };
    let mut edits = Vec::new();
    let prefix = new_prefix(spelled.prefix, wanted);
    if prefix != spelled.prefix {
        let start = literal.span().start;
        edits.push(Edit::replace(Span::new(start, start + spelled.prefix.len() as u32), prefix));
    }
    edits.extend(braces);
    Some(edits)
}

/// `f` in the place of `t` and the other way round; otherwise behind the `r`.
fn new_prefix(old: &str, wanted: Wanted) -> String {
    let Wanted::Letter(letter) = wanted else {
        return old.chars().filter(|old| matches!(old, 'r' | 'R')).collect();
    };
    match old.find(['f', 'F', 't', 'T']) {
        Some(_) => old.replace(['f', 'F', 't', 'T'], &letter.to_string()),
        // A `u` goes with neither.
        None => old.chars().filter(|old| matches!(old, 'r' | 'R')).chain([letter]).collect(),
    }
}

fn double_braces(literal: &StringLiteral<'_>) -> Vec<Edit> {
    let inserted = braces(literal).into_iter().map(|(offset, brace)| Edit::insert(offset, brace));
    inserted.collect()
}

/// In a literal without interpolations every brace stands twice.
fn halve_braces(literal: &StringLiteral<'_>) -> Vec<Edit> {
    let firsts = braces(literal).into_iter().step_by(2);
    firsts.map(|(offset, _)| Edit::remove(Span::new(offset, offset + 1))).collect()
}

/// The braces of a literal and where they stand, but for those of `\N{DASH}`, which mean the same with every prefix.
fn braces<'a>(literal: &StringLiteral<'a>) -> Vec<(u32, &'a str)> {
    let mut found = Vec::new();
    let mut rest = literal.content;
    while let Some(at) = rest.find(['{', '}', '\\']) {
        let (offset, special) = (literal.span.end - (rest.len() - at) as u32, &rest[at..]);
        let length = match special {
            _ if special.starts_with("\\N{") && !literal.is_raw() => {
                special.find('}').map_or(special.len(), |end| end + 1)
            }
            _ if special.starts_with("\\\\") => 2,
            _ if special.starts_with('\\') => 1,
            brace => {
                found.push((offset, &brace[..1]));
                1
            }
        };
        rest = &special[length..];
    }
    found
}
