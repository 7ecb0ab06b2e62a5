//! From matches to edits: every match of a pattern is replaced once, and matches inside other matches with them.
//!
//! Matches are worked off from the last to the first, so that what lies inside a match is done before it and copied along with the
//! captures. Matches that cross another one, or lie in code that the replacement drops, are left out and reported.

use std::collections::BTreeMap;

use ruff_python_ast::token::TokenKind;
use rustc_hash::FxHashMap;

use super::gaps;
use super::precedence::{Precedence, needs_parentheses, slot_of};
use super::render::{Copy, Place, Rendered, is_compound, parenthesize, render};
use super::template::{Form, Template, has_bare_line_break, open_brackets};
use super::unsaid::Mentioned;
use crate::layout::{
    CommaList, LeadingComments, block_indentation, remove_decorator, remove_list_items, remove_statements,
};
use crate::query::{Match, Pattern, find_all};
use crate::tree::{TokenSpan, string_literal};
use crate::{
    Diagnostic, Edit, Field, Kind, Node, NodeId, Parsed, Semantic, Source, Span, edit, parse_module,
};

/// What replacing a pattern in one file comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacements {
    pub edits: Vec<Edit>,
    /// Where the matches start that were replaced, in source order.
    pub applied: Vec<u32>,
    /// What was left alone although it matched, and why.
    pub notes: Vec<String>,
}

/// Replaces every match of `pattern`.
pub fn replace_all<'a>(
    parsed: &'a Parsed,
    semantic: Option<&Semantic<'a>>,
    pattern: &Pattern,
    template: &Template,
) -> Replacements {
    replace_matches(parsed, find_all(parsed, semantic, pattern), template)
}

/// Replaces these matches of the template's pattern, which are in source order.
pub(crate) fn replace_matches(parsed: &Parsed, matches: Vec<Match>, template: &Template) -> Replacements {
    if matches.is_empty() {
        return Replacements::default();
    }
    if template.is_empty() {
        return remove_all(parsed, &matches);
    }
    let mut rewriter = Rewriter::new(parsed, template, matches);
    for index in (0..rewriter.matches.len()).rev() {
        rewriter.rewrite(index);
    }
    rewriter.finish()
}

/// What became of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Replaced,
    Left(String),
}

/// An edit that an outer match may still take in.
struct Pending {
    span: Span,
    text: String,
    precedence: Option<Precedence>,
    owner: usize,
    /// Comments to put on lines of their own before the statement that starts here.
    comments: Vec<String>,
}

/// Place, insertions first, and order of making.
type Key = (u32, bool, usize);

struct Rewriter<'r, 'a> {
    parsed: &'a Parsed,
    template: &'r Template,
    matches: Vec<Match>,
    fates: Vec<Fate>,
    pending: BTreeMap<Key, Pending>,
    comments: Vec<Span>,
    /// What a reader should know of replacements that were made.
    remarks: Vec<String>,
}

/// What exactly is replaced, and by which reading of the template.
struct Target<'r, 'a> {
    first: Node<'a>,
    last: Node<'a>,
    form: &'r Form,
}

struct Copier<'c, 'a> {
    parsed: &'a Parsed,
    pending: &'c BTreeMap<Key, Pending>,
}

impl<'r, 'a> Rewriter<'r, 'a> {
    fn new(parsed: &'a Parsed, template: &'r Template, matches: Vec<Match>) -> Self {
        let fates = sort_out(&matches);
        let comments = parsed.comments().collect();
        Self { parsed, template, matches, fates, pending: BTreeMap::new(), comments, remarks: Vec::new() }
    }

