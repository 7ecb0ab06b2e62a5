//! Intents to begin with: what a project could have asked for, so that there is something to learn from before anybody has worked with Grail.
//!
//! Some are told as they were written, each about a thing of its own and in words of its own (`suites/requests.jsonl`). The others are put together
//! from things, fields and wordings in `suites/curriculum.toml`, the same ones every time. People chat before and after they ask, and write lists in
//! many ways, so the sentences do too. None of them is about a thing of the held-out suite, has one of its sets of fields, or is worded like it; a
//! test compares them by the measure of the split.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::FlywheelError;
use crate::statistics::Draws;

/// Of how many rare fields some are chosen.
const RARE_FIELDS: usize = 5;
/// How many fields a wording tells one by one at most. Of the rare ones two may be the same by chance.
const MOST_NUMBERED: usize = RARE_FIELDS - 1;
/// How many rare words there are for one intent: its fields, and up to two for its thing.
const RARE_WORDS: usize = RARE_FIELDS + 2;
/// How far apart the rare words are that follow each other: they are sorted, and neighbours are alike. A prime that does not divide their number.
const STRIDE: usize = 1_009;
/// How far apart wordings are that follow each other: neighbours were written in one sitting. A prime that does not divide their number.
const WORDING_STRIDE: usize = 101;
/// Of how many syllables a word is coined.
const SYLLABLES: usize = 2;
/// One of so many intents has something said before it, and one of so many something after it.
const CHATTY: usize = 3;
/// So many intents are whole wordings, then as many are put together from halves.
const IN_A_ROW: usize = 2;
/// One of so many has a sentence about something else before it, after it, or in its middle.
const ASIDE: usize = 2;
/// One of so many that are put together tells its fields first.
const LEAD: usize = 3;
/// So many that were written whole come before one that is put together, for as long as there are any: the words around a thing are about its world
/// there, which nothing that is put together can have.
const WRITTEN_IN_A_ROW: usize = 5;
const TEXT: &str = include_str!("../../suites/curriculum.toml");
const REQUESTS: &str = include_str!("../../suites/requests.jsonl");

/// Something to ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Intent {
    /// The kind of artifact that is asked for.
    pub kind: String,
    /// As somebody says it.
    pub intent: String,
    /// As whoever answers would say it: short, the same for all of its kind, and understood by the model `template`.
    pub plain: String,
    pub thing: String,
    pub fields: Vec<String>,
    /// Which of the kind's wordings it is, from 0.
    pub wording: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Words that are seldom said, and what may stand behind one.
    rare: Vec<String>,
    endings: Vec<String>,
    /// What words are coined from that nobody has said before.
    syllables: Vec<String>,
    /// What people say before and after they ask, and what means nothing for the answer.
    openings: Vec<String>,
    closings: Vec<String>,
    asides: WrittenAsides,
    kinds: Vec<WrittenKind>,
    things: BTreeMap<String, Vec<String>>,
}

/// Sentences about something else, which has to be told from what is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAsides {
    before: Vec<String>,
    after: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenKind {
    kind: String,
    /// How often it is asked for in all.
    count: usize,
    /// The fewest and the most fields that are asked for.
    #[serde(default = "some_fields")]
    fields: [usize; 2],
    /// What else varies: the words that a hole of this name is filled with, one of them each time.
    #[serde(default)]
    choices: BTreeMap<String, Vec<String>>,
    plain: String,
    /// Whole requests.
    wordings: Vec<String>,
    /// Halves of requests, any two of which go together: what is wanted, and the fields behind it or before it.
    subjects: Vec<String>,
    particulars: Vec<String>,
    leads: Vec<String>,
}

fn some_fields() -> [usize; 2] {
    [2, 4]
}

/// A request that was written whole, and what is meant by it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRequest {
    kind: String,
    thing: String,
    fields: Vec<String>,
    /// What fills the kind's own hole, if it has one: the part of a page, the verb of a service, the method and path of a route.
    choice: Option<String>,
    prompt: String,
}

/// All intents, in an order of which every beginning is balanced between the kinds.
pub fn curriculum() -> Result<Vec<Intent>, FlywheelError> {
    let written: Written = toml::from_str(TEXT).map_err(|error| faulty("curriculum.toml", &error))?;
    let requests = requests(&written.kinds)?;
    let things: Vec<(&String, &Vec<String>)> = written.things.iter().collect();
    let mut before = 0;
    let made = written.kinds.iter().enumerate().map(|(place, kind)| {
        let first = before;
        before += kind.count;
        let one = |number| intent(kind, Serial { place, number, before: first + number }, &things, &written);
        (0..kind.count).map(one).collect()
    });
    let (mut requests, mut made) = (in_balance(requests).into_iter(), in_balance(made.collect()).into_iter());
    let mut intents = Vec::new();
    while requests.len() + made.len() > 0 {
        intents.extend(requests.by_ref().take(WRITTEN_IN_A_ROW));
        intents.extend(made.next());
    }
    let mut said = BTreeSet::new();
    intents.retain(|intent: &Intent| said.insert(intent.intent.clone()));
    Ok(intents)
}

