//! Several tools that work together: a program that calls them, or calls one after the other.
//!
//! A later call has to depend on what an earlier one gave. In a program that can be seen. Between single calls only the arguments tell,
//! because results are not kept: a path or a dotted name that nobody had said before must come from a result.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use serde_json::Value as Json;

use super::PassedOver;
use super::fields::tool_flow;
use super::session::{Draft, Learned, MAX_CODE_BYTES, Session, keep};
use super::shape::{Shape, read_shape};
use super::work::Work;
use crate::event::{Event, EventKind, ToolUse, is_cut};
use crate::example::ExampleType;

/// Longer sequences are wandering about.
const MAX_CALLS: usize = 32;
/// Longer values are made, not found.
const MAX_FOUND_BYTES: usize = 200;

pub(super) fn sequences(session: &Session<'_>, works: &[Work<'_>], learned: &mut Learned) {
    let shapes = known_shapes(session.events);
    let failed = failed_codes(session.events);
    let mut calls: Vec<(usize, &Event)> = Vec::new();
    for (position, event) in session.events.iter().enumerate() {
        match &event.kind {
            // Code that did not pass is told beside the code that did, and not as something to hand in.
            EventKind::ToolCall { arguments, .. } if hands_in(arguments, &failed) => {}
            EventKind::ToolCall { .. } => calls.push((position, event)),
            EventKind::SandboxRun { tools, .. } => {
                // Calls that the program made are told by the program.
                calls.retain(|(_, call)| !is_part_of(call, event, tools));
                program(session, works, &shapes, (position, event), learned);
            }
            EventKind::Intent { .. } | EventKind::UserMessage { .. } | EventKind::UserCorrection { .. } => {
                single_calls(session, works, &shapes, &std::mem::take(&mut calls), learned);
            }
            _ => {}
        }
    }
    single_calls(session, works, &shapes, &calls, learned);
}

