//! `Union[X, Y]` and `Optional[X]` as `X | Y` and `X | None`: what both commands share.
//!
//! Members keep their text, comments and line breaks: only brackets and commas change. A union with a string member cannot be
//! written with `|` at run time, so in an annotation the whole union becomes one string, and elsewhere it stays.

use ruff_python_ast::token::TokenKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::interpolation::Refusal;
use super::type_expressions::{AnnotationString, TypeTree, annotation_strings};
use super::{CommandContext, CommandOutcome, is_shown_as_source};
use crate::tree::{TokenSpan, string_literal};
use crate::{Edit, Field, Kind, Node, NodeId, Span, edit};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Union,
    Optional,
}

/// Converts every union of that form.
pub(super) fn convert(context: &CommandContext<'_>, form: Form) -> CommandOutcome {
    let mut outcome = CommandOutcome::default();
    let strings = annotation_strings(context);

    // What the strings will hold, for those that end up inside a larger string.
    let mut contents: FxHashMap<NodeId, String> = FxHashMap::default();
    let mut string_edits = Vec::new();
    for string in &strings {
        let tree = TypeTree::of_string(context, string);
        let converter = Converter::new(tree, form, &strings, &contents);
        let (edits, notes) = converter.convert_all(context);
        let local: Vec<Edit> = edits
            .iter()
            .map(|change| Edit::replace(shift_back(change.span, string.offset), change.text.clone()))
            .collect();
        if let Ok(content) = edit::apply(string.parsed.text(), local) {
            contents.insert(string.node.id(), content);
        }
        string_edits.extend(edits);
        outcome.notes.extend(notes);
    }

    let converter = Converter::new(TypeTree::of_file(context), form, &strings, &contents);
    let (edits, notes) = converter.convert_all(context);
    outcome.notes.extend(notes);
    // A string that went into a larger one is part of that one's edit.
    string_edits.retain(|change| !edits.iter().any(|larger| larger.span.covers(change.span)));
    outcome.edits = string_edits;
    outcome.edits.extend(edits);
    let spans: Vec<_> = outcome.edits.iter().map(|edit| edit.span).collect();
    outcome.remove_imports_if_unused = context.imports_used_in(&spans);
    outcome
}

fn shift_back(span: Span, offset: u32) -> Span {
    Span::new(span.start - offset, span.end - offset)
}

struct Converter<'t> {
    tree: TypeTree<'t>,
    form: Form,
    targets: FxHashSet<NodeId>,
    strings: FxHashSet<NodeId>,
    contents: &'t FxHashMap<NodeId, String>,
}

