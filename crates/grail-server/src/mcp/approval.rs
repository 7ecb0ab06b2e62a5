//! Asking the person behind a client: about one call, or about a proposal.
//!
//! Clients that speak an older protocol are asked while the call waits. For newer ones the call ends with the question, and comes back with
//! the answer; what it was about is kept here under a name that means nothing to the client. A client that cannot ask has said nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    InputResponses, JsonObject, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::{Value as Json, json};

/// Whoever has not answered by then has not answered.
const PATIENCE: Duration = Duration::from_secs(600);
/// Older questions are forgotten.
const MAX_PENDING: usize = 64;
/// The name of the one question that is asked at a time.
const QUESTION: &str = "decision";

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// Nobody decided.
    Nothing,
}

/// What came of asking.
pub(super) enum Asked {
    Answered(Answer),
    /// The client cannot ask.
    Unable,
    /// The call has to end with this question.
    Return(Box<InputRequiredResult>),
}

/// A question to a person.
pub(super) struct Question {
    pub(super) message: String,
    pub(super) yes: &'static str,
    pub(super) no: &'static str,
}

/// What a question was about, until the call comes back.
pub(super) enum Pending {
    Call { tool: String, arguments: JsonObject },
    Proposal { id: String, tool: String, result: Json },
}

/// Questions that clients took with them.
#[derive(Default)]
pub(super) struct PendingQuestions(Mutex<VecDeque<(String, Pending)>>);

impl PendingQuestions {
    pub(super) fn take(&self, name: &str) -> Option<Pending> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = pending.iter().position(|(known, _)| known == name)?;
        pending.remove(index).map(|(_, pending)| pending)
    }

    fn keep(&self, name: String, what: Pending) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() == MAX_PENDING {
            pending.pop_front();
        }
        pending.push_back((name, what));
    }
}

/// Asks the person. `name` is what the question is kept under if the client takes it with it.
pub(super) async fn ask(
    context: &RequestContext<RoleServer>,
    question: &Question,
    pending: &PendingQuestions,
    name: impl FnOnce() -> Option<String>,
    what: impl FnOnce() -> Pending,
) -> Asked {
    let capabilities = context.client_capabilities();
    let can_ask = capabilities.and_then(|capabilities| capabilities.elicitation).is_some_and(|elicitation| {
        // Neither is named by those who know only forms.
        elicitation.form.is_some() || elicitation.url.is_none()
    });
    let (true, Some(parameters)) = (can_ask, form(question)) else { return Asked::Unable };
    let version = context.protocol_version();
    if version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()) {
        let Some(name) = name() else { return Asked::Unable };
        let request = InputRequest::Elicitation(ElicitRequest::new(parameters));
        let requests = [(QUESTION.to_owned(), request)].into_iter().collect();
        pending.keep(name.clone(), what());
        return Asked::Return(Box::new(InputRequiredResult::new(Some(requests), Some(name))));
    }
    match context.peer.create_elicitation_with_timeout(parameters, Some(PATIENCE)).await {
        Ok(result) => Asked::Answered(understand(&result, question.yes, question.no)),
        Err(_) => Asked::Answered(Answer::Nothing),
    }
}

/// The answer that a call brought back.
pub(super) fn brought_back(responses: Option<&InputResponses>, yes: &str, no: &str) -> Answer {
    let response = responses.and_then(|responses| responses.get(QUESTION));
    match response.and_then(|response| serde_json::from_value::<ElicitResult>(response.clone()).ok()) {
        Some(result) => understand(&result, yes, no),
        None => Answer::Nothing,
    }
}

fn understand(result: &ElicitResult, yes: &str, no: &str) -> Answer {
    if result.action != ElicitationAction::Accept {
        return Answer::Nothing;
    }
    match result.content.as_ref().and_then(|content| content.get(QUESTION)).and_then(Json::as_str) {
        Some(word) if word == yes => Answer::Yes,
        Some(word) if word == no => Answer::No,
        _ => Answer::Nothing,
    }
}

fn form(question: &Question) -> Option<ElicitRequestParams> {
    let schema = json!({
        "type": "object",
        "properties": {
            QUESTION: {"type": "string", "title": "Decision", "enum": [question.yes, question.no, "later"]},
        },
        "required": [QUESTION],
    });
    let requested_schema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.message.clone(),
        requested_schema,
    })
}

/// A text that a client may show anywhere: control characters are spelt out, and there is an end to it.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        if plain.len() >= most {
            plain.push('…');
            break;
        }
        match character {
            '\n' | '\t' => plain.push(character),
            _ if character.is_control() => plain.extend(character.escape_default()),
            _ => plain.push(character),
        }
    }
    plain
}
