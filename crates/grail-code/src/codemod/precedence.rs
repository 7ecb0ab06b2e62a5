//! Which expression may stand where without parentheses: Python's grammar as a table over kinds and fields.
//!
//! Invariant: putting an expression into a place, with parentheses if [`needs_parentheses`] says so, never changes how the code around
//! it or inside it is read.

use crate::tree::Attribute;
use crate::{Field, Kind, Node};

/// How tightly an expression holds together, from the loosest to the tightest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precedence {
    /// `a, b`
    Tuple,
    /// `x for x in y` as a call's only argument
    BareGenerator,
    /// `yield a`
    Yield,
    /// `a := b`
    Named,
    /// `lambda: a`
    Lambda,
    /// `a if b else c`
    Conditional,
    Or,
    And,
    Not,
    Comparison,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    /// `a + b`
    Sum,
    /// `a * b`
    Product,
    /// `-a`
    Unary,
    Power,
    Await,
    /// `a.b`, `a(b)`, `a[b]`
    Primary,
    /// A number without a point: `1.real` is no attribute access.
    Integer,
    /// Names, literals, and whatever brings its own brackets.
    Atom,
}

/// A place for an expression: what may stand there bare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The loosest operator expression allowed.
    minimum: Precedence,
    takes_named: bool,
    takes_yield: bool,
    takes_tuple: bool,
    takes_generator: bool,
    refuses_integer: bool,
    refuses_brace: bool,
}

/// How tightly this expression holds together, without the parentheses around it.
pub fn precedence_of(expression: Node<'_>) -> Precedence {
    match expression.kind() {
        Kind::Tuple if !expression.is_parenthesized_tuple() => Precedence::Tuple,
        Kind::GeneratorExp if expression.attribute("parenthesized") == Some(Attribute::Flag(false)) => {
            Precedence::BareGenerator
        }
        Kind::Yield | Kind::YieldFrom => Precedence::Yield,
        Kind::NamedExpr => Precedence::Named,
        Kind::Lambda => Precedence::Lambda,
        Kind::IfExp => Precedence::Conditional,
        Kind::BoolOp if expression.attribute("op") == Some(Attribute::Word("or")) => Precedence::Or,
        Kind::BoolOp => Precedence::And,
        Kind::UnaryOp if is_not(expression) => Precedence::Not,
        Kind::UnaryOp => Precedence::Unary,
        Kind::Compare => Precedence::Comparison,
        Kind::BinOp => binary_precedence(expression),
        Kind::Await => Precedence::Await,
        Kind::Attribute | Kind::Call | Kind::Subscript => Precedence::Primary,
        Kind::Integer => Precedence::Integer,
        _ => Precedence::Atom,
    }
}

/// The place where this node stands. Parentheses that are there already make it a place for anything.
pub fn slot_of(node: Node<'_>) -> Slot {
    if node.kind().is_expression() && node.span_with_parentheses() != node.span() {
        return Slot::PARENTHESES;
    }
    match node.parent() {
        Some(parent) => slot_in(parent, node),
        None => Slot::STATEMENT,
    }
}

/// Whether the parentheses around a node could be left out.
pub fn are_redundant(node: Node<'_>) -> bool {
    let slot = node.parent().map_or(Slot::STATEMENT, |parent| slot_in(parent, node));
    let is_brace = slot.refuses_brace && node.text().starts_with('{');
    !is_brace && !needs_parentheses(precedence_of(node), slot)
}

/// Whether a node stands between brackets and commas, where parentheses of its own would be a second pair.
pub fn is_delimited(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| match parent.kind() {
        Kind::Call => node.field() == Field::Args,
        Kind::ClassDef => node.field() == Field::Bases,
        Kind::Subscript => node.field() == Field::Slice,
        Kind::Tuple => parent.is_parenthesized_tuple(),
        Kind::List | Kind::Set | Kind::Dict | Kind::DictItem | Kind::Keyword | Kind::Interpolation => true,
        _ => false,
    })
}

pub fn needs_parentheses(precedence: Precedence, slot: Slot) -> bool {
    match precedence {
        Precedence::Tuple => !slot.takes_tuple,
        Precedence::BareGenerator => !slot.takes_generator,
        Precedence::Yield => !slot.takes_yield,
        Precedence::Named => !slot.takes_named,
        Precedence::Integer => slot.refuses_integer,
        other => other < slot.minimum,
    }
}

impl Slot {
    /// Between parentheses of its own.
    pub const PARENTHESES: Self = Self {
        takes_named: true,
        takes_yield: true,
        takes_tuple: true,
        takes_generator: true,
        ..Self::at_least(Precedence::Lambda)
    };
    /// An expression as a statement, or behind `=`.
    pub const STATEMENT: Self = Self { takes_named: false, takes_generator: false, ..Self::PARENTHESES };
    /// What the grammar calls `expression`.
    const EXPRESSION: Self = Self::at_least(Precedence::Lambda);
    /// An expression, or a name bound on the way.
    const NAMED: Self = Self { takes_named: true, ..Self::EXPRESSION };
    /// Expressions separated by commas.
    const EXPRESSIONS: Self = Self { takes_tuple: true, ..Self::EXPRESSION };

