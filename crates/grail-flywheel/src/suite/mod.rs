//! Suites: prompts that a model is asked in order to know how good it is, and what every answer has to hold.
//!
//! A suite is data. Its hash names exactly what was asked, so two evaluations with the same hash can be compared. Nothing of a suite, nor
//! anything near it, is ever learned from: [`held_out_prompts`] is what datasets are built against.

mod builtin;
mod check;
mod curriculum;
mod html;
mod read;

use serde::{Deserialize, Serialize};

pub use builtin::{HELD_OUT, QUICK, builtin, builtin_names};
pub use check::{check_code, first_name};
pub use curriculum::{Intent, curriculum};
pub use html::unbalanced;
pub use read::{held_out_prompts, list_suites, load_suite, parse_suite};

/// Prompts, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// What the prompts hash to: 16 digits. Name and description are not part of it.
    #[serde(default)]
    pub hash: String,
    pub prompts: Vec<SuitePrompt>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuitePrompt {
    /// Names the prompt within its suite, and in every evaluation.
    pub id: String,
    /// The kind of artifact that is asked for.
    pub kind: String,
    pub prompt: String,
    #[serde(default)]
    pub group: Group,
    /// Which way of asking it is; prompts of one family differ in what is asked for.
    #[serde(default)]
    pub family: String,
    #[serde(default, skip_serializing_if = "Checks::is_empty")]
    pub checks: Checks,
}

/// Whether training may have shown the shape that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Other things, asked for in other words, in shapes that training shows.
    #[default]
    SeenPattern,
    /// Shapes that training does not show.
    UnseenPattern,
}

/// What an answer has to hold beside the rules of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Checks {
    /// Identifiers that have to occur, as such or as the words of a longer one: `price` in `unit_price`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// What the artifact has to take: parameters of its function, or of a class and its methods, or fields of a class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// Words that have to be in the name of a function or class, in this order, whatever case it is written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Texts that have to be in the code as they are written here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Whether there has to be a template, with every element closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub balanced_html: bool,
}

impl Checks {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Group {
    pub const ALL: [Self; 2] = [Self::SeenPattern, Self::UnseenPattern];

    pub fn name(self) -> &'static str {
        match self {
            Self::SeenPattern => "seen-pattern",
            Self::UnseenPattern => "unseen-pattern",
        }
    }
}

impl Suite {
    /// A suite of these prompts, sorted by their names, with its hash.
    pub fn new(name: impl Into<String>, description: impl Into<String>, prompts: Vec<SuitePrompt>) -> Self {
        let mut prompts = prompts;
        prompts.sort_by(|one, other| one.id.cmp(&other.id));
        let hash = hash_of(&prompts);
        Self { name: name.into(), description: description.into(), hash, prompts }
    }

    pub fn get(&self, id: &str) -> Option<&SuitePrompt> {
        self.prompts.iter().find(|prompt| prompt.id == id)
    }

    /// The kinds that are asked for, each once, sorted.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.prompts.iter().map(|prompt| prompt.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// Names of prompts in an order that has nothing to do with their kinds, the same with the same seed: for tests that stop when they know.
pub fn shuffled<'n>(names: impl IntoIterator<Item = &'n str>, seed: u64) -> Vec<&'n str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| *blake3::hash(format!("{seed}\n{name}").as_bytes()).as_bytes());
    names
}

fn hash_of(prompts: &[SuitePrompt]) -> String {
    let bytes = serde_json::to_vec(prompts).unwrap_or_default();
    blake3::hash(&bytes).to_hex()[..16].to_owned()
}
