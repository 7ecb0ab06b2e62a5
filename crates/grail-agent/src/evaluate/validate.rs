//! A quick look at a model that is still being made: prompts asked once, judged like those of a suite, and nothing of it kept.

use futures_util::{StreamExt, stream};
use grail_flywheel::dataset::ChatForm;
use grail_flywheel::example::Example;
use grail_flywheel::suite::{Checks, Group, SuitePrompt};
use grail_model::Model;

use super::ask::is_wrong_answer;
use super::judge::judge_file;
use crate::AgentError;
use crate::answer::{self, Question};
use crate::workspace::Workspace;

const MAX_TOKENS: u32 = 512;
const AT_ONCE: usize = 32;

/// What an example asks for as a prompt, with what its answer names as what has to be there. Nothing if it is no file of a known kind.
pub(crate) fn prompt_of(example: &Example) -> Option<SuitePrompt> {
    Some(SuitePrompt {
        id: example.id.clone(),
        kind: example.artifact.clone()?,
        prompt: example.request.clone(),
        group: Group::default(),
        family: String::new(),
        checks: Checks::of_code(example.chosen.as_deref()?)?,
    })
}

/// How many of these prompts a model gets right at once, by syntax, rules and names, when its likeliest answer counts.
pub(crate) async fn count_right(
    workspace: &Workspace,
    model: &dyn Model,
    form: &ChatForm,
    prompts: &[SuitePrompt],
) -> Result<usize, AgentError> {
    let asking = prompts.iter().map(|prompt| is_right(workspace, model, form, prompt));
    let mut coming = stream::iter(asking).buffer_unordered(AT_ONCE);
    let mut right = 0;
    while let Some(is_right) = coming.next().await {
        right += usize::from(is_right?);
    }
    Ok(right)
}

async fn is_right(
    workspace: &Workspace,
    model: &dyn Model,
    form: &ChatForm,
    prompt: &SuitePrompt,
) -> Result<bool, AgentError> {
    let question = Question {
        kind: &prompt.kind,
        request: &prompt.prompt,
        form,
        skill_text: None,
        seed: Some(0),
        temperature: Some(0.0),
        max_tokens: Some(MAX_TOKENS),
        layers: Some(&[]),
    };
    match answer::ask_once(model, &question).await {
        Ok(asked) => Ok(judge_file(workspace, prompt, asked.code.as_deref())?.passes()),
        Err(AgentError::Model(error)) if is_wrong_answer(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