    fn rewrite(&mut self, index: usize) {
        let found = self.matches[index].clone();
        if self.fates[index] != Fate::Replaced {
            return;
        }
        let target = match self.target(&found) {
            Ok(target) => target,
            Err(reason) => {
                self.fates[index] = Fate::Left(reason);
                return;
            }
        };
        let place = self.place(&target);
        let copier = Copier { parsed: self.parsed, pending: &self.pending };
        let unmentioned = Mentioned::default();
        let mentioned = self.template.mentioned.as_ref().unwrap_or(&unmentioned);
        let carried = match target.first == target.last && target.first.kind().is_statement() {
            true => mentioned.carry(target.first, target.form),
            false => Vec::new(),
        };
        let mut rendered = render(target.form, &found.captures, &place, &carried, &copier);
        if self.template.mentioned.is_some()
            && let Some(lost) = mentioned.lost(target.first, target.last, &found.captures, &rendered.used)
        {
            let text = lost.text().lines().next().unwrap_or_default();
            self.fates[index] =
                Fate::Left(format!("the pattern says nothing about `{text}`, which would be lost"));
            return;
        }
        let mut span = place.span;
        let is_used = |inner: Span| rendered.used.iter().any(|used| used.covers(inner));
        // The comment behind a block's last line belongs to what was captured, or stays behind everything.
        let tail = Span::new(target.last.span().end, span.end);
        if !tail.is_empty() && !is_used(tail) && !rendered.used.iter().any(|used| used.end == tail.end) {
            span.end = tail.start;
        }
        let mut comments = self.take_inner(span, &rendered);
        let is_statement = target.first.kind().is_statement();
        let is_expression = target.first.kind().is_expression();
        let kept = match is_statement || is_expression {
            true => gaps::keep(self.parsed, span, &rendered.text, is_expression, place.is_bracketed),
            false => gaps::Kept { text: rendered.text.clone(), gaps: Vec::new() },
        };
        rendered.text = kept.text;
        rendered.used.extend(kept.gaps);
        comments.extend(self.lost_comments(span, &rendered));
        let (edit, precedence) = if is_statement {
            (self.statement_edit(&target, span, rendered.text), None)
        } else {
            let (text, precedence) = self.fit(&target, &place, &rendered);
            if needs_new_strings(target.first, &text) {
                let line = self.parsed.source().position(span.start).line;
                let remark =
                    "the replacement reuses the f-string's quotes or has a backslash: this needs Python 3.12";
                self.remarks.push(format!("line {line}: {remark}"));
            }
            (Edit::replace(span, text), Some(precedence))
        };
        if !comments.is_empty() {
            let anchor = anchor_statement(target.first).map_or(edit.span.start, |anchor| anchor.span().start);
            let hoisted = Pending {
                span: Span::at(anchor),
                text: String::new(),
                precedence: None,
                owner: index,
                comments,
            };
            self.pending.insert((anchor, false, usize::MAX - index), hoisted);
        }
        let key = (edit.span.start, true, usize::MAX - index);
        let pending =
            Pending { span: edit.span, text: edit.text, precedence, owner: index, comments: Vec::new() };
        self.pending.insert(key, pending);
    }

    fn target(&self, found: &Match) -> Result<Target<'r, 'a>, String> {
        // What the parser could not make sense of is in no node, and would be lost.
        let is_broken = |problem: &Diagnostic| {
            found.span.start <= problem.span.start && problem.span.start <= found.span.end
        };
        if self.parsed.diagnostics().iter().any(is_broken) {
            return Err("it does not parse".to_owned());
        }
        let (first, last) = (self.parsed.node(found.node), self.parsed.node(found.last));
        let missing = |what: &str| format!("the replacement is {what}");
        if first.kind().is_statement() {
            let form = self.template.statements.as_ref().ok_or_else(|| missing("no statement"))?;
            return Ok(Target { first, last, form });
        }
        if !first.kind().is_expression() {
            let form = self.template.clause(first.kind());
            let form = form.ok_or_else(|| missing(&format!("no {}", first.kind().name())))?;
            return Ok(Target { first, last, form });
        }
        if let Some(form) = &self.template.expression {
            return Ok(Target { first, last, form });
        }
        let form = self.template.statements.as_ref().ok_or_else(|| missing("no expression"))?;
        match first.parent() {
            Some(statement) if statement.kind() == Kind::Expr => {
                Ok(Target { first: statement, last: statement, form })
            }
            _ => Err("the replacement is a statement, and this is only a part of one".to_owned()),
        }
    }