fn faulty(file: &str, error: &dyn std::fmt::Display) -> FlywheelError {
    FlywheelError::refused(format!("`{file}`: {error}"), "this is a fault of Grail's own data")
}

/// Requests that were written whole, for each of the kinds.
fn requests(kinds: &[WrittenKind]) -> Result<Vec<Vec<Intent>>, FlywheelError> {
    let mut of_kinds: Vec<Vec<Intent>> = kinds.iter().map(|_| Vec::new()).collect();
    for line in REQUESTS.lines() {
        let request: WrittenRequest =
            serde_json::from_str(line).map_err(|error| faulty("requests.jsonl", &error))?;
        let place = kinds.iter().position(|kind| kind.kind == request.kind);
        let place = place.ok_or_else(|| faulty("requests.jsonl", &format!("no kind `{}`", request.kind)))?;
        let serial = of_kinds[place].len();
        of_kinds[place].push(request.intent(&kinds[place], serial));
    }
    Ok(of_kinds)
}

impl WrittenRequest {
    fn intent(self, kind: &WrittenKind, serial: usize) -> Intent {
        let hole = kind.choices.keys().next().map(String::as_str);
        let choices = hole.zip(self.choice.as_deref()).into_iter().collect();
        // What takes nothing but what its path says has nothing to be told.
        let plain = if self.fields.is_empty() {
            kind.plain.replace(" with {fields}", "")
        } else {
            kind.plain.clone()
        };
        Intent {
            kind: self.kind,
            plain: worded(&plain, &self.thing, &self.fields, &choices, &Lists::default()),
            intent: self.prompt,
            thing: self.thing,
            fields: self.fields,
            // Behind the wordings, and behind all that can be put together.
            wording: kind.wordings.len() + kind.count + serial,
        }
    }
}

/// All of these in one row, each of them spread evenly over it. At the same moment, in their order.
fn in_balance(of_kinds: Vec<Vec<Intent>>) -> Vec<Intent> {
    let mut intents: Vec<(f64, Intent)> = Vec::new();
    for of_kind in of_kinds {
        let count = of_kind.len() as f64;
        intents
            .extend((0..).zip(of_kind).map(|(number, intent)| ((f64::from(number) + 0.5) / count, intent)));
    }
    intents.sort_by(|one, other| one.0.total_cmp(&other.0));
    intents.into_iter().map(|(_, intent)| intent).collect()
}

/// Which intent it is.
#[derive(Clone, Copy)]
struct Serial {
    /// Of its kind among the kinds.
    place: usize,
    /// Among those of its kind.
    number: usize,
    /// How many were made before it.
    before: usize,
}

