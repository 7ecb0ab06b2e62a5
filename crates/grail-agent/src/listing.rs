//! Fields as the request lists them. A small model that is asked for `lariat, story and cleaver` may leave one out, or take a word that leads to a list
//! for the beginning of its first item (`a gauge bearing load and floor`), and no rule can know that it is wrong.
//!
//! What stands in one list with fields is a field: between two of them, in brackets with one, or at the end of a sentence behind an `and`. The code is
//! changed in its first line, where code of a kind says what it takes, and in names that were too long; the rest is left to whoever fills in a
//! template by that line. In doubt nothing is changed.

use crate::first_line::first_line;
use crate::naming::{forms, is_among, replace_whole, words_of};
use crate::spelling::words;

/// What stands before the fields in a first line.
const WITH: &str = " with ";
/// More words are a clause and no field.
const LONGEST: usize = 3;
/// A longer request is no sentence about a file.
const MOST_WORDS: usize = 500;

/// Nothing is added to a longer list.
const MOST_FIELDS: usize = 12;

/// What joins two items, with blanks or without. So does the end of a line.
const MARKS: [&str; 13] = [",", ";", "/", "|", "+", "&", "·", "•", "→", "->", "-", "–", "*"];
/// What joins them as well, with a mark before it or without.
const JOINING: &str = "and plus";
/// What may stand before an item.
const BEFORE_ITEM: &str = "a an the its his her their";
/// What is written round names.
const QUOTES: [char; 6] = ['`', '"', '“', '”', '‘', '’'];

/// Words that lead to fields, and what they follow then. After anything else they name something: `with bearing load`, `a given name`.
const LEADS: &str = "bearing handed given passed fed showing displaying stating containing carrying holding listing telling having taking featuring giving";
const BEFORE_LEADS: &str =
    "is are be was were gets get s component view page screen service middleware factory fixture";

/// Words that name nothing. What holds one of them is said about a list and is no item of it.
const NAMELESS: &str = "a an the this that these those it its he she they we you i me him us them my your our his her their who whom which what where when why how \
    is are be been was were do does did done has have had will would can could shall should may might must let lets make makes get gets go goes \
    of in on to or nor but with without by at from as for into over under below above beside behind before after between through per than so if because while about \
    not no never none nothing only just also too still yet even please thanks thank thx cheers sorry ok okay yes well now then later today tomorrow soon asap \
    all both each every any some such same other others another more most less else rest etc again away out off up down here there like said says adds asks \
    oh hmm um er well rather further furthermore moreover besides beneath underneath afterwards guess comma stop new bold since whatever smaller bigger break end \
    and plus finally last first second third one two three four need needs want wants leave skip forget ignore except instead";

/// The code with the first line that the request wants, if that is clear and the line is another one.
pub(crate) fn list_as_said(request: &str, code: &str) -> Option<String> {
    let line = first_line(code)?;
    let (head, listed) = line.strip_suffix('.')?.rsplit_once(WITH)?;
    let items = listed.split(", ").flat_map(|some| some.split(" and "));
    // What is more than words, such as a number, would be lost.
    let in_words =
        |item: &str| Some(words_of(item)).filter(|words| !words.is_empty() && words.join(" ") == item);
    let given: Vec<Vec<String>> = items.map(in_words).collect::<Option<_>>()?;
    let (request, thing) = (Request::of(request)?, words_of(head));
    let mut fields: Vec<Vec<String>> = Vec::new();
    let mut too_long = Vec::new();
    for field in &given {
        let mut field = field.clone();
        if request.only_leads_to(&field, &thing) {
            too_long.push(field.clone());
            field.remove(0);
        }
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    // What was left out may lead to the next one.
    while fields.len() < MOST_FIELDS
        && let Some((place, item)) = request.left_out(&fields, &thing)
    {
        fields.insert(place, item);
    }
    if fields == given {
        return None;
    }
    let code = code.replacen(line, &format!("{head}{WITH}{}.", enumerated(&fields)), 1);
    Some(too_long.iter().fold(code, |code, long| {
        let pairs = forms(long).into_iter().zip(forms(&long[1..]));
        pairs.fold(code, |code, (long, short)| replace_whole(&code, &long, &short))
    }))
}

fn enumerated(fields: &[Vec<String>]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| field.join(" ")).collect();
    match fields.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => fields.concat(),
    }
}

/// The words of a request in small letters, and what stands before each and behind the last.
struct Request<'r> {
    words: Vec<String>,
    gaps: Vec<&'r str>,
}

