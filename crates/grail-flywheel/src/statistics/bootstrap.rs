//! The interval of a paired difference by resampling prompts.

use super::{Draws, Interval};

/// One prompt with all its seeds: how many pairs there are, and the sum of `after - before` over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    pub pairs: u32,
    pub gained: i32,
}

/// The percentile interval of the mean difference. Whole prompts are drawn, with all their seeds: pairs of one prompt are not independent.
pub fn bootstrap_difference(clusters: &[Cluster], confidence: f64, resamples: u32, seed: u64) -> Interval {
    if clusters.is_empty() || resamples == 0 {
        return Interval { low: -1.0, high: 1.0 };
    }
    let mut draws = Draws::new(seed);
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| {
            let (mut pairs, mut gained) = (0i64, 0i64);
            for _ in 0..clusters.len() {
                let cluster = clusters[draws.below(clusters.len())];
                pairs += i64::from(cluster.pairs);
                gained += i64::from(cluster.gained);
            }
            if pairs == 0 { 0.0 } else { gained as f64 / pairs as f64 }
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Interval { low: quantile(&means, tail), high: quantile(&means, 1.0 - tail) }
}

/// Between the two nearest values, as numpy's default does.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(won: usize, lost: usize, same: usize) -> Vec<Cluster> {
        let of = |gained: i32| Cluster { pairs: 1, gained };
        [vec![of(1); won], vec![of(-1); lost], vec![of(0); same]].concat()
    }

    #[test]
    fn the_interval_is_near_the_normal_one_where_that_holds() {
        // 60 won, 20 lost of 200: mean 0.2, variance (80 - 16 / 200 · 100) … sd = sqrt((80/200 - 0.04) / 200) = 0.0424; ± 1.96 sd.
        let interval = bootstrap_difference(&single(60, 20, 120), 0.95, 20_000, 7);
        assert!((interval.low - 0.1168).abs() < 0.006, "{interval:?}");
        assert!((interval.high - 0.2832).abs() < 0.006, "{interval:?}");
    }

    #[test]
    fn prompts_are_drawn_with_all_their_seeds() {
        // Five seeds that always agree say no more than one.
        let one = bootstrap_difference(&single(30, 20, 50), 0.95, 5_000, 1);
        let five: Vec<Cluster> = single(30, 20, 50)
            .into_iter()
            .map(|cluster| Cluster { pairs: 5, gained: 5 * cluster.gained })
            .collect();
        assert_eq!(bootstrap_difference(&five, 0.95, 5_000, 1), one);
        assert!(one.contains(0.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let clusters = single(12, 3, 40);
        let first = bootstrap_difference(&clusters, 0.95, 2_000, 3);
        assert_eq!(bootstrap_difference(&clusters, 0.95, 2_000, 3), first);
        assert_eq!(bootstrap_difference(&[], 0.95, 100, 0), Interval { low: -1.0, high: 1.0 });
    }

    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        // 60 prompts with 3 seeds each that share their prompt's luck; the true difference is 0.2.
        let mut draws = Draws::new(99);
        let mut chance = |share: f64| ((draws.next() >> 11) as f64 / (1u64 << 53) as f64) < share;
        let mut held = 0;
        for run in 0..400 {
            let clusters: Vec<Cluster> = (0..60)
                .map(|_| {
                    let (mut gained, is_easy) = (0, chance(0.5));
                    for _ in 0..3 {
                        let (before, after) = if is_easy { (0.5, 0.9) } else { (0.1, 0.1) };
                        gained += i32::from(chance(after)) - i32::from(chance(before));
                    }
                    Cluster { pairs: 3, gained }
                })
                .collect();
            held += usize::from(bootstrap_difference(&clusters, 0.95, 400, run).contains(0.2));
        }
        assert!((360..=396).contains(&held), "{held} of 400");
    }
}
