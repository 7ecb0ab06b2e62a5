//! Phases: what training made, and who answers.

use std::fs;
use std::path::Path;

use grail_flywheel::phase::{Assigned, Base, ChangeKind, Phase, PhaseState, Phases, Why, hash_adapter};
use serde_json::json;

/// A phase that is about to be trained.
pub(crate) fn draft(dataset: Option<&str>) -> Phase {
    Phase {
        format: 0,
        id: String::new(),
        parent: None,
        foreign_adapter: None,
        base: Base { name: "tiny".to_owned(), sha256: "00".repeat(32) },
        adapter: None,
        identity: None,
        dataset: dataset.map(str::to_owned),
        trainer: "local".to_owned(),
        hyper_parameters: json!({"rank": 8, "learning_rate": 0.0002}),
        seed: 1,
        machine: [("cores".to_owned(), "2".to_owned())].into(),
        started: String::new(),
        ended: None,
        curves: Vec::new(),
        evaluations: Vec::new(),
        refusals: Vec::new(),
        state: PhaseState::Training,
    }
}

/// One whose training has ended with an adapter of these bytes.
pub(crate) fn trained(root: &Path, dataset: Option<&str>, adapter: &str) -> Phase {
    let phases = Phases::new(root);
    let mut phase = phases.begin(draft(dataset)).unwrap();
    let folder = phases.adapter_folder(&phase.id);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("adapters.safetensors"), adapter).unwrap();
    phase.adapter = Some(hash_adapter(&folder).unwrap());
    phase.identity = Some(format!("0011223344556677+{}", phase.id));
    phase.state = PhaseState::Trained;
    phases.save(&phase).unwrap();
    phase
}

fn why(reason: &str) -> Why {
    Why { reasons: vec![reason.to_owned()], ..Why::default() }
}

#[test]
fn phases_are_numbered_found_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    let first = phases.begin(draft(None)).unwrap();
    let second = trained(folder.path(), Some("ab"), "weights");
    assert!(first.id.starts_with("p1-") && second.id.starts_with("p2-"));
    assert_eq!(phases.get("p2").unwrap(), second);
    assert_eq!(phases.get(&first.id).unwrap(), first);
    assert_eq!(phases.list().unwrap().len(), 2);
    let with = phases.add_evaluation(&second.id, "abcd").unwrap();
    assert_eq!(phases.add_evaluation(&second.id, "abcd").unwrap(), with);
    assert_eq!(with.evaluations, ["abcd"]);
    let error = phases.get("p9").unwrap_err();
    assert_eq!(error.to_string(), "there is no phase `p9`");
    assert!(error.hint().unwrap().contains(&first.id));
    for name in ["", "../../etc", "p", "p-", "current"] {
        assert!(phases.get(name).is_err(), "{name}");
    }
}

#[test]
fn what_a_phase_was_made_of_stays() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    let mut phase = phases.begin(draft(Some("ab"))).unwrap();
    phase.dataset = Some("cd".to_owned());
    let error = phases.save(&phase).unwrap_err();
    assert!(error.to_string().ends_with("was made of something else"), "{error}");
}

#[test]
fn only_a_refusal_or_a_promotion_decides_about_a_phase() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    let (first, second) = (trained(folder.path(), None, "one"), trained(folder.path(), None, "two"));
    phases.add_evaluation(&first.id, "abcd").unwrap();
    phases.challenge(&first.id, 0.2).unwrap();
    let is_decided = |id: &str| phases.is_decided(&phases.get(id).unwrap()).unwrap();
    assert!(!is_decided(&first.id), "it was evaluated and tried, and nobody has decided");
    let refused = phases.refuse(&first.id, vec!["it is no win".to_owned()]).unwrap();
    assert_eq!(refused.refusals, ["it is no win"]);
    assert_eq!(refused.evaluations, ["abcd"]);
    assert!(is_decided(&first.id) && !is_decided(&second.id));
    phases.promote(&second.id, why("a win")).unwrap();
    phases.rollback("somebody wanted it").unwrap();
    assert!(is_decided(&second.id));
}

#[test]
fn promotions_and_rollbacks_are_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    assert_eq!(phases.assign("anything").unwrap(), Assigned::Base);
    assert!(phases.rollback("no").is_err());
    let (first, second) = (trained(folder.path(), None, "one"), trained(folder.path(), None, "two"));
    phases.promote(&first.id, why("a win")).unwrap();
    assert!(phases.promote(&first.id, why("again")).is_err());
    let forced = Why { forced: true, evaluations: vec!["a".to_owned(), "b".to_owned()], ..why("no win") };
    phases.promote(&second.id, forced).unwrap();
    assert_eq!(phases.get("current").unwrap().id, second.id);
    phases.rollback("worse in daily work").unwrap();
    assert_eq!(phases.assign("anything").unwrap(), Assigned::Current(first.id.clone()));
    let last = phases.rollback("worse as well").unwrap();
    assert_eq!(last.phase, None);
    let told: Vec<_> = last
        .history
        .iter()
        .map(|change| {
            (
                change.what,
                change.phase.as_deref(),
                change.before.as_deref(),
                change.forced,
                change.reasons[0].as_str(),
            )
        })
        .collect();
    let (one, two) = (Some(first.id.as_str()), Some(second.id.as_str()));
    assert_eq!(
        told,
        [
            (ChangeKind::Promoted, one, None, false, "a win"),
            (ChangeKind::Promoted, two, one, true, "no win"),
            (ChangeKind::RolledBack, one, two, false, "worse in daily work"),
            (ChangeKind::RolledBack, None, one, false, "worse as well"),
        ]
    );
    assert_eq!(last.history[1].evaluations, ["a", "b"]);
}

