//! Source made ready to run: parsed, checked, and given a second form for the type checker.
//!
//! The engine knows `return` at top level, the type checker does not: for it, such a `return` becomes a call. Invariant: line numbers
//! never change, and every column of that form maps back to the column the user wrote. The text is changed by edits over
//! grail-code's tree, never re-printed.

use std::sync::Arc;

use grail_code::semantic::BindingKind;
use grail_code::{Edit, Field, Kind, Node, Parsed, Semantic, Source, Span, edit, parse_module};
use unicode_normalization::UnicodeNormalization;

use crate::compat;
use crate::outcome::{Note, Rejection};

/// The function that a `return` at top level becomes a call of, for the type checker: as wide as `return`, so that columns stay.
pub(crate) const RETURN_FUNCTION: &str = "grail_";

/// A broken file can have an error on every line; nobody reads more than these.
const MAX_REJECTIONS: usize = 50;

/// Longer targets are not repeated in a hint.
const MAX_TARGET: usize = 60;

/// Whether a program must end in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultRule {
    /// An assignment as the last statement is refused: its author meant the value and would get `None`.
    Required,
    /// Snippets of a session and scripts that only do things.
    Optional,
}

/// Python that may be sent to a worker.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The source as run: as written, without a byte-order mark.
    pub source: Arc<str>,
    /// The source as type checked.
    pub checked: Arc<str>,
    pub notes: Vec<Note>,
    original: Source,
    replacements: Vec<Replacement>,
}

/// One edit in the units of tracebacks. Edits never span lines.
#[derive(Clone, Copy, Debug)]
struct Replacement {
    line: u32,
    column: u32,
    removed: u32,
    inserted: u32,
}

/// Parses and checks `source`; nothing of it is run.
pub(crate) fn prepare(source: &str, rule: ResultRule) -> Result<Program, Vec<Rejection>> {
    prepare_with(source, rule, &|_| false)
}

/// As [`prepare`], where `defines` tells the names that the host provides: tools, inputs, what earlier snippets left behind.
pub(crate) fn prepare_with(
    source: &str,
    rule: ResultRule,
    defines: &dyn Fn(&str) -> bool,
) -> Result<Program, Vec<Rejection>> {
    let parsed = parse_module(Source::from_text(source));
    if !parsed.is_valid() {
        return Err(parsed.diagnostics().iter().take(MAX_REJECTIONS).map(syntax_error).collect());
    }
    let (mut rejections, notes) = compat::check(&parsed, defines);
    rejections.extend(reserved_names(&parsed));
    let mut returns = Vec::new();
    for node in parsed.nodes_of(Kind::Return) {
        match node.ancestors().find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef)) {
            None => returns.push(node),
            Some(definition) if definition.kind() == Kind::ClassDef => rejections.push(reject(
                node,
                "syntax-error",
                "`return` stands in a class body, outside any function",
                None,
            )),
            Some(_) => {}
        }
    }
    if rule == ResultRule::Required && returns.is_empty() {
        rejections.extend(trailing_assignment(&parsed));
    }
    if !rejections.is_empty() {
        rejections.sort_by_key(|rejection| (rejection.line, rejection.column));
        rejections.truncate(MAX_REJECTIONS);
        return Err(rejections);
    }
    let edits: Vec<Edit> = returns.iter().flat_map(|node| return_as_call(*node)).collect();
    Ok(Program::new(parsed.source().clone(), edits, notes))
}

impl Program {
    fn new(original: Source, edits: Vec<Edit>, notes: Vec<Note>) -> Self {
        let replacements = edits
            .iter()
            .map(|edit| {
                let position = original.position(edit.span.start);
                Replacement {
                    line: position.line,
                    column: position.column,
                    removed: edit.span.len(),
                    inserted: edit.text.len() as u32,
                }
            })
            .collect();
        // The edits touch different `return` statements, or different ends of one: they cannot overlap.
        let source: Arc<str> = original.text().into();
        let checked = if edits.is_empty() {
            Arc::clone(&source)
        } else {
            edit::apply(original.text(), edits).map_or_else(|_| Arc::clone(&source), Arc::from)
        };
        Self { source, checked, notes, original, replacements }
    }

    /// The names that the program assigns at its top level, in order.
    pub(crate) fn variables(&self) -> Vec<String> {
        let parsed = parse_module(self.original.clone());
        let semantic = Semantic::new(&parsed);
        let module = semantic.module_scope();
        let mut names = Vec::new();
        for binding in semantic.bindings().iter().filter(|binding| binding.kind == BindingKind::Assignment) {
            let symbol = semantic.symbol(binding.symbol);
            if symbol.scope == module && !names.iter().any(|name: &String| *name == symbol.name) {
                names.push(symbol.name.clone().into_owned());
            }
        }
        names
    }

    /// The source as written.
    pub(crate) fn original_text(&self) -> &str {
        self.original.text()
    }

