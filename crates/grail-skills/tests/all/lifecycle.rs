//! The life cycle: what is installed, in which state it is, and how it gets from one to another.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use grail_skills::SkillError;
use grail_skills::lifecycle::{
    InstallReport, InstallSettings, LifecycleProblem, MAX_FAILURES, MOVES, Record, SkillStore, State,
    disable, enable, install, note_health, quarantine, rollback,
};
use grail_skills::runnable::Manifest;
use proptest::prelude::*;

pub(crate) const TEMPLATE: &str = include_str!("../../../../skills/python-skill/templates/skill.py");

/// A scratch place with a store and the sources of skills.
pub(crate) struct Scratch {
    pub(crate) folder: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn store(&self) -> SkillStore {
        SkillStore::of_project(&self.state(), self.folder.path())
    }

    /// Writes the skill `count` in this version, with more text at the end of its script, and returns its folder.
    pub(crate) fn skill(&self, version: &str, more: &str) -> PathBuf {
        let folder = self.folder.path().join("sources").join("count");
        fs::create_dir_all(&folder).unwrap();
        let manifest = format!(
            "id = \"count\"\nname = \"Count\"\ndescription = \"Counts words.\"\nversion = \"{version}\"\n"
        );
        fs::write(folder.join("manifest.toml"), manifest).unwrap();
        let script = TEMPLATE
            .replace("NAME = \"example\"", "NAME = \"count\"")
            .replace("VERSION = \"0.1.0\"", &format!("VERSION = \"{version}\""));
        fs::write(folder.join("skill.py"), script + more).unwrap();
        folder
    }

    pub(crate) fn install(&self, version: &str) -> Result<InstallReport, SkillError> {
        self.install_with(&self.skill(version, ""), &[], Ok(()))
    }

    /// Installs with these capabilities accepted; the handshake ends as told.
    pub(crate) fn install_with(
        &self,
        source: &Path,
        accept: &[&str],
        tested: Result<(), &str>,
    ) -> Result<InstallReport, SkillError> {
        let settings = InstallSettings {
            accept: accept.iter().map(|name| name.parse().unwrap()).collect(),
            handshake: &|_, _| tested.map_err(str::to_owned),
            on_step: &|_| {},
        };
        install(&self.store(), source, &settings)
    }

    fn record(&self) -> Record {
        self.store().record("count").unwrap()
    }
}

fn passes_handshake(_: &Path, _: &Manifest) -> Result<(), String> {
    Ok(())
}

fn fails_handshake(_: &Path, _: &Manifest) -> Result<(), String> {
    Err("it said nothing".to_owned())
}

/// `1.0.0 active`, and the last good version if there is one.
pub(crate) fn shown(record: &Record) -> String {
    let current =
        record.current.as_ref().map_or("nothing".to_owned(), |one| format!("{} {}", one.version, one.state));
    match &record.last_good {
        Some(good) => format!("{current}, last good {}", good.version),
        None => current,
    }
}

pub(crate) fn message<T>(result: Result<T, SkillError>) -> String {
    match result {
        Ok(_) => "fine".to_owned(),
        Err(error) => match error.hint() {
            Some(hint) => format!("{error} ({hint})"),
            None => error.to_string(),
        },
    }
}

#[test]
fn the_moves_are_these() {
    let moves: Vec<String> = MOVES.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    assert_eq!(
        moves,
        [
            "pending -> testing",
            "testing -> active",
            "testing -> disabled",
            "testing -> quarantined",
            "active -> disabled",
            "active -> quarantined",
            "disabled -> active",
            "quarantined -> disabled",
        ]
    );
    assert!(State::ALL.iter().all(|state| !state.allows(*state)));
}

