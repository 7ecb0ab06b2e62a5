//! Calls: what a function of this file returns, what is passed to it, and what some functions of others are known to hand on.

use std::rc::Rc;

use super::members::{calls_of_class, class_named, in_body, member, with_bases};
use super::names::assigned;
use super::{Flow, MAX_ORIGINS, Walk};
use crate::semantic::BindingKind;
use crate::tree::ParameterKind;
use crate::{Field, Kind, Node};

/// How many values are asked which function they are.
const MAX_CALLEES: usize = 16;

/// Methods of strings and containers whose result contains their object and arguments.
const HANDING_ON: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "copy",
    "decode",
    "encode",
    "expandtabs",
    "format",
    "format_map",
    "get",
    "getvalue",
    "items",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "pop",
    "popleft",
    "removeprefix",
    "removesuffix",
    "replace",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "setdefault",
    "split",
    "splitlines",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "values",
    "zfill",
];

/// Functions whose result contains their arguments.
const PASSING: &[&str] = &[
    "asyncio.run",
    "builtins.ascii",
    "builtins.dict",
    "builtins.enumerate",
    "builtins.filter",
    "builtins.format",
    "builtins.frozenset",
    "builtins.iter",
    "builtins.list",
    "builtins.map",
    "builtins.max",
    "builtins.min",
    "builtins.next",
    "builtins.repr",
    "builtins.reversed",
    "builtins.set",
    "builtins.sorted",
    "builtins.str",
    "builtins.sum",
    "builtins.tuple",
    "builtins.zip",
    "copy.copy",
    "copy.deepcopy",
    "io.StringIO",
    "itertools.chain",
    "textwrap.dedent",
    "textwrap.fill",
    "textwrap.indent",
    "typing.cast",
];

