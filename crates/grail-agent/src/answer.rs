//! Answering without tools: a sentence goes out in the very form that a model was trained in, a whole file comes back in one fenced block.
//!
//! A model too small to call tools can still write what it has learned, if it is asked as it was taught: by [`ChatForm`], and by nothing
//! else. `grail generate` asks so in the mode `answer`; evaluations ask so once for every prompt with [`answer_once`]. An answer is read
//! leniently, its code is judged strictly.

use std::time::{Duration, Instant};

use grail_code::{Source, parse_module};
use grail_flywheel::dataset::ChatForm;
use grail_flywheel::dataset::chat::{self, check_said};
use grail_flywheel::suite;
use grail_model::{ChatRequest, FinishReason, Message, Model, ModelError, Usage, collect};
use grail_rules::Layer;
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::artifact::{
    ArtifactReport, LayerResult, Problem, check_mended, check_retold, check_unfixed, find_kind, path_for,
    path_of, run_tools_over,
};
use crate::code_mode::fences;
use crate::staging::Staging;
use crate::workspace::Workspace;

/// More problems are not sent back: a small model mends the first ones, if any.
const MAX_TOLD: usize = 5;

/// What is said when an answer holds no file.
pub(crate) const NO_CODE: &str =
    "There is no file in that answer. Answer with the whole file in one fenced block of Python.";

/// One prompt of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// The kind of artifact, whose rules judge the answer.
    pub kind: &'q str,
    /// What is wanted, in a sentence.
    pub request: &'q str,
    /// How it is said: as in the dataset that the model was trained with.
    pub form: &'q ChatForm,
    /// What a model is told besides, for comparison: the text of a skill.
    pub skill_text: Option<&'q str>,
    pub seed: Option<u64>,
    pub temperature: Option<f32>,
    pub max_tokens: Option<u32>,
    /// Layers of other tools that judge the code after syntax and rules; without any named, those that the kind asks for, except tests.
    pub layers: Option<&'q [Layer]>,
}

/// What a model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// All of it.
    pub text: String,
    /// The file in it, if there is one.
    pub code: Option<String>,
    pub finish: FinishReason,
    pub usage: Usage,
    pub took: Duration,
    /// The model that answered, as its server names it.
    pub answered_by: String,
}

/// What the checks say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The code as it was written.
    pub strict: ArtifactReport,
    /// The code put right by what was said and by its own first line, after the fixes that rules know.
    pub fixed: ArtifactReport,
    /// As fixes left it; none if there was no code.
    pub fixed_code: Option<String>,
}

/// What a model said, and what the checks say about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    #[serde(flatten)]
    pub asked: Asked,
    #[serde(flatten)]
    pub judged: Judged,
}

/// Asks once and judges the answer: as it stands, and after fixes. Nothing is staged, and no event is kept.
pub async fn answer_once(
    workspace: &Workspace,
    model: &dyn Model,
    question: &Question<'_>,
) -> Result<Answered, AgentError> {
    let asked = ask_once(model, question).await?;
    let judged = judge(workspace, question, asked.code.as_deref())?;
    Ok(Answered { asked, judged })
}

/// Only asks. Several may be asked at once; judging is work for the processor and can be done elsewhere.
pub async fn ask_once(model: &dyn Model, question: &Question<'_>) -> Result<Asked, AgentError> {
    check_question(question.request)?;
    let form = match question.skill_text {
        Some(text) => question.form.with_knowledge(text),
        None => question.form.clone(),
    };
    let request = ChatRequest {
        messages: opening(&form, question.request),
        known_names: true,
        seed: question.seed,
        temperature: question.temperature,
        max_tokens: question.max_tokens,
        ..ChatRequest::default()
    };
    let started = Instant::now();
    match collect(model, &request, |_| {}).await {
        Ok(reply) => Ok(Asked {
            code: code_of(&reply.text, reply.finish.reason),
            text: reply.text,
            finish: reply.finish.reason,
            usage: reply.finish.usage,
            took: started.elapsed(),
            answered_by: reply.finish.model,
        }),
        // To say nothing is a wrong answer, not a failure to ask.
        Err(ModelError::Empty { model }) => Ok(Asked {
            text: String::new(),
            code: None,
            finish: FinishReason::Stop,
            usage: Usage::default(),
            took: started.elapsed(),
            answered_by: model,
        }),
        Err(error) => Err(error.into()),
    }
}

