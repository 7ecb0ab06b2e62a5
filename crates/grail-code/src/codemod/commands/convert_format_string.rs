//! `convert-format-string`: `"{} of {n}".format(x, n=y)` becomes `f"{x} of {y}"`.

use super::format_literal::{Piece, Unit, has_comment, literals, rebuild, units};
use super::interpolation::{Refusal, check_order, expression_text, interpolation, primary_text};
use super::{Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::{Edit, Field, Kind, Node, Span};

pub(super) const COMMAND: Command = Command {
    name: "convert-format-string",
    summary: "Turn `\"…\".format(…)` into f-strings",
    libcst: Some("ConvertFormatStringCommand"),
    arguments: &[],
    run,
};

fn run(context: &CommandContext<'_>, _arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    let mut converted_until = 0;
    for call in context.nodes_of(Kind::Call) {
        let Some(template) = template_of(call) else { continue };
        if call.span().start < converted_until {
            continue;
        }
        match convert(call, template) {
            Ok(edits) => {
                outcome.edits.extend(edits);
                converted_until = call.span().end;
            }
            Err(Refusal(reason)) => outcome.notes.push(context.note(call, reason)),
        }
    }
    Ok(outcome)
}

/// The string of `"…".format(…)`.
fn template_of(call: Node<'_>) -> Option<Node<'_>> {
    let function = call.child(Field::Func).filter(|function| function.kind() == Kind::Attribute)?;
    let is_format = function.child(Field::Attr)?.text() == "format";
    let value = function.child(Field::Value)?;
    (is_format && matches!(value.kind(), Kind::String | Kind::ConcatenatedString)).then_some(value)
}

fn convert(call: Node<'_>, template: Node<'_>) -> Result<Vec<Edit>, Refusal> {
    if call.ancestors().any(|node| matches!(node.kind(), Kind::FString | Kind::TString)) {
        return Err(Refusal("it stands inside another f-string"));
    }
    let literals = literals(template).ok_or(Refusal("not all parts are plain strings"))?;
    let tail = Span::new(template.span_with_parentheses().end, call.span().end);
    if has_comment(call, tail) {
        return Err(Refusal("a comment would be lost"));
    }
    let mut fields = Fields::new(call)?;
    let mut pieces = Vec::new();
    for (_, literal) in &literals {
        let units = units(literal.content, literal.is_raw());
        if units.iter().any(|unit| unit.is_escape() && matches!(unit.value, Some('{' | '}'))) {
            return Err(Refusal("a brace is written as an escape"));
        }
        pieces.push(split(&units, &mut fields, literal.quote)?);
    }
    check_order(&fields.values, &fields.used)?;
    let mut edits = rebuild(&literals, &pieces)?;
    edits.push(Edit::remove(tail));
    Ok(edits)
}

/// The arguments of the call, and which of them the fields have used so far.
struct Fields<'a> {
    values: Vec<Node<'a>>,
    names: Vec<Option<&'a str>>,
    used: Vec<usize>,
    numbering: Numbering,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbering {
    Unknown,
    Automatic(usize),
    Manual,
}

impl<'a> Fields<'a> {
    fn new(call: Node<'a>) -> Result<Self, Refusal> {
        let (mut values, mut names) = (Vec::new(), Vec::new());
        for argument in call.list(Field::Args) {
            match argument.kind() {
                Kind::Starred => return Err(Refusal("the arguments are unpacked")),
                Kind::Keyword => {
                    let name = argument.child(Field::Keyword).ok_or(Refusal("the arguments are unpacked"))?;
                    names.push(Some(name.text()));
                    values.push(argument.child(Field::Value).ok_or(Refusal("an argument has no value"))?);
                }
                _ => {
                    names.push(None);
                    values.push(argument);
                }
            }
        }
        Ok(Self { values, names, used: Vec::new(), numbering: Numbering::Unknown })
    }

    /// The expression that a replacement field such as `0.name[key]` stands for.
    fn resolve(&mut self, field: &str, quote: &str) -> Result<String, Refusal> {
        let end = field.find(['.', '[']).unwrap_or(field.len());
        let (first, accessors) = field.split_at(end);
        let index = self.index_of(first)?;
        self.used.push(index);
        let value = self.values[index];
        if accessors.is_empty() {
            return expression_text(value, quote);
        }
        let mut text = primary_text(value, quote)?;
        let mut rest = accessors;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if !is_identifier(&after[..end]) {
                    return Err(Refusal("an attribute in the format is not a name"));
                }
                text.push_str(&rest[..=end]);
                rest = &after[end..];
            } else {
                let (key, after) = rest
                    .strip_prefix('[')
                    .and_then(|rest| rest.split_once(']'))
                    .ok_or(Refusal("the format is malformed"))?;
                text.push_str(&index_text(key, quote)?);
                rest = after;
            }
        }
        Ok(text)
    }

    fn index_of(&mut self, first: &str) -> Result<usize, Refusal> {
        let positional = || self.names.iter().filter(|name| name.is_none()).count();
        let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        let wanted = match (first, is_number, self.numbering) {
            ("", _, Numbering::Manual) | (_, true, Numbering::Automatic(_)) => {
                return Err(Refusal("the format mixes automatic and manual numbering"));
            }
            ("", _, Numbering::Automatic(next)) => {
                self.numbering = Numbering::Automatic(next + 1);
                next
            }
            ("", _, Numbering::Unknown) => {
                self.numbering = Numbering::Automatic(1);
                0
            }
            (_, true, _) => {
                self.numbering = Numbering::Manual;
                first.parse().map_err(|_| Refusal("the format names no argument"))?
            }
            (name, false, _) => {
                let found = self.names.iter().position(|given| *given == Some(name));
                return found.ok_or(Refusal("the format names no argument"));
            }
        };
        if wanted >= positional() {
            return Err(Refusal("the format names no argument"));
        }
        // Positional arguments may stand behind keywords only if they are unpacked, which was refused.
        Ok(wanted)
    }
}