impl<'a> Flow<'_, 'a> {
    pub(super) fn call(&mut self, call: Node<'a>, walk: &mut Walk<'a>) {
        let Some(func) = call.child(Field::Func) else { return };
        let functions = self.functions(func);
        for function in &functions {
            walk.extend(self.returned(*function).iter().copied());
        }
        if !functions.is_empty() {
            return;
        }
        let is_method = func.kind() == Kind::Attribute
            && func.child(Field::Attr).is_some_and(|attr| HANDING_ON.contains(&attr.text()));
        if is_method {
            walk.extend(func.child(Field::Value));
            walk.extend(call.list(Field::Args));
            return;
        }
        let names = match func.kind() {
            Kind::Name | Kind::Attribute => self.semantic.qualified_names(func),
            _ => Vec::new(),
        };
        if names.iter().any(|name| PASSING.contains(&name.name.as_str())) {
            let arguments: Vec<Node<'a>> = call.list(Field::Args).take(MAX_ORIGINS).collect();
            if names.iter().any(|name| name.name == "builtins.map")
                && let Some(first) = arguments.first()
            {
                for function in self.functions(*first) {
                    walk.extend(self.returned(function).iter().copied());
                }
            }
            walk.extend(arguments);
        }
    }

    /// What a function or lambda gives back: what it returns and, one by one, what it yields.
    pub(super) fn returned(&mut self, function: Node<'a>) -> Rc<[Node<'a>]> {
        if let Some(known) = self.returns.get(&function.id()) {
            return Rc::clone(known);
        }
        let values: Vec<Node<'a>> = match function.kind() {
            Kind::Lambda => function.child(Field::Body).into_iter().collect(),
            _ => own_exits(function).filter_map(|exit| exit.child(Field::Value)).take(MAX_ORIGINS).collect(),
        };
        let values: Rc<[Node<'a>]> = values.into();
        self.returns.insert(function.id(), Rc::clone(&values));
        values
    }

    /// The functions and lambdas of this file that a called expression may be.
    fn functions(&self, called: Node<'a>) -> Vec<Node<'a>> {
        let semantic = self.semantic;
        let mut pending = vec![called];
        let mut found = Vec::new();
        let mut next = 0;
        while let Some(node) = pending.get(next).copied() {
            next += 1;
            let mut targets: Vec<Node<'a>> = Vec::new();
            match node.kind() {
                Kind::Lambda => found.push(node),
                Kind::IfExp => {
                    targets.extend(node.child(Field::Body));
                    targets.extend(node.child(Field::Orelse));
                }
                Kind::Name => {
                    let bindings = semantic.symbol_of(node).map(|symbol| &semantic.symbol(symbol).bindings);
                    let bindings = bindings.into_iter().flatten().take(MAX_CALLEES);
                    targets.extend(bindings.map(|id| semantic.parsed().node(semantic.binding(*id).node)));
                }
                Kind::Attribute => {
                    let class = member(semantic, node);
                    let mut definitions = class.into_iter().flat_map(|(class, name)| {
                        let classes = with_bases(semantic, class).into_iter();
                        classes.map(move |class| in_body(semantic, class, name))
                    });
                    // The nearest class that has the method decides.
                    targets.extend(definitions.find(|names| !names.is_empty()).unwrap_or_default());
                }
                _ => {}
            }
            for target in targets {
                let is_function = semantic
                    .binding_at(target.id())
                    .is_some_and(|binding| binding.kind == BindingKind::Function);
                let values = match is_function {
                    true => {
                        found.extend(target.parent());
                        continue;
                    }
                    false if target.kind().is_expression() && semantic.binding_at(target.id()).is_some() => {
                        assigned(target)
                    }
                    false => vec![target],
                };
                for value in values {
                    if pending.len() < MAX_CALLEES && !pending.contains(&value) {
                        pending.push(value);
                    }
                }
            }
        }
        found
    }

    /// What a parameter may get: its default, and the arguments of the calls in this file.
    pub(super) fn passed(&mut self, parameter: Node<'a>) -> Vec<Node<'a>> {
        let mut values: Vec<Node<'a>> = parameter.child(Field::Default).into_iter().collect();
        let Some(function) = parameter.parent().and_then(Node::parent) else { return values };
        let parameters: Vec<Node<'a>> =
            function.child(Field::Params).into_iter().flat_map(|list| list.list(Field::Params)).collect();
        let named: Vec<Node<'a>> =
            parameters.into_iter().filter(|item| item.kind() == Kind::Parameter).collect();
        let Some(index) = named.iter().position(|other| *other == parameter) else { return values };
        let name = parameter.child(Field::Name).map(Node::text);
        for (call, bound) in self.calls(function) {
            let position = index.checked_sub(bound);
            match parameter.parameter_kind() {
                Some(ParameterKind::PositionalOnly) if position.is_some() => {
                    values.extend(passed_at(call, position, None));
                }
                Some(ParameterKind::Positional) if position.is_some() => {
                    values.extend(passed_at(call, position, name));
                }
                Some(ParameterKind::KeywordOnly) => values.extend(passed_at(call, None, name)),
                Some(ParameterKind::Star) => {
                    let positional =
                        call.list(Field::Args).filter(|argument| argument.kind() != Kind::Keyword);
                    values.extend(positional.skip(position.unwrap_or(0)));
                }
                Some(ParameterKind::DoubleStar) => {
                    let is_other = |keyword: &Node<'a>| {
                        let keyword = keyword.child(Field::Keyword).map(Node::text);
                        named.iter().any(|other| {
                            keyword.is_some() && other.child(Field::Name).map(Node::text) == keyword
                        })
                    };
                    let keywords = call.list(Field::Args).filter(|argument| argument.kind() == Kind::Keyword);
                    values.extend(keywords.filter(|keyword| !is_other(keyword)));
                }
                _ => {}
            }
            if values.len() >= MAX_ORIGINS {
                break;
            }
        }
        values
    }

    /// The calls in this file of a function, each with the number of parameters that it fills without an argument.
    fn calls(&mut self, function: Node<'a>) -> Vec<(Node<'a>, usize)> {
        let semantic = self.semantic;
        let parent = function.parent();
        let names: Vec<Node<'a>> = match (function.kind(), parent) {
            (Kind::FunctionDef, Some(class)) if class.kind() == Kind::ClassDef => {
                return self.calls_of_method(function, class);
            }
            (Kind::FunctionDef, _) => function.child(Field::Name).into_iter().collect(),
            (_, Some(assignment)) if assignment.kind() == Kind::Assign => {
                assignment.list(Field::Targets).take(MAX_CALLEES).collect()
            }
            _ => Vec::new(),
        };
        let symbols = names.into_iter().filter_map(|name| semantic.symbol_of(name));
        let references = symbols.flat_map(|symbol| &semantic.symbol(symbol).references);
        let nodes = references.filter_map(|id| semantic.reference(*id).node);
        let calls = nodes.filter_map(|node| called_as(semantic.parsed().node(node)));
        calls.take(MAX_ORIGINS).map(|call| (call, 0)).collect()
    }

    fn calls_of_method(&mut self, method: Node<'a>, class: Node<'a>) -> Vec<(Node<'a>, usize)> {
        let semantic = self.semantic;
        let name = method.child(Field::Name).map_or("", Node::text);
        let mut calls = Vec::new();
        if matches!(name, "__init__" | "__new__") {
            calls.extend(calls_of_class(semantic, class).into_iter().map(|call| (call, 1)));
        }
        let is_static = is_decorated(method, &["staticmethod"]);
        let is_class_method = is_decorated(method, &["classmethod"]);
        for mention in self.mentions(class, name) {
            let Some(call) = called_as(mention) else { continue };
            let receiver = mention.child(Field::Value);
            let is_through_class = receiver.and_then(|receiver| class_named(semantic, receiver)).is_some();
            let is_bound = !is_static && (is_class_method || !is_through_class);
            calls.push((call, usize::from(is_bound)));
        }
        calls.truncate(MAX_ORIGINS);
        calls
    }
}

