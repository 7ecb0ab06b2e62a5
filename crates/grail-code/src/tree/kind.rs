//! The schema of the tree: every node kind, its fields in source order, and its attributes.
//!
//! Names follow Python's `ast` module. Where `ast` stores children out of source order (call arguments, comparisons, dictionaries,
//! parameters, `else` blocks) the tree has one more small node instead, so that the fields of a kind, read from first to last,
//! are the source from left to right. Everything that is generic over nodes (data form, patterns, docs) reads this table.

/// How many nodes a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    One,
    Optional,
    Many,
}

/// A field of a node kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    pub field: Field,
    pub arity: Arity,
}

macro_rules! fields {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// The name of a field: where in its parent a node stands. A tree's root stands in `Root`.
                #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Field { $($variant),* }

        impl Field {
            pub const ALL: &'static [Field] = &[$(Field::$variant),*];

            pub const fn name(self) -> &'static str {
                match self { $(Field::$variant => $name),* }
            }
        }
    };
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal [$($field:ident $arity:ident),*] [$($attribute:literal),*];)*) => {
        /// What a node is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind { $($(#[doc = $doc])+ $kind),* }

        impl Kind {
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// The name in patterns, data and documentation.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name),* }
            }

            /// One line on what the kind is.
            pub const fn documentation(self) -> &'static str {
                match self { $(Kind::$kind => concat!($($doc),+)),* }
            }

            /// The fields, in source order.
            pub const fn fields(self) -> &'static [FieldSpec] {
                match self {
                    $(Kind::$kind => &[$(FieldSpec { field: Field::$field, arity: Arity::$arity }),*]),*
                }
            }

            /// Facts about a node that are not nodes themselves; see [`super::Node::attribute`].
            pub const fn attributes(self) -> &'static [&'static str] {
                match self { $(Kind::$kind => &[$($attribute),*]),* }
            }
        }
    };
}

fields! {
    Annotation = "annotation",
    Args = "args",
    Asname = "asname",
    Attr = "attr",
    Bases = "bases",
    Body = "body",
    Bound = "bound",
    Cases = "cases",
    Cause = "cause",
    Cls = "cls",
    Comparator = "comparator",
    Comparisons = "comparisons",
    ContextExpr = "context_expr",
    Decorators = "decorators",
    Default = "default",
    Elifs = "elifs",
    Elt = "elt",
    Elts = "elts",
    Exc = "exc",
    Expression = "expression",
    Finalbody = "finalbody",
    FormatSpec = "format_spec",
    Func = "func",
    Generators = "generators",
    Guard = "guard",
    Handlers = "handlers",
    Ifs = "ifs",
    Items = "items",
    Iter = "iter",
    Key = "key",
    Keyword = "arg",
    Left = "left",
    Lower = "lower",
    Module = "module",
    Msg = "msg",
    Name = "name",
    Names = "names",
    Op = "op",
    Operand = "operand",
    OptionalVars = "optional_vars",
    Orelse = "orelse",
    Params = "params",
    Parts = "parts",
    Pattern = "pattern",
    Patterns = "patterns",
    Rest = "rest",
    Returns = "returns",
    Right = "right",
    Slice = "slice",
    Step = "step",
    Subject = "subject",
    Target = "target",
    Targets = "targets",
    Test = "test",
    TypeParams = "type_params",
    Upper = "upper",
    Value = "value",
    Values = "values",
    Root = "root",
}

