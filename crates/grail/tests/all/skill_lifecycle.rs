//! `grail skills install` and what comes after: with a real process, where there is a Python to start.

use std::fs;

use serde_json::Value;

use crate::scratch::{Scratch, has_python};

const TEMPLATE: &str = include_str!("../../../../skills/python-skill/templates/skill.py");

/// A project with the skill `count` in a folder, and `more` at the end of its script.
fn project(more: &str) -> Scratch {
    let manifest = "id = \"count\"\nname = \"Count\"\ndescription = \"Counts words.\"\nversion = \"1.0.0\"\n";
    let scratch =
        Scratch::new(&[("grail.toml", ""), ("count/manifest.toml", manifest), ("count/skill.py", "")]);
    write_script(&scratch, "1.0.0", more);
    scratch
}

fn write_script(scratch: &Scratch, version: &str, more: &str) {
    let script = TEMPLATE
        .replace("NAME = \"example\"", "NAME = \"count\"")
        .replace("VERSION = \"0.1.0\"", &format!("VERSION = \"{version}\""))
        .replace("\n\nif __name__", &format!("\n{more}\n\nif __name__"));
    fs::write(scratch.path("count/skill.py"), script).unwrap();
}

fn set_version(scratch: &Scratch, version: &str) {
    let manifest = scratch.read("count/manifest.toml");
    let old = manifest.lines().find(|line| line.starts_with("version")).unwrap();
    fs::write(
        scratch.path("count/manifest.toml"),
        manifest.replace(old, &format!("version = \"{version}\"")),
    )
    .unwrap();
    write_script(scratch, version, "");
}

/// What a user sees who enters these commands one after the other, each behind `grail skills`.
fn console(scratch: &Scratch, lines: &[&[&str]]) -> String {
    let run = |line: &&[&str]| {
        let arguments = [&["skills"], *line].concat();
        format!("$ grail {}\n{}", arguments.join(" ").escape_debug(), scratch.run(&arguments))
    };
    lines.iter().map(run).collect()
}