#[test]
fn an_installed_skill_that_passes_its_handshake_is_active() {
    let scratch = Scratch::new();
    let report = scratch.install("1.0.0").unwrap();
    assert_eq!(shown(&report.record), "1.0.0 active");
    assert_eq!(report.replaced, None);
    let active = scratch.store().active("count").unwrap();
    assert_eq!(active.manifest.id, "count");
    assert!(active.folder.join("skill.py").is_file());
    assert_eq!(Manifest::read(&active.folder).unwrap(), active.manifest);
}

#[test]
fn the_handshake_finds_the_skill_in_its_place_and_testing() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let seen = Cell::new(false);
    let handshake = |folder: &Path, manifest: &Manifest| {
        assert_eq!(folder, store.version_folder("count", 1));
        assert_eq!(manifest.version.to_string(), "1.0.0");
        // Nothing is active before it has passed.
        assert!(store.active("count").is_err());
        seen.set(true);
        Ok(())
    };
    let settings = InstallSettings { accept: BTreeSet::new(), handshake: &handshake, on_step: &|_| {} };
    install(&store, &scratch.skill("1.0.0", ""), &settings).unwrap();
    assert!(seen.get());
}

#[test]
fn a_first_version_that_fails_its_handshake_is_quarantined() {
    let scratch = Scratch::new();
    let result = scratch.install_with(&scratch.skill("1.0.0", ""), &[], Err("it said nothing"));
    assert_eq!(
        message(result),
        "the skill `count` did not pass its handshake, so it is quarantined: it said nothing"
    );
    assert_eq!(shown(&scratch.record()), "1.0.0 quarantined");
    assert_eq!(
        message(scratch.store().active("count")),
        "the skill `count` is quarantined, and only active skills can be invoked: it said nothing \
         (install a version that works, or return to the last good one: `grail skills rollback count`)"
    );
}

#[test]
fn a_new_version_that_fails_leaves_the_old_one_active() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let result = scratch.install_with(&scratch.skill("2.0.0", ""), &[], Err("it said nothing"));
    assert_eq!(
        message(result),
        "the skill `count` did not pass its handshake, so version 1.0.0 stays active: it said nothing"
    );
    assert_eq!(shown(&scratch.record()), "1.0.0 active");
    assert_eq!(scratch.store().active("count").unwrap().manifest.version.to_string(), "1.0.0");
}

#[test]
fn a_new_version_keeps_the_last_good_one() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let report = scratch.install("2.0.0").unwrap();
    assert_eq!(report.replaced.unwrap().to_string(), "1.0.0");
    assert_eq!(shown(&report.record), "2.0.0 active, last good 1.0.0");
    let report = scratch.install("3.0.0").unwrap();
    assert_eq!(shown(&report.record), "3.0.0 active, last good 2.0.0");
    // Versions that nothing refers to are gone.
    assert!(!scratch.store().version_folder("count", 1).exists());
    assert!(scratch.store().version_folder("count", 2).exists());
}

#[test]
fn rolling_back_returns_to_the_last_good_version_and_tests_it() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    assert_eq!(
        message(rollback(&scratch.store(), "count", &passes_handshake, &|_| {})),
        "the skill `count` has no earlier version that worked (install a version that works)"
    );
    scratch.install("2.0.0").unwrap();
    assert_eq!(
        message(rollback(&scratch.store(), "count", &fails_handshake, &|_| {})),
        "the skill `count` did not pass its handshake, so version 2.0.0 stays active: it said nothing"
    );
    assert_eq!(shown(&scratch.record()), "2.0.0 active, last good 1.0.0");
    let report = rollback(&scratch.store(), "count", &passes_handshake, &|_| {}).unwrap();
    assert_eq!(shown(&report.record), "1.0.0 active, last good 2.0.0");
    assert_eq!(scratch.store().active("count").unwrap().manifest.version.to_string(), "1.0.0");
}