/// The arguments that a call gives to a parameter with this position and name. An unpacked argument may be for any of them.
pub(super) fn passed_at<'a>(call: Node<'a>, position: Option<usize>, name: Option<&str>) -> Vec<Node<'a>> {
    let mut values = Vec::new();
    let mut index = 0;
    for argument in call.list(Field::Args).take(MAX_ORIGINS) {
        match argument.kind() {
            Kind::Keyword => {
                let keyword = argument.child(Field::Keyword).map(Node::text);
                let is_meant = name.is_some() && (keyword.is_none() || keyword == name);
                values.extend(argument.child(Field::Value).filter(|_| is_meant));
            }
            Kind::Starred => {
                values
                    .extend(argument.child(Field::Value).filter(|_| position.is_some_and(|at| index <= at)));
            }
            _ => {
                values.extend((position == Some(index)).then_some(argument));
                index += 1;
            }
        }
    }
    values
}

/// The call whose function this expression is.
pub(super) fn called_as(func: Node<'_>) -> Option<Node<'_>> {
    func.parent().filter(|call| call.kind() == Kind::Call && func.field() == Field::Func)
}

pub(super) fn first_parameter(function: Node<'_>) -> Option<Node<'_>> {
    let first = function.child(Field::Params)?.list(Field::Params).next()?;
    let is_positional =
        matches!(first.parameter_kind(), Some(ParameterKind::PositionalOnly | ParameterKind::Positional));
    is_positional.then_some(first)
}

/// Whether a decorator's last word is one of these.
pub(super) fn is_decorated(function: Node<'_>, names: &[&str]) -> bool {
    function.list(Field::Decorators).any(|decorator| {
        let expression = decorator.child(Field::Expression).map_or("", Node::text);
        names.contains(&expression.rsplit('.').next().unwrap_or(expression))
    })
}

/// The `return`s and `yield`s of a function, not those of functions within.
fn own_exits(function: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut blocked_until = 0;
    function.descendants().filter(move |node| {
        if node.id().index() < blocked_until {
            return false;
        }
        if matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef | Kind::Lambda) {
            blocked_until = node.subtree_end();
        }
        matches!(node.kind(), Kind::Return | Kind::Yield | Kind::YieldFrom)
    })
}
