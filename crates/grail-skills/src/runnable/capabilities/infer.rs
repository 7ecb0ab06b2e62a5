//! From a script's text to what it can do.
//!
//! A name that is *mentioned* counts, not only one that is called: whoever wants to start a program has to name something that can, and
//! an alias, a parameter or a container in between changes nothing about that. What could name anything (`exec`, attributes by computed
//! names, a module handed on as a value) counts as [`Capability::Dynamic`]. Too much is possible, too little only within packages, whose
//! code is not here.

use std::collections::BTreeSet;
use std::rc::Rc;

use grail_code::imports::is_standard_library;
use grail_code::semantic::{BindingKind, Origin, ScopeKind, Semantic, SymbolId, is_builtin};
use grail_code::tree::string_literal;
use grail_code::{Context, Field, Kind, Node, Parsed, Source, parse_module};
use rustc_hash::FxHashMap;
use serde::Serialize;
use unicode_normalization::is_nfkc;

use super::table::{
    Effect, effect_of, effect_of_method, effect_of_path_method, has_effects_below, is_inside,
    is_powerful_module,
};
use super::{Capability, is_environment_name};

/// One place at which a script shows that it can do something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CapabilityUse {
    pub capability: Capability,
    /// From 1.
    pub line: usize,
    pub column: usize,
    /// The name that shows it: `subprocess.run`.
    pub by: String,
}

/// What a script can do, and what it imports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScriptCapabilities {
    /// In source order.
    pub uses: Vec<CapabilityUse>,
    /// Modules of Python itself.
    pub standard: BTreeSet<String>,
    /// Everybody else's: what these do inside is not known.
    pub third_party: BTreeSet<String>,
    /// Files of the skill's own.
    pub own: BTreeSet<String>,
}

impl ScriptCapabilities {
    /// Of a file whose text says nothing: what such a file may do.
    pub(crate) fn opaque(capability: Capability, by: &str) -> Self {
        let one = CapabilityUse { capability, line: 1, column: 1, by: by.to_owned() };
        Self { uses: vec![one], ..Self::default() }
    }

    /// Each once. Who reads more variables than anybody would go through reads any.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        let mut all: BTreeSet<Capability> = self.uses.iter().map(|one| one.capability.clone()).collect();
        let is_variable = |one: &Capability| matches!(one, Capability::Environment(Some(_)));
        if all.iter().filter(|one| is_variable(one)).count() > MAX_VARIABLES {
            all.retain(|one| !is_variable(one));
            all.insert(Capability::Environment(None));
        }
        all
    }
}

/// What a Python file can do. `own_modules` are the modules that lie beside it.
pub fn infer_capabilities(text: &str, own_modules: &BTreeSet<String>) -> ScriptCapabilities {
    let parsed = parse_module(Source::from_text(text));
    let semantic = Semantic::new(&parsed);
    let mut inference = Inference {
        parsed: &parsed,
        semantic: &semantic,
        works_with_paths: false,
        is_shared: own_modules.len() > 1,
        symbols: FxHashMap::default(),
        found: ScriptCapabilities::default(),
    };
    inference.imports(own_modules);
    inference.works_with_paths = semantic
        .bindings()
        .iter()
        .filter_map(|binding| binding.imported.as_deref())
        .any(|name| name.split('.').any(|part| part == "pathlib"));
    for node in parsed.nodes() {
        inference.node(node);
    }
    // Whoever runs it may understand what cannot be understood here.
    if let Some(error) = parsed.diagnostics().first() {
        inference.add_at(Capability::Dynamic, error.span.start, "code that cannot be parsed");
    }
    let mut found = inference.found;
    found.uses.sort_by(|a, b| (a.line, a.column, a).cmp(&(b.line, b.column, b)));
    found.uses.dedup();
    found
}

struct Inference<'s, 'a> {
    parsed: &'a Parsed,
    semantic: &'s Semantic<'a>,
    works_with_paths: bool,
    /// Other files of the skill may reach what this one imports.
    is_shared: bool,
    /// What was found out about names, once for each: a file may bind and use one a hundred thousand times.
    symbols: FxHashMap<SymbolId, Rc<SymbolFacts>>,
    found: ScriptCapabilities,
}

