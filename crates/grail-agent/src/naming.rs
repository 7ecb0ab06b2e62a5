//! What things are called: as the request calls them. A small model that is asked for a `quarrel service` among dogs, hedges and lawyers may make a
//! `LawyerService`, and no rule can know that it is wrong.
//!
//! A name that the request has as code has it, such as `KioskCard`, is certain. In words, a thing is named right before its kind (`a quarrel service`);
//! that counts if the request names only one so, and if nothing in it speaks for the name that was given. If it was taken for a field, the two
//! are exchanged. What a name is part of is left to whoever fills in a template by the first line. Nothing changes if the result would not parse.

use std::collections::BTreeSet;

use grail_code::{Field, Kind, Node, Parsed, Source, parse_module};

use crate::spelling::{is_several, words};

/// What stands before a name of two words: `the tide table card`.
const DETERMINERS: &str = "a an the our my your his her this that their one";

/// Words that stand before a kind and name nothing: `a new service`, `they want middleware`.
const NAMELESS: &str = "a an the this that these those our my your his her its their one two three any some each every no such another other same own \
    of for in on to and or nor but with without by at from as via per than then so if because while about into over under \
    is be been was are were do does did has have had will would can could shall should may might must let lets \
    it we i you they he she them us me him yours ours mine what which who whose when where why how not just only please \
    new old plain small little tiny short simple single whole good proper nice real decent extra separate dedicated lean custom reusable missing \
    first second third last next more most want wants need needs needed write add make get build create call called named name \
    web detail html http asgi component components unit pytest python response rendering public s t d ll re ve m";

/// What leads from a kind to its thing: `a service for kilns`, `a service that can fire a kiln`.
const LEADING: &str = "for of about around concerning on can that";

/// Kinds that people call by other words as well.
const PAGES: [&str; 3] = ["view", "page", "screen"];

/// How words of a name are joined, and what stands for the name while it is exchanged with another: nobody's letters.
const EXCHANGED: [(&str, &str); 3] = [("_", "\u{e000}"), ("-", "\u{e001}"), (" ", "\u{e002}")];

/// How many words a thing may stand before its kind to be spoken for, and how many behind it.
const BEFORE: usize = 3;
const BEHIND: usize = 5;

/// The code with its thing called as the request does, if that is clear and the code does not.
pub(crate) fn call_as_said(request: &str, code: &str) -> Option<String> {
    let parsed = parse_module(Source::from_text(code));
    let given = Given::of(&parsed);
    let (wrong, right) = said_by_name(request, &given).or_else(|| said_in_words(request, &given))?;
    let rename = |code: String| {
        let forms = forms(&wrong).into_iter().zip(forms(&right));
        forms.fold(code, |code, (wrong, right)| replace_whole(&code, &wrong, &right))
    };
    let (field, thing) = (&right[..right.len() - 1], &wrong[..wrong.len() - 1]);
    let renamed = if given.fields.contains(field) && !given.fields.contains(thing) {
        // Each was taken for the other.
        let put_aside = EXCHANGED
            .iter()
            .fold(code.to_owned(), |code, (joint, mark)| replace_whole(&code, &field.join(joint), mark));
        EXCHANGED.iter().fold(rename(put_aside), |code, (joint, mark)| code.replace(mark, &thing.join(joint)))
    } else {
        rename(code.to_owned())
    };
    parse_module(Source::from_text(renamed.as_str())).is_valid().then_some(renamed)
}

/// How a name is written: as a class, a title, a name of Python, in markup, and in words.
pub(crate) fn forms(name: &[String]) -> [String; 5] {
    let capitalised: Vec<String> = name.iter().map(|word| capitalised(word)).collect();
    [capitalised.concat(), capitalised.join(" "), name.join("_"), name.join("-"), name.join(" ")]
}

/// What a file defines, in words.
struct Given {
    classes: BTreeSet<Vec<String>>,
    /// Functions that are called as pages are: `kiosk_view`.
    pages: BTreeSet<Vec<String>>,
    fields: BTreeSet<Vec<String>>,
}

impl Given {
    fn of(parsed: &Parsed) -> Self {
        let body = parsed.root().list(Field::Body);
        let definitions = body.filter(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef));
        let names: BTreeSet<&str> =
            definitions.filter_map(|node| Some(node.child(Field::Name)?.text())).collect();
        let fields = parsed.nodes().filter_map(|node| match node.kind() {
            Kind::Parameter => node.child(Field::Name).map(Node::text),
            Kind::AnnAssign => node.child(Field::Target).map(Node::text),
            _ => None,
        });
        let of = |is_wanted: fn(&str) -> bool| {
            names.iter().copied().filter(|name| is_wanted(name)).map(words_of).collect()
        };
        Self { classes: of(is_class_name), pages: of(is_page_name), fields: fields.map(words_of).collect() }
    }
}