    /// Whether an expression that starts with a brace would be read as something else: `{{` in an f-string is a brace.
    pub const fn refuses_brace(self) -> bool {
        self.refuses_brace
    }

    const fn at_least(minimum: Precedence) -> Self {
        Self {
            minimum,
            takes_named: false,
            takes_yield: false,
            takes_tuple: false,
            takes_generator: false,
            refuses_integer: false,
            refuses_brace: false,
        }
    }
}

fn slot_in(parent: Node<'_>, node: Node<'_>) -> Slot {
    let field = node.field();
    match (parent.kind(), field) {
        (Kind::Expr, _) => Slot::STATEMENT,
        (Kind::Assign | Kind::AugAssign | Kind::AnnAssign, Field::Value) => Slot::STATEMENT,
        (Kind::Assign | Kind::For | Kind::Delete | Kind::Comprehension, Field::Target | Field::Targets) => {
            Slot::EXPRESSIONS
        }
        (Kind::Return | Kind::Yield | Kind::For, _) => Slot::EXPRESSIONS,
        (Kind::If | Kind::Elif | Kind::While | Kind::MatchCase | Kind::Decorator, _) => Slot::NAMED,
        (Kind::Match, _) => Slot { takes_tuple: true, ..Slot::NAMED },
        (Kind::Subscript, Field::Slice) => Slot { takes_tuple: true, ..Slot::NAMED },

        (Kind::BoolOp, _) => Slot::at_least(precedence_of(parent)),
        (Kind::UnaryOp, _) => Slot::at_least(precedence_of(parent)),
        (Kind::BinOp, _) => Slot::at_least(operand_precedence(parent, field)),
        (Kind::Compare | Kind::ComparisonTarget, _) => Slot::at_least(Precedence::BitOr),
        (Kind::IfExp, Field::Body | Field::Test) => Slot::at_least(Precedence::Or),
        (Kind::Comprehension, _) => Slot::at_least(Precedence::Or),
        (Kind::Await, _) => Slot::at_least(Precedence::Primary),
        (Kind::Attribute, Field::Value) => {
            Slot { refuses_integer: true, ..Slot::at_least(Precedence::Primary) }
        }
        (Kind::Call, Field::Func) | (Kind::Subscript, Field::Value) => Slot::at_least(Precedence::Primary),
        (Kind::Starred, _) if is_argument(parent) => Slot::EXPRESSION,
        (Kind::Starred, _) => Slot::at_least(Precedence::BitOr),
        (Kind::DictItem, Field::Value) if parent.child(Field::Key).is_none() => {
            Slot::at_least(Precedence::BitOr)
        }
        // A colon or an exclamation mark would end the interpolation.
        (Kind::Interpolation, _) => {
            Slot { takes_tuple: true, refuses_brace: true, ..Slot::at_least(Precedence::Conditional) }
        }
        (Kind::Call, Field::Args) => Slot { takes_generator: is_only_argument(node), ..Slot::NAMED },
        (Kind::ClassDef, Field::Bases) => Slot::NAMED,
        (Kind::Tuple, _) if !parent.is_parenthesized_tuple() => Slot::EXPRESSION,
        (Kind::List | Kind::Set | Kind::Tuple, _) => Slot::NAMED,
        (Kind::ListComp | Kind::SetComp | Kind::GeneratorExp, Field::Elt) => Slot::NAMED,
        _ => Slot::EXPRESSION,
    }
}

fn binary_precedence(operation: Node<'_>) -> Precedence {
    match operation.child(Field::Op).map_or("", Node::text) {
        "|" => Precedence::BitOr,
        "^" => Precedence::BitXor,
        "&" => Precedence::BitAnd,
        "<<" | ">>" => Precedence::Shift,
        "+" | "-" => Precedence::Sum,
        "**" => Precedence::Power,
        _ => Precedence::Product,
    }
}

/// The left operand may be of the operator's own kind, the right one must be tighter; for powers it is the other way round.
fn operand_precedence(operation: Node<'_>, field: Field) -> Precedence {
    let is_left = field == Field::Left;
    match binary_precedence(operation) {
        Precedence::Power if is_left => Precedence::Await,
        Precedence::Power => Precedence::Unary,
        precedence if is_left => precedence,
        Precedence::BitOr => Precedence::BitXor,
        Precedence::BitXor => Precedence::BitAnd,
        Precedence::BitAnd => Precedence::Shift,
        Precedence::Shift => Precedence::Sum,
        Precedence::Sum => Precedence::Product,
        _ => Precedence::Unary,
    }
}

fn is_not(operation: Node<'_>) -> bool {
    operation.child(Field::Op).is_some_and(|operator| operator.text() == "not")
}

fn is_argument(node: Node<'_>) -> bool {
    matches!(node.field(), Field::Args | Field::Bases)
}

fn is_only_argument(node: Node<'_>) -> bool {
    node.parent().is_some_and(|call| call.list(Field::Args).nth(1).is_none())
}
