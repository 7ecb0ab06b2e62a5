//! The words of structural patterns: node types and fields by our names, LibCST's and `ast`'s.

use super::matcher::KindSet;
use crate::Kind;
use crate::tree::Attribute;

/// Another library's name for node types.
#[derive(Clone, Copy, Debug)]
pub struct TypeAlias {
    pub name: &'static str,
    pub kinds: &'static [Kind],
    /// What the name says beyond the type.
    pub attribute: Option<(&'static str, Attribute)>,
}

/// Another library's name for a field of a node type.
#[derive(Clone, Copy, Debug)]
pub struct FieldAlias {
    pub kinds: &'static [Kind],
    pub name: &'static str,
    pub field: &'static str,
}

const fn alias(name: &'static str, kinds: &'static [Kind]) -> TypeAlias {
    TypeAlias { name, kinds, attribute: None }
}

const fn alias_with(name: &'static str, kinds: &'static [Kind], attribute: &'static str) -> TypeAlias {
    TypeAlias { name, kinds, attribute: Some((attribute, Attribute::Flag(true))) }
}

/// Names of LibCST and of Python's `ast` that differ from ours.
pub const TYPE_ALIASES: &[TypeAlias] = &[
    // LibCST
    alias("AsName", &[Kind::Identifier, Kind::Name]),
    alias("BinaryOperation", &[Kind::BinOp]),
    alias("BooleanOperation", &[Kind::BoolOp]),
    alias("CompFor", &[Kind::Comprehension]),
    alias("Comparison", &[Kind::Compare]),
    alias("Del", &[Kind::Delete]),
    alias("DictElement", &[Kind::DictItem]),
    alias("FormattedString", &[Kind::FString]),
    alias("FormattedStringExpression", &[Kind::Interpolation]),
    alias("FormattedStringText", &[Kind::InterpolationText]),
    alias("From", &[Kind::YieldFrom]),
    alias("ImportAlias", &[Kind::Alias]),
    alias("Param", &[Kind::Parameter]),
    alias(
        "SimpleStatementLine",
        &[
            Kind::AnnAssign,
            Kind::Assert,
            Kind::Assign,
            Kind::AugAssign,
            Kind::Break,
            Kind::Continue,
            Kind::Delete,
            Kind::Expr,
            Kind::Global,
            Kind::Import,
            Kind::ImportFrom,
            Kind::Nonlocal,
            Kind::Pass,
            Kind::Raise,
            Kind::Return,
            Kind::TypeAlias,
        ],
    ),
    alias("SimpleString", &[Kind::String, Kind::Bytes]),
    alias("StarredDictElement", &[Kind::DictItem]),
    alias("StarredElement", &[Kind::Starred]),
    alias("TemplatedString", &[Kind::TString]),
    alias("TemplatedStringExpression", &[Kind::Interpolation]),
    alias("TemplatedStringText", &[Kind::InterpolationText]),
    alias("TypeParameters", &[Kind::TypeParams]),
    alias_with("TryStar", &[Kind::Try], "is_star"),
    alias("UnaryOperation", &[Kind::UnaryOp]),
    // ast
    alias_with("AsyncFor", &[Kind::For], "is_async"),
    alias_with("AsyncFunctionDef", &[Kind::FunctionDef], "is_async"),
    alias_with("AsyncWith", &[Kind::With], "is_async"),
    alias(
        "Constant",
        &[
            Kind::String,
            Kind::Bytes,
            Kind::ConcatenatedString,
            Kind::Integer,
            Kind::Float,
            Kind::Imaginary,
            Kind::Boolean,
            Kind::NoneLiteral,
            Kind::Ellipsis,
        ],
    ),
    alias("FormattedValue", &[Kind::Interpolation]),
    alias("JoinedStr", &[Kind::FString]),
    alias("TemplateStr", &[Kind::TString]),
    alias("alias", &[Kind::Alias]),
    alias("arg", &[Kind::Parameter]),
    alias("arguments", &[Kind::Parameters]),
    alias("comprehension", &[Kind::Comprehension]),
    alias("excepthandler", &[Kind::ExceptHandler]),
    alias("keyword", &[Kind::Keyword]),
    alias("match_case", &[Kind::MatchCase]),
    alias("withitem", &[Kind::WithItem]),
    // Groups
    alias("Number", &[Kind::Integer, Kind::Float, Kind::Imaginary]),
    alias("Comp", &[Kind::ListComp, Kind::SetComp, Kind::DictComp, Kind::GeneratorExp]),
    alias("AnyString", &[Kind::String, Kind::Bytes, Kind::FString, Kind::TString, Kind::ConcatenatedString]),
];

const fn field(kinds: &'static [Kind], name: &'static str, field: &'static str) -> FieldAlias {
    FieldAlias { kinds, name, field }
}

/// Field names of LibCST and of Python's `ast` that differ from ours.
pub const FIELD_ALIASES: &[FieldAlias] = &[
    field(&[Kind::FunctionDef, Kind::ClassDef], "decorator_list", "decorators"),
    field(&[Kind::FunctionDef, Kind::Lambda], "args", "params"),
    field(&[Kind::Parameters], "args", "params"),
    field(&[Kind::FunctionDef, Kind::ClassDef, Kind::TypeAlias], "type_parameters", "type_params"),
    field(
        &[Kind::BinOp, Kind::UnaryOp, Kind::AugAssign, Kind::BoolOp, Kind::ComparisonTarget],
        "operator",
        "op",
    ),
    field(&[Kind::UnaryOp], "expression", "operand"),
    field(&[Kind::Await], "expression", "value"),
    field(&[Kind::Interpolation], "expression", "value"),
    field(&[Kind::FString, Kind::TString, Kind::ConcatenatedString], "values", "parts"),
    field(&[Kind::List, Kind::Tuple, Kind::Set], "elements", "elts"),
    field(&[Kind::Dict], "elements", "items"),
    field(&[Kind::WithItem], "item", "context_expr"),
    field(&[Kind::WithItem], "asname", "optional_vars"),
    field(&[Kind::Decorator], "decorator", "expression"),
    field(&[Kind::Parameter], "arg", "name"),
    field(&[Kind::Keyword], "keyword", "arg"),
    field(&[Kind::ListComp, Kind::SetComp, Kind::GeneratorExp], "for_in", "generators"),
    field(&[Kind::FunctionDef, Kind::For, Kind::With, Kind::Comprehension], "asynchronous", "is_async"),
    field(&[Kind::Assert, Kind::If, Kind::While, Kind::IfExp], "condition", "test"),
];

/// The kinds a type name stands for.
pub(super) fn resolve_type(name: &str) -> Option<(KindSet, Option<(&'static str, Attribute)>)> {
    if let Some(kind) = Kind::from_name(name) {
        return Some((KindSet::of(&[kind]), None));
    }
    match name {
        "Expression" | "expr" => return Some((KindSet::where_kind(Kind::is_expression), None)),
        "Statement" | "stmt" => return Some((KindSet::where_kind(Kind::is_statement), None)),
        _ => {}
    }
    let alias = TYPE_ALIASES.iter().find(|alias| alias.name == name)?;
    Some((KindSet::of(alias.kinds), alias.attribute))
}

/// All type names, for suggestions.
pub(super) fn type_names() -> impl Iterator<Item = &'static str> {
    let aliases = TYPE_ALIASES.iter().map(|alias| alias.name);
    Kind::ALL.iter().map(|kind| kind.name()).chain(aliases).chain(["Arg", "Expression", "Statement"])
}

/// Our name for a field or attribute of a kind.
pub(super) fn resolve_field(kind: Kind, name: &str) -> &str {
    let alias = FIELD_ALIASES.iter().find(|alias| alias.name == name && alias.kinds.contains(&kind));
    alias.map_or(name, |alias| alias.field)
}

/// The keyword without which a node of the kind cannot be written.
pub(super) fn keyword_of(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::FunctionDef => "def",
        Kind::ClassDef => "class",
        Kind::Return => "return",
        Kind::Delete => "del",
        Kind::For | Kind::Comprehension => "for",
        Kind::While => "while",
        Kind::If => "if",
        Kind::Elif => "elif",
        Kind::Else => "else",
        Kind::With => "with",
        Kind::Match => "match",
        Kind::Raise => "raise",
        Kind::Try => "try",
        Kind::ExceptHandler => "except",
        Kind::Finally => "finally",
        Kind::Assert => "assert",
        Kind::Import | Kind::ImportFrom => "import",
        Kind::Global => "global",
        Kind::Nonlocal => "nonlocal",
        Kind::Lambda => "lambda",
        Kind::Await => "await",
        Kind::Yield | Kind::YieldFrom => "yield",
        _ => return None,
    })
}

