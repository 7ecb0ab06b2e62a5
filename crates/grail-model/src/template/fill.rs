//! Filling a template: what it can see, what it can call, and the bounds of both.
//!
//! Templates come from skills and wishes from anybody. A template never sees the sentence itself but a finished docstring of it, and names,
//! annotations and paths that are safe to stand in Python as they are.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use serde::Serialize;

use super::Template;
use super::address::{Address, Method};
use super::field::{Field, FieldView};
use super::name::Name;
use super::subject::{Subject, SubjectView};
use super::wish::Wish;

/// What a template may do, in instructions of the template engine; a large artifact takes some thousands.
const FUEL: u64 = 2_000_000;
const MAX_RESULT_BYTES: usize = 512 * 1024;
/// Lines that fit are not broken; ruff and black agree on the number.
const LINE_WIDTH: usize = 88;

/// What is known of the project an artifact is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Libraries that the project uses, with versions as far as they are known.
    pub uses: BTreeMap<String, String>,
    /// What a test is about.
    pub subject: Option<Subject>,
}

/// An artifact that a template gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// What it is called, by which its file is named too.
    pub name: String,
    pub code: String,
}

#[derive(Serialize)]
struct NameView {
    snake: String,
    pascal: String,
    kebab: String,
    title: String,
}

#[derive(Serialize)]
struct RouteView {
    /// `/users/{user_id}`.
    path: String,
    /// `/users/{user_id:int}`.
    typed_path: String,
    /// `/users/<int:user_id>`.
    angle_path: String,
    /// The path with the samples of its parameters in it.
    sample_path: String,
    method: &'static str,
    verb: &'static str,
    /// What the path holds.
    parameters: Vec<FieldView>,
    /// Fields that it does not hold.
    others: Vec<FieldView>,
}

#[derive(Serialize)]
struct View {
    docstring: String,
    /// Whether the wish says how it is called.
    is_named: bool,
    name: NameView,
    record: NameView,
    fields: Vec<FieldView>,
    action: Cow<'static, str>,
    route: RouteView,
    uses: BTreeMap<String, String>,
    subject: Option<SubjectView>,
}

/// Fills a template. An error names the line of the template.
pub(crate) fn fill(template: &Template, wish: &Wish, surroundings: &Surroundings) -> Result<Filled, String> {
    let environment = environment()?;
    let compiled = environment
        .template_from_named_str(&template.file, &template.source)
        .map_err(|error| explain(&error))?;
    let view = view(wish, surroundings);
    let mut written = Bounded { bytes: Vec::new() };
    let captured = compiled.render_captured_to(Value::from(Serde(&view)), &mut written).map_err(|error| {
        match error.kind() {
            // Nothing else can go wrong with writing to memory.
            ErrorKind::WriteFailure => format!("the result has more than {MAX_RESULT_BYTES} bytes"),
            _ => explain(&error),
        }
    })?;
    let name = captured.state().lookup("artifact").and_then(|value| value.as_str().map(str::to_owned));
    let name = name.filter(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let Some(name) = name else {
        return Err("it does not say `{% set artifact = … %}`, the name of what it makes".to_owned());
    };
    drop(captured);
    let code = String::from_utf8(written.bytes).map_err(|error| error.to_string())?;
    Ok(Filled { name, code: format!("{}\n", code.trim()) })
}

fn view(wish: &Wish, surroundings: &Surroundings) -> View {
    let name = wish.name.clone().unwrap_or_else(Name::of_nothing);
    let subject = surroundings.subject.as_ref().map(Subject::view);
    View {
        docstring: docstring(&wish.sentence),
        is_named: wish.name.is_some(),
        record: name_view(&name.singular()),
        name: name_view(&name),
        fields: views(wish).collect(),
        action: wish.action.clone().unwrap_or(Cow::Borrowed("add")),
        route: route_view(wish, &name),
        uses: surroundings.uses.clone(),
        subject,
    }
}

fn views(wish: &Wish) -> impl Iterator<Item = FieldView> {
    wish.fields.iter().enumerate().map(|(place, field)| field.view(place))
}

fn name_view(name: &Name) -> NameView {
    NameView { snake: name.snake(), pascal: name.pascal(), kebab: name.kebab(), title: name.title() }
}

fn route_view(wish: &Wish, name: &Name) -> RouteView {
    let address = wish.address.clone().unwrap_or_else(|| Address::of_name(name));
    let method = wish.method.unwrap_or(Method::Get);
    let parameters: Vec<FieldView> = address
        .parameters()
        .enumerate()
        .map(|(place, field)| field.view(place + wish.fields.len()))
        .collect();
    RouteView {
        path: address.braces(false),
        typed_path: address.braces(true),
        angle_path: address.angles(),
        sample_path: address.filled(&parameters),
        method: method.decorator(),
        verb: method.verb(),
        others: views(wish)
            .filter(|field| !parameters.iter().any(|known| known.name == field.name))
            .collect(),
        parameters,
    }
}

fn environment() -> Result<Environment<'static>, String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = environment.syntax().to_builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|error| explain(&error))?);
    environment.set_fuel(Some(FUEL));
    environment.add_function("field", |name: String| match Field::read(&name) {
        Some(field) => Ok(Value::from(Serde(field.view(0)))),
        None => Err(Error::new(ErrorKind::InvalidOperation, format!("`{name}` is no name for a field"))),
    });
    environment.add_function("lines", lines);
    environment.add_function("without", without);
    environment.add_function("named", |text: String| {
        Value::from(Serde(name_view(&Name::read(&text).unwrap_or_else(Name::of_nothing))))
    });
    environment.add_filter("literal", |text: String| literal(&text));
    environment.add_filter("modules", modules);
    Ok(environment)
}