/// What the imports of a file make of a name.
#[derive(Default)]
struct SymbolFacts {
    /// The dotted names that it stands for.
    imported: Vec<String>,
    /// Some of them are modules.
    is_module: bool,
    /// There are more than anybody would read.
    is_boundless: bool,
}

/// How many variables are named one by one.
const MAX_VARIABLES: usize = 50;
/// How many imports may share a name.
const MAX_IMPORTS_OF_NAME: usize = 16;
/// No dotted name that means something has more parts.
const MAX_PARTS: usize = 12;

/// How many names and parts a constant text is followed through.
const MAX_CONSTANT_STEPS: usize = 64;

impl<'a> Inference<'_, 'a> {
    fn add(&mut self, capability: Capability, node: Node<'a>, by: impl Into<String>) {
        self.add_at(capability, node.span().start, by);
    }

    fn add_at(&mut self, capability: Capability, offset: u32, by: impl Into<String>) {
        let position = self.parsed.source().position(offset);
        self.found.uses.push(CapabilityUse {
            capability,
            line: position.line as usize,
            column: position.column as usize,
            by: by.into(),
        });
    }

    fn imports(&mut self, own_modules: &BTreeSet<String>) {
        for node in self.parsed.nodes() {
            let modules: Vec<&str> = match node.kind() {
                Kind::Import => {
                    node.list(Field::Names).filter_map(|name| Some(name.child(Field::Name)?.text())).collect()
                }
                Kind::ImportFrom if node.import_level() > 0 => {
                    self.found.own.insert(".".repeat(node.import_level().min(8) as usize));
                    continue;
                }
                Kind::ImportFrom => node.child(Field::Module).map(Node::text).into_iter().collect(),
                _ => continue,
            };
            for module in modules {
                let top = module.split('.').next().unwrap_or(module).trim().to_owned();
                let group = match () {
                    () if own_modules.contains(&top) => &mut self.found.own,
                    () if is_standard_library(&top) => &mut self.found.standard,
                    () => &mut self.found.third_party,
                };
                group.insert(top);
            }
        }
    }

    fn node(&mut self, node: Node<'a>) {
        // Python takes `ｅｘｅｃ` for `exec`; who writes it so does not want it to be read.
        let is_identifier = matches!(node.kind(), Kind::Name | Kind::Identifier);
        if is_identifier && !node.text().is_ascii() && !is_nfkc(node.text()) {
            self.add(Capability::Dynamic, node, "a name in other letters");
        }
        match node.kind() {
            Kind::Import | Kind::ImportFrom => self.import(node),
            Kind::Name if node.context() == Some(Context::Load) => self.name(node),
            Kind::Attribute => self.attribute(node),
            Kind::Call => self.call(node),
            _ => {}
        }
    }

    /// An import shows what it brings in, whether or not it is used.
    fn import(&mut self, statement: Node<'a>) {
        let module = statement.child(Field::Module).map_or("", Node::text);
        let scope = self.semantic.scope(self.semantic.scope_of(statement)).kind;
        for alias in statement.list(Field::Names) {
            let Some(name) = alias.child(Field::Name) else { continue };
            let dotted = match statement.kind() {
                Kind::ImportFrom if name.text() == "*" => {
                    self.add(Capability::Dynamic, alias, format!("from {module} import *"));
                    module.to_owned()
                }
                Kind::ImportFrom => format!("{module}.{}", name.text()),
                _ => name.text().to_owned(),
            };
            if scope == ScopeKind::Class {
                self.add(Capability::Dynamic, alias, format!("{dotted} as an attribute of a class"));
            }
            // Another file reaches it as `module.alias`, where nobody knows what it is.
            let can_be_reached = self.is_shared && scope == ScopeKind::Module;
            if can_be_reached && alias.child(Field::Asname).is_some() && has_effects_below(&dotted) {
                self.add(Capability::Dynamic, alias, format!("{dotted} under another name"));
            }
            for (name, effect) in effects(&dotted) {
                match effect {
                    Effect::Uses(capabilities) => {
                        for capability in capabilities {
                            self.add(capability.clone(), alias, name);
                        }
                    }
                    // How a file is opened or which variable is read shows where the name is used: here, or who knows where.
                    effect if can_be_reached => self.effect(alias, name, effect),
                    _ => {}
                }
            }
        }
    }

    /// A dotted name, from its first part: looked up as a whole.
    fn name(&mut self, name: Node<'a>) {
        let (whole, parts) = chain_above(name);
        for dotted in self.dotted_names(whole) {
            for (known, effect) in effects(&dotted) {
                self.effect(whole, known, effect);
            }
        }
        if self.semantic.symbol_of(name).is_none()
            && ["__builtins__", "__loader__", "__spec__"].contains(&name.text())
        {
            self.add(Capability::Dynamic, name, name.text());
        }
        let facts = self.facts(name);
        if parts > MAX_PARTS && !facts.imported.is_empty() {
            self.add(Capability::Dynamic, name, format!("{} with too many parts behind it", name.text()));
        }
        if facts.is_boundless {
            self.add(Capability::Dynamic, name, format!("{} with too many meanings", name.text()));
        }
        if whole.id() == name.id() && facts.is_module && !self.is_looked_into(name) {
            self.add(Capability::Dynamic, name, format!("{} as a value", name.text()));
        }
    }

    /// What imports and Python itself make of `a.b.c`, for each way its first name may be bound.
    fn dotted_names(&mut self, expression: Node<'a>) -> Vec<String> {
        let mut attributes = Vec::new();
        let mut root = expression;
        while root.kind() == Kind::Attribute && attributes.len() < MAX_PARTS {
            let (Some(value), Some(attribute)) = (root.child(Field::Value), root.child(Field::Attr)) else {
                break;
            };
            attributes.push(attribute.text());
            root = value;
        }
        if root.kind() != Kind::Name {
            return Vec::new();
        }
        let below: String = attributes.iter().rev().flat_map(|attribute| [".", attribute]).collect();
        if self.semantic.symbol_of(root).is_none() {
            return is_builtin(root.text())
                .then(|| format!("builtins.{}{below}", root.text()))
                .into_iter()
                .collect();
        }
        self.facts(root).imported.iter().map(|name| format!("{name}{below}")).collect()
    }

    fn facts(&mut self, name: Node<'a>) -> Rc<SymbolFacts> {
        let Some(symbol) = self.semantic.symbol_of(name) else { return Rc::default() };
        if let Some(facts) = self.symbols.get(&symbol) {
            return Rc::clone(facts);
        }
        let bindings = self.semantic.symbol(symbol).bindings.iter().map(|id| self.semantic.binding(*id));
        let is_module = bindings.clone().any(|binding| match (binding.kind, binding.imported.as_deref()) {
            (BindingKind::Import, Some(_)) => true,
            // `from os import path`, `from logging import os`
            (BindingKind::ImportFrom, Some(dotted)) => {
                dotted == "os.path"
                    || dotted.rsplit('.').next().is_some_and(|last| is_powerful_module(public(last)))
            }
            _ => false,
        });
        let imported: BTreeSet<String> = match bindings.clone().any(|binding| binding.imported.is_some()) {
            true => {
                let names = self.semantic.symbol_names(symbol).into_iter();
                names.filter(|name| name.origin == Origin::Import).map(|name| name.name).collect()
            }
            false => BTreeSet::new(),
        };
        let is_boundless = imported.len() > MAX_IMPORTS_OF_NAME;
        let imported = imported.into_iter().take(MAX_IMPORTS_OF_NAME).collect();
        let facts = Rc::new(SymbolFacts { imported, is_module, is_boundless });
        self.symbols.insert(symbol, Rc::clone(&facts));
        facts
    }

    fn is_module(&mut self, name: Node<'a>) -> bool {
        self.facts(name).is_module
    }

    /// `getattr(module, …)` is judged by the attribute it asks for.
    fn is_looked_into(&mut self, name: Node<'a>) -> bool {
        name.parent()
            .is_some_and(|call| self.attribute_call(call).is_some_and(|(object, _)| object.id() == name.id()))
    }

    /// The object and the attribute of `getattr(object, attribute)` and its like.
    fn attribute_call(&mut self, call: Node<'a>) -> Option<(Node<'a>, Option<Node<'a>>)> {
        let is_asking = ["builtins.getattr", "builtins.hasattr"].iter().any(|name| self.calls(call, name));
        let mut arguments = call.list(Field::Args);
        is_asking.then(|| Some((arguments.next()?, arguments.next())))?
    }

    /// Whether this is a call of the function that goes by `name`.
    fn calls(&mut self, call: Node<'a>, name: &str) -> bool {
        let function = (call.kind() == Kind::Call).then(|| call.child(Field::Func)).flatten();
        function
            .filter(|function| matches!(function.kind(), Kind::Name | Kind::Attribute))
            .is_some_and(|function| self.dotted_names(function).iter().any(|dotted| dotted == name))
    }

    fn call(&mut self, call: Node<'a>) {
        if let Some((object, attribute)) = self.attribute_call(call) {
            self.asked_attribute(call, object, attribute);
            return;
        }
        // `vars()` of anything but the script's own objects opens a module.
        if self.calls(call, "builtins.vars") {
            let is_own = call
                .list(Field::Args)
                .next()
                .is_some_and(|argument| argument.kind() == Kind::Name && !self.is_module(argument));
            if !is_own {
                self.add(Capability::Dynamic, call, "vars");
            }
        }
    }

    fn asked_attribute(&mut self, call: Node<'a>, object: Node<'a>, attribute: Option<Node<'a>>) {
        let Some(name) = attribute.and_then(|node| self.constant(node)) else {
            // Methods of one's own by computed names are a common way to dispatch, and lead nowhere else.
            let is_self = object.kind() == Kind::Name
                && ["self", "cls"].contains(&object.text())
                && !self.is_module(object);
            if !is_self || attribute.is_none() {
                self.add(Capability::Dynamic, call, "getattr by a computed name");
            }
            return;
        };
        for dotted in self.dotted_names(object) {
            for (known, effect) in effects(&format!("{dotted}.{name}")) {
                self.effect(call, known, effect);
            }
        }
        self.member(call, object, &name);
    }

    /// An attribute of something that has no dotted name, or of something that has: its own name may tell enough.
    fn attribute(&mut self, node: Node<'a>) {
        let (Some(object), Some(attribute)) = (node.child(Field::Value), node.child(Field::Attr)) else {
            return;
        };
        self.member(node, object, attribute.text());
    }

    fn member(&mut self, node: Node<'a>, object: Node<'a>, name: &str) {
        if is_inside(name) {
            let is_own = object.kind() == Kind::Name && object.text() == "self" && name == "__dict__";
            if !is_own {
                self.add(Capability::Dynamic, node, name);
            }
            return;
        }
        let is_named = self.dotted_names(object).iter().any(|dotted| !dotted.starts_with("builtins."));
        // Of `logging.os` the table knows; of `something().os` nobody does.
        if !is_named && ["os", "sys", "builtins", "importlib", "subprocess", "posix"].contains(&public(name))
        {
            self.add(Capability::Dynamic, node, format!(".{name}"));
        }
        let is_called =
            node.parent().is_some_and(|call| call.kind() == Kind::Call && node.field() == Field::Func);
        if name == "open" && !is_named && is_called {
            self.effect(node, ".open", Effect::Opens(0));
        }
        let effect = effect_of_method(name)
            .or_else(|| effect_of_path_method(name).filter(|_| self.works_with_paths && !is_named))
            .or_else(|| {
                (name == "replace" && self.works_with_paths && self.has_one_argument(node))
                    .then_some(REPLACES)
            });
        if let Some(effect) = effect {
            self.effect(node, &format!(".{name}"), effect);
        }
    }

    /// `operator.attrgetter("a.b")`: an attribute that is asked for later.
    fn getter(&mut self, node: Node<'a>, by: &str) {
        let arguments: Option<Vec<String>> = called(node)
            .and_then(|call| call.list(Field::Args).map(|argument| self.constant(argument)).collect());
        let parts = arguments.iter().flatten().flat_map(|path| path.split('.'));
        let is_plain = arguments.is_some()
            && parts.clone().all(|part| {
                !is_inside(part) && !is_powerful_module(part) && effect_of_method(part).is_none()
            });
        if !is_plain {
            self.add(Capability::Dynamic, node, by);
        }
    }

    /// `path.replace(target)` moves a file; `text.replace(a, b)` has two arguments.
    fn has_one_argument(&self, method: Node<'a>) -> bool {
        method.parent().is_some_and(|call| call.kind() == Kind::Call && call.list(Field::Args).count() == 1)
    }

    fn effect(&mut self, node: Node<'a>, name: &str, effect: Effect) {
        match effect {
            Effect::Nothing => {}
            Effect::Uses(capabilities) => {
                for capability in capabilities {
                    self.add(capability.clone(), node, name);
                }
            }
            Effect::Opens(place) => {
                let capability = self.opened(node, place);
                self.add(capability, node, name);
            }
            Effect::OpensByFlags => {
                let flags = called(node).and_then(|call| call.list(Field::Args).nth(1));
                let is_reading = flags.is_some_and(|flags| self.dotted_names(flags) == ["os.O_RDONLY"]);
                let capability = if is_reading { Capability::ReadFiles } else { Capability::WriteFiles };
                self.add(capability, node, name);
            }
            Effect::ReadsVariable => {
                let variable = called(node).and_then(|call| call.list(Field::Args).next());
                self.variable(node, variable, name);
            }
            Effect::Environment => self.environment(node, name),
            // Called, it is judged by what it is asked for; handed on, it can be asked for anything.
            Effect::AsksAttribute if called(node).is_some() => {}
            Effect::AsksAttribute => self.add(Capability::Dynamic, node, name),
            Effect::MakesGetter => self.getter(node, name),
        }
    }

    /// Reading or writing, by the mode; a mode that is not plain to see may be any.
    fn opened(&self, node: Node<'a>, place: usize) -> Capability {
        let Some(call) = called(node) else { return Capability::WriteFiles };
        let mut positional = Vec::new();
        let mut mode = None;
        for argument in call.list(Field::Args) {
            match argument.kind() {
                Kind::Starred => return Capability::WriteFiles,
                Kind::Keyword => match argument.child(Field::Keyword).map(Node::text) {
                    None => return Capability::WriteFiles,
                    Some("mode") => mode = argument.child(Field::Value),
                    Some("opener") => return Capability::WriteFiles,
                    Some(_) => {}
                },
                _ => positional.push(argument),
            }
        }
        let Some(mode) = mode.or(positional.get(place).copied()) else { return Capability::ReadFiles };
        match self.constant(mode) {
            Some(mode) if !mode.contains(['w', 'a', 'x', '+']) => Capability::ReadFiles,
            _ => Capability::WriteFiles,
        }
    }

    /// `os.environ["A"]`, `os.environ.get("A")`, `"A" in os.environ`; every other use reads them all.
    fn environment(&mut self, node: Node<'a>, name: &str) {
        // The chain goes on where a method is called: `os.environ.get`.
        let (mapping, method) = match node.child(Field::Attr).map(Node::text) {
            Some("environ" | "environb") | None => (node, None),
            Some(method) => (node.child(Field::Value).unwrap_or(node), Some(method)),
        };
        let parent = mapping.parent();
        let variable = match (method, parent.map(Node::kind)) {
            (Some("get" | "pop" | "setdefault" | "__getitem__" | "__contains__"), _) => {
                called(node).and_then(|call| call.list(Field::Args).next())
            }
            (None, Some(Kind::Subscript)) if mapping.field() == Field::Value => {
                parent.and_then(|subscript| subscript.child(Field::Slice))
            }
            (None, Some(Kind::ComparisonTarget)) => {
                parent.and_then(Node::parent).and_then(|compare| compare.child(Field::Left))
            }
            _ => None,
        };
        self.variable(node, variable, name);
    }

    fn variable(&mut self, node: Node<'a>, variable: Option<Node<'a>>, by: &str) {
        let name =
            variable.and_then(|variable| self.constant(variable)).filter(|name| is_environment_name(name));
        self.add(Capability::Environment(name), node, by);
    }

    /// The text that an expression always is, through `+` and names that are bound once.
    fn constant(&self, expression: Node<'a>) -> Option<String> {
        let mut text = String::new();
        let mut pending = vec![expression];
        let mut steps = 0;
        while let Some(node) = pending.pop() {
            steps += 1;
            if steps > MAX_CONSTANT_STEPS {
                return None;
            }
            match node.kind() {
                Kind::String | Kind::Bytes => text.push_str(&string_literal(node)?.value()),
                Kind::ConcatenatedString => {
                    // One more than are looked at: a text that goes on is none.
                    let parts: Vec<Node<'a>> = node.children().take(MAX_CONSTANT_STEPS + 1).collect();
                    pending.extend(parts.into_iter().rev());
                }
                Kind::BinOp if node.child(Field::Op).is_some_and(|operator| operator.text() == "+") => {
                    pending.extend([node.child(Field::Right)?, node.child(Field::Left)?]);
                }
                Kind::Name => pending.push(self.only_value(node)?),
                _ => return None,
            }
        }
        Some(text)
    }

    /// The value of a name that is bound in one place, by a plain assignment.
    fn only_value(&self, name: Node<'a>) -> Option<Node<'a>> {
        let symbol = self.semantic.symbol(self.semantic.symbol_of(name)?);
        let [binding] = symbol.bindings.as_slice() else { return None };
        let binding = self.semantic.binding(*binding);
        let target = self.parsed.node(binding.node);
        let statement = target.parent()?;
        let is_plain = binding.kind == BindingKind::Assignment
            && symbol.declarations.is_empty()
            && matches!(statement.kind(), Kind::Assign | Kind::AnnAssign)
            && matches!(target.field(), Field::Targets | Field::Target);
        is_plain.then(|| statement.child(Field::Value))?
    }
}

