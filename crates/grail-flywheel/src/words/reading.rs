//! A message as clauses of plain words: lower case, no apostrophes, slips of the keyboard mended, code and quotations as one placeholder.
//!
//! Linear in what is read, and no more than [`MAX_BYTES`] of it is read.

use super::cues;

/// What comes later in a message says little about the work before it.
const MAX_BYTES: usize = 4096;
/// Stands for code or a quotation: its words are somebody else's.
pub(super) const QUOTED: &str = "…";

#[derive(Debug, Default)]
pub(super) struct Clause {
    pub words: Vec<String>,
    /// First of its sentence.
    pub opens_sentence: bool,
    /// After a "but" or the like.
    pub is_contrast: bool,
    /// Its sentence asks.
    pub is_question: bool,
}

pub(super) fn read(message: &str) -> Vec<Clause> {
    let mut reader = Reader { opens_sentence: true, ..Reader::default() };
    let text = without_code(beginning(message));
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let follows_space = letters.peek().is_none_or(|next| next.is_whitespace());
        match letter {
            '\'' | '’' | '`' if !reader.word.is_empty() => {}
            _ if letter.is_alphanumeric() => reader.word.extend(letter.to_lowercase()),
            '_' | '/' | '.' | '-' | ':' if !reader.word.is_empty() && !follows_space => {
                // `services/cart.py` and `snake_case` are names, not two words.
                reader.word.push('_');
            }
            '.' | '!' | ';' => reader.end_sentence(false),
            '?' => reader.end_sentence(true),
            '\n' => reader.end_sentence(false),
            ',' | ':' | '(' | ')' | '–' | '—' | '-' => reader.end_clause(false),
            '…' => {
                reader.end_word();
                reader.clause.words.push(QUOTED.to_owned());
            }
            '👍' | '🎉' | '✅' | '👌' | '🚀' | '❤' | '💯' | '🙏' => {
                reader.end_word();
                reader.clause.words.push("👍".to_owned());
            }
            '👎' | '❌' | '😕' => {
                reader.end_word();
                reader.clause.words.push("👎".to_owned());
            }
            _ => reader.end_word(),
        }
    }
    reader.end_sentence(false);
    reader.clauses
}

#[derive(Default)]
struct Reader {
    clauses: Vec<Clause>,
    clause: Clause,
    word: String,
    /// Where the sentence began.
    sentence: usize,
    opens_sentence: bool,
}

impl Reader {
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = cues::mended(std::mem::take(&mut self.word));
        if cues::is_contrast(&word) {
            self.end_clause(true);
        } else {
            self.clause.words.push(word);
        }
    }

    /// `is_contrast` is said of the clause that follows.
    fn end_clause(&mut self, is_contrast: bool) {
        self.end_word();
        let next = Clause { is_contrast, ..Clause::default() };
        let mut clause = std::mem::replace(&mut self.clause, next);
        if clause.words.is_empty() {
            self.clause.is_contrast |= clause.is_contrast;
            return;
        }
        clause.opens_sentence = std::mem::take(&mut self.opens_sentence);
        self.clauses.push(clause);
    }

    fn end_sentence(&mut self, is_question: bool) {
        self.end_clause(false);
        for clause in &mut self.clauses[self.sentence..] {
            clause.is_question |= is_question;
        }
        self.sentence = self.clauses.len();
        self.opens_sentence = true;
    }
}

fn beginning(message: &str) -> &str {
    let end = (0..=MAX_BYTES.min(message.len())).rev().find(|end| message.is_char_boundary(*end));
    &message[..end.unwrap_or(0)]
}

/// The text with fenced blocks, quoted lines, code between backticks and words between quotation marks put aside.
fn without_code(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut is_fenced = false;
    for line in text.split('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_fenced = !is_fenced;
        } else if is_fenced || trimmed.starts_with('>') {
            plain.push('…');
        } else {
            without_quotations(line, &mut plain);
        }
        plain.push('\n');
    }
    plain
}

fn without_quotations(line: &str, plain: &mut String) {
    let mut rest = line;
    while let Some(start) = rest.find(['`', '"', '“']) {
        let opening = rest[start..].chars().next().unwrap_or('`');
        let closing = if opening == '“' { '”' } else { opening };
        let inside = &rest[start + opening.len_utf8()..];
        plain.push_str(&rest[..start]);
        let Some(end) = inside.find(closing) else {
            // A mark without its other half is a slip; what follows is the person's own.
            plain.push(' ');
            plain.push_str(inside);
            return;
        };
        plain.push_str(" … ");
        rest = &inside[end + closing.len_utf8()..];
    }
    plain.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clauses(message: &str) -> String {
        let line = |clause: &Clause| {
            let marks =
                [(clause.opens_sentence, "^"), (clause.is_contrast, "but "), (clause.is_question, "? ")];
            let marks: String = marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect();
            format!("{marks}{}\n", clause.words.join(" "))
        };
        read(message).iter().map(line).collect()
    }

    #[test]
    fn a_message_is_read_as_clauses() {
        insta::assert_snapshot!(
            clauses("Prefect, but DON'T move services/cart.py! Isn’t `wrong()` \"bad\"?\n```\nwrong\n```\n> no\nok"),
            @"
        ^perfect
        but dont move services_cart_py
        ^? isnt … …
        ^…
        ^…
        ^ok
        "
        );
    }

    #[test]
    fn hostile_messages_are_read_in_bounds() {
        for hostile in
            ["`".repeat(1 << 20), "\"a".repeat(1 << 20), "but ".repeat(1 << 20), "😕é".repeat(1 << 20)]
        {
            assert!(read(&hostile).iter().map(|clause| clause.words.len()).sum::<usize>() <= MAX_BYTES);
        }
    }
}