/// A name without a word at its end, if something is left: `without(name, "service")`.
fn without(name: Value, word: String) -> Result<Value, Error> {
    let spelt = name.get_attr("kebab")?;
    let spelt = spelt.as_str().unwrap_or_default();
    let rest = spelt.strip_suffix(&word).and_then(|rest| rest.strip_suffix('-')).unwrap_or(spelt);
    let name = Name::read(rest).unwrap_or_else(Name::of_nothing);
    Ok(Value::from(Serde(name_view(&name))))
}

/// `start`, the parts and `end` on one line if they fit, else one part a line: the way formatters write it.
fn lines(start: String, parts: Vec<String>, end: String) -> String {
    let line = format!("{start}{}{end}", parts.join(", "));
    if line.chars().count() <= LINE_WIDTH || parts.is_empty() {
        return line;
    }
    let indent: String = start.chars().take_while(|c| *c == ' ').collect();
    let parts: String = parts.iter().map(|part| format!("{indent}    {part},\n")).collect();
    format!("{start}\n{parts}{indent}{end}")
}

/// The modules that the annotations of these fields name, in order.
fn modules(fields: Vec<Value>) -> Vec<&'static str> {
    let annotations: Vec<String> =
        fields.iter().filter_map(|field| field.get_attr("base").ok()?.as_str().map(str::to_owned)).collect();
    let is_named =
        |module: &&str| annotations.iter().any(|annotation| annotation.contains(&format!("{module}.")));
    ["datetime", "decimal", "uuid"].into_iter().filter(is_named).collect()
}

/// A string in Python, with double quotes.
pub(crate) fn literal(text: &str) -> String {
    let mut result = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => result.extend(['\\', c]),
            '\n' => result.push_str("\\n"),
            c if c.is_control() || !is_plain(c) => {
                let number = u32::from(c);
                let escape =
                    if number > 0xffff { format!("\\U{number:08x}") } else { format!("\\u{number:04x}") };
                result.push_str(&escape);
            }
            c => result.push(c),
        }
    }
    result.push('"');
    result
}

fn is_plain(c: char) -> bool {
    c == ' ' || c.is_alphanumeric() || c.is_ascii_graphic()
}

/// A docstring of one sentence, wrapped where it is long.
fn docstring(sentence: &str) -> String {
    let text = sentence.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    let text = match text.strip_suffix('"').filter(|rest| !rest.ends_with('\\')) {
        Some(rest) => format!("{rest}\\\""),
        None => text,
    };
    if text.chars().count() + 6 <= LINE_WIDTH {
        return format!("\"\"\"{text}\"\"\"");
    }
    let (mut result, mut width) = ("\"\"\"".to_owned(), 3);
    for word in text.split(' ') {
        let length = word.chars().count();
        if width + length + 1 > LINE_WIDTH && width > 3 {
            result.push('\n');
            width = 0;
        } else if width > 3 {
            result.push(' ');
            width += 1;
        }
        result.push_str(word);
        width += length;
    }
    format!("{result}\n\"\"\"")
}

/// One line, with the line of the template.
fn explain(error: &Error) -> String {
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.line() {
        Some(line) => format!("line {line}: {detail}"),
        None => detail,
    }
}

struct Bounded {
    bytes: Vec<u8>,
}

impl io::Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + piece.len() > MAX_RESULT_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
