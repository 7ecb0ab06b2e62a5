//! Work to lessons: what was mended, what was right at once, what was not meant.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use uuid::Uuid;

use super::PassedOver;
use super::session::{Draft, Learned, MAX_CODE_BYTES, Session, keep};
use super::work::{Standing, Work, by_end};
use crate::event::{CorrectionSource, Event, EventKind, Problem};
use crate::example::{Example, ExampleType};

/// How far is looked for the work that a correction is about, and for the code that follows it.
const MAX_LATER: usize = 50;

/// One pair for each error that was mended: the last attempt that still had it, beside the code that passed. Errors that went away
/// together are one pair, which teaches them all.
pub(super) fn correctives(session: &Session<'_>, works: &[Work<'_>], learned: &mut Learned) {
    for work in works.iter().filter(|work| !work.attempts.is_empty()) {
        let Some(passed) = work.code else {
            learned.pass_over(PassedOver::NeverPassed);
            continue;
        };
        let left: BTreeSet<&str> = work.left.iter().map(rule_of).collect();
        let mut last_with: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, attempt) in work.attempts.iter().enumerate() {
            let broken = attempt.problems.iter().map(rule_of).filter(|rule| !left.contains(rule));
            last_with.extend(broken.map(|rule| (rule, number)));
        }
        let mut by_attempt: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        for (rule, number) in last_with {
            by_attempt.entry(number).or_default().insert(rule);
        }
        for (number, rules) in by_attempt {
            let attempt = &work.attempts[number];
            if attempt.code == passed {
                continue;
            }
            if attempt.code.len().max(passed.len()) > MAX_CODE_BYTES {
                learned.pass_over(PassedOver::TooLong);
                continue;
            }
            let Some(mut example) = session.example(ExampleType::Corrective, draft(session, work), learned)
            else {
                continue;
            };
            let is_meant = |problem: &&Problem| rules.contains(rule_of(problem));
            example.problems = attempt.problems.iter().filter(is_meant).cloned().collect();
            example.rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
            example.rejected = Some(attempt.code.to_owned());
            describe(&mut example, work, passed);
            keep(example, &mut learned.examples);
        }
    }
}

/// The code as it was kept, if it was right at once or somebody was content with it: one for each artifact of the session, the last.
pub(super) fn positives(session: &Session<'_>, works: &[Work<'_>], learned: &mut Learned) {
    let is_candidate = |work: &&Work<'_>| work.code.is_some() && work.standing < Standing::Corrected;
    let last: BTreeMap<&str, usize> =
        works.iter().filter(is_candidate).map(|work| (work.path, work.end)).collect();
    for work in works {
        let Some(passed) = work.code else {
            if work.attempts.is_empty() {
                learned.pass_over(PassedOver::NeverPassed);
            }
            continue;
        };
        let reason = match work.standing {
            Standing::Refused => Some(PassedOver::Refused),
            Standing::Corrected => Some(PassedOver::Corrected),
            _ if work.is_correction || last.get(work.path) != Some(&work.end) => Some(PassedOver::Superseded),
            Standing::Unknown if work.had_retries => Some(PassedOver::NotConfirmed),
            _ if passed.len() > MAX_CODE_BYTES => Some(PassedOver::TooLong),
            _ => None,
        };
        if let Some(reason) = reason {
            learned.pass_over(reason);
            continue;
        }
        if let Some(mut example) = session.example(ExampleType::Positive, draft(session, work), learned) {
            describe(&mut example, work, passed);
            keep(example, &mut learned.examples);
        }
    }
}

