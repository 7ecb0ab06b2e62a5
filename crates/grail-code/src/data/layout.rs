//! How a node is written when nothing says otherwise: the text around each field, per kind.
//!
//! The table is the `LAYOUT` literal of `grail_tree.py`, which is JSON as well as Python: one table serves both sides.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::PYTHON_MODULE;

/// White space between tokens, as `grail_tree.py` has it.
pub(super) const BLANK: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];

pub(super) type Object = Map<String, Value>;

#[derive(Debug, Deserialize)]
pub(super) struct KindLayout {
    #[serde(default)]
    pub(super) head: String,
    #[serde(default)]
    fields: serde_json::Map<String, Value>,
    #[serde(default)]
    pub(super) tail: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(skip)]
    pub(super) entries: Vec<FieldLayout>,
}

#[derive(Debug, Clone)]
pub(super) struct FieldLayout {
    pub(super) name: String,
    pub(super) open: String,
    pub(super) close: String,
    pub(super) shape: Shape,
    pub(super) when_empty: WhenEmpty,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Single,
    /// Items with this text between them.
    List(String),
    /// Statements.
    Block,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenEmpty {
    Drop,
    /// Brackets that belong to the syntax stay.
    Keep,
    /// Brackets that may be left out stay if they were written.
    KeepWritten,
}

/// What a node's layout can depend on above it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parent<'a> {
    pub(super) kind: &'a str,
    pub(super) is_star: bool,
}

static TABLE: LazyLock<FxHashMap<String, KindLayout>> = LazyLock::new(|| {
    let literal = PYTHON_MODULE.split("\nLAYOUT = ").nth(1).unwrap_or_default();
    let literal = literal.split("\n# end of LAYOUT").next().unwrap_or_default();
    let mut table: FxHashMap<String, KindLayout> =
        serde_json::from_str(literal).expect("the LAYOUT literal is JSON");
    for (kind, layout) in &mut table {
        let is_list = |field: &str| {
            crate::Kind::from_name(kind)
                .and_then(|kind| kind.field(field))
                .is_some_and(|spec| spec.arity == crate::tree::Arity::Many)
        };
        layout.entries = layout
            .fields
            .iter()
            .map(|(name, entry)| {
                let part =
                    |index: usize| entry.get(index).and_then(Value::as_str).unwrap_or_default().to_owned();
                FieldLayout {
                    name: name.clone(),
                    open: part(0),
                    close: part(1),
                    shape: match part(2).as_str() {
                        "block" => Shape::Block,
                        separator if is_list(name) => Shape::List(separator.to_owned()),
                        _ => Shape::Single,
                    },
                    when_empty: match part(3).as_str() {
                        "keep" => WhenEmpty::Keep,
                        "trivia" => WhenEmpty::KeepWritten,
                        _ => WhenEmpty::Drop,
                    },
                }
            })
            .collect();
    }
    table
});

pub(super) fn layout(kind: &str) -> Option<&'static KindLayout> {
    TABLE.get(kind)
}

