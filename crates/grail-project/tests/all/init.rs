//! Setting a project up, once and twice.

use grail_project::{InitStatus, init_project};

use crate::scratch::Scratch;

#[test]
fn a_fresh_project_gets_three_files() {
    let scratch = Scratch::new(&[]);
    let report = init_project(&scratch.path("new/project")).unwrap();
    assert!(report.entries.iter().all(|entry| entry.status == InitStatus::Created));
    assert_eq!(
        scratch.files(),
        ["new/project/.agents/skills/README.md", "new/project/.grail/.gitignore", "new/project/grail.toml"]
    );
}

#[test]
fn the_second_time_nothing_is_touched() {
    let scratch = Scratch::new(&[("grail.toml", "# mine\n")]);
    init_project(scratch.root()).unwrap();
    let report = init_project(scratch.root()).unwrap();
    assert!(report.entries.iter().all(|entry| entry.status == InitStatus::Exists));
    assert_eq!(scratch.read("grail.toml"), "# mine\n");
}

#[test]
fn a_file_in_the_way_is_named() {
    let scratch = Scratch::new(&[("taken", ""), ("other/.grail", "")]);
    let error = init_project(&scratch.path("taken")).expect_err("a file is not a folder");
    assert_eq!(scratch.report(&error), "error: `ROOT/taken` is not a directory\nhint: give a directory\n");
    let error = init_project(&scratch.path("other")).expect_err("`.grail` is a file");
    assert_eq!(
        scratch.report(&error),
        "error: `ROOT/other/.grail` is not a directory\nhint: give a directory\n"
    );
}

#[cfg(unix)]
#[test]
fn a_dangling_link_is_left_alone() {
    let scratch = Scratch::new(&[]);
    std::os::unix::fs::symlink("elsewhere.toml", scratch.path("grail.toml")).unwrap();
    let report = init_project(scratch.root()).unwrap();
    assert_eq!(report.entries[0].status, InitStatus::Exists);
    assert!(!scratch.path("elsewhere.toml").exists());
}
