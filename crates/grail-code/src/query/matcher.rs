//! The intermediate form that both spellings of a pattern compile to.
//!
//! Matchers live in one flat arena and refer to each other by index, so that a pattern as deep as its source costs no stack when it
//! is dropped or analysed.

use regex::Regex;

use super::predicate::Predicate;
use crate::tree::Attribute;
use crate::{Field, Kind};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) matchers: Vec<Matcher>,
    pub(super) root: Root,
    /// Names of the captures, in order of appearance.
    pub(super) names: Vec<String>,
    /// What `where` demands of a capture, by slot.
    pub(super) constraints: Vec<Option<MatcherId>>,
    /// Whether what `where` demands binds captures, by slot.
    pub(super) constraint_binds: Vec<bool>,
    /// How often each slot is bound: more than once means that the occurrences must be equal.
    pub(super) occurrences: Vec<u32>,
    /// Slots that hold lists; they are empty, not absent, if nothing was there to match.
    pub(super) is_many: Vec<bool>,
}

#[derive(Clone, Debug)]
pub(super) enum Root {
    Node(MatcherId),
    /// Consecutive statements of one body.
    Statements(Sequence),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MatcherId(pub(super) u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot(pub(super) u32);

#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Any,
    Kinds(KindSet),
    Node(NodeTest),
    Capture(Slot, MatcherId),
    AllOf(Vec<MatcherId>),
    OneOf(Vec<MatcherId>),
    Not(MatcherId),
    /// The source text of the node.
    Text(TextTest),
    /// What the node stands for: the name, the string's value, the number's value; else its source text.
    Value(TextTest),
    /// A raw string literal.
    Raw,
    /// A dotted name or a literal, the way the shorthand means it.
    Shorthand(String),
    Predicate(Predicate),
    QualifiedName(NameTest),
    Field(Field),
    Relation(Relation),
    /// The node or something that its value is computed from.
    ComesFrom(Origin),
}

#[derive(Clone, Debug)]
pub(super) struct NodeTest {
    pub(super) kinds: KindSet,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) fields: Vec<FieldTest>,
}

#[derive(Clone, Debug)]
pub(super) struct FieldTest {
    pub(super) field: Field,
    pub(super) test: Test,
}

#[derive(Clone, Debug)]
pub(super) enum Test {
    Absent,
    One(MatcherId),
    /// Absent, or a node that matches.
    Optional(MatcherId),
    Sequence(Sequence),
    /// The keywords match wherever they stand; what is left matches in order.
    Arguments {
        keywords: Vec<(String, MatcherId)>,
        rest: Sequence,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) items: Vec<Item>,
}

/// A run of nodes in a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) matcher: MatcherId,
    pub(super) quantity: Quantity,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Quantity {
    One,
    Many { min: u32, max: u32, slot: Option<Slot> },
}

#[derive(Clone, Debug)]
pub(super) enum TextTest {
    Exact(String),
    /// Literal pieces with anything between them.
    Glob(Vec<String>),
    Regex(Regex),
}

#[derive(Clone, Debug)]
pub(super) enum NameTest {
    OneOf(Vec<String>),
    Regex(Regex),
}

#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) kind: RelationKind,
    pub(super) stop: Stop,
    pub(super) inner: MatcherId,
    /// Whether `inner` binds captures.
    pub(super) binds: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) inner: MatcherId,
    /// Whether `inner` binds captures.
    pub(super) binds: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelationKind {
    Inside,
    Has,
    Follows,
    Precedes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Only the nearest node: parent, child, sibling.
    Neighbor,
    End,
    /// Not beyond a node that matches.
    At(MatcherId),
}

/// A set of node kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KindSet(u128);

const _: () = assert!(Kind::ALL.len() <= 128, "a kind is a bit of a u128");

impl KindSet {
    pub(super) const EMPTY: Self = Self(0);
    pub(super) const ALL: Self = Self(u128::MAX);