kinds! {
    /// A whole file.
    Module = "Module" [Body Many] [];

    /// `def` or `async def`.
    FunctionDef = "FunctionDef" [Decorators Many, Name One, TypeParams Optional, Params One, Returns Optional, Body Many] ["is_async"];
    /// `class`. The bases hold positional bases and keywords, as in a call.
    ClassDef = "ClassDef" [Decorators Many, Name One, TypeParams Optional, Bases Many, Body Many] [];
    /// `return`.
    Return = "Return" [Value Optional] [];
    /// `del`.
    Delete = "Delete" [Targets Many] [];
    /// `type X = …`.
    TypeAlias = "TypeAlias" [Name One, TypeParams Optional, Value One] [];
    /// `a = b = value`.
    Assign = "Assign" [Targets Many, Value One] [];
    /// `target += value`.
    AugAssign = "AugAssign" [Target One, Op One, Value One] [];
    /// `target: annotation = value`.
    AnnAssign = "AnnAssign" [Target One, Annotation One, Value Optional] [];
    /// `for` or `async for`.
    For = "For" [Target One, Iter One, Body Many, Orelse Optional] ["is_async"];
    /// `while`.
    While = "While" [Test One, Body Many, Orelse Optional] [];
    /// `if`, with its `elif` and `else` clauses.
    If = "If" [Test One, Body Many, Elifs Many, Orelse Optional] [];
    /// An `elif` clause.
    Elif = "Elif" [Test One, Body Many] [];
    /// The `else` clause of an `if`, `for`, `while` or `try`.
    Else = "Else" [Body Many] [];
    /// `with` or `async with`.
    With = "With" [Items Many, Body Many] ["is_async"];
    /// One context manager of a `with`.
    WithItem = "WithItem" [ContextExpr One, OptionalVars Optional] [];
    /// `match`.
    Match = "Match" [Subject One, Cases Many] [];
    /// A `case` block.
    MatchCase = "MatchCase" [Pattern One, Guard Optional, Body Many] [];
    /// `raise`.
    Raise = "Raise" [Exc Optional, Cause Optional] [];
    /// `try`; with the attribute `is_star` if its handlers are `except*`.
    Try = "Try" [Body Many, Handlers Many, Orelse Optional, Finalbody Optional] ["is_star"];
    /// An `except` clause.
    ExceptHandler = "ExceptHandler" [Exc Optional, Name Optional, Body Many] [];
    /// The `finally` clause of a `try`.
    Finally = "Finally" [Body Many] [];
    /// `assert`.
    Assert = "Assert" [Test One, Msg Optional] [];
    /// `import a, b as c`.
    Import = "Import" [Names Many] ["is_lazy"];
    /// `from module import names`; `level` counts the leading dots.
    ImportFrom = "ImportFrom" [Module Optional, Names Many] ["level", "is_lazy"];
    /// One imported name. A dotted name is one identifier.
    Alias = "Alias" [Name One, Asname Optional] [];
    /// `global`.
    Global = "Global" [Names Many] [];
    /// `nonlocal`.
    Nonlocal = "Nonlocal" [Names Many] [];
    /// An expression as a statement.
    Expr = "Expr" [Value One] [];
    /// `pass`.
    Pass = "Pass" [] [];
    /// `break`.
    Break = "Break" [] [];
    /// `continue`.
    Continue = "Continue" [] [];

    /// `a and b and c`; the attribute `op` is `and` or `or`.
    BoolOp = "BoolOp" [Values Many] ["op"];
    /// `target := value`.
    NamedExpr = "NamedExpr" [Target One, Value One] [];
    /// `left + right`.
    BinOp = "BinOp" [Left One, Op One, Right One] [];
    /// `-operand`, `not operand`.
    UnaryOp = "UnaryOp" [Op One, Operand One] [];
    /// `lambda params: body`.
    Lambda = "Lambda" [Params Optional, Body One] [];
    /// `body if test else orelse`.
    IfExp = "IfExp" [Body One, Test One, Orelse One] [];
    /// `{key: value}`.
    Dict = "Dict" [Items Many] [];
    /// One entry of a dictionary; without a key it is `**value`.
    DictItem = "DictItem" [Key Optional, Value One] [];
    /// `{a, b}`.
    Set = "Set" [Elts Many] [];
    /// `[elt for …]`.
    ListComp = "ListComp" [Elt One, Generators Many] [];
    /// `{elt for …}`.
    SetComp = "SetComp" [Elt One, Generators Many] [];
    /// `{key: value for …}`.
    DictComp = "DictComp" [Key Optional, Value One, Generators Many] [];
    /// `(elt for …)`.
    GeneratorExp = "GeneratorExp" [Elt One, Generators Many] ["parenthesized"];
    /// `for target in iter if …` of a comprehension.
    Comprehension = "Comprehension" [Target One, Iter One, Ifs Many] ["is_async"];
    /// `await value`.
    Await = "Await" [Value One] [];
    /// `yield value`.
    Yield = "Yield" [Value Optional] [];
    /// `yield from value`.
    YieldFrom = "YieldFrom" [Value One] [];
    /// `left < b <= c`.
    Compare = "Compare" [Left One, Comparisons Many] [];
    /// One `< b` of a comparison.
    ComparisonTarget = "ComparisonTarget" [Op One, Comparator One] [];
    /// `func(args)`. The arguments hold expressions, `Starred` and `Keyword` nodes in source order.
    Call = "Call" [Func One, Args Many] [];
    /// `arg=value` in a call or class header; without a name it is `**value`.
    Keyword = "Keyword" [Keyword Optional, Value One] [];
    /// `f"…"`.
    FString = "FString" [Parts Many] [];
    /// `t"…"`.
    TString = "TString" [Parts Many] [];
    /// The literal text between two interpolations.
    InterpolationText = "InterpolationText" [] [];
    /// `{value!r:spec}` in an f- or t-string; `debug` if it has an `=`.
    Interpolation = "Interpolation" [Value One, FormatSpec Optional] ["conversion", "debug"];
    /// What stands behind the colon of an interpolation.
    FormatSpec = "FormatSpec" [Parts Many] [];
    /// Adjacent string literals, joined by the compiler.
    ConcatenatedString = "ConcatenatedString" [Parts Many] [];
    /// `"…"`.
    String = "String" [] [];
    /// `b"…"`.
    Bytes = "Bytes" [] [];
    /// `1`, `0x10`.
    Integer = "Integer" [] [];
    /// `1.0`.
    Float = "Float" [] [];
    /// `1j`.
    Imaginary = "Imaginary" [] [];
    /// `True` or `False`.
    Boolean = "Boolean" [] [];
    /// `None`.
    NoneLiteral = "None" [] [];
    /// `...`.
    Ellipsis = "Ellipsis" [] [];
    /// `value.attr`.
    Attribute = "Attribute" [Value One, Attr One] ["ctx"];
    /// `value[slice]`.
    Subscript = "Subscript" [Value One, Slice One] ["ctx"];
    /// `*value`.
    Starred = "Starred" [Value One] ["ctx"];
    /// A variable.
    Name = "Name" [] ["ctx"];
    /// `[a, b]`.
    List = "List" [Elts Many] ["ctx"];
    /// `a, b`; with the attribute `parenthesized`.
    Tuple = "Tuple" [Elts Many] ["ctx", "parenthesized"];
    /// `lower:upper:step`.
    Slice = "Slice" [Lower Optional, Upper Optional, Step Optional] [];

    /// `@expression`.
    Decorator = "Decorator" [Expression One] [];
    /// The parameters of a function, with its parentheses, or of a lambda, without.
    Parameters = "Parameters" [Params Many] [];
    /// One parameter; the attribute `kind` is `positional_only`, `positional`, `star`, `keyword_only` or `double_star`.
    Parameter = "Parameter" [Name One, Annotation Optional, Default Optional] ["kind"];
    /// The `/` among the parameters.
    ParamSlash = "ParamSlash" [] [];
    /// The bare `*` among the parameters.
    ParamStar = "ParamStar" [] [];
    /// `[T, *Ts, **P]` of a generic function, class or type alias.
    TypeParams = "TypeParams" [Params Many] [];
    /// `T: bound = default`.
    TypeVar = "TypeVar" [Name One, Bound Optional, Default Optional] [];
    /// `*Ts`.
    TypeVarTuple = "TypeVarTuple" [Name One, Default Optional] [];
    /// `**P`.
    ParamSpec = "ParamSpec" [Name One, Default Optional] [];

    /// A value or constant as a pattern.
    MatchValue = "MatchValue" [Value One] [];
    /// `None`, `True` or `False` as a pattern.
    MatchSingleton = "MatchSingleton" [] [];
    /// `[a, b]` as a pattern.
    MatchSequence = "MatchSequence" [Patterns Many] [];
    /// `{key: pattern, **rest}`.
    MatchMapping = "MatchMapping" [Items Many, Rest Optional] [];
    /// One entry of a mapping pattern.
    MatchMappingItem = "MatchMappingItem" [Key One, Pattern One] [];
    /// `Class(pattern, name=pattern)`.
    MatchClass = "MatchClass" [Cls One, Patterns Many] [];
    /// `name=pattern` in a class pattern.
    MatchKeyword = "MatchKeyword" [Attr One, Pattern One] [];
    /// `*name` in a sequence pattern.
    MatchStar = "MatchStar" [Name Optional] [];
    /// `pattern as name`, a bare name, or `_`.
    MatchAs = "MatchAs" [Pattern Optional, Name Optional] [];
    /// `a | b` as a pattern.
    MatchOr = "MatchOr" [Patterns Many] [];

    /// A name that is not an expression: of a function, parameter, attribute, import.
    Identifier = "Identifier" [] [];
    /// An operator, as written.
    Operator = "Operator" [] [];
}

impl Kind {
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    pub fn field(self, name: &str) -> Option<FieldSpec> {
        self.fields().iter().copied().find(|spec| spec.field.name() == name)
    }

    pub const fn is_statement(self) -> bool {
        (self as u8) >= (Kind::FunctionDef as u8)
            && (self as u8) <= (Kind::Continue as u8)
            && !matches!(
                self,
                Kind::Elif
                    | Kind::Else
                    | Kind::WithItem
                    | Kind::MatchCase
                    | Kind::ExceptHandler
                    | Kind::Finally
                    | Kind::Alias
            )
    }

    pub const fn is_expression(self) -> bool {
        (self as u8) >= (Kind::BoolOp as u8)
            && (self as u8) <= (Kind::Slice as u8)
            && !matches!(
                self,
                Kind::DictItem
                    | Kind::Comprehension
                    | Kind::ComparisonTarget
                    | Kind::Keyword
                    | Kind::InterpolationText
                    | Kind::Interpolation
                    | Kind::FormatSpec
            )
    }
}

impl Field {
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|field| field.name() == name)
    }
}