/// Only judges: syntax, the rules of the kind, then other tools on a copy of the project with this one file in it.
pub fn judge(
    workspace: &Workspace,
    question: &Question<'_>,
    code: Option<&str>,
) -> Result<Judged, AgentError> {
    let (_, kind) = find_kind(workspace, question.kind)?;
    let unnamed = kind.name.replace('-', "_");
    let Some(code) = code else {
        let report = nothing_to_judge(&path_for(workspace, &kind, &unnamed)?);
        return Ok(Judged { strict: report.clone(), fixed: report, fixed_code: None });
    };
    // A name that no file can have is the model's fault, and no reason to end an evaluation.
    let path = path_of(workspace, &kind, code).or_else(|_| path_for(workspace, &kind, &unnamed))?;
    let mut strict = check_unfixed(workspace, Some(&kind.name), &path, code)?;
    let (mut text, mut fixed) = check_mended(workspace, &kind, Some(&path), code, question.request)?;
    if fixed.success {
        let is_wanted = |layer: &Layer| match question.layers {
            Some(layers) => layers.contains(layer),
            None => *layer != Layer::Tests && kind.checks.contains(layer),
        };
        let staging = Staging::new(&workspace.project.root);
        let runs_tests = question.layers.is_some_and(|layers| layers.contains(&Layer::Tests));
        let use_tools = |text: &str, report: &mut ArtifactReport| {
            staging.write(&path, text.to_owned())?;
            run_tools_over(workspace, &staging, &[path.as_str()], is_wanted, runs_tests, report)
        };
        use_tools(&text, &mut fixed)?;
        if strict.success && text == code {
            strict = ArtifactReport { fixed: strict.fixed, ..fixed.clone() };
        } else if strict.success {
            // Fixes of what is no failure: the tools have not seen this very text, so they look at it as well.
            use_tools(code, &mut strict)?;
        }
        if !fixed.success
            && let Some((told, mut retold)) =
                check_retold(workspace, &kind, &path, code, question.request, &text)?
        {
            use_tools(&told, &mut retold)?;
            if retold.success {
                (text, fixed) = (told, retold);
            }
        }
    }
    Ok(Judged { strict, fixed, fixed_code: Some(text) })
}

/// The first turns of a conversation without tools.
pub(crate) fn opening(form: &ChatForm, request: &str) -> Vec<Message> {
    let said = |message: chat::Message| match message.role {
        "system" => Message::system(message.content),
        "assistant" => Message::assistant(message.content),
        _ => Message::user(message.content),
    };
    form.question(request).into_iter().map(said).collect()
}

/// Whether a request can be said within its turn.
pub(crate) fn check_question(request: &str) -> Result<(), AgentError> {
    check_said(request).map_err(|reason| AgentError::Other {
        message: format!("the model cannot be asked this: {reason}"),
        hint: Some("take it out of the sentence".to_owned()),
    })
}

/// What is left to mend, in few words.
pub(crate) fn mending(problems: &[Problem]) -> String {
    let mut lines = vec!["That does not pass yet:".to_owned()];
    lines.extend(problems.iter().take(MAX_TOLD).map(problem_line));
    lines.push("Answer with the whole file again, in one fenced block of Python.".to_owned());
    lines.join("\n")
}

fn problem_line(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("- line {}: {} ({hint})", problem.line, problem.message),
        None => format!("- line {}: {}", problem.line, problem.message),
    }
}

/// The file in an answer: the longest fenced block that defines something, else the longest; without a fence, the whole answer if it is a
/// program. A block that nobody closed counts if the model had come to its end, or if it is no program: strictly it is wrong then, and what it says
/// of itself may be enough to put it right.
pub(crate) fn code_of(text: &str, finish: FinishReason) -> Option<String> {
    let (mut blocks, open) = fences(text);
    let is_program = |code: &str| parse_module(Source::from_text(code)).is_valid();
    blocks.extend(open.filter(|(_, code)| finish != FinishReason::Length || !is_program(code)));
    let is_python = |language: &str| matches!(language, "python" | "py" | "python3" | "");
    let blocks = blocks.into_iter().filter(|(language, _)| is_python(language)).map(|(_, code)| code);
    let blocks: Vec<String> = blocks.filter(|code| !code.trim().is_empty()).collect();
    let longest = |defining: bool| {
        let of_sort = blocks.iter().filter(|code| !defining || first_name(code).is_some());
        of_sort.max_by_key(|code| code.len()).cloned()
    };
    longest(true).or_else(|| longest(false)).or_else(|| {
        let is_file = finish != FinishReason::Length
            && !text.contains("```")
            && is_program(text)
            && first_name(text).is_some();
        is_file.then(|| text.to_owned())
    })
}

/// The first public function or class at the top of a file.
pub(crate) fn first_name(code: &str) -> Option<String> {
    suite::first_name(&parse_module(Source::from_text(code))).map(str::to_owned)
}

/// What an artifact is called: as its code says, else as its kind.
pub(crate) fn name_of(code: &str, kind: &str) -> String {
    first_name(code).unwrap_or_else(|| kind.replace('-', "_"))
}

fn nothing_to_judge(path: &str) -> ArtifactReport {
    let problem = Problem {
        path: path.to_owned(),
        line: 1,
        column: 1,
        layer: Layer::Syntax.name().to_owned(),
        rule: "no-code".to_owned(),
        message: "the answer holds no file".to_owned(),
        hint: None,
    };
    let layer = LayerResult {
        layer: Layer::Syntax.name().to_owned(),
        status: "failed".to_owned(),
        findings: 1,
        detail: String::new(),
    };
    ArtifactReport {
        path: path.to_owned(),
        layers: vec![layer],
        problems: vec![problem],
        ..ArtifactReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_off_counts_only_if_it_is_no_program() {
        let circles =
            "\"\"\"A kiln view with glaze.\"\"\"\n\n\ndef kiln_view(*, glaze: str, glaze: str, gla\n";
        let begun = format!("```python\n{}", circles.trim_end());
        assert_eq!(code_of(&begun, FinishReason::Length).as_deref(), Some(circles));
        let whole = "```python\ndef kiln_view() -> str:\n    return ''\n";
        assert_eq!(code_of(whole, FinishReason::Length), None, "more may have been meant");
        assert!(code_of(whole, FinishReason::Stop).is_some());
    }
}
