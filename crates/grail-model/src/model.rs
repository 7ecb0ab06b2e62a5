//! The one trait, and how a stream becomes an answer.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};

use crate::{ChatRequest, Finish, FinishReason, ModelError, Reply, ToolCall, ToolChoice, tool_text};

/// A longer answer is given up.
pub const MAX_REPLY_BYTES: usize = 4 << 20;

/// Somebody who can be asked.
pub trait Model: Send + Sync {
    /// The model that is asked, as it is named in messages.
    fn name(&self) -> &str;

    /// Asks. The answer comes piece by piece; dropping the stream ends the conversation.
    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m>;
}

impl<M: Model + ?Sized> Model for &M {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        (**self).chat(request)
    }
}

pub type ChatStream<'m> = Pin<Box<dyn Stream<Item = Result<ChatEvent, ModelError>> + Send + 'm>>;

/// A piece of an answer. The last one is `Finished`.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEvent {
    Text(String),
    ToolCall(ToolCall),
    Finished(Finish),
}

/// Asks and waits for the whole answer; `hear` is told every piece as it comes.
///
/// A model that was offered tools and called none may have written its calls as text: they are taken out of it.
pub async fn collect(
    model: &dyn Model,
    request: &ChatRequest,
    mut hear: impl FnMut(&ChatEvent),
) -> Result<Reply, ModelError> {
    let mut stream = model.chat(request);
    let (mut text, mut tool_calls, mut bytes) = (String::new(), Vec::new(), 0);
    while let Some(event) = stream.next().await {
        let event = event?;
        hear(&event);
        match event {
            ChatEvent::Text(piece) => {
                bytes += piece.len();
                text.push_str(&piece);
            }
            ChatEvent::ToolCall(call) => {
                bytes += call.name.len() + call.arguments.to_string().len();
                tool_calls.push(call);
            }
            ChatEvent::Finished(finish) if text.trim().is_empty() && tool_calls.is_empty() => {
                return Err(ModelError::Empty { model: finish.model });
            }
            ChatEvent::Finished(finish) => {
                let reply = Reply { text, tool_calls, problems: Vec::new(), finish };
                return Ok(with_calls_in_text(reply, request));
            }
        }
        if bytes > MAX_REPLY_BYTES {
            return Err(ModelError::TooLong { model: model.name().to_owned(), limit: MAX_REPLY_BYTES });
        }
    }
    let reason = "the stream ended before the answer did".to_owned();
    Err(ModelError::Interrupted { model: model.name().to_owned(), reason })
}

fn with_calls_in_text(mut reply: Reply, request: &ChatRequest) -> Reply {
    if !reply.tool_calls.is_empty() || request.tools.is_empty() || request.tool_choice == ToolChoice::None {
        return reply;
    }
    let understood = tool_text::understand(&reply.text, &request.tools);
    reply.problems = understood.problems;
    if !understood.calls.is_empty() {
        reply.text = understood.text;
        reply.tool_calls = understood.calls;
        if reply.finish.reason == FinishReason::Stop {
            reply.finish.reason = FinishReason::ToolCalls;
        }
    }
    reply
}