#[test]
fn what_was_quarantined_is_never_the_last_good_version() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    scratch.install("2.0.0").unwrap();
    quarantine(&scratch.store(), "count", "it deletes things".to_owned()).unwrap();
    assert_eq!(shown(&scratch.record()), "2.0.0 quarantined, last good 1.0.0");
    // Neither by a new version …
    scratch.install("3.0.0").unwrap();
    assert_eq!(shown(&scratch.record()), "3.0.0 active, last good 1.0.0");
    // … nor by rolling back from it.
    quarantine(&scratch.store(), "count", "again".to_owned()).unwrap();
    rollback(&scratch.store(), "count", &passes_handshake, &|_| {}).unwrap();
    assert_eq!(shown(&scratch.record()), "1.0.0 active");
}

#[test]
fn a_disabled_skill_is_tested_before_it_is_active_again() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    disable(&scratch.store(), "count", Some("not now".to_owned())).unwrap();
    assert_eq!(
        message(scratch.store().active("count")),
        "the skill `count` is disabled, and only active skills can be invoked: not now \
         (`grail skills enable count` tests it and switches it on)"
    );
    assert_eq!(
        message(enable(&scratch.store(), "count", &fails_handshake)),
        "the skill `count` did not pass its handshake, so it stays disabled: it said nothing"
    );
    enable(&scratch.store(), "count", &passes_handshake).unwrap();
    assert_eq!(shown(&scratch.record()), "1.0.0 active");
}

#[test]
fn a_move_that_is_not_allowed_says_which_are() {
    let scratch = Scratch::new();
    let store = scratch.store();
    scratch.install("1.0.0").unwrap();
    let never = |_: &Path, _: &Manifest| -> Result<(), String> { panic!("nothing is started") };
    assert_eq!(
        message(enable(&store, "count", &never)),
        "the skill `count` is active and cannot become active (from active it can become disabled or quarantined)"
    );
    quarantine(&store, "count", "look at it".to_owned()).unwrap();
    assert_eq!(
        message(enable(&store, "count", &never)),
        "the skill `count` is quarantined and cannot become active (from quarantined it can become disabled)"
    );
    disable(&store, "count", None).unwrap();
    assert_eq!(
        message(quarantine(&store, "count", "again".to_owned())),
        "the skill `count` is disabled and cannot become quarantined (from disabled it can become active)"
    );
    assert_eq!(shown(&scratch.record()), "1.0.0 disabled");
}

#[test]
fn what_is_not_installed_cannot_be_changed() {
    let scratch = Scratch::new();
    let store = scratch.store();
    assert_eq!(
        message(disable(&store, "count", None)),
        "the skill `count` is not installed (`grail skills install FOLDER` installs one)"
    );
    scratch.install("1.0.0").unwrap();
    assert_eq!(
        message(store.active("cuont")),
        "the skill `cuont` is not installed (the nearest name is `count`; `grail skills status` has all that are)"
    );
    for id in ["../count", "", ".locks", "COUNT"] {
        assert!(message(store.active(id)).contains("is not installed"), "{id}");
        assert!(message(disable(&store, id, None)).contains("is not installed"), "{id}");
    }
}

#[test]
fn five_failed_checks_in_a_row_quarantine_whoever_counts_them() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let failed = Err("no answer".to_owned());
    for count in 1..MAX_FAILURES {
        // A new store each time, as after a restart.
        let record = note_health(&scratch.store(), "count", &failed).unwrap();
        assert_eq!((record.health.failures, shown(&record).as_str()), (count, "1.0.0 active"));
    }
    let record = note_health(&scratch.store(), "count", &Ok(())).unwrap();
    assert_eq!(record.health.failures, 0);
    for _ in 0..MAX_FAILURES {
        note_health(&scratch.store(), "count", &failed).unwrap();
    }
    let record = scratch.record();
    assert_eq!(shown(&record), "1.0.0 quarantined");
    assert_eq!(
        record.current.unwrap().reason.unwrap(),
        "5 health checks in a row failed; the last one: no answer"
    );
    // A late check changes nothing.
    assert_eq!(shown(&note_health(&scratch.store(), "count", &Ok(())).unwrap()), "1.0.0 quarantined");
}

