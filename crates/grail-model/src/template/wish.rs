//! What a sentence asks for: a name, fields, an action, a path. Read without a model, the same way every time.

use std::borrow::Cow;

use super::address::{Address, Method};
use super::field::{Field, MAX_FIELDS, read_type};
use super::kinds::{KindWords, head_length, split_head};
use super::name::Name;
use super::words::{
    ANNOUNCEMENTS, BOUNDARIES, DETERMINERS, FIELD_WORDS, FILLERS, JOINTS, LIST_ENDS, OPENINGS, Token,
    action_of, tokens, verb_of,
};

/// What is wanted, as far as the sentence says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The sentence itself, on one line and without what a terminal or an editor could take for an order.
    pub sentence: String,
    /// `None` if the sentence names nothing.
    pub name: Option<Name>,
    pub fields: Vec<Field>,
    /// What is done, as the name of a method: `send`.
    pub action: Option<Cow<'static, str>>,
    /// The path of a route.
    pub address: Option<Address>,
    pub method: Option<Method>,
}

impl Wish {
    /// Reads a sentence; `kind` is what it asks for, whose words are no part of the name.
    pub fn read(intent: &str, kind: &KindWords) -> Self {
        let tokens = tokens(intent);
        let start = tokens.iter().take_while(|token| is_opening(token)).count();
        let asked = tokens.get(start..).unwrap_or_default();
        let mut wish = Self { sentence: sentence(intent), ..Self::default() };
        wish.address = asked.iter().find_map(|token| match token {
            Token::Path(path) => Address::read(path),
            _ => None,
        });
        wish.action = find_action(asked);
        wish.method = find_method(asked, wish.action.as_deref());
        wish.read_fields(asked);
        wish.name = find_name(asked, kind, &wish);
        wish
    }

    /// Adds the fields that any part of the tokens announces, and takes away those it does not want.
    pub(super) fn read_fields(&mut self, tokens: &[Token]) {
        let mut at = 0;
        while at < tokens.len() {
            let announces = tokens[at].is(ANNOUNCEMENTS)
                || (tokens[at].is(FIELD_WORDS) && tokens.get(at + 1) == Some(&Token::Mark(':')));
            at += 1;
            if tokens[at - 1].is(&["without"]) {
                let (unwanted, end) = read_list(tokens, at);
                self.remove_fields(&unwanted);
                at = end;
            } else if announces && !is_aside(tokens, at - 1) {
                let (found, end) = read_list(tokens, at);
                found.into_iter().for_each(|field| self.add_field(field));
                at = end.max(at);
            }
        }
    }

    /// A field of the same name is the same field, and what is said of it later counts.
    pub(super) fn add_field(&mut self, field: Field) {
        let name = field.name.snake();
        match self.fields.iter_mut().find(|known| known.name.snake() == name) {
            Some(known) if field.is_typed || field.is_optional => *known = field,
            Some(_) => {}
            None => self.fields.push(field),
        }
        self.fields.truncate(MAX_FIELDS);
    }

    pub(super) fn remove_fields(&mut self, unwanted: &[Field]) {
        self.fields.retain(|field| !unwanted.iter().any(|other| other.name == field.name));
    }
}

fn is_opening(token: &Token) -> bool {
    token.is(OPENINGS) || token.is(DETERMINERS) || matches!(token, Token::Mark(_) | Token::Break)
}

/// `by default`, `from scratch`, `with which`: announcements that announce nothing.
fn is_aside(tokens: &[Token], at: usize) -> bool {
    let next = tokens.get(at + 1);
    let is_short = tokens[at].is(&["by", "from", "returns", "returning"]);
    match next {
        None => true,
        Some(next) if next.is(&["default", "scratch", "which", "whom", "it", "them", "hand"]) => true,
        // A few words decide: `by name` is a field, `by the end of the month` is none.
        Some(_) if is_short => {
            let words = tokens[at + 1..].iter().take_while(|token| matches!(token, Token::Word(_))).count();
            !tokens[at].is(&["by"]) || words > 3 || tokens[at + 1].is(&["the"])
        }
        Some(_) => false,
    }
}

