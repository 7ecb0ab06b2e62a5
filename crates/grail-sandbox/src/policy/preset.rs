//! The policies that are always there.

use std::fmt::Write;

use super::access::{FileAccess, ToolAccess};
use super::amount::Field;
use super::document::Policy;

/// A ready policy. Every one of them says everything, so none depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Pure computation on the inputs: no tools, no files, one second, 16 MiB, and nothing may be loosened.
    Strict,
    /// What applies when nothing is configured: five seconds, 64 MiB, all tools that the host gives, mounts without effect on the
    /// disk. Duration, memory and tool timeout may be loosened somewhat.
    Default,
    /// Trusted code with real work to do: a minute, 1 GiB, mounts may write. Everything may be loosened up to the permitted range.
    Permissive,
    /// Code that a model writes step by step: a little more time and memory than `default` and patience for slow tools, but few
    /// calls per step and output that fits a prompt.
    AiAgent,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const MILLISECOND: u64 = 1000;
const SECOND: u64 = 1000 * MILLISECOND;

impl Preset {
    pub const ALL: [Self; 4] = [Self::Strict, Self::Default, Self::Permissive, Self::AiAgent];

    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Default => "default",
            Self::Permissive => "permissive",
            Self::AiAgent => "ai-agent",
        }
    }

    pub fn summary(self) -> &'static str {
        match self {
            Self::Strict => "Pure computation: no tools, no files, nothing may be loosened",
            Self::Default => "What applies when nothing is configured",
            Self::Permissive => "Trusted code with real work to do; mounts may write",
            Self::AiAgent => "Code a model writes step by step: slow tools, few calls, short output",
        }
    }

    pub fn policy(self) -> Policy {
        let mut policy = Policy { description: Some(self.summary().to_owned()), ..Policy::default() };
        for (field, limit) in Field::ALL.into_iter().zip(self.limits()) {
            policy.limits.set(field, limit);
        }
        for (field, ceiling) in self.ceilings() {
            if policy.limits.get(field) < Some(ceiling) {
                policy.may_loosen.set(field, ceiling);
            }
        }
        policy.tools = Some(if self == Self::Strict { ToolAccess::none() } else { ToolAccess::all() });
        policy.files = Some(match self {
            Self::Strict => FileAccess::None,
            Self::Default | Self::AiAgent => FileAccess::Overlay,
            Self::Permissive => FileAccess::Write,
        });
        policy
    }

    /// The presets side by side, as Markdown for the documentation.
    pub fn table() -> String {
        let policies = Self::ALL.map(Self::policy);
        let mut table = String::from("| |");
        for preset in Self::ALL {
            let _ = write!(table, " `{}` |", preset.name());
        }
        table.push_str("\n| --- | --- | --- | --- | --- |\n");
        for field in Field::ALL {
            let _ = write!(table, "| `{}` |", field.name());
            for policy in &policies {
                let limit = policy.limits.get(field).map(|limit| field.show(limit)).unwrap_or_default();
                let ceiling =
                    policy.may_loosen.get(field).map(|ceiling| format!(" (up to {})", field.show(ceiling)));
                let _ = write!(table, " {limit}{} |", ceiling.unwrap_or_default());
            }
            table.push('\n');
        }
        table.push_str("| `tools` |");
        for policy in &policies {
            let _ =
                write!(table, " {} |", policy.tools.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        table.push_str("\n| `files` |");
        for policy in &policies {
            let _ = write!(table, " {} |", policy.files.map(FileAccess::name).unwrap_or_default());
        }
        table.push('\n');
        table
    }

    /// In the order of [`Field::ALL`].
    fn limits(self) -> [u64; Field::ALL.len()] {
        match self {
            Self::Strict => {
                [SECOND, 16 * MIB, 100, 100, 64 * KIB, 256 * KIB, 64 * KIB, 2 * SECOND, 5 * SECOND]
            }
            Self::Default => {
                [5 * SECOND, 64 * MIB, 500, 1000, MIB, 8 * MIB, 256 * KIB, 5 * SECOND, 30 * SECOND]
            }
            Self::Permissive => {
                [60 * SECOND, 1024 * MIB, 1000, 100_000, 16 * MIB, 64 * MIB, MIB, 30 * SECOND, 300 * SECOND]
            }
            Self::AiAgent => {
                [10 * SECOND, 128 * MIB, 500, 200, 256 * KIB, MIB, 128 * KIB, 5 * SECOND, 60 * SECOND]
            }
        }
    }

    fn ceilings(self) -> Vec<(Field, u64)> {
        match self {
            Self::Strict => Vec::new(),
            Self::Default => vec![
                (Field::MaxDuration, 60 * SECOND),
                (Field::MaxMemory, 512 * MIB),
                (Field::ToolTimeout, 300 * SECOND),
            ],
            Self::Permissive => {
                Field::ALL.into_iter().map(|field| (field, *field.permitted().end())).collect()
            }
            Self::AiAgent => vec![
                (Field::MaxDuration, 60 * SECOND),
                (Field::MaxMemory, 512 * MIB),
                (Field::MaxSuspensions, 1000),
                (Field::ToolTimeout, 600 * SECOND),
            ],
        }
    }
}
