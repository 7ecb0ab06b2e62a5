//! What a model is told about a kind of artifact before it is asked: the text of the skill that the kind belongs to.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_flywheel::dataset::chat::check_said;
use grail_flywheel::evaluation::SkillText;
use grail_skills::load_skill;

use crate::AgentError;
use crate::artifact::find_kind;
use crate::workspace::Workspace;

/// Texts by kind of artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillTexts {
    /// The skill; several are `kind by kind`.
    pub name: String,
    texts: BTreeMap<String, Arc<str>>,
}

impl SkillTexts {
    /// The bodies of the skills that these kinds belong to. A skill that the user has not trusted is not told.
    pub fn of_kinds(workspace: &Workspace, kinds: &[&str]) -> Result<Self, AgentError> {
        let mut texts = BTreeMap::new();
        for kind in kinds {
            let (pack, declared) = find_kind(workspace, kind)?;
            if let Some(text) = trusted_text(workspace, &pack.name) {
                texts.insert(declared.name.clone(), Arc::from(told(&pack.name, &text)));
            }
        }
        Ok(Self { name: "kind by kind".to_owned(), texts })
    }

    /// One text for some kinds: a skill as it is, or as it could be.
    pub fn of_skill(name: &str, text: &str, kinds: &[&str]) -> Result<Self, AgentError> {
        check_said(text).map_err(|reason| AgentError::Other {
            message: format!("the skill `{name}` cannot be told to a model: {reason}"),
            hint: Some("take it out of the skill's text".to_owned()),
        })?;
        let text: Arc<str> = told(name, text).into();
        let texts = kinds.iter().map(|kind| ((*kind).to_owned(), Arc::clone(&text))).collect();
        Ok(Self { name: name.to_owned(), texts })
    }

    pub fn get(&self, kind: &str) -> Option<&str> {
        self.texts.get(kind).map(|text| &**text)
    }

    /// Name and hash, as an evaluation keeps them.
    pub fn identity(&self) -> SkillText {
        let mut hasher = blake3::Hasher::new();
        for (kind, text) in &self.texts {
            hasher.update(format!("{kind}\n{}\n", text.len()).as_bytes());
            hasher.update(text.as_bytes());
        }
        SkillText { name: self.name.clone(), hash: hasher.finalize().to_hex()[..16].to_owned() }
    }
}

/// The body of a skill, if it may be told.
pub fn trusted_text(workspace: &Workspace, name: &str) -> Option<String> {
    let entry = workspace.catalogue.entry(name).ok()?;
    if !workspace.trust.state(&entry.skill).is_trusted() {
        return None;
    }
    load_skill(&entry.skill).ok().map(|loaded| loaded.body)
}

fn told(name: &str, text: &str) -> String {
    format!("## The skill `{name}`\n{}", text.trim())
}
