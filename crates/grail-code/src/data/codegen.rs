//! Data to source. A pure function of the data: what carries its trivia is printed with it, what does not by the layout table.
//!
//! Nodes are expanded on a work list, never by recursion. `grail_tree.py` mirrors this file function by function.

use std::rc::Rc;

use serde_json::Value;

use super::layout::{
    BLANK, FieldLayout, Object, Parent, Shape, WhenEmpty, default_around, default_head, default_tail,
    is_absent, kind_of, layout, leaf_text, separator,
};
use super::precedence::needs_parentheses;

/// The source of a tree: byte for byte what it was made from, if nothing changed.
pub fn codegen(tree: &Value) -> String {
    let newline = tree.get("newline").and_then(Value::as_str).unwrap_or("\n");
    print(tree, "", newline, true)
}

/// The code of one node alone: without parentheses around it, and without what stands before or behind it.
pub fn code_of(node: &Value) -> String {
    let indent = node.get("indent").and_then(Value::as_str).unwrap_or_default();
    print(node, indent, "\n", false)
}

/// Prints a node as it stands in a block of that indentation.
pub(super) fn print(node: &Value, indent: &str, newline: &str, with_parentheses: bool) -> String {
    let mut printer = Printer { pieces: Vec::new(), newline };
    let mut result = String::new();
    let context = Context { indent: Rc::from(indent), shift: None, parent: Parent::default() };
    let mut work = vec![Piece::Node(node, context)];
    let mut parentheses = with_parentheses.then(|| written_parentheses(node)).flatten();
    if let Some((open, _)) = parentheses {
        result.push_str(open);
    }
    while let Some(piece) = work.pop() {
        match piece {
            Piece::Text(text) => result.push_str(&text),
            Piece::Node(node, context) => {
                printer.expand(node, &context);
                work.extend(printer.pieces.drain(..).rev());
            }
        }
    }
    if let Some((_, close)) = parentheses.take() {
        result.push_str(close);
    }
    result
}

enum Piece<'a> {
    Text(String),
    Node(&'a Value, Context<'a>),
}

/// Where a node is printed.
#[derive(Clone)]
struct Context<'a> {
    /// The indentation of the statement's line.
    indent: Rc<str>,
    /// The indentation the trivia was written for, and the one it is printed at, if they differ.
    shift: Option<Rc<(String, String)>>,
    parent: Parent<'a>,
}

struct Printer<'a> {
    pieces: Vec<Piece<'a>>,
    newline: &'a str,
}

