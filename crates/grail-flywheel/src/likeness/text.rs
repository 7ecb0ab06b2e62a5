//! Texts to shingles, with disguises taken off.

use rustc_hash::FxHashSet;
use unicode_normalization::UnicodeNormalization;

use super::Shingles;

/// Longer texts are compared by their beginnings.
const MAX_CHARACTERS: usize = 100_000;
/// How many tokens of code make a shingle.
const CODE_SHINGLE: usize = 4;
/// With fewer words left, a request without its names says nothing: then names keep their last word.
const FEW_WORDS: usize = 4;
/// Stands for a name.
const NAME: &str = "\u{1}";

/// Words that requests have or lack without meaning something else.
const EMPTY_WORDS: [&str; 10] = ["a", "an", "the", "please", "of", "to", "me", "us", "now", "just"];

/// A request in its words.
pub fn plain_shingles(text: &str) -> Shingles {
    let sentences = sentences(text);
    word_shingles(sentences.iter().map(|words| words.iter().map(|word| word.plain.clone()).collect()))
}

/// A request without the names of things.
pub fn masked_shingles(text: &str) -> Shingles {
    let sentences = sentences(text);
    let is_said = |word: &&Word| !word.is_name && !EMPTY_WORDS.contains(&word.plain.as_str());
    let said = sentences.iter().flatten().filter(is_said).count();
    let masked = |word: &Word| match word.is_name {
        true if said < FEW_WORDS => format!("{NAME}{}", word.last_part),
        true => NAME.to_owned(),
        false => word.plain.clone(),
    };
    word_shingles(sentences.iter().map(|words| words.iter().map(masked).collect()))
}

/// Code by its tokens, without comments, without the names that it defines and the words they are made of.
pub fn code_shingles(code: &str) -> Shingles {
    let tokens = code_tokens(&undisguised(code));
    let mut own: FxHashSet<String> = FxHashSet::default();
    for pair in tokens.windows(2) {
        if pair[0] == "class" || pair[0] == "def" {
            own.extend(parts_of_name(&pair[1]).into_iter().filter(|part| part.chars().count() > 2));
        }
    }
    let mut shown: Vec<String> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let parts = parts_of_name(&token);
        let is_own = !parts.is_empty() && parts.iter().all(|part| own.contains(part));
        let token = if is_own { NAME.to_owned() } else { token.to_lowercase() };
        // A name of three words and one of two are both names.
        if token != NAME || shown.last().is_none_or(|last| last != NAME) {
            shown.push(token);
        }
    }
    windows(&shown)
}

/// Code by its tokens as they are written, without comments.
pub fn token_shingles(code: &str) -> Shingles {
    windows(&code_tokens(&undisguised(code)))
}

fn windows(tokens: &[String]) -> Shingles {
    let mut hashes = FxHashSet::default();
    match tokens.len() {
        0 => {}
        1..=CODE_SHINGLE => drop(hashes.insert(hash(tokens))),
        _ => hashes.extend(tokens.windows(CODE_SHINGLE).map(hash)),
    }
    Shingles::new(hashes)
}

struct Word {
    plain: String,
    is_name: bool,
    /// `card` of `UserCard`.
    last_part: String,
}

/// Single words and pairs, within sentences: their order does not count, and neither do empty words.
fn word_shingles(sentences: impl Iterator<Item = Vec<String>>) -> Shingles {
    let mut hashes = FxHashSet::default();
    for mut words in sentences {
        let is_said = |word: &String| !EMPTY_WORDS.contains(&word.as_str());
        // A sentence of empty words alone is what it is.
        if words.iter().any(is_said) {
            words.retain(is_said);
        }
        hashes.extend(words.windows(1).map(hash));
        hashes.extend(words.windows(2).map(hash));
    }
    Shingles::new(hashes)
}