impl<'r> Request<'r> {
    fn of(text: &'r str) -> Option<Self> {
        let (mut said, mut gaps, mut end) = (Vec::new(), Vec::new(), 0);
        for (span, word) in words(text) {
            gaps.push(&text[end..span.start as usize]);
            said.push(word.to_lowercase());
            end = span.end as usize;
        }
        gaps.push(&text[end..]);
        (said.len() <= MOST_WORDS).then_some(Self { words: said, gaps })
    }

    /// Whether the first word of a field only leads to it, wherever it is said.
    fn only_leads_to(&self, field: &[String], thing: &[String]) -> bool {
        let is_led_to = |place: usize| {
            let before = place.checked_sub(1).map(|before| &self.words[before]);
            self.gaps[place] == " "
                && before.is_some_and(|word| is_among(BEFORE_LEADS, word) || thing.last() == Some(word))
        };
        let mut places = self.places(field).peekable();
        field.len() > 1 && is_among(LEADS, &field[0]) && places.peek().is_some() && places.all(is_led_to)
    }

    /// An item of a list that is no field yet, and the place among the fields that it has.
    fn left_out(&self, fields: &[Vec<String>], thing: &[String]) -> Option<(usize, Vec<String>)> {
        let is_new = |item: &[String]| {
            let holds = |field: &Vec<String>| item.windows(field.len()).any(|words| words == field);
            !fields.iter().any(holds) && !item.iter().all(|word| thing.contains(word))
        };
        let begins_field = |place: usize| fields.iter().any(|field| self.says(place, field));
        fields.iter().enumerate().find_map(|(number, field)| {
            self.places(field).find_map(|place| {
                let end = place + field.len();
                let behind = self.joint(end)?;
                let item = (1..=LONGEST).find_map(|length| {
                    let last = behind.next + length;
                    let is_whole = self.joint(last).is_some_and(|joint| begins_field(joint.next))
                        || (self.is_end(last) && (behind.is_joined || self.is_in_brackets(place, last)));
                    is_whole.then(|| self.item(behind.next, last)).flatten()
                })?;
                is_new(&item).then_some((number + 1, item))
            })
        })
    }

    /// The words from here to there, if they can be an item.
    fn item(&self, first: usize, end: usize) -> Option<Vec<String>> {
        let words = self.words.get(first..end)?;
        let is_near = self.gaps[first + 1..end].iter().all(|gap| matches!(*gap, " " | "_" | "-"));
        let names = |word: &String| !is_among(NAMELESS, word) && !word.ends_with("ly");
        (is_near && words.iter().all(names)).then(|| words.to_vec())
    }

    /// Whether two items are joined before this word, and where the second one begins.
    fn joint(&self, mut place: usize) -> Option<Joint> {
        let mark = self.mark(place)?;
        let is_joined = is_among(JOINING, self.words.get(place)?);
        if is_joined {
            place += 1;
        } else if !MARKS.contains(&mark.trim()) && !mark.contains('\n') {
            return None;
        }
        if self.words.get(place).is_some_and(|word| is_among(BEFORE_ITEM, word)) {
            place += 1;
        }
        let is_near = !is_joined || matches!(mark.trim(), "" | "," | ";");
        is_near.then_some(Joint { next: place, is_joined })
    }

    /// What stands before a word beside quotes.
    fn mark(&self, place: usize) -> Option<String> {
        self.gaps.get(place).map(|gap| gap.replace(QUOTES, ""))
    }

    /// Whether a sentence, a line or a bracket ends before this word.
    fn is_end(&self, place: usize) -> bool {
        let Some(mark) = self.mark(place) else { return false };
        place == self.words.len() && mark.trim().is_empty()
            || mark.starts_with(['.', '!', '?', ';', ')', ']', '\n'])
    }

    /// Whether a bracket is opened before the one place and closed right before the other, and none in between.
    fn is_in_brackets(&self, place: usize, end: usize) -> bool {
        let is_closed = self.gaps[end].starts_with([')', ']']);
        let opened = (0..=place).rev().find(|place| self.gaps[*place].contains(['(', '[', ')', ']', '.']));
        is_closed && opened.is_some_and(|place| self.gaps[place].ends_with(['(', '[']))
    }

    /// Where a field is said.
    fn places(&self, field: &[String]) -> impl Iterator<Item = usize> {
        (0..self.words.len()).filter(|place| self.says(*place, field))
    }

    fn says(&self, place: usize, field: &[String]) -> bool {
        !field.is_empty() && self.words.get(place..place + field.len()).is_some_and(|words| words == field)
    }
}

/// What stands between two items.
struct Joint {
    /// The first word of the second item.
    next: usize,
    /// It is a word, not a mark alone.
    is_joined: bool,
}

#[cfg(test)]
mod tests {
    use grail_flywheel::suite::curriculum;

    use super::*;

    fn listed(request: &str, line: &str) -> Option<String> {
        let told = list_as_said(request, &format!("\"\"\"{line}\"\"\"\n"))?;
        Some(told.trim().trim_matches('"').to_owned())
    }

