//! The commands by name, and what each takes and gives: one table, from which hosts are told and requests are routed.

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{generation, payload, skill_payload};
use crate::feedback::{Feedback, FeedbackReceipt};

macro_rules! commands {
    ($($variant:ident = $name:literal, $about:literal, $payload:ty => $answer:ty;)*) => {
        /// What a host can ask for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CommandName {
            $(#[doc = $about] $variant,)*
        }

        impl CommandName {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$variant => $about,)*
                }
            }

            /// The command with what it takes and gives, from the types that do it.
            pub fn describe(self) -> CommandDescription {
                let (payload, answer) = match self {
                    $(Self::$variant => (schema::<$payload>(), schema::<$answer>()),)*
                };
                CommandDescription { command: self.as_str().to_owned(), about: self.about().to_owned(), payload, answer }
            }
        }
    };
}

commands! {
    HostCommands = "host.commands", "List every command with the schemas of its payload and its answer",
        payload::Nothing => payload::Commands;
    Check = "check", "Check files against the project's rules",
        payload::Check => payload::Checked;
    Generate = "generate", "Turn a sentence into a proposal",
        payload::Generate => payload::ProposalAnswer;
    ProposalList = "proposal.list", "List proposals, the newest first",
        payload::ListProposals => payload::ProposalList;
    ProposalShow = "proposal.show", "Show one proposal with its change",
        payload::OneProposal => payload::ProposalAnswer;
    ProposalApprove = "proposal.approve", "Write the files of a proposal as they were shown",
        payload::OneProposal => payload::ProposalAnswer;
    ProposalReject = "proposal.reject", "Drop a proposal",
        payload::RejectProposal => payload::ProposalAnswer;
    ProposalRevert = "proposal.revert", "Put the files back as they were before an approved proposal",
        payload::OneProposal => payload::ProposalAnswer;
    Feedback = "feedback", "Say what became of a piece of work",
        Feedback => FeedbackReceipt;
    SkillGenerate = "skill.generate", "Make a runnable skill from a sentence: first a preview, then, confirmed, exactly that installed",
        generation::GenerateSkill => generation::GeneratedSkill;
    SkillGenerateStatus = "skill.generate.status", "Tell what became of the last attempt at a skill",
        generation::GenerationStatus => generation::GenerationStatusAnswer;
    SkillList = "skill.list", "List the skills there are",
        payload::Nothing => skill_payload::SkillList;
    SkillLoad = "skill.load", "Tell what a trusted skill says, and which files it has",
        skill_payload::OneSkill => skill_payload::LoadedSkill;
    SkillRead = "skill.read", "Read a file of a trusted skill",
        skill_payload::ReadSkill => skill_payload::SkillFilePart;
    SkillSearch = "skill.search", "Find the skill that does what is wanted",
        skill_payload::SearchSkills => skill_payload::FoundSkills;
    SkillInvoke = "skill.invoke", "Give an installed runnable skill an input",
        skill_payload::InvokeSkill => skill_payload::Invoked;
    SkillStatus = "skill.status", "Tell the state of installed runnable skills",
        skill_payload::SkillStatus => skill_payload::InstalledSkills;
    SkillEnable = "skill.enable", "Test a disabled skill and switch it on",
        skill_payload::OneInstalled => skill_payload::InstalledSkill;
    SkillDisable = "skill.disable", "Switch a skill off",
        skill_payload::WithReason => skill_payload::InstalledSkill;
    SkillQuarantine = "skill.quarantine", "Put an active skill under quarantine",
        skill_payload::WithReason => skill_payload::InstalledSkill;
    SkillRollback = "skill.rollback", "Return to the last good version of a skill",
        skill_payload::OneInstalled => skill_payload::InstalledSkill;
    SkillRemove = "skill.remove", "Remove an installed skill with all its versions",
        skill_payload::OneInstalled => skill_payload::Removed;
}

/// A command as a host is told about it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CommandDescription {
    pub command: String,
    pub about: String,
    /// The JSON Schema of its payload.
    pub payload: Json,
    /// The JSON Schema of what an answer that is `ok` holds.
    pub answer: Json,
}

impl CommandName {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|command| command.as_str() == name)
    }
}

fn schema<T: JsonSchema>() -> Json {
    let mut schema = schema_for!(T).to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
    }
    schema
}