/// Reads `avatar, name and an optional bio: str`; gives the fields and where the list ends.
pub(super) fn read_list(tokens: &[Token], start: usize) -> (Vec<Field>, usize) {
    let mut fields = Vec::new();
    let mut at = start;
    // `with the following fields:`
    let lead = tokens[at..]
        .iter()
        .take_while(|token| token.is(FIELD_WORDS) || token.is(DETERMINERS) || **token == Token::Mark(':'))
        .count();
    if tokens[at..at + lead].iter().any(|token| token.is(FIELD_WORDS)) {
        at += lead;
    }
    loop {
        while tokens.get(at).is_some_and(|token| is_separator(token, tokens.get(at + 1))) {
            at += 1;
        }
        let (item, end) = read_item(tokens, at);
        if end == at {
            return (fields, at);
        }
        at = end;
        match item {
            Some(field) if fields.len() < MAX_FIELDS => fields.push(field),
            Some(_) => return (fields, at),
            None => {}
        }
        let goes_on = tokens.get(at).is_some_and(|token| is_separator(token, tokens.get(at + 1)));
        if !goes_on {
            return (fields, at);
        }
    }
}

fn is_separator(token: &Token, next: Option<&Token>) -> bool {
    match token {
        Token::Mark(',' | ';' | '&' | '+' | '-' | '*' | '•') => true,
        // Members below each other.
        Token::Break => !matches!(next, Some(Token::Break) | None),
        _ => token.is(JOINTS),
    }
}

/// One member of a list: up to the next separator or the end of the list.
fn read_item(tokens: &[Token], start: usize) -> (Option<Field>, usize) {
    let mut at = start;
    let (mut words, mut is_optional): (Vec<String>, bool) = (Vec::new(), false);
    let mut of = None;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Word(word) => {
                let ends = token.is(LIST_ENDS) || token.is(JOINTS);
                let is_verb =
                    words.is_empty() && verb_of(&token.lower()).is_some_and(|verb| token.lower() != verb);
                if (ends && !is_past_at(&words, token)) || is_verb {
                    // `price as an int`, `name of type str`
                    if token.is(&["as"])
                        && let Some((read, end)) = read_type_at(tokens, at + 1)
                    {
                        of = Some(read);
                        at = end;
                    }
                    break;
                }
                if token.is(ANNOUNCEMENTS) && !words.is_empty() {
                    break;
                }
                if token.is(&["of"]) {
                    if let Some((read, end)) = tokens
                        .get(at + 1)
                        .filter(|next| next.is(&["type"]))
                        .and_then(|_| read_type_at(tokens, at + 2))
                    {
                        of = Some(read);
                        at = end;
                        break;
                    }
                    if words.last().is_some_and(|word| {
                        ["list", "set", "sequence", "collection"].contains(&word.as_str())
                    }) {
                        words.clear();
                        at += 1;
                        continue;
                    }
                    if words != ["number"] {
                        // `orders of a user`: the rest says whose.
                        at = skip_words(tokens, at);
                        break;
                    }
                }
                match token.lower().as_str() {
                    "optional" | "optionally" => is_optional = true,
                    "type"
                        if !words.is_empty()
                            && tokens.get(at + 1).is_some_and(|next| *next == Token::Mark(':')) => {}
                    _ if token.is(DETERMINERS) => {}
                    _ if word.chars().any(char::is_alphanumeric) => words.push(token.lower_or_code(word)),
                    _ => {}
                }
                at += 1;
            }
            Token::Quoted(text) if words.is_empty() => {
                words.push(text.clone());
                at += 1;
            }
            Token::Mark(':') if !words.is_empty() => {
                if let Some((read, end)) = read_type_at(tokens, at + 1) {
                    of = Some(read);
                    at = end;
                }
                break;
            }
            Token::Mark('(') if !words.is_empty() => {
                let close = tokens[at..].iter().take(20).position(|token| *token == Token::Mark(')'));
                let Some(close) = close else { break };
                let inside = &tokens[at + 1..at + close];
                is_optional |= inside.iter().any(|token| token.is(&["optional"]));
                of = read_type_at(inside, 0).map(|(read, _)| read).or(of);
                at += close + 1;
            }
            Token::Mark('?') if !words.is_empty() && tokens.get(at + 1).is_some() => {
                is_optional = true;
                at += 1;
            }
            _ => break,
        }
    }
    // What has a type is a field, whatever it is called.
    words.retain(|word| {
        of.is_some() || !FIELD_WORDS.contains(&word.as_str()) || word == "data" || word == "value"
    });
    let is_name = (1..=4).contains(&words.len());
    let field = is_name.then(|| Name::of_words(&words)).flatten().map(|name| {
        let mut field = Field::guess(name);
        if let Some((of, may_be_none)) = of {
            field = Field { of, is_typed: true, is_optional: may_be_none, ..field };
        }
        field.is_optional |= is_optional;
        field
    });
    (field, at)
}

