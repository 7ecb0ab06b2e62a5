//! How much of a dataset an import may be.

use std::collections::{BTreeMap, BTreeSet};

use super::SKILLS_IMPORT;
use crate::example::Example;

/// The names of the examples that are too many. `ratios` says by import how much of the whole it may be: it keeps that much, and what is no
/// import stays. Which ones go is decided by their names, so that it is the same at every build. Where there is nothing else to mix with,
/// nothing goes.
pub fn mix(examples: &[Example], ratios: &BTreeMap<String, f64>) -> BTreeSet<String> {
    let mut of_import: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut others = 0;
    for example in examples {
        match import_of(example).filter(|import| ratios.get(*import).is_some_and(|ratio| *ratio < 1.0)) {
            Some(import) => of_import.entry(import).or_default().push(&example.id),
            None => others += 1,
        }
    }
    let mut limited: Vec<&str> = of_import.keys().copied().collect();
    let ratio = |import: &str| ratios.get(import).copied().unwrap_or(1.0);
    // The whole follows from what is not limited; whatever stays below its share is not limited after all.
    let whole = loop {
        let shares: f64 = limited.iter().map(|import| ratio(import)).sum();
        let unlimited = of_import.iter().filter(|(import, _)| !limited.contains(import));
        let fixed = others + unlimited.map(|(_, ids)| ids.len()).sum::<usize>();
        if fixed == 0 || shares >= 1.0 {
            return BTreeSet::new();
        }
        let whole = fixed as f64 / (1.0 - shares);
        let before = limited.len();
        limited.retain(|import| of_import[import].len() as f64 > ratio(import) * whole);
        if limited.len() == before {
            break whole;
        }
    };
    let mut dropped = BTreeSet::new();
    for import in limited {
        let room = (ratio(import) * whole + 1e-9).floor() as usize;
        let mut ids = of_import[import].clone();
        ids.sort_by_key(|id| *blake3::hash(id.as_bytes()).as_bytes());
        dropped.extend(ids.into_iter().skip(room).map(str::to_owned));
    }
    dropped
}

/// The import that an example came with, by its source: `import:NAME`, perhaps with whose it was before behind a slash.
fn import_of(example: &Example) -> Option<&str> {
    let source = example.origin.source.as_str();
    match source.strip_prefix("import:") {
        Some(name) => name.split('/').next(),
        None => source.starts_with("skill:").then_some(SKILLS_IMPORT),
    }
}