fn sentences(text: &str) -> Vec<Vec<Word>> {
    let text = undisguised(text);
    let mut sentences = Vec::new();
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    let end_word = |word: &mut String, words: &mut Vec<Word>, is_quoted: bool| {
        if !word.is_empty() {
            words.push(read_word(&std::mem::take(word), is_quoted));
        }
    };
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        let is_inside = !word.is_empty() && next.is_some_and(char::is_alphanumeric);
        // `don't`, `card.py` and `user-card` are one word each.
        if is_inside && matches!(character, '.' | '-' | '\'' | '’' | '/') {
            word.push(if character == '’' { '\'' } else { character });
            continue;
        }
        end_word(&mut word, &mut words, is_quoted);
        match character {
            '`' => is_quoted = !is_quoted,
            // A line may break anywhere; an empty line ends what was said.
            '\n' if next != Some('\n') => {}
            '.' | '!' | '?' | ';' | '\n' | '…' => {
                is_quoted = false;
                if !words.is_empty() {
                    sentences.push(std::mem::take(&mut words));
                }
            }
            _ => {}
        }
    }
    end_word(&mut word, &mut words, is_quoted);
    if !words.is_empty() {
        sentences.push(words);
    }
    sentences
}

fn read_word(word: &str, is_quoted: bool) -> Word {
    let parts = parts_of_name(word);
    let has_joint = word.contains(['_', '/']) || (word.contains('.') && !word.ends_with('.'));
    let has_humps =
        parts.len() > 1 && word.chars().any(char::is_lowercase) && word.chars().any(char::is_uppercase);
    let is_number = word.chars().all(|character| character.is_ascii_digit());
    Word {
        plain: word.to_lowercase(),
        is_name: is_quoted || has_joint || has_humps || is_number,
        last_part: parts.into_iter().next_back().unwrap_or_default(),
    }
}

/// `UserCard`, `user_card` and `user-card` are `user` and `card`.
fn parts_of_name(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            if !part.is_empty() {
                parts.push(std::mem::take(&mut part));
            }
            was_lower = false;
            continue;
        }
        if character.is_uppercase() && was_lower {
            parts.push(std::mem::take(&mut part));
        }
        was_lower = character.is_lowercase() || character.is_numeric();
        part.extend(character.to_lowercase());
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Words and single signs. What stands behind `#` outside of a string is a comment.
fn code_tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut is_escaped = false;
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            is_escaped = false;
            continue;
        }
        if !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        match character {
            '"' | '\'' if !is_escaped => match quote {
                None => quote = Some(character),
                Some(open) if open == character => quote = None,
                Some(_) => {}
            },
            '\n' => quote = None,
            '#' if quote.is_none() => {
                quote = None;
                if !characters.by_ref().any(|character| character == '\n') {
                    break;
                }
                continue;
            }
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
        // Which quotes a string has is a matter of taste.
        if !character.is_whitespace() && !matches!(character, '"' | '\'') {
            tokens.push(character.to_string());
        }
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}

/// The text as it looks: compatibility forms made plain, invisible characters gone, letters that look Latin made Latin.
fn undisguised(text: &str) -> String {
    let visible = text.chars().take(MAX_CHARACTERS).filter(|character| !is_invisible(*character));
    let is_kept = |character: &char| !is_invisible(*character) && !is_loose_mark(*character);
    visible.nfkc().filter(is_kept).map(latin).collect()
}

fn is_invisible(character: char) -> bool {
    let is_format = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}');
    is_format || (character.is_control() && !character.is_whitespace())
}

/// A mark that no letter takes in.
fn is_loose_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Letters of other scripts that nobody can tell from Latin ones.
fn latin(character: char) -> char {
    const LOOKS: &str =
        "аaеeоoрpсcуyхxіiјjѕsԁdһhԛqԝwАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSαaοoνvρpιiΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX";
    if character.is_ascii() {
        return character;
    }
    let mut looks = LOOKS.chars();
    while let (Some(foreign), Some(plain)) = (looks.next(), looks.next()) {
        if foreign == character {
            return plain;
        }
    }
    character
}

/// The same in every run and on every machine: FNV-1a, with its bits mixed in the end.
fn hash(words: &[String]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let bytes = words.iter().flat_map(|word| word.as_bytes().iter().chain(&[0xff]));
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325, step);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}
