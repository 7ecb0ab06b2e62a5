//! Looking through and changing data: visit, transform, find, match, compare, replace, remove.
//!
//! All of it works on plain JSON values and never recurses. `grail_tree.py` has the same functions.

use serde_json::Value;

use super::DataError;
use super::codegen::code_of;
use super::layout::{BLANK, Object, kind_of, layout, leaf_text_of};
use crate::Kind;
use crate::tree::Arity;

/// Whether a visit goes on into a node's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    Children,
    Skip,
}

/// What a handler of [`transform`] wants done with a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Keep,
    /// Takes the node's place and, where it brings none of its own, its surroundings.
    Replace(Value),
    /// Takes the node out, with the comments that belong to it.
    Remove,
    /// Takes the node's place in its list.
    Flatten(Vec<Value>),
}

/// Shows `visitor` every node, parents first, in source order.
pub fn visit(tree: &Value, mut visitor: impl FnMut(&Object) -> Visit) {
    let mut work = vec![tree];
    while let Some(value) = work.pop() {
        match value {
            Value::Object(node) if visitor(node) == Visit::Children => {
                work.extend(fields_of(node).into_iter().rev().filter_map(|field| node.get(field)));
            }
            Value::Array(items) => work.extend(items.iter().rev()),
            _ => {}
        }
    }
}

/// Every node that matches, parents first, in source order.
pub fn findall<'a>(tree: &'a Value, pattern: &Value) -> Vec<&'a Value> {
    let mut found = Vec::new();
    let mut work = vec![tree];
    while let Some(value) = work.pop() {
        match value {
            Value::Object(node) => {
                if matches(value, pattern) {
                    found.push(value);
                }
                work.extend(fields_of(node).into_iter().rev().filter_map(|field| node.get(field)));
            }
            Value::Array(items) => work.extend(items.iter().rev()),
            _ => {}
        }
    }
    found
}

