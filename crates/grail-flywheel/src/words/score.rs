//! The cues of a message weighed against each other.

use super::cues::{self, Side};
use super::reading::{Clause, QUOTED};
use super::{Judgement, Verdict};

/// Less than this is nothing said.
const THRESHOLD: f64 = 0.6;
/// A cue that stands this many words behind a negation is turned round by it.
const REACH: usize = 3;
/// A question weighs nothing it mentions.
const IN_QUESTION: f64 = 0.1;
/// Nor does what may happen.
const IN_CONDITION: f64 = 0.3;
/// What stands before a "but" is politeness.
const BEFORE_CONTRAST: f64 = 0.35;
/// Praise and a "but" with nothing known behind it.
const UNNAMED_CONTRAST: f64 = 1.2;
const AFTER_CONTRAST: f64 = 1.4;
const AT_THE_START: f64 = 1.25;
/// More cues than these are not told.
const MAX_REASONS: usize = 6;

#[derive(Default)]
struct Balance {
    against: f64,
    agreeing: f64,
    because: Vec<String>,
}

pub(super) fn judge(clauses: &[Clause]) -> Judgement {
    let mut balance = Balance::default();
    let mut is_task = false;
    for (number, clause) in clauses.iter().enumerate() {
        if clause.opens_sentence {
            // What is to be made is often described in a second sentence.
            is_task = describes_something_new(clause) || (is_task && goes_on_describing(clause));
        }
        let before = (balance.against, balance.agreeing);
        if clause.is_contrast {
            balance.against *= BEFORE_CONTRAST;
            balance.agreeing *= BEFORE_CONTRAST;
        }
        weigh(clause, number, is_task, &mut balance);
        let found_nothing = balance.against <= before.0 && balance.agreeing <= before.1;
        if clause.is_contrast && found_nothing && before.1 > before.0 {
            balance.add(Verdict::Correction, UNNAMED_CONTRAST, "but".to_owned());
        }
    }
    balance.judgement()
}

fn weigh(clause: &Clause, number: usize, is_task: bool, balance: &mut Balance) {
    let words = &clause.words;
    let goes_on = cues::at(words, 0).is_some_and(|cue| cue.side == Side::Going);
    let asks_for_change = wish(clause).filter(|_| !goes_on);
    let is_question = (clause.is_question || asks(words)) && asks_for_change.is_none();
    let mut factor = if is_question { IN_QUESTION } else { 1.0 };
    if number == 0 {
        factor *= AT_THE_START;
    }
    if clause.is_contrast {
        factor *= AFTER_CONTRAST;
    }
    if matches!(words.first().map(String::as_str), Some("if" | "when" | "whenever" | "once" | "unless")) {
        factor *= IN_CONDITION;
    }
    if let Some(deed) = deed(words).filter(|_| !is_question) {
        balance.add(Verdict::Correction, 1.2 * factor, format!("you {deed}"));
    }
    if let Some(verb) = asks_for_change {
        balance.add(Verdict::Correction, 1.5 * factor, verb.to_owned());
    }
    if let Some(opening) = opening(clause, number) {
        balance.add(opening.0, opening.1 * factor, opening.2.to_owned());
    }
    // What is to be made is described in words that judge nothing.
    if is_task {
        return;
    }
    let asks_openly = words.first().is_some_and(|word| {
        matches!(word.as_str(), "what" | "how" | "which" | "when" | "who" | "whats" | "hows")
    });
    let mut is_silent = true;
    let mut place = 0;
    while place < words.len() {
        let Some(cue) = cues::at(words, place) else {
            place += 1;
            continue;
        };
        let from = place.saturating_sub(REACH);
        let is_negated = words[from..place].iter().any(|word| cues::is_negation(word));
        is_silent = false;
        if let Some(verdict) = cues::verdict_of(cue.side, is_negated) {
            // A question that doubts is an answer, unless it asks what or how.
            let is_doubt = cue.side == Side::Doubt && (place == 0 || !asks_openly);
            let doubts = is_doubt
                || matches!(
                    words[place].as_str(),
                    "shouldnt" | "isnt" | "wasnt" | "didnt" | "supposed" | "why"
                );
            let weight =
                if is_question && doubts { cue.weight * factor / IN_QUESTION } else { cue.weight * factor };
            let not = if is_negated && matches!(cue.side, Side::For | Side::Fault) { "not " } else { "" };
            balance.add(verdict, weight, format!("{not}{}", words[place..place + cue.length].join(" ")));
        }
        place += cue.length;
    }
    if !is_silent || is_question {
        return;
    }
    if let Some(denial) = denial(words) {
        balance.add(Verdict::Correction, factor, denial.to_owned());
    } else if let Some(observed) = observed(words).filter(|_| number == 0) {
        balance.add(Verdict::Correction, 0.6 * factor, observed.to_owned());
    }
}

