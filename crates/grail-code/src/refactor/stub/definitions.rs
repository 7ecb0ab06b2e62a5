//! What a file or stub defines at module and class level, by dotted path.

use std::collections::BTreeMap;

use crate::{Field, Kind, Node, Parsed};

pub(super) struct Definitions<'a> {
    /// Setters and deleters of a property have paths of their own: `Class.name.setter`.
    pub(super) functions: BTreeMap<String, Vec<Function<'a>>>,
    pub(super) variables: BTreeMap<String, Vec<Variable<'a>>>,
}

pub(super) struct Function<'a> {
    pub(super) node: Node<'a>,
    pub(super) parameters: Vec<Node<'a>>,
    pub(super) is_overload: bool,
}

pub(super) struct Variable<'a> {
    /// The `Name`, or the `Attribute` of `self.name`.
    pub(super) node: Node<'a>,
    /// The statement that binds it.
    pub(super) statement: Node<'a>,
    rank: Rank,
}

/// Which of several places is the variable's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// In the body of the module or class.
    Body,
    Initializer,
    Method,
}

impl<'a> Definitions<'a> {
    pub(super) fn of(parsed: &'a Parsed) -> Self {
        let mut definitions = Self { functions: BTreeMap::new(), variables: BTreeMap::new() };
        // Statements to look at, with the path of the class they stand in.
        let mut open: Vec<(Node<'a>, String)> =
            parsed.root().list(Field::Body).map(|node| (node, String::new())).collect();
        open.reverse();
        while let Some((node, path)) = open.pop() {
            definitions.statement(node, &path);
            let inner = match node.kind() {
                Kind::FunctionDef => continue,
                Kind::ClassDef => {
                    let name = node.child(Field::Name).map_or("", Node::text);
                    format!("{path}{name}.")
                }
                _ => path,
            };
            let first = open.len();
            let below = node.children().filter(|child| {
                child.kind().is_statement()
                    || matches!(
                        child.kind(),
                        Kind::Elif | Kind::Else | Kind::ExceptHandler | Kind::Finally | Kind::MatchCase
                    )
            });
            open.extend(below.map(|child| (child, inner.clone())));
            open[first..].reverse();
        }
        definitions
    }

    fn statement(&mut self, node: Node<'a>, path: &str) {
        match node.kind() {
            Kind::FunctionDef => self.function(node, path),
            Kind::AnnAssign => {
                if let Some(target) = node.child(Field::Target).filter(|target| target.kind() == Kind::Name) {
                    self.variable(format!("{path}{}", target.text()), target, node, Rank::Body);
                }
            }
            Kind::Assign => {
                let names = node.list(Field::Targets).flat_map(|target| target.subtree()).filter(|name| {
                    name.kind() == Kind::Name && name.context() == Some(crate::Context::Store)
                });
                for name in names {
                    self.variable(format!("{path}{}", name.text()), name, node, Rank::Body);
                }
            }
            _ => {}
        }
    }

    fn function(&mut self, node: Node<'a>, path: &str) {
        let Some(name) = node.child(Field::Name).map(Node::text) else { return };
        let decorators: Vec<&str> = node
            .list(Field::Decorators)
            .filter_map(|decorator| decorator.child(Field::Expression))
            .map(Node::text)
            .collect();
        let accessor = ["setter", "deleter", "getter"]
            .into_iter()
            .find(|accessor| decorators.contains(&format!("{name}.{accessor}").as_str()));
        let key = match accessor {
            Some(accessor) => format!("{path}{name}.{accessor}"),
            None => format!("{path}{name}"),
        };
        let parameters: Vec<Node<'a>> = node
            .child(Field::Params)
            .into_iter()
            .flat_map(|list| list.list(Field::Params))
            .filter(|item| item.kind() == Kind::Parameter)
            .collect();
        let is_overload =
            decorators.iter().any(|decorator| *decorator == "overload" || decorator.ends_with(".overload"));
        if let (Some(receiver), false) = (parameters.first(), path.is_empty()) {
            let rank = if name == "__init__" { Rank::Initializer } else { Rank::Method };
            self.attributes(node, *receiver, path, rank);
        }
        self.functions.entry(key).or_default().push(Function { node, parameters, is_overload });
    }

    /// `self.name = …` in a method.
    fn attributes(&mut self, method: Node<'a>, receiver: Node<'a>, path: &str, rank: Rank) {
        let receiver = receiver.child(Field::Name).map_or("", Node::text);
        for node in method.descendants().filter(|node| node.kind() == Kind::Attribute) {
            let is_own = node.context() == Some(crate::Context::Store)
                && node.child(Field::Value).is_some_and(|value| value.text() == receiver);
            let statement =
                node.parent().filter(|parent| matches!(parent.kind(), Kind::Assign | Kind::AnnAssign));
            if let (true, Some(statement), Some(name)) = (is_own, statement, node.child(Field::Attr)) {
                self.variable(format!("{path}{}", name.text()), node, statement, rank);
            }
        }
    }

    fn variable(&mut self, path: String, node: Node<'a>, statement: Node<'a>, rank: Rank) {
        self.variables.entry(path).or_default().push(Variable { node, statement, rank });
    }
}

/// The place where a variable is annotated: where it is already, else in the body, else in the initializer.
pub(super) fn first<'v, 'a>(variables: &'v [Variable<'a>]) -> Option<&'v Variable<'a>> {
    let annotated = variables.iter().find(|variable| variable.statement.kind() == Kind::AnnAssign);
    annotated.or_else(|| variables.iter().min_by_key(|variable| (variable.rank, variable.node.id())))
}
