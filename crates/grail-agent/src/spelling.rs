//! Names as they were asked for: a small model that was asked for an `heir` may write `heiress`, and no rule can know that it is wrong.
//!
//! A word in a name that the code itself gives (a function, a class, what they take) is put right if nobody said it, if the template of its
//! kind does not use it, and if exactly one word that was said is nearly the same and stands in no such name. Then it is put right
//! wherever it stands, in markup and documentation as well. Nothing else changes, and nothing at all if the result would not parse.

use std::collections::{BTreeMap, BTreeSet};

use grail_code::edit::apply;
use grail_code::{Edit, Field, Kind, Node, Parsed, Source, Span, parse_module};

/// What fixes of this kind are called beside those of rules.
pub const SPELLING: &str = "spelling";

/// Shorter words are like too many others.
const SHORTEST: usize = 3;
/// More is no sentence and no artifact, and not worth the time.
const MOST_WORDS: usize = 2_000;

/// Code with the names that were asked for, and how many words were put right.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelled {
    pub code: String,
    pub words: usize,
}

/// Puts names right by the request. `template` is what code of this kind is usually made of.
pub fn spell_as_said(request: &str, template: &str, code: &str) -> Spelled {
    respell(request, template, code).unwrap_or_else(|| Spelled { code: code.to_owned(), words: 0 })
}

fn respell(request: &str, template: &str, code: &str) -> Option<Spelled> {
    let parsed = parse_module(Source::from_text(code));
    if !parsed.is_valid() {
        return None;
    }
    let said: BTreeSet<String> = words(request).map(|(_, word)| word.to_lowercase()).collect();
    let usual: BTreeSet<String> = words(template).map(|(_, word)| word.to_lowercase()).collect();
    let given = Given::of(&parsed);
    if said.len() > MOST_WORDS || given.words.len() > MOST_WORDS {
        return None;
    }
    let is_unsaid =
        |word: &&String| !said.contains(*word) && !usual.contains(*word) && !given.elsewhere.contains(*word);
    let missing: Vec<&String> = said.iter().filter(|word| !given.words.contains(*word)).collect();
    let mut meant: BTreeMap<&str, &str> = BTreeMap::new();
    for word in given.words.iter().filter(is_unsaid) {
        if let Some(right) = nearest(word, &missing) {
            meant.insert(word, right);
        }
    }
    // Two words for one that was said: nobody knows which is meant.
    let times = |right: &str| meant.values().filter(|other| **other == right).count();
    let certain: BTreeMap<&str, &str> =
        meant.iter().filter(|(_, right)| times(right) == 1).map(|(word, right)| (*word, *right)).collect();
    let is_imported = |span: Span| given.imports.iter().any(|import| import.covers(span));
    let edits: Vec<Edit> = words(code)
        .filter(|(span, _)| !is_imported(*span))
        .filter_map(|(span, word)| {
            Some(Edit::replace(span, in_case_of(word, certain.get(&*word.to_lowercase())?)))
        })
        .collect();
    let code = apply(code, edits).ok()?;
    let is_whole = parse_module(Source::from_text(code.as_str())).is_valid();
    is_whole.then_some(Spelled { code, words: certain.len() })
}

/// The names of a file.
#[derive(Default)]
struct Given {
    /// The words of names that the file gives itself.
    words: BTreeSet<String>,
    /// Names that come from somewhere else, such as built-in ones: they are what they are.
    elsewhere: BTreeSet<String>,
    imports: Vec<Span>,
}

impl Given {
    fn of(parsed: &Parsed) -> Self {
        let mut given = Self::default();
        let (mut bound, mut used) = (BTreeSet::new(), BTreeSet::new());
        for node in parsed.nodes() {
            let name = |field: Field| node.child(field).map(Node::text);
            match node.kind() {
                Kind::FunctionDef | Kind::ClassDef | Kind::Parameter => bound.extend(name(Field::Name)),
                Kind::AnnAssign => bound.extend(name(Field::Target)),
                Kind::Name => drop(used.insert(node.text())),
                Kind::Import | Kind::ImportFrom => given.imports.push(node.span()),
                _ => {}
            }
        }
        given.elsewhere = used.difference(&bound).map(|name| name.to_lowercase()).collect();
        given.words =
            bound.iter().flat_map(|name| words(name)).map(|(_, word)| word.to_lowercase()).collect();
        given
    }
}

/// The one word that is nearly the same.
fn nearest<'w>(word: &str, among: &[&'w String]) -> Option<&'w str> {
    let mut near: Vec<(usize, &str)> =
        among.iter().filter_map(|other| Some((distance(word, other)?, other.as_str()))).collect();
    near.sort_unstable();
    match near.as_slice() {
        [only] => Some(only.1),
        [first, second, ..] if first.0 < second.0 => Some(first.1),
        _ => None,
    }
}

