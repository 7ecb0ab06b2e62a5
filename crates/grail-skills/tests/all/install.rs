//! Installing from folders that are wrong, hostile, or taken away in the middle.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use grail_skills::lifecycle::{InstallSettings, SkillStore, install, rollback};

use crate::lifecycle::{Scratch, message, shown};

/// Tries to install a skill after a change to its folder, and says what it was told, with the scratch folder's name left out.
fn installing(change: impl FnOnce(&Path)) -> String {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "");
    change(&source);
    let said = message(scratch.install_with(&source, &[], Ok(())));
    // Whatever was wrong, nothing of it is left.
    if said != "fine" {
        assert!(scratch.store().record("count").is_err());
        let place = scratch.store().version_folder("count", 1);
        let skill = place.ancestors().nth(3).unwrap();
        assert_eq!(fs::read_dir(skill).map_or(0, Iterator::count), 0, "{said}");
    }
    said.replace(&scratch.folder.path().display().to_string(), "")
}

fn script(change: impl Fn(&str) -> String) -> impl FnOnce(&Path) {
    move |folder| {
        let path = folder.join("skill.py");
        fs::write(&path, change(&fs::read_to_string(&path).unwrap())).unwrap();
    }
}

#[test]
fn a_folder_without_a_manifest_or_a_script_is_refused() {
    assert_eq!(
        installing(|folder| fs::remove_file(folder.join("manifest.toml")).unwrap()),
        "/sources/count/manifest.toml: there is no such file"
    );
    assert_eq!(
        installing(|folder| fs::remove_file(folder.join("skill.py")).unwrap()),
        "/sources/count/manifest.toml: `entry_file` is `skill.py`: there is no such file"
    );
}

#[test]
fn a_script_without_its_metadata_is_refused() {
    let said = installing(script(|text| text.replace("# /// script", "# nothing")));
    assert!(
        said.starts_with("/sources/count/skill.py: the script has no inline metadata (PEP 723)"),
        "{said}"
    );
}

#[test]
fn a_script_that_is_no_skill_is_refused() {
    let said = installing(script(|text| text.replace("\"skill.health\"", "\"skill.helth\"")));
    assert_eq!(
        said,
        "/sources/count/skill.py: the script does not answer `skill.health` \
         (start from the template of the skill `python-skill`, which answers every method)"
    );
    let said = installing(script(|text| format!("{text}\ndef (:\n")));
    assert!(said.starts_with("/sources/count/skill.py:"), "{said}");
    assert!(said.contains("the script is not Python: "), "{said}");
}

#[test]
fn a_folder_that_is_too_large_is_refused() {
    let said = installing(|folder| {
        let file = fs::File::create(folder.join("data.bin")).unwrap();
        file.set_len(17 * 1024 * 1024).unwrap();
    });
    assert_eq!(said, "the folder `/sources/count` has more than 16777216 bytes");
    let said = installing(|folder| {
        for number in 0..2_001 {
            fs::write(folder.join(format!("{number}.txt")), "").unwrap();
        }
    });
    assert!(said.contains("too many files"), "{said}");
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_refused() {
    let said =
        installing(|folder| std::os::unix::fs::symlink("/etc/passwd", folder.join("notes.txt")).unwrap());
    assert_eq!(
        said,
        "`notes.txt` is a link; a skill is installed from plain files (put a copy of the file in its place)"
    );
    let said = installing(|folder| {
        assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    });
    assert!(said.contains("no regular file"), "{said}");
}

#[test]
fn code_that_cannot_be_read_is_a_capability() {
    let said = installing(|folder| fs::write(folder.join("fast.so"), [0_u8, 1]).unwrap());
    assert!(said.contains("declares: `native`"), "{said}");
    let said = installing(|folder| fs::write(folder.join("more.pyc"), [0_u8, 1]).unwrap());
    assert!(said.contains("declares: `dynamic`"), "{said}");
    let said = installing(|folder| fs::write(folder.join("tools.py"), "import socket\n").unwrap());
    assert!(said.contains("declares: `network`"), "{said}");
}

#[test]
fn a_script_is_read_whatever_it_is_called() {
    let said = installing(|folder| {
        let script = fs::read_to_string(folder.join("skill.py")).unwrap() + "\nimport socket\n";
        fs::write(folder.join("run"), script).unwrap();
        let manifest = fs::read_to_string(folder.join("manifest.toml")).unwrap();
        fs::write(folder.join("manifest.toml"), manifest + "entry_file = \"run\"\n").unwrap();
    });
    assert!(said.contains("declares: `network`"), "{said}");
}

/// With the encoding `unicode_escape`, a comment can hold a line of code.
#[test]
fn nothing_hides_behind_an_encoding() {
    let hidden = "# coding: unicode_escape\n# \\u000aimport socket\n";
    let said = installing(script(|text| hidden.to_owned() + text));
    assert_eq!(
        said,
        "/sources/count/skill.py: the script is not plain UTF-8 text (leave out the comment that declares an encoding)"
    );
    let said = installing(|folder| fs::write(folder.join("tools.py"), hidden).unwrap());
    assert!(said.contains("declares: `dynamic`"), "{said}");
    let said = installing(|folder| fs::write(folder.join("tools.py"), "def (:\n").unwrap());
    assert!(said.contains("declares: `dynamic`"), "{said}");
}

#[test]
fn what_a_working_copy_leaves_behind_is_not_installed() {
    let said = installing(|folder| {
        for name in ["__pycache__", ".git", ".venv"] {
            fs::create_dir(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("skill.pyc"), "x").unwrap();
        }
    });
    assert_eq!(said, "fine");
}

#[test]
fn a_folder_that_holds_the_store_is_refused() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "");
    let store = SkillStore::of_user(&source.join("state"));
    let settings = InstallSettings { accept: BTreeSet::new(), handshake: &|_, _| Ok(()), on_step: &|_| {} };
    let said = message(install(&store, &source, &settings));
    assert!(
        said.contains("holds the place where skills are installed (name the skill's own folder)"),
        "{said}"
    );
}

