//! Definite assignment and liveness over one function's (or module's) statements.
//!
//! One structured walk answers three questions, depending on where it starts from: which names are surely bound when the selection
//! is reached, which names the selection reads before it binds them, and which are read after it before they are bound anew. Loops
//! are walked twice, which is enough: sets only shrink at a loop's head, and only once.

use rustc_hash::FxHashSet;

use crate::semantic::{ScopeId, SymbolId};
use crate::{Context, Field, Kind, Node, NodeId, Semantic};

pub(super) type Symbols = FxHashSet<SymbolId>;

/// What is surely bound here; `None` where control never comes.
type State = Option<Symbols>;

/// The selected nodes: statements of one block, or one expression.
pub(super) struct Selected<'a> {
    pub(super) nodes: Vec<Node<'a>>,
}

/// Names surely bound when the selection is reached.
pub(super) fn bound_before<'a>(
    semantic: &Semantic<'a>,
    scope: ScopeId,
    body: &[Node<'a>],
    selected: &Selected<'a>,
    parameters: Symbols,
) -> Symbols {
    let mut walk = Walk::new(semantic, scope, selected, Question::Before);
    walk.block(body, Some(parameters));
    walk.captured.unwrap_or_default()
}

/// What the selection does by itself.
pub(super) struct Inside {
    /// Names it may read before it binds them.
    pub(super) exposed: Symbols,
    /// Names surely bound at its end; `None` if control never gets there.
    pub(super) bound: Option<Symbols>,
}

pub(super) fn inside<'a>(semantic: &Semantic<'a>, scope: ScopeId, selected: &Selected<'a>) -> Inside {
    let nothing = Selected { nodes: Vec::new() };
    let mut walk = Walk::new(semantic, scope, &nothing, Question::Inside);
    let bound = if selected.nodes.iter().all(|node| node.kind().is_statement()) {
        walk.block(&selected.nodes, Some(Symbols::default()))
    } else {
        let mut state = Some(Symbols::default());
        for node in &selected.nodes {
            walk.evaluate(*node, &mut state);
        }
        state
    };
    Inside { exposed: walk.exposed, bound }
}

/// Names that may be read after the selection before they are bound anew.
pub(super) fn read_after<'a>(
    semantic: &Semantic<'a>,
    scope: ScopeId,
    body: &[Node<'a>],
    selected: &Selected<'a>,
) -> Symbols {
    let mut walk = Walk::new(semantic, scope, selected, Question::After);
    walk.block(body, None);
    walk.exposed
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Before,
    Inside,
    After,
}

struct Walk<'s, 'a> {
    semantic: &'s Semantic<'a>,
    scope: ScopeId,
    selected: &'s Selected<'a>,
    question: Question,
    /// The state at the selection, each time it is reached.
    captured: State,
    exposed: Symbols,
    /// For each open loop, what is bound where a `break` leaves it and a `continue` ends a round.
    loops: Vec<(State, State)>,
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(
        semantic: &'s Semantic<'a>,
        scope: ScopeId,
        selected: &'s Selected<'a>,
        question: Question,
    ) -> Self {
        Self {
            semantic,
            scope,
            selected,
            question,
            captured: None,
            exposed: Symbols::default(),
            loops: Vec::new(),
        }
    }

