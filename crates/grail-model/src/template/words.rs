//! A sentence as words, and what words do in one: begin it, end a part of it, announce fields, name an action.
//!
//! This is no grammar of English. It knows how people ask for code, and what it does not know it leaves out.

/// Of a longer intent only the beginning is read.
pub(crate) const MAX_READ_CHARS: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// As it was written.
    Word(String),
    /// What stood between quotes.
    Quoted(String),
    /// `/users/{id}`.
    Path(String),
    Mark(char),
    /// The end of a line.
    Break,
}

impl Token {
    /// In lower case, without a possessive `'s`; empty for what is no word.
    pub(crate) fn lower(&self) -> String {
        match self {
            Self::Word(word) => {
                let word = word.to_lowercase().replace('’', "'");
                word.strip_suffix("'s").unwrap_or(&word).trim_end_matches('\'').to_owned()
            }
            _ => String::new(),
        }
    }

    pub(crate) fn is(&self, words: &[&str]) -> bool {
        matches!(self, Self::Word(_)) && words.contains(&self.lower().as_str())
    }

    /// `OrderService`, `order_service`: written as code is.
    pub(crate) fn is_code_name(&self) -> bool {
        let Self::Word(word) = self else { return false };
        let letters: Vec<char> = word.chars().collect();
        word.contains('_')
            || letters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase())
            || (letters.len() > 3
                && letters.windows(3).any(|three| {
                    three[0].is_uppercase() && three[1].is_uppercase() && three[2].is_lowercase()
                }))
    }
}

pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let characters: Vec<char> = text.chars().take(MAX_READ_CHARS).collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = characters.get(at) {
        let stands_apart = at == 0 || characters.get(at - 1).is_some_and(|before| !before.is_alphanumeric());
        if c == '\n' {
            tokens.push(Token::Break);
            at += 1;
        } else if c == '/' && stands_apart {
            at = read_path(&characters, at, &mut tokens);
        } else if let Some(closing) = closing_quote(c).filter(|_| stands_apart) {
            at = read_quoted(&characters, at, closing, &mut tokens);
        } else if is_word_part(c) {
            let start = at;
            while characters.get(at).is_some_and(|&c| is_word_part(c))
                || (is_joint(characters.get(at)) && characters.get(at + 1).is_some_and(|&c| is_word_part(c)))
            {
                at += 1;
            }
            tokens.push(Token::Word(characters[start..at].iter().collect()));
        } else {
            if !c.is_whitespace() && !c.is_control() {
                tokens.push(Token::Mark(c));
            }
            at += 1;
        }
    }
    tokens
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || unicode_ident::is_xid_continue(c)
}

fn is_joint(c: Option<&char>) -> bool {
    matches!(c, Some('-' | '\'' | '’'))
}

