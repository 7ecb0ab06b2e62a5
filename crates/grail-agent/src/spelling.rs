//! Names as they were asked for: a small model that was asked for an `heir` may write `heiress`, and no rule can know that it is wrong.
//!
//! What was asked for by a name is called so (`naming`). A word in a name that the code itself gives (a function, a class, what they
//! take) is put right if nobody said it, if the template of its kind does not use it, and if exactly one word that was said is nearly the same and
//! stands in no such name, or differs by no more than a slip. A name that nobody gives becomes the one that is given. Words are put right
//! wherever they stand, in markup and documentation as well. Nothing else changes, and nothing at all if the result would not parse.

use std::collections::{BTreeMap, BTreeSet};

use grail_code::edit::apply;
use grail_code::semantic::is_builtin;
use grail_code::{Edit, Field, Kind, Node, Parsed, Semantic, Source, Span, parse_module};

use crate::naming::call_as_said;

/// What fixes of this kind are called beside those of rules.
pub const SPELLING: &str = "spelling";

/// Shorter words are like too many others.
const SHORTEST: usize = 3;
/// From here on, two words begin and go on alike (Jaro and Winkler's measure).
const ALIKE: f64 = 0.8;
/// More is no sentence and no artifact, and not worth the time.
const MOST_WORDS: usize = 2_000;

/// Code with the names that were asked for, and how many words were put right.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelled {
    pub code: String,
    pub words: usize,
    /// The thing that it is about is called otherwise than before.
    pub is_renamed: bool,
}

impl Spelled {
    fn new(code: String, words: usize) -> Self {
        Self { code, words, is_renamed: false }
    }
}

/// Puts names right by the request. `template` is what code of this kind is usually made of.
pub fn spell_as_said(request: &str, template: &str, code: &str) -> Spelled {
    let spelled = respell(request, template, code).unwrap_or_else(|| Spelled::new(code.to_owned(), 0));
    match call_as_said(request, &spelled.code) {
        Some(code) => Spelled { code, words: spelled.words + 1, is_renamed: true },
        None => spelled,
    }
}

fn respell(request: &str, template: &str, code: &str) -> Option<Spelled> {
    let parsed = parse_module(Source::from_text(code));
    if !parsed.is_valid() {
        return None;
    }
    let (said, usual) = (said_words(request), said_words(template));
    let given = Given::of(&parsed);
    if said.len() > MOST_WORDS || given.words.len() > MOST_WORDS {
        return None;
    }
    let is_unsaid =
        |word: &&String| !said.contains(*word) && !usual.contains(*word) && !given.elsewhere.contains(*word);
    let (there, missing): (Vec<&String>, Vec<&String>) =
        said.iter().partition(|word| given.words.contains(*word));
    let mut meant: BTreeMap<&str, &str> = BTreeMap::new();
    for word in given.words.iter().filter(is_unsaid) {
        if let Some(right) = nearest(word, &missing, distance) {
            meant.insert(word, right);
        }
    }
    // Two words for one that was said: nobody knows which is meant.
    let times = |right: &str| meant.values().filter(|other| **other == right).count();
    let mut certain: BTreeMap<&str, &str> =
        meant.iter().filter(|(_, right)| times(right) == 1).map(|(word, right)| (*word, *right)).collect();
    for word in given.words.iter().filter(is_unsaid) {
        if let Some(right) = nearest(word, &there, slip) {
            certain.entry(word).or_insert(right);
        }
    }
    let names: Vec<&String> = given.words.iter().collect();
    for word in given.unknown.difference(&given.words).filter(is_unsaid) {
        if let Some(right) = nearest(word, &names, distance) {
            certain.entry(word).or_insert(right);
        }
    }
    let is_imported = |span: Span| given.imports.iter().any(|import| import.covers(span));
    let edits: Vec<Edit> = words(code)
        .filter(|(span, _)| !is_imported(*span))
        .filter_map(|(span, word)| {
            Some(Edit::replace(span, in_case_of(word, certain.get(&*word.to_lowercase())?)))
        })
        .collect();
    let code = apply(code, edits).ok()?;
    let is_whole = parse_module(Source::from_text(code.as_str())).is_valid();
    is_whole.then(|| Spelled::new(code, certain.len()))
}

/// The words of names that a file gives itself, in small letters.
pub(crate) fn given_words(parsed: &Parsed) -> BTreeSet<String> {
    Given::of(parsed).words
}

/// The words of a text, in small letters.
pub(crate) fn said_words(text: &str) -> BTreeSet<String> {
    words(text).map(|(_, word)| word.to_lowercase()).collect()
}

/// Names that are used and that nobody gives: neither the file nor Python.
pub(crate) fn names_nobody_gives(parsed: &Parsed) -> BTreeSet<String> {
    let semantic = Semantic::new(parsed);
    let nobodys = semantic.references().iter().filter(|it| it.symbol.is_none() && !is_builtin(&it.name));
    nobodys.map(|reference| reference.name.to_string()).collect()
}

/// The names of a file.
#[derive(Default)]
struct Given {
    /// The words of names that the file gives itself.
    words: BTreeSet<String>,
    /// The words of names that nobody gives.
    unknown: BTreeSet<String>,
    /// Names that come from somewhere else, such as built-in ones: they are what they are.
    elsewhere: BTreeSet<String>,
    imports: Vec<Span>,
}