    fn place(&self, target: &Target<'_, 'a>) -> Place<'a> {
        let parsed = self.parsed;
        let source = parsed.source();
        let mut span = Span::new(target.first.span().start, target.last.span().end);
        if target.first.kind().is_statement() {
            let line_end = source.line_end(span.end);
            let rest = Span::new(span.end, line_end).of(parsed.text());
            if is_compound(target.last) && rest.trim_start().starts_with('#') {
                span.end = line_end;
            }
            let indentation = block_indentation(target.first);
            return Place { parsed, span, indentation, is_bracketed: false };
        }
        let may_break =
            span.of(parsed.text()).contains(['\n', '\r']) || target.form.parsed.text().contains('\n');
        let statement = target.first.statement().map_or(0, |statement| statement.span().start);
        let is_bracketed = !may_break
            || !target.first.kind().is_expression()
            || target.first.span_with_parentheses() != target.first.span()
            || open_brackets(parsed, Span::new(statement, span.start)) > 0;
        Place { parsed, span, indentation: source.indentation(span.start).to_owned(), is_bracketed }
    }

    /// Takes what lies inside a match out of the pending edits: it was copied, or it is lost. Gives the comments that were waiting for a
    /// line of their own.
    fn take_inner(&mut self, span: Span, rendered: &Rendered) -> Vec<String> {
        let inside = self.pending.range((span.start, false, 0)..(span.end, false, 0));
        let keys: Vec<Key> =
            inside.filter(|(_, pending)| span.covers(pending.span)).map(|(key, _)| *key).collect();
        let mut comments = Vec::new();
        for key in keys {
            let Some(pending) = self.pending.remove(&key) else { continue };
            if rendered.used.iter().any(|used| used.covers(pending.span)) {
                continue;
            }
            if pending.comments.is_empty() {
                let reason = "it lies in code that another match replaced".to_owned();
                self.fates[pending.owner] = Fate::Left(reason);
            } else {
                comments.extend(pending.comments);
            }
        }
        comments
    }

    /// Comments in the match that no capture took along.
    fn lost_comments(&self, span: Span, rendered: &Rendered) -> Vec<String> {
        let first = self.comments.partition_point(|comment| comment.start < span.start);
        let within = self.comments[first..].iter().take_while(|comment| comment.end <= span.end);
        let lost = within.filter(|comment| !rendered.used.iter().any(|used| used.covers(**comment)));
        lost.map(|comment| comment.of(self.parsed.text()).trim_end().to_owned()).collect()
    }

    /// An expression or clause in its surroundings: with parentheses where needed, and apart from the words beside it.
    fn fit(&self, target: &Target<'_, 'a>, place: &Place<'a>, rendered: &Rendered) -> (String, Precedence) {
        let node = target.first;
        let text = self.parsed.text();
        let mut fitted = rendered.text.clone();
        let mut precedence = rendered.precedence;
        if node.kind().is_expression() {
            let slot = slot_of(node);
            let is_broken = !place.is_bracketed && has_bare_line_break(&fitted);
            if is_broken
                || needs_parentheses(rendered.precedence, slot)
                || (slot.refuses_brace() && fitted.starts_with('{'))
            {
                fitted = parenthesize(&fitted);
                precedence = Precedence::Atom;
            }
        }
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let before = text[..node.span().start as usize].chars().next_back();
        let touches = |character: char| is_word(character) || matches!(character, '"' | '\'');
        if before.is_some_and(is_word) && fitted.starts_with(touches) {
            fitted.insert(0, ' ');
        }
        let after = text[node.span().end as usize..].chars().next();
        if after.is_some_and(is_word) && fitted.ends_with(is_word) {
            fitted.push(' ');
        }
        (fitted, precedence)
    }

    /// Statements in place of statements. What shares a line with them moves to a line of its own if it has to.
    fn statement_edit(&self, target: &Target<'_, 'a>, span: Span, text: String) -> Edit {
        let parsed = self.parsed;
        let source = parsed.source();
        let (first, last) = (target.first, target.last);
        let line_before =
            Span::new(source.line_start(first.span().start), first.span().start).of(parsed.text());
        let shares_before = !line_before.trim().is_empty();
        let semicolon = parsed.token_after(last.span().end).filter(|token| token.kind() == TokenKind::Semi);
        let next = semicolon.and_then(|semicolon| {
            let next = parsed.token_after(semicolon.range_span().end)?;
            (!matches!(next.kind(), TokenKind::Newline | TokenKind::EndOfFile))
                .then(|| next.range_span().start)
        });
        let needs_lines = text.contains(['\n', '\r'])
            || parse_module(Source::from_text(text.as_str())).root().children().any(is_compound);
        if !needs_lines || (!shares_before && next.is_none()) {
            return Edit::replace(span, text);
        }
        let line_break = format!("{}{}", source.newline(), block_indentation(first));
        let (mut span, mut text) = (span, text);
        if shares_before && let Some(before) = parsed.token_before(first.span().start) {
            let end = match before.kind() {
                TokenKind::Semi => parsed
                    .token_before(before.range_span().start)
                    .map_or(span.start, |token| token.range_span().end),
                _ => before.range_span().end,
            };
            span.start = end;
            text.insert_str(0, &line_break);
        }
        if let Some(next) = next {
            span.end = next;
            text.push_str(&line_break);
        }
        Edit::replace(span, text)
    }

    fn finish(mut self) -> Replacements {
        let mut edits = Vec::new();
        let mut end = 0;
        let mut lost = Vec::new();
        for pending in self.pending.values() {
            if pending.span.start < end {
                lost.push(pending.owner);
                continue;
            }
            end = pending.span.end;
        }
        for pending in self.pending.into_values().filter(|pending| !lost.contains(&pending.owner)) {
            let text = match pending.comments.is_empty() {
                true => pending.text,
                false => hoist(self.parsed, pending.span.start, &pending.comments),
            };
            edits.push(Edit::replace(pending.span, text));
        }
        for owner in lost {
            self.fates[owner] = Fate::Left("it shares its line with another match".to_owned());
        }
        let mut result = Replacements { edits, ..Replacements::default() };
        for (found, fate) in self.matches.iter().zip(&self.fates) {
            match fate {
                Fate::Replaced => result.applied.push(found.span.start),
                Fate::Left(reason) => result.notes.push(note(self.parsed, found.span.start, reason)),
            }
        }
        result.notes.extend(self.remarks.into_iter().rev());
        result
    }
}

