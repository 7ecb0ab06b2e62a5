//! Where an expression needs parentheses: how tightly each kind binds, and how tightly each place wants its operand to.

use serde_json::Value;

use super::layout::{BLANK, Object, kind_of, leaf_text};

const TUPLE: u8 = 0;
const NAMED: u8 = 1;
const LAMBDA: u8 = 2;
const CONDITIONAL: u8 = 3;
const OR: u8 = 4;
const AND: u8 = 5;
const NOT: u8 = 6;
const COMPARISON: u8 = 7;
const BIT_OR: u8 = 8;
const UNARY: u8 = 14;
const POWER: u8 = 15;
const AWAIT: u8 = 16;
const PRIMARY: u8 = 17;
const ATOM: u8 = 18;

/// Whether `child` must be put in parentheses in that field.
pub(super) fn needs_parentheses(parent: &Object, field: &str, child: &Value) -> bool {
    let Some(wanted) = wanted(parent, field) else { return false };
    match child {
        Value::String(text) => wanted > LAMBDA && !is_atomic(text),
        Value::Object(node) if kind_of(node) == "Code" => {
            wanted > LAMBDA && !is_atomic(leaf_text(Some(child)))
        }
        Value::Object(node) => {
            let is_bare_number = kind_of(node) == "Integer"
                && kind_of(parent) == "Attribute"
                && leaf_text(Some(child)).bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
            is_bare_number || strength(node) < wanted
        }
        _ => false,
    }
}

/// The least strength that a place takes without parentheses; `None` if it does not hold expressions.
fn wanted(parent: &Object, field: &str) -> Option<u8> {
    Some(match (kind_of(parent), field) {
        ("BinOp", "left") => match operator_strength(leaf_text(parent.get("op"))) {
            POWER => AWAIT,
            strength => strength,
        },
        ("BinOp", "right") => match operator_strength(leaf_text(parent.get("op"))) {
            POWER => UNARY,
            strength => strength + 1,
        },
        ("BoolOp", "values") => strength(parent) + 1,
        ("UnaryOp", "operand") if leaf_text(parent.get("op")) == "not" => NOT,
        ("UnaryOp", "operand") => UNARY,
        ("Compare", "left") | ("ComparisonTarget", "comparator") | ("Starred", "value") => BIT_OR,
        ("Await" | "Attribute" | "Subscript", "value") | ("Call", "func") => PRIMARY,
        ("IfExp", "body" | "test") | ("Comprehension", "iter" | "ifs") => OR,
        ("IfExp", "orelse")
        | ("Lambda", "body")
        | ("NamedExpr" | "Keyword" | "DictItem" | "YieldFrom", "value") => LAMBDA,
        ("DictItem" | "DictComp", "key") | ("DictComp", "value") => LAMBDA,
        ("Call", "args")
        | ("List" | "Set" | "Tuple", "elts")
        | ("ListComp" | "SetComp" | "GeneratorExp", "elt") => NAMED,
        ("If" | "Elif" | "While", "test") | ("Decorator", "expression") | ("MatchCase", "guard") => NAMED,
        ("Assert", "test" | "msg") | ("Raise", "exc" | "cause") | ("WithItem", "context_expr") => LAMBDA,
        ("Parameter", "annotation" | "default")
        | ("FunctionDef", "returns")
        | ("AnnAssign", "annotation") => LAMBDA,
        ("ClassDef", "bases") => NAMED,
        _ => return None,
    })
}

/// How tightly an expression holds together; things that are no expressions never need parentheses.
fn strength(node: &Object) -> u8 {
    match kind_of(node) {
        "Yield" | "YieldFrom" => TUPLE,
        "Tuple" if node.get("parenthesized") == Some(&Value::Bool(false)) => TUPLE,
        "NamedExpr" => NAMED,
        "Lambda" => LAMBDA,
        "IfExp" => CONDITIONAL,
        "BoolOp" if node.get("op").and_then(Value::as_str) == Some("or") => OR,
        "BoolOp" => AND,
        "UnaryOp" if leaf_text(node.get("op")) == "not" => NOT,
        "UnaryOp" => UNARY,
        "Compare" => COMPARISON,
        "BinOp" => operator_strength(leaf_text(node.get("op"))),
        "Await" => AWAIT,
        "Call" | "Attribute" | "Subscript" => PRIMARY,
        _ => ATOM,
    }
}

fn operator_strength(operator: &str) -> u8 {
    match operator {
        "|" => BIT_OR,
        "^" => 9,
        "&" => 10,
        "<<" | ">>" => 11,
        "+" | "-" | "" => 12,
        "**" => POWER,
        _ => 13,
    }
}

/// Whether code given as text is one name, call, literal or bracketed expression, as far as its characters tell.
fn is_atomic(text: &str) -> bool {
    let mut depth = 0;
    let mut quote = None;
    for character in text.trim_matches(BLANK).chars() {
        match (quote, character) {
            (Some(open), _) => {
                if character == open {
                    quote = None;
                }
            }
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, _) if depth > 0 || character == '_' || character == '.' || character.is_alphanumeric() => {
            }
            _ => return false,
        }
    }
    true
}