impl<'a> Printer<'a> {
    fn text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text));
        }
    }

    fn expand(&mut self, value: &'a Value, context: &Context<'a>) {
        let Some(node) = value.as_object() else {
            return self.text(leaf_text(Some(value)));
        };
        let kind = kind_of(node);
        if kind == "Code" {
            return self.text(indent_code(leaf_text(Some(value)), &context.indent, self.newline));
        }
        let Some(table) = layout(kind) else {
            return self.text(leaf_text(Some(value)));
        };
        if let Some(text) = node.get("text").and_then(Value::as_str) {
            return self.text(text);
        }
        if table.entries.is_empty() {
            let text = leaf_text(Some(value));
            return self.text(if text.is_empty() { table.text.as_str() } else { text });
        }
        let mut context = context.clone();
        if is_statement_or_clause(kind) && node.contains_key("range") {
            context.shift = shift(node, &context.indent);
        }
        if kind == "Match" && is_absent(node, "cases") && !is_absent(node, "subject") {
            return self.child(node, "subject", &node["subject"], &context);
        }
        let head = written(node, "head").unwrap_or_else(|| default_head(node, table, context.parent));
        self.trivia(&head, &context);
        for field in &table.entries {
            self.field(node, field, &context);
        }
        if kind == "Try" && is_absent(node, "handlers") && is_absent(node, "finalbody") {
            self.text(resolve("\nfinally:\n    pass", &context.indent, self.newline));
        }
        let tail = written(node, "tail").unwrap_or_else(|| default_tail(node, table));
        self.trivia(&tail, &context);
    }

    fn trivia(&mut self, text: &str, context: &Context<'_>) {
        self.text(shifted(text, context.shift.as_deref()));
    }

    fn field(&mut self, node: &'a Object, field: &FieldLayout, context: &Context<'a>) {
        match &field.shape {
            Shape::Single => self.single(node, field, context),
            Shape::List(_) => self.list(node, field, context),
            Shape::Block => self.block(node, field, context),
        }
    }

    fn around(&self, node: &Object, field: &FieldLayout, context: &Context<'_>) -> (String, String) {
        if let Some(entry) = node.get("trivia").and_then(|trivia| trivia.get(&field.name)) {
            let part = |index: usize| entry.get(index).and_then(Value::as_str).unwrap_or_default();
            let shift = context.shift.as_deref();
            return (shifted(part(0), shift), shifted(part(1), shift));
        }
        let (open, close) = default_around(node, field, context.parent);
        (resolve(&open, &context.indent, self.newline), resolve(&close, &context.indent, self.newline))
    }

    /// The first text behind a list.
    fn behind(&self, node: &Object, field: &FieldLayout, close: &str, context: &Context<'_>) -> String {
        if !close.is_empty() {
            return close.to_owned();
        }
        let Some(table) = layout(kind_of(node)) else { return String::new() };
        let later = table.entries.iter().skip_while(|entry| entry.name != field.name).skip(1);
        let opens = later
            .filter(|entry| !is_absent(node, &entry.name))
            .map(|entry| self.around(node, entry, context).0);
        let tail = written(node, "tail").unwrap_or_else(|| default_tail(node, table));
        opens.chain([tail]).find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn empty(&mut self, node: &Object, field: &FieldLayout, open: &str, close: &str) {
        let is_written = node.get("trivia").is_some_and(|trivia| trivia.get(&field.name).is_some());
        let stays = match field.when_empty {
            WhenEmpty::Drop => false,
            WhenEmpty::Keep => true,
            WhenEmpty::KeepWritten => is_written && node.contains_key(&field.name),
        };
        if !stays {
            return;
        }
        match kind_of(node) {
            "Set" => self.text("set()"),
            "Tuple" if open.is_empty() => self.text("()"),
            _ if open.contains('#')
                || matches!(field.shape, Shape::Single)
                || third_entry(node, &field.name) == Some("empty") =>
            {
                self.text(format!("{open}{close}"));
            }
            _ => {
                let close = if close.contains('#') { close } else { close.trim_start_matches(BLANK) };
                self.text(format!("{}{close}", open.trim_end_matches(BLANK)));
            }
        }
    }

    fn single(&mut self, node: &'a Object, field: &FieldLayout, context: &Context<'a>) {
        let (mut open, close) = self.around(node, field, context);
        if is_absent(node, &field.name) {
            return self.empty(node, field, &open, &close);
        }
        let needs_exception =
            matches!((kind_of(node), field.name.as_str()), ("Raise", "cause") | ("ExceptHandler", "name"));
        if needs_exception && is_absent(node, "exc") {
            return;
        }
        if kind_of(node) == "MatchMapping" && field.name == "rest" && is_absent(node, "items") {
            open =
                open.trim_start_matches(BLANK).trim_start_matches(',').trim_start_matches(BLANK).to_owned();
        }
        if kind_of(node) == "Assign" && is_absent(node, "targets") {
            open = String::new();
        }
        self.text(open);
        self.child(node, &field.name, &node[&field.name], context);
        self.text(close);
    }

    /// A child, in parentheses if it has or needs them.
    fn child(&mut self, node: &'a Object, field: &str, child: &'a Value, context: &Context<'a>) {
        let mut context = context.clone();
        context.parent = Parent {
            kind: kind_of(node),
            is_star: node.get("is_star").and_then(Value::as_bool).unwrap_or(false),
        };
        let parentheses = match written_parentheses(child) {
            Some((open, close)) => {
                let shift = context.shift.as_deref();
                Some((shifted(open, shift), shifted(close, shift)))
            }
            None => needs_parentheses(node, field, child).then(|| ("(".to_owned(), ")".to_owned())),
        };
        let (open, close) = parentheses.unwrap_or_default();
        self.text(open);
        self.pieces.push(Piece::Node(child, context));
        self.text(close);
    }

    fn list(&mut self, node: &'a Object, field: &FieldLayout, context: &Context<'a>) {
        let (open, close) = self.around(node, field, context);
        let items: Vec<&'a Value> = items(node, &field.name);
        if items.is_empty() {
            return self.empty(node, field, &open, &close);
        }
        let (default_gap, separator, default_after) = separator(node, field);
        let default_after = resolve(default_after, &context.indent, self.newline);
        let has_trailing = match third_entry(node, &field.name) {
            Some("empty") | None => kind_of(node) == "Tuple" && items.len() == 1,
            Some(separator) => !separator.is_empty(),
        };
        let mut inner = context.clone();
        if field.name == "cases" {
            inner.indent = Rc::from(last_line(&open).unwrap_or(&context.indent));
        }
        self.text(open.as_str());
        for (index, item) in items.iter().enumerate() {
            let is_last = index + 1 == items.len();
            self.text(shifted(word(item, "before").unwrap_or_default(), context.shift.as_deref()));
            self.child(node, &field.name, item, &inner);
            let gap = word(item, "gap");
            let mut after = shifted(word(item, "after").unwrap_or_default(), context.shift.as_deref());
            if !is_last {
                self.text(gap.unwrap_or(default_gap));
                self.text(separator);
                if word(item, "after").is_none() {
                    after = between_items(&items, index, &open, &default_after);
                } else if ends_in_comment(&after) {
                    after.push_str(&line_break(&items, index, &open, context, self.newline));
                }
            } else {
                if has_trailing || gap.is_some_and(|gap| gap.contains('#')) {
                    self.text(gap.unwrap_or_default());
                }
                if has_trailing {
                    self.text(separator);
                }
                let kept = after.trim_end_matches(BLANK);
                if !ends_in_comment(kept)
                    || starts_with_line_break(&self.behind(node, field, &close, context))
                {
                    after.truncate(kept.len());
                } else if ends_in_comment(&after) {
                    after.push_str(&line_break(&items, index, &open, context, self.newline));
                }
            }
            self.text(after);
        }
        self.text(close);
    }

    fn block(&mut self, node: &'a Object, field: &FieldLayout, context: &Context<'a>) {
        let is_module = kind_of(node) == "Module";
        let (mut open, close) = self.around(node, field, context);
        let items: Vec<&'a Value> =
            items(node, &field.name).into_iter().filter(|item| !is_void_statement(item)).collect();
        if items.is_empty() {
            let was_empty = third_entry(node, &field.name) == Some("empty");
            let body = if is_module || was_empty { "" } else { "pass" };
            return self.text(format!("{open}{body}{close}"));
        }
        if kind_of(node) == "With"
            && is_absent(node, "items")
            && let Some(colon) = open.find(':')
        {
            open.drain(..colon);
        }
        if is_module && !open.is_empty() && !open.ends_with(['\n', '\r', ' ', '\t', '\u{c}', '\\']) {
            open.push_str(self.newline);
        }
        let mut is_one_line = !is_module && last_line(&open).is_none();
        let has_compound = items.iter().any(|item| is_compound(item));
        let indent: Rc<str> = match last_line(&open) {
            _ if is_module => Rc::from(""),
            Some(indent) => Rc::from(indent),
            None if has_compound => {
                is_one_line = false;
                let indent: Rc<str> = Rc::from(format!("{}    ", context.indent));
                open = format!("{}{}{indent}", open.trim_end_matches(BLANK), self.newline);
                indent
            }
            None => context.indent.clone(),
        };
        self.text(open);
        let line_break = if is_one_line { "; ".to_owned() } else { format!("{}{indent}", self.newline) };
        let inner = Context { indent: indent.clone(), shift: None, parent: context.parent };
        // Whether what was printed last leaves us at the start of a line.
        let mut is_separated = true;
        for (index, item) in items.iter().enumerate() {
            let is_last = index + 1 == items.len();
            let shift = item.as_object().and_then(|item| shift(item, &indent));
            let before = shifted(word(item, "before").unwrap_or_default(), shift.as_deref());
            match (is_separated, before.trim_start_matches(BLANK).strip_prefix(';')) {
                (false, Some(_)) if is_one_line || !has_line_break(&line_break) || !is_compound(item) => {
                    self.text(before);
                }
                (_, Some(rest)) => {
                    if !is_separated {
                        self.text(line_break.as_str());
                    }
                    self.text(rest.trim_start_matches(BLANK));
                }
                (true, None) => self.text(before),
                (false, None) => {
                    self.text(line_break.as_str());
                    self.text(before);
                }
            }
            self.child(node, &field.name, item, &inner);
            let after = match word(item, "after") {
                Some(after) => shifted(after, shift.as_deref()),
                None if is_one_line => String::new(),
                None => line_break.clone(),
            };
            if is_last {
                self.text(after.trim_end_matches(BLANK));
            } else {
                is_separated = has_line_break(&after);
                self.text(after);
            }
        }
        self.text(close);
    }
}