/// Whether a node has everything the pattern asks for.
///
/// A pattern is an object with any of the node's keys. A string stands for the code of a node (`"func": "os.path.join"`), a list for
/// items one by one, `null` for an empty field.
pub fn matches(node: &Value, pattern: &Value) -> bool {
    let mut work = vec![(Some(node), pattern)];
    while let Some((value, pattern)) = work.pop() {
        let fits = match (value, pattern) {
            (None | Some(Value::Null), Value::Null) => true,
            (Some(Value::Array(items)), Value::Null) => items.is_empty(),
            (Some(Value::Array(items)), Value::Array(patterns)) => {
                work.extend(items.iter().map(Some).zip(patterns));
                items.len() == patterns.len()
            }
            (Some(Value::Object(node)), Value::Object(wanted)) => {
                let is_name = kind_of(node) == "Name";
                work.extend(wanted.iter().map(|(key, pattern)| {
                    let key = if is_name && key == "id" && pattern.is_string() { "text" } else { key };
                    (node.get(key), pattern)
                }));
                true
            }
            (Some(node @ Value::Object(_)), Value::String(code)) => code_of(node) == *code,
            (Some(Value::String(code)), node @ Value::Object(_)) => code_of(node) == *code,
            (Some(value), pattern) => value == pattern,
            (None, _) => false,
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Whether two nodes mean the same code: types, fields, leaves and attributes. Trivia, parentheses, ranges and contexts do not count.
pub fn deep_equals(left: &Value, right: &Value) -> bool {
    let mut work = vec![(left, right)];
    while let Some(pair) = work.pop() {
        let is_equal = match pair {
            (Value::Object(left), Value::Object(right)) => {
                let kind = kind_of(left);
                if kind != kind_of(right) {
                    false
                } else {
                    let fields = fields_of(left);
                    work.extend(fields.iter().map(|field| {
                        (left.get(*field).unwrap_or(&Value::Null), right.get(*field).unwrap_or(&Value::Null))
                    }));
                    let attributes = Kind::from_name(kind).map_or(&[][..], Kind::attributes);
                    let attributes_agree = attributes
                        .iter()
                        .filter(|name| !matches!(**name, "ctx" | "parenthesized"))
                        .all(|name| match (left.get(*name), right.get(*name)) {
                            (Some(left), Some(right)) => left == right,
                            _ => true,
                        });
                    let texts = [left, right].map(leaf_text_of);
                    attributes_agree && texts[0] == texts[1]
                }
            }
            (Value::Array(left), Value::Array(right)) => {
                work.extend(left.iter().zip(right));
                left.len() == right.len()
            }
            (Value::Array(items), Value::Null) | (Value::Null, Value::Array(items)) => items.is_empty(),
            (node @ Value::Object(_), Value::String(code))
            | (Value::String(code), node @ Value::Object(_)) => code_of(node) == *code,
            (left, right) => left == right,
        };
        if !is_equal {
            return false;
        }
    }
    true
}

/// Shows `handler` every node, children first, and does what it says.
///
/// Removing what the syntax needs is an error, unless its parent is nothing without it: an expression statement, a decorator, a keyword,
/// a starred argument or an imported name goes as a whole.
pub fn transform(tree: Value, mut handler: impl FnMut(&Object) -> Change) -> Result<Value, DataError> {
    enum Step {
        Enter(Value),
        Leave { node: Object, fields: Vec<&'static str>, counts: Vec<Option<usize>> },
    }
    let mut work = vec![Step::Enter(tree)];
    // Finished nodes, each with what became of it, in the order in which their parents take them.
    let mut done: Vec<Outcome> = Vec::new();
    while let Some(step) = work.pop() {
        match step {
            Step::Enter(Value::Object(mut node)) => {
                let fields = fields_of(&node);
                let mut counts = Vec::with_capacity(fields.len());
                let mut children = Vec::new();
                for field in &fields {
                    match node.get_mut(*field).map(Value::take) {
                        Some(Value::Array(items)) => {
                            counts.push(Some(items.len()));
                            children.extend(items);
                        }
                        Some(Value::Null) | None => counts.push(Some(usize::MAX)),
                        Some(child) => {
                            counts.push(None);
                            children.push(child);
                        }
                    }
                }
                work.push(Step::Leave { node, fields, counts });
                work.extend(children.into_iter().rev().map(Step::Enter));
            }
            Step::Enter(other) => done.push(Outcome::one(other)),
            Step::Leave { mut node, fields, counts } => {
                let mut is_void = false;
                let total: usize = counts
                    .iter()
                    .map(|count| count.map_or(1, |count| if count == usize::MAX { 0 } else { count }))
                    .sum();
                let mut finished = done.split_off(done.len() - total).into_iter();
                for (field, count) in fields.iter().zip(counts) {
                    match count {
                        Some(usize::MAX) => {}
                        Some(count) => {
                            let outcomes: Vec<Outcome> = finished.by_ref().take(count).collect();
                            let items = settle_list(&mut node, field, outcomes);
                            node.insert((*field).to_owned(), Value::Array(items));
                        }
                        None => {
                            let Some(outcome) = finished.next() else { continue };
                            is_void |= settle_single(&mut node, field, outcome)?;
                        }
                    }
                }
                let change = if is_void { Change::Remove } else { handler(&node) };
                done.push(Outcome::of(change, node));
            }
        }
    }
    match done.pop().map(|outcome| outcome.values) {
        Some(mut values) if values.len() == 1 => Ok(values.remove(0)),
        other => Err(DataError::NotAList {
            parent: "tree".to_owned(),
            field: "root".to_owned(),
            count: other.map_or(0, |values| values.len()),
        }),
    }
}

/// Puts `new` in the place of the node with that id.
pub fn replace(tree: Value, id: u64, new: Value) -> Result<Value, DataError> {
    change_one(tree, id, Change::Replace(new))
}

/// Takes the node with that id out.
pub fn remove(tree: Value, id: u64) -> Result<Value, DataError> {
    change_one(tree, id, Change::Remove)
}

fn change_one(tree: Value, id: u64, change: Change) -> Result<Value, DataError> {
    let mut change = Some(change);
    let result = transform(tree, |node| match node.get("id").and_then(Value::as_u64) == Some(id) {
        true => change.take().unwrap_or(Change::Keep),
        false => Change::Keep,
    })?;
    if change.is_some() { Err(DataError::NoSuchNode { id }) } else { Ok(result) }
}

/// What became of a node.
struct Outcome {
    values: Vec<Value>,
    /// Comments of a removed item that are not about it.
    left_behind: String,
}

impl Outcome {
    fn one(value: Value) -> Self {
        Self { values: vec![value], left_behind: String::new() }
    }

    fn of(change: Change, node: Object) -> Self {
        match change {
            Change::Keep => Self::one(Value::Object(node)),
            Change::Replace(new) => Self::one(in_place_of(&node, new)),
            Change::Remove => Self { values: Vec::new(), left_behind: detached_comments(&node) },
            Change::Flatten(mut values) => {
                let count = values.len();
                for (index, value) in values.iter_mut().enumerate() {
                    let Value::Object(new) = value else { continue };
                    let keys: &[&str] = match (index == 0, index + 1 == count) {
                        (true, true) => &["before", "gap", "after"],
                        (true, false) => &["before"],
                        (false, true) => &["gap", "after"],
                        (false, false) => &[],
                    };
                    inherit(new, &node, keys);
                }
                let left_behind = if values.is_empty() { detached_comments(&node) } else { String::new() };
                Self { values, left_behind }
            }
        }
    }
}

/// A replacement stands where the old node stood.
fn in_place_of(old: &Object, new: Value) -> Value {
    match new {
        Value::Object(mut new) => {
            for key in ["before", "gap", "after"] {
                new.remove(key);
            }
            inherit(&mut new, old, &["before", "gap", "after"]);
            Value::Object(new)
        }
        Value::String(code) => {
            let mut new = Object::new();
            new.insert("type".to_owned(), "Code".into());
            new.insert("text".to_owned(), code.into());
            inherit(&mut new, old, &["before", "gap", "after"]);
            Value::Object(new)
        }
        other => other,
    }
}

fn inherit(new: &mut Object, old: &Object, keys: &[&str]) {
    for key in keys {
        if let Some(value) = old.get(*key) {
            new.entry((*key).to_owned()).or_insert_with(|| value.clone());
        }
    }
}

/// The comments behind an item that stand on lines of their own: about what follows, or about nothing in particular.
fn detached_comments(node: &Object) -> String {
    let after = node.get("after").and_then(Value::as_str).unwrap_or_default();
    match after.find(['\n', '\r']) {
        Some(at) if after[at..].contains('#') => after[at..].to_owned(),
        _ => String::new(),
    }
}

fn settle_list(node: &mut Object, field: &str, outcomes: Vec<Outcome>) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        if !outcome.left_behind.is_empty() {
            match items.last_mut() {
                Some(Value::Object(previous)) => {
                    let after = previous.get("after").and_then(Value::as_str).unwrap_or_default();
                    let kept = format!("{}{}", after.trim_end_matches(BLANK), outcome.left_behind);
                    previous.insert("after".to_owned(), kept.into());
                }
                _ => add_to_open(node, field, outcome.left_behind.trim_start_matches(BLANK)),
            }
        }
        items.extend(outcome.values);
    }
    items
}

fn add_to_open(node: &mut Object, field: &str, comments: &str) {
    let default = layout(kind_of(node))
        .and_then(|layout| layout.entries.iter().find(|entry| entry.name == field))
        .map_or((String::new(), String::new()), |entry| (entry.open.clone(), entry.close.clone()));
    let trivia = node.entry("trivia").or_insert_with(|| Value::Object(Object::new()));
    let Some(trivia) = trivia.as_object_mut() else { return };
    let entry = trivia.entry(field).or_insert_with(|| serde_json::json!([default.0, default.1]));
    if let Some(open) = entry.get_mut(0)
        && let Some(text) = open.as_str()
    {
        *open = format!("{text}{comments}").into();
    }
}

/// Puts a child back; whether its parent is nothing without it.
fn settle_single(node: &mut Object, field: &str, outcome: Outcome) -> Result<bool, DataError> {
    let mut values = outcome.values;
    if values.len() > 1 {
        let parent = kind_of(node).to_owned();
        return Err(DataError::NotAList { parent, field: field.to_owned(), count: values.len() });
    }
    if let Some(value) = values.pop() {
        node.insert(field.to_owned(), value);
        return Ok(false);
    }
    node.insert(field.to_owned(), Value::Null);
    let kind = Kind::from_name(kind_of(node));
    let is_required = kind.and_then(|kind| kind.field(field)).is_some_and(|spec| spec.arity == Arity::One);
    if !is_required {
        return Ok(false);
    }
    match kind {
        Some(Kind::Expr | Kind::Decorator | Kind::Keyword | Kind::Starred | Kind::Alias) => Ok(true),
        _ => Err(DataError::Required { parent: kind_of(node).to_owned(), field: field.to_owned() }),
    }
}

/// The fields of a node in source order.
fn fields_of(node: &Object) -> Vec<&'static str> {
    layout(kind_of(node))
        .map_or_else(Vec::new, |layout| layout.entries.iter().map(|entry| entry.name.as_str()).collect())
}
