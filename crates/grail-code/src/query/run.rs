//! The matching engine.
//!
//! A matcher is run with a continuation: what must hold after it. If no capture occurs twice, the first way in which a part matches
//! is as good as any other and the engine commits to it: a search is then linear but for the memory of failed starts in sequences with
//! several `$$$`. If a capture does occur twice, a part may have to match in another way for the whole to match, and the engine backtracks
//! into it, up to [`MAX_STEPS`] for one candidate. Recursion follows the pattern, never the source.

mod relation;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Capture;
use super::matcher::{
    FieldTest, Item, KindSet, Matcher, MatcherId, NameTest, NodeTest, Program, Quantity, Sequence, Slot, Test,
};
use super::value::{name, same_code, value};
use crate::semantic::origins::Flow;
use crate::tree::Attribute;
use crate::{Field, Kind, Node, NodeId, Parsed, Semantic};

/// How many tests one candidate may cost when captures depend on each other.
const MAX_STEPS: u32 = 200_000;

/// The state of a search in one file.
pub(super) struct Search<'s, 'a> {
    program: &'s Program,
    parsed: &'a Parsed,
    semantic: Option<&'s Semantic<'a>>,
    commits: bool,
    steps: u32,
    slots: Vec<Option<Bound>>,
    /// Slots in the order in which they were bound.
    trail: Vec<Slot>,
    memory: Memory<'s, 'a>,
}

/// What a slot holds while a candidate is matched.
#[derive(Clone)]
enum Bound {
    Node(NodeId),
    Run { nodes: Rc<[NodeId]>, start: usize, end: usize },
}

/// What a search found out and need not find out again.
#[derive(Default)]
struct Memory<'s, 'a> {
    /// For `inside`, `follows`, `precedes`, `comes_from`: the nearest node that answers, for each node asked about.
    nearest: FxHashMap<(MatcherId, NodeId), Option<NodeId>>,
    /// For `has`: all nodes of the file that match, in order.
    everywhere: FxHashMap<MatcherId, Vec<NodeId>>,
    siblings: FxHashMap<(NodeId, Field), Rc<[NodeId]>>,
    /// What is known of statement sequences, by body.
    bodies: FxHashMap<(NodeId, Field), Failures>,
    /// For `comes_from`: what was found out about the file's values.
    flow: Option<Flow<'s, 'a>>,
}

/// Ways in which a sequence is known to fail. Used only if the engine commits, for then they do not depend on captures.
#[derive(Default)]
struct Failures {
    /// Item and position from which the rest fails.
    dead_ends: FxHashSet<(usize, usize)>,
    /// Items that may take anything, and still nothing after them matched: that does not change further right.
    exhausted: FxHashSet<usize>,
}

type Then<'t, 's, 'a> = &'t mut dyn FnMut(&mut Search<'s, 'a>) -> bool;

impl<'s, 'a> Search<'s, 'a> {
    pub(super) fn new(program: &'s Program, parsed: &'a Parsed, semantic: Option<&'s Semantic<'a>>) -> Self {
        Self {
            program,
            parsed,
            semantic,
            commits: !program.has_back_references(),
            steps: 0,
            slots: vec![None; program.names.len()],
            trail: Vec::new(),
            memory: Memory::default(),
        }
    }

    /// Matches one node as a whole; gives the captures.
    pub(super) fn match_node(&mut self, matcher: MatcherId, node: Node<'a>) -> Option<Vec<Option<Capture>>> {
        self.steps = 0;
        self.test(matcher, node).then(|| self.take_captures())
    }

    /// Matches statements from `first` on; gives the last one and the captures.
    pub(super) fn match_statements(
        &mut self,
        sequence: &'s Sequence,
        first: Node<'a>,
    ) -> Option<(NodeId, Vec<Option<Capture>>)> {
        self.steps = 0;
        // Most candidates fail here, before their siblings are collected.
        let [Item { matcher, quantity: Quantity::One }, ..] = sequence.items[..] else {
            return self.match_statements_from(sequence, first);
        };
        let mark = self.trail.len();
        let is_candidate = self.test(matcher, first);
        self.undo(mark);
        if is_candidate { self.match_statements_from(sequence, first) } else { None }
    }

