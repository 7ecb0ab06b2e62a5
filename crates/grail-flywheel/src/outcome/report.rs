//! Outcomes that other programs tell: a step of CI, or the payload of a webhook.

use jiff::Timestamp;
use serde_json::Value as Json;

use super::history::{EventSource, History};
use super::labels::Outcome;
use super::observe::git_session;
use super::repository::is_hash;
use crate::error::FlywheelError;
use crate::event::{Event, EventKind, MergeWay};

/// Payloads of forges are far smaller.
pub const MAX_PAYLOAD_BYTES: usize = 8 * 1024 * 1024;
/// Git allows less.
const MAX_BRANCH_BYTES: usize = 1024;

/// What became of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub branch: String,
    pub is_merged: bool,
    pub into: Option<String>,
    /// The last commit of the branch.
    pub commit: Option<String>,
}

impl Report {
    /// Checks what somebody else wrote.
    pub fn new(
        branch: &str,
        is_merged: bool,
        into: Option<&str>,
        commit: Option<&str>,
    ) -> Result<Self, FlywheelError> {
        for name in [Some(branch), into].into_iter().flatten() {
            if !is_branch_name(name) {
                let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
                return Err(FlywheelError::refused(
                    format!("`{shown}` cannot be the name of a branch"),
                    "give the name as `git branch` shows it, without `refs/heads/` or the remote",
                ));
            }
        }
        let commit = commit.map(str::to_ascii_lowercase);
        if let Some(commit) = commit.as_ref().filter(|commit| !is_hash(commit)) {
            let shown: String = commit.chars().take(80).flat_map(char::escape_debug).collect();
            return Err(FlywheelError::refused(
                format!("`{shown}` is no full name of a commit"),
                "give all 40 digits, as `git rev-parse` prints them",
            ));
        }
        Ok(Self { branch: branch.to_owned(), is_merged, into: into.map(str::to_owned), commit })
    }

    /// Reads the payload of a webhook: a pull request of GitHub (also of Gitea and Forgejo, which send the same) or a merge request of
    /// GitLab. None if it tells of something else than an end.
    pub fn from_payload(bytes: &[u8]) -> Result<Option<Self>, FlywheelError> {
        if bytes.len() > MAX_PAYLOAD_BYTES {
            return Err(FlywheelError::refused(
                format!("the payload is larger than {} MB", MAX_PAYLOAD_BYTES >> 20),
                "send the body of the webhook as it came",
            ));
        }
        let payload: Json = serde_json::from_slice(bytes).map_err(|problem| {
            FlywheelError::refused(
                format!("the payload is no JSON: {problem}"),
                "send the body of the webhook as it came, with the content type `application/json`",
            )
        })?;
        // A fork's `main` is not ours.
        let is_branch = |report: &Self| report.into.as_ref() != Some(&report.branch);
        if let Some(request) = payload.get("pull_request").filter(|request| request.is_object()) {
            return Ok(from_github(&payload, request)?.filter(is_branch));
        }
        if payload.get("object_kind").and_then(Json::as_str) == Some("merge_request") {
            return Ok(from_gitlab(&payload)?.filter(is_branch));
        }
        Err(FlywheelError::refused(
            "the payload is neither a pull request of GitHub nor a merge request of GitLab",
            "choose the event `Pull requests` or `Merge request events` for the webhook",
        ))
    }
}

fn from_github(payload: &Json, request: &Json) -> Result<Option<Report>, FlywheelError> {
    if text(payload, &["action"]) != Some("closed") {
        return Ok(None);
    }
    let is_merged =
        request.get("merged").and_then(Json::as_bool).ok_or_else(|| incomplete("pull_request.merged"))?;
    let branch = text(request, &["head", "ref"]).ok_or_else(|| incomplete("pull_request.head.ref"))?;
    Report::new(branch, is_merged, text(request, &["base", "ref"]), text(request, &["head", "sha"])).map(Some)
}

fn from_gitlab(payload: &Json) -> Result<Option<Report>, FlywheelError> {
    let request = payload.get("object_attributes").ok_or_else(|| incomplete("object_attributes"))?;
    // `state` stays what it is when somebody edits a request that has ended; `action` says what happens now.
    let is_merged = match (text(request, &["action"]), text(request, &["state"])) {
        (Some("merge"), _) | (None, Some("merged")) => true,
        (Some("close"), _) | (None, Some("closed")) => false,
        _ => return Ok(None),
    };
    let branch =
        text(request, &["source_branch"]).ok_or_else(|| incomplete("object_attributes.source_branch"))?;
    let commit = text(request, &["last_commit", "id"]);
    Report::new(branch, is_merged, text(request, &["target_branch"]), commit).map(Some)
}

fn text<'j>(value: &'j Json, path: &[&str]) -> Option<&'j str> {
    path.iter().try_fold(value, |value, name| value.get(name))?.as_str()
}

fn incomplete(field: &str) -> FlywheelError {
    FlywheelError::refused(format!("the payload has no `{field}`"), "send the body of the webhook as it came")
}

/// As git sees it, roughly: what could be taken for an option or a path elsewhere is refused.
fn is_branch_name(name: &str) -> bool {
    let is_odd = |letter: char| letter.is_control() || " ~^:?*[\\".contains(letter);
    (1..=MAX_BRANCH_BYTES).contains(&name.len())
        && !name.contains(is_odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.starts_with(['-', '/'])
        && !name.ends_with(['/', '.'])
}

/// The event of a report; none if it says what is known.
pub(super) fn event_of(source: &dyn EventSource, report: &Report) -> Option<Event> {
    let history = History::read(source);
    let outcomes = history.outcomes();
    let with = |outcome| history.sessions(&outcomes, &report.branch, outcome);
    let mut sessions = with(Outcome::Open);
    if sessions.is_empty() && report.is_merged {
        sessions = with(Outcome::Closed);
    }
    let wanted = if report.is_merged { Outcome::Merged } else { Outcome::Closed };
    let known = history.branch_outcome(&report.branch);
    let is_known = known.is_some_and(|known| known == wanted || known == Outcome::Merged);
    if sessions.is_empty() && is_known {
        return None;
    }
    let (branch, tip) = (report.branch.clone(), report.commit.clone());
    let kind = match report.is_merged {
        true => {
            let into = report.into.clone().unwrap_or_default();
            EventKind::BranchMerged { merged: branch, into, way: MergeWay::Reported, tip, sessions }
        }
        false => EventKind::BranchClosed { closed: branch, reported: true, tip, sessions },
    };
    let session = git_session(Timestamp::now().as_second());
    let number = history.numbers.get(&session).copied().unwrap_or_default() + 1;
    let mut event = Event::new(session, number, kind);
    event.context.branch = Some(report.branch.clone());
    Some(event)
}
