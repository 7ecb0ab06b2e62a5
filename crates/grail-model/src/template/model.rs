//! The template model: it reads what is asked, fills the template of the kind, and says so when it cannot.

use futures_util::stream;
use serde_json::json;

use super::fill::{Filled, Surroundings, fill};
use super::kinds::{KindGuess, guess_kind};
use super::subject::Subject;
use super::wish::Wish;
use super::{KindWords, Template};
use crate::prompt::untagged;
use crate::{
    ChatEvent, ChatRequest, ChatStream, Finish, FinishReason, Message, Model, ModelError, Role, ToolCall,
    Usage,
};

/// The name under which the model is asked for and answers.
pub const TEMPLATE_MODEL: &str = "template";
/// The tool by which an artifact is handed over.
const TOOL: &str = "generate_artifact";

/// Needs no server, no key and no luck: the same words give the same code.
///
/// It looks for marked passages in the user's messages (see [`crate::prompt`]): `intent` and perhaps `kind`, `uses` (one `library version` a
/// line), `subject` (a [`Subject`] as JSON), and later on `correction`. It answers with one call of
/// `generate_artifact`, or with a block of code where that tool is not on offer. It never sends the same code twice: what is wrong with it
/// would be wrong again.
pub struct TemplateModel {
    templates: Vec<Template>,
}

enum Answer {
    Say(String),
    Call(ToolCall),
}

impl TemplateModel {
    /// Of templates for the same kind the first counts.
    pub fn new(templates: impl IntoIterator<Item = Template>) -> Self {
        Self { templates: templates.into_iter().collect() }
    }

    /// What the model makes of a sentence, without a conversation around it.
    pub fn make(
        &self,
        intent: &str,
        kind: Option<&str>,
        surroundings: &Surroundings,
    ) -> Result<Filled, ModelError> {
        let (template, wish) = self.read(intent, kind)?;
        fill_for(template, &wish, surroundings)
    }

    fn read(&self, intent: &str, kind: Option<&str>) -> Result<(&Template, Wish), ModelError> {
        if !intent.chars().take(100_000).any(char::is_alphanumeric) {
            return Err(ModelError::NoWish);
        }
        let template = match kind {
            Some(kind) => self.template(kind)?,
            None => self.template(&self.guess(intent)?)?,
        };
        Ok((template, Wish::read(intent, &template.words)))
    }

    fn guess(&self, intent: &str) -> Result<String, ModelError> {
        let words: Vec<KindWords> = self.templates.iter().map(|template| template.words.clone()).collect();
        match guess_kind(intent, &words) {
            KindGuess::One(kind) => Ok(kind),
            KindGuess::Several(kinds) => Err(ModelError::KindUnclear { kinds }),
            KindGuess::Unclear => {
                Err(ModelError::KindUnclear { kinds: words.into_iter().map(|words| words.kind).collect() })
            }
        }
    }

    fn template(&self, kind: &str) -> Result<&Template, ModelError> {
        let found = self.templates.iter().find(|template| template.words.kind == kind);
        found.ok_or_else(|| ModelError::NoTemplate { kind: kind.to_owned() })
    }

    fn answer(&self, request: &ChatRequest) -> Result<Answer, ModelError> {
        let messages = &request.messages;
        let said = |message: &Message, tag: &str| match message.role {
            Role::User => untagged(tag, &message.content),
            _ => None,
        };
        let start = messages
            .iter()
            .rposition(|message| said(message, "intent").is_some())
            .ok_or(ModelError::NoWish)?;
        let before = &messages[..=start];
        let last = |tag: &str| before.iter().rev().find_map(|message| said(message, tag));
        let later = &messages[start + 1..];
        let result = later.iter().rev().find(|message| message.role == Role::Tool);
        if let Some(result) = result.filter(|_| later.last().is_some_and(|last| last.role == Role::Tool)) {
            return Ok(Answer::Say(report(&result.content)));
        }
        let kind = last("kind");
        let (template, mut wish) = self.read(&last("intent").unwrap_or_default(), kind.as_deref())?;
        for correction in later.iter().filter_map(|message| said(message, "correction")) {
            wish.refine(&correction, &template.words);
        }
        let filled = fill_for(template, &wish, &surroundings(&last))?;
        let is_repeated = later.iter().any(|message| {
            let sent = message.tool_calls.iter().any(|call| call.arguments["code"] == filled.code);
            message.role == Role::Assistant && (sent || message.content.contains(&filled.code))
        });
        if is_repeated {
            let text = "The template gives the same code again: say what to add, to leave out or to rename.";
            let failed = result.filter(|result| !is_success(&result.content));
            return Ok(Answer::Say(failed.map_or_else(|| text.to_owned(), |result| report(&result.content))));
        }
        let is_on_offer = request.tools.iter().any(|tool| tool.name == TOOL);
        if !is_on_offer {
            return Ok(Answer::Say(format!("```python\n{}```\n", filled.code)));
        }
        let calls = messages.iter().map(|message| message.tool_calls.len()).sum::<usize>();
        let arguments = json!({
            "artifact_type": template.words.kind,
            "name": filled.name,
            "description": wish.sentence,
            "code": filled.code,
        });
        Ok(Answer::Call(ToolCall { id: format!("template-{}", calls + 1), name: TOOL.to_owned(), arguments }))
    }
}

impl Model for TemplateModel {
    fn name(&self) -> &str {
        TEMPLATE_MODEL
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        let finish = |reason| {
            Ok(ChatEvent::Finished(Finish {
                reason,
                usage: Usage::default(),
                model: TEMPLATE_MODEL.to_owned(),
            }))
        };
        let events = match self.answer(request) {
            Ok(Answer::Say(text)) => vec![Ok(ChatEvent::Text(text)), finish(FinishReason::Stop)],
            Ok(Answer::Call(call)) => vec![Ok(ChatEvent::ToolCall(call)), finish(FinishReason::ToolCalls)],
            Err(error) => vec![Err(error)],
        };
        Box::pin(stream::iter(events))
    }
}

fn fill_for(template: &Template, wish: &Wish, surroundings: &Surroundings) -> Result<Filled, ModelError> {
    fill(template, wish, surroundings)
        .map_err(|reason| ModelError::Template { template: template.file.clone(), reason })
}

fn surroundings(said: &dyn Fn(&str) -> Option<String>) -> Surroundings {
    let library = |line: &str| {
        let (name, version) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        (!name.is_empty()).then(|| (name.to_lowercase().replace('_', "-"), version.trim().to_owned()))
    };
    Surroundings {
        uses: said("uses").unwrap_or_default().lines().take(500).filter_map(library).collect(),
        subject: said("subject")
            .and_then(|text| serde_json::from_str::<Subject>(&text).ok())
            .filter(Subject::is_usable),
    }
}

fn is_success(result: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(result).is_ok_and(|result| result["success"] == true)
}

/// What to say when the tool has answered: the model knows nothing better than what it sent.
fn report(result: &str) -> String {
    let result = result.trim();
    if is_success(result) {
        return "The artifact is ready.".to_owned();
    }
    let shown: String = result.chars().take(2000).collect();
    format!("What the template gives was not accepted, and this model knows no other way:\n{shown}")
}
