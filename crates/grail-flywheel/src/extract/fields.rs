//! Which fields of tool results a program goes on to use.
//!
//! Values are followed from a call of a tool through names, loops, comprehensions, unpacking, branches and the functions of the same
//! file, in one walk without recursion that is made twice (a loop or a function may use what is bound further down). A list is looked
//! through: `search.name` is the field of an element as well as of a single result. What is not known to be a field is not named:
//! methods, computed keys, and anything in code that does not parse.

use std::collections::{BTreeMap, BTreeSet};

use grail_code::semantic::SymbolId;
use grail_code::tree::string_literal;
use grail_code::{Context, Field, Kind, Node, NodeId, Parsed, Semantic, Source, parse_module};
use rustc_hash::FxHashMap;

/// Longer programs are not looked at.
const MAX_CODE_BYTES: usize = 1024 * 1024;
/// A value that may be more things than this is nothing that can be told.
const MAX_ORIGINS: usize = 8;
/// Fields of fields of fields.
const MAX_DEPTH: usize = 6;
/// Longer names are no fields.
const MAX_NAME_BYTES: usize = 80;
/// More fields are not told.
const MAX_FIELDS: usize = 256;

/// Functions whose result holds the same elements as their first argument.
const SAME_ELEMENTS: [&str; 10] =
    ["sorted", "list", "tuple", "reversed", "iter", "next", "set", "max", "min", "dict"];

/// The fields of the results of `tools` that `code` uses, as `tool.field` or `tool.field.field`, sorted. Nothing for code that does not
/// parse.
pub fn fields_accessed(code: &str, tools: &[&str]) -> Vec<String> {
    tool_flow(code, tools).fields
}

/// What a program does with the results of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFlow {
    /// As [`fields_accessed`] tells them.
    pub fields: Vec<String>,
    /// Pairs of tools: what the first gave is part of an argument of the second.
    pub feeds: BTreeSet<(String, String)>,
}

/// The fields that a program uses, and which tools' results go into other tools' arguments.
pub fn tool_flow(code: &str, tools: &[&str]) -> ToolFlow {
    if tools.is_empty() || code.len() > MAX_CODE_BYTES || !tools.iter().any(|tool| code.contains(tool)) {
        return ToolFlow::default();
    }
    let parsed = parse_module(Source::from_text(code));
    if !parsed.is_valid() {
        return ToolFlow::default();
    }
    let semantic = Semantic::new(&parsed);
    let mut walk = Walk::new(&parsed, &semantic, tools);
    walk.run();
    // What is bound at the end holds for functions that are called later and for the next round of a loop.
    walk.run();
    let named = |(from, to): &(usize, usize)| (tools[*from].to_owned(), tools[*to].to_owned());
    ToolFlow { fields: walk.told(), feeds: walk.feeds.iter().map(named).collect() }
}

/// Where a value comes from: a tool, and the fields that lead to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    tool: usize,
    fields: Vec<String>,
}

/// All that a value may be.
type Origins = Vec<Path>;

enum Step {
    Enter(NodeId),
    Leave(NodeId),
    OpenBranch,
    CloseBranch,
    /// What a loop bound in the walk before holds when its next round starts.
    NextRound(NodeId),
    /// All branches of a statement are known. It is complete if one of them always runs.
    Join {
        statement: NodeId,
        branches: usize,
        is_complete: bool,
    },
}

struct Walk<'a> {
    parsed: &'a Parsed,
    semantic: &'a Semantic<'a>,
    tools: &'a [&'a str],
    /// By node, for expressions that hold results.
    values: FxHashMap<NodeId, Origins>,
    names: FxHashMap<SymbolId, Origins>,
    /// What functions of this file return.
    returned: FxHashMap<SymbolId, Origins>,
    functions: Vec<Option<SymbolId>>,
    /// Names bound within open branches, with what they had been.
    changes: Vec<(SymbolId, Origins)>,
    branches: Vec<usize>,
    /// What closed branches bound, by statement.
    closed: Vec<Vec<(SymbolId, Origins)>>,
    /// What loops ended with.
    rounds: FxHashMap<NodeId, Vec<(SymbolId, Origins)>>,
    used: BTreeSet<Path>,
    written: BTreeSet<Path>,
    feeds: BTreeSet<(usize, usize)>,
    /// How many nodes of arguments may still be looked at, so that calls within calls cost no more than code of their length.
    budget: usize,
}

