//! Every identifier of a file that is spelled the same, with the syntax that gives it its meaning.
//!
//! Annotations in strings are entered: their names and attributes count like any other.

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body, walk_expr};
use ruff_python_ast::{self as ast, AnyNodeRef};
use ruff_text_size::{Ranged, TextRange};
use ty_python_semantic::SemanticModel;

/// One identifier and the node that decides what it refers to.
#[derive(Clone, Copy)]
pub(super) enum Occurrence<'a> {
    Name(&'a ast::ExprName),
    Attribute {
        attribute: &'a ast::ExprAttribute,
        enclosing: Enclosing<'a>,
    },
    /// `name` in `f(name=1)`.
    Keyword {
        keyword: &'a ast::Keyword,
        call: &'a ast::ExprCall,
    },
    /// `name` in `case Point(name=1)`.
    PatternKeyword {
        keyword: &'a ast::PatternKeyword,
        pattern: &'a ast::PatternMatchClass,
    },
    /// `name` in `from module import name`.
    Imported {
        import: &'a ast::StmtImportFrom,
        alias: &'a ast::Alias,
    },
    /// `name` in `global name` and `nonlocal name`.
    Forwarded {
        name: &'a ast::Identifier,
        global: bool,
        enclosing: Enclosing<'a>,
    },
    /// `name` in `class Child(Base, name=1)`.
    ClassKeyword {
        keyword: &'a ast::Keyword,
        class: &'a ast::StmtClassDef,
    },
    /// `"name"` in a class's `__slots__` or `__match_args__`.
    Slot {
        literal: &'a ast::StringLiteral,
        class: &'a ast::StmtClassDef,
    },
    /// `"name"` as the second argument of a call, as in `getattr(receiver, "name")`.
    Reflection {
        literal: &'a ast::StringLiteral,
        call: &'a ast::ExprCall,
        receiver: &'a ast::Expr,
    },
    /// A name that syntax other than an expression binds: `def`, `class`, parameters, `as`, type parameters.
    Binding(&'a ast::Identifier),
}

/// The class and method around an attribute: what `super()` and `self` mean there.
#[derive(Clone, Copy, Default)]
pub(super) struct Enclosing<'a> {
    /// The innermost class.
    pub(super) class: Option<&'a ast::StmtClassDef>,
    /// The first parameter of its method, unless that is static.
    pub(super) receiver: Option<&'a ast::Parameter>,
    /// Directly in the class, not in a function within.
    in_class_body: bool,
    pub(super) function: Option<&'a ast::StmtFunctionDef>,
}

impl<'a> Enclosing<'a> {
    fn within_class(class: &'a ast::StmtClassDef) -> Self {
        Self { class: Some(class), receiver: None, in_class_body: true, function: None }
    }

    fn within_function(self, function: &'a ast::StmtFunctionDef) -> Self {
        let receiver = if self.in_class_body && !is_static(function) {
            function.parameters.iter_non_variadic_params().next().map(|first| &first.parameter)
        } else {
            self.receiver
        };
        Self { class: self.class, receiver, in_class_body: false, function: Some(function) }
    }
}

fn is_static(function: &ast::StmtFunctionDef) -> bool {
    let mut decorators = function.decorator_list.iter();
    decorators
        .any(|decorator| decorator.expression.as_name_expr().is_some_and(|name| name.id == "staticmethod"))
}

impl Occurrence<'_> {
    pub(super) fn range(&self) -> TextRange {
        match self {
            Self::Name(name) => name.range(),
            Self::Attribute { attribute, .. } => attribute.attr.range(),
            Self::Slot { literal, .. } | Self::Reflection { literal, .. } => literal.content_range(),
            Self::Keyword { keyword, .. } | Self::ClassKeyword { keyword, .. } => {
                keyword.arg.as_ref().map_or(keyword.range(), Ranged::range)
            }
            Self::PatternKeyword { keyword, .. } => keyword.attr.range(),
            Self::Imported { alias, .. } => alias.name.range(),
            Self::Forwarded { name, .. } | Self::Binding(name) => name.range(),
        }
    }
}

/// Calls `visit` for each identifier `name` in `body`. The model passed along belongs to the tree the node is from:
/// a string annotation has a tree, and a model, of its own.
pub(super) fn visit_occurrences<'db>(
    model: &SemanticModel<'db>,
    body: &[ast::Stmt],
    name: &str,
    visit: &mut dyn FnMut(&SemanticModel<'db>, Occurrence<'_>),
) {
    let mut finder = Finder { model, name, enclosing: Vec::new(), visit };
    walk_body(&mut finder, body);
}

struct Finder<'a, 'v, 'db> {
    model: &'v SemanticModel<'db>,
    name: &'v str,
    enclosing: Vec<Enclosing<'a>>,
    visit: &'v mut dyn FnMut(&SemanticModel<'db>, Occurrence<'_>),
}

