//! Validation errors in our own words, with field paths; bounded, and in the order of the paths.

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use jsonschema::types::JsonType;
use serde_json::Value as Json;

use crate::outcome::FieldError;
use crate::stub::is_identifier;

pub(crate) const MAX_ERRORS: usize = 20;
const MAX_MESSAGE: usize = 300;
/// How much of a value a message quotes.
const MAX_QUOTE: usize = 60;
/// How many errors are looked at; a value can have one per element.
const MAX_SEEN: usize = 1000;
const MAX_NESTED: usize = 8;

/// Cuts a text to so many characters, with an ellipsis as the last.
pub(super) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit - 1).chain(['…']).collect(),
    }
}

pub(super) fn field_errors<'a>(
    errors: impl Iterator<Item = ValidationError<'a>>,
    instance: &Json,
) -> Vec<FieldError> {
    let mut found: Vec<(Vec<Step>, String)> = Vec::new();
    for error in errors.take(MAX_SEEN) {
        explain(&error, instance, 0, &mut found);
    }
    found.sort();
    found.dedup();
    let beyond = found.len().saturating_sub(MAX_ERRORS);
    found.truncate(MAX_ERRORS);
    let mut errors: Vec<FieldError> = found
        .into_iter()
        .map(|(steps, message)| FieldError { path: path_text(&steps), message: cut(&message, MAX_MESSAGE) })
        .collect();
    if beyond > 0 {
        errors.push(FieldError {
            path: String::new(),
            message: format!("{beyond} more errors of this kind are not shown"),
        });
    }
    errors
}

/// What is wrong with a schema itself.
pub(super) fn schema_error(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => format!(
            "{} cannot be a pattern: it is malformed or too large, or looks around or back, which takes more than linear time",
            literal(error.instance())
        ),
        _ => cut(&error.to_string(), MAX_MESSAGE),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Index(usize),
    Name(String),
}

fn path_text(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Name(name) if is_identifier(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&cut(name, MAX_QUOTE));
            }
            Step::Name(name) => path.push_str(&format!("[{}]", quote(name))),
        }
    }
    path
}

/// Reads a JSON pointer along the value it points into: only the value tells an index from a property named `0`.
fn steps(pointer: &str, instance: &Json) -> Vec<Step> {
    let mut current = Some(instance);
    pointer
        .split('/')
        .skip(1)
        .map(|part| {
            let name = part.replace("~1", "/").replace("~0", "~");
            let index = name.parse::<usize>().ok();
            match (current, index) {
                (Some(Json::Array(items)), Some(index)) => {
                    current = items.get(index);
                    Step::Index(index)
                }
                (value, _) => {
                    current = value.and_then(|value| value.get(&name));
                    Step::Name(name)
                }
            }
        })
        .collect()
}