#[test]
fn an_install_shows_what_the_code_can_do_and_stops_at_what_is_not_declared() {
    let scratch = project("\nimport subprocess\nfrom urllib.request import urlopen\n");
    let manifest = scratch.read("count/manifest.toml") + "[capabilities]\nsubprocess = true\nnative = true\n";
    fs::write(scratch.path("count/manifest.toml"), manifest).unwrap();
    insta::assert_snapshot!(console(&scratch, &[&["install", "count"], &["status"]]), @"
    $ grail skills install count
    count 1.0.0 (count)
      Counts words.
      imports: collections, contextlib, json, subprocess, sys, typing, urllib
      network: opens network connections, not declared
        skill.py:124:28: urllib.request.urlopen
      subprocess: starts other programs, declared
        skill.py:123:8: subprocess
      native: calls native code, declared; nothing in the code shows it
    ! error: the skill `count` can do more than its manifest declares: `network`
    ! hint: look at the places above; to install it nevertheless: `--accept network`
    exit 1
    $ grail skills status
    ! 0 skills installed
    exit 0
    ");
}

#[test]
fn mistakes_in_a_skill_are_told_with_their_place() {
    let scratch = project("");
    fs::write(scratch.path("count/manifest.toml"), "id = \"count\"\nnmae = \"Count\"\n").unwrap();
    let lines: [&[&str]; 5] = [
        &["install", "count"],
        &["install", "nothing"],
        &["install", "count", "--accept", "internet"],
        &["status", "count"],
        &["rollback", "count"],
    ];
    insta::assert_snapshot!(console(&scratch, &lines), @"
    $ grail skills install count
    ! error: count/manifest.toml:2: there is no key `nmae` here
    ! hint: did you mean `name`?
    exit 2
    $ grail skills install nothing
    ! error: nothing/manifest.toml: there is no such file
    exit 2
    $ grail skills install count --accept internet
    ! error: invalid value 'internet' for '--accept <CAPABILITIES>': `internet` is no capability; there are `network`, `subprocess`, `files:read`, `files:write`, `env:NAME`, `env:*`, `native` and `dynamic`
    !
    ! For more information, try '--help'.
    exit 2
    $ grail skills status count
    ! error: the skill `count` is not installed
    ! hint: `grail skills install FOLDER` installs one
    exit 2
    $ grail skills rollback count
    ! error: the skill `count` is not installed
    ! hint: `grail skills install FOLDER` installs one
    exit 2
    ");
}

#[test]
fn a_skill_lives() {
    if !has_python() {
        return;
    }
    let scratch = project("");
    insta::assert_snapshot!(console(&scratch, &[&["install", "count"], &["status", "--check"]]), @"
    $ grail skills install count
    count 1.0.0 (count)
      Counts words.
      imports: collections, contextlib, json, sys, typing
    ! count 1.0.0 is active
    exit 0
    $ grail skills status --check
    count 1.0.0 (project): active, just now
      health: fine, just now
      capabilities: none
    ! 1 skill installed
    exit 0
    ");
    set_version(&scratch, "1.1.0");
    let lines: [&[&str]; 8] = [
        &["install", "count"],
        &["quarantine", "count", "--why", "it counts\u{1b}[2J wrong"],
        &["status", "count"],
        &["enable", "count"],
        &["rollback", "count"],
        &["disable", "count"],
        &["enable", "count"],
        &["remove", "count"],
    ];
    insta::assert_snapshot!(console(&scratch, &lines), @r"
    $ grail skills install count
    count 1.1.0 (count)
      Counts words.
      imports: collections, contextlib, json, sys, typing
    ! count 1.1.0 is active and replaces 1.0.0
    exit 0
    $ grail skills quarantine count --why it counts\u{1b}[2J wrong
    count 1.1.0 is quarantined: it counts\u{1b}[2J wrong
    exit 0
    $ grail skills status count
    count 1.1.0 (project): quarantined, just now
      why: it counts\u{1b}[2J wrong
      health: not checked since then
      last good: 1.0.0
      capabilities: none
    exit 1
    $ grail skills enable count
    ! error: the skill `count` is quarantined and cannot become active
    ! hint: from quarantined it can become disabled
    exit 2
    $ grail skills rollback count
    count 1.0.0 is active: rolled back
    exit 0
    $ grail skills disable count
    count 1.0.0 is disabled
    exit 0
    $ grail skills enable count
    count 1.0.0 is active
    exit 0
    $ grail skills remove count
    count is removed
    exit 0
    ");
}

#[test]
fn a_version_that_fails_its_handshake_leaves_the_old_one_active() {
    if !has_python() {
        return;
    }
    let scratch = project("");
    scratch.run(&["skills", "install", "count"]);
    set_version(&scratch, "2.0.0");
    write_script(&scratch, "2.0.1", "");
    insta::assert_snapshot!(console(&scratch, &[&["install", "count"], &["status"]]), @"
    $ grail skills install count
    count 2.0.0 (count)
      Counts words.
      imports: collections, contextlib, json, sys, typing
    ! error: the skill `count` did not pass its handshake, so version 1.0.0 stays active: it says in the handshake that it is version `2.0.1`; its manifest says `2.0.0`; `NAME` and `VERSION` of the script are the `id` and `version` of its manifest
    exit 1
    $ grail skills status
    count 1.0.0 (project): active, just now
      health: not checked since then
      capabilities: none
    ! 1 skill installed
    exit 0
    ");
}

#[test]
fn json_has_every_place() {
    if !has_python() {
        return;
    }
    let scratch = project("\nimport os\nos.environ['HOME']\n");
    let output = scratch.command(&["skills", "install", "count", "--format", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["state"], Value::Null);
    assert_eq!(record["capabilities"][0]["capability"], "env:HOME");
    assert_eq!(record["capabilities"][0]["is_declared"], false);
    assert_eq!(record["capabilities"][0]["places"][0]["path"], "skill.py");
    assert_eq!(
        record["errors"][0]["message"],
        "the skill `count` can do more than its manifest declares: `env:HOME`"
    );

    let arguments = ["skills", "install", "count", "--accept", "env", "--format", "json"];
    let output = scratch.command(&arguments).output().unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&record["state"], &record["capabilities"][0]["is_accepted"]),
        (&"active".into(), &true.into())
    );
    let output = scratch.command(&["skills", "status", "--format", "json"]).output().unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["skills"][0]["accepted"]["capabilities"][0], "env:HOME");
    assert_eq!(record["skills"][0]["current"]["version"], "1.0.0");
}

#[test]
fn a_project_cannot_bring_installed_skills() {
    if !has_python() {
        return;
    }
    let scratch = project("");
    scratch.run(&["skills", "install", "count"]);
    // Another project of the same user has none of them.
    let other = Scratch::new(&[("grail.toml", "")]);
    let mut command = other.command(&["skills", "status", "count"]);
    let output = command.env("HOME", scratch.path("no-home")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    // Those of the user are everywhere.
    scratch.run(&["skills", "install", "count", "--user"]);
    let output = other.command(&["skills", "status"]).env("HOME", scratch.path("no-home")).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("count 1.0.0 (user): active"));
}
