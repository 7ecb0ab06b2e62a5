//! The prompts of a suite go out together, and what comes back is kept at once.

use std::time::Instant;

use futures_util::{StreamExt, stream};
use grail_flywheel::event::Problem as EventProblem;
use grail_flywheel::suite::SuitePrompt;
use grail_model::prompt::tagged;
use grail_model::template::TEMPLATE_MODEL;
use grail_model::{ChatRequest, Message, Model, ModelError, collect};

use super::answers::Given;
use super::judge::judge_file;
use super::{Progress, Run};
use crate::AgentError;
use crate::answer::{self, Asked, Question};
use crate::artifact::Problem;

/// Asks what is missing. Whoever drops this loses nothing but what was not answered yet.
pub(super) async fn ask_missing(
    run: &mut Run<'_>,
    prompts: &[&SuitePrompt],
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<(), AgentError> {
    let seeds = &run.settings.seeds;
    let all = prompts.iter().flat_map(|prompt| seeds.iter().map(|seed| (*prompt, *seed)));
    let missing: Vec<(&SuitePrompt, u64)> =
        all.filter(|(prompt, seed)| run.answers.get(&prompt.id, *seed).is_none()).collect();
    let total = prompts.len() * seeds.len();
    let mut done = total - missing.len();
    watch(Progress { done, total });
    if missing.is_empty() {
        return Ok(());
    }
    let mut arriving: Vec<Given> = Vec::new();
    {
        let this = &*run;
        let model = this.arm.contender.started(this.workspace).await?;
        let asking = missing.into_iter().map(|(prompt, seed)| ask(this, model, prompt, seed));
        let mut coming = stream::iter(asking).buffer_unordered(this.settings.concurrency.max(1));
        let journal = this.answers.journal();
        while let Some(given) = coming.next().await {
            let given = given?;
            journal.keep(&given)?;
            arriving.push(given);
            done += 1;
            watch(Progress { done, total });
        }
    }
    arriving.into_iter().for_each(|given| run.answers.remember(given));
    Ok(())
}

/// One prompt with one seed, and as many tries as are allowed.
async fn ask(run: &Run<'_>, model: &dyn Model, prompt: &SuitePrompt, seed: u64) -> Result<Given, AgentError> {
    let contender = run.arm.contender;
    let request = request(model.name(), prompt);
    let question = Question {
        kind: &prompt.kind,
        request: &request,
        form: &contender.form,
        skill_text: run.arm.skill.and_then(|skill| skill.get(&prompt.kind)),
        seed: Some(seed),
        temperature: Some(run.settings.temperature),
        max_tokens: Some(run.settings.max_tokens),
        layers: Some(&[]),
    };
    let mut given = Given { prompt: prompt.id.clone(), seed, tries: Vec::new(), failure: None };
    let mut answered = answer::ask_once(model, &question).await;
    loop {
        let asked = match answered {
            Ok(asked) => asked,
            Err(AgentError::Model(error)) if is_wrong_answer(&error) => {
                given.failure = Some(error.to_string());
                return Ok(given);
            }
            Err(error) => return Err(error),
        };
        assert_identity(run, &asked)?;
        given.tries.push(asked);
        let Some(last) = given.tries.last() else { return Ok(given) };
        if given.tries.len() > run.settings.retries as usize {
            return Ok(given);
        }
        let verdict = judge_file(run.workspace, prompt, last.code.as_deref())?;
        if verdict.passes_with_fixes() {
            return Ok(given);
        }
        answered = ask_again(model, &question, last, &verdict.left).await;
    }
}

/// The same question with the answer and what is wrong with it.
async fn ask_again(
    model: &dyn Model,
    question: &Question<'_>,
    last: &Asked,
    problems: &[EventProblem],
) -> Result<Asked, AgentError> {
    let form = match question.skill_text {
        Some(text) => question.form.with_knowledge(text),
        None => question.form.clone(),
    };
    let mut messages = answer::opening(&form, question.request);
    messages.push(Message::assistant(&last.text));
    messages.push(Message::user(match last.code {
        Some(_) => answer::mending(&problems.iter().map(told).collect::<Vec<_>>()),
        None => answer::NO_CODE.to_owned(),
    }));
    let request = ChatRequest {
        messages,
        known_names: true,
        seed: question.seed,
        temperature: question.temperature,
        max_tokens: question.max_tokens,
        ..ChatRequest::default()
    };
    let started = Instant::now();
    let reply = collect(model, &request, |_| {}).await?;
    Ok(Asked {
        code: answer::code_of(&reply.text, reply.finish.reason),
        text: reply.text,
        finish: reply.finish.reason,
        usage: reply.finish.usage,
        took: started.elapsed(),
        answered_by: reply.finish.model,
    })
}

/// How a prompt is said. The model `template` reads marked passages; every other one is asked as it was trained.
fn request(model: &str, prompt: &SuitePrompt) -> String {
    if model == TEMPLATE_MODEL {
        return format!("{}\n{}", tagged("intent", &prompt.prompt), tagged("kind", &prompt.kind));
    }
    prompt.prompt.clone()
}

/// Whether a model failed at this prompt, rather than failed to be there.
pub(super) fn is_wrong_answer(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Empty { .. }
            | ModelError::PromptTooLong { .. }
            | ModelError::TooLong { .. }
            | ModelError::NoWish
            | ModelError::KindUnclear { .. }
            | ModelError::NoTemplate { .. }
            | ModelError::Template { .. }
    )
}

/// A problem as models are told it.
fn told(problem: &EventProblem) -> Problem {
    Problem {
        path: String::new(),
        line: problem.line,
        column: 1,
        layer: problem.layer.clone(),
        rule: problem.rule.clone(),
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    }
}

/// Whoever answers first has to answer always: a name that changes on the way means that somebody else is behind it.
fn assert_identity(run: &Run<'_>, asked: &Asked) -> Result<(), AgentError> {
    let first = run.answered_by.get_or_init(|| asked.answered_by.clone());
    if *first == asked.answered_by {
        return Ok(());
    }
    Err(ModelError::OtherModel { asked: first.clone(), answered: asked.answered_by.clone() }.into())
}