/// What it does, said first and without a word of praise: "it opens a new tab", "that reads the file for each row".
fn observed(words: &[String]) -> Option<&str> {
    let [subject, verb, _, _, ..] = words else { return None };
    let is_it = matches!(subject.as_str(), "it" | "this" | "that");
    let is_deed = verb.len() > 3
        && verb.ends_with('s')
        && !verb.ends_with("ss")
        && !matches!(
            verb.as_str(),
            "depends" | "means" | "this" | "works" | "helps" | "needs" | "seems" | "looks" | "sounds"
        );
    (is_it && is_deed).then_some(verb)
}

/// What a thing does not do, or what nobody can do with it: "the total isn't rounded", "I can't find the button". What people do not know or
/// have not done yet is no complaint.
fn denial(words: &[String]) -> Option<&str> {
    let place = words.iter().position(|word| cues::is_denial(word))?;
    let (before, rest) = (&words[..place], &words[place + 1..]);
    let is_person = |word: &String| {
        matches!(word.as_str(), "i" | "im" | "ive" | "we" | "me" | "my" | "our" | "he" | "she")
    };
    if before.iter().any(is_person) {
        return rest.iter().take(2).any(|word| cues::is_missed(word)).then_some(&words[place]);
    }
    // Something has to be there that does not.
    let is_whole = !before.is_empty() || (words[place] == "not" && !rest.is_empty());
    is_whole.then_some(&words[place])
}

/// The verb of a wish to have something made different: at the start, or behind a polite beginning.
fn wish(clause: &Clause) -> Option<&str> {
    let mut words = clause.words.iter().map(String::as_str).peekable();
    let mut is_polite = false;
    while let Some(word) = words.next_if(|word| {
        matches!(
            *word,
            "please"
                | "can"
                | "could"
                | "would"
                | "you"
                | "mind"
                | "just"
                | "so"
                | "then"
                | "pls"
                | "kindly"
                | "and"
                | "maybe"
        )
    }) {
        is_polite |= matches!(word, "you");
    }
    let (first, second) = (words.next()?, words.next());
    if cues::is_change(first) && second.is_some() {
        return Some(first);
    }
    let is_about_it = matches!(second, Some("it" | "this" | "that" | "them" | "the"));
    let is_made_other = matches!(first, "make" | "turn" | "put" | "take" | "get" | "call") && is_about_it;
    (is_made_other && (is_polite || second != Some("the") || clause.opens_sentence)).then_some(first)
}

/// What somebody is said to have done: "you used", but not "what you used".
fn deed(words: &[String]) -> Option<&str> {
    let is_reported = |word: &str| {
        matches!(
            word,
            "what"
                | "how"
                | "that"
                | "which"
                | "why"
                | "where"
                | "as"
                | "like"
                | "than"
                | "if"
                | "when"
                | "all"
                | "way"
                | "did"
        )
    };
    let mut before = "";
    for pair in words.windows(2) {
        if pair[0] == "you" && cues::is_deed(&pair[1]) && !is_reported(before) {
            return Some(&pair[1]);
        }
        before = &pair[0];
    }
    None
}

