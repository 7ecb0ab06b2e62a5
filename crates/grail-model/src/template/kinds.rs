//! Which kind of artifact a sentence asks for, by the words that skills give for their kinds. A tie is told, not broken.

use super::address::Method;
use super::name::split_words;
use super::words::{BOUNDARIES, DETERMINERS, OPENINGS, Token, tokens};

/// A kind, and how people call one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindWords {
    pub kind: String,
    /// Words for the kind itself, no part of a name: `service`, `component middleware`.
    pub words: Vec<String>,
    /// What is one of them, and says so in its name: `card`, `badge`.
    pub such_as: Vec<String>,
}

/// What a sentence asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindGuess {
    One(String),
    /// The words stand for each of these.
    Several(Vec<String>),
    Unclear,
}

/// Finds the kind that is asked for. Not every kind that is mentioned is: `a test for the order service` is a test.
pub fn guess_kind(intent: &str, kinds: &[KindWords]) -> KindGuess {
    let tokens = tokens(intent);
    let opening = |token: &&Token| {
        token.is(OPENINGS) || token.is(DETERMINERS) || matches!(token, Token::Mark(_) | Token::Break)
    };
    let start = tokens.iter().take_while(opening).count();
    let asked = tokens.get(start..).unwrap_or_default();
    let head = split_head(&asked[..head_length(asked)]);
    let mut found = asked_for(&head, kinds);
    // Asked for later on: `for the shop, a view with …`
    let mut at = 0;
    while found.is_empty() && at < asked.len() {
        if asked[at].is(&["a", "an"]) {
            let phrase = &asked[at + 1..];
            found = asked_for(&split_head(&phrase[..head_length(phrase).min(5)]), kinds);
        }
        at += 1;
    }
    match found.len() {
        0 => KindGuess::Unclear,
        1 => KindGuess::One(found.remove(0)),
        _ => KindGuess::Several(found),
    }
}

/// The kinds whose words end the phrase latest; of these the longest words, and words for kinds before things of a kind.
fn asked_for(phrase: &[String], kinds: &[KindWords]) -> Vec<String> {
    let mut best = (0, 0, false);
    let mut found: Vec<String> = Vec::new();
    for kind in kinds {
        let words = kind.words.iter().map(|word| (word, true));
        for (word, is_strong) in words.chain(kind.such_as.iter().map(|word| (word, false))) {
            let wanted = split_words(word);
            let Some(end) = last_end(phrase, &wanted) else { continue };
            let score = (end, wanted.len(), is_strong);
            if score > best {
                best = score;
                found.clear();
            }
            if score == best && !found.contains(&kind.kind) {
                found.push(kind.kind.clone());
            }
        }
    }
    found
}

fn last_end(phrase: &[String], wanted: &[String]) -> Option<usize> {
    if wanted.is_empty() {
        return None;
    }
    let is_same = |said: &String, word: &String| said == word || said.strip_suffix('s') == Some(word);
    let fits = |window: &[String]| window.iter().zip(wanted).all(|(said, word)| is_same(said, word));
    phrase.windows(wanted.len()).rposition(fits).map(|start| start + wanted.len())
}

/// How many tokens say what is wanted, before it is told what it is like.
pub(super) fn head_length(tokens: &[Token]) -> usize {
    // `test the …`, `test that …`
    let is_end = |token: &Token| {
        matches!(token, Token::Mark(_) | Token::Break | Token::Path(_))
            || token.is(BOUNDARIES)
            || token.is(DETERMINERS)
    };
    tokens.iter().take_while(|token| !is_end(token)).count()
}

/// The words of the phrase, those of code names apart.
pub(super) fn split_head(head: &[Token]) -> Vec<String> {
    head.iter()
        .flat_map(|token| match token {
            Token::Word(word) if Method::read(word).is_some() => Vec::new(),
            Token::Word(word) if token.is_code_name() => split_words(word),
            Token::Word(_) => split_words(&token.lower()),
            Token::Quoted(text) => split_words(text),
            _ => Vec::new(),
        })
        .collect()
}

impl KindWords {
    /// With no more than its own name for words.
    pub fn new(kind: impl Into<String>) -> Self {
        let kind = kind.into();
        let words = vec![kind.replace('-', " ")];
        Self { kind, words, such_as: Vec::new() }
    }

    /// The words of a name without those that only say what kind of thing it is, at its end or its beginning.
    pub(super) fn without(&self, words: &[String]) -> Vec<String> {
        let mut rest = words;
        let mut phrases: Vec<Vec<String>> = self.words.iter().map(|word| split_words(word)).collect();
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
        let is_same = |said: &String, word: &String| said == word || said.strip_suffix('s') == Some(word);
        for phrase in phrases.iter().filter(|phrase| !phrase.is_empty()) {
            let fits = |part: &[String]| part.iter().zip(phrase).all(|(said, word)| is_same(said, word));
            if rest.len() >= phrase.len() && fits(&rest[rest.len() - phrase.len()..]) {
                rest = &rest[..rest.len() - phrase.len()];
            } else if rest.len() > phrase.len() && fits(&rest[..phrase.len()]) {
                rest = &rest[phrase.len()..];
            }
        }
        rest.to_vec()
    }
}