    fn match_statements_from(
        &mut self,
        sequence: &'s Sequence,
        first: Node<'a>,
    ) -> Option<(NodeId, Vec<Option<Capture>>)> {
        let parent = first.parent()?;
        let key = (parent.id(), first.field());
        let nodes = self.siblings(key);
        let position = nodes.binary_search(&first.id()).ok()?;
        let mut failures = self.memory.bodies.remove(&key).unwrap_or_default();
        let mut run =
            SequenceRun { items: &sequence.items, nodes: &nodes, is_open: true, failures: &mut failures };
        let mut end = position;
        let is_match = self.sequence(&mut run, 0, position, &mut |_, position| {
            end = position;
            true
        });
        self.memory.bodies.insert(key, failures);
        if !is_match || end <= position {
            self.undo(0);
            return None;
        }
        Some((nodes[end - 1], self.take_captures()))
    }

    fn siblings(&mut self, key: (NodeId, Field)) -> Rc<[NodeId]> {
        let parent = self.parsed.node(key.0);
        Rc::clone(self.memory.siblings.entry(key).or_insert_with(|| ids(parent.list(key.1))))
    }

    fn take_captures(&mut self) -> Vec<Option<Capture>> {
        self.trail.clear();
        let empty = vec![None; self.slots.len()];
        let slots = std::mem::replace(&mut self.slots, empty);
        let captures = slots.into_iter().zip(&self.program.is_many).map(|(bound, is_many)| match bound {
            Some(bound) => Some(bound.into_capture()),
            None => is_many.then(|| Capture::Nodes(Vec::new())),
        });
        captures.collect()
    }

    fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            if let Some(slot) = self.trail.pop() {
                self.slots[slot.index()] = None;
            }
        }
    }

    /// Whether the node matches; leaves the captures bound if so.
    fn test(&mut self, matcher: MatcherId, node: Node<'a>) -> bool {
        self.run(matcher, node, &mut |_| true)
    }

    /// Whether the node matches, without leaving captures.
    fn probe(&mut self, matcher: MatcherId, node: Node<'a>) -> bool {
        let mark = self.trail.len();
        let is_match = self.test(matcher, node);
        self.undo(mark);
        is_match
    }

    /// Whether `matcher` and then `then` hold. Captures are as before if not.
    fn run(&mut self, matcher: MatcherId, node: Node<'a>, then: Then<'_, 's, 'a>) -> bool {
        let program = self.program;
        match program.matcher(matcher) {
            Matcher::Any => then(self),
            Matcher::Kinds(kinds) => kinds.contains(node.kind()) && then(self),
            Matcher::Node(test) => {
                test.kinds.contains(node.kind())
                    && has_attributes(test, node)
                    && stacker::maybe_grow(64 * 1024, 4 * 1024 * 1024, || {
                        self.fields(&test.fields, node, then)
                    })
            }
            Matcher::Value(test) => test.matches(&value(node)) && then(self),
            Matcher::Text(test) => test.matches(node.text()) && then(self),
            Matcher::Raw => is_raw(node) && then(self),
            Matcher::Shorthand(name) => self.is_named(node, name) && then(self),
            Matcher::Predicate(predicate) => predicate.holds(node, self.semantic) && then(self),
            Matcher::QualifiedName(test) => self.has_qualified_name(node, test) && then(self),
            Matcher::Field(field) => node.field() == *field && then(self),
            Matcher::Capture(slot, inner) => {
                let slot = *slot;
                self.run(*inner, node, &mut |search| search.bind(slot, Bound::Node(node.id()), then))
            }
            Matcher::AllOf(all) => self.all(all, node, then),
            Matcher::OneOf(all) => {
                let mark = self.trail.len();
                all.iter().any(|one| {
                    let is_match = self.spend() && self.run(*one, node, then);
                    if !is_match {
                        self.undo(mark);
                    }
                    is_match
                })
            }
            Matcher::Not(inner) => !self.probe(*inner, node) && then(self),
            Matcher::Relation(relation) => self.relation(matcher, relation, node, then),
            Matcher::ComesFrom(origin) => self.comes_from(matcher, origin, node, then),
        }
    }

    /// Counts a step where there is a choice; false if there were too many.
    fn spend(&mut self) -> bool {
        self.steps += 1;
        self.commits || self.steps < MAX_STEPS
    }

    fn all(&mut self, matchers: &'s [MatcherId], node: Node<'a>, then: Then<'_, 's, 'a>) -> bool {
        let Some((first, rest)) = matchers.split_first() else { return then(self) };
        if !self.commits {
            return self.run(*first, node, &mut |search| search.all(rest, node, then));
        }
        let mark = self.trail.len();
        let is_match = matchers.iter().all(|matcher| self.test(*matcher, node)) && then(self);
        if !is_match {
            self.undo(mark);
        }
        is_match
    }

    fn fields(&mut self, tests: &'s [FieldTest], node: Node<'a>, then: Then<'_, 's, 'a>) -> bool {
        let Some((first, rest)) = tests.split_first() else { return then(self) };
        if !self.commits {
            return self.field(first, node, &mut |search| search.fields(rest, node, then));
        }
        let mark = self.trail.len();
        let is_match = tests.iter().all(|test| self.field(test, node, &mut |_| true)) && then(self);
        if !is_match {
            self.undo(mark);
        }
        is_match
    }

    fn field(&mut self, test: &'s FieldTest, node: Node<'a>, then: Then<'_, 's, 'a>) -> bool {
        match &test.test {
            Test::Absent => node.child(test.field).is_none() && then(self),
            Test::One(matcher) => match node.child(test.field) {
                Some(child) => self.run(*matcher, child, then),
                None => false,
            },
            Test::Optional(matcher) => match node.child(test.field) {
                Some(child) => self.run(*matcher, child, then),
                None => then(self),
            },
            Test::Sequence(sequence) => self.whole_sequence(sequence, &ids(node.list(test.field)), then),
            Test::Arguments { keywords, rest } => {
                self.arguments(keywords, rest, node.list(test.field).map(Node::id).collect(), then)
            }
        }
    }

    fn arguments(
        &mut self,
        keywords: &'s [(String, MatcherId)],
        rest: &'s Sequence,
        mut nodes: Vec<NodeId>,
        then: Then<'_, 's, 'a>,
    ) -> bool {
        let Some(((keyword, matcher), others)) = keywords.split_first() else {
            return self.whole_sequence(rest, &nodes.into(), then);
        };
        let found = nodes.iter().position(|id| {
            let node = self.parsed.node(*id);
            node.kind() == Kind::Keyword
                && node.child(Field::Keyword).is_some_and(|arg| name(arg.text()) == keyword.as_str())
        });
        let Some(position) = found else { return false };
        let node = self.parsed.node(nodes.remove(position));
        self.run(*matcher, node, &mut |search| search.arguments(others, rest, nodes.clone(), then))
    }

    fn whole_sequence(
        &mut self,
        sequence: &'s Sequence,
        nodes: &Rc<[NodeId]>,
        then: Then<'_, 's, 'a>,
    ) -> bool {
        let mut failures = Failures::default();
        let mut run = SequenceRun { items: &sequence.items, nodes, is_open: false, failures: &mut failures };
        if !self.commits {
            return self.sequence(&mut run, 0, 0, &mut |search, _| then(search));
        }
        let mark = self.trail.len();
        let is_match = self.sequence(&mut run, 0, 0, &mut |_, _| true) && then(self);
        if !is_match {
            self.undo(mark);
        }
        is_match
    }

    /// Matches the items from `item` on against the nodes from `position` on.
    fn sequence(
        &mut self,
        run: &mut SequenceRun<'_, 's>,
        mut item: usize,
        mut position: usize,
        then: &mut dyn FnMut(&mut Self, usize) -> bool,
    ) -> bool {
        let mark = self.trail.len();
        loop {
            let Some(Item { matcher, quantity }) = run.items.get(item).copied() else {
                let is_match = (run.is_open || position == run.nodes.len()) && then(self, position);
                if !is_match {
                    self.undo(mark);
                }
                return is_match;
            };
            let Quantity::Many { min, max, slot } = quantity else {
                let Some(id) = run.nodes.get(position).copied() else {
                    self.undo(mark);
                    return false;
                };
                let node = self.parsed.node(id);
                if !self.commits {
                    // A later part may want this one to match in another way.
                    return self.spend()
                        && self.run(matcher, node, &mut |search| {
                            stacker::maybe_grow(64 * 1024, 4 * 1024 * 1024, || {
                                search.sequence(&mut run.reborrow(), item + 1, position + 1, then)
                            })
                        });
                }
                if !self.test(matcher, node) {
                    self.undo(mark);
                    return false;
                }
                item += 1;
                position += 1;
                continue;
            };
            let is_match = self.repetition(run, item, position, (matcher, min, max, slot), then);
            if !is_match {
                self.undo(mark);
            }
            return is_match;
        }
    }

    /// A quantified item, shortest run first.
    fn repetition(
        &mut self,
        run: &mut SequenceRun<'_, 's>,
        item: usize,
        start: usize,
        (matcher, min, max, slot): (MatcherId, u32, u32, Option<Slot>),
        then: &mut dyn FnMut(&mut Self, usize) -> bool,
    ) -> bool {
        let nodes = run.nodes;
        if self.commits && run.failures.exhausted.contains(&item) {
            return false;
        }
        let needed: usize = run.items[item + 1..].iter().map(|item| item.quantity.least()).sum();
        let is_last = item + 1 == run.items.len() && !run.is_open;
        let takes_anything = max == u32::MAX && matches!(self.program.matcher(matcher), Matcher::Any);
        let mut end = start;
        loop {
            let length = end - start;
            let is_long_enough = length >= min as usize && (!is_last || end == nodes.len());
            let is_dead = self.commits && run.failures.dead_ends.contains(&(item + 1, end));
            if is_long_enough && !is_dead {
                if !self.spend() {
                    return false;
                }
                let is_match = match slot {
                    None => self.rest_of_sequence(run, item + 1, end, then),
                    Some(slot) => {
                        let bound = Bound::Run { nodes: Rc::clone(nodes), start, end };
                        self.bind(slot, bound, &mut |search| {
                            search.rest_of_sequence(&mut run.reborrow(), item + 1, end, then)
                        })
                    }
                };
                if is_match {
                    return true;
                }
                if self.commits {
                    run.failures.dead_ends.insert((item + 1, end));
                    let is_exhausted = |later: usize| run.failures.exhausted.contains(&later);
                    if (item + 1..run.items.len()).any(is_exhausted) {
                        break;
                    }
                }
            }
            let can_grow = length < max as usize && end + needed < nodes.len();
            if !can_grow || !self.may_capture(slot, matcher, self.parsed.node(nodes[end])) {
                break;
            }
            end += 1;
        }
        if takes_anything && slot.is_none_or(|slot| self.program.constraints[slot.index()].is_none()) {
            run.failures.exhausted.insert(item);
        }
        false
    }

    /// Whether a node may become part of a run, by its matcher and by what `where` says of the run's capture.
    fn may_capture(&mut self, slot: Option<Slot>, matcher: MatcherId, node: Node<'a>) -> bool {
        let constraint = slot.and_then(|slot| self.program.constraints[slot.index()]);
        self.probe(matcher, node) && constraint.is_none_or(|constraint| self.probe(constraint, node))
    }

    fn rest_of_sequence(
        &mut self,
        run: &mut SequenceRun<'_, 's>,
        item: usize,
        position: usize,
        then: &mut dyn FnMut(&mut Self, usize) -> bool,
    ) -> bool {
        stacker::maybe_grow(64 * 1024, 4 * 1024 * 1024, || self.sequence(run, item, position, then))
    }

    /// Binds a capture, or compares with what it is bound to.
    fn bind(&mut self, slot: Slot, captured: Bound, then: Then<'_, 's, 'a>) -> bool {
        let index = slot.index();
        self.steps += 1;
        if let Some(bound) = &self.slots[index] {
            return self.is_same(bound, &captured) && then(self);
        }
        let constraint = self.program.constraints[index];
        if let (Some(constraint), Bound::Node(id)) = (constraint, &captured)
            && self.program.constraint_binds[index]
        {
            let node = self.parsed.node(*id);
            return self.hold(slot, captured, &mut |search| search.run(constraint, node, then));
        }
        if let Some(constraint) = constraint {
            let parsed = self.parsed;
            if !captured.nodes().iter().all(|id| self.probe(constraint, parsed.node(*id))) {
                return false;
            }
        }
        self.hold(slot, captured, then)
    }

    fn hold(&mut self, slot: Slot, captured: Bound, then: Then<'_, 's, 'a>) -> bool {
        let mark = self.trail.len();
        self.slots[slot.index()] = Some(captured);
        self.trail.push(slot);
        let is_match = then(self);
        if !is_match {
            self.undo(mark);
        }
        is_match
    }

    fn is_same(&self, left: &Bound, right: &Bound) -> bool {
        let (left, right) = (left.nodes(), right.nodes());
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| same_code(self.parsed.node(*left), self.parsed.node(*right)))
    }

    fn has_qualified_name(&self, node: Node<'a>, test: &NameTest) -> bool {
        let Some(semantic) = self.semantic else { return false };
        match test {
            NameTest::OneOf(names) => names.iter().any(|name| semantic.has_qualified_name(node, name)),
            NameTest::Regex(regex) => {
                NAMED.contains(node.kind())
                    && semantic.qualified_names(node).iter().any(|qualified| regex.is_match(&qualified.name))
            }
        }
    }

    /// The shorthand: a dotted name as written or as qualified, or a literal.
    fn is_named(&self, node: Node<'a>, expected: &str) -> bool {
        let inner = match node.kind() {
            Kind::Decorator => node.child(Field::Expression),
            Kind::Expr => node.child(Field::Value),
            Kind::Parameter | Kind::Alias | Kind::FunctionDef | Kind::ClassDef => node.child(Field::Name),
            _ => Some(node),
        };
        let Some(node) = inner else { return false };
        match node.kind() {
            Kind::Name | Kind::Identifier | Kind::Attribute => {
                is_dotted(node, expected)
                    || (expected.contains('.')
                        && self.semantic.is_some_and(|semantic| semantic.has_qualified_name(node, expected)))
            }
            _ => node.text() == expected || value(node) == expected,
        }
    }
}

