//! Where a value comes from: the expressions of this file that it is computed from, as far as names, calls and classes show it.
//!
//! The walk is a worklist with a bound on nodes and on steps, so no depth and no circle of definitions matters. It follows values and not
//! types, and it stops where another file begins: too few origins are possible, and so are some that never meet. What cannot reach a name
//! on any way through its block is left out.

mod calls;
mod members;
mod names;

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Semantic, SymbolId};
use crate::{Field, Kind, Node, NodeId};
use members::MemberIndex;
pub(crate) use members::member;
use names::Definitions;

/// How many nodes one walk visits.
pub const MAX_ORIGINS: usize = 2_000;

/// How many ways from one node to another a walk tries.
const MAX_STEPS: usize = 20_000;

/// The expression itself, then what its value is computed from, the nearest first, each once. Of a statement, what it returns or assigns;
/// of a function, what it returns.
pub fn origins<'a>(semantic: &Semantic<'a>, expression: Node<'a>) -> Vec<Node<'a>> {
    let mut flow = Flow::new(semantic);
    let mut walk = Walk::from(expression);
    std::iter::from_fn(|| flow.next(&mut walk)).collect()
}

/// What the walks of one file have found out about it.
pub(crate) struct Flow<'s, 'a> {
    semantic: &'s Semantic<'a>,
    symbols: FxHashMap<SymbolId, Rc<Definitions<'a>>>,
    returns: FxHashMap<NodeId, Rc<[Node<'a>]>>,
    index: Option<Rc<MemberIndex<'a>>>,
    members: FxHashMap<(NodeId, &'a str), Rc<[Node<'a>]>>,
}

/// One walk from an expression to its origins.
pub(crate) struct Walk<'a> {
    pending: VecDeque<Node<'a>>,
    seen: FxHashSet<NodeId>,
    steps: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn from(node: Node<'a>) -> Self {
        let pending = VecDeque::from([node]);
        Self { pending, seen: FxHashSet::from_iter([node.id()]), steps: 0 }
    }

    fn extend(&mut self, nodes: impl IntoIterator<Item = Node<'a>>) {
        for node in nodes {
            if self.steps >= MAX_STEPS || self.seen.len() >= MAX_ORIGINS {
                return;
            }
            self.steps += 1;
            if self.seen.insert(node.id()) {
                self.pending.push_back(node);
            }
        }
    }
}

impl<'s, 'a> Flow<'s, 'a> {
    pub(crate) fn new(semantic: &'s Semantic<'a>) -> Self {
        Self {
            semantic,
            symbols: FxHashMap::default(),
            returns: FxHashMap::default(),
            index: None,
            members: FxHashMap::default(),
        }
    }

    /// The next origin.
    pub(crate) fn next(&mut self, walk: &mut Walk<'a>) -> Option<Node<'a>> {
        let node = walk.pending.pop_front()?;
        self.expand(node, walk);
        Some(node)
    }

    fn expand(&mut self, node: Node<'a>, walk: &mut Walk<'a>) {
        match node.kind() {
            Kind::Name => self.name(node, walk),
            Kind::Call => self.call(node, walk),
            Kind::Attribute => self.attribute(node, walk),
            Kind::FunctionDef => walk.extend(self.returned(node).iter().copied()),
            Kind::IfExp => {
                walk.extend(node.child(Field::Body));
                walk.extend(node.child(Field::Orelse));
            }
            Kind::BinOp if is_joining(node) => {
                walk.extend(node.child(Field::Left));
                walk.extend(node.child(Field::Right));
            }
            Kind::AugAssign => {
                walk.extend(node.child(Field::Target));
                walk.extend(node.child(Field::Value));
            }
            Kind::BoolOp => walk.extend(node.list(Field::Values)),
            Kind::List | Kind::Tuple | Kind::Set => walk.extend(node.list(Field::Elts)),
            Kind::Dict => walk.extend(node.list(Field::Items).filter_map(|item| item.child(Field::Value))),
            Kind::ListComp | Kind::SetComp | Kind::GeneratorExp => walk.extend(node.child(Field::Elt)),
            // A t-string's interpolations arrive escaped, and an f-string is what it is whatever it holds.
            Kind::ConcatenatedString => walk.extend(node.children()),
            Kind::NamedExpr
            | Kind::Await
            | Kind::Starred
            | Kind::Subscript
            | Kind::DictComp
            | Kind::YieldFrom
            | Kind::Keyword
            | Kind::Return
            | Kind::Expr
            | Kind::Assign
            | Kind::AnnAssign => walk.extend(node.child(Field::Value)),
            _ => {}
        }
    }
}

/// Whether an operation's result contains its operands: `+`, `%`, `*`, `|`.
fn is_joining(operation: Node<'_>) -> bool {
    operation.child(Field::Op).is_some_and(|operator| matches!(operator.text(), "+" | "%" | "*" | "|"))
}