fn closing_quote(c: char) -> Option<char> {
    match c {
        '"' | '\'' | '`' => Some(c),
        '“' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// Quotes that do not close within a short way are marks and nothing else.
fn read_quoted(characters: &[char], at: usize, closing: char, tokens: &mut Vec<Token>) -> usize {
    let rest = &characters[at + 1..];
    let length = rest.iter().take(100).position(|&c| c == closing || c == '\n');
    match length.filter(|&length| length > 0 && rest.get(length) == Some(&closing)) {
        Some(length) => {
            let text: String = rest[..length].iter().collect();
            // A path may be quoted too.
            tokens.push(if text.starts_with('/') { Token::Path(text) } else { Token::Quoted(text) });
            at + length + 2
        }
        None => {
            tokens.push(Token::Mark(characters[at]));
            at + 1
        }
    }
}

fn read_path(characters: &[char], at: usize, tokens: &mut Vec<Token>) -> usize {
    let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '`' | '”');
    let length = characters[at..].iter().take(200).take_while(|&&c| !is_end(c)).count();
    let path: String = characters[at..at + length].iter().collect();
    let path = path.trim_end_matches(['.', ')', ':', '!', '?']);
    tokens.push(Token::Path(path.to_owned()));
    at + path.chars().count().max(1)
}

/// How a request begins before it says what is wanted.
pub(crate) const OPENINGS: &[&str] = &[
    "please",
    "create",
    "make",
    "write",
    "generate",
    "build",
    "implement",
    "give",
    "me",
    "us",
    "i",
    "we",
    "you",
    "want",
    "need",
    "would",
    "like",
    "could",
    "can",
    "let",
    "lets",
    "let's",
    "define",
    "scaffold",
    "add",
    "draft",
    "provide",
    "have",
    "another",
    "new",
    "simple",
    "small",
    "basic",
    "nice",
    "minimal",
    "tiny",
    "hi",
    "hello",
    "now",
    "then",
    "also",
    "to",
];

/// Words for how something is made, which are no part of its name.
pub(crate) const FILLERS: &[&str] = &[
    "rest",
    "http",
    "json",
    "fastapi",
    "flask",
    "quart",
    "starlette",
    "aiohttp",
    "svcs",
    "tdom",
    "pytest",
    "python",
    "asgi",
    "restful",
];

pub(crate) const DETERMINERS: &[&str] = &[
    "a", "an", "the", "its", "their", "his", "her", "our", "my", "your", "this", "these", "those", "all",
    "every", "each", "some", "any", "both",
];

/// Where the phrase that says what is wanted ends.
pub(crate) const BOUNDARIES: &[&str] = &[
    "with",
    "without",
    "that",
    "which",
    "who",
    "whose",
    "for",
    "of",
    "at",
    "on",
    "to",
    "from",
    "in",
    "into",
    "by",
    "about",
    "taking",
    "showing",
    "displaying",
    "accepting",
    "having",
    "containing",
    "including",
    "called",
    "named",
    "where",
    "when",
    "using",
    "via",
    "as",
    "returning",
    "if",
    "while",
    "because",
    "so",
    "whenever",
    "under",
    "per",
    "listing",
    "storing",
    "holding",
    "given",
    "and",
    "but",
    "is",
    "are",
    "shows",
    "has",
    "takes",
    "should",
    "must",
    "will",
];

/// What fields are announced with.
pub(crate) const ANNOUNCEMENTS: &[&str] = &[
    "with",
    "showing",
    "shows",
    "show",
    "displaying",
    "displays",
    "display",
    "takes",
    "taking",
    "take",
    "accepts",
    "accepting",
    "accept",
    "having",
    "has",
    "have",
    "contains",
    "containing",
    "contain",
    "including",
    "includes",
    "include",
    "listing",
    "lists",
    "given",
    "stores",
    "storing",
    "store",
    "holds",
    "holding",
    "keeps",
    "keeping",
    "tracks",
    "tracking",
    "needs",
    "needing",
    "requires",
    "requiring",
    "sets",
    "setting",
    "adds",
    "adding",
    "by",
    "from",
    "returns",
    "returning",
];

/// Words for fields as such, which announce them too if a colon follows.
pub(crate) const FIELD_WORDS: &[&str] = &[
    "field",
    "fields",
    "parameter",
    "parameters",
    "params",
    "prop",
    "props",
    "property",
    "properties",
    "attribute",
    "attributes",
    "column",
    "columns",
    "argument",
    "arguments",
    "setting",
    "settings",
    "option",
    "options",
    "input",
    "inputs",
    "value",
    "values",
    "following",
    "required",
    "keyword",
    "default",
    "data",
];

/// Where a list of fields ends, beside another announcement.
pub(crate) const LIST_ENDS: &[&str] = &[
    "that", "which", "who", "whose", "for", "from", "at", "on", "to", "in", "into", "when", "where", "if",
    "so", "while", "because", "using", "via", "per", "without", "but", "whenever", "then", "it", "them",
    "under", "should", "must", "will", "is", "are", "each", "instead", "before", "after", "not", "against",
    "through", "only", "called", "named", "about", "until", "unless",
];

/// What joins the members of a list.
pub(crate) const JOINTS: &[&str] = &["and", "or", "plus", "also", "as", "well", "too", "then"];

/// Verbs that name what a service does. None of them is a noun that could be a field.
const VERBS: &[&str] = &[
    "send",
    "place",
    "greet",
    "save",
    "load",
    "find",
    "fetch",
    "create",
    "delete",
    "remove",
    "update",
    "compute",
    "calculate",
    "validate",
    "verify",
    "register",
    "notify",
    "publish",
    "subscribe",
    "convert",
    "translate",
    "render",
    "parse",
    "format",
    "import",
    "export",
    "upload",
    "download",
    "encrypt",
    "decrypt",
    "authenticate",
    "authorize",
    "charge",
    "refund",
    "book",
    "reserve",
    "cancel",
    "schedule",
    "assign",
    "approve",
    "reject",
    "archive",
    "search",
    "lookup",
    "store",
    "add",
    "collect",
    "record",
    "track",
    "log",
    "print",
    "enqueue",
    "announce",
    "ship",
    "invite",
    "follow",
    "resize",
    "count",
    "measure",
    "summarize",
    "classify",
    "recommend",
    "rank",
    "resolve",
    "generate",
    "issue",
    "revoke",
    "renew",
    "check",
    "manage",
    "handle",
    "process",
    "hash",
    "sign",
    "merge",
    "split",
    "sort",
    "filter",
    "sync",
    "transfer",
    "pay",
    "remind",
];

/// Verbs that say that something is there, not what is done.
const PLAIN_VERBS: &[&str] = &["manage", "handle", "process", "store", "record", "track"];

/// The verb of which this is a form: `sends`, `sending`, `send`.
pub(crate) fn verb_of(word: &str) -> Option<&'static str> {
    VERBS.iter().copied().find(|verb| word == *verb || word == third_person(verb) || word == gerund(verb))
}

/// What a method is called for this verb.
pub(crate) fn action_of(verb: &'static str) -> &'static str {
    match verb {
        "import" => "import_from",
        "print" => "print_out",
        plain if PLAIN_VERBS.contains(&plain) => "add",
        other => other,
    }
}

pub(crate) fn third_person(verb: &str) -> String {
    let before_y = verb.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match before_y {
        Some(stem) => format!("{stem}ies"),
        None if ["s", "sh", "ch", "x", "z"].iter().any(|ending| verb.ends_with(ending)) => {
            format!("{verb}es")
        }
        None => format!("{verb}s"),
    }
}

fn gerund(verb: &str) -> String {
    const DOUBLED: &[&str] = &["log", "ship", "split", "cancel", "transfer"];
    match verb.strip_suffix('e') {
        Some(stem) if !verb.ends_with("ee") => format!("{stem}ing"),
        _ if DOUBLED.contains(&verb) && verb != "cancel" => {
            format!("{verb}{}ing", verb.chars().last().unwrap_or_default())
        }
        _ => format!("{verb}ing"),
    }
}
