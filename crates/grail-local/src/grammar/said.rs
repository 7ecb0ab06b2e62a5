//! Words as they were said. A word of an answer that begins like one of the request most likely is that word, so whatever leads away from it counts
//! for less.
//!
//! A small model that copies `spinnaker` from piece to piece has seen `spinner` more often, and goes on as it always does. Nothing is forbidden here: a
//! model that is sure of another word writes it. Where a word ends is seen by letters alone: `tide_table`, `TideTable` and `tide table` are two each.

use std::collections::BTreeSet;

/// How much less a slip counts, in logarithms: it is taken if it is some thousand times as probable as going on.
pub(super) const COST: f32 = 7.0;

/// Fewer letters are no word that anybody slips at, and begin too many.
const SHORTEST_WORD: usize = 3;
const SHORTEST_BEGINNING: usize = 2;

/// More words are a document; what is copied from it is not to be known.
const MOST_WORDS: usize = 2000;

/// The words of a request, and how far an answer has come with one.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// In small letters, each also as several of its kind, or as one.
    words: BTreeSet<Vec<u8>>,
    word: Word,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Word {
    /// In small letters.
    letters: Vec<u8>,
    ends_small: bool,
}

impl Word {
    /// Goes on with a byte. False if that begins another word, or ends this one.
    fn push(&mut self, byte: u8) -> bool {
        let is_letter = byte.is_ascii_alphabetic() || byte >= 0x80;
        let goes_on = is_letter && !(self.ends_small && byte.is_ascii_uppercase());
        if !goes_on {
            self.letters.clear();
        }
        if is_letter {
            self.letters.push(byte.to_ascii_lowercase());
        }
        self.ends_small = is_letter && !byte.is_ascii_uppercase();
        goes_on
    }
}

impl Said {
    pub fn of(request: &str) -> Self {
        let mut said = BTreeSet::new();
        let mut word = Word::default();
        for byte in request.bytes().chain([b' ']) {
            let before = word.letters.clone();
            if !word.push(byte) && before.len() >= SHORTEST_WORD {
                said.insert(before);
            }
        }
        let is_document = said.len() > MOST_WORDS;
        let words = if is_document { BTreeSet::new() } else { said.into_iter().flat_map(forms).collect() };
        Self { words, word: Word::default() }
    }

    /// Takes what was written.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.word.push(*byte);
        }
    }

    /// Whether a word was begun that can become one that was said.
    pub fn is_under_way(&self) -> bool {
        self.word.letters.len() >= SHORTEST_BEGINNING && self.begins(&self.word.letters)
    }

    /// Whether a token leads away from all that was said. To be asked while a word is under way.
    pub fn is_slip(&self, token: &[u8]) -> bool {
        let mut word = self.word.clone();
        for byte in token {
            let before = word.letters.clone();
            if !word.push(*byte) {
                return !self.words.contains(&before);
            }
        }
        !self.begins(&word.letters)
    }

    fn begins(&self, letters: &[u8]) -> bool {
        self.words.range(letters.to_vec()..).next().is_some_and(|word| word.starts_with(letters))
    }
}

/// A word, several of it, and one of it.
fn forms(word: Vec<u8>) -> Vec<Vec<u8>> {
    let with = |stem: &[u8], ending: &[u8]| [stem, ending].concat();
    let mut forms = vec![with(&word, b"s"), with(&word, b"es")];
    for (ending, other) in [(&b"ies"[..], &b"y"[..]), (b"y", b"ies"), (b"es", b""), (b"s", b"")] {
        forms.extend(word.strip_suffix(ending).map(|stem| with(stem, other)));
    }
    forms.push(word);
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these lead away, after so much was written.
    fn slips<'t>(written: &str, tokens: &[&'t str]) -> Vec<&'t str> {
        let mut said = Said::of("A regatta page: spinnaker, heir, TideTable and two comets; berry");
        said.push(written.as_bytes());
        tokens.iter().copied().filter(|token| said.is_under_way() && said.is_slip(token.as_bytes())).collect()
    }

    #[test]
    fn a_word_goes_on_as_it_was_said() {
        assert_eq!(
            slips("def f(*, spin", &["naker", "n", "ner", ":", "nakers", "nakerx"]),
            ["ner", ":", "nakerx"]
        );
        assert_eq!(slips("heir", &["ess", ":", "s", "_name", "Card", "looms"]), ["ess", "looms"]);
        assert_eq!(slips("class Ti", &["de", "deTable", "ger", "de_table", "me:"]), ["ger", "me:"]);
    }

    #[test]
    fn several_of_a_thing_and_one_of_it_are_the_same_word() {
        assert_eq!(slips("com", &["et:", "ets:", "eta:"]), ["eta:"]);
        assert_eq!(slips("ber", &["ry ", "ries ", "rys "]), Vec::<&str>::new());
    }

    #[test]
    fn other_words_are_free() {
        for written in ["", "s", "from tdom import ht", "spinnaker_", "spinnaker: st"] {
            assert_eq!(slips(written, &["x", "yz", ":", "ml"]), Vec::<&str>::new(), "{written}");
        }
        // A document says too much to hold anybody to it.
        let document: String = (0..3000).map(|number| format!("w{} ", "ab".repeat(number))).collect();
        assert!(Said::of(&document).words.is_empty());
    }

    proptest::proptest! {
        /// It does not matter in which pieces an answer comes.
        #[test]
        fn text_may_come_in_any_pieces(pieces in proptest::collection::vec("[a-cA-C_ é]{0,5}", 0..30)) {
            let (mut at_once, mut piecewise) = (Said::default(), Said::default());
            at_once.push(pieces.concat().as_bytes());
            pieces.iter().for_each(|piece| piecewise.push(piece.as_bytes()));
            proptest::prop_assert_eq!(at_once.word, piecewise.word);
        }
    }
}
