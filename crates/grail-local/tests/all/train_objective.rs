//! What is made small, and how fast: weights of examples, pairs, clipping, the schedule of the learning rate.

use grail_local::train::{Schedule, clip, objective};

#[test]
fn the_loss_of_examples_is_the_mean_over_tokens_by_weight() {
    let losses = [1.0, 3.0, 2.0];
    let found = objective::examples(&losses, &[0..2, 2..3], &[2.0, 1.0], 2.0 * 2.0 + 1.0);
    assert_eq!(found.loss, (2.0 * (1.0 + 3.0) + 2.0) / 5.0);
    assert_eq!(found.importance, [0.4, 0.4, 0.2]);
}

#[test]
fn a_weight_of_two_is_the_example_twice() {
    let heavy = objective::examples(&[1.0, 3.0, 2.0], &[0..2, 2..3], &[2.0, 1.0], 5.0);
    let twice = objective::examples(&[1.0, 3.0, 1.0, 3.0, 2.0], &[0..2, 2..4, 4..5], &[1.0, 1.0, 1.0], 5.0);
    assert_eq!(heavy.loss, twice.loss);
    assert_eq!(heavy.importance[0], twice.importance[0] + twice.importance[2]);
}

/// Chosen: mean log-likelihood -0.5, odds -0.5 - ln(1 - e^-0.5) = 0.432752. Rejected: -1, odds -1 - ln(1 - e^-1) = -0.541325.
/// Difference 0.974077, -ln σ = 0.320300. Loss 0.5 + 0.25 · 0.320300.
#[test]
fn the_loss_of_a_pair_is_that_of_orpo() {
    let found = objective::pairs(&[0.25, 0.75, 1.5, 0.5, 1.0], &[0..2, 2..5], &[3.0], 3.0, 0.25);
    assert!((found.loss - 0.580_075).abs() < 1e-6, "{}", found.loss);
}

#[test]
fn the_importance_in_a_pair_is_the_slope_of_its_loss() {
    let losses = [0.25_f32, 0.75, 1.5, 0.5, 1.0, 2.0, 0.125];
    let answers = [0..2, 2..5, 5..6, 6..7];
    let at = |losses: &[f32]| objective::pairs(losses, &answers, &[1.0, 2.0], 3.0, 0.5);
    let found = at(&losses).importance;
    for token in 0..losses.len() {
        let moved = |by: f32| {
            let mut losses = losses;
            losses[token] += by;
            at(&losses).loss
        };
        let slope = (moved(1.0 / 1024.0) - moved(-1.0 / 1024.0)) * 512.0;
        assert!(
            (slope - f64::from(found[token])).abs() < 1e-4,
            "token {token}: {slope} for {}",
            found[token]
        );
    }
}

#[test]
fn certainty_is_not_pushed_further() {
    let found = objective::pairs(&[0.0, 2.0], &[0..1, 1..2], &[1.0], 1.0, 1.0);
    assert!(found.loss.is_finite());
    assert_eq!(found.importance[0], 1.0);
}

#[test]
fn long_gradients_are_shortened_and_short_ones_kept() {
    let mut gradients = vec![vec![3.0], vec![0.0, 4.0]];
    assert_eq!(clip(&mut gradients, 10.0), 5.0);
    assert_eq!(gradients, [vec![3.0], vec![0.0, 4.0]]);
    assert_eq!(clip(&mut gradients, 1.0), 5.0);
    let close = |a: f32, b: f32| (a - b).abs() < 1e-6;
    assert!(close(gradients[0][0], 0.6) && close(gradients[1][1], 0.8), "{gradients:?}");
    assert_eq!(clip(&mut [vec![30.0]], 0.0), 30.0);
}

#[test]
fn the_learning_rate_rises_in_a_line_and_falls_as_a_cosine() {
    let schedule = Schedule { highest: 1.0, warmup: 4, steps: 13 };
    let found: Vec<f64> = (0..13).map(|step| (schedule.at(step) * 1e4).round() / 1e4).collect();
    let expected = [0.25, 0.5, 0.75, 1.0, 1.0, 0.9638, 0.8609, 0.7068, 0.525, 0.3432, 0.1891, 0.0862, 0.05];
    assert_eq!(found, expected);
}

#[test]
fn a_schedule_may_have_no_warm_up_and_one_step() {
    assert_eq!(Schedule { highest: 2.0, warmup: 0, steps: 1 }.at(0), 2.0);
    assert_eq!(Schedule { highest: 2.0, warmup: 1, steps: 1 }.at(0), 2.0);
}