/// What a person sent back. Marks the work it is about, so that nobody learns it as right.
pub(super) fn negatives(
    session: &Session<'_>,
    works: &mut [Work<'_>],
    learned: &mut Learned,
) -> Vec<Example> {
    let corrections = |event: &&Event| matches!(event.kind, EventKind::UserCorrection { .. });
    let corrections: Vec<(usize, &Event)> =
        session.events.iter().enumerate().filter(|(_, event)| corrections(event)).collect();
    let lookup = Lookup::of(works);
    let about: Vec<Option<usize>> =
        corrections.iter().map(|(position, event)| lookup.target(works, *position, event)).collect();
    // A file that is edited several times is right at last.
    let last_edits: BTreeMap<usize, usize> = about
        .iter()
        .enumerate()
        .filter(|(number, _)| is_edit(corrections[*number].1))
        .filter_map(|(number, target)| Some(((*target)?, number)))
        .collect();
    for ((_, event), target) in corrections.iter().zip(&about) {
        if let Some(target) = target {
            works[*target].judge(Standing::Corrected, event.id);
        }
    }
    let mut examples = Vec::new();
    for (number, ((position, event), target)) in corrections.iter().zip(&about).enumerate() {
        if is_edit(event) && target.is_some_and(|target| last_edits.get(&target) != Some(&number)) {
            learned.pass_over(PassedOver::Superseded);
            continue;
        }
        let (position, target) = (*position, *target);
        negative(session, works, &lookup, (position, event, target), learned, &mut examples);
    }
    examples
}

fn negative(
    session: &Session<'_>,
    works: &mut [Work<'_>],
    lookup: &Lookup,
    (position, event, target): (usize, &Event, Option<usize>),
    learned: &mut Learned,
    examples: &mut Vec<Example>,
) {
    let EventKind::UserCorrection { text, source, path, original, corrected, .. } = &event.kind else {
        return;
    };
    let work = target.map(|target| &works[target]);
    let last_code = |work: &Work<'_>| {
        work.code.or_else(|| work.attempts.last().map(|attempt| attempt.code)).map(str::to_owned)
    };
    let answer = match (original, work) {
        (None, None) => session.turns.answer_before(position),
        _ => None,
    };
    let rejected = original
        .clone()
        .or_else(|| work.and_then(last_code))
        .or_else(|| answer.map(|(_, text)| text.to_owned()))
        .filter(|rejected| !rejected.trim().is_empty());
    let Some(rejected) = rejected else {
        learned.pass_over(PassedOver::NothingToCorrect);
        return;
    };
    // What a person wrote is the answer. Without it, the next code that passed for the same thing is.
    let path = path.as_deref().or(work.map(|work| work.path));
    let artifact = work.map(|work| work.artifact);
    let next = || {
        let same = match (path, artifact) {
            (Some(path), _) => lookup.by_path.get(path),
            (None, Some(artifact)) => lookup.by_artifact.get(artifact),
            (None, None) => None,
        };
        let later = same?.iter().copied().skip_while(|next| works[*next].start <= position);
        later.take(MAX_LATER).find(|next| works[*next].is_good())
    };
    let follower = if corrected.is_none() { next() } else { None };
    let chosen = corrected.as_deref().or_else(|| works[follower?].code);
    let chosen = chosen.filter(|chosen| *chosen != rejected).map(str::to_owned);
    if rejected.len().max(chosen.as_ref().map_or(0, String::len)) > MAX_CODE_BYTES {
        learned.pass_over(PassedOver::TooLong);
        return;
    }

    let mut request = match work {
        Some(work) if !work.request.trim().is_empty() => work.request.to_owned(),
        _ => session.turns.request_before(position).to_owned(),
    };
    // Words add to what was asked: without them nobody could know what was meant.
    if *source == CorrectionSource::Words && !text.trim().is_empty() && request.trim() != text.trim() {
        request = format!("{request}\n\n{}", text.trim()).trim().to_owned();
    }
    let mut events = work.map(|work| work.events.clone()).unwrap_or_default();
    events.extend(answer.map(|(event, _)| event));
    events.push(event.id);
    events.extend(follower.iter().flat_map(|follower| works[*follower].events.iter().copied()));
    let start = work.map_or(position.saturating_sub(1), |work| work.start);
    let context = Some(work.map_or(&event.context, |work| work.context));
    let draft = Draft { request, start, context, events };
    let artifact = artifact.map(str::to_owned);
    let path = path.map(str::to_owned);
    let Some(mut example) = session.example(ExampleType::Negative, draft, learned) else { return };
    example.artifact = artifact.filter(|artifact| !artifact.is_empty());
    example.path = path.filter(|path| !path.is_empty());
    example.rejected = Some(rejected);
    example.chosen = chosen;
    example.problems = vec![Problem {
        layer: "person".to_owned(),
        rule: "not-meant".to_owned(),
        message: text.trim().to_owned(),
        line: 1,
        hint: None,
    }];
    if let Some(follower) = follower.filter(|_| example.chosen.is_some()) {
        works[follower].is_correction = true;
    }
    keep(example, examples);
}

fn is_edit(event: &Event) -> bool {
    matches!(event.kind, EventKind::UserCorrection { source: CorrectionSource::HandEdit, .. })
}

/// Where work is found, so that a session with thousands of corrections takes no longer than one with few.
struct Lookup {
    by_event: FxHashMap<Uuid, usize>,
    by_code: FxHashMap<String, usize>,
    /// In the order of their starts.
    by_path: FxHashMap<String, Vec<usize>>,
    by_artifact: FxHashMap<String, Vec<usize>>,
    by_end: Vec<(usize, usize)>,
}

impl Lookup {
    fn of(works: &[Work<'_>]) -> Self {
        let mut lookup = Self {
            by_event: FxHashMap::default(),
            by_code: FxHashMap::default(),
            by_path: FxHashMap::default(),
            by_artifact: FxHashMap::default(),
            by_end: by_end(works),
        };
        for (index, work) in works.iter().enumerate() {
            lookup.by_event.extend(work.events.iter().map(|event| (*event, index)));
            lookup.by_code.extend(work.code.map(|code| (code.to_owned(), index)));
            lookup.by_path.entry(work.path.to_owned()).or_default().push(index);
            lookup.by_artifact.entry(work.artifact.to_owned()).or_default().push(index);
        }
        lookup
    }

    /// The work that a correction is about: the one it answers, the one it names, or the last before it.
    fn target(&self, works: &[Work<'_>], position: usize, event: &Event) -> Option<usize> {
        let EventKind::UserCorrection { source, subject, path, original, .. } = &event.kind else {
            return None;
        };
        let before = self.by_end.partition_point(|(end, _)| *end < position);
        let earlier = || self.by_end[..before].iter().rev().map(|(_, index)| *index).take(MAX_LATER);
        let by_parent = || event.parent.and_then(|parent| self.by_event.get(&parent).copied());
        let by_original = || original.as_deref().and_then(|original| self.by_code.get(original).copied());
        let by_subject = || {
            let subject = subject.as_deref()?;
            let is_at_path = |work: &Work<'_>| path.as_deref().is_none_or(|path| path == work.path);
            earlier().find(|index| works[*index].proposal == Some(subject) && is_at_path(&works[*index]))
        };
        let by_path = || {
            let at_path = self.by_path.get(path.as_deref()?)?;
            let before = at_path.iter().copied().filter(|index| works[*index].end < position);
            before.max_by_key(|index| works[*index].end)
        };
        let by_place = || {
            let is_said = *source == CorrectionSource::Words && path.is_none() && original.is_none();
            earlier().next().filter(|_| is_said)
        };
        by_parent().or_else(by_original).or_else(by_subject).or_else(by_path).or_else(by_place)
    }
}

fn draft<'e>(session: &Session<'_>, work: &Work<'e>) -> Draft<'e> {
    let request = match work.request.trim() {
        "" => session.turns.request_before(work.start).to_owned(),
        _ => work.request.to_owned(),
    };
    let mut events = work.events.clone();
    events.extend(work.judged_by.iter().copied());
    Draft { request, start: work.start, context: Some(work.context), events }
}

fn describe(example: &mut Example, work: &Work<'_>, passed: &str) {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    example.artifact = some(work.artifact);
    example.path = some(work.path);
    example.chosen = Some(passed.to_owned());
}

/// What a problem is called: by its rule, or by its layer where no rule says so.
fn rule_of(problem: &Problem) -> &str {
    if problem.rule.is_empty() { &problem.layer } else { &problem.rule }
}