    pub(super) const fn of(kinds: &[Kind]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < kinds.len() {
            bits |= 1 << kinds[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    pub(super) fn where_kind(test: impl Fn(Kind) -> bool) -> Self {
        Kind::ALL
            .iter()
            .filter(|kind| test(**kind))
            .fold(Self::EMPTY, |set, kind| set.union(Self::of(&[*kind])))
    }

    pub(super) const fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().copied().filter(move |kind| self.contains(*kind))
    }
}

impl Program {
    pub(super) fn new() -> Self {
        Self {
            matchers: Vec::new(),
            root: Root::Statements(Sequence::default()),
            names: Vec::new(),
            constraints: Vec::new(),
            constraint_binds: Vec::new(),
            occurrences: Vec::new(),
            is_many: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, matcher: Matcher) -> MatcherId {
        self.matchers.push(matcher);
        MatcherId(self.matchers.len() as u32 - 1)
    }

    pub(super) fn matcher(&self, id: MatcherId) -> &Matcher {
        &self.matchers[id.0 as usize]
    }

    /// The slot of a name, made on first use. Each call counts as one occurrence.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        let slot = self.reserve(name);
        self.occurrences[slot.index()] += 1;
        slot
    }

    /// The slot of a name, without counting an occurrence.
    pub(super) fn reserve(&mut self, name: &str) -> Slot {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.constraints.push(None);
            self.constraint_binds.push(false);
            self.occurrences.push(0);
            self.is_many.push(false);
            self.names.len() - 1
        });
        Slot(index as u32)
    }

    /// Any number of nodes that match.
    pub(super) fn any_number(&self, matcher: MatcherId) -> Item {
        Item { matcher, quantity: Quantity::Many { min: 0, max: u32::MAX, slot: None } }
    }

    /// Whether a name occurs twice, so that one choice restricts another.
    pub(super) fn has_back_references(&self) -> bool {
        self.occurrences.iter().any(|count| *count > 1)
    }

    pub(super) fn needs_names(&self) -> bool {
        self.matchers.iter().any(|matcher| match matcher {
            Matcher::QualifiedName(_) | Matcher::ComesFrom(_) => true,
            Matcher::Predicate(predicate) => predicate.needs_names(),
            Matcher::Shorthand(name) => name.contains('.'),
            _ => false,
        })
    }

    /// Whether a matcher below `id` binds a capture.
    pub(super) fn binds(&self, id: MatcherId) -> bool {
        self.below(id).iter().any(|id| match self.matcher(*id) {
            Matcher::Capture(..) => true,
            Matcher::Node(test) => test.fields.iter().any(|field| match &field.test {
                Test::Sequence(sequence) | Test::Arguments { rest: sequence, .. } => sequence.binds(),
                _ => false,
            }),
            _ => false,
        })
    }

    /// `id` and everything it refers to.
    pub(super) fn below(&self, id: MatcherId) -> Vec<MatcherId> {
        let mut found = vec![id];
        let mut next = 0;
        while let Some(id) = found.get(next).copied() {
            next += 1;
            match self.matcher(id) {
                Matcher::Capture(_, inner) | Matcher::Not(inner) => found.push(*inner),
                Matcher::AllOf(all) | Matcher::OneOf(all) => found.extend(all),
                Matcher::ComesFrom(origin) => found.push(origin.inner),
                Matcher::Relation(relation) => {
                    found.push(relation.inner);
                    if let Stop::At(stop) = relation.stop {
                        found.push(stop);
                    }
                }
                Matcher::Node(test) => {
                    for field in &test.fields {
                        match &field.test {
                            Test::Absent => {}
                            Test::One(inner) | Test::Optional(inner) => found.push(*inner),
                            Test::Sequence(sequence) => found.extend(sequence.matchers()),
                            Test::Arguments { keywords, rest } => {
                                found.extend(keywords.iter().map(|(_, matcher)| *matcher));
                                found.extend(rest.matchers());
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }
}

impl Sequence {
    pub(super) fn matchers(&self) -> impl Iterator<Item = MatcherId> {
        self.items.iter().map(|item| item.matcher)
    }

    pub(super) fn binds(&self) -> bool {
        self.items.iter().any(|item| matches!(item.quantity, Quantity::Many { slot: Some(_), .. }))
    }

    pub(super) fn accepts_nothing(&self) -> bool {
        self.items.iter().all(|item| matches!(item.quantity, Quantity::Many { min: 0, .. }))
    }
}

impl TextTest {
    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            TextTest::Exact(expected) => text == expected,
            TextTest::Glob(pieces) => glob(pieces, text),
            TextTest::Regex(regex) => regex.is_match(text),
        }
    }
}

/// First and last piece are anchored (they may be empty); the others may stand anywhere between, in order.
fn glob(pieces: &[String], text: &str) -> bool {
    let [first, middle @ .., last] = pieces else {
        return pieces.first().is_none_or(|only| only == text);
    };
    let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
    let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
    for piece in middle {
        match rest.find(piece.as_str()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
