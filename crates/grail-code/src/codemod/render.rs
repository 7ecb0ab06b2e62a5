//! Filling a template with captured source text.
//!
//! Captured text is copied, never printed: comments, quotes and line breaks inside it stay. Around it go parentheses where the place
//! or a line break asks for them, and the indentation of the place.

use ruff_python_ast::token::TokenKind;
use rustc_hash::FxHashMap;

use super::precedence::{Precedence, Slot, are_redundant, is_delimited};
use super::precedence::{needs_parentheses, precedence_of, slot_of};
use super::template::{Form, Placeholder, has_bare_line_break};
use super::unsaid::Carried;
use super::writer::Writer;
use crate::layout::{CommaList, LeadingComments, block_indentation, reindent};
use crate::layout::{remove_list_items, remove_statements};
use crate::query::{Capture, Captures};
use crate::tree::TokenSpan;
use crate::{Edit, Field, Kind, Node, NodeId, Parsed, Span};

/// Source text by span, with the replacements of matches that lie inside it already made.
pub(super) trait Copy {
    fn text(&self, span: Span) -> String;
    /// How tightly the replacement of exactly this span holds together; `None` if it is not replaced.
    fn precedence(&self, span: Span) -> Option<Precedence>;
}

/// Where a replacement goes.
pub(super) struct Place<'a> {
    pub(super) parsed: &'a Parsed,
    /// What is replaced. Comments around it stay where they are.
    pub(super) span: Span,
    /// The indentation of the line it starts on.
    pub(super) indentation: String,
    /// Whether line breaks are free there.
    pub(super) is_bracketed: bool,
}

/// A filled template.
pub(super) struct Rendered {
    pub(super) text: String,
    /// How tightly it holds together, for an expression.
    pub(super) precedence: Precedence,
    /// The source that was copied into it.
    pub(super) used: Vec<Span>,
}

pub(super) fn render(
    form: &Form,
    captures: &Captures,
    place: &Place<'_>,
    carried: &[Carried],
    copy: &dyn Copy,
) -> Rendered {
    let renderer = Renderer { form, captures, place, carried, copy };
    renderer.render()
}

struct Renderer<'r, 'a> {
    form: &'r Form,
    captures: &'r Captures,
    place: &'r Place<'a>,
    carried: &'r [Carried],
    copy: &'r dyn Copy,
}

/// What happens to a part of the template.
enum Piece<'r> {
    Capture { site: Node<'r>, nodes: &'r [NodeId] },
    Text(String),
}

impl<'r, 'a> Renderer<'r, 'a> {
    fn render(&self) -> Rendered {
        let mut pieces = self.pieces();
        pieces.sort_by_key(|(span, _)| *span);
        let mut writer = Writer::new(self.form, self.place, self.words());
        let mut used: Vec<Span> = self.carried.iter().map(|carried| carried.source).collect();
        let mut precedence = self.own_precedence();
        let mut cursor = self.form.inner.start;
        for (span, piece) in pieces {
            writer.literal(Span::new(cursor, span.start));
            match piece {
                Piece::Text(text) => writer.push(&text),
                Piece::Capture { site, nodes } => {
                    let (text, root) = self.capture(site, nodes, &mut writer, &mut used);
                    precedence = root.unwrap_or(precedence);
                    writer.push(&text);
                }
            }
            cursor = span.end;
        }
        writer.literal(Span::new(cursor, self.form.inner.end));
        Rendered { text: writer.finish(), precedence, used }
    }