fn items<'a>(node: &'a Object, field: &str) -> Vec<&'a Value> {
    match node.get(field) {
        Some(Value::Array(items)) => items.iter().filter(|item| !item.is_null()).collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(item) => vec![item],
    }
}

fn word<'a>(node: &'a Value, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Value::as_str)
}

fn written(node: &Object, key: &str) -> Option<String> {
    node.get("trivia").and_then(|trivia| trivia.get(key)).and_then(Value::as_str).map(str::to_owned)
}

/// The separator behind the last item of a list; `""` if there is none even behind the only item of a tuple, `"empty"` if the list was
/// written without items.
fn third_entry<'a>(node: &'a Object, field: &str) -> Option<&'a str> {
    node.get("trivia")?.get(field)?.get(2)?.as_str()
}

fn written_parentheses(node: &Value) -> Option<(&str, &str)> {
    let pair = node.get("parens")?.as_array()?;
    Some((pair.first()?.as_str()?, pair.get(1)?.as_str()?))
}

/// White space for an item that brought none: as its neighbours have it.
fn between_items(items: &[&Value], index: usize, open: &str, default: &str) -> String {
    let others = items[..index].iter().rev().chain(&items[index + 1..]);
    for other in others {
        if let Some(after) = word(other, "after") {
            let blank = &after[after.trim_end_matches(BLANK).len()..];
            return match blank.rfind(['\n', '\r']) {
                Some(at) => {
                    let newline = if blank[..at].ends_with('\r') { "\r\n" } else { &blank[at..=at] };
                    format!("{newline}{}", &blank[at + 1..])
                }
                None if ends_in_comment(after) => continue,
                None => blank.to_owned(),
            };
        }
    }
    let blank = &open[open.trim_end_matches(BLANK).len()..];
    match blank.find(['\n', '\r']) {
        Some(at) => blank[at..].to_owned(),
        None => default.to_owned(),
    }
}

