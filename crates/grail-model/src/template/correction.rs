//! Corrections: what a person answers to a proposal, as changes to the wish it came from.

use super::address::{Address, Method};
use super::field::Field;
use super::kinds::KindWords;
use super::name::Name;
use super::wish::{Wish, named_outright, read_list, read_type_at};
use super::words::{DETERMINERS, Token, tokens};

/// What a change may begin with.
const COMMANDS: &[&str] = &[
    "make", "turn", "rename", "call", "name", "drop", "remove", "delete", "omit", "without", "no", "replace",
    "only", "just", "add", "with",
];

impl Wish {
    /// Changes the wish by what a correction says: `also email`, `without bio`, `rename bio to about`, `price should be an int`,
    /// `make the note optional`, `only name and email`, `call it MemberCard`, `at /members`.
    pub fn refine(&mut self, correction: &str, kind: &KindWords) {
        let tokens = tokens(correction);
        if let Some(name) = named_outright(&tokens) {
            self.name = Name::of_words(&kind.without(name.words())).or(Some(name));
        }
        for token in &tokens {
            match token {
                Token::Path(path) => self.address = Address::read(path).or(self.address.take()),
                Token::Word(word) => self.method = Method::read(word).or(self.method),
                _ => {}
            }
        }
        let mut at = 0;
        while at < tokens.len() {
            at = self.refine_at(&tokens, at).max(at + 1);
        }
    }

    /// Reads one change that begins here; gives where it ends.
    fn refine_at(&mut self, tokens: &[Token], at: usize) -> usize {
        let next_is = |words: &[&str]| tokens.get(at + 1).is_some_and(|token| token.is(words));
        match tokens[at].lower().as_str() {
            "rename" => self.read_rename(tokens, at + 1),
            "replace" | "instead" => self.read_replacement(tokens, at + 1 + usize::from(next_is(&["of"]))),
            "without" | "drop" | "remove" | "delete" | "omit" => {
                let (unwanted, end) = read_list(tokens, at + 1);
                self.remove_fields(&unwanted);
                end
            }
            // `no bio`, but not `no, I meant …`
            "no" if matches!(tokens.get(at + 1), Some(Token::Word(_))) => {
                let (unwanted, end) = read_list(tokens, at + 1);
                self.remove_fields(&unwanted);
                end
            }
            "only" | "just" => {
                let (wanted, end) = read_list(tokens, at + 1 + usize::from(next_is(&["with"])));
                if !wanted.is_empty() {
                    let known = std::mem::take(&mut self.fields);
                    let keep = |field: Field| {
                        known.iter().find(|old| old.name == field.name).cloned().unwrap_or(field)
                    };
                    wanted.into_iter().map(keep).for_each(|field| self.add_field(field));
                }
                end
            }
            "also" | "and" | "then" if next_is(COMMANDS) => at + 1,
            "also" | "add" | "with" | "plus" | "and" | "include" | "including" | "fields" | "showing"
            | "show" => {
                let (wanted, end) = read_list(tokens, at + 1);
                wanted.into_iter().for_each(|field| self.add_field(field));
                end
            }
            "make" | "turn" => self.read_retyping(tokens, at + 1),
            _ => self.read_statement(tokens, at),
        }
    }

    /// `bio to about`.
    fn read_rename(&mut self, tokens: &[Token], at: usize) -> usize {
        let (old, middle) = read_list(tokens, at);
        if !tokens.get(middle).is_some_and(|token| token.is(&["to", "into", "as"])) {
            return middle;
        }
        let (new, end) = read_list(tokens, middle + 1);
        // Any word is a name here, also `about` and `at`.
        let word = tokens.get(middle + 1).and_then(|token| Field::read(&token.lower()));
        if let ([old], Some(new)) = (old.as_slice(), new.first().or(word.as_ref())) {
            self.rename_field(&old.name, new);
        }
        end.max(middle + 2)
    }

    /// `bio with about`, `of bio, about`.
    fn read_replacement(&mut self, tokens: &[Token], at: usize) -> usize {
        let (old, middle) = read_list(tokens, at);
        let is_by = tokens.get(middle).is_some_and(|token| token.is(&["with", "by"]));
        let (new, end) = if is_by { read_list(tokens, middle + 1) } else { (Vec::new(), middle) };
        match (old.as_slice(), new.as_slice()) {
            ([old], [new, others @ ..]) | ([old, new], others @ []) => {
                self.rename_field(&old.name, new);
                others.iter().for_each(|field| self.add_field(field.clone()));
            }
            _ => {}
        }
        end
    }

    fn rename_field(&mut self, old: &Name, new: &Field) {
        if self.fields.iter().any(|field| field.name == new.name) {
            self.fields.retain(|field| field.name != *old);
        } else if let Some(field) = self.fields.iter_mut().find(|field| field.name == *old) {
            let is_optional = field.is_optional;
            *field = new.clone();
            field.is_optional |= is_optional;
        }
    }

    /// `the note optional`, `price an int`.
    fn read_retyping(&mut self, tokens: &[Token], at: usize) -> usize {
        let start = at + tokens[at..].iter().take_while(|token| token.is(DETERMINERS)).count();
        self.read_statement(tokens, start)
    }

    /// `price should be an int`, `price is optional`, `price: int`: a field that is known, and what it is.
    fn read_statement(&mut self, tokens: &[Token], at: usize) -> usize {
        let said: Vec<String> = tokens[at.min(tokens.len())..].iter().take(4).map(Token::lower).collect();
        let found = self.fields.iter().position(|field| {
            let words = field.name.words();
            said.len() >= words.len() && said.iter().zip(words).all(|(said, word)| said == word)
        });
        let Some(field) = found.and_then(|found| self.fields.get_mut(found)) else { return at };
        let mut at = at + field.name.words().len();
        let links =
            &["should", "must", "be", "is", "are", "as", "to", "has", "type", "of", "called", "an", "a"];
        let from = at;
        while tokens.get(at).is_some_and(|token| token.is(links) || *token == Token::Mark(':')) {
            at += 1;
        }
        if tokens[from..at].iter().any(|token| token.is(&["called"])) {
            if let Some(new) = tokens.get(at).and_then(|token| Field::read(&token.lower())) {
                let old = field.name.clone();
                self.rename_field(&old, &new);
            }
            return at + 1;
        }
        match tokens.get(at) {
            Some(token) if token.is(&["optional"]) => field.is_optional = true,
            Some(token) if token.is(&["required", "mandatory"]) => field.is_optional = false,
            _ => {
                if let Some(((of, is_optional), end)) = read_type_at(tokens, at) {
                    field.of = of;
                    field.is_typed = true;
                    field.is_optional |= is_optional;
                    return end;
                }
            }
        }
        at
    }
}