/// A sequence being matched.
struct SequenceRun<'r, 's> {
    items: &'s [Item],
    nodes: &'r Rc<[NodeId]>,
    /// Whether nodes may be left over.
    is_open: bool,
    failures: &'r mut Failures,
}

impl<'s> SequenceRun<'_, 's> {
    fn reborrow(&mut self) -> SequenceRun<'_, 's> {
        SequenceRun { items: self.items, nodes: self.nodes, is_open: self.is_open, failures: self.failures }
    }
}

impl Bound {
    fn nodes(&self) -> &[NodeId] {
        match self {
            Bound::Node(id) => std::slice::from_ref(id),
            Bound::Run { nodes, start, end } => &nodes[*start..*end],
        }
    }

    fn into_capture(self) -> Capture {
        match self {
            Bound::Node(id) => Capture::Node(id),
            Bound::Run { nodes, start, end } => Capture::Nodes(nodes[start..end].to_vec()),
        }
    }
}

impl Quantity {
    fn least(self) -> usize {
        match self {
            Quantity::One => 1,
            Quantity::Many { min, .. } => min as usize,
        }
    }
}

fn ids<'n>(nodes: impl Iterator<Item = Node<'n>>) -> Rc<[NodeId]> {
    nodes.map(Node::id).collect()
}

