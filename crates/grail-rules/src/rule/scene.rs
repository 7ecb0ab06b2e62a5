//! One violation while it is being told: the subject, the forbidden thing in it, and what their captures stand for.

use grail_code::query::{Capture, Match};
use grail_code::{Field, Kind, Node, Parsed, Span};

pub(crate) struct Scene<'s> {
    pub(crate) parsed: &'s Parsed,
    pub(crate) subject: &'s Match,
    pub(crate) occurrence: Option<&'s Match>,
}

impl<'s> Scene<'s> {
    /// What a capture stands for; that of the forbidden thing goes before that of the subject.
    pub(crate) fn capture(&self, name: &str) -> Option<&'s Capture> {
        self.occurrence
            .and_then(|occurrence| occurrence.captures.get(name))
            .or_else(|| self.subject.captures.get(name))
    }

    pub(crate) fn span(&self, name: &str) -> Option<Span> {
        self.capture(name)?.span(self.parsed)
    }

    /// The node of a capture that is one node.
    pub(crate) fn node(&self, name: &str) -> Option<Node<'s>> {
        match self.capture(name)? {
            Capture::Node(id) => Some(self.parsed.node(*id)),
            Capture::Nodes(ids) => match ids.as_slice() {
                [only] => Some(self.parsed.node(*only)),
                _ => None,
            },
        }
    }

    /// The node that is wrong: the forbidden thing, else the subject.
    pub(crate) fn found(&self) -> &'s Match {
        self.occurrence.unwrap_or(self.subject)
    }

    /// Definitions are pointed at by their name, not by their whole body.
    pub(crate) fn default_span(&self) -> Span {
        let found = self.found();
        let node = self.parsed.node(found.node);
        match node.kind() {
            Kind::FunctionDef | Kind::ClassDef => node.child(Field::Name).map_or(found.span, Node::span),
            _ => found.span,
        }
    }
}
