//! The packs' validators: for every kind of artifact that a skill declares, a tool that says whether a file holds a valid one.
//!
//! A file in which nothing is recognised as one is not valid, and is judged as if all of it were meant, so that what is missing is said. The
//! tools are described in our words, not in the skill's: nobody has looked at what a project's skill says.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_code::{Source, parse_module};
use grail_rules::{ArtifactKind, Checker, CompiledRule, Finding, Layer, Safety};
use grail_sandbox::Toolset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::beginning;
use super::check::told;
use super::sources::text;
use super::{failure, tool};
use crate::AgentError;
use crate::artifact::Problem;
use crate::staging::clean_path;
use crate::workspace::Workspace;

const MAX_CODE_BYTES: usize = 256 * 1024;
const MAX_ARTIFACTS: usize = 100;
/// A project's skills may declare any number of kinds; a model has to read about each tool.
const MAX_VALIDATORS: usize = 60;

const PREFIX: &str = "cst_validate_";

/// Validators of all rules of a pack at once: the tool, the pack, what it looks at.
const OF_PACKS: [(&str, &str, &str); 2] = [
    ("cst_check_di_pattern", "svcs-services", "how services are made, registered and asked for"),
    ("cst_validate_middleware", "middleware", "middleware of any kind"),
];

/// Kinds that are known by another name.
const KNOWN_AS: [(&str, &str); 1] = [("component", "tdom_component")];

#[derive(Deserialize, JsonSchema)]
struct Validate {
    /// The file, below the project's root. Staged text counts.
    path: String,
    /// The text to validate as if it were the file's.
    #[serde(default)]
    code: Option<String>,
}

/// Whether a file holds what it should.
#[derive(Serialize, JsonSchema)]
pub struct ValidationResult {
    /// Whether there is one and nothing about it has to be mended.
    pub valid: bool,
    pub path: String,
    /// What was recognised: the names of the artifacts, by kind.
    pub artifacts: BTreeMap<String, Vec<String>>,
    /// How many rules had a say.
    pub rules: usize,
    /// By place.
    pub problems: Vec<Problem>,
    /// Problems that are not told for want of room.
    pub more_problems: usize,
    /// How many problems `fix` would put right.
    pub fixable: usize,
    /// What to know about the answer.
    pub note: Option<String>,
}

/// What a validator is about.
#[derive(Clone)]
enum Subject {
    Kind { pack: Arc<str>, kind: Arc<ArtifactKind> },
    Pack(Arc<str>),
}

/// Whether a tool of this name would be a validator.
pub fn is_validator(name: &str) -> bool {
    name.starts_with(PREFIX) || OF_PACKS.iter().any(|(known, ..)| *known == name)
}

pub fn toolset(workspace: &Arc<Workspace>) -> Result<Toolset, AgentError> {
    let mut tools = BTreeMap::new();
    for (name, pack, about) in OF_PACKS {
        let Some(pack) = workspace.library.pack(pack) else { continue };
        let subject = Subject::Pack(Arc::clone(&pack.name));
        let documentation = format!("Validate {about}, by all rules of the skill `{}`.", pack.name);
        tools.insert(name.to_owned(), (documentation, subject));
    }
    for (pack, kind) in workspace.library.kinds() {
        let Some(name) = tool_name(&kind.name) else { continue };
        let subject = Subject::Kind { pack: Arc::clone(&pack.name), kind: Arc::clone(kind) };
        let documentation = format!(
            "Whether a file holds a valid `{}`, by the rules of the skill `{}` that are about it.",
            kind.name, pack.name
        );
        if tools.len() < MAX_VALIDATORS {
            tools.entry(name).or_insert((documentation, subject));
        }
    }
    let tools = tools.into_iter().map(|(name, (documentation, subject))| {
        tool(workspace, &name, &documentation, move |workspace, call| validate(workspace, call, &subject))
    });
    Ok(Toolset::new(tools.collect::<Result<Vec<_>, _>>()?)?)
}