    fn all(fields: &str) -> String {
        format!("A slab component with {fields}.")
    }

    #[test]
    fn what_stands_in_a_list_with_fields_is_one() {
        for (request, told, right) in [
            ("a slab (lariat/story/cleaver)", "lariat and cleaver", "lariat, story and cleaver"),
            (
                "a slab: lariat, the long_story and a cleaver",
                "lariat and cleaver",
                "lariat, long story and cleaver",
            ),
            ("slab(lariat, story)", "lariat", "lariat and story"),
            ("Show lariat, story and the cleaver. Please", "lariat and story", "lariat, story and cleaver"),
            ("- lariat\n- story\n- cleaver\n- hook", "lariat and hook", "lariat and hook"),
            ("a, b, c, d", "a and d", "a and d"),
            (
                "lariat, story, hook, cleaver (in brackets)",
                "lariat, story and cleaver",
                "lariat, story, hook and cleaver",
            ),
        ] {
            let expected = (told != right).then(|| all(right));
            assert_eq!(listed(request, &all(told)), expected, "{request}");
        }
    }

    #[test]
    fn what_is_said_about_a_list_is_none_of_it() {
        for request in [
            "a slab with lariat, please, and cleaver",
            "a slab with lariat, obviously, and cleaver",
            "a slab with lariat and cleaver, thx",
            "a slab with lariat and cleaver and nothing else.",
            "a slab with lariat and cleaver given.",
            "lariat, not the story, and cleaver",
            "The story belongs to the lariat and the cleaver",
            "lariat, this is what the other slab has as well, and cleaver",
        ] {
            assert_eq!(listed(request, &all("lariat and cleaver")), None, "{request}");
        }
        assert_eq!(
            listed("slab: lariat, slab and cleaver", &all("lariat and cleaver")),
            None,
            "it is the thing itself"
        );
        for line in [
            "A file without a list.",
            "A slab with .",
            "A slab with 12.",
            "A slab with lariat, 3 and cleaver.",
        ] {
            assert_eq!(listed("a slab with lariat, story, 12 and cleaver", line), None, "{line}");
        }
        assert_eq!(listed("", &all("lariat and cleaver")), None);
        assert_eq!(listed(&"word ".repeat(MOST_WORDS + 1), &all("word and word")), None);
    }

    #[test]
    fn what_leads_to_a_list_is_no_part_of_it() {
        let code = "\"\"\"A component Gauge with bearing load limit and floor.\"\"\"\n\ndef gauge(*, bearing_load_limit: str, floor: str): ...\n";
        let right = code.replace("bearing load", "load").replace("bearing_load", "load");
        for request in
            ["a gauge component bearing load limit and floor", "The gauge bearing load limit, floor"]
        {
            assert_eq!(list_as_said(request, code).as_deref(), Some(right.as_str()), "{request}");
        }
        for request in
            ["a gauge with bearing load limit and floor", "Gauge: bearing load limit, floor", "a gauge"]
        {
            assert_eq!(list_as_said(request, code), None, "{request}");
        }
    }

    #[test]
    fn a_list_without_an_end_ends() {
        let items: Vec<String> = ('b'..='z').map(|letter| format!("{letter}xx")).collect();
        let told = listed(&format!("bxx, {}", items.join(", ")), &all("bxx and zxx")).unwrap_or_default();
        assert!(told.matches("xx").count() <= MOST_FIELDS, "{told}");
    }

    #[test]
    fn what_is_said_twice_is_one_field() {
        assert_eq!(listed("a slab with lariat", &all("lariat and lariat")), Some(all("lariat")));
    }

    #[test]
    fn right_lists_stay_and_many_that_lack_something_get_it() {
        let (mut right, mut wrong, mut lacking, mut found) = (0, 0, 0, 0);
        for intent in curriculum().unwrap() {
            let Some((head, _)) = intent.plain.rsplit_once(WITH) else { continue };
            let line = |fields: &[Vec<String>]| format!("{head}{WITH}{}.", enumerated(fields));
            let fields: Vec<Vec<String>> = intent.fields.iter().map(|field| words_of(field)).collect();
            right += 1;
            wrong += usize::from(listed(&intent.intent, &line(&fields)).is_some());
            for place in (0..fields.len()).filter(|_| fields.len() > 1) {
                let mut some = fields.clone();
                some.remove(place);
                lacking += 1;
                let told = listed(&intent.intent, &line(&some));
                found += usize::from(told.is_some_and(|told| told == line(&fields)));
            }
        }
        assert!(wrong * 300 < right, "{wrong} of {right}");
        assert!(found * 5 > lacking, "{found} of {lacking}");
    }
}
