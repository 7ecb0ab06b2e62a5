//! What can be said of a pattern before it is run: the kinds it may start with, and the words a file must contain.

use super::matcher::{
    KindSet, Matcher, MatcherId, NameTest, Program, Quantity, Root, Sequence, Test, TextTest,
};
use super::vocabulary::keyword_of;
use crate::Kind;

/// Kinds that may match. Everything else fails without being run.
pub(super) fn kinds(program: &Program, id: MatcherId) -> KindSet {
    KindsOf { program, depth: 0 }.of(id)
}

/// Kinds a match may start with.
pub(super) fn root_kinds(program: &Program) -> KindSet {
    match &program.root {
        Root::Node(id) => kinds(program, *id),
        Root::Statements(sequence) => {
            let mut set = KindSet::EMPTY;
            for item in &sequence.items {
                set = set.union(kinds(program, item.matcher));
                if !matches!(item.quantity, Quantity::Many { min: 0, .. }) {
                    break;
                }
            }
            set
        }
    }
}

/// Words without which a file cannot contain a match. Longest first: the rarest are asked first.
pub(super) fn required_words(program: &Program) -> Vec<String> {
    let mut words = Vec::new();
    let mut pending = match &program.root {
        Root::Node(id) => vec![*id],
        Root::Statements(sequence) => certain(sequence).collect(),
    };
    while let Some(id) = pending.pop() {
        match program.matcher(id) {
            Matcher::Capture(_, inner) => pending.push(*inner),
            Matcher::AllOf(all) => {
                let is_name = all.iter().any(|id| {
                    matches!(program.matcher(*id), Matcher::Kinds(kinds) if kinds.without(NAMES) == KindSet::EMPTY)
                });
                for id in all {
                    match program.matcher(*id) {
                        Matcher::Value(TextTest::Exact(text)) if is_name => push_words(&mut words, text),
                        _ => pending.push(*id),
                    }
                }
            }
            Matcher::Text(TextTest::Exact(text)) => push_words(&mut words, text),
            Matcher::Shorthand(text) => words.extend(shorthand_word(text)),
            Matcher::QualifiedName(NameTest::OneOf(names)) => {
                if let [name] = names.as_slice() {
                    words.extend(shorthand_word(name));
                }
            }
            Matcher::Relation(relation) => pending.push(relation.inner),
            // An origin is in the same file.
            Matcher::ComesFrom(origin) => pending.push(origin.inner),
            Matcher::Node(test) => {
                let mut kinds = test.kinds.iter();
                if let (Some(kind), None) = (kinds.next(), kinds.next()) {
                    words.extend(keyword_of(kind).map(str::to_owned));
                }
                for field in &test.fields {
                    match &field.test {
                        Test::Absent | Test::Optional(_) => {}
                        Test::One(inner) => pending.push(*inner),
                        Test::Sequence(sequence) => pending.extend(certain(sequence)),
                        Test::Arguments { keywords, rest } => {
                            for (name, matcher) in keywords {
                                push_words(&mut words, name);
                                pending.push(*matcher);
                            }
                            pending.extend(certain(rest));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    words.sort_by_key(|word| (usize::MAX - word.len(), word.clone()));
    words.dedup();
    words
}

const NAMES: KindSet = KindSet::of(&[Kind::Name, Kind::Identifier]);

/// Items that match at least once.
fn certain(sequence: &Sequence) -> impl Iterator<Item = MatcherId> {
    sequence
        .items
        .iter()
        .filter(|item| !matches!(item.quantity, Quantity::Many { min: 0, .. }))
        .map(|item| item.matcher)
}

/// A file may spell a name that is not ASCII in several ways, so only ASCII words count.
fn push_words(words: &mut Vec<String>, text: &str) {
    if text.is_ascii() {
        words.extend(text.split('.').filter(|word| is_word(word)).map(str::to_owned));
    }
}

/// Of a dotted name the last part must be there, however it was imported.
fn shorthand_word(text: &str) -> Option<String> {
    let last = text.rsplit('.').next().unwrap_or(text);
    (is_word(last) && text.split('.').all(is_word)).then(|| last.to_owned())
}

fn is_word(text: &str) -> bool {
    text.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

struct KindsOf<'p> {
    program: &'p Program,
    depth: u32,
}

impl KindsOf<'_> {
    /// Too wide is never wrong, so depth is cut off.
    fn of(&mut self, id: MatcherId) -> KindSet {
        if self.depth > 100 {
            return KindSet::ALL;
        }
        self.depth += 1;
        let set = match self.program.matcher(id) {
            Matcher::Kinds(kinds) => *kinds,
            Matcher::Node(test) => test.kinds,
            Matcher::Capture(_, inner) => self.of(*inner),
            Matcher::AllOf(all) => all.iter().fold(KindSet::ALL, |set, id| set.intersection(self.of(*id))),
            Matcher::OneOf(all) => all.iter().fold(KindSet::EMPTY, |set, id| set.union(self.of(*id))),
            Matcher::QualifiedName(_) => super::run::NAMED,
            Matcher::Raw => KindSet::of(&[
                Kind::String,
                Kind::Bytes,
                Kind::FString,
                Kind::TString,
                Kind::ConcatenatedString,
            ]),
            _ => KindSet::ALL,
        };
        self.depth -= 1;
        set
    }
}
