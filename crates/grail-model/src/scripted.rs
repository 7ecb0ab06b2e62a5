//! A model that says what a test wants it to say, failures too.

use std::sync::{Mutex, PoisonError};

use futures_util::stream;

use crate::{ChatEvent, ChatRequest, ChatStream, Finish, FinishReason, Model, ModelError, ToolCall, Usage};

/// One answer of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Say(String),
    Call(Vec<ToolCall>),
    /// Some text, and then it breaks off.
    Fail(String, ModelError),
}

/// Answers in the order of its script, and remembers what it was asked.
pub struct Scripted {
    name: String,
    steps: Vec<Step>,
    asked: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { name: "scripted".to_owned(), steps: steps.into_iter().collect(), asked: Mutex::default() }
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        let number = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(request.clone());
            asked.len() - 1
        };
        let finish = |reason| {
            let usage = Usage::default();
            Ok(ChatEvent::Finished(Finish { reason, usage, model: self.name.clone() }))
        };
        let events = match self.steps.get(number) {
            Some(Step::Say(text)) => vec![Ok(ChatEvent::Text(text.clone())), finish(FinishReason::Stop)],
            Some(Step::Call(calls)) => {
                let calls = calls.iter().map(|call| Ok(ChatEvent::ToolCall(call.clone())));
                calls.chain([finish(FinishReason::ToolCalls)]).collect()
            }
            Some(Step::Fail(text, error)) => vec![Ok(ChatEvent::Text(text.clone())), Err(error.clone())],
            None => vec![Err(ModelError::ScriptEnded { answers: self.steps.len() })],
        };
        Box::pin(stream::iter(events))
    }
}