const REPLACES: Effect = Effect::Uses(&[Capability::WriteFiles]);

/// What the table says of a dotted name, and of the powerful modules that it leads through: `logging.os.system`.
fn effects(dotted: &str) -> Vec<(&str, Effect)> {
    let mut found: Vec<(&str, Effect)> =
        effect_of(dotted).map(|effect| (dotted, effect)).into_iter().collect();
    for (at, _) in dotted.match_indices('.') {
        let rest = public(&dotted[at + 1..]);
        let module = rest.split('.').next().unwrap_or(rest);
        if is_powerful_module(module) || rest.contains('.') {
            found.extend(effect_of(rest).map(|effect| (rest, effect)));
        }
    }
    found
}

/// Modules are often imported under a private name: `random._os` is `os`.
fn public(name: &str) -> &str {
    name.trim_start_matches('_')
}

/// The whole of the dotted name that starts with `name`, and how many parts follow.
fn chain_above(name: Node<'_>) -> (Node<'_>, usize) {
    let mut whole = name;
    let mut parts = 0;
    while let Some(parent) = whole.parent() {
        if parent.kind() != Kind::Attribute || whole.field() != Field::Value {
            break;
        }
        whole = parent;
        parts += 1;
    }
    (whole, parts)
}

/// The call whose function this is; of a call, itself.
fn called(node: Node<'_>) -> Option<Node<'_>> {
    let parent = node.parent()?;
    (parent.kind() == Kind::Call && node.field() == Field::Func).then_some(parent)
}