/// What the process that is to die finds in its environment: what to do, where, and at which step to die.
const DEATH: &str = "GRAIL_TEST_DEATH";

/// Carried out by the tests below in a process of its own, which ends as `kill -9` would end it: nothing is cleaned up.
#[test]
#[ignore = "started by the tests of interrupted installs"]
fn dies_at_a_step() {
    let Ok(told) = env::var(DEATH) else { return };
    let [action, folder, step] = told.split('|').collect::<Vec<_>>()[..] else { return };
    let (folder, stop): (PathBuf, usize) = (folder.into(), step.parse().unwrap());
    let store = SkillStore::of_project(&folder.join("state"), &folder);
    let passed = Cell::new(0);
    let on_step = |_| {
        if passed.get() == stop {
            process::abort();
        }
        passed.set(passed.get() + 1);
    };
    match action {
        "install" => {
            let settings =
                InstallSettings { accept: BTreeSet::new(), handshake: &|_, _| Ok(()), on_step: &on_step };
            install(&store, &folder.join("sources/count"), &settings).map(|_| ())
        }
        _ => rollback(&store, "count", &|_, _| Ok(()), &on_step).map(|_| ()),
    }
    .unwrap();
}

/// Lets a process die at every step of an action, one after the other, and hands what is left to `check`. Returns how many there are.
fn die_at_every_step(action: &str, prepare: impl Fn(&Scratch), check: impl Fn(&Scratch, usize)) -> usize {
    for step in 0.. {
        let scratch = Scratch::new();
        prepare(&scratch);
        let ended = Command::new(env::current_exe().unwrap())
            .args(["--exact", "install::dies_at_a_step", "--ignored"])
            .env(DEATH, format!("{action}|{}|{step}", scratch.folder.path().display()))
            .output()
            .unwrap();
        check(&scratch, step);
        if ended.status.success() {
            return step;
        }
    }
    unreachable!()
}

/// What there is, whole and ready to be invoked; `nothing` if there is nothing at all.
fn standing(scratch: &Scratch) -> String {
    let store = scratch.store();
    let Ok(active) = store.active("count") else {
        assert!(store.record("count").is_err(), "half a skill");
        return "nothing".to_owned();
    };
    // Nobody is trying anything any more.
    assert_eq!(active.record.candidate, None);
    active.manifest.version.to_string()
}

/// After whatever happened, the next install works and leaves nothing behind.
fn next_install_works(scratch: &Scratch) {
    let report = scratch.install("9.0.0").unwrap();
    assert!(shown(&report.record).starts_with("9.0.0 active"));
    let current = report.record.current.unwrap();
    let versions = scratch.store().version_folder("count", current.number);
    let skill = versions.ancestors().nth(3).unwrap();
    let mut names: Vec<String> =
        fs::read_dir(skill).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["record.json", "versions"]);
    let kept = fs::read_dir(skill.join("versions")).unwrap().count();
    assert_eq!(kept, 1 + usize::from(report.record.last_good.is_some()));
}

#[test]
fn killed_at_any_step_a_first_install_leaves_nothing_or_the_new_version() {
    let steps = die_at_every_step(
        "install",
        |scratch| drop(scratch.skill("1.0.0", "")),
        |scratch, step| {
            let standing = standing(scratch);
            assert!(["nothing", "1.0.0"].contains(&standing.as_str()), "step {step}: {standing}");
            next_install_works(scratch);
        },
    );
    assert!(steps >= 12, "{steps} steps");
}

#[test]
fn killed_at_any_step_a_reinstall_leaves_the_old_or_the_new_version() {
    let steps = die_at_every_step(
        "install",
        |scratch| {
            scratch.install("1.0.0").unwrap();
            scratch.skill("2.0.0", "");
        },
        |scratch, step| {
            let standing = standing(scratch);
            assert!(["1.0.0", "2.0.0"].contains(&standing.as_str()), "step {step}: {standing}");
            next_install_works(scratch);
        },
    );
    assert!(steps >= 12, "{steps} steps");
}

#[test]
fn killed_at_any_step_a_rollback_leaves_the_old_or_the_new_version() {
    let steps = die_at_every_step(
        "rollback",
        |scratch| {
            scratch.install("1.0.0").unwrap();
            scratch.install("2.0.0").unwrap();
        },
        |scratch, step| {
            let standing = standing(scratch);
            assert!(["1.0.0", "2.0.0"].contains(&standing.as_str()), "step {step}: {standing}");
            // The other one is still there to return to, or to come back from.
            assert!(scratch.store().record("count").unwrap().last_good.is_some());
            next_install_works(scratch);
        },
    );
    assert!(steps >= 7, "{steps} steps");
}
