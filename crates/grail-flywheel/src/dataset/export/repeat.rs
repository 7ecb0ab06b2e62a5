//! Weights as repetition: a row is there `round(weight · repeat)` times, at least once, and the whole is shuffled by a seed.

use serde_json::Value as Json;

use super::ExportSettings;

/// The rows of `train`, repeated and shuffled, in whole batches where the loader drops what is left over.
pub(super) fn oversample(rows: Vec<(Json, f64)>, settings: &ExportSettings) -> Vec<Json> {
    let mut order: Vec<usize> = Vec::new();
    // What rounding took from a row, for the case that more are needed.
    let mut owed: Vec<(f64, usize)> = Vec::new();
    for (number, (_, weight)) in rows.iter().enumerate() {
        let wanted = weight * settings.repeat;
        let times = wanted.round().max(1.0);
        order.extend(std::iter::repeat_n(number, times as usize));
        owed.push((wanted - times, number));
    }
    if settings.layout.needs_whole_batches() && !order.is_empty() {
        owed.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let missing = order.len().next_multiple_of(settings.batch) - order.len();
        order.extend(owed.iter().map(|(_, number)| *number).cycle().take(missing));
    }
    shuffle(&mut order, settings.seed);
    order.into_iter().map(|number| rows[number].0.clone()).collect()
}

/// Fisher and Yates with splitmix64: the same seed gives the same order on every machine.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        items.swap(last, (mixed % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Layout;
    use super::*;

    #[test]
    fn a_row_is_there_as_often_as_it_weighs() {
        let rows = [0.5, 1.0, 1.2, 1.5, 2.4].map(|weight| (json!(weight), weight)).to_vec();
        let counted = |settings: &ExportSettings| {
            let mut lines: Vec<String> =
                oversample(rows.clone(), settings).iter().map(Json::to_string).collect();
            lines.sort();
            lines
                .chunk_by(|one, other| one == other)
                .map(|same| format!("{}×{}", same.len(), same[0]))
                .collect::<Vec<_>>()
        };
        let trl = ExportSettings::new(Layout::TrlSft);
        assert_eq!(counted(&trl), ["1×0.5", "2×1.0", "2×1.2", "3×1.5", "5×2.4"]);
        // 13 rows are no whole batches of four: what rounding took most from comes once more each.
        let mlx = ExportSettings::new(Layout::Mlx);
        assert_eq!(counted(&mlx), ["2×0.5", "3×1.0", "3×1.2", "3×1.5", "5×2.4"]);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..8).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }
}
