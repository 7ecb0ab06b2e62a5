//! What can happen.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::ResultSummary;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// Somebody wants something.
    Intent {
        request: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
    },
    /// A skill came nearer to being used.
    Skill {
        skill: String,
        // `version` is the event's own: one line has each name once.
        #[serde(default, rename = "skill_version", skip_serializing_if = "String::is_empty")]
        version: String,
        stage: SkillStage,
    },
    /// A model said something or asked for tools.
    ModelAnswer {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<ToolUse>,
        tokens: Tokens,
    },
    /// A tool was called and answered.
    ToolCall {
        /// What the person had asked for.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        query: String,
        tool: String,
        arguments: Json,
        result: ResultSummary,
        /// Which fields of results the code goes on to use, as `tool.field`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields_accessed: Vec<String>,
        microseconds: u64,
    },
    /// A program was run in the sandbox.
    SandboxRun {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        query: String,
        code: String,
        result: ResultSummary,
        /// The tools it called, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields_accessed: Vec<String>,
        microseconds: u64,
    },
    /// An artifact went through the layers of its check.
    DomainValidation {
        /// The pack of rules that judged.
        validator: String,
        artifact: String,
        path: String,
        /// As it was handed in, before fixes.
        code: String,
        passed: bool,
        /// What is left after fixing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<Problem>,
        /// Rules that put something right by themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fixed: Vec<String>,
        /// Rules that a comment in the code silences.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        suppressed: Vec<String>,
        /// Whether types were checked, and held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        types: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<bool>,
    },
    /// The model was told what is wrong and tried again: one link of a chain, which goes on while `passed` is false.
    Retry {
        query: String,
        artifact: String,
        path: String,
        /// From 1.
        attempt: u32,
        /// What was wrong with `original`.
        problems: Vec<Problem>,
        original: String,
        corrected: String,
        /// Whether `corrected` passes.
        passed: bool,
    },
    /// One artifact is finished, for better or worse.
    Generation {
        artifact: String,
        request: String,
        /// As it would be written, after fixes.
        code: String,
        validated: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        types: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<bool>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<Problem>,
        retries: u32,
        path: String,
        /// The skills that were told to the model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skills: Vec<String>,
        tokens: Tokens,
        milliseconds: u64,
    },
    /// "No, I meant …", by words or by hand.
    UserCorrection {
        /// What was said; empty if the file was edited by hand.
        text: String,
        source: CorrectionSource,
        /// What it is about, where whoever tells names it: a proposal, a rule, a skill.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The code that was not meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        original: Option<String>,
        /// The code as it should have been.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corrected: Option<String>,
        /// Rules that the code breaks as it should have been, and did not break before: they may be wrong.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violates: Vec<String>,
    },
    /// "Perfect", or going on as if it were.
    UserConfirmation {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
    },
    /// What a person said that is neither.
    UserMessage { text: String },
    /// A decision about a proposal, or its making.
    Proposal {
        proposal: String,
        decision: ProposalDecision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The files it changes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
    },
    /// A tool asked for permission.
    Approval { tool: String, arguments: Json, allowed: bool },
    /// Another pass of a model looked at the work.
    Review { findings: u32, must_mend: u32 },
    /// A checkpoint: something was committed.
    Commit {
        commit: String,
        /// What `git patch-id --stable` says of it: the same after a rebase.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patch: Option<String>,
        paths: Vec<String>,
        /// Rules that this commit silences by comments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        suppressed: Vec<String>,
    },
    /// Ground truth: it shipped.
    BranchMerged {
        merged: String,
        into: String,
        way: MergeWay,
        /// The last commit of the branch, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tip: Option<String>,
        /// The sessions whose outcome this is. A branch of the same name that comes later is another one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<String>,
    },
    /// Ground truth: it did not.
    BranchClosed {
        closed: String,
        reported: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tip: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<String>,
    },
    /// One prompt of a suite was answered and judged.
    Evaluation {
        suite: String,
        prompt: String,
        seed: u64,
        passed: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<Problem>,
        tokens: Tokens,
        milliseconds: u64,
    },
    /// A phase on trial answered the same intent, unseen: it can be compared with the generation that was shown, and is never learned from.
    Shadow {
        /// The phase; the event's own is the one that was shown.
        challenger: String,
        /// Its `Generation`; none where nothing was ever handed in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Box<EventKind>>,
        /// Why there would have been no proposal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// A person looked at an example.
    ExampleReview {
        example: String,
        verdict: ReviewVerdict,
        /// What the answer should have been.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corrected: Option<String>,
    },
    /// A skill, a tool, a rule or a dataset was made.
    Made { what: String, name: String },
    /// The work ended without a result.
    Failed { reason: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillStage {
    /// Its name and description were told.
    Offered,
    /// Its text was told.
    Loaded,
    /// Something of it was run or read.
    Used,
}

/// A tool that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    pub tool: String,
    pub arguments: Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

/// One thing that is wrong with an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// syntax, rules, lint, types or tests.
    pub layer: String,
    pub rule: String,
    pub message: String,
    /// From 1.
    pub line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrectionSource {
    /// A message said so.
    Words,
    /// The file that was committed differs from the one that was approved.
    HandEdit,
    /// A proposal was edited before it was approved.
    ProposalEdit,
    /// Another program reported it.
    Feedback,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalDecision {
    Made,
    Approved,
    Rejected,
    Reverted,
}

/// How a branch came to be part of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeWay {
    Merge,
    FastForward,
    Squash,
    Rebase,
    /// Somebody outside says so.
    Reported,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    Accept,
    Reject,
    Correct,
    /// What was decided before does not count any more.
    Withdraw,
}

impl EventKind {
    /// As it is called in the files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Intent { .. } => "intent",
            Self::Skill { .. } => "skill",
            Self::ModelAnswer { .. } => "model_answer",
            Self::ToolCall { .. } => "tool_call",
            Self::SandboxRun { .. } => "sandbox_run",
            Self::DomainValidation { .. } => "domain_validation",
            Self::Retry { .. } => "retry",
            Self::Generation { .. } => "generation",
            Self::UserCorrection { .. } => "user_correction",
            Self::UserConfirmation { .. } => "user_confirmation",
            Self::UserMessage { .. } => "user_message",
            Self::Proposal { .. } => "proposal",
            Self::Approval { .. } => "approval",
            Self::Review { .. } => "review",
            Self::Commit { .. } => "commit",
            Self::BranchMerged { .. } => "branch_merged",
            Self::BranchClosed { .. } => "branch_closed",
            Self::Evaluation { .. } => "evaluation",
            Self::Shadow { .. } => "shadow",
            Self::ExampleReview { .. } => "example_review",
            Self::Made { .. } => "made",
            Self::Failed { .. } => "failed",
        }
    }
}

impl SkillStage {
    pub fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Loaded => "loaded",
            Self::Used => "used",
        }
    }
}

impl CorrectionSource {
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::HandEdit => "hand_edit",
            Self::ProposalEdit => "proposal_edit",
            Self::Feedback => "feedback",
        }
    }
}

impl ProposalDecision {
    pub fn name(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Reverted => "reverted",
        }
    }
}

impl MergeWay {
    pub fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::FastForward => "fast_forward",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
            Self::Reported => "reported",
        }
    }
}

impl ReviewVerdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Correct => "correct",
            Self::Withdraw => "withdraw",
        }
    }
}