/// `tdom-middleware` is `cst_validate_tdom_middleware`. A name that could be no function's has no tool.
fn tool_name(kind: &str) -> Option<String> {
    let known = KNOWN_AS.iter().find(|(name, _)| *name == kind).map(|(_, known)| (*known).to_owned());
    let name = known.unwrap_or_else(|| kind.replace('-', "_"));
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (!name.is_empty() && name.len() <= 60 && name.bytes().all(is_plain)).then(|| format!("{PREFIX}{name}"))
}

fn validate(
    workspace: &Workspace,
    call: Validate,
    subject: &Subject,
) -> Result<ValidationResult, AgentError> {
    let (path, code) = match call.code {
        Some(code) => (clean_path(&call.path)?, code),
        None => text(workspace, &call.path)?,
    };
    if code.len() > MAX_CODE_BYTES {
        return Err(failure(
            format!("the code has more than {MAX_CODE_BYTES} bytes"),
            "one artifact is one file",
        ));
    }
    let shown: Arc<str> = path.as_str().into();
    let module = workspace.module_of(&path);
    let parsed = parse_module(Source::from_text(code));
    let (pack, kind) = match subject {
        Subject::Kind { pack, kind } => (pack, Some(kind.name.as_str())),
        Subject::Pack(pack) => (pack, None),
    };
    let natural = workspace.rules_of_pack(pack, None)?;
    let found = Checker { rules: &natural, python: None }.check_parsed(&shown, &module, &parsed).report;
    let is_recognised = |kind: &&str| found.artifacts.iter().any(|artifact| artifact.kind == **kind);
    let forced = kind.filter(|kind| !is_recognised(kind));
    let rules = workspace.rules_of_pack(pack, forced)?;
    let checker = Checker { rules: &rules, python: Some(workspace.python_rules()) };
    let looked = checker.check_parsed(&shown, &module, &parsed);
    let about: Vec<&CompiledRule> = rules.rules().filter(|compiled| subject.is_about(compiled)).collect();
    let is_wanted = |finding: &Finding| {
        finding.layer == Layer::Syntax || about.iter().any(|compiled| compiled.rule.id == finding.rule)
    };
    let mut findings: Vec<Finding> = looked.report.findings.into_iter().filter(is_wanted).collect();
    if !parsed.is_valid() {
        // What rules make of code that does not parse is guesswork.
        findings.retain(|finding| finding.layer == Layer::Syntax);
    }
    let mut artifacts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for artifact in found.artifacts.into_iter().take(MAX_ARTIFACTS) {
        artifacts.entry(artifact.kind).or_default().push(artifact.name);
    }
    let (problems, more_problems) = told(&findings);
    let is_fixable = |finding: &&Finding| finding.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe);
    let mut notes: Vec<String> = forced
        .map(|kind| {
            format!(
                "nothing in the file looks like a `{kind}`; everything public at its top was judged as one"
            )
        })
        .into_iter()
        .collect();
    if about.is_empty() {
        notes.push("no rule about it is in force".to_owned());
    }
    let failed = looked.problems.iter().map(ToString::to_string);
    let has_failed = !looked.problems.is_empty();
    notes.extend(failed);
    Ok(ValidationResult {
        valid: problems.is_empty() && !has_failed && forced.is_none(),
        path,
        artifacts,
        rules: about.len(),
        fixable: findings.iter().filter(is_fixable).count(),
        problems,
        more_problems,
        note: (!notes.is_empty()).then(|| beginning(&notes.join("; "), 1_000)),
    })
}

impl Subject {
    fn is_about(&self, compiled: &CompiledRule) -> bool {
        let rule = &compiled.rule;
        match self {
            Self::Pack(pack) => rule.pack == *pack,
            Self::Kind { pack, kind } => {
                rule.applies_to.contains(&kind.name)
                    || kind.rules.iter().any(|id| **id == *rule.id)
                    || (rule.pack == *pack && rule.applies_to.is_empty())
            }
        }
    }
}