    /// Where a place in the source as type checked stands in the source as written. Both count from 1, columns in characters.
    pub(crate) fn original_position(&self, line: u32, column: u32) -> (u32, u32) {
        let first = self.replacements.partition_point(|replacement| replacement.line < line);
        // What has been inserted so far on this line, and what has been removed.
        let (mut inserted, mut removed) = (0, 0);
        for replacement in
            self.replacements[first..].iter().take_while(|replacement| replacement.line == line)
        {
            let start = replacement.column + inserted - removed;
            if column < start {
                break;
            }
            if column < start + replacement.inserted {
                let within = (column - start).min(replacement.removed.saturating_sub(1));
                return (line, replacement.column + within);
            }
            inserted += replacement.inserted;
            removed += replacement.removed;
        }
        (line, (column + removed).saturating_sub(inserted).max(1))
    }

    /// A line as written, without its line ending; empty if there is no such line.
    pub(crate) fn original_line(&self, line: u32) -> &str {
        let starts = self.original.line_starts();
        let Some(&start) = (line as usize).checked_sub(1).and_then(|index| starts.get(index)) else {
            return "";
        };
        Span::new(start, self.original.line_end(start)).of(self.original.text())
    }

    /// Whether a `return` at top level may end the program.
    #[cfg(test)]
    pub(crate) fn uses_return(&self) -> bool {
        !self.replacements.is_empty()
    }
}

/// A rejection of `node`, as far as its first line goes: a message about a class should not underline all of it.
pub(crate) fn reject(
    node: Node<'_>,
    construct: &str,
    message: impl Into<String>,
    hint: Option<String>,
) -> Rejection {
    let source = node.parsed().source();
    let span = node.span();
    let start = source.position(span.start);
    let end = source.position(span.end.min(source.line_end(span.start)));
    Rejection {
        construct: construct.to_owned(),
        message: message.into(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        hint,
    }
}

fn syntax_error(diagnostic: &grail_code::Diagnostic) -> Rejection {
    Rejection {
        construct: "syntax-error".to_owned(),
        message: diagnostic.message.clone(),
        line: diagnostic.start.line,
        column: diagnostic.start.column,
        end_line: diagnostic.end.line,
        end_column: diagnostic.end.column,
        hint: None,
    }
}

/// Variables of the name that `return` is rewritten to. Attributes and keyword arguments of that name do no harm.
fn reserved_names(parsed: &Parsed) -> Vec<Rejection> {
    let is_variable = |node: &Node<'_>| match node.kind() {
        Kind::Name => true,
        Kind::Identifier => !matches!(node.field(), Field::Attr | Field::Keyword),
        _ => false,
    };
    let message = format!("the name `{RETURN_FUNCTION}` is reserved");
    // Python compares names in NFKC: the name in other letters is the same name.
    let is_reserved =
        |text: &str| text == RETURN_FUNCTION || !text.is_ascii() && text.nfkc().eq(RETURN_FUNCTION.chars());
    let uses = parsed.nodes().filter(|node| is_variable(node) && is_reserved(node.text()));
    uses.map(|node| reject(node, "reserved-name", &*message, Some("use another name".to_owned()))).collect()
}

/// An assignment where the value of the program should stand.
fn trailing_assignment(parsed: &Parsed) -> Option<Rejection> {
    let last = parsed.root().children().last()?;
    let target = match last.kind() {
        Kind::Assign => last.child(Field::Targets)?,
        Kind::AugAssign => last.child(Field::Target)?,
        Kind::AnnAssign if last.child(Field::Value).is_some() => last.child(Field::Target)?,
        _ => return None,
    };
    let name = target.text();
    let name = if name.len() <= MAX_TARGET && !name.contains(['\n', '\r', '`']) { name } else { "NAME" };
    Some(reject(
        last,
        "trailing-assignment",
        "the program ends in an assignment, so it has no result",
        Some(format!("end with the value: add a last line `{name}`")),
    ))
}

/// `return value` as `grail_(value)`: the space behind `return` becomes the parenthesis.
fn return_as_call(statement: Node<'_>) -> Vec<Edit> {
    let Span { start, end } = statement.span();
    let keyword = Span::new(start, start + "return".len() as u32);
    let Some(value) = statement.child(Field::Value) else {
        return vec![Edit::replace(keyword, format!("{RETURN_FUNCTION}()"))];
    };
    // The elements of a bare tuple would become separate arguments.
    let is_bare_tuple = value.kind() == Kind::Tuple && !value.is_parenthesized_tuple();
    let (mut opening, mut closing) = (format!("{RETURN_FUNCTION}("), ")".to_owned());
    if is_bare_tuple {
        opening.push('(');
        closing.push(')');
    }
    let rest = &statement.parsed().text()[keyword.end as usize..];
    let replaced = if rest.starts_with([' ', '\t']) { Span::new(start, keyword.end + 1) } else { keyword };
    vec![Edit::replace(replaced, opening), Edit::insert(end, closing)]
}

#[cfg(test)]
mod tests;
