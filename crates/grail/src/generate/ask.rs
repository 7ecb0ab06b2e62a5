//! Questions to a person: about a proposal, and about calls that need approval.

use std::env;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::Command;

use anyhow::Context as _;
use grail_agent::written_tool::DEFINE_TOOL;
use grail_agent::{Approver, Proposal, ProposalStore};
use serde_json::Value as Json;

use super::watch::Watch;
use crate::render::{Failure, count, visible, visible_line};

/// A longer answer is no answer.
const MAX_ANSWER_BYTES: u64 = 16 * 1024;

/// What a person says to a proposal.
pub(super) enum Answer {
    Approve,
    Reject,
    /// Nothing is decided.
    Later,
    /// The proposal with a file changed by hand.
    Edited(Box<Proposal>),
    /// Something else was meant, or nothing but praise.
    Words(String),
}

pub(super) trait Terminal {
    fn ask(&mut self, proposal: &Proposal) -> anyhow::Result<Answer>;
}

impl Terminal for crate::render::Terminal {
    fn ask(&mut self, proposal: &Proposal) -> anyhow::Result<Answer> {
        self.flush()?;
        loop {
            let answer =
                question("approve (a), reject (r), edit (e), later (l), or say what you meant instead: ")?;
            return Ok(match answer.as_deref().map(str::trim) {
                None => Answer::Later,
                Some("") => continue,
                Some("a" | "y" | "yes" | "approve") => Answer::Approve,
                Some("r" | "n" | "no" | "reject") => Answer::Reject,
                Some("l" | "q" | "later") => Answer::Later,
                Some("e" | "edit") => Answer::Edited(Box::new(edit(proposal)?)),
                Some(text) => Answer::Words(text.to_owned()),
            });
        }
    }
}

/// Opens the editor on each file of a proposal. What comes back is kept in the proposal, and checked by whoever approves it.
fn edit(proposal: &Proposal) -> anyhow::Result<Proposal> {
    let editor = env::var("VISUAL").or_else(|_| env::var("EDITOR")).unwrap_or_else(|_| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let project = grail_project::Project::discover(std::path::Path::new("."))?;
    let store = ProposalStore::of_project(&project.root);
    let mut edited = proposal.clone();
    let arguments: Vec<&str> = words.collect();
    for file in &proposal.files {
        let Some(after) = &file.after else { continue };
        let ending = file.path.rsplit_once('.').map_or("txt", |(_, ending)| ending);
        let scratch = tempfile::Builder::new().prefix("grail-").suffix(&format!(".{ending}")).tempfile()?;
        fs::write(scratch.path(), after)?;
        let status = Command::new(program)
            .args(&arguments)
            .arg(scratch.path())
            .status()
            .with_context(|| format!("the editor `{program}` cannot be started"))?;
        if !status.success() {
            return Err(Failure::with_hint(
                "the editor failed; the proposal is as it was",
                "name another one in `EDITOR`",
            )
            .into());
        }
        let text = fs::read_to_string(scratch.path())?;
        if text != *after {
            edited = store.edit(&proposal.id, &file.path, text)?;
        }
    }
    Ok(edited)
}

/// Asks about calls that need approval, where somebody can answer.
pub(crate) struct TerminalApprover<'w> {
    pub(crate) watch: &'w Watch,
}

impl Approver for TerminalApprover<'_> {
    fn allows(&self, tool: &str, arguments: &Json) -> bool {
        if !io::stdin().is_terminal() {
            return false;
        }
        let text = match tool {
            DEFINE_TOOL => written_tool(arguments),
            _ => {
                let shown: String = visible(&arguments.to_string()).chars().take(2_000).collect();
                format!("the model wants to call `{}` with {shown}; allow it? [y/N] ", visible_line(tool))
            }
        };
        let answer = self.watch.pause(|| question(&text));
        matches!(answer.ok().flatten().as_deref().map(str::trim), Some("y" | "yes"))
    }
}

/// A tool that the model wrote, whole: what is not seen is not approved.
fn written_tool(arguments: &Json) -> String {
    let text = |key: &str| visible(arguments[key].as_str().unwrap_or_default()).into_owned();
    let examples = arguments["examples"].as_array().map_or(0, Vec::len);
    format!(
        "the model wrote a tool:\n\n{}\n{}\n\n{}\n\nits {} hold; keep it in this project? [y/N] ",
        text("signature"),
        text("docstring"),
        text("code").trim_end(),
        count(examples, "example")
    )
}

/// One line of an answer; `None` at the end of the input.
pub(crate) fn question(text: &str) -> io::Result<Option<String>> {
    let mut messages = io::stderr().lock();
    messages.write_all(text.as_bytes())?;
    messages.flush()?;
    let mut answer = String::new();
    let read = io::Read::take(io::stdin().lock(), MAX_ANSWER_BYTES).read_line(&mut answer)?;
    Ok((read > 0).then_some(answer))
}