/// Splits a template into text and interpolations.
fn split(units: &[Unit<'_>], fields: &mut Fields<'_>, quote: &str) -> Result<Vec<Piece>, Refusal> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut index = 0;
    while let Some(unit) = units.get(index) {
        let is_doubled = units.get(index + 1).is_some_and(|next| next.text == unit.text);
        if (unit.is('{') || unit.is('}')) && is_doubled {
            text.push_str(unit.text);
            text.push_str(unit.text);
            index += 2;
        } else if unit.is('}') {
            return Err(Refusal("the format has a stray brace"));
        } else if unit.is('{') {
            let end = field_end(units, index)?;
            let field: String = units[index + 1..end].iter().map(|unit| unit.text).collect();
            if units[index + 1..end].iter().any(Unit::is_escape) || field.contains(['\\', '\n', '\r']) {
                return Err(Refusal("a replacement field holds an escape or line break"));
            }
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(Piece::Interpolation(replacement(&field, fields, quote, true)?));
            index = end + 1;
        } else {
            text.push_str(unit.text);
            index += 1;
        }
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// The index of the brace that closes the field opened at `start`.
fn field_end(units: &[Unit<'_>], start: usize) -> Result<usize, Refusal> {
    let mut depth = 0;
    for (offset, unit) in units[start..].iter().enumerate() {
        if unit.is('{') {
            depth += 1;
        } else if unit.is('}') {
            depth -= 1;
            if depth == 0 {
                return Ok(start + offset);
            }
        }
    }
    Err(Refusal("the format has a stray brace"))
}

/// The interpolation for the inside of a replacement field.
fn replacement(
    field: &str,
    fields: &mut Fields<'_>,
    quote: &str,
    allows_spec: bool,
) -> Result<String, Refusal> {
    let name_end = name_end(field);
    let (name, rest) = field.split_at(name_end);
    let (conversion, rest) = match rest.strip_prefix('!') {
        Some(rest) => {
            let letter = rest.chars().next().filter(|letter| matches!(letter, 'r' | 's' | 'a'));
            let letter = letter.ok_or(Refusal("the format has an unknown conversion"))?;
            (Some(letter), &rest[1..])
        }
        None => (None, rest),
    };
    let spec = match rest.strip_prefix(':') {
        Some(spec) => spec,
        None if rest.is_empty() => "",
        None => return Err(Refusal("the format is malformed")),
    };
    let text = fields.resolve(name, quote)?;
    if !spec.is_empty() && !allows_spec {
        return Err(Refusal("the format is nested too deeply"));
    }
    let mut converted = String::new();
    let mut rest = spec;
    while let Some(open) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(open);
        converted.push_str(before);
        let inner = from.strip_prefix('{').ok_or(Refusal("the format has a stray brace"))?;
        let (inner, after) = inner.split_once('}').ok_or(Refusal("the format has a stray brace"))?;
        if inner.contains('{') {
            return Err(Refusal("the format is nested too deeply"));
        }
        converted.push_str(&replacement(inner, fields, quote, false)?);
        rest = after;
    }
    converted.push_str(rest);
    Ok(interpolation(&text, conversion, &converted))
}

/// Where a field's name ends: at the first `!` or `:` outside of `[…]`.
fn name_end(field: &str) -> usize {
    let mut is_inside_index = false;
    for (at, character) in field.char_indices() {
        match character {
            '[' => is_inside_index = true,
            ']' => is_inside_index = false,
            '!' | ':' if !is_inside_index => return at,
            _ => {}
        }
    }
    field.len()
}

/// `[0]` stays a number, everything else between the brackets is a string key.
fn index_text(key: &str, quote: &str) -> Result<String, Refusal> {
    if key.is_empty() {
        return Err(Refusal("the format is malformed"));
    }
    if key.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = key.trim_start_matches('0');
        return Ok(format!("[{}]", if number.is_empty() { "0" } else { number }));
    }
    if key.contains(['"', '\'', '\\', '#', '{', '}']) {
        return Err(Refusal("a key in the format cannot be quoted"));
    }
    let other = if quote.starts_with('"') { "'" } else { "\"" };
    Ok(format!("[{other}{key}{other}]"))
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    let starts_well = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    starts_well && characters.all(|character| character.is_alphanumeric() || character == '_')
}
