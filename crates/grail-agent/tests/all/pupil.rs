//! A model that knows some answers: as the template model gives them, or as badly as a test wants. And suites to ask it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream;
use grail_agent::evaluate::Contender;
use grail_agent::template_model;
use grail_flywheel::dataset::chat::said_once;
use grail_flywheel::suite::{Checks, Suite, SuitePrompt};
use grail_model::template::Surroundings;
use grail_model::{ChatEvent, ChatRequest, ChatStream, Finish, FinishReason, Model, ModelError, Role, Usage};

use crate::sample::Sample;

const THINGS: [&str; 12] = [
    "user", "product", "invoice", "parcel", "ticket", "room", "course", "plant", "recipe", "engine",
    "planet", "bridge",
];
const FIELDS: [[&str; 2]; 4] =
    [["title", "price"], ["label", "amount"], ["caption", "rating"], ["name", "email"]];

/// So many prompts, at most 48, half of them for components and half for services.
pub(crate) fn suite(count: usize) -> Suite {
    let prompts = (0..count).map(|number| {
        let (thing, [one, other]) = (THINGS[number % 12], FIELDS[number / 12]);
        let is_service = number % 2 == 1;
        let (kind, noun) = if is_service { ("service", "service") } else { ("component", "card component") };
        SuitePrompt {
            id: format!("{kind}-{number:02}"),
            kind: kind.to_owned(),
            prompt: format!("a {thing} {noun} with {one} and {other}"),
            group: Default::default(),
            family: String::new(),
            checks: Checks {
                name: Some(thing.to_owned()),
                mentions: vec![one.to_owned(), other.to_owned()],
                balanced_html: !is_service,
                ..Checks::default()
            },
        }
    });
    Suite::new("cards", "", prompts.collect())
}

/// What a pupil says.
pub(crate) enum Say {
    /// What passes.
    Right,
    /// The same with something behind it.
    Then(&'static str),
    /// A file that is not whole.
    Broken,
    Text(String),
    Fail(ModelError),
}

type Knowing = Box<dyn Fn(&str, &ChatRequest) -> Say + Send + Sync>;

/// Knows the right answers to a suite, and gives them where `knows` says so. It is told the prompt's name and the whole request.
pub(crate) struct Pupil {
    name: String,
    right: BTreeMap<String, (String, String)>,
    knows: Knowing,
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) called: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
}

impl Pupil {
    pub(crate) fn new(
        sample: &Sample,
        suite: &Suite,
        knows: impl Fn(&str, &ChatRequest) -> Say + Send + Sync + 'static,
    ) -> Self {
        let template = template_model(&sample.workspace);
        let right = suite.prompts.iter().map(|prompt| {
            let made = template.make(&prompt.prompt, Some(&prompt.kind), &Surroundings::default()).unwrap();
            (prompt.prompt.clone(), (prompt.id.clone(), made.code))
        });
        let (name, right) = ("pupil".to_owned(), right.collect());
        Self { name, right, knows: Box::new(knows), asked: Arc::default(), called: None }
    }

    /// As somebody who can be evaluated.
    pub(crate) fn contender(self, name: &str) -> Contender {
        Contender::with_model(name, &format!("{name}@1"), Box::new(self))
    }
}

impl Model for Pupil {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let first = request.messages.iter().find(|message| message.role == Role::User).unwrap();
        let (id, right) = &self.right[said_once(&first.content)];
        let text = match (self.knows)(id, request) {
            Say::Right => format!("```python\n{right}```\n"),
            Say::Then(more) => format!("```python\n{right}{more}```\n"),
            Say::Broken => "```python\ndef card(:\n    pass\n```\n".to_owned(),
            Say::Text(text) => text,
            Say::Fail(error) => return Box::pin(stream::iter([Err(error)])),
        };
        let model = self.called.as_ref().map_or_else(|| self.name.clone(), |called| called(number));
        let usage = Usage { input_tokens: 10, output_tokens: 20 };
        let finish = Finish { reason: FinishReason::Stop, usage, model };
        Box::pin(stream::iter([Ok(ChatEvent::Text(text)), Ok(ChatEvent::Finished(finish))]))
    }
}