fn explain(error: &ValidationError<'_>, root: &Json, depth: usize, found: &mut Vec<(Vec<Step>, String)>) {
    use ValidationErrorKind as Kind;
    let place = steps(error.instance_path().as_str(), root);
    let instance = error.instance().as_ref();
    let below = |name: &str| {
        let mut place = place.clone();
        place.push(Step::Name(name.to_owned()));
        place
    };
    let message = match error.kind() {
        Kind::Required { property } => {
            found.push((below(property.as_str().unwrap_or_default()), "is required".to_owned()));
            return;
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            found.extend(
                unexpected.iter().take(MAX_SEEN).map(|name| (below(name), "unexpected field".to_owned())),
            );
            return;
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            explain_alternatives(context, &place, instance, root, depth, found);
            return;
        }
        Kind::PropertyNames { error } => {
            format!("the name {} is not allowed here", quote(error.instance().as_str().unwrap_or_default()))
        }
        Kind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(one) => type_name(*one).to_owned(),
                TypeKind::Multiple(many) => join_or(many.iter().map(type_name).map(str::to_owned).collect()),
            };
            format!("expected {expected}, got {}", describe(instance))
        }
        Kind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            let shown: Vec<String> = options.iter().take(10).map(literal).collect();
            let more = if options.len() > shown.len() { ", …" } else { "" };
            format!("{} is not one of {}{more}", describe_subject(instance), shown.join(", "))
        }
        Kind::Constant { expected_value } => {
            format!("must be {}, got {}", literal(expected_value), describe(instance))
        }
        Kind::Minimum { limit } => format!("must be at least {limit}, got {}", describe(instance)),
        Kind::Maximum { limit } => format!("must be at most {limit}, got {}", describe(instance)),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}, got {}", describe(instance)),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}, got {}", describe(instance)),
        Kind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}, got {}", describe(instance))
        }
        Kind::MinLength { limit } => format!("must have at least {}", count(*limit, "character")),
        Kind::MaxLength { limit } => format!("must have at most {}", count(*limit, "character")),
        Kind::MinItems { limit } => format!("must have at least {}", count(*limit, "item")),
        Kind::MaxItems { limit } => format!("must have at most {}", count(*limit, "item")),
        Kind::AdditionalItems { limit } => format!("must have at most {}", count(*limit as u64, "item")),
        Kind::UnevaluatedItems { .. } => "has items the schema does not describe".to_owned(),
        Kind::MinProperties { limit } => format!("must have at least {}", count(*limit, "field")),
        Kind::MaxProperties { limit } => format!("must have at most {}", count(*limit, "field")),
        Kind::UniqueItems => "has equal items; they must be unique".to_owned(),
        Kind::Contains => "has no item of the required kind".to_owned(),
        Kind::Pattern { pattern } => {
            format!("does not match the pattern `{}`, got {}", cut(pattern, MAX_QUOTE), describe(instance))
        }
        Kind::Format { format } => {
            format!("is not a valid {}, got {}", cut(format, MAX_QUOTE), describe(instance))
        }
        Kind::Not { .. } => format!("{} is excluded", describe_subject(instance)),
        Kind::OneOfMultipleValid { .. } => {
            "fits more than one of the allowed shapes; it must fit exactly one".to_owned()
        }
        Kind::FalseSchema => "is not allowed here".to_owned(),
        Kind::ContentEncoding { content_encoding } => {
            format!("is not valid {}", cut(content_encoding, MAX_QUOTE))
        }
        Kind::ContentMediaType { content_media_type } => {
            format!("is not valid {}", cut(content_media_type, MAX_QUOTE))
        }
        _ => format!("does not satisfy `{}`", error.kind().keyword()),
    };
    found.push((place, message));
}

/// If the value has the type of one alternative only, what it lacks there is the error; else the types are.
fn explain_alternatives(
    alternatives: &[Vec<ValidationError<'static>>],
    place: &[Step],
    instance: &Json,
    root: &Json,
    depth: usize,
    found: &mut Vec<(Vec<Step>, String)>,
) {
    let wrong_type = |errors: &[ValidationError<'static>]| {
        errors.iter().find_map(|error| match error.kind() {
            ValidationErrorKind::Type { kind } if steps(error.instance_path().as_str(), root) == place => {
                Some(match kind {
                    TypeKind::Single(one) => vec![type_name(*one).to_owned()],
                    TypeKind::Multiple(many) => many.iter().map(type_name).map(str::to_owned).collect(),
                })
            }
            _ => None,
        })
    };
    let mut expected = Vec::new();
    let mut right_type = Vec::new();
    for errors in alternatives {
        match wrong_type(errors) {
            Some(names) => {
                expected.extend(names.into_iter().filter(|name| !expected.contains(name)).collect::<Vec<_>>())
            }
            None => right_type.push(errors),
        }
    }
    match right_type.as_slice() {
        [] if !expected.is_empty() => {
            found.push((
                place.to_vec(),
                format!("expected {}, got {}", join_or(expected), describe(instance)),
            ));
        }
        [errors] if depth < MAX_NESTED => {
            for error in errors.iter().take(MAX_SEEN) {
                explain(error, root, depth + 1, found);
            }
        }
        _ => found.push((
            place.to_vec(),
            format!("{} fits none of the allowed shapes", describe_subject(instance)),
        )),
    }
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}

fn describe(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(flag) => format!("the boolean {flag}"),
        Json::Number(number) => format!("the number {number}"),
        Json::String(text) => format!("the string {}", quote(text)),
        Json::Array(items) => format!("an array of {}", count(items.len() as u64, "item")),
        Json::Object(_) => "an object".to_owned(),
    }
}

fn describe_subject(json: &Json) -> String {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => literal(json),
        Json::Array(_) | Json::Object(_) => describe(json),
    }
}

fn literal(json: &Json) -> String {
    match json {
        Json::String(text) => quote(text),
        other => cut(&other.to_string(), MAX_QUOTE),
    }
}

fn quote(text: &str) -> String {
    let cut = cut(text, MAX_QUOTE);
    Json::String(cut).to_string()
}

fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn join_or(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}