/// Whether an interpolation would hold its own string's quotes or a backslash, and did not before.
fn needs_new_strings(node: Node<'_>, text: &str) -> bool {
    let mut literals = node.ancestors().filter_map(string_literal);
    let Some(literal) = literals.next() else { return false };
    [literal.quote, "\\"].iter().any(|mark| text.contains(mark) && !node.text().contains(mark))
}

/// Leaves out matches that begin within an earlier one and end behind it, as runs of statements may.
fn sort_out(matches: &[Match]) -> Vec<Fate> {
    let mut open: Vec<Span> = Vec::new();
    let mut fates = Vec::with_capacity(matches.len());
    for found in matches {
        while open.last().is_some_and(|outer| outer.end <= found.span.start) {
            open.pop();
        }
        if open.last().is_some_and(|outer| !outer.covers(found.span)) {
            fates.push(Fate::Left("it overlaps another match".to_owned()));
        } else {
            open.push(found.span);
            fates.push(Fate::Replaced);
        }
    }
    fates
}

impl Copy for Copier<'_, '_> {
    fn text(&self, span: Span) -> String {
        let text = span.of(self.parsed.text());
        let inside = self.pending.range((span.start, false, 0)..(span.end, false, 0));
        let mut end = span.start;
        let mut edits = Vec::new();
        for pending in inside.map(|(_, pending)| pending).filter(|pending| span.covers(pending.span)) {
            if pending.span.start < end {
                continue;
            }
            end = pending.span.end;
            let local = Span::new(pending.span.start - span.start, pending.span.end - span.start);
            let text = match pending.comments.is_empty() {
                true => pending.text.clone(),
                false => hoist(self.parsed, pending.span.start, &pending.comments),
            };
            edits.push(Edit::replace(local, text));
        }
        if edits.is_empty() {
            return text.to_owned();
        }
        // Overlaps were left out above.
        edit::apply(text, edits).unwrap_or_else(|_| text.to_owned())
    }