impl<'a> Walk<'a> {
    fn new(parsed: &'a Parsed, semantic: &'a Semantic<'a>, tools: &'a [&'a str]) -> Self {
        Self {
            parsed,
            semantic,
            tools,
            values: FxHashMap::default(),
            names: FxHashMap::default(),
            returned: FxHashMap::default(),
            functions: Vec::new(),
            changes: Vec::new(),
            branches: Vec::new(),
            closed: Vec::new(),
            rounds: FxHashMap::default(),
            used: BTreeSet::new(),
            written: BTreeSet::new(),
            feeds: BTreeSet::new(),
            budget: parsed.len().saturating_mul(8),
        }
    }

    fn told(&self) -> Vec<String> {
        let is_written = |path: &Path| self.written.contains(path);
        let told = self.used.iter().filter(|path| !is_written(path)).take(MAX_FIELDS);
        let mut told: Vec<String> =
            told.map(|path| format!("{}.{}", self.tools[path.tool], path.fields.join("."))).collect();
        told.sort();
        told
    }

    fn run(&mut self) {
        self.values.clear();
        let mut steps = vec![Step::Enter(self.parsed.root().id())];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(id) => self.enter(self.parsed.node(id), &mut steps),
                Step::Leave(id) => self.leave(self.parsed.node(id)),
                Step::OpenBranch => self.branches.push(self.changes.len()),
                Step::CloseBranch => self.close_branch(),
                Step::NextRound(id) => {
                    for (symbol, origins) in self.rounds.remove(&id).unwrap_or_default() {
                        self.bind_also(symbol, origins);
                    }
                }
                Step::Join { statement, branches, is_complete } => {
                    self.join(self.parsed.node(statement), branches, is_complete);
                }
            }
        }
    }

    /// Children in the order in which they run, with the branches of a statement set apart.
    fn enter(&mut self, node: Node<'a>, steps: &mut Vec<Step>) {
        if node.kind() == Kind::FunctionDef {
            let name = node.child(Field::Name).and_then(|name| self.semantic.symbol_of(name));
            self.functions.push(name);
        }
        let start = steps.len();
        steps.push(Step::Leave(node.id()));
        match node.kind() {
            Kind::If | Kind::For | Kind::While | Kind::Try | Kind::Match => self.enter_branches(node, steps),
            // A comprehension names what it makes before it says of what.
            Kind::ListComp | Kind::SetComp | Kind::GeneratorExp | Kind::DictComp => {
                steps.extend(node.list(Field::Generators).map(|child| Step::Enter(child.id())));
                let made = node.children().filter(|child| child.field() != Field::Generators);
                steps.extend(made.map(|child| Step::Enter(child.id())));
                steps[start + 1..].reverse();
            }
            Kind::Comprehension | Kind::Assign | Kind::NamedExpr => {
                let is_target = |child: &Node<'_>| matches!(child.field(), Field::Target | Field::Targets);
                steps.extend(node.children().filter(is_target).map(|child| Step::Enter(child.id())));
                let others = node.children().filter(|child| !is_target(child));
                let first = steps.len();
                steps.extend(others.map(|child| Step::Enter(child.id())));
                steps[first..].reverse();
            }
            _ => {
                steps.extend(node.children().map(|child| Step::Enter(child.id())));
                steps[start + 1..].reverse();
            }
        }
    }

    fn enter_branches(&mut self, node: Node<'a>, steps: &mut Vec<Step>) {
        let is_branch = |child: &Node<'_>| {
            let field = child.field();
            matches!(field, Field::Body | Field::Elifs | Field::Orelse | Field::Handlers | Field::Cases)
        };
        let first = steps.len();
        steps.extend(node.children().filter(|child| !is_branch(child)).map(|child| Step::Enter(child.id())));
        // What always runs comes before the branches, except `finally`.
        let last = steps[first..]
            .iter()
            .position(|step| matches!(step, Step::Enter(id) if self.parsed.node(*id).kind() == Kind::Finally))
            .map(|at| steps.remove(first + at));
        let mut branches = 0;
        let mut has_body = false;
        let mut is_complete = false;
        for child in node.children().filter(is_branch) {
            if child.field() == Field::Body {
                if !has_body {
                    steps.extend([Step::OpenBranch, Step::NextRound(node.id())]);
                    has_body = true;
                    branches += 1;
                }
                steps.push(Step::Enter(child.id()));
                continue;
            }
            if has_body {
                steps.push(Step::CloseBranch);
                has_body = false;
            }
            is_complete |= node.kind() == Kind::If && child.kind() == Kind::Else;
            branches += 1;
            steps.extend([Step::OpenBranch, Step::Enter(child.id()), Step::CloseBranch]);
        }
        if has_body {
            steps.push(Step::CloseBranch);
        }
        steps.push(Step::Join { statement: node.id(), branches, is_complete });
        steps.extend(last);
        self.closed.push(Vec::new());
        steps[first..].reverse();
    }

    fn close_branch(&mut self) {
        let start = self.branches.pop().unwrap_or_default();
        let changes = self.changes.split_off(start.min(self.changes.len()));
        let mut bound: BTreeMap<usize, (SymbolId, Origins)> = BTreeMap::new();
        for (symbol, before) in changes.into_iter().rev() {
            let after = self.names.insert(symbol, before).unwrap_or_default();
            // The last of them is what the branch ends with: seen first from behind.
            bound.entry(symbol.index()).or_insert((symbol, after));
        }
        if let Some(closed) = self.closed.last_mut() {
            closed.extend(bound.into_values());
        }
    }

    fn join(&mut self, statement: Node<'a>, branches: usize, is_complete: bool) {
        let closed = self.closed.pop().unwrap_or_default();
        if matches!(statement.kind(), Kind::For | Kind::While) {
            self.rounds.insert(statement.id(), closed.clone());
        }
        let mut by_symbol: BTreeMap<usize, (SymbolId, usize, Origins)> = BTreeMap::new();
        for (symbol, origins) in closed {
            let joined = by_symbol.entry(symbol.index()).or_insert((symbol, 0, Vec::new()));
            joined.1 += 1;
            add_origins(&mut joined.2, &origins);
        }
        for (symbol, count, origins) in by_symbol.into_values() {
            match is_complete && count == branches {
                true => self.bind(symbol, origins),
                false => self.bind_also(symbol, origins),
            }
        }
    }

    /// Binds a name to what it has been or to something else.
    fn bind_also(&mut self, symbol: SymbolId, mut origins: Origins) {
        add_origins(&mut origins, self.names.get(&symbol).map_or(&[][..], Vec::as_slice));
        self.bind(symbol, origins);
    }

    fn bind(&mut self, symbol: SymbolId, origins: Origins) {
        let before = self.names.insert(symbol, origins).unwrap_or_default();
        if !self.branches.is_empty() {
            self.changes.push((symbol, before));
        }
    }

    fn leave(&mut self, node: Node<'a>) {
        if let Some(origins) = self.value_of(node).filter(|origins| !origins.is_empty()) {
            self.values.insert(node.id(), origins);
        }
        match node.kind() {
            Kind::Assign => {
                if let Some(value) = node.child(Field::Value) {
                    node.list(Field::Targets).for_each(|target| self.assign(target, value));
                }
            }
            Kind::AnnAssign | Kind::NamedExpr => {
                if let (Some(target), Some(value)) = (node.child(Field::Target), node.child(Field::Value)) {
                    self.assign(target, value);
                }
            }
            Kind::WithItem => {
                if let (Some(value), Some(target)) =
                    (node.child(Field::ContextExpr), node.child(Field::OptionalVars))
                {
                    self.assign(target, value);
                }
            }
            Kind::Return => {
                let function = self.functions.last().copied().flatten();
                let origins = node.child(Field::Value).map(|value| self.origins(value)).unwrap_or_default();
                if let Some(function) = function.filter(|_| !origins.is_empty()) {
                    add_origins(self.returned.entry(function).or_default(), &origins);
                }
            }
            Kind::FunctionDef => drop(self.functions.pop()),
            _ => {}
        }
        // The target of a loop is bound before its body runs.
        let loops = |parent: &Node<'_>| matches!(parent.kind(), Kind::For | Kind::Comprehension);
        if node.field() == Field::Iter
            && let Some(target) = node.parent().filter(loops).and_then(|parent| parent.child(Field::Target))
        {
            self.assign_element(target, node);
        }
    }

    fn origins(&self, node: Node<'_>) -> Origins {
        self.values.get(&node.id()).cloned().unwrap_or_default()
    }

    /// What an expression may hold, when its parts are known.
    fn value_of(&mut self, node: Node<'a>) -> Option<Origins> {
        match node.kind() {
            Kind::Name if node.context() == Some(Context::Load) => {
                self.names.get(&self.semantic.symbol_of(node)?).cloned()
            }
            Kind::Await | Kind::Starred => Some(self.origins(node.child(Field::Value)?)),
            Kind::NamedExpr => Some(self.origins(node.child(Field::Value)?)),
            Kind::BoolOp => {
                let mut joined = Vec::new();
                node.list(Field::Values).for_each(|value| add_origins(&mut joined, &self.origins(value)));
                Some(joined)
            }
            Kind::IfExp => {
                let mut joined = self.origins(node.child(Field::Body)?);
                add_origins(&mut joined, &self.origins(node.child(Field::Orelse)?));
                Some(joined)
            }
            Kind::ListComp | Kind::SetComp | Kind::GeneratorExp => {
                Some(self.origins(node.child(Field::Elt)?))
            }
            Kind::List | Kind::Set => {
                let mut joined = Vec::new();
                node.list(Field::Elts).for_each(|value| add_origins(&mut joined, &self.origins(value)));
                Some(joined)
            }
            Kind::Attribute => {
                let is_called = node.field() == Field::Func;
                let base = self.origins(node.child(Field::Value)?);
                let name = node.child(Field::Attr)?.text();
                if is_called { None } else { Some(self.access(base, name, node.context())) }
            }
            Kind::Subscript => {
                let base = self.origins(node.child(Field::Value)?);
                let slice = node.child(Field::Slice)?;
                match slice.kind() {
                    Kind::String => Some(self.access(base, &string_literal(slice)?.value(), node.context())),
                    Kind::Integer | Kind::Slice | Kind::UnaryOp => Some(base),
                    _ => None,
                }
            }
            Kind::Call => self.value_of_call(node),
            _ => None,
        }
    }

    fn value_of_call(&mut self, call: Node<'a>) -> Option<Origins> {
        let function = call.child(Field::Func)?;
        if let Some(tool) = self.tool_of(function) {
            self.note_feeds(call, tool);
            return Some(vec![Path { tool, fields: Vec::new() }]);
        }
        let mut arguments = call.list(Field::Args);
        if function.kind() == Kind::Attribute {
            let base = self.origins(function.child(Field::Value)?);
            return match function.child(Field::Attr)?.text() {
                "get" => {
                    let key = arguments.next().and_then(string_literal)?;
                    Some(self.access(base, &key.value(), Some(Context::Load)))
                }
                "copy" => Some(base),
                _ => None,
            };
        }
        let first = arguments.next();
        let Some(symbol) = self.semantic.symbol_of(function) else {
            let name = function.text();
            if name == "getattr" {
                let base = self.origins(first?);
                let key = arguments.next().and_then(string_literal)?;
                return Some(self.access(base, &key.value(), Some(Context::Load)));
            }
            return SAME_ELEMENTS.contains(&name).then(|| first.map(|first| self.origins(first)))?;
        };
        self.returned.get(&symbol).cloned()
    }

    fn note_feeds(&mut self, call: Node<'a>, tool: usize) {
        for part in call.list(Field::Args).flat_map(Node::subtree) {
            let Some(left) = self.budget.checked_sub(1) else { return };
            self.budget = left;
            let origins = self.values.get(&part.id()).map_or(&[][..], Vec::as_slice);
            self.feeds.extend(origins.iter().map(|path| (path.tool, tool)));
        }
    }

    /// The tool that is called: by its own name, where nothing of this file has it, or as a member of something imported or given.
    fn tool_of(&self, function: Node<'_>) -> Option<usize> {
        let is_given = |name: Node<'_>| {
            let symbol = self.semantic.symbol_of(name);
            symbol.is_none_or(|symbol| {
                let bindings = &self.semantic.symbol(symbol).bindings;
                bindings.iter().all(|id| self.semantic.binding(*id).imported.is_some())
            })
        };
        match function.kind() {
            Kind::Name if is_given(function) => self.tool_named(function.text()),
            Kind::Attribute => {
                let base = function.child(Field::Value).filter(|base| base.kind() == Kind::Name)?;
                let member = function.child(Field::Attr)?.text();
                if !is_given(base) {
                    return None;
                }
                self.tool_named(&format!("{}.{member}", base.text())).or_else(|| self.tool_named(member))
            }
            _ => None,
        }
    }

    fn tool_named(&self, name: &str) -> Option<usize> {
        self.tools.iter().position(|tool| *tool == name)
    }

    /// Notes that a field is used (or written), and says what it holds.
    fn access(&mut self, base: Origins, name: &str, context: Option<Context>) -> Origins {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(char::is_control) {
            return Vec::new();
        }
        let longer = |mut path: Path| {
            path.fields.push(name.to_owned());
            path
        };
        let deep_enough = base.into_iter().filter(|path| path.fields.len() < MAX_DEPTH);
        let reached: Origins = deep_enough.map(longer).collect();
        let noted = if context == Some(Context::Load) || context.is_none() {
            &mut self.used
        } else {
            &mut self.written
        };
        noted.extend(reached.iter().cloned());
        reached
    }

    /// Binds a target to a value, part by part where both have parts.
    fn assign(&mut self, target: Node<'a>, value: Node<'a>) {
        let mut waiting = vec![(target, Some(value))];
        while let Some((target, value)) = waiting.pop() {
            match target.kind() {
                Kind::Name => {
                    if let Some(symbol) = self.semantic.symbol_of(target) {
                        let origins = value.map(|value| self.origins(value)).unwrap_or_default();
                        self.bind(symbol, origins);
                    }
                }
                Kind::Tuple | Kind::List => {
                    let parts: Vec<Node<'a>> = value.map(parts_of).unwrap_or_default();
                    let whole = value.filter(|_| parts.is_empty());
                    for (number, part) in target.list(Field::Elts).enumerate() {
                        waiting.push((part, parts.get(number).copied().or(whole)));
                    }
                }
                Kind::Starred => waiting.extend(target.child(Field::Value).map(|target| (target, value))),
                _ => {}
            }
        }
    }

    /// Binds the target of a loop to the elements of what it goes through.
    fn assign_element(&mut self, target: Node<'a>, iterated: Node<'a>) {
        let called = match iterated.kind() {
            Kind::Call => iterated.child(Field::Func).map(|function| function.text()),
            _ => None,
        };
        let arguments = || iterated.list(Field::Args);
        match (called, target.kind()) {
            (Some("enumerate"), Kind::Tuple) => {
                if let (Some(element), Some(list)) = (target.list(Field::Elts).nth(1), arguments().next()) {
                    self.assign(element, list);
                }
            }
            (Some("zip"), Kind::Tuple) => {
                let pairs: Vec<(Node<'a>, Node<'a>)> = target.list(Field::Elts).zip(arguments()).collect();
                pairs.into_iter().for_each(|(element, list)| self.assign(element, list));
            }
            _ => self.assign(target, iterated),
        }
    }
}

/// The parts of a value that is unpacked: of a tuple or list as written, and of calls that are awaited together.
fn parts_of(value: Node<'_>) -> Vec<Node<'_>> {
    let value = match value.kind() {
        Kind::Await => value.child(Field::Value).unwrap_or(value),
        _ => value,
    };
    match value.kind() {
        Kind::Tuple | Kind::List => value.list(Field::Elts).collect(),
        Kind::Call => {
            let name = value.child(Field::Func).map_or("", |function| function.text());
            let gathers = name == "gather" || name.ends_with(".gather");
            value.list(Field::Args).filter(|_| gathers).collect()
        }
        _ => Vec::new(),
    }
}

fn add_origins(joined: &mut Origins, more: &[Path]) {
    for path in more {
        if joined.len() < MAX_ORIGINS && !joined.contains(path) {
            joined.push(path.clone());
        }
    }
}