/// The one definition whose name the request writes otherwise. The last word says what it is, so it has to be the same: a `KiosqueCard` may become
/// a `KioskCard`, a panel does not. And it has to be clear which name is meant by which.
fn said_by_name(request: &str, given: &Given) -> Option<(Vec<String>, Vec<String>)> {
    let said: BTreeSet<Vec<String>> = request
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|name| is_class_name(name) || is_page_name(name))
        .map(words_of)
        .collect();
    let given: BTreeSet<Vec<String>> = given.classes.union(&given.pages).cloned().collect();
    only(said.difference(&given).flat_map(|said_name| {
        let alike = given.difference(&said).filter(move |name| name.last() == said_name.last());
        alike.map(move |name| (name.clone(), said_name.clone()))
    }))
}

/// The one definition whose thing the request names otherwise, right before its kind. Of pages much is said that is no name (`the lobby screen`), so
/// they are called otherwise only where they are certainly wrong.
fn said_in_words(request: &str, given: &Given) -> Option<(Vec<String>, Vec<String>)> {
    let request = Request::of(request);
    let pages = given.pages.iter().filter(|name| is_field_of_itself(name, given));
    only(given.classes.iter().chain(pages).filter_map(|name| {
        let (kind, thing) = name.split_last()?;
        let said = request.thing_of(kind)?;
        let is_called_so = said.iter().any(|word| thing.iter().any(|own| is_same(own, word)));
        let is_right = !is_field_of_itself(name, given) && request.speaks_for(thing.last()?, kind);
        let right = [said, vec![kind.clone()]].concat();
        (!is_called_so && !is_right).then(|| (name.clone(), right))
    }))
}

/// Nothing is one of its own fields: whoever called it so has mistaken the one for the other.
fn is_field_of_itself(name: &[String], given: &Given) -> bool {
    name.split_last().is_some_and(|(_, thing)| given.fields.contains(thing))
}

/// The words of a request in small letters, and whether nothing but a blank is before each.
struct Request {
    words: Vec<(String, bool)>,
}

impl Request {
    fn of(text: &str) -> Self {
        let mut end = 0;
        let words = words(text).map(|(span, word)| {
            let is_near = &text[end..span.start as usize] == " ";
            end = span.end as usize;
            (word.to_lowercase(), is_near)
        });
        Self { words: words.collect() }
    }

    /// What is said right before a kind, if that is one thing wherever the kind is said.
    fn thing_of(&self, kind: &str) -> Option<Vec<String>> {
        let word = |place: usize| self.words[place].0.as_str();
        let is_near = |place: usize| self.words[place].1;
        let names = |place: usize| !is_among(NAMELESS, word(place));
        let behind = self.places(kind).filter(|place| *place > 0 && is_near(*place) && names(place - 1));
        let things: BTreeSet<Vec<String>> = behind
            .map(|place| {
                let has_two = place > 2
                    && (is_near(place - 1) && names(place - 2))
                    && (is_near(place - 2) && is_among(DETERMINERS, word(place - 3)));
                let first = if has_two { place - 2 } else { place - 1 };
                (first..place).map(|place| word(place).to_owned()).collect()
            })
            .collect();
        only(things.into_iter())
    }

    /// Whether a thing is said shortly before its kind, or behind it as what the kind is for.
    fn speaks_for(&self, thing: &str, kind: &str) -> bool {
        let things: Vec<usize> =
            (0..self.words.len()).filter(|it| is_same(&self.words[*it].0, thing)).collect();
        self.places(kind).any(|kind| {
            things.iter().any(|thing| match kind.checked_sub(*thing) {
                Some(before) => (1..=BEFORE).contains(&before),
                None => {
                    thing - kind <= BEHIND
                        && self.words[kind + 1..*thing].iter().any(|(word, _)| is_among(LEADING, word))
                }
            })
        })
    }

    fn places<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = usize> + 'r {
        let is_page = PAGES.contains(&kind);
        let is_kind = move |word: &str| {
            is_same(word, kind) || (is_page && PAGES.iter().any(|page| is_same(word, page)))
        };
        (0..self.words.len()).filter(move |place| is_kind(&self.words[*place].0))
    }
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

