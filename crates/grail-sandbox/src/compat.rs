//! The static check: constructs the engine cannot run, and those it runs differently from CPython.
//!
//! The tables are data with a finder each. Every row carries an example, and the tests run the examples on the real engine: a row that
//! the engine has outgrown fails them. A rejection is for code that cannot work; what merely may fail is left to the run.

mod builtins;
mod calls;
mod classes;
mod differences;
mod expressions;
mod methods;
mod modules;
mod reference;
mod site;
mod statements;

use grail_code::{Kind, Parsed, Semantic};

pub use reference::subset_reference;
use site::{Found, Site};

use crate::outcome::{Note, Rejection};
use crate::program::reject;

/// Code with more findings than these needs another author, not a longer list.
const MAX_NOTES: usize = 50;

/// A construct the engine cannot run.
struct Construct {
    /// Stable: the `construct` of a rejection, and a heading of the reference.
    name: &'static str,
    title: &'static str,
    /// `{}` stands for what was found.
    message: &'static str,
    /// What to write instead.
    rewrite: &'static str,
    /// Fails on the engine.
    example: &'static str,
    /// Runs on the engine, and says the same.
    rewritten: &'static str,
    failure: Failure,
    kinds: &'static [Kind],
    find: for<'a> fn(Site<'a>) -> Option<Found<'a>>,
}

/// When the engine fails on a construct.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// Before anything runs, or in a way that no `except` catches.
    Always,
    /// With this exception when the line is reached. Code that names it in an `except` around the place is let through.
    Raises(&'static str),
}

/// A construct that runs on the engine and on CPython, with different results.
struct Difference {
    name: &'static str,
    title: &'static str,
    message: &'static str,
    example: &'static str,
    engine: &'static str,
    /// The result on CPython 3.13.
    cpython: &'static str,
    kinds: &'static [Kind],
    find: for<'a> fn(Site<'a>) -> Option<Found<'a>>,
}

/// What the engine refuses, and what it does differently, in source order. `defines` tells the names that the host provides.
pub(crate) fn check(parsed: &Parsed, defines: &dyn Fn(&str) -> bool) -> (Vec<Rejection>, Vec<Note>) {
    let semantic = Semantic::new(parsed);
    let (mut rejections, mut notes) = (Vec::new(), Vec::new());
    for node in parsed.nodes() {
        let site = Site { node, semantic: &semantic, defines };
        for row in constructs().filter(|row| row.kinds.contains(&node.kind())) {
            let Some(found) = (row.find)(site) else { continue };
            if !matches!(row.failure, Failure::Raises(exception) if site.is_caught(exception)) {
                let message = row.message.replace("{}", &found.subject);
                let hint = found.hint.unwrap_or_else(|| row.rewrite.to_owned());
                rejections.push(reject(found.node, row.name, message, Some(hint)));
            }
        }
        for row in differences::ROWS.iter().filter(|row| row.kinds.contains(&node.kind())) {
            let Some(found) = (row.find)(site) else { continue };
            let position = parsed.source().position(found.node.span().start);
            notes.push(Note {
                construct: row.name.to_owned(),
                message: row.message.replace("{}", &found.subject),
                line: position.line,
                column: position.column,
            });
        }
    }
    notes.sort_by_key(|note| (note.line, note.column));
    notes.truncate(MAX_NOTES);
    (rejections, notes)
}

/// Whether source that ran before seems to bind a name: by `def`, `class`, `import`, `as`, `for`, `=` or an annotation.
pub(crate) fn binds(source: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    source.match_indices(name).any(|(at, _)| {
        let (before, after) = (&source[..at], &source[at + name.len()..]);
        if before.ends_with(is_word) || before.ends_with('.') || after.starts_with(is_word) {
            return false;
        }
        let before = before.trim_end_matches([' ', '\t']);
        let after = after.trim_start_matches([' ', '\t']);
        let is_declared =
            ["def", "class", "import", "as", "for", ","].iter().any(|word| before.ends_with(word));
        is_declared || after.starts_with(':') || (after.starts_with('=') && !after.starts_with("=="))
    })
}

fn constructs() -> impl Iterator<Item = &'static Construct> {
    [
        statements::ROWS,
        classes::ROWS,
        expressions::ROWS,
        calls::ROWS,
        methods::ROWS,
        modules::ROWS,
        builtins::ROWS,
    ]
    .into_iter()
    .flatten()
}

#[cfg(all(test, feature = "worker"))]
mod engine;
#[cfg(all(test, feature = "worker"))]
mod tests;