/// An operator by its class name in LibCST or `ast`.
pub(super) fn operator(name: &str) -> Option<&'static str> {
    Some(match name {
        "Add" => "+",
        "Sub" | "Subtract" | "USub" | "Minus" => "-",
        "Mult" | "Multiply" => "*",
        "Div" | "Divide" => "/",
        "FloorDiv" | "FloorDivide" => "//",
        "Mod" | "Modulo" => "%",
        "Pow" | "Power" => "**",
        "MatMult" | "MatrixMultiply" => "@",
        "LShift" | "LeftShift" => "<<",
        "RShift" | "RightShift" => ">>",
        "BitAnd" => "&",
        "BitOr" => "|",
        "BitXor" => "^",
        "Invert" | "BitInvert" => "~",
        "UAdd" | "Plus" => "+",
        "Not" => "not",
        "And" => "and",
        "Or" => "or",
        "Eq" | "Equal" => "==",
        "NotEq" | "NotEqual" => "!=",
        "Lt" | "LessThan" => "<",
        "LtE" | "LessThanEqual" => "<=",
        "Gt" | "GreaterThan" => ">",
        "GtE" | "GreaterThanEqual" => ">=",
        "Is" => "is",
        "IsNot" => "is not",
        "In" => "in",
        "NotIn" => "not in",
        _ => return None,
    })
}

/// The candidate that looks most like `word`, if one does.
pub(super) fn closest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(word.len()) / 4)
        .min_by_key(|(distance, candidate)| (*distance, candidate.len()))
        .map(|(_, candidate)| candidate)
}

/// How many characters must be inserted, removed or replaced.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, first) in left.chars().take(64).enumerate() {
        let mut diagonal = line;
        row[0] = line + 1;
        for (column, second) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(first != *second);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