impl<'a> Finder<'a, '_, '_> {
    fn enclosing(&self) -> Enclosing<'a> {
        self.enclosing.last().copied().unwrap_or_default()
    }

    fn report(&mut self, occurrence: Occurrence<'a>) {
        (self.visit)(self.model, occurrence);
    }

    fn binding(&mut self, identifier: &'a ast::Identifier) {
        if identifier.as_str() == self.name {
            self.report(Occurrence::Binding(identifier));
        }
    }

    fn bindings(&mut self, identifier: Option<&'a ast::Identifier>) {
        if let Some(identifier) = identifier {
            self.binding(identifier);
        }
    }

    fn forwarded(&mut self, names: &'a [ast::Identifier], global: bool) {
        let enclosing = self.enclosing();
        for name in names {
            if name.as_str() == self.name {
                self.report(Occurrence::Forwarded { name, global, enclosing });
            }
        }
    }

    fn imported(&mut self, import: &'a ast::StmtImportFrom) {
        for alias in &import.names {
            if alias.name.as_str() == self.name {
                self.report(Occurrence::Imported { import, alias });
            }
            self.bindings(alias.asname.as_ref());
        }
    }

    /// The string, if it is the name and nothing else, written without escapes.
    fn spelled(&self, expression: &'a ast::Expr) -> Option<&'a ast::StringLiteral> {
        let literal = expression.as_string_literal_expr()?.as_single_part_string()?;
        let plain = literal.content_range().len().to_usize() == self.name.len();
        (plain && literal.value.as_ref() == self.name).then_some(literal)
    }

    fn slots(&mut self, target: &'a ast::Expr, value: &'a ast::Expr) {
        let Enclosing { class: Some(class), in_class_body: true, .. } = self.enclosing() else { return };
        if !target
            .as_name_expr()
            .is_some_and(|target| matches!(target.id.as_str(), "__slots__" | "__match_args__"))
        {
            return;
        }
        let names = match value {
            ast::Expr::Tuple(tuple) => tuple.elts.as_slice(),
            ast::Expr::List(list) => list.elts.as_slice(),
            ast::Expr::Set(set) => set.elts.as_slice(),
            single => std::slice::from_ref(single),
        };
        for name in names {
            if let Some(literal) = self.spelled(name) {
                self.report(Occurrence::Slot { literal, class });
            }
        }
    }

    fn reflection(&mut self, call: &'a ast::ExprCall) {
        if let [receiver, name, ..] = call.arguments.args.as_ref()
            && let Some(literal) = self.spelled(name)
        {
            self.report(Occurrence::Reflection { literal, call, receiver });
        }
    }

    fn string_annotation(&mut self, literal: &ast::ExprStringLiteral) {
        if !literal.value.to_str().contains(self.name) {
            return;
        }
        if let Some((parsed, model)) = self.model.enter_string_annotation(literal) {
            let mut inner =
                Finder { model: &model, name: self.name, enclosing: Vec::new(), visit: &mut *self.visit };
            walk_expr(&mut inner, parsed.expr());
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Finder<'a, '_, '_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::ExprName(name) if name.id.as_str() == self.name => {
                self.report(Occurrence::Name(name))
            }
            AnyNodeRef::ExprAttribute(attribute) if attribute.attr.as_str() == self.name => {
                let enclosing = self.enclosing();
                self.report(Occurrence::Attribute { attribute, enclosing });
            }
            AnyNodeRef::ExprCall(call) => {
                self.reflection(call);
                for keyword in &call.arguments.keywords {
                    if keyword.arg.as_deref() == Some(self.name) {
                        self.report(Occurrence::Keyword { keyword, call });
                    }
                }
            }
            AnyNodeRef::ExprStringLiteral(literal) => self.string_annotation(literal),
            AnyNodeRef::PatternMatchClass(pattern) => {
                for keyword in &pattern.arguments.keywords {
                    if keyword.attr.as_str() == self.name {
                        self.report(Occurrence::PatternKeyword { keyword, pattern });
                    }
                }
            }
            AnyNodeRef::PatternMatchAs(pattern) => self.bindings(pattern.name.as_ref()),
            AnyNodeRef::PatternMatchStar(pattern) => self.bindings(pattern.name.as_ref()),
            AnyNodeRef::PatternMatchMapping(pattern) => self.bindings(pattern.rest.as_ref()),
            AnyNodeRef::StmtFunctionDef(function) => {
                self.binding(&function.name);
                self.enclosing.push(self.enclosing().within_function(function));
            }
            AnyNodeRef::StmtClassDef(class) => {
                self.binding(&class.name);
                for keyword in class.keywords() {
                    if keyword.arg.as_deref() == Some(self.name) {
                        self.report(Occurrence::ClassKeyword { keyword, class });
                    }
                }
                self.enclosing.push(Enclosing::within_class(class));
            }
            AnyNodeRef::StmtAssign(assign) => {
                if let [target] = assign.targets.as_slice() {
                    self.slots(target, &assign.value);
                }
            }
            AnyNodeRef::StmtAnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.slots(&assign.target, value);
                }
            }
            AnyNodeRef::StmtImport(import) => {
                for alias in &import.names {
                    self.bindings(Some(alias.asname.as_ref().unwrap_or(&alias.name)));
                }
            }
            AnyNodeRef::StmtImportFrom(import) => self.imported(import),
            AnyNodeRef::StmtGlobal(statement) => self.forwarded(&statement.names, true),
            AnyNodeRef::StmtNonlocal(statement) => self.forwarded(&statement.names, false),
            AnyNodeRef::Parameter(parameter) => self.binding(&parameter.name),
            AnyNodeRef::ExceptHandlerExceptHandler(handler) => self.bindings(handler.name.as_ref()),
            AnyNodeRef::TypeParamTypeVar(parameter) => self.binding(&parameter.name),
            AnyNodeRef::TypeParamParamSpec(parameter) => self.binding(&parameter.name),
            AnyNodeRef::TypeParamTypeVarTuple(parameter) => self.binding(&parameter.name),
            _ => {}
        }
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        if node.is_stmt_class_def() || node.is_stmt_function_def() {
            self.enclosing.pop();
        }
    }
}