impl<'t> Converter<'t> {
    fn new(
        tree: TypeTree<'t>,
        form: Form,
        strings: &'t [AnnotationString<'t>],
        contents: &'t FxHashMap<NodeId, String>,
    ) -> Self {
        let names = match form {
            Form::Union => ["typing.Union", "typing_extensions.Union"],
            Form::Optional => ["typing.Optional", "typing_extensions.Optional"],
        };
        let targets = tree
            .parsed
            .nodes_of(Kind::Subscript)
            .filter(|node| {
                let value = node.child(Field::Value);
                value.is_some_and(|value| tree.name_among(value, &names).is_some())
            })
            .map(Node::id)
            .collect();
        // Strings within a string annotation are not reached.
        let strings = if tree.is_string() {
            FxHashSet::default()
        } else {
            super::type_expressions::ids(strings).collect()
        };
        Self { tree, form, targets, strings, contents }
    }

    fn convert_all(&self, context: &CommandContext<'_>) -> (Vec<Edit>, Vec<String>) {
        let (mut edits, mut notes) = (Vec::new(), Vec::new());
        let mut done_until = 0;
        for node in self.tree.parsed.nodes_of(Kind::Subscript) {
            if node.span().start < done_until || !self.targets.contains(&node.id()) {
                continue;
            }
            done_until = node.span().end;
            match self.convert_outermost(node) {
                Ok(changes) => edits.extend(
                    changes
                        .into_iter()
                        .map(|change| Edit::replace(self.tree.in_file(change.span), change.text)),
                ),
                Err(Refusal(reason)) => notes.push(context.note(self.tree.place(node), reason)),
            }
        }
        (edits, notes)
    }

    /// The edits of a union and of all unions inside it.
    fn convert_outermost(&self, node: Node<'t>) -> Result<Vec<Edit>, Refusal> {
        if is_shown_as_source(node) {
            return Err(Refusal("its source is printed"));
        }
        let nested: Vec<_> = node.subtree().filter(|inner| self.targets.contains(&inner.id())).collect();
        let mut edits = Vec::new();
        for inner in &nested {
            edits.extend(self.edits_of(*inner)?);
        }
        let has_string_member = nested.iter().any(|inner| {
            self.members(*inner).is_ok_and(|members| {
                members.iter().any(|member| {
                    matches!(member.kind(), Kind::String | Kind::ConcatenatedString | Kind::FString)
                })
            })
        });
        if has_string_member { self.quote(node, edits) } else { Ok(edits) }
    }

    fn members(&self, node: Node<'t>) -> Result<Vec<Node<'t>>, Refusal> {
        let slice = node.child(Field::Slice).ok_or(Refusal("it has no members"))?;
        let members: Vec<_> = match slice.kind() {
            Kind::Tuple => slice.list(Field::Elts).collect(),
            _ => vec![slice],
        };
        let is_odd =
            |member: &Node<'_>| matches!(member.kind(), Kind::Starred | Kind::Slice | Kind::NamedExpr);
        if members.is_empty() || members.iter().any(is_odd) {
            return Err(Refusal("its members cannot be told apart"));
        }
        if self.form == Form::Optional && slice.kind() == Kind::Tuple {
            return Err(Refusal("`Optional` takes one type"));
        }
        Ok(members)
    }

    fn edits_of(&self, node: Node<'t>) -> Result<Vec<Edit>, Refusal> {
        let members = self.members(node)?;
        let parsed = self.tree.parsed;
        let spans: Vec<_> = members.iter().map(|member| member.span_with_parentheses()).collect();
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
            return Err(Refusal("it has no members"));
        };
        if members.len() > 1 && members[..2].iter().all(|member| member.kind() == Kind::NoneLiteral) {
            return Err(Refusal("`None | None` is an error"));
        }
        let adds_none = self.form == Form::Optional && !self.holds_none(members[0]);
        let count = members.len() + usize::from(adds_none);
        let value = node.child(Field::Value).ok_or(Refusal("it has no members"))?;
        let head = Span::new(node.span().start, first.start);
        let tail = Span::new(last.end, node.span().end);

        let is_multiline = node.text().contains(['\n', '\r']);
        let is_enclosed = node.span_with_parentheses() != node.span();
        let is_compound = count > 1 || !is_atom(members[0], *first);
        let needs_parentheses =
            !is_enclosed && (is_multiline || (is_compound && self.context_binds_tighter(node, members[0])));

        let mut edits = Vec::new();
        // Everything between the name and the first member, except comments and line breaks.
        let opening = Span::new(head.start, value.span_with_parentheses().end);
        edits.push(Edit::replace(opening, if needs_parentheses { "(" } else { "" }));
        edits.extend(self.remove_tokens(Span::new(opening.end, head.end), is_multiline));
        let wraps_members = count > 1;
        for (index, (member, span)) in members.iter().zip(&spans).enumerate() {
            if wraps_members && binds_looser_than_or(*member) && *span == member.span() {
                edits.push(Edit::insert(span.start, "("));
                edits.push(Edit::insert(span.end, ")"));
            }
            if let Some(next) = spans.get(index + 1) {
                let gap = Span::new(span.end, next.start);
                let comma = parsed.tokens_in(gap).iter().find(|token| token.kind() == TokenKind::Comma);
                let comma = comma.ok_or(Refusal("its members cannot be told apart"))?.range_span();
                let space = if comma.start == span.end { " " } else { "" };
                let follows = parsed.text().as_bytes().get(comma.end as usize);
                let behind = if follows.is_some_and(|byte| byte.is_ascii_whitespace()) { "" } else { " " };
                edits.push(Edit::replace(comma, format!("{space}|{behind}")));
            }
        }
        if adds_none {
            edits.push(Edit::insert(last.end, " | None"));
        }
        edits.extend(self.remove_tokens(Span::new(tail.start, tail.end - 1), is_multiline));
        let closing = Span::new(tail.end - 1, tail.end);
        edits.push(Edit::replace(closing, if needs_parentheses { ")" } else { "" }));
        Ok(edits)
    }

    /// Removes brackets and commas, and the blanks around them unless lines matter.
    fn remove_tokens(&self, span: Span, is_multiline: bool) -> Vec<Edit> {
        let has_comment =
            self.tree.parsed.tokens_in(span).iter().any(|token| token.kind() == TokenKind::Comment);
        if !is_multiline && !has_comment {
            return if span.is_empty() { Vec::new() } else { vec![Edit::remove(span)] };
        }
        let tokens = self.tree.parsed.tokens_in(span).iter();
        tokens
            .filter(|token| !token.kind().is_trivia())
            .map(|token| Edit::remove(token.range_span()))
            .collect()
    }

    /// Whether what surrounds the union would take `X | Y` apart.
    fn context_binds_tighter(&self, node: Node<'t>, first: Node<'t>) -> bool {
        let Some(parent) = node.parent() else { return false };
        match (parent.kind(), node.field()) {
            (Kind::Attribute | Kind::Subscript, Field::Value)
            | (Kind::Call, Field::Func)
            | (Kind::Await, _) => true,
            (Kind::UnaryOp, _) => parent.child(Field::Op).is_some_and(|op| op.text() != "not"),
            (Kind::BinOp, field) => match parent.child(Field::Op).map(Node::text) {
                Some("|") => field == Field::Right && first.kind() == Kind::NoneLiteral,
                _ => true,
            },
            // The brackets of a union with one member go, so what counts is around that one.
            (Kind::Subscript, Field::Slice) if self.targets.contains(&parent.id()) => {
                self.form == Form::Union && self.context_binds_tighter(parent, first)
            }
            _ => false,
        }
    }

    /// Whether `None` is among the members already.
    fn holds_none(&self, member: Node<'t>) -> bool {
        let mut pending = vec![member];
        while let Some(node) = pending.pop() {
            match node.kind() {
                Kind::NoneLiteral => return true,
                Kind::BinOp if node.child(Field::Op).is_some_and(|op| op.text() == "|") => {
                    pending.extend(node.child(Field::Left));
                    pending.extend(node.child(Field::Right));
                }
                Kind::Subscript if self.targets.contains(&node.id()) => return true,
                _ => {}
            }
        }
        false
    }

    /// The union as one string.
    fn quote(&self, node: Node<'t>, mut edits: Vec<Edit>) -> Result<Vec<Edit>, Refusal> {
        let source = self.tree.parsed.text();
        let mut contained_quotes: Vec<char> = Vec::new();
        for inner in node.subtree() {
            match inner.kind() {
                Kind::String if self.strings.contains(&inner.id()) => {
                    let content = self.contents.get(&inner.id()).map(String::as_str);
                    let content = content.or_else(|| string_literal(inner).map(|literal| literal.content));
                    edits.push(Edit::replace(inner.span(), content.unwrap_or_default()));
                }
                Kind::String | Kind::Bytes | Kind::FString => {
                    let is_member = inner.parent().is_some_and(|parent| {
                        self.targets.contains(&parent.id())
                            || parent.parent().is_some_and(|union| self.targets.contains(&union.id()))
                    });
                    if is_member {
                        return Err(Refusal("a string does not support `|` at run time"));
                    }
                    contained_quotes
                        .extend(inner.text().chars().filter(|letter| matches!(letter, '"' | '\'')));
                }
                Kind::ConcatenatedString => return Err(Refusal("a string does not support `|` at run time")),
                _ => {}
            }
        }
        let span = node.span();
        if source[span.start as usize..span.end as usize].contains(['\n', '\r', '\\']) {
            return Err(Refusal("a string annotation cannot hold its line breaks"));
        }
        let own_quote = node.subtree().find_map(|inner| {
            self.strings.contains(&inner.id()).then(|| string_literal(inner).map(|literal| literal.quote))?
        });
        let preferred = own_quote.filter(|quote| quote.len() == 1).unwrap_or("\"");
        let other = if preferred == "\"" { "'" } else { "\"" };
        let local: Vec<Edit> = edits
            .into_iter()
            .map(|change| Edit::replace(shift_back(change.span, span.start), change.text))
            .collect();
        let text = edit::apply(span.of(source), local).map_err(|_| Refusal("its strings overlap"))?;
        let quote = [preferred, other].into_iter().find(|quote| !text.contains(*quote));
        let quote = quote.ok_or(Refusal("its quotes cannot be nested"))?;
        Ok(vec![Edit::replace(span, format!("{quote}{text}{quote}"))])
    }
}

fn is_atom(member: Node<'_>, span: Span) -> bool {
    span != member.span()
        || !matches!(
            member.kind(),
            Kind::BinOp
                | Kind::UnaryOp
                | Kind::BoolOp
                | Kind::Compare
                | Kind::IfExp
                | Kind::Lambda
                | Kind::Await
                | Kind::NamedExpr
        )
}

fn binds_looser_than_or(member: Node<'_>) -> bool {
    match member.kind() {
        Kind::Compare | Kind::BoolOp | Kind::IfExp | Kind::Lambda | Kind::NamedExpr => true,
        Kind::UnaryOp => member.child(Field::Op).is_some_and(|op| op.text() == "not"),
        _ => false,
    }
}