/// What the first word of a sentence says by standing there.
fn opening(clause: &Clause, number: usize) -> Option<(Verdict, f64, &str)> {
    let is_filler = |word: &&str| matches!(*word, "and" | "so" | "well" | "oh" | "ah");
    let words: Vec<&str> = clause.words.iter().map(String::as_str).skip_while(is_filler).take(4).collect();
    let first = *words.first()?;
    let second = words.get(1).copied();
    let goes_on = |word: &str| {
        cues::is_task(word) || matches!(word, "do" | "the" | "lets" | "please" | "same" | "we" | "one")
    };
    match first {
        // "not" between commas: this, not that.
        "not" if !clause.opens_sentence && number > 0 && words.len() > 1 => {
            Some((Verdict::Correction, 1.0, "not"))
        }
        _ if !clause.opens_sentence && number > 0 && !matches!(first, "now" | "next" | "then") => None,
        "no" if cues::at(&clause.words, 0).is_some() => None,
        "no" | "nah" => Some((Verdict::Correction, 1.6, "no")),
        "yes" | "yep" | "yeah" | "yup" | "yea" => Some((Verdict::Confirmation, 1.3, "yes")),
        "ok" | "okay" | "alright" | "k" | "kk" => Some((Verdict::Confirmation, 0.8, "ok")),
        "done" | "merged" | "finally" | "continue" => Some((Verdict::Confirmation, 0.8, first)),
        "without" => Some((Verdict::Correction, 1.0, "without")),
        "now" | "next" | "then" if second.is_none_or(goes_on) => Some((Verdict::Confirmation, 1.5, first)),
        _ => None,
    }
}

fn asks(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    match (words.next(), words.next()) {
        (Some("what"), Some("i" | "we")) => false,
        (Some("what" | "why" | "how" | "which" | "where" | "who" | "when" | "whats" | "hows"), Some(_)) => {
            true
        }
        (
            Some("is" | "are" | "does" | "do" | "did" | "should" | "can" | "could"),
            Some("it" | "this" | "that" | "there" | "i" | "we" | "you"),
        ) => true,
        _ => false,
    }
}

/// Whether a sentence wishes for something that is not there yet.
fn describes_something_new(clause: &Clause) -> bool {
    let words: Vec<&str> =
        clause.words.iter().map(String::as_str).filter(|word| *word != "please").take(12).collect();
    let is_new = |word: Option<&&str>| {
        matches!(word, Some(&("a" | "an" | "another" | "some" | "all" | "new" | "me" | "tests" | "the")))
    };
    match words.first() {
        Some(verb) if cues::is_task(verb) => {
            is_new(words.get(1)) && !(*verb == "make" && words.get(1) == Some(&"the"))
        }
        Some(&("i" | "we")) => matches!(words.get(1), Some(&("need" | "want"))) && is_new(words.get(2)),
        Some(&("a" | "an")) => words.iter().any(|word| matches!(*word, "that" | "which" | "with" | "for")),
        Some(&"the") => {
            words.contains(&QUOTED)
                && words.iter().any(|word| matches!(*word, "raises" | "shows" | "says" | "returns"))
        }
        _ => false,
    }
}

fn goes_on_describing(clause: &Clause) -> bool {
    matches!(
        clause.words.first().map(String::as_str),
        Some(
            "it" | "they" | "the" | "each" | "every" | "a" | "an" | "this" | "there" | "with" | "and" | "all"
        )
    )
}

impl Balance {
    fn add(&mut self, verdict: Verdict, weight: f64, reason: String) {
        match verdict {
            Verdict::Correction => self.against += weight,
            Verdict::Confirmation => self.agreeing += weight,
            Verdict::Neither => return,
        }
        if self.because.len() < MAX_REASONS {
            self.because.push(reason);
        }
    }

    fn judgement(self) -> Judgement {
        let difference = self.against - self.agreeing;
        let margin = difference.abs();
        let verdict = match margin >= THRESHOLD {
            true if difference > 0.0 => Verdict::Correction,
            true => Verdict::Confirmation,
            false => Verdict::Neither,
        };
        let sureness = if verdict == Verdict::Neither { THRESHOLD - margin } else { margin };
        let confidence = sureness / (sureness + THRESHOLD);
        Judgement { verdict, confidence: (confidence * 1000.0).round() / 1000.0, because: self.because }
    }
}