pub(crate) fn is_among(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// The same word, or several of it.
fn is_same(one: &str, other: &str) -> bool {
    one == other || is_several(one, other) || is_several(other, one)
}

pub(crate) fn words_of(name: &str) -> Vec<String> {
    words(name).map(|(_, word)| word.to_lowercase()).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// `KioskCard`: several words, each with a capital.
fn is_class_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
        && words(name).count() > 1
        && words(name).all(|(_, word)| word.starts_with(char::is_uppercase) && word.len() > 1)
}

/// `kiosk_view`
fn is_page_name(name: &str) -> bool {
    let is_page = |(_, word): (_, &str)| PAGES.contains(&word);
    name.contains('_') && words(name).count() > 1 && words(name).last().is_some_and(is_page)
}

/// Replaces a text where it is not part of a longer word.
pub(crate) fn replace_whole(text: &str, from: &str, to: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut end = 0;
    for (start, found) in text.match_indices(from) {
        let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
        let after = start + found.len();
        if !is_part(text[..start].chars().next_back()) && !is_part(text[after..].chars().next()) {
            replaced.extend([&text[end..start], to]);
            end = after;
        }
    }
    replaced + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &str = "\"\"\"A lawyer service. It can mediate with plaintiff and grievance.\"\"\"\n\n\nclass LawyerService:\n    def mediate(self, *, plaintiff: str, grievance: str) -> None: ...\n";

    fn called(request: &str) -> Option<String> {
        call_as_said(request, SERVICE)
    }

    #[test]
    fn what_was_asked_for_in_words_is_called_so() {
        let quarrel = SERVICE.replace("Lawyer", "Quarrel").replace("lawyer", "quarrel");
        let request =
            "Lawyers earn. I'd rather have a quarrel service, whose mediate takes plaintiff and grievance.";
        assert_eq!(called(request), Some(quarrel));
        let two_words = SERVICE.replace("Lawyer", "NeighbourClaim").replace("lawyer", "neighbour claim");
        let request = "No lawyer helps. Let the neighbour claim service mediate: plaintiff, grievance.";
        assert_eq!(called(request), Some(two_words));
    }

    #[test]
    fn what_the_request_speaks_for_stays() {
        for request in [
            // It is called so, by one word or in several.
            "a lawyer service beside the quarrel service",
            "The mail service is fine. We want a service for lawyers",
            "The mail service is fine. A service that can mediate a lawyer",
            "Unlike the mail service, lawyers want a service",
            // Nothing is called a service, or more than one thing is, or nothing by a name.
            "Some lawyers mediate",
            "Lawyers know the quarrel service and the mail service",
            "Lawyers earn; we want a new service",
            "Lawyers earn by quarrel: service",
        ] {
            assert_eq!(called(request), None, "{request}");
        }
    }

    #[test]
    fn a_thing_that_was_taken_for_a_field_is_exchanged_with_it() {
        let code = "\"\"\"ASGI middleware WatchwordMiddleware with sentinel and garrison.\"\"\"\n\n\nclass WatchwordMiddleware:\n    def __init__(self, *, sentinel: str, garrison: str) -> None:\n        self._sentinel = sentinel\n";
        let right = "\"\"\"ASGI middleware SentinelMiddleware with watchword and garrison.\"\"\"\n\n\nclass SentinelMiddleware:\n    def __init__(self, *, watchword: str, garrison: str) -> None:\n        self._watchword = watchword\n";
        let request = "Let the sentinel middleware stamp the watchword and the garrison onto headers.";
        assert_eq!(call_as_said(request, code).as_deref(), Some(right));
    }

    #[test]
    fn nothing_is_one_of_its_own_fields() {
        let code = "\"\"\"A spigot view with spigot and engraving.\"\"\"\n\n\ndef spigot_view(*, spigot: str, engraving: str) -> str:\n    return spigot\n";
        let right = "\"\"\"A samovar view with spigot and engraving.\"\"\"\n\n\ndef samovar_view(*, spigot: str, engraving: str) -> str:\n    return spigot\n";
        let request = "The samovar page: first the spigot, below it the engraving.";
        assert_eq!(call_as_said(request, code).as_deref(), Some(right));
        let other = code.replace("spigot:", "urn:").replace("return spigot", "return urn");
        assert_eq!(call_as_said(request, &other), None, "it could be right");
        for request in ["SamovarView is missing", "`def samovar_view(` is all there is"] {
            assert_eq!(call_as_said(request, code).as_deref(), Some(right), "{request}");
        }
    }
}