    fn precedence(&self, span: Span) -> Option<Precedence> {
        let mut at = self.pending.range((span.start, true, 0)..=(span.start, true, usize::MAX));
        at.find(|(_, pending)| pending.span == span).and_then(|(_, pending)| pending.precedence)
    }
}

/// Removes every match, with its comma or its lines; of matches inside each other the outermost.
fn remove_all(parsed: &Parsed, matches: &[Match]) -> Replacements {
    let mut result = Replacements::default();
    let mut statements = Vec::new();
    let mut items: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    let mut end = 0;
    for found in matches {
        if found.span.start < end {
            continue;
        }
        let (first, last) = (parsed.node(found.node), parsed.node(found.last));
        let parent = first.parent();
        match parent {
            Some(parent) if first.kind().is_statement() => {
                let siblings = parent.list(first.field());
                statements.extend(siblings.filter(|node| first.id() <= node.id() && node.id() <= last.id()));
            }
            Some(parent) if parent.kind() == Kind::Expr => statements.push(parent),
            Some(parent) if CommaList::of(parent).is_some() && first.field() != Field::Func => {
                items.entry(parent.id()).or_default().push(first.id());
            }
            _ if first.kind() == Kind::Decorator => {
                result.edits.extend(remove_decorator(first));
            }
            _ => {
                let reason = "only statements, decorators and items of a list can be removed";
                result.notes.push(note(parsed, found.span.start, reason));
                continue;
            }
        }
        end = found.span.end;
        result.applied.push(found.span.start);
    }
    for (parent, removed) in items {
        let Some(list) = CommaList::of(parsed.node(parent)) else { continue };
        let spans: Vec<Span> = removed.iter().map(|id| parsed.node(*id).span_with_parentheses()).collect();
        let indexes: Vec<usize> =
            (0..list.items.len()).filter(|index| spans.contains(&list.items[*index])).collect();
        result.edits.extend(remove_list_items(parsed, &list, &indexes));
    }
    result.edits.extend(remove_statements(&statements, LeadingComments::Keep));
    result
}

/// Comments on lines of their own, before the statement at `offset`.
fn hoist(parsed: &Parsed, offset: u32, comments: &[String]) -> String {
    let source = parsed.source();
    let line_break = format!("{}{}", source.newline(), source.indentation(offset));
    comments.iter().map(|comment| format!("{comment}{line_break}")).collect()
}

/// The statement on whose line this node's statement starts, so that a line can be put before it.
fn anchor_statement(node: Node<'_>) -> Option<Node<'_>> {
    let parsed = node.parsed();
    let mut statement = node.statement()?;
    loop {
        let start = statement.span().start;
        let line_start = parsed.source().line_start(start);
        if Span::new(line_start, start).of(parsed.text()).trim().is_empty() {
            return Some(statement);
        }
        let parent = statement.parent()?;
        let earlier = parent.list(statement.field()).take_while(|sibling| *sibling != statement).last();
        statement = match earlier {
            Some(earlier) => earlier,
            None => parent.statement()?,
        };
    }
}

fn note(parsed: &Parsed, offset: u32, reason: &str) -> String {
    format!("line {}: left as it is: {reason}", parsed.source().position(offset).line)
}