/// `created at` and `due on` are names, though `at` and `on` usually end a list.
fn is_past_at(words: &[String], token: &Token) -> bool {
    token.is(&["at", "on"])
        && words.last().is_some_and(|word| {
            word.ends_with("ed") || ["due", "sent", "paid", "seen"].contains(&word.as_str())
        })
}

fn skip_words(tokens: &[Token], start: usize) -> usize {
    let is_rest = |token: &&Token| {
        matches!(token, Token::Word(_)) && !token.is(JOINTS) && !token.is(&["with", "that", "which"])
    };
    start + tokens[start..].iter().take_while(is_rest).count()
}

/// The longest type that begins here.
pub(super) fn read_type_at(
    tokens: &[Token],
    start: usize,
) -> Option<((super::field::FieldType, bool), usize)> {
    let text = |token: &Token| match token {
        Token::Word(word) => Some(word.clone()),
        Token::Mark(mark @ ('[' | ']' | '|' | ',' | '.')) => Some(mark.to_string()),
        _ => None,
    };
    let mut words: Vec<String> = Vec::new();
    let mut ends = Vec::new();
    for (index, token) in tokens.iter().enumerate().skip(start).take(24) {
        let Some(word) = text(token) else { break };
        match words.last_mut() {
            Some(last) if word == "." && last.ends_with('.') => last.push('.'),
            _ => words.push(word),
        }
        ends.push((words.len(), index + 1));
    }
    ends.iter().rev().find_map(|&(count, end)| {
        let words: Vec<&str> = words[..count].iter().map(String::as_str).collect();
        read_type(&words).map(|read| (read, end))
    })
}

fn find_action(tokens: &[Token]) -> Option<Cow<'static, str>> {
    let first = tokens.first().and_then(|token| verb_of(&token.lower()));
    let said = || {
        tokens.windows(2).find_map(|pair| {
            let introduces = pair[0].is(&["that", "which", "to", "for", "can", "will", "should"]);
            introduces.then(|| verb_of(&pair[1].lower())).flatten()
        })
    };
    // `test` and `log` at the beginning are what is wanted, unless something follows that is done to.
    let is_order = tokens.get(1).is_some_and(|next| next.is(DETERMINERS) || !next.is(BOUNDARIES));
    let known = first.filter(|_| is_order).or_else(said).map(action_of).map(Cow::Borrowed);
    known.or_else(|| said_outright(tokens).map(Cow::Owned))
}

/// `It can dredge with …` and `It can dredge.` leave no doubt, whatever the verb is.
fn said_outright(tokens: &[Token]) -> Option<String> {
    let place = tokens.windows(2).position(|pair| pair[0].is(&["it"]) && pair[1].is(&["can"]))?;
    let Some(Token::Word(verb)) = tokens.get(place + 2) else { return None };
    let ends = |token: &Token| token.is(&["with"]) || matches!(token, Token::Mark('.') | Token::Break);
    let is_whole = tokens.get(place + 3).is_none_or(ends);
    Name::read(verb).filter(|_| is_whole).map(|verb| verb.snake())
}

fn find_method(tokens: &[Token], action: Option<&str>) -> Option<Method> {
    let said = tokens.iter().find_map(|token| match token {
        Token::Word(word) => Method::read(word),
        _ => None,
    });
    said.or(match action {
        Some("create" | "register" | "add" | "place" | "send" | "upload" | "book" | "publish") => {
            Some(Method::Post)
        }
        Some("update") => Some(Method::Put),
        Some("delete" | "remove" | "cancel") => Some(Method::Delete),
        _ => None,
    })
}

fn find_name(tokens: &[Token], kind: &KindWords, wish: &Wish) -> Option<Name> {
    named_outright(tokens)
        .or_else(|| name_of_head(tokens, kind))
        .or_else(|| name_after(tokens, &["for", "of", "about"], kind))
        .or_else(|| wish.address.as_ref().and_then(Address::name))
        .or_else(|| name_of_object(tokens, kind))
        .or_else(|| name_after(tokens, &["that", "whether"], kind))
}

