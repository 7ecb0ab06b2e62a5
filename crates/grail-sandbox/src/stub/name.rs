//! Which words can be names in Python, and which names a program's surroundings have taken.

/// Words that are no names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Names the sandbox gives to every program.
const OWN: [&str; 6] = ["Inputs", "Output", "grail_", "inputs", "tools", "__all__"];

/// The built-in types that generated annotations use.
pub(crate) const BUILTIN_TYPES: [&str; 7] = ["bool", "dict", "float", "int", "list", "str", "tuple"];

/// Names that annotations use, so that nothing else may have them.
const TYPES: [&str; 26] = [
    "Any",
    "Awaitable",
    "Callable",
    "Literal",
    "Never",
    "NotRequired",
    "TypedDict",
    "bool",
    "builtins",
    "bytes",
    "complex",
    "dataclass",
    "dict",
    "float",
    "frozenset",
    "int",
    "list",
    "object",
    "property",
    "set",
    "slice",
    "staticmethod",
    "str",
    "super",
    "tuple",
    "type",
];

pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// A name by Python's grammar. Narrower than Python's own rule: letters that Unicode normalization would change are left out,
/// because Python normalizes names and JSON does not.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first == '_' || is_letter(first))
        && characters.all(|character| character == '_' || character.is_ascii_digit() || is_letter(character))
        && !is_keyword(name)
}

/// A name that an attribute of a record can have: dunder names mean something to Python, and names with two leading
/// underscores are mangled in classes.
pub(crate) fn is_attribute_name(name: &str) -> bool {
    is_identifier(name) && !name.starts_with("__")
}

/// A name that a tool or a variable may have.
pub(crate) fn is_free_name(name: &str) -> bool {
    is_attribute_name(name) && !OWN.contains(&name) && !TYPES.contains(&name)
}

/// A class name made from a title, a key or a property: `shipping address` becomes `ShippingAddress`.
pub(crate) fn class_name(wish: &str) -> String {
    let mut name = String::new();
    for word in wish.split(|character: char| !is_letter(character) && !character.is_ascii_digit()) {
        let mut characters = word.chars();
        if let Some(first) = characters.next() {
            name.extend(first.to_uppercase());
            name.push_str(characters.as_str());
        }
        if name.len() > 80 {
            break;
        }
    }
    let name: String = name.chars().take(80).collect();
    if name.is_empty() {
        return "Record".to_owned();
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("Record{name}");
    }
    if is_free_name(&name) { name } else { format!("{name}Record") }
}

fn is_letter(character: char) -> bool {
    character.is_ascii_alphabetic()
        || matches!(character, '\u{c0}'..='\u{ff}' if character != '×' && character != '÷')
        || matches!(character, 'Α'..='Ρ' | 'Σ'..='Ω' | 'α'..='ω' | 'А'..='я' | '\u{4e00}'..='\u{9fa5}')
}
