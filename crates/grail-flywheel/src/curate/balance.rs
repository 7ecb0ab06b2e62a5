//! In proportion: what is rare is raised so that it can be learned, what is everywhere is lowered. Only weights change.

use std::collections::BTreeMap;

use super::CurateSettings;
use super::counts::{Counts, Dimension, categories};
use crate::example::Example;

/// Raising one category lowers the others, so it is done a few times over.
const ROUNDS: usize = 12;
/// No weight is lowered further: what there is much of is true, too.
const LEAST: f64 = 0.5;
/// A share that is so near its floor has reached it.
const TOLERANCE: f64 = 0.9;

/// Balances weights within their bounds, and says what is still too small.
pub(super) fn balance(examples: &mut [Example], settings: &CurateSettings) -> Vec<String> {
    let most = settings.most_repeats.max(1.0);
    let given: Vec<f64> = examples.iter().map(|example| example.weight.balance).collect();
    let mut factors = vec![1.0_f64; examples.len()];
    for _ in 0..ROUNDS {
        for dimension in Dimension::ALL {
            let wanted = wanted_factors(&Counts::of(examples), dimension, settings);
            if wanted.is_empty() {
                continue;
            }
            for (index, example) in examples.iter_mut().enumerate() {
                let own = categories(example, dimension);
                let own: Vec<f64> = own.into_iter().filter_map(|name| wanted.get(name).copied()).collect();
                // One rare rule among common ones is reason enough.
                let Some(factor) = own.into_iter().reduce(f64::max) else { continue };
                factors[index] = (factors[index] * factor).clamp(LEAST, most);
                example.weight.balance = given[index] * factors[index];
            }
        }
    }
    for example in examples.iter_mut() {
        // A number that people can read, and that does not depend on the last bit.
        example.weight.balance = (example.weight.balance * 1000.0).round() / 1000.0;
    }
    too_small(&Counts::of(examples), settings)
}

/// What to multiply the weights of a category with, for those out of bounds.
fn wanted_factors(counts: &Counts, dimension: Dimension, settings: &CurateSettings) -> BTreeMap<String, f64> {
    let shares = counts.dimension(dimension);
    let Some((floor, ceiling)) = bounds(shares.len(), settings) else { return BTreeMap::new() };
    let factor = |share: f64| match share {
        share if share > 0.0 && share < floor => Some(floor * (1.0 - share) / (share * (1.0 - floor))),
        share if share > ceiling => Some(ceiling * (1.0 - share) / (share * (1.0 - ceiling))),
        _ => None,
    };
    let named = |(name, share): (&String, &super::Share)| Some((name.clone(), factor(share.share)?));
    shares.iter().filter_map(named).collect()
}

/// Of many categories none can have much: the floor is half of an equal share at most, the ceiling twice of it at least.
fn bounds(categories: usize, settings: &CurateSettings) -> Option<(f64, f64)> {
    if categories < 2 {
        return None;
    }
    let equal = 1.0 / categories as f64;
    let floor = settings.floor.clamp(0.0, 1.0).min(equal / 2.0);
    let ceiling = settings.ceiling.clamp(0.0, 1.0).max(equal * 2.0).min(0.99);
    Some((floor, ceiling))
}

fn too_small(counts: &Counts, settings: &CurateSettings) -> Vec<String> {
    let mut warnings = Vec::new();
    for dimension in Dimension::ALL {
        let shares = counts.dimension(dimension);
        let Some((floor, _)) = bounds(shares.len(), settings) else { continue };
        for (name, share) in shares.iter().filter(|(_, share)| share.share < floor * TOLERANCE) {
            warnings.push(format!(
                "the {} `{name}` has {} and {:.1} % of the weight, under {:.1} %: it will hardly be learned",
                dimension.name(),
                match share.examples {
                    1 => "1 example".to_owned(),
                    count => format!("{count} examples"),
                },
                share.share * 100.0,
                floor * 100.0
            ));
        }
    }
    warnings
}
