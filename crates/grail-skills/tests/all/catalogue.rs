//! Which skills there are, and what is said about those that are not quite right.

use std::fs;
use std::path::Path;

use grail_rules::Origin;
use grail_skills::{Catalogue, Scopes};
use tempfile::TempDir;

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

pub(crate) fn project_of(root: &Path) -> Catalogue {
    Catalogue::discover(&Scopes::new(root, None))
}

/// The skills of the project itself, each with its warnings and their hints.
fn shown(catalogue: &Catalogue) -> String {
    let mut lines = Vec::new();
    for entry in catalogue.entries.iter().filter(|entry| entry.skill.origin != Origin::BuiltIn) {
        lines.push(format!("{}: {}", entry.skill.name, entry.skill.description));
        for warning in &entry.warnings {
            lines.push(format!("  {warning}"));
        }
    }
    lines.extend(catalogue.problems.iter().map(|problem| format!("problem: {problem}")));
    lines.extend(catalogue.cut.iter().map(|cut| format!("cut: {}: {}", cut.folder.display(), cut.message)));
    lines.join("\n")
}

#[test]
fn the_nearer_skill_wins_and_the_other_one_is_said_to_be_hidden() {
    let skill = |words: &str| format!("---\nname: middleware\ndescription: {words}\n---\nBody.\n");
    let (project, home) = (skill("The project's."), skill("The user's."));
    let project = folder(&[(".agents/skills/middleware/SKILL.md", &project)]);
    let home = folder(&[(".agents/skills/middleware/SKILL.md", &home)]);
    let catalogue = Catalogue::discover(&Scopes::new(project.path(), Some(home.path())));
    assert_eq!(shown(&catalogue), "middleware: The project's.");
    let shadowed: Vec<String> = catalogue
        .shadowed
        .iter()
        .map(|one| format!("{} by {}", one.folder.display(), one.by.display()))
        .collect();
    assert_eq!(
        shadowed,
        [
            "~/.agents/skills/middleware by .agents/skills/middleware",
            "built-in/middleware by .agents/skills/middleware"
        ]
    );
}
