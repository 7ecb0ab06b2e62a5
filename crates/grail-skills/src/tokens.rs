//! How many tokens a text costs a model, roughly.
//!
//! Every model counts differently, and none of their tables is worth shipping for a budget. The estimate is deterministic and cautious:
//! a word is a token for every six letters begun, digits go in threes, signs stand alone, runs of blanks come with what follows them, and
//! a letter outside ASCII counts half a token.

/// The estimated number of tokens of a text.
pub fn estimate_tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut halves = 0;
    let mut run = 0;
    let mut kind = Kind::Blank;
    for character in text.chars() {
        let next = Kind::of(character);
        if next != kind {
            tokens += kind.cost(run);
            (kind, run) = (next, 0);
        }
        match next {
            Kind::Foreign => halves += 1,
            _ => run += 1,
        }
    }
    tokens + kind.cost(run) + usize::div_ceil(halves, 2)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Sign,
    Line,
    Blank,
    Foreign,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            '\n' => Self::Line,
            ' ' | '\t' | '\r' => Self::Blank,
            _ if character.is_ascii() => Self::Sign,
            _ => Self::Foreign,
        }
    }

    fn cost(self, length: usize) -> usize {
        match self {
            Self::Letter => length.div_ceil(6),
            Self::Digit => length.div_ceil(3),
            // `---` and `==` are one token, and so is most of what stands between words.
            Self::Sign => length.div_ceil(2),
            Self::Line => 1,
            Self::Blank => usize::from(length > 1),
            Self::Foreign => 0,
        }
    }
}