/// How far two words are apart, if one could be meant by the other: a few letters differ, or one is the other with more behind it. Several of
/// a thing are no misspelling of one.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.chars().count() < SHORTEST || is_several(short, long) {
        return None;
    }
    let distance = strsim::osa_distance(one, other);
    let is_near = distance <= long.chars().count() / 3 || long.starts_with(short);
    is_near.then_some(distance)
}

fn is_several(one: &str, several: &str) -> bool {
    let stem = one.strip_suffix('y').map(|stem| format!("{stem}ies"));
    several == format!("{one}s") || several == format!("{one}es") || stem.as_deref() == Some(several)
}

/// The words of a text with their places: `tide_table`, `TideTable` and `tide table` are two each.
fn words(text: &str) -> impl Iterator<Item = (Span, &str)> {
    let mut starts = Vec::new();
    let mut before = ' ';
    for (place, character) in text.char_indices() {
        let begins = character.is_alphabetic()
            && (!before.is_alphabetic() || (character.is_uppercase() && before.is_lowercase()));
        if begins {
            starts.push(place);
        }
        before = character;
    }
    let mut starts = starts.into_iter().peekable();
    std::iter::from_fn(move || {
        let start = starts.next()?;
        let rest = &text[start..starts.peek().copied().unwrap_or(text.len())];
        let length = rest.find(|character: char| !character.is_alphabetic()).unwrap_or(rest.len());
        let span = Span::new(u32::try_from(start).ok()?, u32::try_from(start + length).ok()?);
        Some((span, &rest[..length]))
    })
}

/// Another word, written as this one is.
fn in_case_of(word: &str, other: &str) -> String {
    let is_upper = |character: char| character.is_uppercase();
    let mut letters = other.chars();
    match (word.chars().all(is_upper), word.chars().next().is_some_and(is_upper)) {
        (true, _) => other.to_uppercase(),
        (_, true) => letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect(),
        _ => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "from tdom import html\ndef {{ name }}_view(*, {{ fields }}) -> str: page = t\"\"";

    const CODE: &str = r#""""A castle view with moat and heiress."""

from shop.web import view
from tdom import html


@view
def castle_view(*, moat: str, heiress: str) -> str:
    page = t"""
        <main class="castle">
            <p class="moat">{moat}</p>
            <p class="heiress">{heiress}</p>
        </main>
    """
    return html(page)
"#;

    fn spelled(request: &str, code: &str) -> Spelled {
        spell_as_said(request, TEMPLATE, code)
    }

    #[test]
    fn a_name_that_nobody_said_becomes_the_one_that_was() {
        let told = spelled("Show a castle on a page: moat and heir.", CODE);
        assert_eq!(told, Spelled { code: CODE.replace("heiress", "heir"), words: 1 });
    }

    #[test]
    fn words_are_put_right_in_every_case_and_within_names() {
        let code = "class TeapottCard:\n    \"\"\"TEAPOTT.\"\"\"\n    pour_volumne: str\n";
        let told = spelled("Component TeapotCard with pour volume", code);
        assert_eq!(told.code, "class TeapotCard:\n    \"\"\"TEAPOT.\"\"\"\n    pour_volume: str\n");
        assert_eq!(told.words, 2);
    }

    #[test]
    fn what_was_said_or_is_usual_or_comes_from_elsewhere_stays() {
        for (request, code) in [
            // It was said.
            ("a castle view with moat, heir and heiress", CODE),
            // Nothing that was said is near, or two words are.
            ("a castle view with moat and owner", CODE),
            ("a castle view with moat, heirest and heiresk", CODE),
            // Several of a thing are no misspelling, nor is what the template says.
            ("a list of comets", "def comet_list(*, comet: str) -> None: ...\n"),
            ("a paged viewer", "def page_view(*, page: str) -> None: ...\n"),
            // A built-in function is what it is.
            ("prints and dates", "def show(*, print_day: str) -> None:\n    print(print_day)\n"),
            // The word that was said is a name already, so the other one is meant.
            ("a lending desk", "class LendingDesk:\n    def lend(self) -> None: ...\n"),
            // It would not parse.
            ("classy returned date", "def show(*, return_date: str) -> str:\n    return return_date\n"),
            ("a castle", "def castl("),
        ] {
            assert_eq!(spelled(request, code), Spelled { code: code.to_owned(), words: 0 }, "{request}");
        }
    }

    #[test]
    fn imports_stay() {
        let code =
            "from shop import moats_of\n\n\ndef castle(*, moatt: str) -> str:\n    return moats_of(moatt)\n";
        let told = spelled("castle with moat", code);
        assert_eq!(
            told.code,
            "from shop import moats_of\n\n\ndef castle(*, moat: str) -> str:\n    return moats_of(moat)\n"
        );
    }
}