    /// Captures that are short enough to be named within a string of the template, longest names first.
    fn words(&self) -> Vec<(&'r str, &'a str)> {
        let mut words: Vec<(&str, &str)> = Vec::new();
        for (name, capture) in self.captures.iter() {
            let [node] = capture.nodes() else { continue };
            let text = self.place.parsed.node(*node).text();
            if text.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '.')) {
                words.push((name, text));
            }
        }
        words.sort_by_key(|(name, _)| usize::MAX - name.len());
        words
    }

    /// The placeholders with the spans they take up; empty ones with the comma or the line that goes with them.
    fn pieces(&self) -> Vec<(Span, Piece<'r>)> {
        let parsed = &self.form.parsed;
        let mut pieces: Vec<(Span, Piece<'r>)> = Vec::new();
        for Carried { at, source, before, after } in self.carried {
            let text = format!("{before}{}{after}", self.copy.text(*source));
            pieces.push((Span::at(*at), Piece::Text(text)));
        }
        let mut empty_statements = Vec::new();
        let mut empty_items: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for Placeholder { name, node } in &self.form.placeholders {
            let nodes = self.captures.get(name).map_or(&[][..], Capture::nodes);
            let site = self.site(parsed.node(*node), nodes);
            if !nodes.is_empty() {
                pieces.push((site.span(), Piece::Capture { site, nodes }));
                continue;
            }
            match site.parent() {
                _ if site.kind().is_statement() => empty_statements.push(site),
                Some(parent) if CommaList::of(parent).is_some() => {
                    empty_items.entry(parent.id()).or_default().push(site.id());
                }
                _ => pieces.push((site.span(), Piece::Text(String::new()))),
            }
        }
        let mut edits = remove_statements(&empty_statements, LeadingComments::Keep);
        for (parent, items) in empty_items {
            let parent = parsed.node(parent);
            let Some(list) = CommaList::of(parent) else { continue };
            if parent.kind() == Kind::Set && items.len() == list.items.len() {
                // Only a dictionary is written like that.
                edits.push(Edit::remove(Span::new(list.start, list.end)));
                continue;
            }
            let is_empty =
                |span: &Span| items.iter().any(|item| parsed.node(*item).span_with_parentheses() == *span);
            let indexes: Vec<usize> =
                list.items.iter().enumerate().filter(|(_, span)| is_empty(span)).map(|(at, _)| at).collect();
            edits.extend(remove_list_items(parsed, &list, &indexes));
        }
        // A removal may reach into the frame, whose text is not shown anyway.
        pieces.extend(edits.into_iter().map(|edit| {
            let start = edit.span.start.max(self.form.inner.start);
            (Span::new(start, edit.span.end.min(self.form.inner.end).max(start)), Piece::Text(edit.text))
        }));
        pieces
    }

    /// The largest node of the template that is nothing but this placeholder, as far as the capture can stand for all of it.
    fn site(&self, placeholder: Node<'r>, nodes: &[NodeId]) -> Node<'r> {
        let is_statement = nodes.first().is_none_or(|node| {
            let kind = self.place.parsed.node(*node).kind();
            kind.is_statement()
        });
        let mut site = placeholder;
        while let Some(parent) = site.parent() {
            let is_unpacked = matches!(parent.kind(), Kind::DictItem | Kind::Keyword)
                && parent.child(Field::Key).or(parent.child(Field::Keyword)).is_none()
                && parent.text().starts_with(&format!("**{0}{0}{0}", self.form.sigil));
            let is_whole = parent.span() == site.span()
                && match parent.kind() {
                    Kind::Expr => is_statement,
                    Kind::Parameter | Kind::Alias | Kind::WithItem | Kind::MatchAs | Kind::TypeVar => true,
                    _ => false,
                };
            if !is_whole && !is_unpacked {
                break;
            }
            site = parent;
        }
        site
    }

    /// The text of a capture for its place. The precedence only if the capture is the whole template.
    fn capture(
        &self,
        site: Node<'r>,
        nodes: &[NodeId],
        writer: &mut Writer<'_>,
        used: &mut Vec<Span>,
    ) -> (String, Option<Precedence>) {
        let source = self.place.parsed;
        let first = source.node(nodes[0]);
        if first.kind().is_statement() {
            return (self.statements(site, nodes, writer, used), None);
        }
        if let ([_], true) = (nodes, first.kind().is_expression() && site.kind().is_expression()) {
            return self.expression(site, first, writer, used);
        }
        (self.items(site, nodes, writer, used), None)
    }

    fn expression(
        &self,
        site: Node<'r>,
        node: Node<'a>,
        writer: &Writer<'_>,
        used: &mut Vec<Span>,
    ) -> (String, Option<Precedence>) {
        let outer = node.span_with_parentheses();
        let precedence = self.precedence(node);
        let is_root = self.form.root_expression() == Some(site);
        let slot = if is_root { Slot::PARENTHESES } else { slot_of(site) };
        let padded = self.padded(site, outer, outer);
        let has_comment = |span: Span| {
            let tokens = self.place.parsed.tokens_in(span);
            tokens.iter().any(|token| token.kind() == TokenKind::Comment)
        };
        let inner_text = self.copy.text(node.span());
        let is_broken = !self.is_bracketed(site) && has_bare_line_break(&inner_text);
        // Parentheses that only the old place needed go, and so do those that would become a second pair.
        let is_liked = are_redundant(node) && (is_delimited(node) || !is_delimited(site));
        let keeps_own = outer != node.span()
            && (is_liked
                || has_comment(Span::new(outer.start, node.span().start))
                || has_comment(Span::new(node.span().end, outer.end)));
        let needs_own = !is_root
            && (is_broken
                || needs_parentheses(precedence, slot)
                || (slot.refuses_brace() && inner_text.starts_with('{')));
        // Parentheses of the source are as good as new ones, and laid out as their author liked.
        let (core, text) = match (outer != node.span(), keeps_own || needs_own) {
            (true, true) => (outer, self.copy.text(outer)),
            (_, true) => (node.span(), parenthesize(&inner_text)),
            _ => (node.span(), inner_text),
        };
        let before = self.copy.text(Span::new(padded.start, outer.start));
        let after = self.copy.text(Span::new(outer.end, padded.end));
        used.push(if core == outer { padded } else { node.span() });
        if padded != outer {
            used.push(padded);
        }
        let text = writer.shift(&format!("{before}{text}{after}"), &self.place.indentation);
        let precedence = if keeps_own { Precedence::Atom } else { precedence };
        (text, is_root.then_some(precedence))
    }

    /// Items of a comma-separated list, with what stands between them.
    fn items(&self, site: Node<'r>, nodes: &[NodeId], writer: &Writer<'_>, used: &mut Vec<Span>) -> String {
        let source = self.place.parsed;
        let mut runs: Vec<Vec<Node<'a>>> = Vec::new();
        for id in nodes {
            let node = source.node(*id);
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|last| last.subtree_end() == id.index()) => {
                    run.push(node)
                }
                _ => runs.push(vec![node]),
            }
        }
        let count = runs.len();
        let mut texts = Vec::with_capacity(count);
        for (index, run) in runs.iter().enumerate() {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let (first, last) = (first.span_with_parentheses(), last.span_with_parentheses());
            let padded = self.padded(site, first, last);
            let start = if index == 0 { padded.start } else { first.start };
            let end = if index + 1 == count { padded.end } else { last.end };
            let mut text = String::new();
            let mut cursor = start;
            for node in run {
                let outer = node.span_with_parentheses();
                text.push_str(&self.copy.text(Span::new(cursor, outer.start)));
                text.push_str(&self.item(site, *node, nodes.len()));
                cursor = outer.end;
            }
            text.push_str(&self.copy.text(Span::new(cursor, end)));
            used.push(Span::new(start, end));
            texts.push(text);
        }
        writer.shift(&texts.join(", "), &self.place.indentation)
    }

    fn item(&self, site: Node<'r>, node: Node<'a>, count: usize) -> String {
        let outer = node.span_with_parentheses();
        let text = self.copy.text(outer);
        if outer != node.span() || !node.kind().is_expression() || !site.kind().is_expression() {
            return text;
        }
        let precedence = self.precedence(node);
        let is_only = count == 1 && precedence == Precedence::BareGenerator;
        let fits = is_only || precedence != Precedence::BareGenerator;
        let needs_own = !fits || needs_parentheses(precedence, slot_of(site));
        if needs_own { parenthesize(&text) } else { text }
    }

    fn statements(
        &self,
        site: Node<'r>,
        nodes: &[NodeId],
        writer: &mut Writer<'_>,
        used: &mut Vec<Span>,
    ) -> String {
        let parsed = self.place.parsed;
        let source = parsed.source();
        let (first, last) = (parsed.node(nodes[0]), parsed.node(nodes[nodes.len() - 1]));
        let span = block_span(first, last);
        let span = Span::new(span.start.max(self.place.span.start), span.end.min(self.place.span.end));
        used.push(span);
        let text = self.copy.text(span);
        let is_on_own_line = writer.is_at_line_start();
        let is_inline = !text.contains(['\n', '\r', '#']) && !is_compound(first);
        if !is_on_own_line && !is_inline && site.parent().is_some_and(|parent| parent.kind() != Kind::Module)
        {
            writer.break_line();
        }
        let from = block_indentation(first);
        let to = writer.indentation();
        let starts_line = source.line_start(span.start) == span.start;
        let text = if starts_line { text } else { format!("{from}{text}") };
        let text = if from == to { text } else { reindent(&text, &from, to) };
        text.strip_prefix(to).unwrap_or(&text).to_owned()
    }

    /// The span of captured items, with the white space, comments and trailing comma up to their brackets if the template has brackets
    /// in the same place.
    fn padded(&self, site: Node<'r>, first: Span, last: Span) -> Span {
        let source = self.place.parsed;
        let template = &self.form.parsed;
        let (mut start, mut end) = (first.start, last.end);
        let site_span = site.span();
        let is_open = |kind| matches!(kind, TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace);
        let is_close = |kind| matches!(kind, TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace);
        let before = template.token_before(site_span.start);
        let after = template.token_after(site_span.end);
        if before.is_some_and(|token| is_open(token.kind()))
            && let Some(token) = source.token_before(start)
            && is_open(token.kind())
        {
            start = token.range_span().end;
        }
        if after.is_some_and(|token| is_close(token.kind()) && token.range_span().end <= self.form.inner.end)
            && let Some(token) = source.token_after(end)
        {
            let takes_comma = site.parent().is_some_and(|parent| {
                matches!(parent.kind(), Kind::Call | Kind::ClassDef | Kind::List | Kind::Set | Kind::Dict)
                    || matches!(parent.kind(), Kind::Parameters | Kind::Keyword | Kind::DictItem)
                    || parent.is_parenthesized_tuple()
            });
            if is_close(token.kind()) {
                end = token.range_span().start;
            } else if takes_comma
                && token.kind() == TokenKind::Comma
                && let Some(close) = source.token_after(token.range_span().end)
                && is_close(close.kind())
            {
                end = close.range_span().start;
            }
        }
        // Blanks alone are settled later, where both neighbours are known.
        let pad = |span: Span| span.of(source.text()).contains(['\n', '\r', '#', ',']);
        if !pad(Span::new(start, first.start)) {
            start = first.start;
        }
        if !pad(Span::new(last.end, end)) {
            end = last.end;
        }
        Span::new(start, end)
    }

    fn precedence(&self, node: Node<'_>) -> Precedence {
        self.copy.precedence(node.span()).unwrap_or_else(|| precedence_of(node))
    }

    fn own_precedence(&self) -> Precedence {
        match self.form.root_expression() {
            Some(root) => {
                let outer = root.span_with_parentheses();
                let is_wrapped = outer != root.span() && self.form.inner.covers(outer);
                if is_wrapped { Precedence::Atom } else { precedence_of(root) }
            }
            None => Precedence::Atom,
        }
    }

    fn is_bracketed(&self, site: Node<'_>) -> bool {
        self.place.is_bracketed || self.form.is_bracketed(site.span().start)
    }
}

