//! The same lesson once. What is let go leaves its lineage and its rules to what is kept.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Ranked, Reason};
use crate::example::{Example, ExampleType};
use crate::likeness::{FEW, Pair, Shingles, candidate_pairs, plain_shingles, token_shingles};

const BANDS: usize = 32;

/// Drops what says exactly the same, but for line ends and blanks behind lines. The best comes first and stays.
pub(super) fn drop_exact(ranked: Vec<Ranked>, dropped: &mut Vec<(Example, Reason)>) -> Vec<Ranked> {
    let mut kept: Vec<Ranked> = Vec::with_capacity(ranked.len());
    let mut known: FxHashMap<blake3::Hash, usize> = FxHashMap::default();
    for one in ranked {
        match known.get(&lesson_hash(&one.example)) {
            Some(first) => {
                take_over(&mut kept[*first].example, &one.example);
                let of = kept[*first].example.id.clone();
                dropped.push((one.example, Reason::Duplicate { of }));
            }
            None => {
                known.insert(lesson_hash(&one.example), kept.len());
                kept.push(one);
            }
        }
    }
    kept
}

/// Drops what says nearly the same: of the same type, to a request and with answers that are alike, and teaching no rule that the other
/// does not teach.
pub(super) fn drop_near(
    ranked: Vec<Ranked>,
    threshold: f64,
    dropped: &mut Vec<(Example, Reason)>,
) -> Vec<Ranked> {
    let texts: Vec<(Shingles, Shingles)> =
        ranked.par_iter().map(|one| (plain_shingles(&one.example.request), answers(&one.example))).collect();
    let mut near: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (one, other) in pairs(&texts) {
        near.entry(other).or_default().push(one);
    }
    let mut gone: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
    for (later, earlier) in near {
        let later = later as usize;
        let better = earlier.into_iter().map(|earlier| earlier as usize).find_map(|earlier| {
            let is_candidate = !gone.contains_key(&earlier)
                && is_same_kind(&ranked[earlier].example, &ranked[later].example);
            let alike = if is_candidate { likeness(&texts[earlier], &texts[later]) } else { 0.0 };
            (alike >= threshold).then_some((earlier, alike))
        });
        if let Some(better) = better {
            gone.insert(later, better);
        }
    }
    let mut kept: Vec<Option<Ranked>> = ranked.into_iter().map(Some).collect();
    for (later, (earlier, alike)) in gone {
        let Some(one) = kept[later].take() else { continue };
        let Some(better) = &mut kept[earlier] else { continue };
        take_over(&mut better.example, &one.example);
        let percent = (alike * 100.0).floor() as u8;
        dropped.push((one.example, Reason::NearDuplicate { of: better.example.id.clone(), percent }));
    }
    kept.into_iter().flatten().collect()
}

fn pairs(texts: &[(Shingles, Shingles)]) -> Vec<Pair> {
    if texts.len() <= FEW {
        let count = texts.len() as u32;
        return (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))).collect();
    }
    // Both have to be alike, so it is enough to look at one; the answers tell more.
    let sets: Vec<&Shingles> =
        texts.iter().map(|(request, answers)| if answers.is_empty() { request } else { answers }).collect();
    candidate_pairs::<BANDS>(&sets)
}

fn likeness(one: &(Shingles, Shingles), other: &(Shingles, Shingles)) -> f64 {
    let requests = one.0.jaccard(&other.0);
    if one.1.is_empty() && other.1.is_empty() { requests } else { requests.min(one.1.jaccard(&other.1)) }
}

fn is_same_kind(better: &Example, other: &Example) -> bool {
    better.example_type == other.example_type
        && better.artifact == other.artifact
        && other.rules.iter().all(|rule| better.rules.contains(rule))
        // What was not meant is told apart by what was meant: one example without it is not the other.
        && better.chosen.is_some() == other.chosen.is_some()
}

fn answers(example: &Example) -> Shingles {
    let calls = example.calls.iter().map(|call| format!("{} {}", call.tool, call.arguments));
    let parts = [&example.chosen, &example.rejected].into_iter().flatten().cloned();
    token_shingles(&parts.chain(calls).collect::<Vec<_>>().join("\n"))
}

fn take_over(kept: &mut Example, gone: &Example) {
    for event in &gone.origin.events {
        if !kept.origin.events.contains(event) {
            kept.origin.events.push(*event);
        }
    }
    kept.rules.extend(gone.rules.iter().cloned());
    kept.rules.sort();
    kept.rules.dedup();
    if gone.weight.total() > kept.weight.total() {
        kept.weight = gone.weight;
    }
}

fn lesson_hash(example: &Example) -> blake3::Hash {
    let calls = serde_json::to_string(&example.calls).unwrap_or_default();
    // Windows and context differ from session to session; a corrective pair is the same whatever was said before.
    let parts: [Option<String>; 5] = [
        Some(example.request.split_whitespace().collect::<Vec<_>>().join(" ")),
        example.chosen.as_deref().map(trimmed),
        example.rejected.as_deref().map(trimmed),
        example.artifact.clone(),
        Some(calls),
    ];
    let mut hasher = blake3::Hasher::new();
    let number = ExampleType::ALL.iter().position(|known| *known == example.example_type).unwrap_or_default();
    hasher.update(&[number as u8]);
    for part in parts {
        hasher.update(&[u8::from(part.is_some())]);
        let part = part.unwrap_or_default();
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

/// Code without what nobody sees.
fn trimmed(code: &str) -> String {
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}