#[test]
fn files_that_changed_after_the_test_do_not_run() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let script = scratch.store().version_folder("count", 1).join("skill.py");
    fs::write(&script, fs::read_to_string(&script).unwrap() + "\nimport os\n").unwrap();
    assert_eq!(
        message(scratch.store().active("count")),
        "the files of the skill `count` are not those that were tested (install it again)"
    );
}

#[test]
fn the_source_can_change_without_changing_what_runs() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "");
    scratch.install_with(&source, &[], Ok(())).unwrap();
    fs::write(source.join("skill.py"), "broken").unwrap();
    assert!(scratch.store().active("count").is_ok());
}

#[test]
fn undeclared_capabilities_stop_an_install_until_they_are_accepted() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "\nimport subprocess, socket\n");
    assert_eq!(
        message(scratch.install_with(&source, &[], Ok(()))),
        "the skill `count` can do more than its manifest declares: `network`, `subprocess` \
         (look at the places above; to install it nevertheless: `--accept network,subprocess`)"
    );
    assert!(scratch.store().record("count").is_err());
    assert!(message(scratch.install_with(&source, &["network"], Ok(()))).contains("declares: `subprocess` "));
    scratch.install_with(&source, &["network", "subprocess"], Ok(())).unwrap();
    // The same content need not be accepted twice; another one does.
    scratch.install_with(&source, &[], Ok(())).unwrap();
    let source = scratch.skill("1.0.1", "\nimport subprocess, socket\n");
    assert!(message(scratch.install_with(&source, &[], Ok(()))).contains("`network`, `subprocess`"));
}

#[test]
fn declared_capabilities_need_no_acceptance() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "\nimport os, socket\nos.environ['KEY'], os.environ['LANG']\n");
    let manifest = fs::read_to_string(source.join("manifest.toml")).unwrap();
    let more = "[capabilities]\nnetwork = true\nenv = [\"LANG\"]\n[[credentials]]\nname = \"key\"\nenv_var = \"KEY\"\n";
    fs::write(source.join("manifest.toml"), manifest + more).unwrap();
    scratch.install_with(&source, &[], Ok(())).unwrap();
    assert_eq!(scratch.record().accepted, None);
}

#[test]
fn two_installs_of_one_skill_exclude_each_other() {
    let scratch = Scratch::new();
    let inner = Cell::new(String::new());
    let source = scratch.skill("1.0.0", "");
    let handshake = |_: &Path, _: &Manifest| {
        inner.set(message(scratch.install_with(&source, &[], Ok(()))));
        Ok(())
    };
    let settings = InstallSettings { accept: BTreeSet::new(), handshake: &handshake, on_step: &|_| {} };
    install(&scratch.store(), &source, &settings).unwrap();
    assert_eq!(
        inner.take(),
        "the skill `count` is being changed by another process (try again when that is done)"
    );
}

#[test]
fn removing_takes_everything_away() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    scratch.store().remove("count").unwrap();
    assert!(message(scratch.store().remove("count")).contains("is not installed"));
    assert_eq!(scratch.store().installed().0, []);
    assert_eq!(shown(&scratch.install("1.0.0").unwrap().record), "1.0.0 active");
}

#[test]
fn a_record_that_makes_no_sense_is_said_and_can_be_removed() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let versions = scratch.store().version_folder("count", 1);
    let record = versions.ancestors().nth(3).unwrap().join("record.json");
    for text in ["", "{", "[]", "{\"format\": 2}", "{\"format\": 1, \"id\": \"count\"}", "\u{0}"] {
        fs::write(&record, text).unwrap();
        let result = scratch.store().active("count");
        assert!(
            matches!(&result, Err(SkillError::Lifecycle(LifecycleProblem::BrokenRecord { .. }))),
            "{text:?}: {}",
            message(result)
        );
        assert_eq!(scratch.store().installed().1.len(), 1);
    }
    scratch.store().remove("count").unwrap();
    assert_eq!(shown(&scratch.install("1.0.0").unwrap().record), "1.0.0 active");
}