#[test]
fn a_phase_whose_files_changed_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    let phase = trained(folder.path(), None, "weights");
    fs::write(phases.adapter_folder(&phase.id).join("adapters.safetensors"), "others").unwrap();
    let error = phases.promote(&phase.id, Why::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("the adapter of phase `{}` is not what it was", phase.id));
    let unfinished = phases.begin(draft(None)).unwrap();
    assert!(
        phases.promote(&unfinished.id, Why::default()).unwrap_err().to_string().ends_with("has no adapter")
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(hash_adapter(empty.path()).unwrap_err().hint().unwrap().contains("without leaving an adapter"));
}

#[test]
fn a_challenger_gets_its_share_of_intents_always_the_same_ones() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    let (first, second) = (trained(folder.path(), None, "one"), trained(folder.path(), None, "two"));
    phases.promote(&first.id, why("a win")).unwrap();
    for share in [0.0, 0.51, 1.0, -0.5, f64::NAN] {
        assert!(phases.challenge(&second.id, share).is_err());
    }
    // It has passed no gate, so at least half stays with the one that has.
    let error = phases.challenge(&second.id, 0.99).unwrap_err();
    assert_eq!(error.to_string(), "0.99 is no share for a challenger, which has passed no gate");
    assert!(error.hint().unwrap().contains("at most 0.5"));
    assert!(phases.challenge(&first.id, 0.2).is_err());
    let current = phases.challenge(&second.id, 0.2).unwrap();
    let asked = |number: usize| current.assign(&format!("Add a page for thing {number}"));
    let challenged =
        (0..2_000).filter(|number| asked(*number) == Assigned::Challenger(second.id.clone())).count();
    assert!((340..=460).contains(&challenged), "{challenged} of 2000");
    assert_eq!(asked(7), asked(7));
    assert_eq!(current.assign("a  view\n"), current.assign("a view"));
    assert_eq!(phases.end_challenge().unwrap().challenger, None);
    assert!(phases.end_challenge().is_err());
    // Whoever is promoted does not challenge any more.
    phases.challenge(&second.id, 0.5).unwrap();
    assert_eq!(phases.promote(&second.id, why("a win")).unwrap().challenger, None);
}

#[test]
fn a_phase_in_the_shadow_is_assigned_nothing_and_answers_its_share_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    let (first, second) = (trained(folder.path(), None, "one"), trained(folder.path(), None, "two"));
    phases.promote(&first.id, why("a win")).unwrap();
    let current = phases.shadow(&second.id, 0.2).unwrap();
    assert_eq!(phases.current().unwrap(), current);
    let intents: Vec<String> = (0..2_000).map(|number| format!("Add a page for thing {number}")).collect();
    assert!(intents.iter().all(|intent| current.assign(intent) == Assigned::Current(first.id.clone())));
    let is_shadowed = |intent: &&String| current.shadow(intent) == Some(second.id.as_str());
    let shadowed = intents.iter().filter(is_shadowed).count();
    assert!((320..=480).contains(&shadowed), "{shadowed} of 2000");
    // Nobody sees it, so it may answer everything.
    let everywhere = phases.shadow(&second.id, 1.0).unwrap();
    assert!(intents.iter().all(|intent| everywhere.shadow(intent).is_some()));
    assert!(phases.shadow(&second.id, 1.1).is_err());
    // Whoever answers openly is seen, and written down as ever.
    let open = phases.challenge(&second.id, 0.2).unwrap();
    assert!(intents.iter().all(|intent| open.shadow(intent).is_none()));
    let written = fs::read_to_string(folder.path().join(".grail/phases/current.json")).unwrap();
    assert!(!written.contains("\"shadow\""), "{written}");
}

#[test]
fn many_may_change_who_answers_at_once_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    let ids: Vec<String> =
        (0..6).map(|number| trained(folder.path(), None, &format!("weights {number}")).id).collect();
    std::thread::scope(|scope| {
        for id in &ids {
            scope.spawn(|| phases.promote(id, Why::default()).unwrap());
        }
    });
    let current = phases.current().unwrap();
    assert_eq!(current.history.len(), 6);
    assert_eq!(current.history.last().unwrap().phase, current.phase);
}

#[test]
fn a_broken_file_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let phases = Phases::new(folder.path());
    phases.begin(draft(None)).unwrap();
    fs::write(folder.path().join(".grail/phases/current.json"), "{").unwrap();
    let error = phases.current().unwrap_err();
    assert!(error.to_string().contains("cannot be read") && error.hint().is_some());
}