/// The type of a node, or nothing.
pub(super) fn kind_of(node: &Object) -> &str {
    node.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn flag(node: &Object, name: &str) -> bool {
    node.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Whether a field holds nothing.
pub(super) fn is_absent(node: &Object, field: &str) -> bool {
    match node.get(field) {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}

pub(super) fn default_head(node: &Object, layout: &KindLayout, parent: Parent<'_>) -> String {
    let head = layout.head.as_str();
    match kind_of(node) {
        "For" | "Comprehension" if flag(node, "is_async") => format!("async {head}"),
        "With" if is_absent(node, "items") => "if True".to_owned(),
        "With" if flag(node, "is_async") => format!("async {head}"),
        "Import" | "ImportFrom" if flag(node, "is_lazy") => format!("lazy {head}"),
        "GeneratorExp" if node.get("parenthesized") == Some(&Value::Bool(false)) => String::new(),
        "ExceptHandler" if parent.is_star => format!("{head}*"),
        "Parameter" => match node.get("kind").and_then(Value::as_str) {
            Some("star") => "*".to_owned(),
            Some("double_star") => "**".to_owned(),
            _ => String::new(),
        },
        _ => head.to_owned(),
    }
}

pub(super) fn default_tail(node: &Object, layout: &KindLayout) -> String {
    match kind_of(node) {
        "GeneratorExp" if node.get("parenthesized") == Some(&Value::Bool(false)) => String::new(),
        "MatchStar" if is_absent(node, "name") => "_".to_owned(),
        "MatchAs" if is_absent(node, "name") && is_absent(node, "pattern") => "_".to_owned(),
        _ => layout.tail.clone(),
    }
}

/// The text before and behind a field. A line break in it stands for one at the statement's indentation.
pub(super) fn default_around(node: &Object, field: &FieldLayout, parent: Parent<'_>) -> (String, String) {
    let name = field.name.as_str();
    let around = |open: &str, close: &str| (open.to_owned(), close.to_owned());
    match (kind_of(node), name) {
        ("FunctionDef", "name") if flag(node, "is_async") => around("async def ", ""),
        ("UnaryOp", "operand") if leaf_text(node.get("op")) == "not" => around(" ", ""),
        ("Keyword", "value") if is_absent(node, "arg") => around("**", ""),
        ("DictItem" | "DictComp", "value") if is_absent(node, "key") => around("**", ""),
        ("Tuple", "elts") if node.get("parenthesized") == Some(&Value::Bool(false)) => around("", ""),
        ("Parameters", "params") if parent.kind == "Lambda" => around("", ""),
        ("MatchMapping", "rest") if is_absent(node, "items") => around("**", ""),
        ("MatchAs", "name") if is_absent(node, "pattern") => around("", ""),
        ("Parameter", "default") if !is_absent(node, "annotation") => around(" = ", ""),
        ("Interpolation", "value") => {
            let equals = if flag(node, "debug") { "=" } else { "" };
            let conversion = node.get("conversion").and_then(Value::as_str).unwrap_or_default();
            let mark = if conversion.is_empty() { "" } else { " !" };
            (String::new(), format!("{equals}{mark}{conversion}").trim_start_matches(BLANK).to_owned())
        }
        ("ImportFrom", "module") => (format!(" {}", dots(node)), String::new()),
        ("ImportFrom", "names") if is_absent(node, "module") => {
            (format!(" {} import ", dots(node)), String::new())
        }
        ("FString" | "TString", "parts") => {
            let quote = unused_quote(node);
            (format!("{}{quote}", &field.open[..1]), quote.to_owned())
        }
        _ => (field.open.clone(), field.close.clone()),
    }
}

/// What stands between two items, split at the separator: white space, separator, white space.
pub(super) fn separator<'a>(node: &Object, field: &'a FieldLayout) -> (&'a str, &'a str, &'a str) {
    let Shape::List(text) = &field.shape else { return ("", "", "") };
    if kind_of(node) == "BoolOp" && node.get("op").and_then(Value::as_str) == Some("or") {
        return (" ", "or", " ");
    }
    let separator = text.trim_matches(BLANK);
    if separator.is_empty() {
        return ("", "", text);
    }
    let start = text.len() - text.trim_start_matches(BLANK).len();
    (&text[..start], separator, &text[start + separator.len()..])
}

/// The text of a leaf: given as a string, as `text` or, for a name, as `id`.
pub(super) fn leaf_text(value: Option<&Value>) -> &str {
    match value {
        Some(Value::String(text)) => text,
        Some(Value::Object(node)) => leaf_text_of(node),
        _ => "",
    }
}

pub(super) fn leaf_text_of(node: &Object) -> &str {
    let name = (kind_of(node) == "Name").then(|| node.get("id")).flatten();
    node.get("text").or(name).and_then(Value::as_str).unwrap_or_default()
}

fn dots(node: &Object) -> String {
    ".".repeat(node.get("level").and_then(Value::as_u64).unwrap_or(0).min(1000) as usize)
}

/// A quote that does not occur in the literal parts of an f-string.
fn unused_quote(node: &Object) -> &'static str {
    let parts = node.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_unused =
        |quote: &&str| !parts.iter().any(|part| leaf_text(Some(part)).contains(quote.as_bytes()[0] as char));
    ["\"", "'"].into_iter().find(is_unused).unwrap_or("\"\"\"")
}