/// A program that uses several tools.
fn program(
    session: &Session<'_>,
    works: &[Work<'_>],
    shapes: &Shapes<'_>,
    (position, event): (usize, &Event),
    learned: &mut Learned,
) {
    let EventKind::SandboxRun { query, code, result, tools, fields_accessed: told, .. } = &event.kind else {
        return;
    };
    let distinct: BTreeSet<&str> = tools.iter().map(String::as_str).collect();
    if distinct.len() < 2 {
        return;
    }
    if code.len() > MAX_CODE_BYTES || tools.len() > MAX_CALLS {
        return learned.pass_over(PassedOver::TooLong);
    }
    if !result.ok {
        return learned.pass_over(PassedOver::FailedCall);
    }
    let names: Vec<&str> = distinct.into_iter().collect();
    let flow = tool_flow(code, &names);
    let fields = if told.is_empty() { &flow.fields } else { told };
    let is_fed = flow.feeds.iter().any(|(from, to)| from != to);
    if !is_fed && !uses_before_calling(tools, fields) {
        return learned.pass_over(PassedOver::Independent);
    }
    if fields.iter().any(|field| is_fabricated(field, shapes)) {
        return learned.pass_over(PassedOver::FabricatedField);
    }
    let Some(ending) = good_end(session, works, position) else {
        return learned.pass_over(PassedOver::NoGoodEnd);
    };
    let request = match query.trim() {
        "" => session.turns.request_before(position).to_owned(),
        _ => query.clone(),
    };
    let mut events = vec![event.id];
    events.extend(ending);
    let draft = Draft { request, start: position, context: Some(&event.context), events };
    if let Some(mut example) = session.example(ExampleType::MultiTool, draft, learned) {
        example.chosen = Some(code.clone());
        example.tools.clone_from(tools);
        keep(example, &mut learned.examples);
    }
}

/// Calls between two turns of the person.
fn single_calls(
    session: &Session<'_>,
    works: &[Work<'_>],
    shapes: &Shapes<'_>,
    calls: &[(usize, &Event)],
    learned: &mut Learned,
) {
    let (Some((start, first)), Some((last, _))) = (calls.first(), calls.last()) else { return };
    let mut uses: Vec<ToolUse> = Vec::new();
    let mut fields: BTreeSet<&str> = BTreeSet::new();
    let mut request = "";
    let mut all_ok = true;
    for (_, event) in calls {
        let EventKind::ToolCall { query, tool, arguments, result, fields_accessed, .. } = &event.kind else {
            continue;
        };
        if request.is_empty() {
            request = query.trim();
        }
        fields.extend(fields_accessed.iter().map(String::as_str));
        uses.push(ToolUse { tool: tool.clone(), arguments: arguments.clone() });
        all_ok &= result.ok;
    }
    let names: Vec<String> = uses.iter().map(|call| call.tool.clone()).collect();
    if names.iter().collect::<BTreeSet<_>>().len() < 2 {
        return;
    }
    if uses.len() > MAX_CALLS {
        return learned.pass_over(PassedOver::TooLong);
    }
    if !all_ok {
        return learned.pass_over(PassedOver::FailedCall);
    }
    if uses.iter().any(|call| is_cut(&call.arguments)) {
        return learned.pass_over(PassedOver::CutArguments);
    }
    if request.is_empty() {
        request = session.turns.request_before(*start);
    }
    let told: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    if !uses_before_calling(&names, &told) && !finds_arguments(&uses, request, *start, session) {
        return learned.pass_over(PassedOver::Independent);
    }
    if fields.iter().any(|field| is_fabricated(field, shapes)) {
        return learned.pass_over(PassedOver::FabricatedField);
    }
    let Some(ending) = good_end(session, works, *last) else {
        return learned.pass_over(PassedOver::NoGoodEnd);
    };
    let mut events: Vec<_> = calls.iter().map(|(_, event)| event.id).collect();
    events.extend(ending);
    let request = request.to_owned();
    let draft = Draft { request, start: *start, context: Some(&first.context), events };
    if let Some(mut example) = session.example(ExampleType::MultiTool, draft, learned) {
        example.tools = names;
        example.calls = uses;
        keep(example, &mut learned.examples);
    }
}

/// What was checked and did not pass.
fn failed_codes(events: &[Event]) -> FxHashSet<&str> {
    let failed = events.iter().filter_map(|event| match &event.kind {
        EventKind::DomainValidation { code, passed: false, .. } => Some(code.as_str()),
        EventKind::Retry { original, .. } => Some(original.as_str()),
        _ => None,
    });
    failed.collect()
}

fn hands_in(arguments: &Json, codes: &FxHashSet<&str>) -> bool {
    let is_code = |value: &Json| value.as_str().is_some_and(|text| codes.contains(text));
    !codes.is_empty() && arguments.as_object().is_some_and(|fields| fields.values().any(is_code))
}

type Shapes<'e> = BTreeMap<&'e str, Vec<Shape>>;

/// What each tool was seen to give.
fn known_shapes(events: &[Event]) -> Shapes<'_> {
    let mut shapes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for event in events {
        if let EventKind::ToolCall { tool, result, .. } = &event.kind
            && result.ok
        {
            shapes.entry(tool).or_default().insert(&result.shape);
        }
    }
    let read = |shapes: BTreeSet<&str>| shapes.into_iter().map(read_shape).collect();
    shapes.into_iter().map(|(tool, shapes)| (tool, read(shapes))).collect()
}

/// Whether a field is in none of the results that its tool gave.
fn is_fabricated(field: &str, shapes: &Shapes<'_>) -> bool {
    // Names of tools may have dots: the longest that is known holds.
    let known = shapes.iter().filter_map(|(tool, shapes)| {
        let path = field.strip_prefix(tool)?.strip_prefix('.')?;
        Some((tool.len(), path, shapes))
    });
    let Some((_, path, shapes)) = known.max_by_key(|(length, ..)| *length) else { return false };
    !shapes.is_empty() && shapes.iter().all(|shape| shape.lacks(path))
}

/// Whether a field of one tool is used and another tool is called after it.
fn uses_before_calling(tools: &[String], fields: &[String]) -> bool {
    let is_of =
        |field: &String, tool: &str| field.strip_prefix(tool).is_some_and(|rest| rest.starts_with('.'));
    tools.iter().enumerate().any(|(number, tool)| {
        let is_used = fields.iter().any(|field| is_of(field, tool));
        is_used && tools[number + 1..].iter().any(|later| later != tool)
    })
}

/// Whether a call has an argument that was neither said nor given to a call before it: it must have been found.
fn finds_arguments(calls: &[ToolUse], request: &str, start: usize, session: &Session<'_>) -> bool {
    let said = format!("{request}\n{}", session.turns.said_before(start));
    let mut given: BTreeSet<&str> = BTreeSet::new();
    let mut earlier: BTreeSet<&str> = BTreeSet::new();
    for call in calls {
        let values = short_values(&call.arguments);
        let is_found = |value: &&str| !said.contains(*value) && !given.contains(value);
        let follows_another = earlier.iter().any(|tool| *tool != call.tool);
        if follows_another && values.iter().any(is_found) {
            return true;
        }
        given.extend(values);
        earlier.insert(&call.tool);
    }
    false
}

/// Paths, addresses and dotted names: what one looks up rather than makes up.
fn short_values(arguments: &Json) -> Vec<&str> {
    let mut values = Vec::new();
    let mut waiting = vec![arguments];
    while let Some(value) = waiting.pop() {
        match value {
            Json::String(text) if is_looked_up(text) => values.push(text.as_str()),
            Json::Array(items) => waiting.extend(items),
            Json::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
    values
}

fn is_looked_up(text: &str) -> bool {
    (4..=MAX_FOUND_BYTES).contains(&text.len())
        && !text.contains(char::is_whitespace)
        && text.contains(['/', '.', ':', '#'])
}

/// What says that the session came to something: work that passed and was not sent back, or a person who is content. The events that
/// say so.
fn good_end(session: &Session<'_>, works: &[Work<'_>], position: usize) -> Option<Vec<uuid::Uuid>> {
    if works.iter().any(Work::is_good) {
        return Some(Vec::new());
    }
    let mut after = session.events[position..].iter().filter_map(|event| match event.kind {
        EventKind::UserConfirmation { .. } => Some((true, event.id)),
        EventKind::UserCorrection { .. } => Some((false, event.id)),
        _ => None,
    });
    after.next().filter(|(is_content, _)| *is_content).map(|(_, event)| vec![event])
}

fn is_part_of(call: &Event, run: &Event, tools: &[String]) -> bool {
    let EventKind::ToolCall { tool, .. } = &call.kind else { return false };
    call.parent == Some(run.id) || (call.parent == run.parent && tools.contains(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_dotted_tools_are_told_from_their_fields() {
        let shapes: Shapes<'_> = [
            ("files", vec![read_shape("{stat: {size: int}}")]),
            ("files.stat", vec![read_shape("{size: int}")]),
        ]
        .into_iter()
        .collect();
        assert!(!is_fabricated("files.stat.size", &shapes));
        assert!(is_fabricated("files.stat.owner", &shapes));
        assert!(is_fabricated("files.list", &shapes));
        assert!(!is_fabricated("other.list", &shapes));
    }
}