pub(super) fn parenthesize(text: &str) -> String {
    // A comment at the end would swallow the parenthesis.
    let last_line = text.rsplit(['\n', '\r']).next().unwrap_or(text);
    if last_line.contains('#') && has_bare_line_break(&format!("{text}\nx")) {
        return format!("({text}\n)");
    }
    format!("({text})")
}

/// Statements with the comments that belong to them: from the lines above the first to the end of the last one's line, and, if they are
/// all that their block holds, to its end.
fn block_span(first: Node<'_>, last: Node<'_>) -> Span {
    let parsed = first.parsed();
    let source = parsed.source();
    let text = parsed.text();
    let mut start = first.span().start;
    let line_start = source.line_start(start);
    if text[line_start as usize..start as usize].trim().is_empty() {
        start = line_start;
        let mut cursor = line_start;
        while cursor > 0 {
            let above = source.line_start(cursor - 1);
            let line = Span::new(above, cursor);
            let mut tokens = parsed.tokens_in(line).iter().map(|token| token.kind());
            let is_comment = tokens.next() == Some(TokenKind::Comment);
            if !is_comment && !line.of(text).trim().is_empty() {
                break;
            }
            cursor = above;
            // Blank lines between the header and the first statement belong to the block.
            if is_comment || is_block_start(first, above) {
                start = above;
            }
        }
    }
    let end = source.line_end(last.span().end);
    let rest = Span::new(last.span().end, end).of(text).trim_start();
    let end = if rest.is_empty() || rest.starts_with('#') { end } else { last.span().end };
    Span::new(start, end)
}

/// Whether only blank lines and comments stand between the header of a statement's block and a line.
fn is_block_start(statement: Node<'_>, line_start: u32) -> bool {
    let parsed = statement.parsed();
    let is_first = statement.parent().is_some_and(|parent| {
        parent.kind() != Kind::Module && parent.list(statement.field()).next() == Some(statement)
    });
    let previous = parsed.token_before(line_start).map(|token| token.range_span());
    is_first && previous.is_some_and(|header| header.end <= line_start)
}

pub(super) fn is_compound(statement: Node<'_>) -> bool {
    matches!(
        statement.kind(),
        Kind::FunctionDef
            | Kind::ClassDef
            | Kind::For
            | Kind::While
            | Kind::If
            | Kind::With
            | Kind::Match
            | Kind::Try
    )
}
