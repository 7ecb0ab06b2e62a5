//! The way along the vocabulary's tree, from a place where a name is held: most of its branches lead to no name that is known.

use toktrie::{Recognizer, TokTrie};

use super::{Names, is_part};

pub(super) struct Walk<'n> {
    names: &'n Names,
    /// What was written before, and what the tokens add to it.
    word: Vec<u8>,
    /// Where each byte of the way has led.
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// No name has begun.
    Before,
    Within,
    /// It has ended, or there is none: whatever follows is free.
    Behind,
}

impl<'n> Walk<'n> {
    pub(super) fn new(names: &'n Names) -> Self {
        let place = match names.word.first() {
            None => Place::Before,
            Some(byte) if byte.is_ascii_digit() => Place::Behind,
            Some(_) => Place::Within,
        };
        Self { names, word: names.word.clone(), places: vec![place] }
    }

    fn place(&self) -> Place {
        self.places.last().copied().unwrap_or(Place::Before)
    }
}

impl Recognizer for Walk<'_> {
    fn try_push_byte(&mut self, byte: u8) -> bool {
        let place = match self.place() {
            Place::Behind => Place::Behind,
            Place::Before if byte == b' ' => Place::Before,
            // No text has this byte: what follows is no text.
            Place::Before if byte == TokTrie::SPECIAL_TOKEN_MARKER => Place::Behind,
            Place::Before if !is_part(byte) || byte.is_ascii_digit() => Place::Behind,
            Place::Before | Place::Within if is_part(byte) && byte != TokTrie::SPECIAL_TOKEN_MARKER => {
                self.word.push(byte);
                if !self.names.begins(&self.word) {
                    self.word.pop();
                    return false;
                }
                Place::Within
            }
            Place::Before | Place::Within if self.names.is_known(&self.word) => Place::Behind,
            Place::Before | Place::Within => return false,
        };
        self.places.push(place);
        true
    }

    fn pop_bytes(&mut self, count: usize) {
        for _ in 0..count {
            if self.places.pop() == Some(Place::Within) {
                self.word.pop();
            }
        }
    }

    fn collapse(&mut self) {
        let place = self.place();
        self.places = vec![place];
    }

    fn trie_finished(&mut self) {
        self.places.truncate(1);
        self.word.clone_from(&self.names.word);
    }
}