    fn block(&mut self, statements: &[Node<'a>], mut state: State) -> State {
        for statement in statements {
            let is_first = self.selected.nodes.first() == Some(statement);
            if is_first {
                self.capture(&state);
            }
            state = stacker::maybe_grow(64 * 1024, 4 * 1024 * 1024, || self.statement(*statement, state));
            if self.question == Question::After && self.selected.nodes.last() == Some(statement) {
                state = Some(Symbols::default());
            }
        }
        state
    }

    fn capture(&mut self, state: &State) {
        if self.question == Question::Before {
            self.captured = meet(self.captured.take(), state.clone());
        }
    }

    fn statement(&mut self, statement: Node<'a>, mut state: State) -> State {
        let body = |node: Node<'a>| node.list(Field::Body).collect::<Vec<_>>();
        match statement.kind() {
            Kind::Return | Kind::Raise => {
                self.evaluate(statement, &mut state);
                None
            }
            Kind::Break | Kind::Continue => {
                if let Some((left, again)) = self.loops.last_mut() {
                    let target = if statement.kind() == Kind::Break { left } else { again };
                    *target = meet(target.take(), state);
                }
                None
            }
            Kind::If => {
                self.evaluate_child(statement, Field::Test, &mut state);
                let mut result = self.block(&body(statement), state.clone());
                for clause in statement.list(Field::Elifs) {
                    self.evaluate_child(clause, Field::Test, &mut state);
                    result = meet(result, self.block(&body(clause), state.clone()));
                }
                match statement.child(Field::Orelse) {
                    Some(clause) => meet(result, self.block(&body(clause), state)),
                    None => meet(result, state),
                }
            }
            Kind::While | Kind::For => self.repeat(statement, state),
            Kind::With => {
                for item in statement.list(Field::Items) {
                    self.evaluate(item, &mut state);
                }
                let end = self.block(&body(statement), state.clone());
                // Any context manager may swallow an exception. To return a name too many is harmless, to call a name unbound
                // that hardly ever is would be a nuisance.
                if self.question == Question::After || swallows_exceptions(statement) {
                    let broken = meet_if_reached(state, &end, self.reaches(statement));
                    meet(end, broken)
                } else {
                    end
                }
            }
            Kind::Match => self.cases(statement, state),
            Kind::Try => self.attempt(statement, state),
            Kind::FunctionDef | Kind::ClassDef => {
                // What a body reads, it reads at the earliest here.
                self.evaluate(statement, &mut state);
                self.bind_name(statement.child(Field::Name), &mut state);
                state
            }
            // A bare annotation binds nothing.
            Kind::AnnAssign if statement.child(Field::Value).is_none() => {
                self.evaluate_child(statement, Field::Annotation, &mut state);
                state
            }
            Kind::Assign | Kind::AugAssign | Kind::AnnAssign | Kind::TypeAlias => {
                self.evaluate_child(statement, Field::Value, &mut state);
                for child in statement.children().filter(|child| child.field() != Field::Value) {
                    self.evaluate(child, &mut state);
                }
                state
            }
            Kind::Import | Kind::ImportFrom => {
                for alias in statement.list(Field::Names) {
                    self.bind_name(
                        alias.child(Field::Asname).or_else(|| alias.child(Field::Name)),
                        &mut state,
                    );
                }
                state
            }
            _ => {
                self.evaluate(statement, &mut state);
                state
            }
        }
    }

    fn repeat(&mut self, statement: Node<'a>, mut state: State) -> State {
        let is_for = statement.kind() == Kind::For;
        let body: Vec<Node<'a>> = statement.list(Field::Body).collect();
        if is_for {
            self.evaluate_child(statement, Field::Iter, &mut state);
        }
        let mut head = state;
        let mut result = (None, None);
        for _ in 0..2 {
            let mut inner = head.clone();
            if is_for {
                self.evaluate_child(statement, Field::Target, &mut inner);
            } else {
                self.evaluate_child(statement, Field::Test, &mut inner);
            }
            let tested = inner.clone();
            self.loops.push((None, None));
            let end = self.block(&body, inner);
            let (left, again) = self.loops.pop().unwrap_or_default();
            head = meet(head, meet(end, again));
            // A `for` ends where it looks for the next item, a `while` behind its test.
            result = (if is_for { head.clone() } else { tested }, left);
        }
        let (normal, left) = result;
        let is_endless = statement
            .child(Field::Test)
            .is_some_and(|test| matches!(test.text(), "True" | "1") && statement.kind() == Kind::While);
        let normal = if is_endless { None } else { normal };
        let normal = match statement.child(Field::Orelse) {
            Some(clause) => self.block(&clause.list(Field::Body).collect::<Vec<_>>(), normal),
            None => normal,
        };
        meet(normal, left)
    }

    fn cases(&mut self, statement: Node<'a>, mut state: State) -> State {
        self.evaluate_child(statement, Field::Subject, &mut state);
        let mut result = None;
        let mut is_exhaustive = false;
        for case in statement.list(Field::Cases) {
            let mut inner = state.clone();
            self.evaluate_child(case, Field::Pattern, &mut inner);
            self.evaluate_child(case, Field::Guard, &mut inner);
            is_exhaustive |= case.child(Field::Guard).is_none()
                && case.child(Field::Pattern).is_some_and(|pattern| {
                    pattern.kind() == Kind::MatchAs && pattern.child(Field::Pattern).is_none()
                });
            result = meet(result, self.block(&case.list(Field::Body).collect::<Vec<_>>(), inner));
        }
        if is_exhaustive { result } else { meet(result, state) }
    }

    fn attempt(&mut self, statement: Node<'a>, state: State) -> State {
        let body = |node: Node<'a>| node.list(Field::Body).collect::<Vec<_>>();
        let end = self.block(&body(statement), state.clone());
        // An exception may come before or after any statement of the body.
        let broken = meet_if_reached(state, &end, self.reaches(statement));
        let mut result = match statement.child(Field::Orelse) {
            Some(clause) => self.block(&body(clause), end),
            None => end,
        };
        for handler in statement.list(Field::Handlers) {
            let mut inner = broken.clone();
            self.evaluate_child(handler, Field::Exc, &mut inner);
            self.bind_name(handler.child(Field::Name), &mut inner);
            let mut inner = self.block(&body(handler), inner);
            if let (Some(bound), Some(symbol)) =
                (&mut inner, handler.child(Field::Name).and_then(|name| self.semantic.symbol_of(name)))
            {
                bound.remove(&symbol);
            }
            result = meet(result, inner);
        }
        match statement.child(Field::Finalbody) {
            None => result,
            Some(clause) => {
                // Once for every way out, once for the way on.
                self.block(&body(clause), meet(broken, result.clone()));
                self.block(&body(clause), result)
            }
        }
    }

    /// Whether, looking for what is read after the selection, the selection stands in this statement's body.
    fn reaches(&self, statement: Node<'a>) -> bool {
        self.question == Question::After
            && self.selected.nodes.first().is_some_and(|node| statement.is_ancestor_of(*node))
    }

    fn evaluate_child(&mut self, node: Node<'a>, field: Field, state: &mut State) {
        if let Some(child) = node.child(field) {
            self.evaluate(child, state);
        }
    }

    /// Reads and binds the names of an expression (or of a statement that is not a block) in the order they are run.
    fn evaluate(&mut self, root: Node<'a>, state: &mut State) {
        // Targets of `:=` are bound after their values, and the selection ends after its last node.
        let mut pending: Vec<(usize, Pending)> = Vec::new();
        // Defining a function or class does not run what is in it.
        let is_run = !matches!(root.kind(), Kind::FunctionDef | Kind::ClassDef);
        for node in root.subtree() {
            while let Some((_, event)) = pending.pop_if(|(end, _)| *end <= node.id().index()) {
                self.finish(event, state);
            }
            if self.selected.nodes.first() == Some(&node) && !node.kind().is_statement() {
                self.capture(state);
                pending.push((end_of(node), Pending::Selection));
            }
            match node.kind() {
                Kind::Name if node.context() != Some(Context::Store) => {
                    self.read(node, state);
                    if node.context() == Some(Context::Delete)
                        && let (Some(bound), Some(symbol)) = (&mut *state, self.semantic.symbol_of(node))
                    {
                        bound.remove(&symbol);
                    }
                }
                Kind::Name => {
                    let parent = node.parent();
                    if parent.is_some_and(|parent| parent.kind() == Kind::AugAssign) {
                        self.read(node, state);
                    }
                    match parent.filter(|parent| parent.kind() == Kind::NamedExpr) {
                        _ if !is_run => {}
                        Some(walrus) if is_certain(walrus, root) => {
                            pending.push((end_of(walrus), Pending::Bind(node.id())));
                        }
                        Some(_) => {}
                        None => self.bind_name(Some(node), state),
                    }
                }
                Kind::MatchAs | Kind::MatchStar => {
                    let name = node.child(Field::Name);
                    pending.extend(name.map(|name| (end_of(node), Pending::Bind(name.id()))));
                }
                Kind::MatchMapping => self.bind_name(node.child(Field::Rest), state),
                _ => {}
            }
        }
        while let Some((_, event)) = pending.pop() {
            self.finish(event, state);
        }
    }

    fn finish(&mut self, event: Pending, state: &mut State) {
        match event {
            Pending::Bind(node) => self.bind_name(Some(self.semantic.parsed().node(node)), state),
            Pending::Selection if self.question == Question::After => *state = Some(Symbols::default()),
            Pending::Selection => {}
        }
    }

    fn read(&mut self, name: Node<'a>, state: &State) {
        if let (Some(bound), Some(symbol)) = (state, self.semantic.symbol_of(name))
            && !bound.contains(&symbol)
        {
            self.exposed.insert(symbol);
        }
    }

    fn bind_name(&mut self, name: Option<Node<'a>>, state: &mut State) {
        if let (Some(bound), Some(symbol)) = (state, name.and_then(|name| self.semantic.symbol_of(name)))
            && self.semantic.symbol(symbol).scope == self.scope
        {
            bound.insert(symbol);
        }
    }
}

#[derive(Clone, Copy)]
enum Pending {
    Bind(NodeId),
    Selection,
}

/// Whether a `:=` is run whenever the expression it stands in is.
fn is_certain(walrus: Node<'_>, root: Node<'_>) -> bool {
    let mut child = walrus;
    while child != root {
        let Some(parent) = child.parent() else { break };
        let is_conditional = match parent.kind() {
            Kind::BoolOp => parent.child(Field::Values) != Some(child),
            Kind::IfExp => child.field() != Field::Test,
            Kind::Lambda | Kind::ListComp | Kind::SetComp | Kind::DictComp | Kind::GeneratorExp => true,
            // The rest of a chained comparison is skipped once it fails.
            Kind::Compare => {
                child.field() == Field::Comparisons && parent.child(Field::Comparisons) != Some(child)
            }
            _ => false,
        };
        if is_conditional {
            return false;
        }
        child = parent;
    }
    true
}

/// Whether a `with` is known to go on behind its body after an exception.
pub(super) fn swallows_exceptions(statement: Node<'_>) -> bool {
    let managers = statement.list(Field::Items).filter_map(|item| item.child(Field::ContextExpr));
    managers.filter_map(|manager| manager.child(Field::Func)).any(|function| {
        let name = function.child(Field::Attr).unwrap_or(function).text();
        matches!(
            name,
            "suppress" | "raises" | "assertRaises" | "assertRaisesRegex" | "ExitStack" | "AsyncExitStack"
        )
    })
}

fn end_of(node: Node<'_>) -> usize {
    node.subtree_end()
}

/// What both paths bind; a path that is never taken does not count.
fn meet(left: State, right: State) -> State {
    match (left, right) {
        (None, other) | (other, None) => other,
        (Some(left), Some(right)) => Some(left.intersection(&right).copied().collect()),
    }
}

/// The state in a handler: before the body, or, if only the selection within makes the body count, after the selection.
fn meet_if_reached(before: State, end: &State, is_reached: bool) -> State {
    match before {
        None if is_reached => Some(Symbols::default()),
        None => None,
        Some(before) => match end {
            // Names that the body deletes are not bound for sure.
            Some(end) => Some(before.intersection(end).copied().collect()),
            None => Some(before),
        },
    }
}
