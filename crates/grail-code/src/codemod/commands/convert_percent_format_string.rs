//! `convert-percent-format-string`: `"%s of %(n)5d" % …` becomes an f-string.
//!
//! `%s`, `%r` and `%a` mean the same in both. The numeric conversions do not quite: `"%d" % 1.5` cuts, `f"{1.5:d}"` raises. They are
//! converted where the value is plainly a number of the right kind, or everywhere with `assume-numbers`.

use super::format_literal::{Piece, Unit, has_comment, literals, rebuild, units};
use super::interpolation::{Refusal, check_order, expression_text, interpolation, is_simple, primary_text};
use super::{Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::tree::string_literal;
use crate::{Edit, Field, Kind, Node, Span};

pub(super) const COMMAND: Command = Command {
    name: "convert-percent-format-string",
    summary: "Turn `\"…\" % …` into f-strings",
    libcst: Some("ConvertPercentFormatStringCommand"),
    arguments: &[
        Argument {
            name: "assume-numbers",
            help: "Whether `%d`, `%x` always meet integers and `%f`, `%e`, `%g` always meet integers or floats",
            default: Some("false"),
        },
        Argument {
            name: "assume-single-values",
            help: "Whether the value of `\"%s\" % value` is never a tuple, which `%` would take apart",
            default: Some("true"),
        },
    ],
    run,
};

struct Assumptions {
    numbers: bool,
    single_values: bool,
}

fn run(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let assumptions = Assumptions {
        numbers: arguments.is_set("assume-numbers")?,
        single_values: arguments.is_set("assume-single-values")?,
    };
    let mut outcome = CommandOutcome::default();
    let mut converted_until = 0;
    for operation in context.nodes_of(Kind::BinOp) {
        if operation.span().start < converted_until || !is_formatting(operation) {
            continue;
        }
        match convert(context, operation, &assumptions) {
            Ok(edits) => {
                outcome.edits.extend(edits);
                converted_until = operation.span().end;
            }
            Err(Refusal(reason)) => outcome.notes.push(context.note(operation, reason)),
        }
    }
    Ok(outcome)
}

fn is_formatting(operation: Node<'_>) -> bool {
    operation.child(Field::Op).is_some_and(|operator| operator.text() == "%")
        && operation.child(Field::Left).is_some_and(|left| literals(left).is_some())
}

fn convert(
    context: &CommandContext<'_>,
    operation: Node<'_>,
    assumptions: &Assumptions,
) -> Result<Vec<Edit>, Refusal> {
    if operation.ancestors().any(|node| matches!(node.kind(), Kind::FString | Kind::TString)) {
        return Err(Refusal("it stands inside another f-string"));
    }
    let incomplete = Refusal("the format is malformed");
    let template = operation.child(Field::Left).ok_or(incomplete)?;
    let right = operation.child(Field::Right).ok_or(incomplete)?;
    let literals = literals(template).ok_or(incomplete)?;
    let tail = Span::new(template.span_with_parentheses().end, operation.span().end);
    if has_comment(operation, tail) {
        return Err(Refusal("a comment would be lost"));
    }

    let mut parts = Vec::new();
    for (_, literal) in &literals {
        let units = units(literal.content, literal.is_raw());
        if units.iter().any(|unit| unit.is_escape() && unit.value == Some('%')) {
            return Err(Refusal("a percent sign is written as an escape"));
        }
        parts.push(split(&units)?);
    }
    let count = parts.iter().flatten().filter(|part| matches!(part, Part::Conversion(_))).count();
    if count == 0 {
        return Err(Refusal("the format has no conversion"));
    }
    let is_mapping =
        parts.iter().flatten().any(|part| matches!(part, Part::Conversion(it) if it.key.is_some()));
    let mut values =
        if is_mapping { Values::of_mapping(right)? } else { Values::of_sequence(right, count, assumptions)? };

    let mut pieces = Vec::new();
    for ((_, literal), parts) in literals.iter().zip(parts) {
        let mut converted = Vec::new();
        for part in parts {
            converted.push(match part {
                Part::Text(text) => Piece::Text(text),
                Part::Conversion(conversion) => {
                    let (value, text) = values.take(conversion.key.as_deref(), literal.quote)?;
                    let (letter, spec) = conversion.format(|integer| {
                        let is_cut = integer && value.is_some_and(|value| value.kind() == Kind::Float);
                        (assumptions.numbers && !is_cut)
                            || value.is_some_and(|value| is_number(context, value, integer))
                    })?;
                    Piece::Interpolation(interpolation(&text, letter, &spec))
                }
            });
        }
        pieces.push(converted);
    }
    if let Values::Given { nodes, used, .. } = &values {
        check_order(nodes, used)?;
    }
    let mut edits = rebuild(&literals, &pieces)?;
    edits.push(Edit::remove(tail));
    Ok(edits)
}

enum Part {
    /// Text as an f-string spells it.
    Text(String),
    Conversion(Conversion),
}

/// `%(key)-5.2f`.
struct Conversion {
    key: Option<String>,
    flags: String,
    width: String,
    precision: Option<String>,
    letter: char,
}

fn split(units: &[Unit<'_>]) -> Result<Vec<Part>, Refusal> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut index = 0;
    while let Some(unit) = units.get(index) {
        index += 1;
        if unit.is('{') || unit.is('}') {
            text.push_str(unit.text);
            text.push_str(unit.text);
        } else if !unit.is('%') {
            text.push_str(unit.text);
        } else if units.get(index).is_some_and(|next| next.is('%')) {
            text.push('%');
            index += 1;
        } else {
            let (conversion, length) = Conversion::parse(&units[index..])?;
            parts.push(Part::Text(std::mem::take(&mut text)));
            parts.push(Part::Conversion(conversion));
            index += length;
        }
    }
    parts.push(Part::Text(text));
    Ok(parts)
}

impl Conversion {
    /// Reads what stands behind a percent sign, and says how many units that was.
    fn parse(units: &[Unit<'_>]) -> Result<(Self, usize), Refusal> {
        let malformed = Refusal("the format is malformed");
        let mut index = 0;
        let take_while = |index: &mut usize, accept: &dyn Fn(char) -> bool| {
            let mut taken = String::new();
            while let Some(unit) = units.get(*index).filter(|unit| !unit.is_escape()) {
                match unit.value {
                    Some(character) if accept(character) => taken.push(character),
                    _ => break,
                }
                *index += 1;
            }
            taken
        };
        let mut key = None;
        if units.first().is_some_and(|unit| unit.is('(')) {
            index = 1;
            key = Some(take_while(&mut index, &|character| !matches!(character, '(' | ')')));
            if !units.get(index).is_some_and(|unit| unit.is(')')) {
                return Err(malformed);
            }
            index += 1;
        }
        let flags = take_while(&mut index, &|character| "#0- +".contains(character));
        let width = take_while(&mut index, &|character| character.is_ascii_digit());
        let mut precision = None;
        if units.get(index).is_some_and(|unit| unit.is('.')) {
            index += 1;
            precision = Some(take_while(&mut index, &|character| character.is_ascii_digit()));
        }
        if units.get(index).is_some_and(|unit| unit.is('*')) {
            return Err(Refusal("the width or precision is an argument"));
        }
        take_while(&mut index, &|character| "hlL".contains(character));
        let letter = units.get(index).filter(|unit| !unit.is_escape()).and_then(|unit| unit.value);
        let letter = letter.ok_or(malformed)?;
        Ok((Self { key, flags, width, precision, letter }, index + 1))
    }

    /// The conversion letter and format specification of an f-string that do the same.
    fn format(&self, is_number: impl Fn(bool) -> bool) -> Result<(Option<char>, String), Refusal> {
        let is_left = self.flags.contains('-');
        match self.letter {
            's' | 'r' | 'a' => {
                if self.flags.contains(['#', '0', ' ', '+']) {
                    return Err(Refusal("a flag has no meaning for text"));
                }
                let align = match (self.width.as_str(), is_left) {
                    ("", _) => "",
                    (_, true) => "<",
                    (_, false) => ">",
                };
                let precision = match self.precision.as_deref() {
                    None => String::new(),
                    Some("") => ".0".to_owned(),
                    Some(digits) => format!(".{digits}"),
                };
                let spec = format!("{align}{}{precision}", self.width);
                // Text is what a width applies to, so that values which refuse a specification still fit.
                let letter = (self.letter != 's' || !spec.is_empty()).then_some(self.letter);
                Ok((letter, spec))
            }
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                if self.precision.is_some() {
                    return Err(Refusal("integers have no precision in an f-string"));
                }
                if !is_number(true) {
                    return Err(Refusal("the value may not be an integer"));
                }
                let letter = if matches!(self.letter, 'i' | 'u') { 'd' } else { self.letter };
                let is_alternate = self.flags.contains('#') && letter != 'd';
                Ok((None, self.number_spec(is_alternate, letter)))
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                if !is_number(false) {
                    return Err(Refusal("the value may not be a number"));
                }
                Ok((None, self.number_spec(self.flags.contains('#'), self.letter)))
            }
            _ => Err(Refusal("the conversion has no equal in an f-string")),
        }
    }

    fn number_spec(&self, is_alternate: bool, letter: char) -> String {
        let is_left = self.flags.contains('-') && !self.width.is_empty();
        let sign = ['+', ' '].into_iter().find(|sign| self.flags.contains(*sign));
        let precision = match self.precision.as_deref() {
            None => String::new(),
            Some("") => ".0".to_owned(),
            Some(digits) => format!(".{digits}"),
        };
        format!(
            "{}{}{}{}{}{precision}{letter}",
            if is_left { "<" } else { "" },
            sign.map(String::from).unwrap_or_default(),
            if is_alternate { "#" } else { "" },
            if self.flags.contains('0') && !is_left && !self.width.is_empty() { "0" } else { "" },
            self.width,
        )
    }
}

/// What the conversions format.
enum Values<'a> {
    /// The elements of a tuple, the values of a dictionary display, or one value.
    Given { nodes: Vec<Node<'a>>, keys: Option<Vec<String>>, used: Vec<usize> },
    /// A variable that holds a mapping.
    Mapping(Node<'a>),
}

impl<'a> Values<'a> {
    fn of_sequence(right: Node<'a>, count: usize, assumptions: &Assumptions) -> Result<Self, Refusal> {
        let nodes: Vec<_> = match right.kind() {
            Kind::Tuple => right.list(Field::Elts).collect(),
            _ if count > 1 => return Err(Refusal("the values are not written out")),
            _ if !assumptions.single_values && !is_never_tuple(right) => {
                return Err(Refusal("the value may be a tuple"));
            }
            _ => vec![right],
        };
        if nodes.iter().any(|node| node.kind() == Kind::Starred) {
            return Err(Refusal("the values are unpacked"));
        }
        if nodes.len() != count {
            return Err(Refusal("there are not as many values as conversions"));
        }
        Ok(Self::Given { nodes, keys: None, used: Vec::new() })
    }

    fn of_mapping(right: Node<'a>) -> Result<Self, Refusal> {
        if right.kind() != Kind::Dict {
            let is_variable = matches!(right.kind(), Kind::Name | Kind::Attribute) && is_simple(right);
            return if is_variable {
                Ok(Self::Mapping(right))
            } else {
                Err(Refusal("the mapping would be evaluated more than once"))
            };
        }
        let (mut nodes, mut keys) = (Vec::new(), Vec::new());
        for item in right.list(Field::Items) {
            let key = item.child(Field::Key).and_then(plain_text);
            let key = key.ok_or(Refusal("a key of the dictionary is not a plain string"))?;
            if keys.contains(&key) {
                return Err(Refusal("a key of the dictionary is repeated"));
            }
            keys.push(key);
            nodes.push(item.child(Field::Value).ok_or(Refusal("an entry has no value"))?);
        }
        Ok(Self::Given { nodes, keys: Some(keys), used: Vec::new() })
    }

    /// The next value, or the one of that key: the node if it is written out, and its text.
    fn take(&mut self, key: Option<&str>, quote: &str) -> Result<(Option<Node<'a>>, String), Refusal> {
        match (self, key) {
            (Self::Given { nodes, keys: Some(keys), used }, Some(key)) => {
                let found = keys.iter().position(|given| given == key);
                let index = found.ok_or(Refusal("the dictionary lacks a key"))?;
                used.push(index);
                Ok((Some(nodes[index]), expression_text(nodes[index], quote)?))
            }
            (Self::Given { nodes, keys: None, used }, None) => {
                let index = used.len();
                let node = *nodes.get(index).ok_or(Refusal("there are not as many values as conversions"))?;
                used.push(index);
                Ok((Some(node), expression_text(node, quote)?))
            }
            (Self::Mapping(node), Some(key)) => {
                if key.contains(['"', '\'', '\\', '#', '{', '}']) {
                    return Err(Refusal("a key in the format cannot be quoted"));
                }
                let other = if quote.starts_with('"') { "'" } else { "\"" };
                Ok((None, format!("{}[{other}{key}{other}]", primary_text(*node, quote)?)))
            }
            _ => Err(Refusal("the format mixes keys and positions")),
        }
    }
}

/// The value of a string literal without escapes.
fn plain_text(node: Node<'_>) -> Option<String> {
    let literal = (node.kind() == Kind::String).then(|| string_literal(node)).flatten()?;
    (!literal.content.contains('\\')).then(|| literal.content.to_owned())
}

fn is_never_tuple(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        Kind::String
            | Kind::ConcatenatedString
            | Kind::FString
            | Kind::Bytes
            | Kind::Integer
            | Kind::Float
            | Kind::Imaginary
            | Kind::Boolean
            | Kind::NoneLiteral
            | Kind::List
            | Kind::Set
            | Kind::ListComp
            | Kind::SetComp
            | Kind::DictComp
            | Kind::GeneratorExp
            | Kind::Lambda
            | Kind::Compare
    )
}

/// Whether the value is plainly an integer (or, unless `integer`, any number).
fn is_number(context: &CommandContext<'_>, node: Node<'_>, integer: bool) -> bool {
    let calls = |names: &[&str]| {
        node.kind() == Kind::Call && names.iter().any(|name| context.semantic.has_qualified_name(node, name))
    };
    match node.kind() {
        Kind::Integer => true,
        Kind::Float => !integer,
        _ => {
            calls(&["builtins.len", "builtins.int", "builtins.ord", "builtins.id", "builtins.hash"])
                || (!integer
                    && calls(&["builtins.float", "time.time", "time.perf_counter", "time.monotonic"]))
        }
    }
}
