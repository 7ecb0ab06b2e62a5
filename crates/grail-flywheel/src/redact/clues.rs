//! What a text must have for a secret to be in it: a few letters each, found in one pass over all.
//!
//! A clue that is missed is a secret that is kept, so looking at a line of JSON must find at least what looking at its texts finds.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::values::SECRET_NAMES;

/// What hints at a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Clue {
    /// The beginning of a token; at least eight characters of one follow.
    Prefix,
    /// A name that secrets are given.
    Name,
    /// The scheme of an address.
    Scheme,
    /// `Authorization` and its values.
    Authorization,
    /// A private key.
    PrivateKey,
    /// The sign in e-mail addresses.
    At,
    /// Rare enough to be looked at whatever follows.
    Rare,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClueSet(u8);

pub(super) struct Clues {
    literals: AhoCorasick,
}

/// All in lower case; upper case is found too. None holds a character that JSON escapes.
const LITERALS: [(&str, Clue); 53] = [
    ("akia", Clue::Prefix),
    ("asia", Clue::Prefix),
    ("abia", Clue::Prefix),
    ("acca", Clue::Prefix),
    ("aiza", Clue::Prefix),
    ("gocspx-", Clue::Prefix),
    ("ya29.", Clue::Prefix),
    ("ghp_", Clue::Prefix),
    ("gho_", Clue::Prefix),
    ("ghu_", Clue::Prefix),
    ("ghs_", Clue::Prefix),
    ("ghr_", Clue::Prefix),
    ("github_pat_", Clue::Prefix),
    ("glpat-", Clue::Prefix),
    ("gldt-", Clue::Prefix),
    ("glrt-", Clue::Prefix),
    ("glptt-", Clue::Prefix),
    ("glcbt-", Clue::Prefix),
    ("glft-", Clue::Prefix),
    ("glsoat-", Clue::Prefix),
    ("glagent-", Clue::Prefix),
    ("gloas-", Clue::Prefix),
    ("xox", Clue::Prefix),
    ("xapp-", Clue::Prefix),
    ("sk_live_", Clue::Prefix),
    ("sk_test_", Clue::Prefix),
    ("rk_live_", Clue::Prefix),
    ("rk_test_", Clue::Prefix),
    ("whsec_", Clue::Prefix),
    ("sk-", Clue::Prefix),
    ("hf_", Clue::Prefix),
    ("api_org_", Clue::Prefix),
    ("npm_", Clue::Prefix),
    ("pypi-", Clue::Prefix),
    ("eyj", Clue::Prefix),
    ("sg.", Clue::Prefix),
    ("dop_v1_", Clue::Prefix),
    ("doo_v1_", Clue::Prefix),
    ("dor_v1_", Clue::Prefix),
    ("gsk_", Clue::Prefix),
    ("xai-", Clue::Prefix),
    ("dckr_pat_", Clue::Prefix),
    ("lin_api_", Clue::Prefix),
    ("hvs.", Clue::Prefix),
    ("hooks.slack.com/", Clue::Rare),
    ("accountkey=", Clue::Rare),
    ("sig=", Clue::Rare),
    ("8q~", Clue::Rare),
    ("private key", Clue::PrivateKey),
    ("://", Clue::Scheme),
    ("authorization", Clue::Authorization),
    ("bearer", Clue::Authorization),
    ("@", Clue::At),
];

/// How far from its name a value may begin, whitespace and annotations between them, each whitespace two bytes in JSON.
const NAME_WINDOW: usize = 200;
/// Letters after a backslash that stand for a character.
const NAMES_OF_ESCAPES: [u8; 5] = *b"nrtbf";
/// The shortest value that is taken for a secret.
const SHORTEST_VALUE: usize = 6;

impl ClueSet {
    pub(super) fn has(self, clue: Clue) -> bool {
        self.0 & (1 << clue as u8) != 0
    }

    fn add(&mut self, clue: Clue) {
        self.0 |= 1 << clue as u8;
    }
}

impl Clues {
    pub(super) fn new() -> Self {
        // Those after the literals are names.
        let words = LITERALS.iter().map(|(word, _)| *word).chain(SECRET_NAMES.iter().map(String::as_str));
        let literals = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .expect("a few short words make a small automaton");
        Self { literals }
    }

