//! Who answers the lessons: the model `template`, told what is meant in words that it understands.
//!
//! People ask in many ways, and the template model understands few of them. The curriculum knows what each of its sentences means, so the
//! lessons have what any project has: a sentence as somebody said it, and code that is right.

use futures_util::{StreamExt, stream};
use grail_model::prompt::tagged;
use grail_model::{ChatRequest, ChatStream, Model};

pub(super) struct Teacher<'t> {
    pub(super) template: &'t dyn Model,
    /// As it was said, and what is meant.
    pub(super) said: &'t str,
    pub(super) meant: &'t str,
}

impl Model for Teacher<'_> {
    fn name(&self) -> &str {
        self.template.name()
    }

    fn chat<'m>(&'m self, request: &'m ChatRequest) -> ChatStream<'m> {
        let mut request = request.clone();
        let (said, meant) = (tagged("intent", self.said), tagged("intent", self.meant));
        for message in &mut request.messages {
            message.content = message.content.replace(&said, &meant);
        }
        let answered = async move { stream::iter(self.template.chat(&request).collect::<Vec<_>>().await) };
        Box::pin(stream::once(answered).flatten())
    }
}
