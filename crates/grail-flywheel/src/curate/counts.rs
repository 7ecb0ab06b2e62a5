//! How many there are and how much they weigh, by category.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::example::Example;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    pub examples: usize,
    pub weight: f64,
    /// A quarter of the bytes: near enough to plan with.
    pub approximate_tokens: usize,
    pub types: BTreeMap<String, Share>,
    pub artifacts: BTreeMap<String, Share>,
    pub rules: BTreeMap<String, Share>,
    pub tools: BTreeMap<String, Share>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    pub examples: usize,
    pub weight: f64,
    /// Of the whole weight.
    pub share: f64,
}

impl Counts {
    pub fn of(examples: &[Example]) -> Self {
        let mut counts = Self { examples: examples.len(), ..Self::default() };
        for example in examples {
            let weight = example.weight.total();
            counts.weight += weight;
            counts.approximate_tokens += bytes(example).div_ceil(4);
            for dimension in Dimension::ALL {
                let shares = counts.dimension_mut(dimension);
                for category in categories(example, dimension) {
                    let share = match shares.get_mut(category) {
                        Some(share) => share,
                        None => shares.entry(category.to_owned()).or_default(),
                    };
                    share.examples += 1;
                    share.weight += weight;
                }
            }
        }
        let whole = counts.weight;
        for dimension in Dimension::ALL {
            for share in counts.dimension_mut(dimension).values_mut() {
                share.share = if whole > 0.0 { share.weight / whole } else { 0.0 };
            }
        }
        counts
    }

    pub(super) fn dimension(&self, dimension: Dimension) -> &BTreeMap<String, Share> {
        match dimension {
            Dimension::Type => &self.types,
            Dimension::Artifact => &self.artifacts,
            Dimension::Rule => &self.rules,
            Dimension::Tool => &self.tools,
        }
    }

    fn dimension_mut(&mut self, dimension: Dimension) -> &mut BTreeMap<String, Share> {
        match dimension {
            Dimension::Type => &mut self.types,
            Dimension::Artifact => &mut self.artifacts,
            Dimension::Rule => &mut self.rules,
            Dimension::Tool => &mut self.tools,
        }
    }
}

/// What categories are by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Type,
    Artifact,
    Rule,
    Tool,
}

impl Dimension {
    pub(super) const ALL: [Self; 4] = [Self::Type, Self::Artifact, Self::Rule, Self::Tool];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Artifact => "kind",
            Self::Rule => "rule",
            Self::Tool => "tool",
        }
    }
}

/// The categories that an example is in, each once.
pub(super) fn categories(example: &Example, dimension: Dimension) -> BTreeSet<&str> {
    match dimension {
        Dimension::Type => BTreeSet::from([example.example_type.name()]),
        Dimension::Artifact => example.artifact.iter().map(String::as_str).collect(),
        Dimension::Rule => example.rules.iter().map(String::as_str).collect(),
        Dimension::Tool => example.tools.iter().map(String::as_str).collect(),
    }
}

fn bytes(example: &Example) -> usize {
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let turns: usize = example.window.iter().map(|turn| turn.text.len()).sum();
    let calls: usize =
        example.calls.iter().map(|call| call.tool.len() + call.arguments.to_string().len()).sum();
    optional(&example.context)
        + turns
        + example.request.len()
        + optional(&example.chosen)
        + optional(&example.rejected)
        + calls
}