    /// Whether a line of JSON may hold a secret.
    pub(super) fn is_suspicious(&self, line: &[u8]) -> bool {
        self.hits(line).any(|_| true)
    }

    /// What hints there are in a text.
    pub(super) fn find(&self, text: &str) -> ClueSet {
        let mut found = ClueSet::default();
        self.hits(text.as_bytes()).for_each(|clue| found.add(clue));
        found
    }

    fn hits<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Clue> + 'a {
        self.literals.find_overlapping_iter(text).filter_map(|hit| {
            let clue = LITERALS.get(hit.pattern().as_usize()).map_or(Clue::Name, |(_, clue)| *clue);
            let is_sound = match clue {
                Clue::Prefix => is_token_start(text, hit.start(), hit.end()),
                Clue::Name => has_value(text, hit.end()),
                Clue::Scheme => has_password(&text[hit.end()..]),
                Clue::Authorization => has_value(text, hit.end()),
                Clue::At => is_address(text, hit.start()),
                Clue::PrivateKey | Clue::Rare => true,
            };
            is_sound.then_some(clue)
        })
    }
}

/// Whether a word begins here and goes on like a token.
fn is_token_start(text: &[u8], start: usize, end: usize) -> bool {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let follows = text[end..].iter().take(8).filter(|byte| is_token(byte)).count() == 8;
    follows && (start == 0 || !text[start - 1].is_ascii_alphanumeric() || may_be_escape(text, start - 1))
}

/// Whether a value that could be a secret comes soon after its name.
fn has_value(text: &[u8], end: usize) -> bool {
    let rest = &text[end..];
    let ends_name = rest.first().is_some_and(|byte| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\' | b']' | b'=' | b':' | b',')
    });
    if !ends_name {
        return false;
    }
    let is_border = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\');
    let mut place = 0;
    while place < rest.len().min(NAME_WINDOW) {
        let length = rest[place..].iter().take(4096).take_while(|byte| !is_border(byte)).count();
        let run = &rest[place..place + length];
        let is_mixed = |byte: &u8| byte.is_ascii_digit() || b"!@#$%^&*+?".contains(byte);
        if length >= 20 || (length >= SHORTEST_VALUE && run.iter().any(is_mixed)) {
            return true;
        }
        place += length + 1;
    }
    false
}

/// Whether the authority of an address has a name and a password.
fn has_password(rest: &[u8]) -> bool {
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>')
    };
    let length = rest.iter().take(512).take_while(|byte| !ends(byte)).count();
    let authority = &rest[..length];
    match authority.iter().position(|byte| *byte == b':') {
        Some(colon) => authority[colon..].contains(&b'@'),
        None => false,
    }
}

/// Whether there is a name before the sign, and a domain with a dot after it.
fn is_address(text: &[u8], at: usize) -> bool {
    let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte);
    if at == 0 || !is_local(text[at - 1]) || is_escape(text, at - 1) {
        return false;
    }
    let domain = text[at + 1..].iter().take(256);
    let mut bytes = domain.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    bytes.any(|byte| *byte == b'.')
}

/// Whether the letter at a place only names a character that is escaped, as in `\n`.
fn is_escape(text: &[u8], place: usize) -> bool {
    if !NAMES_OF_ESCAPES.contains(&text[place]) {
        return false;
    }
    let backslashes = text[..place].iter().rev().take_while(|byte| **byte == b'\\').count();
    backslashes % 2 == 1
}

/// Whether the letter at a place could name an escaped character, in this text or in one that it quotes: `\n`, `\\n`, `\u000e`.
fn may_be_escape(text: &[u8], place: usize) -> bool {
    let follows_backslash = |place: usize| place > 0 && text[place - 1] == b'\\';
    if NAMES_OF_ESCAPES.contains(&text[place]) && follows_backslash(place) {
        return true;
    }
    let Some(start) = place.checked_sub(4) else { return false };
    text[start] == b'u'
        && text[start + 1..=place].iter().all(u8::is_ascii_hexdigit)
        && follows_backslash(start)
}