#[test]
fn active_skills_are_told_like_any_other() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let told = scratch.store().active_skills();
    assert_eq!((told[0].name.as_str(), told[0].description.as_str()), ("count", "Counts words."));
    disable(&scratch.store(), "count", None).unwrap();
    assert_eq!(scratch.store().active_skills(), []);
}

#[test]
fn the_user_s_skills_and_each_project_s_are_apart() {
    let scratch = Scratch::new();
    let other = tempfile::tempdir().unwrap();
    scratch.install("1.0.0").unwrap();
    assert!(SkillStore::of_user(&scratch.state()).record("count").is_err());
    assert!(SkillStore::of_project(&scratch.state(), other.path()).record("count").is_err());
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Install { passes: bool },
    Rollback { passes: bool },
    Enable { passes: bool },
    Disable,
    Quarantine,
    Check { passes: bool },
    Remove,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => any::<bool>().prop_map(|passes| Change::Install { passes }),
        2 => any::<bool>().prop_map(|passes| Change::Rollback { passes }),
        2 => any::<bool>().prop_map(|passes| Change::Enable { passes }),
        2 => Just(Change::Disable),
        2 => Just(Change::Quarantine),
        2 => any::<bool>().prop_map(|passes| Change::Check { passes }),
        1 => Just(Change::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Whatever is done in whatever order, what there is stays whole, and nothing that failed is called good.
    #[test]
    fn every_life_is_a_valid_one(changes in prop::collection::vec(change(), 1..12)) {
        let scratch = Scratch::new();
        let store = scratch.store();
        let mut failed = BTreeSet::new();
        for (number, change) in changes.into_iter().enumerate() {
            let before = store.record("count").ok();
            let handshake = |passes: bool| if passes { passes_handshake } else { fails_handshake };
            let result = match change {
                Change::Install { passes } => {
                    let source = scratch.skill(&format!("{number}.0.0"), "");
                    let tested = if passes { Ok(()) } else { Err("no") };
                    scratch.install_with(&source, &[], tested).map(|_| ())
                }
                Change::Rollback { passes } => rollback(&store, "count", &handshake(passes), &|_| {}).map(|_| ()),
                Change::Enable { passes } => enable(&store, "count", &handshake(passes)).map(|_| ()),
                Change::Disable => disable(&store, "count", None).map(|_| ()),
                Change::Quarantine => quarantine(&store, "count", "bad".to_owned()).map(|_| ()),
                Change::Check { passes } => {
                    let check = if passes { Ok(()) } else { Err("ill".to_owned()) };
                    note_health(&store, "count", &check).map(|_| ())
                }
                Change::Remove => store.remove("count"),
            };
            let Ok(after) = store.record("count") else { continue };
            let current = after.current.clone().unwrap();
            if let (Some(old), Err(_)) = (before.as_ref().and_then(|record| record.current.as_ref()), &result) {
                prop_assert_eq!(old, &current, "what fails changes nothing");
            }
            match current.state {
                State::Quarantined => failed.insert(current.number),
                State::Active => failed.remove(&current.number),
                _ => false,
            };
            prop_assert_eq!(store.active("count").is_ok(), current.state == State::Active);
            prop_assert!(after.candidate.is_none() && after.health.failures <= MAX_FAILURES);
            for version in [Some(&current), after.last_good.as_ref()].into_iter().flatten() {
                let manifest = Manifest::read(&store.version_folder("count", version.number)).unwrap();
                prop_assert_eq!(&manifest.version, &version.version);
            }
            if let Some(good) = &after.last_good {
                prop_assert!(!failed.contains(&good.number) && good.number != current.number);
            }
        }
    }
}