fn intent(
    kind: &WrittenKind,
    Serial { place, number, before }: Serial,
    things: &[(&String, &Vec<String>)],
    written: &Written,
) -> Intent {
    // Every kind goes through the things in an order of its own; a prime that does not divide their number meets all of them.
    let (mut thing, mut pool) = things[(number * 37 + place * 11) % things.len()];
    let mut draws = Draws::new((place * 10_000 + number) as u64);
    let mut draw = |words: &[String]| words[draws.below(words.len())].clone();
    // A word that is said often is learned, and then it need not be copied: all have had their turn before one comes again.
    let rare =
        |field: usize| written.rare[(before * RARE_WORDS + field) * STRIDE % written.rare.len()].clone();
    let rare_thing = match number % 8 {
        7 => coined(&written.syllables, &mut draw),
        3 => format!("{} {}", rare(RARE_FIELDS), rare(RARE_FIELDS + 1)),
        _ => rare(RARE_FIELDS),
    };
    let mut rare_fields: Vec<String> = (0..RARE_FIELDS)
        .map(|field| match field {
            0 => format!("{} {}", rare(field), draw(&written.endings)),
            1 => coined(&written.syllables, &mut draw),
            _ => rare(field),
        })
        .collect();
    rare_fields.sort_unstable();
    rare_fields.dedup();
    // An order in which they always come would be learned as well.
    for last in (1..rare_fields.len()).rev() {
        rare_fields.swap(last, draws.below(last + 1));
    }
    let (wording, asked) = request(kind, number, &written.asides, &mut draws);
    let numbered = numbered_fields(&asked);
    if number % 3 != 0 || pool.len() < numbered {
        pool = &rare_fields;
    }
    if number % 2 == 1 {
        thing = &rare_thing;
    }
    let [fewest, most] = kind.fields.map(|count| count.min(pool.len()));
    let count = match numbered {
        0 => fewest + draws.below(most - fewest + 1),
        numbered => numbered,
    };
    let mut chosen: Vec<usize> = (0..pool.len()).collect();
    while chosen.len() > count {
        chosen.remove(draws.below(chosen.len()));
    }
    let fields: Vec<String> = chosen.into_iter().map(|field| pool[field].clone()).collect();
    let choices: BTreeMap<&str, &str> = kind
        .choices
        .iter()
        .map(|(hole, words)| (hole.as_str(), words[draws.below(words.len())].as_str()))
        .collect();
    let lists = Lists {
        prose: PROSE[draws.below(PROSE.len())],
        list: LIST[draws.below(if asked.ends_with("{list}") { LIST.len() } else { ONE_LINE })],
    };
    let chat = |phrases: &[String], draws: &mut Draws| {
        (draws.below(CHATTY) == 0).then(|| phrases[draws.below(phrases.len())].clone())
    };
    let (opening, closing) = (chat(&written.openings, &mut draws), chat(&written.closings, &mut draws));
    let is_meant = |word: &String| thing.contains(word) || fields.iter().any(|field| field.contains(word));
    let mut other = || loop {
        let word = &written.rare[draws.below(written.rare.len())];
        if !is_meant(word) {
            return word;
        }
    };
    let asked = beside(&asked, other(), other());
    let asked = worded(&asked, thing, &fields, &choices, &lists);
    let gap = if asked.contains('\n') { "\n" } else { " " };
    let said = [opening.map(|said| said + " "), Some(asked), closing.map(|said| format!("{gap}{said}"))];
    Intent {
        kind: kind.kind.clone(),
        intent: said.into_iter().flatten().collect(),
        plain: worded(&kind.plain, thing, &fields, &choices, &Lists::default()),
        thing: thing.clone(),
        fields,
        wording,
    }
}

/// A request with its holes, and which of the kind's it is: a whole one, or two halves; and with an aside, or without.
fn request(kind: &WrittenKind, number: usize, asides: &WrittenAsides, draws: &mut Draws) -> (usize, String) {
    let (round, place) = (number / (2 * IN_A_ROW), number % (2 * IN_A_ROW));
    let serial = round * IN_A_ROW + place % IN_A_ROW;
    let mut one_of = |phrases: &[String]| phrases[draws.below(phrases.len())].clone();
    let (wording, mut sentences) = if place < IN_A_ROW {
        let wording = serial * WORDING_STRIDE % kind.wordings.len();
        (wording, vec![kind.wordings[wording].clone()])
    } else {
        let subject = kind.subjects[serial % kind.subjects.len()].clone();
        let halves = match serial % LEAD {
            0 => vec![closed(one_of(&kind.leads)), subject],
            _ => vec![subject, one_of(&kind.particulars)],
        };
        (kind.wordings.len() + serial, halves)
    };
    let (before, after) = (one_of(&asides.before), one_of(&asides.after));
    if draws.below(ASIDE) == 0 {
        // One more place than there are sentences.
        match draws.below(sentences.len() + 1) {
            0 => sentences.insert(0, before),
            place => {
                sentences[place - 1] = closed(std::mem::take(&mut sentences[place - 1]));
                sentences.insert(place, after);
            }
        }
    }
    (wording, sentences.join(if sentences.iter().any(|one| one.contains('\n')) { "\n" } else { " " }))
}

/// A sentence that another one may follow: a bare list has no end of its own.
fn closed(sentence: String) -> String {
    if sentence.ends_with(|last: char| last.is_alphanumeric() || last == '}') {
        sentence + "."
    } else {
        sentence
    }
}

/// Fills in what an aside is about.
fn beside(asked: &str, other: &str, second: &str) -> String {
    asked
        .replace("{another}", &with_article(other))
        .replace("{others}", &several(other))
        .replace("{other}", other)
        .replace("{second}", second)
}

/// How fields are told one after the other: what stands before the first, between two, before the last, around each, and whether a field is
/// written as a name of Python.
#[derive(Clone, Copy, Default)]
struct ListForm {
    first: &'static str,
    between: &'static str,
    last: &'static str,
    quote: &'static str,
    as_name: bool,
}

/// How one sentence tells its fields, in running words and as a bare list.
#[derive(Clone, Copy)]
struct Lists {
    prose: ListForm,
    list: ListForm,
}

impl Default for Lists {
    fn default() -> Self {
        Self { prose: PROSE[0], list: PROSE[0] }
    }
}

const fn listed(first: &'static str, between: &'static str, last: &'static str) -> ListForm {
    ListForm { first, between, last, quote: "", as_name: false }
}