impl Given {
    fn of(parsed: &Parsed) -> Self {
        let mut given = Self::default();
        let (mut bound, mut used, mut keywords) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for node in parsed.nodes() {
            let name = |field: Field| node.child(field).map(Node::text);
            match node.kind() {
                Kind::FunctionDef | Kind::ClassDef | Kind::Parameter => bound.extend(name(Field::Name)),
                Kind::AnnAssign => bound.extend(name(Field::Target)),
                Kind::Name => drop(used.insert(node.text())),
                Kind::Keyword => keywords.extend(name(Field::Keyword)),
                Kind::Import | Kind::ImportFrom => given.imports.push(node.span()),
                _ => {}
            }
        }
        let unknown = names_nobody_gives(parsed);
        let unknown: BTreeSet<&str> = unknown.iter().map(String::as_str).collect();
        let lower = |names: &BTreeSet<&str>| -> BTreeSet<String> {
            names.iter().flat_map(|name| words(name)).map(|(_, word)| word.to_lowercase()).collect()
        };
        let from_elsewhere = used.difference(&bound).filter(|name| !unknown.contains(*name));
        given.elsewhere = from_elsewhere.map(|name| name.to_lowercase()).collect();
        given.unknown = lower(&unknown.union(&keywords).copied().collect());
        given.words = lower(&bound);
        given
    }
}

/// The one word that is nearly the same.
fn nearest<'w>(
    word: &str,
    among: &[&'w String],
    distance: impl Fn(&str, &str) -> Option<usize>,
) -> Option<&'w str> {
    let mut near: Vec<(usize, &str)> =
        among.iter().filter_map(|other| Some((distance(word, other)?, other.as_str()))).collect();
    near.sort_unstable();
    match near.as_slice() {
        [only] => Some(only.1),
        [first, second, ..] if first.0 < second.0 => Some(first.1),
        _ => None,
    }
}

/// How far two words are apart, if one could be meant by the other: a few letters differ, they begin alike and go on alike, or one is the other
/// with more behind it or before it. Several of a thing are no misspelling of one.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.chars().count() < SHORTEST || is_several(short, long) {
        return None;
    }
    let distance = strsim::osa_distance(one, other);
    let is_near = distance <= long.chars().count() / 3
        || long.starts_with(short)
        || long.ends_with(short)
        || strsim::jaro_winkler(one, other) >= ALIKE;
    is_near.then_some(distance)
}

/// How far two words are apart, if they differ by so little that they can hardly be two.
fn slip(one: &str, other: &str) -> Option<usize> {
    let is_beginning = one.starts_with(other) || other.starts_with(one);
    distance(one, other).filter(|distance| !is_beginning && *distance <= one.chars().count() / 4)
}

pub(crate) fn is_several(one: &str, several: &str) -> bool {
    let stem = one.strip_suffix('y').map(|stem| format!("{stem}ies"));
    several == format!("{one}s") || several == format!("{one}es") || stem.as_deref() == Some(several)
}

/// The words of a text with their places: `tide_table`, `TideTable` and `tide table` are two each.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (Span, &str)> {
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
        assert_eq!(told, Spelled::new(CODE.replace("heiress", "heir"), 1));
    }

    #[test]
    fn words_may_begin_or_end_alike() {
        for (said, written) in [("handlebar", "bar"), ("flourish", "flower"), ("caretaker", "career")] {
            let code = |field: &str| CODE.replace("heiress", field);
            let told = spelled(&format!("castle view: moat, {said}"), &code(written));
            assert_eq!(told, Spelled::new(code(said), 1));
        }
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
            assert_eq!(spelled(request, code), Spelled::new(code.to_owned(), 0), "{request}");
        }
    }

    #[test]
    fn what_was_asked_for_by_name_is_called_so() {
        let code = "\"\"\"Component AuditorCard.\"\"\"\n\n\ndef AuditorCard(*, seal: str) -> str:\n    return t'<p class=\"auditor-card\">{seal}</p>'\n";
        let told = spelled("The auditors want a component, EmbargoCard, with seal.", code);
        let wanted = code.replace("Auditor", "Embargo").replace("auditor", "embargo");
        assert_eq!(told, Spelled { code: wanted, words: 1, is_renamed: true });
        for request in
            ["EmbargoPanel with seal", "EmbargoCard and LicenceCard with seal", "AuditorCard, EmbargoCard"]
        {
            assert_eq!(spelled(request, code).words, 0, "{request}");
        }
    }

    #[test]
    fn a_name_that_nobody_gives_becomes_the_one_that_is_given() {
        let code = "def show(*, jewellery: str) -> str:\n    return f'{ewellery}, {len(jewellery)}'\n";
        assert_eq!(spelled("show jewellery", code).code, code.replace("{ewellery", "{jewellery"));
        let code = "class Locker:\n    padlock: str\n\n\ndef assign(padlok: str) -> Locker:\n    return Locker(padlock=padlok)\n";
        assert_eq!(
            spelled("assign a locker with padlock", code).code,
            code.replace("padlok:", "padlock:").replace("=padlok", "=padlock")
        );
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
