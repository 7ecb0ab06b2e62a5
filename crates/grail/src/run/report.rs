//! How a run ended, for people: the value on stdout; source with carets, hints and the page to read on stderr.
//!
//! Nearly every text here is the code's own or comes from its tools, so it passes through [`visible`] before it reaches a terminal.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use grail_sandbox::{Ending, FieldError, Frame, Limit, Outcome, TimelineEvent, Value};
use serde_json::Value as Json;

use crate::render::{Terminal, visible, visible_line};

/// The source as its reader knows it.
pub(crate) struct Script<'text> {
    pub(crate) name: &'text str,
    pub(crate) text: &'text str,
}

/// The outcome as the one object of `--format json`.
pub(crate) fn json(outcome: &Outcome) -> anyhow::Result<Json> {
    let mut json = serde_json::to_value(outcome)?;
    if let (Json::Object(fields), Some(page)) = (&mut json, outcome.ending.page()) {
        fields.insert("page".to_owned(), Json::String(page));
        fields.insert("advice".to_owned(), outcome.ending.advice().into());
    }
    Ok(json)
}

/// The outcome for people. What the code printed is on stdout already.
pub(crate) fn text(outcome: &Outcome, script: &Script, terminal: &mut Terminal) -> anyhow::Result<()> {
    for note in &outcome.notes {
        let place = Place { line: note.line, column: note.column, end: None };
        terminal.note(format_args!("{}", snippet(Level::WARNING, &note.message, script, place)))?;
    }
    let mut problems = Vec::new();
    let hint = match &outcome.ending {
        Ending::Value { value: Value::None } => return Ok(()),
        Ending::Value { value } => {
            terminal.line(format_args!("{}", visible(&value.repr())))?;
            return Ok(());
        }
        Ending::InvalidInput { errors } => {
            problems.push(fields("the inputs do not fit what the code declares", errors));
            Some("give inputs that fit with `--input NAME=VALUE` or `--inputs FILE`; nothing ran".to_owned())
        }
        Ending::Rejected { rejections } => {
            for rejection in rejections {
                let end = Some((rejection.end_line, rejection.end_column));
                let place = Place { line: rejection.line, column: rejection.column, end };
                let mut problem = snippet(Level::ERROR, &rejection.message, script, place);
                if let Some(hint) = &rejection.hint {
                    problem.push_str(&format!("\n{HINT} {}", visible(hint)));
                }
                problems.push(problem);
            }
            None
        }
        Ending::TypeErrors { problems: found } => {
            for problem in found {
                let place = Place { line: problem.line, column: problem.column, end: None };
                let message = format!("{} ({})", problem.message, problem.rule);
                problems.push(snippet(Level::ERROR, &message, script, place));
            }
            Some("change the code so that its types fit; nothing ran".to_owned())
        }
        Ending::Raised(raised) => {
            let message = exception(&raised.exception, &raised.message);
            problems.push(traced(&message, &raised.traceback, script));
            None
        }
        Ending::LimitHit(hit) => {
            problems.push(traced(&hit.message, &hit.traceback, script));
            Some(limit_hint(hit.limit))
        }
        Ending::ToolFailed(failure) => {
            let what = exception(&failure.exception, &failure.message);
            let message = format!("the tool `{}` failed: {what}", failure.tool);
            problems.push(traced(&message, &failure.traceback, script));
            Some("mend the tool, or catch its exception in the code".to_owned())
        }
        Ending::InvalidOutput { errors, value } => {
            let title = format!("the result `{}` does not fit its schema", shorten(&value.repr()));
            problems.push(fields(&title, errors));
            Some("change the code to return what is declared, or declare what it returns".to_owned())
        }
        Ending::NoWorker { message } => {
            problems.push(title(message));
            Some("nothing ran; run it again later, or see to the workers".to_owned())
        }
        Ending::WorkerCrashed(crash) => {
            problems.push(title(&crash.message));
            Some("only this run is lost; run it again, and if it crashes again, simplify the code".to_owned())
        }
        Ending::AwaitingApproval { id, tool } => {
            terminal.note(format_args!("the run waits: `{}` needs approval", visible_line(tool)))?;
            return terminal.note(format_args!(
                "{HINT} `grail approvals approve {id}` calls it; `deny` and `answer` do not"
            ));
        }
    };
    for problem in problems {
        terminal.note(format_args!("{problem}"))?;
    }
    if let Some(hint) = hint {
        terminal.note(format_args!("{HINT} {hint}"))?;
    }
    if let Some(page) = outcome.ending.page() {
        terminal.note(format_args!("{PAGE} {page}"))?;
    }
    Ok(())
}

/// What happened, one step a line.
pub(crate) fn timeline(outcome: &Outcome, terminal: &mut Terminal) -> anyhow::Result<()> {
    let Some(timeline) = &outcome.timeline else { return Ok(()) };
    for step in &timeline.steps {
        let milliseconds = step.at_micros as f64 / 1000.0;
        terminal.note(format_args!("{milliseconds:9.3} ms  {}", visible(&event_text(&step.event))))?;
    }
    Ok(())
}

