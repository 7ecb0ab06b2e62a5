//! Prompts: one per skill that the user trusts, and one per kind of artifact that can be generated.

use grail_agent::artifact::find_kind;
use grail_agent::generate::{GENERATE_ARTIFACT, check_intent};
use grail_agent::prompt::briefing;
use grail_agent::{AgentError, Workspace};
use grail_model::prompt::tagged;
use grail_skills::load_skill;
use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value as Json;

use super::resources::trusted;

const GENERATE: &str = "generate-";
const USE: &str = "use-";

pub(super) fn list(workspace: &Workspace) -> Vec<Prompt> {
    let argument =
        |name: &str, about: &str| vec![PromptArgument::new(name).with_description(about).with_required(true)];
    let mut kinds: Vec<(&str, &str)> =
        workspace.library.kinds().map(|(_, kind)| (kind.name.as_str(), kind.description.as_str())).collect();
    kinds.sort_unstable();
    kinds.dedup_by_key(|(name, _)| *name);
    let kinds = kinds.into_iter().map(|(name, description)| {
        Prompt::new(
            format!("{GENERATE}{name}"),
            Some(format!("Generate a {name}: {description}")),
            Some(argument("intent", "What it is to be, in a sentence")),
        )
    });
    let skills = trusted(workspace).map(|entry| {
        Prompt::new(
            format!("{USE}{}", entry.skill.name),
            Some(entry.skill.description.clone()),
            Some(argument("task", "What is to be done with it")),
        )
    });
    kinds.chain(skills).collect()
}

pub(super) fn get(
    workspace: &Workspace,
    request: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let shown: String = request.name.chars().take(80).collect();
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
        let text = value.and_then(Json::as_str).ok_or_else(|| {
            ErrorData::invalid_params(format!("the prompt `{shown}` needs the argument `{name}`"), None)
        })?;
        check_intent(text).map_err(|error| wrong(&error))
    };
    let (text, description) = if let Some(kind) = request.name.strip_prefix(GENERATE) {
        (generate(workspace, kind, argument("intent")?)?, format!("Generate a {kind}"))
    } else if let Some(skill) = request.name.strip_prefix(USE) {
        (use_skill(workspace, skill, argument("task")?)?, format!("Use the skill {skill}"))
    } else {
        return Err(ErrorData::invalid_params(format!("there is no prompt `{shown}`"), None));
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(description))
}

fn generate(workspace: &Workspace, kind: &str, intent: &str) -> Result<String, ErrorData> {
    let (pack, kind) = find_kind(workspace, kind).map_err(|error| wrong(&error))?;
    let told = briefing(workspace, Some((&pack.name, &kind)), &[], None).map_err(|error| wrong(&error))?;
    Ok(format!(
        "{}\n## What is wanted\n{}\nCall `{GENERATE_ARTIFACT}` with `artifact_type` \"{}\", a `name`, a `description` and the whole file \
         as `code`, until it succeeds. Then tell the person what was made and which proposal waits for approval.\n",
        told.text,
        tagged("intent", intent),
        kind.name,
    ))
}

fn use_skill(workspace: &Workspace, name: &str, task: &str) -> Result<String, ErrorData> {
    let found = workspace.catalogue.entry(name).and_then(|entry| {
        workspace.trust.state(&entry.skill).require(&entry.skill)?;
        load_skill(&entry.skill)
    });
    let loaded = found.map_err(|error| wrong(&AgentError::from(error)))?;
    Ok(format!(
        "Do what is asked for as the skill `{}` says.\n\n{}\n\n{}\n",
        loaded.name,
        loaded.body.trim_end(),
        tagged("task", task)
    ))
}

fn wrong(error: &AgentError) -> ErrorData {
    let message = match error.hint() {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    };
    ErrorData::invalid_params(message, None)
}
