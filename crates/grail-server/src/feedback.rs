//! What became of the work, told by somebody outside: taken over, dropped, or put right. It is kept as an event to learn from.

use std::sync::Arc;

use grail_agent::generate::tool_error;
use grail_agent::{AgentError, Workspace};
use grail_flywheel::EventKind;
use grail_flywheel::event::CorrectionSource;
use grail_sandbox::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const FEEDBACK: &str = "feedback";

const MAX_SUBJECT_BYTES: usize = 1_000;
const MAX_TEXT_BYTES: usize = 16 * 1024;
const MAX_CODE_BYTES: usize = 256 * 1024;

/// What somebody says about a piece of work.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// What it is about: the id of a proposal, a file, a rule or a skill.
    pub subject: String,
    /// Whether it was taken as it is, dropped, or had to be put right.
    pub verdict: Verdict,
    /// Why, or what was wrong, in the person's own words.
    #[serde(default)]
    pub text: String,
    /// The code as it should have been, if it had to be put right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_code: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Accepted,
    Rejected,
    Corrected,
}

/// What was kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedbackReceipt {
    /// Always true: what cannot be kept is an error.
    pub recorded: bool,
    /// The session that it belongs to.
    pub session: String,
}

/// Keeps feedback as an event of the workspace's session.
pub fn record_feedback(workspace: &Workspace, feedback: Feedback) -> Result<FeedbackReceipt, AgentError> {
    let wrong = |message: String, hint: &str| AgentError::Other { message, hint: Some(hint.to_owned()) };
    let subject = feedback.subject.trim();
    if subject.is_empty() {
        return Err(wrong(
            "the feedback is about nothing".to_owned(),
            "name its `subject`: a proposal, a file, a rule or a skill",
        ));
    }
    let sizes = [
        ("subject", subject.len(), MAX_SUBJECT_BYTES),
        ("text", feedback.text.len(), MAX_TEXT_BYTES),
        ("corrected_code", feedback.corrected_code.as_ref().map_or(0, String::len), MAX_CODE_BYTES),
    ];
    if let Some((field, _, most)) = sizes.iter().find(|(_, bytes, most)| bytes > most) {
        return Err(wrong(format!("`{field}` has more than {most} bytes"), "say what matters"));
    }
    let says_nothing = feedback.text.trim().is_empty() && feedback.corrected_code.is_none();
    if feedback.verdict == Verdict::Corrected && says_nothing {
        return Err(wrong(
            "a correction says what was wrong".to_owned(),
            "give a `text` or the `corrected_code`",
        ));
    }
    let (subject, text) = (Some(subject.to_owned()), feedback.text);
    workspace.session.emit(match feedback.verdict {
        Verdict::Accepted => EventKind::UserConfirmation { text, subject },
        Verdict::Rejected | Verdict::Corrected => EventKind::UserCorrection {
            text,
            source: CorrectionSource::Feedback,
            path: subject.clone().filter(|subject| subject.ends_with(".py")),
            subject,
            original: None,
            corrected: feedback.corrected_code,
            violates: Vec::new(),
        },
    });
    Ok(FeedbackReceipt { recorded: true, session: workspace.session.id.clone() })
}

/// Feedback as a tool.
pub fn feedback_tool(workspace: &Arc<Workspace>) -> Result<Tool, AgentError> {
    let workspace = Arc::clone(workspace);
    Ok(Tool::typed(
        FEEDBACK,
        "Say what became of a piece of work: accepted as it is, rejected, or corrected and how. Call it whenever a person confirms or \
         corrects something, so that it is done better next time.",
        move |feedback: Feedback| record_feedback(&workspace, feedback).map_err(|error| tool_error(&error)),
    )?)
}
