//! Trust is given to content, and remembered outside the project.

use std::fs;
use std::path::Path;

use grail_skills::{Skill, Trust, TrustState, content_hash};
use tempfile::TempDir;

use crate::catalogue::{folder, project_of};

const SKILL: &str = "---\nname: mine\ndescription: Mine.\n---\nBody.\n";

fn project() -> (TempDir, Skill) {
    let project = folder(&[
        (".agents/skills/mine/SKILL.md", SKILL),
        (".agents/skills/mine/scripts/run.py", "print(1)\n"),
    ]);
    let skill = project_of(project.path()).entry("mine").unwrap().skill.clone();
    (project, skill)
}

#[test]
fn a_project_skill_is_trusted_until_a_file_of_it_changes() {
    let (project, skill) = project();
    let state = folder(&[]);
    let mut trust = Trust::open(Some(state.path()));
    assert_eq!(trust.state(&skill), TrustState::Untrusted);
    trust.grant(&skill).unwrap();
    assert_eq!(trust.state(&skill), TrustState::Trusted);
    // Another run remembers it.
    assert_eq!(Trust::open(Some(state.path())).state(&skill), TrustState::Trusted);
    let mine = project.path().join(".agents/skills/mine");
    let is_trusted_after = |change: &dyn Fn(&Path)| {
        change(&mine);
        trust.state(&skill)
    };
    assert_eq!(
        is_trusted_after(&|mine| fs::write(mine.join("scripts/run.py"), "print(2)\n").unwrap()),
        TrustState::Changed
    );
    assert_eq!(
        is_trusted_after(&|mine| fs::write(mine.join("scripts/run.py"), "print(1)\n").unwrap()),
        TrustState::Trusted
    );
    assert_eq!(
        is_trusted_after(&|mine| fs::write(mine.join("scripts/new.py"), "").unwrap()),
        TrustState::Changed
    );
    assert_eq!(
        is_trusted_after(&|mine| fs::remove_file(mine.join("scripts/new.py")).unwrap()),
        TrustState::Trusted
    );
    assert_eq!(
        is_trusted_after(
            &|mine| fs::rename(mine.join("scripts/run.py"), mine.join("scripts/ran.py")).unwrap()
        ),
        TrustState::Changed
    );
    trust.grant(&skill).unwrap();
    assert_eq!(trust.state(&skill), TrustState::Trusted);
    assert!(trust.revoke(&skill).unwrap());
    assert!(!trust.revoke(&skill).unwrap());
    assert_eq!(Trust::open(Some(state.path())).state(&skill), TrustState::Untrusted);
}

#[test]
fn a_project_cannot_forge_trust() {
    let (project, skill) = project();
    let state = folder(&[]);
    Trust::open(Some(state.path())).grant(&skill).unwrap();
    // The same file inside the project means nothing, and neither does the same skill at another place.
    let forged = state.path().join("trusted-skills.json");
    for place in [".grail", ".agents", ".agents/skills/mine"] {
        let place = project.path().join(place);
        fs::create_dir_all(&place).unwrap();
        fs::copy(&forged, place.join("trusted-skills.json")).unwrap();
    }
    assert_eq!(Trust::open(Some(folder(&[]).path())).state(&skill), TrustState::Untrusted);
    let (_other, other) = self::project();
    assert_eq!(Trust::open(Some(state.path())).state(&other), TrustState::Untrusted);
}

#[test]
fn a_broken_memory_trusts_nothing_and_is_replaced() {
    let (_project, skill) = project();
    for broken in ["", "{", "{\"version\": 99, \"skills\": {}}", "[1]"] {
        let state = folder(&[("trusted-skills.json", broken)]);
        let mut trust = Trust::open(Some(state.path()));
        assert_eq!(trust.state(&skill), TrustState::Untrusted);
        trust.grant(&skill).unwrap();
        assert_eq!(Trust::open(Some(state.path())).state(&skill), TrustState::Trusted);
    }
    assert!(Trust::open(None).grant(&skill).is_err());
}

#[test]
fn names_and_contents_cannot_be_shifted_into_each_other() {
    let hash = |files: &[(&str, &str)]| {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!(".agents/skills/mine/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let project = folder(&[&[(".agents/skills/mine/SKILL.md", SKILL)], &files[..]].concat());
        content_hash(&project_of(project.path()).entry("mine").unwrap().skill).unwrap()
    };
    assert_ne!(hash(&[("a", "bc")]), hash(&[("ab", "c")]));
    assert_ne!(hash(&[("a", "1"), ("b", "")]), hash(&[("a", ""), ("b", "1")]));
    assert_eq!(hash(&[("a", "1"), ("b", "2")]), hash(&[("b", "2"), ("a", "1")]));
}

#[cfg(unix)]
#[test]
fn a_skill_with_a_link_out_of_its_folder_cannot_be_trusted() {
    let (project, skill) = project();
    let state = folder(&[]);
    let mut trust = Trust::open(Some(state.path()));
    fs::write(project.path().join("outside.py"), "print(1)\n").unwrap();
    let link = project.path().join(".agents/skills/mine/scripts/outside.py");
    std::os::unix::fs::symlink(project.path().join("outside.py"), &link).unwrap();
    assert_eq!(
        trust.grant(&skill).unwrap_err().to_string(),
        "`scripts/outside.py` leads out of the skill's folder"
    );
    fs::remove_file(&link).unwrap();
    // A link that stays inside is fine: what it leads to is part of the hash.
    std::os::unix::fs::symlink("run.py", &link).unwrap();
    trust.grant(&skill).unwrap();
    assert_eq!(trust.state(&skill), TrustState::Trusted);
}

#[cfg(unix)]
#[test]
fn what_is_remembered_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_project, skill) = project();
    let state = folder(&[]);
    Trust::open(Some(state.path())).grant(&skill).unwrap();
    let mode = fs::metadata(state.path().join("trusted-skills.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
