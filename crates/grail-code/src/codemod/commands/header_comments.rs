//! Directives such as `# pyre-strict` in a file's header: added, removed, or put where they belong.
//!
//! The header is what stands above the first statement: shebang, encoding, licence. A comment that touches the first statement is
//! about that statement, unless the statement is a docstring or an import.

use super::{Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::{Edit, Field, Kind, Span};

const COMMENT: Argument =
    Argument { name: "comment", help: "The comment, with or without its `#`", default: None };

pub(super) const ADD: Command = Command {
    name: "add-header-comment",
    summary: "Add a directive such as `# pyre-strict` to the file's header",
    libcst: Some("AddPyreStrictCommand, AddPyreUnsafeCommand"),
    arguments: &[COMMENT],
    run: add,
};

pub(super) const REMOVE: Command = Command {
    name: "remove-header-comment",
    summary: "Remove a directive such as `# pyre-strict` wherever it has a line of its own",
    libcst: Some("RemovePyreStrictCommand, RemovePyreUnsafeCommand"),
    arguments: &[COMMENT],
    run: remove,
};

pub(super) const FIX: Command = Command {
    name: "fix-header-comments",
    summary: "Move directives to the header, once each and spelled right",
    libcst: Some("FixPyreDirectivesCommand"),
    arguments: &[Argument {
        name: "comments",
        help: "The directives, separated by commas",
        default: Some("pyre-strict,pyre-unsafe"),
    }],
    run: fix,
};

fn add(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let comment = Directive::new("comment", arguments.get("comment"))?;
    let mut outcome = CommandOutcome::default();
    if !own_lines(context).iter().any(|line| line.text(context) == comment.text) {
        outcome.edits.push(insertion(context, &comment.text));
    }
    Ok(outcome)
}

fn remove(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let comment = Directive::new("comment", arguments.get("comment"))?;
    let lines = own_lines(context).into_iter().filter(|line| line.text(context) == comment.text);
    let edits = lines.map(|line| Edit::remove(line.whole(context))).collect();
    Ok(CommandOutcome { edits, ..CommandOutcome::default() })
}

fn fix(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let mut outcome = CommandOutcome::default();
    let header_end = header_end(context);
    let lines = own_lines(context);
    let mut missing = Vec::new();
    for name in arguments.get("comments").split(',').filter(|name| !name.trim().is_empty()) {
        let directive = Directive::new("comments", name)?;
        let found = lines.iter().filter(|line| directive.is_meant_by(&line.text(context)));
        let mut has_place = false;
        let mut is_misplaced = false;
        for line in found {
            if line.comment.start < header_end && !has_place {
                has_place = true;
                if line.comment.of(context.parsed.text()) != directive.text {
                    outcome.edits.push(Edit::replace(line.comment, directive.text.clone()));
                }
            } else {
                is_misplaced = true;
                outcome.edits.push(Edit::remove(line.whole(context)));
            }
        }
        if is_misplaced && !has_place {
            missing.push(directive.text);
        }
    }
    if !missing.is_empty() {
        outcome.edits.push(insertion(context, &missing.join(context.parsed.source().newline())));
    }
    Ok(outcome)
}

struct Directive {
    /// As it is written: `# pyre-strict`.
    text: String,
}

impl Directive {
    fn new(argument: &'static str, given: &str) -> Result<Self, CommandError> {
        let content = given.trim().trim_start_matches('#').trim();
        if content.is_empty() || content.contains(['\n', '\r']) {
            return Err(CommandError::InvalidArgument {
                argument,
                value: given.to_owned(),
                expected: "the text of one comment",
            });
        }
        Ok(Self { text: format!("# {content}") })
    }

    /// Whether a comment says the same, apart from case and punctuation: `#pyre strict`.
    fn is_meant_by(&self, comment: &str) -> bool {
        let letters = |text: &str| -> String {
            text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        letters(comment) == letters(&self.text)
    }
}

/// A comment that has a line of its own.
struct CommentLine {
    comment: Span,
}

impl CommentLine {
    /// The comment with one blank behind its `#`.
    fn text(&self, context: &CommandContext<'_>) -> String {
        let comment = self.comment.of(context.parsed.text());
        format!("# {}", comment.trim_start_matches('#').trim())
    }

    /// The line with its line break.
    fn whole(&self, context: &CommandContext<'_>) -> Span {
        let source = context.parsed.source();
        Span::new(source.line_start(self.comment.start), source.next_line_start(self.comment.start))
    }
}

fn own_lines(context: &CommandContext<'_>) -> Vec<CommentLine> {
    let source = context.parsed.source();
    let is_alone = |comment: &Span| {
        let before = Span::new(source.line_start(comment.start), comment.start);
        before.of(source.text()).trim_matches([' ', '\t', '\u{c}']).is_empty()
    };
    context.parsed.comments().filter(is_alone).map(|comment| CommentLine { comment }).collect()
}

/// Where the first statement begins, or the text ends.
fn header_end(context: &CommandContext<'_>) -> u32 {
    let first = context.parsed.root().children().next();
    first.map_or(context.parsed.text().len() as u32, |statement| statement.span().start)
}

/// Puts lines below the header's last comment.
fn insertion(context: &CommandContext<'_>, lines: &str) -> Edit {
    let source = context.parsed.source();
    let newline = source.newline();
    let header_end = header_end(context);
    let comments: Vec<Span> = own_lines(context)
        .iter()
        .map(|line| line.comment)
        .take_while(|comment| comment.start < header_end)
        .collect();

    let line_of = |comment: &Span| source.line_of(comment.start);
    let statement_line = source.line_of(header_end);
    let has_statement = context.parsed.root().children().next().is_some();
    // The comments that touch the first statement belong to it.
    let mut kept = comments.len();
    if has_statement && !starts_with_docstring_or_import(context) {
        let mut next = statement_line;
        while kept > 0
            && line_of(&comments[kept - 1]) + 1 == next
            && !is_preamble(comments[kept - 1], source.text())
        {
            kept -= 1;
            next = line_of(&comments[kept]);
        }
    }
    match comments[..kept].last() {
        Some(last) => {
            let at = source.next_line_start(last.start);
            let is_open = at == source.text().len() as u32 && !source.text().ends_with(['\n', '\r']);
            let separates = kept < comments.len() && line_of(&comments[kept]) == line_of(last) + 1;
            let blank = if separates { newline } else { "" };
            match is_open {
                true => Edit::insert(at, format!("{newline}{lines}")),
                false => Edit::insert(at, format!("{lines}{newline}{blank}")),
            }
        }
        None => {
            let follows_comment = comments.first().is_some_and(|first| line_of(first) == 0);
            let blank = if follows_comment { newline } else { "" };
            Edit::insert(0, format!("{lines}{newline}{blank}"))
        }
    }
}

fn starts_with_docstring_or_import(context: &CommandContext<'_>) -> bool {
    let Some(first) = context.parsed.root().children().next() else { return false };
    match first.kind() {
        Kind::Import | Kind::ImportFrom => true,
        Kind::Expr => first
            .child(Field::Value)
            .is_some_and(|value| matches!(value.kind(), Kind::String | Kind::ConcatenatedString)),
        _ => false,
    }
}

/// Whether a comment can only belong to the file: shebang, encoding, licence.
fn is_preamble(comment: Span, text: &str) -> bool {
    let lower = comment.of(text).to_lowercase();
    (comment.start == 0 && lower.starts_with("#!"))
        || ["coding:", "coding=", "copyright", "licence", "license", "spdx"]
            .iter()
            .any(|word| lower.contains(word))
}
