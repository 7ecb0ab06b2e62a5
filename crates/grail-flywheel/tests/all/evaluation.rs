//! Evaluations: kept for good, and what they come to.

use std::fs;

use grail_flywheel::evaluation::{
    EVALUATIONS_FOLDER, Evaluation, keep_evaluation, list_evaluations, open_evaluation,
};

use crate::arms::{evaluation, suite};

#[test]
fn an_evaluation_is_kept_under_its_hash_and_never_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (root, suite) = (folder.path(), suite(6));
    let first = keep_evaluation(root, evaluation("base", &suite, &[0, 1], |place, _| place == 0)).unwrap();
    let again = keep_evaluation(root, evaluation("base", &suite, &[0, 1], |place, _| place == 0)).unwrap();
    assert_eq!(first, again);
    let other = keep_evaluation(root, evaluation("base", &suite, &[0, 1], |place, _| place == 1)).unwrap();
    assert_ne!(first.hash, other.hash);
    assert_eq!(open_evaluation(root, &first.hash[..8]).unwrap(), first);
    assert_eq!(list_evaluations(root).unwrap().len(), 2);

    let path = root.join(EVALUATIONS_FOLDER).join(format!("{}.json", first.hash));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"first_try_passed\": false", "\"first_try_passed\": true", 1)).unwrap();
    let error = open_evaluation(root, &first.hash).unwrap_err();
    assert_eq!(error.to_string(), format!("evaluation `{}` is not what it was", &first.hash[..12]));
    assert!(error.hint().unwrap().contains("evaluate anew"));
}

#[test]
fn names_that_lead_nowhere_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["", "../x", "abc", "0123456789"] {
        let error = open_evaluation(folder.path(), name).unwrap_err();
        assert!(error.to_string().contains(name) && error.hint().is_some());
    }
    assert_eq!(list_evaluations(folder.path()).unwrap().len(), 0);
}

#[test]
fn a_score_tells_shares_by_kind_group_and_rule() {
    let suite = suite(10);
    // The prompts are sorted: five services, then five views.
    let score =
        evaluation("base", &suite, &[0, 1], |place, seed| place < 2 || (place == 2 && seed == 1)).score();
    assert_eq!((score.prompts, score.answers), (10, 20));
    assert_eq!(
        (score.all.first_try.passed, score.all.first_try.of, score.all.first_try.share),
        (5, 20, Some(0.25))
    );
    // Seeds of one prompt nearly agree: twenty answers tell little more than ten.
    assert_eq!((score.all.first_try.low, score.all.first_try.high), (0.0826, 0.5524));
    assert_eq!(score.all.with_fixes.passed, 15);
    assert_eq!((score.all.mended.passed, score.all.mended.of), (10, 15));
    assert_eq!(score.by_kind["service"].first_try.passed, 5);
    assert_eq!(score.by_kind["view"].first_try.share, Some(0.0));
    assert_eq!(score.by_group["unseen-pattern"].first_try.of, 4);
    assert_eq!(
        score
            .by_rule
            .iter()
            .map(|(rule, broken)| (rule.as_str(), broken.answers, broken.of, broken.share))
            .collect::<Vec<_>>(),
        [("service-suffix", 5, 20, 0.25), ("view-suffix", 10, 20, 0.5)]
    );
    // Both seeds of a prompt broke it or neither did: twenty answers tell as little as ten.
    let broken = score.by_rule["view-suffix"];
    assert_eq!((broken.low, broken.high), (0.2366, 0.7634));
    assert_eq!(broken.proportion().share, Some(0.5));
    assert_eq!((score.output_tokens, score.all.retries), (1000, 0.75));
    assert_eq!(Evaluation::default().score().all.first_try.share, None);
}

#[test]
fn gaps_of_an_evaluation_are_told() {
    let suite = suite(3);
    let mut broken = evaluation("base", &suite, &[0, 1], |_, _| true);
    assert_eq!(broken.gaps(&suite), Vec::<String>::new());
    let moved = broken.answers.remove(0);
    broken.answers.push(broken.answers[1].clone());
    broken.answers.push(grail_flywheel::evaluation::Answer { prompt: "other".to_owned(), ..moved });
    assert_eq!(
        broken.gaps(&suite),
        [
            "`service-001` was not answered with seed 0",
            "`view-000` was answered 2 times with seed 0",
            "`other` with seed 0 is not in the suite",
        ]
    );
}