/// `called X`, `named X`, `call it X`.
pub(super) fn named_outright(tokens: &[Token]) -> Option<Name> {
    let after = tokens.iter().enumerate().find_map(|(at, token)| {
        let next_is = |words: &[&str]| tokens.get(at + 1).is_some_and(|next| next.is(words));
        match token.lower().as_str() {
            "called" | "named" => Some(at + 1),
            "call" | "name" if next_is(&["it", "this", "them"]) => Some(at + 2),
            _ => None,
        }
    })?;
    match tokens.get(after)? {
        Token::Quoted(text) => Name::read(text),
        token if token.is_code_name() => Name::of_words(&[word_of(token)]),
        _ => phrase(tokens, after),
    }
}

fn name_of_head(tokens: &[Token], kind: &KindWords) -> Option<Name> {
    let head = &tokens[..head_length(tokens)];
    let outright = head.iter().find_map(|token| match token {
        Token::Quoted(text) => Some(text.as_str()),
        token if token.is_code_name() => Some(word_of(token)),
        _ => None,
    });
    let words = match outright {
        Some(text) => super::name::split_words(text),
        None => split_head(head).into_iter().filter(|word| !FILLERS.contains(&word.as_str())).collect(),
    };
    let words = kind.without(&words);
    // An order such as `send email` begins with what is done.
    let is_order = outright.is_none()
        && words.len() > 1
        && words.first().is_some_and(|word| verb_of(word) == Some(word));
    let words = &words[usize::from(is_order)..];
    // A table is a table of something.
    let is_shape =
        outright.is_none() && !words.is_empty() && words.iter().all(|word| kind.such_as.contains(word));
    let of = name_after(&tokens[head.len()..], &["of", "for"], kind)
        .filter(|_| is_shape && tokens.get(head.len()).is_some_and(|token| token.is(&["of", "for"])))
        .map(|name| name.singular());
    Name::of_words(&of.iter().flat_map(Name::words).chain(words).collect::<Vec<_>>())
}

fn name_after(tokens: &[Token], words: &[&str], kind: &KindWords) -> Option<Name> {
    let at = tokens.iter().position(|token| token.is(words))?;
    let start = at + 1 + tokens[at + 1..].iter().take_while(|token| token.is(DETERMINERS)).count();
    if let Some(token) = tokens.get(start).filter(|token| token.is_code_name()) {
        return Name::of_words(&[word_of(token)]);
    }
    let is_done = tokens.get(start).is_some_and(|token| verb_of(&token.lower()).is_some());
    let name = phrase(tokens, start + usize::from(is_done))?;
    // What is done with many is done with each.
    let name = if is_done { name.singular() } else { name };
    Name::of_words(&kind.without(name.words()))
}

/// `that sends emails` → `email`.
fn name_of_object(tokens: &[Token], kind: &KindWords) -> Option<Name> {
    let is_verb = |token: &Token| verb_of(&token.lower()).is_some() && !token.is(FIELD_WORDS);
    let at = tokens.iter().position(is_verb)?;
    let start = at + 1 + tokens[at + 1..].iter().take_while(|token| token.is(DETERMINERS)).count();
    let name = phrase(tokens, start)?.singular();
    Name::of_words(&kind.without(name.words()))
}

/// The words up to the next boundary.
fn phrase(tokens: &[Token], start: usize) -> Option<Name> {
    let rest = tokens.get(start..)?;
    let length = rest
        .iter()
        .take_while(|token| matches!(token, Token::Word(_)))
        .take_while(|token| !token.is(BOUNDARIES) && !token.is(DETERMINERS) && !token.is(ANNOUNCEMENTS))
        .count();
    Name::of_words(&rest[..length].iter().map(Token::lower).collect::<Vec<_>>())
}

fn word_of(token: &Token) -> &str {
    match token {
        Token::Word(text) | Token::Quoted(text) | Token::Path(text) => text,
        _ => "",
    }
}

impl Token {
    /// Code names keep their capitals, which part their words.
    fn lower_or_code(&self, word: &str) -> String {
        if self.is_code_name() { word.to_owned() } else { self.lower() }
    }
}

const MAX_SENTENCE_CHARS: usize = 400;

/// The sentence for a docstring: one line, no control characters, nothing that turns the direction of text, and an end.
fn sentence(intent: &str) -> String {
    let is_unseen = |c: char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{2028}' | '\u{2029}')
            || matches!(c, '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
    };
    let shown = intent.chars().take(50 * MAX_SENTENCE_CHARS);
    let spaced: String = shown.map(|c| if c.is_control() || is_unseen(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let text = words.join(" ");
    let mut cut: String = text.chars().take(MAX_SENTENCE_CHARS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    } else if cut.chars().last().is_some_and(char::is_alphanumeric) {
        cut.push('.');
    }
    let mut characters = cut.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
