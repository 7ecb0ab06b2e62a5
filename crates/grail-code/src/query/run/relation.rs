//! How a node stands to others: around it, below it, beside it, and what its value comes from.

use super::{Memory, Search, Then};
use crate::query::matcher::{MatcherId, Origin, Relation, RelationKind, Stop};
use crate::semantic::origins::{Flow, Walk};
use crate::{Node, NodeId};

impl<'s, 'a> Search<'s, 'a> {
    /// Whether the node, or an expression that its value is computed from, matches.
    pub(super) fn comes_from(
        &mut self,
        id: MatcherId,
        origin: &'s Origin,
        node: Node<'a>,
        then: Then<'_, 's, 'a>,
    ) -> bool {
        if !self.commits && origin.binds {
            // The answer depends on what is bound so far.
            let mut walk = Walk::from(node);
            while let Some(next) = self.next_origin(&mut walk) {
                if self.spend() && self.run(origin.inner, next, then) {
                    return true;
                }
            }
            return false;
        }
        let found = match self.memory.nearest.get(&(id, node.id())) {
            Some(known) => *known,
            None => {
                let mut walk = Walk::from(node);
                let mut found = None;
                while let Some(next) = self.next_origin(&mut walk) {
                    if self.probe(origin.inner, next) {
                        found = Some(next.id());
                        break;
                    }
                }
                self.memory.nearest.insert((id, node.id()), found);
                found
            }
        };
        match found {
            None => false,
            Some(found) if origin.binds => self.run(origin.inner, self.parsed.node(found), then),
            Some(_) => then(self),
        }
    }

    fn next_origin(&mut self, walk: &mut Walk<'a>) -> Option<Node<'a>> {
        let semantic = self.semantic?;
        let Memory { flow, .. } = &mut self.memory;
        flow.get_or_insert_with(|| Flow::new(semantic)).next(walk)
    }

    pub(super) fn relation(
        &mut self,
        id: MatcherId,
        relation: &'s Relation,
        node: Node<'a>,
        then: Then<'_, 's, 'a>,
    ) -> bool {
        let binds = relation.binds;
        if !self.commits && binds {
            // The answer depends on what is bound so far.
            return self.candidates(relation, node).into_iter().any(|candidate| {
                self.spend() && self.run(relation.inner, self.parsed.node(candidate), then)
            });
        }
        let found = match relation.kind {
            RelationKind::Has => self.find_below(relation, node),
            _ => self.find_along(id, relation, node),
        };
        match found {
            None => false,
            Some(found) if binds => self.run(relation.inner, self.parsed.node(found), then),
            Some(_) => then(self),
        }
    }

    /// All nodes in the relation, in the order in which they are asked.
    fn candidates(&mut self, relation: &Relation, node: Node<'a>) -> Vec<NodeId> {
        let mut found = Vec::new();
        match relation.kind {
            RelationKind::Has if relation.stop == Stop::Neighbor => {
                found.extend(node.children().map(Node::id))
            }
            RelationKind::Has => found.extend(node.descendants().map(Node::id)),
            _ => {
                let mut current = node.id();
                while let Some(next) = self.step(relation.kind, current) {
                    found.push(next);
                    let is_end = match relation.stop {
                        Stop::Neighbor => true,
                        Stop::End => false,
                        Stop::At(stop) => self.probe(stop, self.parsed.node(next)),
                    };
                    if is_end {
                        break;
                    }
                    current = next;
                }
            }
        }
        found
    }

    fn find_below(&mut self, relation: &'s Relation, node: Node<'a>) -> Option<NodeId> {
        match relation.stop {
            Stop::Neighbor => node.children().find(|child| self.probe(relation.inner, *child)).map(Node::id),
            Stop::At(stop) => {
                let mut blocked_until = 0;
                node.descendants().find_map(|inner| {
                    if inner.id().index() < blocked_until {
                        return None;
                    }
                    if self.probe(relation.inner, inner) {
                        return Some(inner.id());
                    }
                    if self.probe(stop, inner) {
                        blocked_until = inner.id().index() + 1 + inner.descendants().count();
                    }
                    None
                })
            }
            Stop::End => {
                if !self.memory.everywhere.contains_key(&relation.inner) {
                    let parsed = self.parsed;
                    let kinds = crate::query::analysis::kinds(self.program, relation.inner);
                    let all = parsed
                        .nodes()
                        .filter(|node| kinds.contains(node.kind()) && self.probe(relation.inner, *node));
                    let all = all.map(Node::id).collect();
                    self.memory.everywhere.insert(relation.inner, all);
                }
                let all = &self.memory.everywhere[&relation.inner];
                let first = all.get(all.partition_point(|id| *id <= node.id())).copied()?;
                node.is_ancestor_of(self.parsed.node(first)).then_some(first)
            }
        }
    }

    /// The nearest node that matches on the way outwards, backwards or forwards. Every node passed remembers the answer.
    fn find_along(&mut self, id: MatcherId, relation: &'s Relation, node: Node<'a>) -> Option<NodeId> {
        let mut passed = Vec::new();
        let mut current = node.id();
        let answer = loop {
            if let Some(known) = self.memory.nearest.get(&(id, current)) {
                break *known;
            }
            passed.push(current);
            let Some(next) = self.step(relation.kind, current) else { break None };
            let candidate = self.parsed.node(next);
            if self.probe(relation.inner, candidate) {
                break Some(next);
            }
            let is_end = match relation.stop {
                Stop::Neighbor => true,
                Stop::End => false,
                Stop::At(stop) => self.probe(stop, candidate),
            };
            if is_end {
                break None;
            }
            current = next;
        };
        // With `neighbor` only the node itself was asked about, and it is the only one passed.
        for passed in passed {
            self.memory.nearest.insert((id, passed), answer);
        }
        answer
    }

    fn step(&mut self, kind: RelationKind, from: NodeId) -> Option<NodeId> {
        let node = self.parsed.node(from);
        let parent = node.parent()?;
        if kind == RelationKind::Inside {
            return Some(parent.id());
        }
        let key = (parent.id(), node.field());
        let siblings = self.siblings(key);
        let position = siblings.binary_search(&from).ok()?;
        match kind {
            RelationKind::Precedes => siblings.get(position + 1).copied(),
            _ => position.checked_sub(1).map(|previous| siblings[previous]),
        }
    }
}