/// A line break behind a comment, which would swallow what follows it.
fn line_break(items: &[&Value], index: usize, open: &str, context: &Context<'_>, newline: &str) -> String {
    let between = between_items(items, index, open, "");
    if has_line_break(&between) { between } else { format!("{newline}{}    ", context.indent) }
}

fn ends_in_comment(text: &str) -> bool {
    let line = text.rfind(['\n', '\r']).map_or(text, |at| &text[at + 1..]);
    line.contains('#')
}

fn starts_with_line_break(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\u{c}']).starts_with(['\n', '\r'])
}

fn has_line_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// The text behind the last line break, if there is one.
fn last_line(text: &str) -> Option<&str> {
    text.rfind(['\n', '\r']).map(|at| &text[at + 1..])
}

fn resolve(text: &str, indent: &str, newline: &str) -> String {
    text.replace('\n', &format!("{newline}{indent}"))
}

/// The change of indentation for a statement that is printed in a block of that indentation.
fn shift(node: &Object, indent: &str) -> Option<Rc<(String, String)>> {
    if !node.contains_key("range") {
        return None;
    }
    let from = node.get("indent").and_then(Value::as_str).unwrap_or_default();
    (from != indent).then(|| Rc::new((from.to_owned(), indent.to_owned())))
}

fn shifted(text: &str, shift: Option<&(String, String)>) -> String {
    let Some((from, to)) = shift else { return text.to_owned() };
    let mut result = String::with_capacity(text.len() + to.len());
    let mut lines = text.split_inclusive('\n');
    result.push_str(lines.next().unwrap_or_default());
    for line in lines {
        match line.strip_prefix(from.as_str()) {
            Some(rest) if !rest.starts_with(['\n', '\r']) => {
                result.push_str(to);
                result.push_str(rest);
            }
            _ => result.push_str(line),
        }
    }
    if text.ends_with('\n') && from.is_empty() {
        result.push_str(to);
    }
    result
}

/// Code given as text, at home in a block of that indentation.
fn indent_code(code: &str, indent: &str, newline: &str) -> String {
    let code = code.trim_end_matches(BLANK);
    let lines: Vec<&str> = code.lines().collect();
    let own = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let margin = lines
        .iter()
        .filter(|line| !line.trim_matches(BLANK).is_empty())
        .map(|line| own(line))
        .min()
        .unwrap_or(0);
    let mut result = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = line.get(margin..).unwrap_or_default();
        if index > 0 {
            result.push_str(newline);
            if !line.is_empty() {
                result.push_str(indent);
            }
        }
        result.push_str(line);
    }
    result
}

fn is_statement_or_clause(kind: &str) -> bool {
    crate::Kind::from_name(kind).is_some_and(|kind| kind.is_statement() || super::is_clause(kind))
}

/// A statement that says nothing any more: an import of no names.
fn is_void_statement(item: &Value) -> bool {
    let Some(node) = item.as_object() else { return false };
    let list = if kind_of(node) == "Delete" { "targets" } else { "names" };
    crate::Kind::from_name(kind_of(node)).is_some_and(super::is_void_without)
        && !node.contains_key("text")
        && is_absent(node, list)
        && third_entry(node, list) != Some("empty")
}

/// Whether an item of a block needs lines of its own.
fn is_compound(item: &Value) -> bool {
    match item {
        Value::Object(node) => match kind_of(node) {
            "Code" => has_line_break(leaf_text(Some(item)).trim_end_matches(BLANK)),
            "FunctionDef" | "ClassDef" | "For" | "While" | "If" | "With" | "Match" | "Try" => true,
            _ => false,
        },
        Value::String(text) => has_line_break(text.trim_end_matches(BLANK)),
        _ => false,
    }
}