const fn named(between: &'static str, last: &'static str, quote: &'static str) -> ListForm {
    ListForm { first: "", between, last, quote, as_name: true }
}

/// Only where there are three or more.
const OXFORD: &str = ", and ";

/// The first is the most usual one, and comes as often as the others together.
const PROSE: [ListForm; 8] = [
    listed("", ", ", " and "),
    listed("", ", ", " and "),
    listed("", ", ", " and "),
    listed("", ", ", " and "),
    listed("", ", ", OXFORD),
    listed("", ", ", " plus "),
    listed("", " and ", " and "),
    listed("", ", ", " as well as "),
];

/// Those of several lines come last.
const LIST: [ListForm; 11] = [
    listed("", ", ", ", "),
    listed("", ", ", ", "),
    listed("", ", ", " and "),
    listed("", " / ", " / "),
    listed("", "; ", "; "),
    listed("", " + ", " + "),
    named(", ", ", ", ""),
    named(", ", ", ", "`"),
    named(", ", " and ", "`"),
    listed("\n- ", "\n- ", "\n- "),
    listed("\n* ", "\n* ", "\n* "),
];
const ONE_LINE: usize = LIST.len() - 2;

impl ListForm {
    fn tell(self, fields: &[String]) -> String {
        let count = fields.len();
        let mut told = String::new();
        for (place, field) in fields.iter().enumerate() {
            told += match place {
                0 => self.first,
                1 if count == 2 && self.last == OXFORD => " and ",
                _ if place + 1 == count => self.last,
                _ => self.between,
            };
            let field = if self.as_name { field.replace(' ', "_") } else { field.clone() };
            told.extend([self.quote, &field, self.quote]);
        }
        told
    }
}

/// How many fields a wording tells one by one: `{1}`, `{2}` and so on.
fn numbered_fields(wording: &str) -> usize {
    (1..=MOST_NUMBERED).rev().find(|number| wording.contains(&format!("{{{number}}}"))).unwrap_or_default()
}

/// A word that there is not.
fn coined(syllables: &[String], draw: &mut impl FnMut(&[String]) -> String) -> String {
    (0..SYLLABLES).map(|_| draw(syllables)).collect()
}

fn worded(
    wording: &str,
    thing: &str,
    fields: &[String],
    choices: &BTreeMap<&str, &str>,
    lists: &Lists,
) -> String {
    let part = choices.get("part").copied().unwrap_or_default();
    let name = format!("{thing} {part}");
    let class = |name: &str| name.split(' ').map(capitalised).collect::<String>();
    let several = several(thing);
    let in_path = several.replace(' ', "-");
    let code = |joint: &str, form: fn(&str) -> String| {
        fields.iter().map(|field| form(&field.replace(' ', "_"))).collect::<Vec<_>>().join(joint)
    };
    let prose = lists.prose.tell(fields);
    let mut said = wording.to_owned();
    for (hole, word) in choices {
        said = said.replace(&format!("{{{hole}}}"), word);
    }
    for (number, field) in (1..).zip(fields) {
        said = said.replace(&format!("{{{number}}}"), field);
    }
    said.replace("{a Thing}", &with_article(&class(thing)))
        .replace("{a Name}", &with_article(&class(&name)))
        .replace("{a name}", &with_article(&name))
        .replace("{Name}", &class(&name))
        .replace("{name}", &name)
        .replace("{Thing}", &class(thing))
        .replace("{a}", &with_article(thing))
        .replace("{A}", &capitalised(&with_article(thing)))
        .replace("/{things}", &format!("/{in_path}"))
        .replace("{things}", &several)
        .replace("{thing}", thing)
        .replace("{id}", &format!("{{{}_id}}", thing.replace(' ', "_")))
        .replace("{first}", fields.first().map(String::as_str).unwrap_or_default())
        .replace("{rest}", &lists.prose.tell(fields.get(1..).unwrap_or_default()))
        .replace("{Fields}", &capitalised(&prose))
        .replace("{fields}", &prose)
        .replace("{list}", &lists.list.tell(fields))
        .replace("{names}", &code(", ", str::to_owned))
        .replace("{keywords}", &code(", ", |name| format!("{name}=...")))
        // Last, because it has braces of its own.
        .replace("{attributes}", &code(" ", |name| format!("{name}={{{name}}}")))
}

fn several(thing: &str) -> String {
    match thing.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
        _ if ["ch", "sh", "s", "x", "z"].iter().any(|ending| thing.ends_with(ending)) => {
            format!("{thing}es")
        }
        _ => format!("{thing}s"),
    }
}

fn with_article(word: &str) -> String {
    let is_open = word.to_lowercase().starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {word}", if is_open { "an" } else { "a" })
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