fn event_text(event: &TimelineEvent) -> String {
    match event {
        TimelineEvent::Started { policy } => format!("started under policy `{policy}`"),
        TimelineEvent::Checked => "checked".to_owned(),
        TimelineEvent::ToolCall { tool, arguments, keywords, variables, result, error, .. } => {
            let parts: Vec<&str> = arguments.iter().chain(keywords).map(String::as_str).collect();
            let call = format!("called {tool}({})", parts.join(", "));
            let answered = match (result, error) {
                (Some(result), _) => format!("{call} → {result}"),
                (None, Some(error)) => format!("{call} ✗ {error}"),
                (None, None) => call,
            };
            let variables = variables.iter().map(|variable| format!("\n              {variable}"));
            answered + &variables.collect::<String>()
        }
        TimelineEvent::SystemCall { operation } => format!("asked for {operation}"),
        TimelineEvent::Printed { bytes } => format!("printed {bytes} bytes"),
        TimelineEvent::Suspended { tool } => format!("suspended at {tool}"),
        TimelineEvent::Resumed => "resumed".to_owned(),
        TimelineEvent::Finished { ending } => format!("finished: {ending}"),
    }
}

/// A call as Python would write it, all of it: somebody decides by it.
pub(crate) fn call_text(tool: &str, arguments: &[Json], keywords: &serde_json::Map<String, Json>) -> String {
    let shown = |value: &Json| match Value::from_json(value) {
        Ok(value) => value.repr(),
        Err(_) => value.to_string(),
    };
    let mut parts: Vec<String> = arguments.iter().map(shown).collect();
    parts.extend(keywords.iter().map(|(name, value)| {
        // Through `**` a keyword may be any text, also one that looks like more arguments.
        if name.chars().all(|character| character.is_alphanumeric() || character == '_') {
            format!("{name}={}", shown(value))
        } else {
            format!("**{{{}: {}}}", Value::str(name).repr(), shown(value))
        }
    }));
    visible_line(&format!("{tool}({})", parts.join(", ")))
}

/// A call as one entry of a list, which says so if it is not all of it.
pub(crate) fn brief_call(call: &str) -> String {
    let short = shorten(call);
    if short == call {
        return short;
    }
    format!("{short} ({} characters; see `grail approvals show`)", call.chars().count())
}

const HINT: &str = "\x1b[1m\x1b[36mhint:\x1b[0m";
const PAGE: &str = "\x1b[1m\x1b[36mpage:\x1b[0m";
const ERROR: &str = "\x1b[1m\x1b[31merror:\x1b[0m";

struct Place {
    line: u32,
    column: u32,
    end: Option<(u32, u32)>,
}

fn title(message: &str) -> String {
    format!("{ERROR} {}", visible(message))
}

fn exception(class: &str, message: &str) -> String {
    if message.is_empty() { class.to_owned() } else { format!("{class}: {message}") }
}

fn fields(title_text: &str, errors: &[FieldError]) -> String {
    let mut text = title(title_text);
    for error in errors {
        text.push_str(&format!("\n  {}", visible(&error.to_string())));
    }
    text
}

/// The innermost frame with its source; the way there, if it is longer, in one line each.
fn traced(message: &str, traceback: &[Frame], script: &Script) -> String {
    let Some((last, callers)) = traceback.split_last() else { return title(message) };
    let mut text =
        snippet(Level::ERROR, message, script, Place { line: last.line, column: last.column, end: None });
    const SHOWN: usize = 8;
    for frame in callers.iter().rev().take(SHOWN) {
        let function = frame.function.as_deref().unwrap_or("<module>");
        let caller = format!("called from {}:{} in {function}", script.name, frame.line);
        text.push_str(&format!("\n  {}", visible_line(&caller)));
    }
    if callers.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", callers.len() - SHOWN));
    }
    text
}

fn snippet(level: Level<'_>, message: &str, script: &Script, place: Place) -> String {
    // The renderer makes other controls visible. One character for another keeps the columns.
    let text = script.text.replace(|character| matches!(character, '\u{80}'..='\u{9f}'), "\u{fffd}");
    let Some(start) = offset(&text, place.line, place.column) else {
        return title(message);
    };
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let end = place
        .end
        .and_then(|(line, column)| offset(&text, line, column))
        .unwrap_or_else(|| word_end(&text, start))
        .clamp(start, line_end.max(start));
    let source = Snippet::source(&text)
        .path(visible_line(script.name))
        .annotation(AnnotationKind::Primary.span(start..end));
    let report = [level.primary_title(visible(message)).element(source)];
    Renderer::styled().render(&report)
}

/// Where a word, a name or a call begins and nobody said where it ends.
fn word_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    if let Some(quote @ ('"' | '\'')) = rest.chars().next() {
        let line = rest.lines().next().unwrap_or_default();
        return line[1..].find(quote).map_or(start + 1, |at| start + at + 2);
    }
    let length =
        rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
    start + length.max(rest.chars().next().map_or(0, char::len_utf8))
}

fn offset(text: &str, line: u32, column: u32) -> Option<usize> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let mut begin = 0;
    for (number, content) in text.split_inclusive('\n').enumerate() {
        if number == index {
            let column = usize::try_from(column).ok()?.saturating_sub(1);
            let within = content.char_indices().nth(column).map_or(content.trim_end().len(), |(at, _)| at);
            return Some(begin + within);
        }
        begin += content.len();
    }
    None
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 200;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let head: String = text.chars().take(LONGEST).collect();
    format!("{head}…")
}

fn limit_hint(limit: Limit) -> String {
    let option = match limit {
        Limit::Duration => "max-duration",
        Limit::Memory => "max-memory",
        Limit::Recursion => "max-recursion",
        Limit::Suspensions => "max-suspensions",
        Limit::Output => "max-output",
        Limit::ResultSize => "max-result",
        Limit::SourceSize => "max-source",
        Limit::CheckTime => "check-timeout",
    };
    format!("make the code need less, or raise it with `--{option}` as far as the policy allows")
}
