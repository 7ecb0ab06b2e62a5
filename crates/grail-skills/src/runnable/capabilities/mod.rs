//! What a script can do to the world around it, by the names that manifests, messages and `--accept` use.

mod infer;
mod table;

pub use infer::{CapabilityUse, ScriptCapabilities, infer_capabilities};

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One thing a script can do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Capability {
    /// Opens connections.
    Network,
    /// Starts other programs, or copies of itself.
    Subprocess,
    ReadFiles,
    /// Writes, moves or removes files; includes reading them.
    WriteFiles,
    /// Reads an environment variable; without a name, any of them.
    Environment(Option<String>),
    /// Calls into native code, which nothing here can read.
    Native,
    /// Runs code that the text does not show: `exec`, `eval`, imports and attributes by computed names.
    Dynamic,
}

impl Capability {
    /// Whether who allows this has allowed `other` too.
    pub fn covers(&self, other: &Self) -> bool {
        self == other
            || matches!(
                (self, other),
                (Self::WriteFiles, Self::ReadFiles) | (Self::Environment(None), Self::Environment(_))
            )
    }

    /// What it lets a script do, as the end of a sentence.
    pub fn meaning(&self) -> &'static str {
        match self {
            Self::Network => "opens network connections",
            Self::Subprocess => "starts other programs",
            Self::ReadFiles => "reads files",
            Self::WriteFiles => "writes, moves or removes files",
            Self::Environment(Some(_)) => "reads this environment variable",
            Self::Environment(None) => "reads environment variables by computed names, or all of them",
            Self::Native => "calls native code",
            Self::Dynamic => "runs code that its text does not show",
        }
    }
}

/// Those of `used` that nothing in `allowed` covers.
pub fn uncovered(used: &BTreeSet<Capability>, allowed: &BTreeSet<Capability>) -> BTreeSet<Capability> {
    used.iter().filter(|one| !allowed.iter().any(|allowed| allowed.covers(one))).cloned().collect()
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network => formatter.write_str("network"),
            Self::Subprocess => formatter.write_str("subprocess"),
            Self::ReadFiles => formatter.write_str("files:read"),
            Self::WriteFiles => formatter.write_str("files:write"),
            Self::Environment(Some(name)) => write!(formatter, "env:{name}"),
            Self::Environment(None) => formatter.write_str("env:*"),
            Self::Native => formatter.write_str("native"),
            Self::Dynamic => formatter.write_str("dynamic"),
        }
    }
}

impl FromStr for Capability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "network" => Ok(Self::Network),
            "subprocess" => Ok(Self::Subprocess),
            "files:read" => Ok(Self::ReadFiles),
            "files" | "files:write" => Ok(Self::WriteFiles),
            "env" | "env:*" => Ok(Self::Environment(None)),
            "native" => Ok(Self::Native),
            "dynamic" => Ok(Self::Dynamic),
            _ => match text.strip_prefix("env:").filter(|name| is_environment_name(name)) {
                Some(name) => Ok(Self::Environment(Some(name.to_owned()))),
                None => Err(format!(
                    "`{text}` is no capability; there are `network`, `subprocess`, `files:read`, `files:write`, `env:NAME`, `env:*`, `native` and `dynamic`"
                )),
            },
        }
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.to_string()
    }
}

impl TryFrom<String> for Capability {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Letters, digits and `_`, not with a digit first: what every system takes for a variable's name.
pub(crate) fn is_environment_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}
