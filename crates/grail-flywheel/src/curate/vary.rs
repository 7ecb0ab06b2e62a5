//! The same wish in other words. Made by templates, so that it is the same every time, and kept only if the answer still holds.

use grail_code::edit::apply;
use grail_code::rename::{RenameOptions, is_valid_name, rename_in_file};
use grail_code::{Semantic, Source, parse_module};
use rustc_hash::FxHashSet;

use super::{CurateSettings, Curated, Ranked, Validator};
use crate::example::{Example, ExampleType};

/// What a variation counts beside its source.
const COUNTS: f64 = 0.5;
/// More rewordings of one wish teach templates.
const MOST: usize = 5;

/// Verbs that ask for something new, and others for the same.
const VERBS: [&str; 8] = ["create", "make", "add", "write", "build", "implement", "generate", "set up"];
/// What things are called in variations about something else.
const OTHER_THINGS: [&str; 12] = [
    "Invoice", "Ticket", "Voucher", "Parcel", "Garden", "Recipe", "Lesson", "Booking", "Sensor", "Museum",
    "Bridge", "Planet",
];

/// Other ways to say a request, each different from it and from the others. None for a request that is no plain order.
pub fn rewordings(request: &str) -> Vec<String> {
    let trimmed = request.trim();
    // Several sentences hang together in ways that templates do not know.
    let body = trimmed.strip_suffix('.').unwrap_or(trimmed);
    let is_plain = !body.contains(['\n', '?', '!']) && !body.contains(". ") && body.len() < 400;
    let lower = body.to_lowercase();
    let verb = VERBS.into_iter().find(|verb| {
        lower.strip_prefix(verb).is_some_and(|rest| rest.starts_with(' '))
            && body.is_char_boundary(verb.len())
    });
    let Some(verb) = verb.filter(|_| is_plain) else { return Vec::new() };
    let thing = body[verb.len()..].trim();
    let start = VERBS.iter().position(|known| *known == verb).unwrap_or_default();
    let other = |step: usize| VERBS[(start + step) % VERBS.len()];
    let mut said = vec![
        format!("{} {thing}.", capitalised(other(1))),
        format!("Can you {} {thing}?", other(2)),
        format!("Please {} {thing}.", other(3)),
        format!("I would like you to {} {thing}.", other(4)),
    ];
    if ["a ", "an ", "the "].iter().any(|article| thing.to_lowercase().starts_with(article)) {
        said.insert(1, format!("I need {thing}."));
        said.push(format!("{} is missing; {} it.", capitalised(thing), other(5)));
    }
    said.retain(|words| words.trim_end_matches('.').to_lowercase() != lower);
    said
}

pub(super) fn add(
    kept: &mut Vec<Ranked>,
    settings: &CurateSettings,
    validator: &dyn Validator,
    curated: &mut Curated,
) {
    if settings.variations == 0 && !settings.renames {
        return;
    }
    let mut known: FxHashSet<String> = kept.iter().map(|ranked| ranked.example.id.clone()).collect();
    let mut made: Vec<Example> = Vec::new();
    for source in kept.iter().map(|ranked| &ranked.example) {
        let is_plain = matches!(source.example_type, ExampleType::Positive | ExampleType::Corrective);
        if !is_plain || source.chosen.is_none() || source.origin.variation_of.is_some() {
            continue;
        }
        let reworded = rewordings(&source.request).into_iter().take(settings.variations.min(MOST));
        let mut variations: Vec<Example> = reworded
            .map(|request| {
                let mut variation = source.clone();
                variation.request = request;
                variation
            })
            .collect();
        variations.extend(renamed(source).filter(|_| settings.renames));
        for mut variation in variations {
            variation.origin.variation_of = Some(source.id.clone());
            variation.weight.balance *= COUNTS;
            variation.id = variation.content_id();
            if known.insert(variation.id.clone()) {
                made.push(variation);
            }
        }
    }
    let verdicts = validator.validate_all(&made);
    for (variation, verdict) in made.into_iter().zip(verdicts) {
        match verdict {
            Ok(()) => {
                curated.variations += 1;
                kept.push(Ranked { example: variation, is_accepted: false });
            }
            Err(_) => curated.failed_variations += 1,
        }
    }
}

/// The same about something else: the name that request and answer share is changed in both, by the rules of Python.
fn renamed(source: &Example) -> Option<Example> {
    let chosen = source.chosen.as_deref()?;
    let name = shared_name(chosen, &source.request)?;
    let new = other_name(&name, &source.id)?;
    let mut variation = source.clone();
    variation.chosen = Some(rename(chosen, &name, &new)?);
    if let Some(rejected) = &source.rejected {
        variation.rejected = Some(rename(rejected, &name, &new)?);
    }
    variation.request = replace_words(&source.request, &name, &new);
    variation.problems.iter_mut().for_each(|problem| {
        problem.message = replace_words(&problem.message, &name, &new);
    });
    // Where it goes, and what was said before it, is about the other thing.
    variation.path = None;
    variation.window.clear();
    Some(variation)
}

/// A class or function at the top of the code that the request names.
fn shared_name(code: &str, request: &str) -> Option<String> {
    let parsed = parse_module(Source::from_text(code));
    if !parsed.is_valid() {
        return None;
    }
    let semantic = Semantic::new(&parsed);
    let scope = semantic.scope(semantic.module_scope());
    let mut names: Vec<&str> = scope.symbols.keys().map(|name| name.as_ref()).collect();
    names.sort_unstable_by_key(|name| (std::cmp::Reverse(name.len()), *name));
    let is_meant = |name: &&&str| name.len() > 3 && replace_words(request, name, "") != request;
    names.iter().find(is_meant).map(|name| (*name).to_owned())
}

fn rename(code: &str, name: &str, new: &str) -> Option<String> {
    let parsed = parse_module(Source::from_text(code));
    let semantic = Semantic::new(&parsed);
    let symbol = semantic.lookup(semantic.module_scope(), name)?;
    let options = RenameOptions { docstrings: true, ..RenameOptions::default() };
    let edits = rename_in_file(&semantic, symbol, new, &options, "").ok()?;
    apply(code, edits).ok()
}

/// `UserCard` becomes `TicketCard`, `user_card` becomes `ticket_card`; which thing it is follows from the example.
fn other_name(name: &str, seed: &str) -> Option<String> {
    let number = seed.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let thing = OTHER_THINGS[number % OTHER_THINGS.len()];
    let new = match name.split_once('_') {
        Some((first, rest)) if !first.is_empty() => format!("{}_{rest}", thing.to_lowercase()),
        _ => {
            let second = name.char_indices().skip(1).find(|(_, character)| character.is_uppercase());
            match second {
                Some((at, _)) => format!("{thing}{}", &name[at..]),
                None if name.starts_with(char::is_uppercase) => thing.to_owned(),
                None => thing.to_lowercase(),
            }
        }
    };
    (new != name && is_valid_name(&new)).then_some(new)
}

/// Replaces whole words.
fn replace_words(text: &str, name: &str, new: &str) -> String {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let behind = &rest[at + name.len()..];
        let is_whole = !rest[..at].ends_with(is_part) && !behind.starts_with(is_part);
        result.push_str(&rest[..at]);
        result.push_str(if is_whole { new } else { name });
        rest = behind;
    }
    result.push_str(rest);
    result
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
