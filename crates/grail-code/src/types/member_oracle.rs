//! The oracle as a rename asks it.
//!
//! A rename must not miss a place in silence, so what spells the name in a file that could not be analysed is unsure.

use ruff_db::source::source_text;

use super::{Location, Outside, TypeOracle, identifier_at};
use crate::Span;
use crate::rename::{MemberOracle, MemberOrigin, MemberReferences};

impl MemberOracle for TypeOracle {
    fn references(&self, path: &str, offset: u32) -> MemberReferences {
        let found = Self::references(self, path, offset);
        let pairs = |locations: Vec<Location>| -> Vec<(String, Span)> {
            locations.into_iter().map(|location| (location.path, location.span)).collect()
        };
        let mut unsure = pairs(found.unsure);
        let name = self.text_of(path).and_then(|text| identifier_at(&text, offset as usize));
        for skipped in found.skipped {
            let text = self.text_of(&skipped).unwrap_or_default();
            let spans = name.iter().flat_map(|name| words(&text, name));
            unsure.extend(spans.map(|span| (skipped.clone(), span)));
        }
        let outside = match found.outside {
            Outside::No => MemberOrigin::Inside,
            Outside::Maybe => MemberOrigin::Unknown,
            Outside::Yes => MemberOrigin::Outside,
        };
        MemberReferences { certain: pairs(found.certain), unsure, outside }
    }
}

impl TypeOracle {
    fn text_of(&self, path: &str) -> Option<String> {
        if let Some((_, text)) = self.too_deep.iter().find(|(deep, _)| deep == path) {
            return Some(text.clone());
        }
        let file = self.database.project_file(path)?;
        Some(source_text(&self.database, file.file(&self.database)).as_str().to_owned())
    }
}

/// Where `text` contains `name` as a whole word.
fn words(text: &str, name: &str) -> Vec<Span> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(name)
        .filter(|(start, _)| {
            !text[..*start].ends_with(is_part) && !text[start + name.len()..].starts_with(is_part)
        })
        .map(|(start, _)| Span::new(start as u32, (start + name.len()) as u32))
        .collect()
}
