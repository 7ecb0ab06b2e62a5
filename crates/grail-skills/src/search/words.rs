//! Text as words: what carries meaning, bounded however long the text is, and the parts a description falls into.

/// Of a query, a name or a description, no more is read.
pub(crate) const MAX_CHARACTERS: usize = 4096;
/// A longer run of letters is cut: it is no word.
const MAX_WORD_CHARACTERS: usize = 40;
/// Words of one text that are looked at.
const MAX_WORDS: usize = 256;
/// Parts of one description; what comes after belongs to the last.
pub(crate) const MAX_PARTS: usize = 8;

/// Words that say how something is said, not what. Negations are not among them: see [`is_negation`].
const FILLERS: &str = "a about above across after again all also although always am an and another any anybody anyone anything are around as at be because been \
    before being both but by can could did do does doing done down during each either else every everybody everyone everything few for from further \
    had has have having he hello help her here hers him his how however i if in into is it its itself just kind let lets like many may maybe me might mine more \
    most much must my myself need needs now of off on once one only onto or other our ours out over own per perhaps please quickly rather really same shall she \
    should since so some somebody someone something sort such than that the their theirs them then there these they thing things this those \
    through to together too toward towards under until up upon us use used uses using very via want wants was way we were what when where whether which while who \
    whom whose why will wish with within would yes yet you your yours";

/// Words in a row, in lower case.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut length = 0;
    for character in text.chars().take(MAX_CHARACTERS).chain(std::iter::once(' ')) {
        if is_ideograph(character) {
            // Written without spaces: every sign stands for itself.
            finish_word(&mut word, &mut words);
            words.push(character.to_string());
            length = 0;
        } else if character.is_alphanumeric() {
            if length < MAX_WORD_CHARACTERS {
                word.extend(character.to_lowercase());
            }
            length += 1;
        } else if character == '\'' || character == '’' {
            // `don't` is one word, and `'s` none.
        } else {
            finish_word(&mut word, &mut words);
            length = 0;
        }
        if words.len() >= MAX_WORDS {
            break;
        }
    }
    words
}

/// The words of a text that carry meaning; all of them if none does.
pub(crate) fn carrying(words: &[String]) -> Vec<&str> {
    let all = || words.iter().map(String::as_str);
    let carrying: Vec<&str> = all().filter(|word| !is_filler(word) && !is_negation(word)).collect();
    if carrying.is_empty() { all().collect() } else { carrying }
}

/// A description in parts, each of which says one thing: its sentences, and what follows each `when`.
pub(crate) fn split_parts(description: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let text: String = description.chars().take(MAX_CHARACTERS).collect();
    let mut part = String::new();
    for piece in text.split_inclusive(|character: char| character.is_whitespace()) {
        let word = piece.trim_end();
        let starts_another = word.eq_ignore_ascii_case("when") && part.split_whitespace().count() > 2;
        if starts_another && parts.len() + 1 < MAX_PARTS {
            parts.push(std::mem::take(&mut part));
        }
        part.push_str(piece);
        if word.ends_with(['.', ';', '!', '?']) && word.chars().count() > 2 && parts.len() + 1 < MAX_PARTS {
            parts.push(std::mem::take(&mut part));
        }
    }
    parts.push(part);
    parts.retain(|part| part.chars().any(char::is_alphanumeric));
    parts
}

/// Whether a text begins by saying what not to do.
pub(crate) fn forbids(words: &[String]) -> bool {
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| *word != "please").take(2).collect();
    matches!(words[..], ["dont" | "never" | "avoid", ..] | ["do", "not"])
}

/// Whether a word turns what follows into its opposite.
pub(crate) fn is_negation(word: &str) -> bool {
    matches!(
        word,
        "not"
            | "no"
            | "never"
            | "without"
            | "dont"
            | "doesnt"
            | "cannot"
            | "cant"
            | "isnt"
            | "nothing"
            | "avoid"
            | "except"
    )
}

fn is_filler(word: &str) -> bool {
    use std::sync::OnceLock;

    use rustc_hash::FxHashSet;
    static SET: OnceLock<FxHashSet<&str>> = OnceLock::new();
    (word.len() == 1 && !word.bytes().all(|byte| byte.is_ascii_digit()))
        || SET.get_or_init(|| FILLERS.split_whitespace().collect()).contains(word)
}

fn finish_word(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// Chinese, Japanese and Korean signs.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{323af}')
}
