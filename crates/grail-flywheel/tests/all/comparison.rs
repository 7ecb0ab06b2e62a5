//! Comparisons: paired, with how sure they are and what they consist of.

use grail_flywheel::comparison::{CompareSettings, compare, compare_with};
use grail_flywheel::evaluation::Measure;
use grail_flywheel::statistics::Decision;

use crate::arms::{evaluation, suite};

#[test]
fn a_clear_win_is_told_with_its_parts() {
    let suite = suite(60);
    let before = evaluation("base", &suite, &[0, 1, 2], |place, _| place % 20 == 0);
    let after = evaluation("p1", &suite, &[0, 1, 2], |place, seed| place % 10 != 3 || seed == 2);
    let comparison = compare(&before, &after).unwrap();
    assert_eq!((comparison.prompts, comparison.pairs), (60, 180));
    assert_eq!((comparison.before.passed.passed, comparison.after.passed.passed), (9, 168));
    assert!((comparison.difference.estimate - 159.0 / 180.0).abs() < 1e-12);
    assert!(comparison.is_win() && !comparison.is_loss());
    assert!(comparison.difference.interval.low > 0.78 && comparison.difference.interval.high < 0.97);
    // A prompt is won by the mean of its seeds.
    assert_eq!((comparison.mcnemar.won, comparison.mcnemar.lost), (57, 0));
    assert_eq!(comparison.sequential.decision, Decision::Better);
    assert!(comparison.sequential.decided_after.unwrap() < 15);
    assert!(comparison.sequential.interval.contains(comparison.difference.estimate));
    let kinds: Vec<(&str, usize)> =
        comparison.kinds.iter().map(|part| (part.name.as_str(), part.prompts)).collect();
    assert_eq!(kinds, [("service", 30), ("view", 30)]);
    assert_eq!(comparison.groups.len(), 2);
    let rules: Vec<(&str, u64, u64)> =
        comparison.rules.iter().map(|change| (change.rule.as_str(), change.won, change.lost)).collect();
    assert_eq!(rules, [("view-suffix", 81, 0), ("service-suffix", 78, 0)]);
    // Three of each rule and kind.
    assert_eq!(comparison.examples.len(), 6);
    let example = &comparison.examples[0];
    assert!(example.won && example.after.passed && example.before.code.contains("wrong"));
    assert_eq!(example.rule.as_deref(), Some("service-suffix"));
}

#[test]
fn nothing_is_no_win_and_a_loss_is_a_loss() {
    let suite = suite(40);
    let base = evaluation("base", &suite, &[0], |place, _| place % 2 == 0);
    let same = compare(&base, &evaluation("p1", &suite, &[0], |place, _| place % 2 == 0)).unwrap();
    assert_eq!((same.difference.estimate, same.is_win(), same.is_loss()), (0.0, false, false));
    assert_eq!(same.mcnemar.exact, 1.0);
    assert_eq!((same.rules.len(), same.examples.len()), (0, 0));
    let worse = compare(&base, &evaluation("p1", &suite, &[0], |_, _| false)).unwrap();
    assert!(worse.is_loss());
    assert_eq!(worse.sequential.decision, Decision::Worse);
    assert!(worse.examples.iter().all(|example| !example.won));
}

#[test]
fn the_same_evaluations_give_the_same_comparison() {
    let suite = suite(50);
    let before = evaluation("base", &suite, &[0, 1], |place, seed| (place + seed as usize).is_multiple_of(7));
    let mut after =
        evaluation("p1", &suite, &[0, 1], |place, seed| (place * 3 + seed as usize).is_multiple_of(4));
    let first = compare(&before, &after).unwrap();
    after.answers.reverse();
    assert_eq!(compare(&before, &after).unwrap(), first);
}

#[test]
fn only_pairs_count_and_what_has_none_is_refused() {
    let suite = suite(30);
    let before = evaluation("base", &suite, &[0, 1], |_, _| false);
    let after = evaluation("p1", &suite, &[1, 2], |_, _| true);
    assert_eq!(compare(&before, &after).unwrap().pairs, 30);
    let error = compare(&before, &evaluation("p1", &suite, &[5], |_, _| true)).unwrap_err();
    assert_eq!(error.to_string(), "`base` and `p1` have no prompt and seed in common");
    let other = crate::arms::suite(31);
    let error = compare(&before, &evaluation("p1", &other, &[0], |_, _| true)).unwrap_err();
    assert!(error.to_string().ends_with("they cannot be compared"), "{error}");
}

#[test]
fn fixes_count_where_they_are_asked_for() {
    let suite = suite(40);
    let before = evaluation("base", &suite, &[0], |_, _| false);
    let after = evaluation("p1", &suite, &[0], |_, _| true);
    let settings = CompareSettings { measure: Measure::WithFixes, ..CompareSettings::default() };
    let comparison = compare_with(&before, &after, &settings).unwrap();
    // Views were mended before as well.
    assert_eq!(comparison.difference.estimate, 0.5);
    assert_eq!(comparison.kind("view").unwrap().difference.estimate, 0.0);
}
