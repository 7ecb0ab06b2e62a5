//! Mistakes that systems like this one have made. None of them may come back.

use std::fs;
use std::path::Path;

use grail_skills::lifecycle::{MAX_FAILURES, State, note_health, quarantine, validate_staged_skill};
use grail_skills::runnable::{MANIFEST_FILE, Manifest};

use crate::lifecycle::{Scratch, TEMPLATE, message, shown};

/// Template and runner disagreed on the names of the methods, so that every skill made from it failed its handshake.
#[test]
fn a_script_with_other_method_names_is_refused_before_it_is_started() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "");
    let script = fs::read_to_string(source.join("skill.py")).unwrap().replace("\"skill.", "\"");
    fs::write(source.join("skill.py"), script).unwrap();
    assert!(
        message(scratch.install_with(&source, &[], Ok(()))).contains("does not answer `skill.handshake`")
    );
}

/// What the user wanted was put into TOML as it stood, and could end the text and begin a key.
#[test]
fn no_intent_can_break_out_of_the_manifest() {
    let intent = "send \"\"\" mail\"\nid = \"evil\"\n[[credentials]]\n''' \\ \u{7f} \0";
    let text = "id = \"count\"\nname = \"Count\"\ndescription = \"x\"\n";
    let mut manifest = Manifest::parse(Path::new(MANIFEST_FILE), text, "count").unwrap();
    manifest.description = intent.to_owned();
    let back = Manifest::parse(Path::new(MANIFEST_FILE), &manifest.to_toml(), "count").unwrap();
    assert_eq!((back.id.as_str(), back.description.as_str(), back.credentials.len()), ("count", intent, 0));
}

/// Confirming a preview made a new skill and installed that one.
#[test]
fn what_is_installed_is_what_was_shown() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "");
    let shown = validate_staged_skill(&source).unwrap();
    let report = scratch.install_with(&source, &[], Ok(())).unwrap();
    assert_eq!(report.record.current.unwrap().hash, shown.hash);
    let script = scratch.store().active("count").unwrap().folder.join("skill.py");
    assert_eq!(fs::read_to_string(script).unwrap(), shown.script);
}

/// Installing wrote to one folder and the status was read from another.
#[test]
fn the_status_is_that_of_the_installed_files() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let current = scratch.store().record("count").unwrap().current.unwrap();
    let folder = scratch.store().version_folder("count", current.number);
    assert_eq!(Manifest::read(&folder).unwrap().version, current.version);
    assert_eq!(scratch.store().active("count").unwrap().folder, folder);
}

/// Quarantine stored the failing script as the last one known to be good.
#[test]
fn quarantine_leaves_the_last_good_version_alone() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    scratch.install("2.0.0").unwrap();
    let record = quarantine(&scratch.store(), "count", "it fails".to_owned()).unwrap();
    assert_eq!(shown(&record), "2.0.0 quarantined, last good 1.0.0");
    let good = record.last_good.unwrap();
    let folder = scratch.store().version_folder("count", good.number);
    assert_eq!(Manifest::read(&folder).unwrap().version.to_string(), "1.0.0");
}

/// Skills that nobody had tested could be invoked.
#[test]
fn only_active_skills_can_be_invoked() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    let path = scratch.store().version_folder("count", 1).ancestors().nth(3).unwrap().join("record.json");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"state\": \"active\"").count(), 1);
    for state in State::ALL {
        fs::write(&path, text.replace("\"state\": \"active\"", &format!("\"state\": \"{state}\""))).unwrap();
        assert_eq!(scratch.store().active("count").is_ok(), state == State::Active, "{state}");
    }
}

/// A new monitor for every check began to count anew, so that quarantine could never come.
#[test]
fn failed_checks_are_counted_across_restarts() {
    let scratch = Scratch::new();
    scratch.install("1.0.0").unwrap();
    for _ in 0..MAX_FAILURES {
        note_health(&scratch.store(), "count", &Err("no answer".to_owned())).unwrap();
    }
    assert_eq!(shown(&scratch.store().record("count").unwrap()), "1.0.0 quarantined");
}

/// A script without its block of metadata passed.
#[test]
fn a_script_without_inline_metadata_is_refused() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "");
    let block_end = TEMPLATE.find("\"\"\"").unwrap();
    fs::write(source.join("skill.py"), &TEMPLATE[block_end..]).unwrap();
    assert!(message(scratch.install_with(&source, &[], Ok(()))).contains("no inline metadata (PEP 723)"));
}

/// Versions kept within the same second had the same name.
#[test]
fn versions_of_the_same_second_do_not_overwrite_each_other() {
    let scratch = Scratch::new();
    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        let record = scratch.install(version).unwrap().record;
        for installed in record.current.iter().chain(&record.last_good) {
            let folder = scratch.store().version_folder("count", installed.number);
            assert_eq!(Manifest::read(&folder).unwrap().version, installed.version);
        }
    }
}
