//! `skills_search`: finding a skill by what it does, as a tool of a model.
//!
//! The index holds trusted skills only, so that what it finds can be loaded.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::conversation::{SkillTool, ToolDescription};
use crate::search::SearchIndex;
use crate::skill::Skill;
use crate::{SkillError, Trust};

const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: usize = 20;

/// Searches for a conversation.
pub struct SearchTool {
    index: SearchIndex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchCall {
    query: String,
    limit: Option<usize>,
}

impl SearchTool {
    /// Makes an index hold the skills of a catalogue that are trusted.
    pub fn new(mut index: SearchIndex, catalogue: &Catalogue, trust: &Trust) -> Result<Self, SkillError> {
        let entries = catalogue.entries.iter().filter(|entry| trust.state(&entry.skill).is_trusted());
        let skills: Vec<Skill> = entries.map(|entry| entry.skill.clone()).collect();
        index.update(&skills)?;
        Ok(Self { index })
    }
}

impl SkillTool for SearchTool {
    fn describe(&self) -> ToolDescription {
        ToolDescription {
            name: "skills_search",
            description: "Find skills by what they do. A score of 0.85 or more means that a skill does just that.",
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What is to be done, such as `send an email`"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}
                },
                "required": ["query"],
                "additionalProperties": false
            }),
        }
    }

    fn call(&mut self, _skill: Option<&CatalogueEntry>, arguments: &Value) -> Result<Value, SkillError> {
        let call = SearchCall::deserialize(arguments)
            .map_err(|error| SkillError::ToolCall { message: error.to_string() })?;
        let limit = call.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let hits = self.index.search(&call.query, limit)?;
        let hit = |hit: &crate::search::Hit| {
            json!({
                "name": hit.skill.name,
                "description": hit.skill.description,
                "score": f64::from((hit.score * 100.0).round()) / 100.0
            })
        };
        Ok(json!({"skills": hits.iter().map(hit).collect::<Vec<_>>()}))
    }
}
