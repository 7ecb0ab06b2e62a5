//! How long it takes to know a thousand skills: read for the first time, and remembered.
//!
//! `cargo bench -p grail-skills --bench catalogue`

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use divan::Bencher;
use grail_skills::{Catalogue, Conversation, Limits, Listing, Scopes, Trust, migrate_front_matter};
use serde_json::json;
use tempfile::TempDir;

fn main() {
    divan::main();
}

const SKILLS: usize = 1_000;

/// A thousand skills of the usual size, old enough to be remembered.
fn library() -> (TempDir, TempDir) {
    let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let body = "Do it like this, and not like that. `references/guide.md` says more.\n".repeat(60);
    for number in 0..SKILLS {
        let folder = project.path().join(format!(".agents/skills/skill-{number:04}"));
        fs::create_dir_all(folder.join("references")).unwrap();
        fs::write(folder.join("references/guide.md"), "More.\n").unwrap();
        let text = format!(
            "---\nname: skill-{number:04}\ndescription: Does the thing of number {number} as this project does it. Use when adding, changing or reviewing such a thing, or when it fails.\nlicense: MIT\nmetadata:\n  version: \"1.0\"\n---\n\n# Skill {number}\n\n{body}"
        );
        fs::write(folder.join("SKILL.md"), text).unwrap();
        for path in [folder.join("SKILL.md"), folder] {
            age(&path);
        }
    }
    (project, state)
}

fn age(path: &Path) {
    let time = SystemTime::now() - Duration::from_secs(60);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

fn scopes(project: &TempDir, state: Option<&TempDir>) -> Scopes {
    Scopes {
        project: Some(project.path().to_owned()),
        home: None,
        state: state.map(|state| state.path().to_owned()),
        limits: Limits::default(),
    }
}

#[divan::bench]
fn read_a_thousand_skills(bencher: Bencher) {
    let (project, _state) = library();
    let scopes = scopes(&project, None);
    bencher.bench(|| Catalogue::discover(&scopes));
}

#[divan::bench]
fn remember_a_thousand_skills(bencher: Bencher) {
    let (project, state) = library();
    let scopes = scopes(&project, Some(&state));
    let _ = Catalogue::discover(&scopes);
    bencher.bench(|| Catalogue::discover(&scopes));
}

#[divan::bench]
fn list_a_thousand_skills_in_a_budget(bencher: Bencher) {
    let (project, _state) = library();
    let catalogue = Catalogue::discover(&scopes(&project, None));
    bencher.bench(|| Listing::new(&catalogue, Some(4_000), |_| true));
}

#[divan::bench]
fn load_one_skill_in_a_conversation(bencher: Bencher) {
    let (project, _state) = library();
    let catalogue = Catalogue::discover(&scopes(&project, None));
    let trust = Trust::open(None);
    bencher
        .bench(|| Conversation::new(&catalogue, &trust).call("skills_load", &json!({"name": "middleware"})));
}

#[divan::bench]
fn migrate_front_matter_of_an_earlier_skill() -> Option<String> {
    migrate_front_matter(divan::black_box(include_str!("../cases/invalid/seed/SKILL.md")))
}
