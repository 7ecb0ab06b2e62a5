//! Tools that ask a model themselves: a feature from a sentence, a review, code in the style of a file, code that is mended until tests pass.
//!
//! Each works in a workspace of its own, so that one that fails leaves nothing behind; what it achieves is staged for whoever called.

use std::sync::Arc;

use grail_model::Model;
use grail_sandbox::{Tool, ToolError, Toolset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::artifact::{ArtifactCode, ArtifactReport, ArtifactSettings, check_artifact};
use crate::dialogue::DialogueLimits;
use crate::generate::{Company, GenerateSettings, Generation, tool_error};
use crate::proposal::Proposal;
use crate::review::{Review, review_code};
use crate::style::Style;
use crate::workspace::Workspace;

/// What a model made, staged for the proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Made {
    /// The files, below the project's root.
    pub files: Vec<MadeFile>,
    /// How often the model had to be told what is wrong.
    pub retries: usize,
    /// What the model said about it.
    pub summary: String,
}

/// One file that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MadeFile {
    pub path: String,
    /// Its whole text.
    pub text: String,
}

#[derive(Deserialize, JsonSchema)]
struct FeatureCall {
    /// What the feature is called.
    feature_name: String,
    /// What it does, in a sentence.
    description: String,
}

#[derive(Deserialize, JsonSchema)]
struct ReviewCall {
    /// The whole Python file.
    code: String,
    /// What it is meant to do.
    #[serde(default)]
    description: String,
}

#[derive(Deserialize, JsonSchema)]
struct StyleCall {
    /// The kind of artifact.
    artifact_type: String,
    /// The file whose habits are kept, below the project's root.
    reference_file: String,
    /// What is to be made, in a sentence that names it.
    description: String,
    /// The code, if it is written already; then its name is needed.
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct RefineCall {
    /// The kind of artifact.
    artifact_type: String,
    /// What is to be made, in a sentence that names it.
    description: String,
    /// How often tests may fail before the work is given up.
    #[serde(default = "three")]
    max_iterations: usize,
}

fn three() -> usize {
    3
}

/// The tools, with the model that they ask.
pub fn toolset(workspace: &Arc<Workspace>, model: &Arc<dyn Model>) -> Result<Toolset, AgentError> {
    Ok(Toolset::new([
        generate_feature(workspace, model)?,
        review(model)?,
        generate_in_style_of(workspace, model)?,
        refine_until_tests_pass(workspace, model)?,
    ])?)
}

fn generate_feature(workspace: &Arc<Workspace>, model: &Arc<dyn Model>) -> Result<Tool, AgentError> {
    let (workspace, model) = (Arc::clone(workspace), Arc::clone(model));
    Ok(Tool::typed_async(
        "generate_feature",
        "Make a feature of several files: service, component, route and test, each with knowledge of the others.",
        move |call: FeatureCall| {
            let (workspace, model) = (Arc::clone(&workspace), Arc::clone(&model));
            async move {
                let intent = format!("{}: {}", call.feature_name, call.description);
                let settings = GenerateSettings { feature: true, ..GenerateSettings::default() };
                make(&workspace, &model, &intent, settings).await
            }
        },
    )?)
}

fn review(model: &Arc<dyn Model>) -> Result<Tool, AgentError> {
    let model = Arc::clone(model);
    Ok(Tool::typed_async(
        "review_code",
        "Let a model look at code for edge cases, errors, types and style.",
        move |call: ReviewCall| {
            let model = Arc::clone(&model);
            async move {
                let review = review_code(model.as_ref(), &call.description, &call.code).await;
                review.map_err(|error| tool_error(&error)) as Result<Review, ToolError>
            }
        },
    )?)
}

fn generate_in_style_of(workspace: &Arc<Workspace>, model: &Arc<dyn Model>) -> Result<Tool, AgentError> {
    let (workspace, model) = (Arc::clone(workspace), Arc::clone(model));
    Ok(Tool::typed_async(
        "generate_in_style_of",
        "Make an artifact that keeps the habits of a file: naming, docstrings, annotations, imports. With `code`, check that code.",
        move |call: StyleCall| {
            let (workspace, model) = (Arc::clone(&workspace), Arc::clone(&model));
            async move {
                if let (Some(code), Some(name)) = (call.code, call.name) {
                    let artifact = ArtifactCode {
                        artifact_type: call.artifact_type,
                        name,
                        description: call.description,
                        code,
                    };
                    let report = check_like(&workspace, &call.reference_file, &artifact);
                    return report.map(InStyle::Checked).map_err(|error| tool_error(&error));
                }
                let settings = GenerateSettings {
                    kind: Some(call.artifact_type),
                    like: Some(call.reference_file),
                    ..GenerateSettings::default()
                };
                make(&workspace, &model, &call.description, settings).await.map(InStyle::Made)
            }
        },
    )?)
}

/// Code that was checked, or code that was made.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum InStyle {
    Checked(ArtifactReport),
    Made(Made),
}

fn refine_until_tests_pass(workspace: &Arc<Workspace>, model: &Arc<dyn Model>) -> Result<Tool, AgentError> {
    let (workspace, model) = (Arc::clone(workspace), Arc::clone(model));
    Ok(Tool::typed_async(
        "refine_until_tests_pass",
        "Make an artifact and mend it until the project's tests pass. Tests run what the model wrote, with the rights of the user.",
        move |call: RefineCall| {
            let (workspace, model) = (Arc::clone(&workspace), Arc::clone(&model));
            async move {
                let settings = GenerateSettings {
                    kind: Some(call.artifact_type),
                    until_tests_pass: Some(call.max_iterations.min(10)),
                    ..GenerateSettings::default()
                };
                make(&workspace, &model, &call.description, settings).await
            }
        },
    )?)
}

fn check_like(
    workspace: &Workspace,
    reference: &str,
    artifact: &ArtifactCode,
) -> Result<ArtifactReport, AgentError> {
    let style = Some(Arc::new(Style::of_file(workspace, reference)?));
    check_artifact(workspace, artifact, &ArtifactSettings { style, ..ArtifactSettings::default() })
}

async fn make(
    workspace: &Arc<Workspace>,
    model: &Arc<dyn Model>,
    intent: &str,
    settings: GenerateSettings,
) -> Result<Made, ToolError> {
    let work = async {
        let beside = Arc::new(workspace.beside()?);
        let limits = DialogueLimits { turns: 8, ..DialogueLimits::default() };
        let settings = GenerateSettings { limits, model_name: model.name().to_owned(), ..settings };
        let start = Generation::start(
            &beside,
            model.as_ref(),
            Toolset::default(),
            intent,
            settings,
            Company::default(),
        );
        let proposal = start.await?.run().await?;
        workspace.stage_from(&beside)?;
        beside.artifacts.all_since(0).into_iter().for_each(|checked| workspace.artifacts.push(checked));
        Ok::<Proposal, AgentError>(proposal)
    };
    let proposal = work.await.map_err(|error| tool_error(&error))?;
    let file = |file: crate::proposal::ProposedFile| Some(MadeFile { path: file.path, text: file.after? });
    Ok(Made {
        files: proposal.files.into_iter().filter_map(file).collect(),
        retries: proposal.retries,
        summary: proposal.summary,
    })
}