fn has_attributes(test: &NodeTest, node: Node<'_>) -> bool {
    test.attributes.iter().all(|(name, expected)| match node.attribute(name) {
        Some(actual) => actual == *expected,
        None => *expected == Attribute::Absent,
    })
}

fn is_raw(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::ConcatenatedString => node.children().all(is_raw),
        _ => crate::tree::string_literal(node).is_some_and(|literal| literal.is_raw()),
    }
}

/// Whether a chain of names reads `expected`, with dots.
fn is_dotted(node: Node<'_>, expected: &str) -> bool {
    let (mut node, mut expected) = (node, expected);
    loop {
        match node.kind() {
            Kind::Name | Kind::Identifier => return name(node.text()) == expected,
            Kind::Attribute => {
                let Some((before, last)) = expected.rsplit_once('.') else { return false };
                let (Some(value), Some(attr)) = (node.child(Field::Value), node.child(Field::Attr)) else {
                    return false;
                };
                if name(attr.text()) != last {
                    return false;
                }
                (node, expected) = (value, before);
            }
            _ => return false,
        }
    }
}

/// Kinds whose qualified names are asked for.
pub(super) const NAMED: KindSet =
    KindSet::of(&[Kind::Name, Kind::Attribute, Kind::Call, Kind::FunctionDef, Kind::ClassDef]);
