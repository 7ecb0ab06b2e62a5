//! An event in a line, for people.

use grail_flywheel::event::{Event, EventKind, Tokens};

use crate::render::{BOLD, RESET, count, visible_line};

/// Longer texts are cut where only a line is shown.
const MAX_TEXT: usize = 72;

/// When, which, where, what.
pub(super) fn line(event: &Event, with_session: bool) -> String {
    let at = short_time(&event.at);
    let id = short_id(event);
    let kind = event.kind.name();
    let session = if with_session {
        format!("{}  ", brief(&event.session, 24))
    } else {
        format!("{:>3}  ", event.number)
    };
    let said = describe(&event.kind);
    let gap = if said.is_empty() { "" } else { "  " };
    format!("{at}  {id}  {session}{BOLD}{kind}{RESET}{gap}{said}")
}

/// The end of an id: the beginning is the time.
pub(super) fn short_id(event: &Event) -> String {
    let id = event.id.simple().to_string();
    id[id.len() - 8..].to_owned()
}

/// To the second.
pub(super) fn short_time(at: &str) -> String {
    let is_plain = at.len() >= 19 && at.is_ascii() && at.as_bytes()[10] == b'T';
    if is_plain { visible_line(&at[..19]).replace('T', " ") } else { brief(at, 19) }
}

/// One line, no longer than so many characters.
pub(super) fn brief(text: &str, length: usize) -> String {
    let mut characters = text.trim().chars();
    let start: String = characters.by_ref().take(length).collect();
    let more = if characters.next().is_some() { "…" } else { "" };
    visible_line(&start) + more
}

fn describe(kind: &EventKind) -> String {
    let text = |text: &str| brief(text, MAX_TEXT);
    match kind {
        EventKind::Intent { request, artifact } => match artifact {
            Some(artifact) => format!("{}: {}", text(artifact), text(request)),
            None => text(request),
        },
        EventKind::Skill { skill, stage, .. } => format!("{} {}", text(skill), stage.name()),
        EventKind::ModelAnswer { text: said, tools, tokens } => {
            let tools: Vec<String> = tools.iter().take(4).map(|tool| text(&tool.tool)).collect();
            let tools =
                if tools.is_empty() { String::new() } else { format!("asks for {}, ", tools.join(", ")) };
            let said = if said.trim().is_empty() { String::new() } else { format!(": {}", text(said)) };
            format!("{tools}{}{said}", tokens_text(*tokens))
        }
        EventKind::ToolCall { tool, result, microseconds, .. } => {
            format!(
                "{} {} in {}",
                text(tool),
                outcome(result.ok, result.error.as_deref()),
                duration(*microseconds)
            )
        }
        EventKind::SandboxRun { result, microseconds, .. } => {
            format!("{} in {}", outcome(result.ok, result.error.as_deref()), duration(*microseconds))
        }
        EventKind::DomainValidation { artifact, path, passed, problems, fixed, .. } => {
            let mut parts =
                vec![if *passed { "passed".to_owned() } else { count(problems.len(), "problem") }];
            if !fixed.is_empty() {
                parts.push(format!("{} fixed", fixed.len()));
            }
            format!("{} {}: {}", text(artifact), text(path), parts.join(", "))
        }
        EventKind::Retry { path, attempt, passed, .. } => {
            format!("{}: attempt {attempt} {}", text(path), if *passed { "passed" } else { "did not pass" })
        }
        EventKind::Generation { artifact, path, validated, retries, code, tokens, .. } => format!(
            "{} {}: {}, {}, {}, {}",
            text(artifact),
            text(path),
            if *validated { "passed" } else { "did not pass" },
            if *retries == 1 { "1 retry".to_owned() } else { format!("{retries} retries") },
            count(code.lines().count(), "line"),
            tokens_text(*tokens)
        ),
        EventKind::UserCorrection { text: said, source, path, .. } => {
            let path = path.as_deref().map(|path| format!(" {}", text(path))).unwrap_or_default();
            let said = if said.is_empty() { String::new() } else { format!(": {}", text(said)) };
            format!("by {}{path}{said}", source.name().replace('_', " "))
        }
        EventKind::UserConfirmation { text: said, .. } | EventKind::UserMessage { text: said } => text(said),
        EventKind::Proposal { proposal, decision, reason, .. } => {
            let reason = reason.as_deref().map(|reason| format!(": {}", text(reason))).unwrap_or_default();
            format!("{} {}{reason}", text(proposal), decision.name())
        }
        EventKind::Approval { tool, allowed, .. } => {
            format!("{} {}", text(tool), if *allowed { "allowed" } else { "denied" })
        }
        EventKind::Review { findings, must_mend } => {
            format!("{}, {must_mend} to mend", count(*findings as usize, "finding"))
        }
        EventKind::Commit { commit, paths, .. } => {
            format!("{}: {}", brief(commit, 12), count(paths.len(), "file"))
        }
        EventKind::BranchMerged { merged, into, way, .. } => {
            let into = if into.is_empty() { String::new() } else { format!(" into {}", text(into)) };
            format!("{}{into} ({})", text(merged), way.name().replace('_', " "))
        }
        EventKind::BranchClosed { closed, .. } => text(closed),
        EventKind::Evaluation { suite, prompt, passed, .. } => {
            format!("{} {}: {}", text(suite), text(prompt), if *passed { "passed" } else { "did not pass" })
        }
        EventKind::Shadow { challenger, answer, failure } => {
            let answered = match answer.as_deref() {
                Some(EventKind::Generation { path, validated, tokens, .. }) => {
                    let passed = if *validated { "passed" } else { "did not pass" };
                    format!(" {}: {passed}, {}", text(path), tokens_text(*tokens))
                }
                _ => ": no answer".to_owned(),
            };
            let failure = failure.as_deref().map(|reason| format!(": {}", text(reason))).unwrap_or_default();
            format!("{}{answered}{failure}", text(challenger))
        }
        EventKind::ExampleReview { example, verdict, .. } => format!("{} {}", text(example), verdict.name()),
        EventKind::Made { what, name } => format!("{} {}", text(what), text(name)),
        EventKind::Failed { reason } => text(reason),
    }
}

fn outcome(ok: bool, error: Option<&str>) -> String {
    match (ok, error) {
        (true, _) => "answered".to_owned(),
        (false, Some(error)) => format!("failed with {}", brief(error, MAX_TEXT)),
        (false, None) => "failed".to_owned(),
    }
}

fn duration(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..1_000_000 => format!("{} ms", microseconds / 1_000),
        _ => format!("{:.1} s", microseconds as f64 / 1e6),
    }
}

fn tokens_text(tokens: Tokens) -> String {
    format!("{} + {} tokens", tokens.input, tokens.output)
}
