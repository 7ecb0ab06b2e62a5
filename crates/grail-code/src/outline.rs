//! The outline of a file: its classes and functions with their signatures.

use serde::Serialize;

use crate::tree::string_literal;
use crate::{Field, Kind, Node, Parsed, Position, Semantic, Span};

/// A class, function or method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outline {
    pub kind: OutlineKind,
    pub name: String,
    /// `Class.method`, `outer.<locals>.inner`.
    pub qualified_name: String,
    /// As written, on one line: `def total(self, rate: float = 0.19) -> float`.
    pub signature: String,
    /// Dotted where it can be told.
    pub decorators: Vec<String>,
    /// The first line of the docstring.
    pub summary: Option<String>,
    #[serde(flatten)]
    pub start: Position,
    pub end_line: u32,
    pub span: Span,
    /// How many classes and functions surround it.
    pub depth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlineKind {
    Class,
    Function,
    Method,
}

/// All classes and functions, in source order.
pub fn outline(semantic: &Semantic<'_>) -> Vec<Outline> {
    let parsed = semantic.parsed();
    let definitions = parsed.nodes().filter(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef));
    definitions.filter_map(|node| outline_of(semantic, parsed, node)).collect()
}

fn outline_of(semantic: &Semantic<'_>, parsed: &Parsed, node: Node<'_>) -> Option<Outline> {
    let name = node.child(Field::Name)?;
    let surroundings: Vec<Kind> = node
        .ancestors()
        .map(Node::kind)
        .filter(|kind| matches!(kind, Kind::FunctionDef | Kind::ClassDef))
        .collect();
    let kind = match (node.kind(), surroundings.first()) {
        (Kind::ClassDef, _) => OutlineKind::Class,
        (_, Some(Kind::ClassDef)) => OutlineKind::Method,
        _ => OutlineKind::Function,
    };
    let decorators = node.list(Field::Decorators).filter_map(|decorator| decorator.child(Field::Expression));
    let dotted = |expression: Node<'_>| match semantic.qualified_names(expression).into_iter().next() {
        Some(qualified) => qualified.name,
        None => one_line(expression.text()),
    };
    let qualified = semantic.qualified_names(node).into_iter().next();
    // Decorators belong to the node but not to the definition's own first line.
    let start = parsed.source().position(name.span().start);
    Some(Outline {
        kind,
        name: name.text().to_owned(),
        qualified_name: qualified.map_or_else(|| name.text().to_owned(), |qualified| qualified.name),
        signature: signature(node),
        decorators: decorators.map(dotted).collect(),
        summary: summary(node),
        start,
        end_line: parsed.source().position(node.span().end).line,
        span: node.span(),
        depth: surroundings.len() as u32,
    })
}

/// The header of a definition without decorators and colon, white space folded and comments dropped.
fn signature(node: Node<'_>) -> String {
    let parsed = node.parsed();
    let start =
        node.list(Field::Decorators).last().map_or(node.span().start, |decorator| decorator.span().end);
    let last = node
        .children()
        .filter(|child| child.field() != Field::Body)
        .last()
        .map_or(node.span().end, |child| child.span_with_parentheses().end);
    let body = node.child(Field::Body).map_or(node.span().end, |body| body.span().start);
    let comments: Vec<Span> =
        parsed.comments().filter(|comment| comment.start >= start && comment.end <= body).collect();
    let mut text = String::new();
    let mut cursor = start;
    // The header ends with the colon in front of the body.
    let end = parsed.text()[last as usize..body as usize].find(':').map_or(last, |at| last + at as u32);
    for comment in comments.iter().filter(|comment| comment.end <= end) {
        text += &parsed.text()[cursor as usize..comment.start as usize];
        cursor = comment.end;
    }
    text += &parsed.text()[cursor.min(end) as usize..end as usize];
    let folded = one_line(&text);
    folded.replace("( ", "(").replace(", )", ")").replace(" )", ")").replace("[ ", "[").replace(" ]", "]")
}

fn summary(node: Node<'_>) -> Option<String> {
    let first = node.list(Field::Body).next().filter(|first| first.kind() == Kind::Expr)?;
    let literal = string_literal(first.child(Field::Value).filter(|value| value.kind() == Kind::String)?)?;
    literal.content.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
