//! Names: the words somebody used, in the spellings that Python and HTML want. Whatever the words are, an identifier comes out.

use unicode_normalization::UnicodeNormalization;

/// More words are no name but a sentence.
const MAX_WORDS: usize = 6;
const MAX_WORD_CHARS: usize = 30;

/// The words of a name, in lower case; at least one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    words: Vec<String>,
}

impl Name {
    /// Reads `user profile`, `user_profile`, `user-profile` and `UserProfile` alike. `None` if nothing in it can stand in an identifier.
    pub fn read(text: &str) -> Option<Self> {
        Self::of_words(&split_words(text))
    }

    /// Of words that [`split_words`] gave.
    pub(crate) fn of_words<S: AsRef<str>>(words: &[S]) -> Option<Self> {
        let mut words: Vec<String> = words
            .iter()
            .flat_map(|word| split_words(word.as_ref()))
            .filter(|word| word.chars().any(char::is_alphanumeric))
            .take(MAX_WORDS)
            .collect();
        let first = words.first()?.chars().next()?;
        if !unicode_ident::is_xid_start(first) {
            words.insert(0, "item".to_owned());
        }
        Some(Self { words })
    }

    /// What something without a name is called.
    pub(crate) fn of_nothing() -> Self {
        Self { words: vec!["example".to_owned()] }
    }

    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// `user_profile`: an identifier, and no keyword.
    pub fn snake(&self) -> String {
        identifier(self.words.join("_"))
    }

    /// `UserProfile`: an identifier, and no keyword.
    pub fn pascal(&self) -> String {
        identifier(self.words.iter().map(|word| capitalised(word)).collect())
    }

    /// `user-profile`, for addresses and style sheets.
    pub fn kebab(&self) -> String {
        self.words.join("-")
    }

    /// `User profile`, for people.
    pub fn title(&self) -> String {
        capitalised(&self.words.join(" "))
    }

    /// The same for one of them: `user orders` → `user order`.
    #[must_use]
    pub fn singular(&self) -> Self {
        let mut words = self.words.clone();
        if let Some(last) = words.last_mut() {
            *last = singular(last);
        }
        Self { words }
    }
}

/// The words of a name in any spelling, in lower case and in the normal form that Python compares identifiers in.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.nfkc().collect();
    let (mut words, mut word) = (Vec::new(), String::new());
    for (index, &c) in characters.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|index| characters.get(index)).copied().unwrap_or(' ');
        let next = characters.get(index + 1).copied().unwrap_or(' ');
        let begins = c.is_uppercase()
            && (previous.is_lowercase()
                || previous.is_numeric()
                || (previous.is_uppercase() && next.is_lowercase()));
        if (begins || !is_part(c)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if is_part(c) && word.chars().count() < MAX_WORD_CHARS {
            word.extend(c.to_lowercase().filter(|c| is_part(*c)));
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// What may stand in a word: also alphanumeric, because names become the names of files.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() && unicode_ident::is_xid_continue(c)
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Words that templates and their annotations use themselves; a field of that name would hide them.
const RESERVED: &[&str] = &[
    "self",
    "cls",
    "str",
    "int",
    "float",
    "bool",
    "bytes",
    "tuple",
    "list",
    "dict",
    "set",
    "object",
    "property",
    "datetime",
    "decimal",
    "uuid",
    "html",
    "svcs",
    "pytest",
    "dataclass",
    "children",
    "attributes",
    "app",
    "router",
    "routes",
    "web",
    "request",
    "priority",
    "registry",
    "record",
    "len",
    "asdict",
    "replace",
    "Template",
    "Any",
    "Callable",
    "Iterator",
    "Router",
    "Request",
];

const KEYWORDS: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "__debug__",
];

/// The last gate: whatever case folding did, an identifier leaves.
fn identifier(text: String) -> String {
    let mut text: String = text.nfkc().filter(|c| *c == '_' || is_part(*c)).collect();
    if !text.chars().next().is_some_and(unicode_ident::is_xid_start) {
        text.insert_str(0, "item_");
    }
    if KEYWORDS.contains(&text.as_str()) {
        text.push('_');
    } else if RESERVED.contains(&text.as_str()) {
        text.push_str("_value");
    }
    text
}

/// Words that end in `s` and are one thing.
const NO_PLURALS: &[&str] = &[
    "address", "status", "news", "series", "species", "class", "access", "progress", "business", "process",
    "success", "focus", "bonus", "basis", "analysis", "gas", "bus", "lens", "canvas", "https", "css", "dns",
    "sms", "gps", "this", "always", "canvas", "atlas", "alias",
];

pub(crate) fn is_plural(word: &str) -> bool {
    word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is", "'s"].iter().any(|ending| word.ends_with(ending))
        && !NO_PLURALS.contains(&word)
}

pub(crate) fn singular(word: &str) -> String {
    if !is_plural(word) {
        return word.to_owned();
    }
    let cut = |ending: &str| word.strip_suffix(ending);
    if let Some(stem) = cut("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let by_es = ["sses", "shes", "ches", "xes", "zes"].iter().any(|ending| word.ends_with(ending));
    cut(if by_es { "es" } else { "s" }).unwrap_or(word).to_owned()
}
