//! From a folder that somebody, or a model, has just written to a skill that is installed: each step on its own.

use std::fs;
use std::path::Path;

use grail_skills::lifecycle::{StagedSkill, validate_staged_skill};
use grail_skills::runnable::{MANIFEST_FILE, Manifest, protocol};
use grail_skills::search::{SAME, SearchIndex};

use crate::lifecycle::{Scratch, TEMPLATE, message};

const TEMPLATE_MANIFEST: &str = include_str!("../../../../skills/python-skill/templates/manifest.toml");

/// A skill made from the templates for what a user wants.
fn write_for_intent(folder: &Path, intent: &str) {
    fs::create_dir_all(folder).unwrap();
    let id = folder.file_name().unwrap().to_str().unwrap();
    let mut manifest = Manifest::parse(Path::new(MANIFEST_FILE), TEMPLATE_MANIFEST, "example").unwrap();
    manifest.id = id.to_owned();
    manifest.description = intent.to_owned();
    fs::write(folder.join(MANIFEST_FILE), manifest.to_toml()).unwrap();
    fs::write(folder.join("skill.py"), TEMPLATE.replace("\"example\"", &format!("\"{id}\""))).unwrap();
}

fn staged(intent: &str) -> Result<StagedSkill, String> {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("send-mail");
    write_for_intent(&folder, intent);
    validate_staged_skill(&folder)
        .map_err(|error| error.to_string().replace(&*scratch.path().to_string_lossy(), ""))
}

/// What a proposal says.
#[test]
fn a_staged_skill_says_everything_that_a_proposal_needs() {
    let scratch = Scratch::new();
    let source = scratch.skill("1.0.0", "");
    let script = fs::read_to_string(source.join("skill.py")).unwrap();
    let script = script.replace("dependencies = []", "dependencies = [\"httpx>=0.27\", \"rich\"]");
    fs::write(source.join("skill.py"), &script).unwrap();
    let manifest = fs::read_to_string(source.join(MANIFEST_FILE)).unwrap();
    fs::write(source.join(MANIFEST_FILE), manifest + "[[credentials]]\nname = \"key\"\nenv_var = \"KEY\"\n")
        .unwrap();

    let staged = validate_staged_skill(&source).unwrap();
    assert_eq!((staged.manifest.id.as_str(), staged.manifest.name.as_str()), ("count", "Count"));
    assert_eq!(staged.manifest.description, "Counts words.");
    assert_eq!(staged.script, script);
    assert_eq!(staged.dependencies, ["httpx>=0.27", "rich"]);
    assert_eq!(staged.credentials()[0].env_var, "KEY");
    assert_eq!(staged.hash.len(), 64);
}

/// What a model is told is what will be checked.
#[test]
fn the_templates_pass_every_check() {
    let staged = staged("Counts the words of a text.").unwrap();
    assert!(protocol::METHODS.iter().all(|method| staged.script.contains(&format!("\"{method}\""))));
    assert!(staged.used().is_empty() && staged.dependencies.is_empty());
}

/// What a model wrote is checked before anybody is asked.
#[test]
fn a_staged_folder_is_checked_as_a_whole() {
    type Change = fn(&Path);
    let cases: [(Change, &str); 6] = [
        (
            |folder| fs::remove_file(folder.join(MANIFEST_FILE)).unwrap(),
            "manifest.toml: there is no such file",
        ),
        (|folder| fs::remove_file(folder.join("skill.py")).unwrap(), "`skill.py`: there is no such file"),
        (|folder| fs::write(folder.join("skill.py"), "\n").unwrap(), "`skill.py`: the file is empty"),
        (|folder| fs::write(folder.join("skill.py"), "print()\n").unwrap(), "no inline metadata (PEP 723)"),
        (
            |folder| {
                fs::write(folder.join("skill.py"), "# /// script\n# dependencies = []\n# ///\nprint()\n")
                    .unwrap()
            },
            "the script does not answer `skill.handshake`",
        ),
        (
            |folder| fs::write(folder.join(MANIFEST_FILE), "id = \"Send Mail\"\n").unwrap(),
            "`Send Mail` is no id of a skill",
        ),
    ];
    for (change, expected) in cases {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("send-mail");
        write_for_intent(&folder, "Sends a mail.");
        change(&folder);
        let said = message(validate_staged_skill(&folder));
        assert!(said.contains(expected), "{said}");
    }
}

/// Whatever a user wants, the skill made for it is well formed.
#[test]
fn any_intent_makes_a_valid_manifest() {
    for intent in
        ["Sends \"mail\"", "a\"\"\"b", "line\nline", "back\\slash", "id = \"x\"", "naïve 📧 \u{202e}"]
    {
        assert_eq!(staged(intent).unwrap().manifest.description, intent);
    }
}

/// What was agreed to is what is on disk afterwards.
#[test]
fn installing_a_proposal_creates_its_files() {
    let scratch = Scratch::new();
    let folder = scratch.folder.path().join("send-mail");
    write_for_intent(&folder, "Sends a mail.");
    scratch.install_with(&folder, &[], Ok(())).unwrap();
    let active = scratch.store().active("send-mail").unwrap();
    for name in [MANIFEST_FILE, "skill.py"] {
        assert_eq!(fs::read(active.folder.join(name)).unwrap(), fs::read(folder.join(name)).unwrap());
    }
    assert_eq!(scratch.store().installed().0.len(), 1);
}

/// What is there is found before it is made again.
#[test]
fn an_installed_skill_is_found_by_what_it_does() {
    let scratch = Scratch::new();
    for (id, intent) in [("send-mail", "Sends an email."), ("resize-image", "Makes a picture smaller.")] {
        let folder = scratch.folder.path().join(id);
        write_for_intent(&folder, intent);
        scratch.install_with(&folder, &[], Ok(())).unwrap();
    }
    let mut index = SearchIndex::open(None);
    index.update(&scratch.store().active_skills()).unwrap();
    let first = |text: &str| index.search(text, 1).unwrap().remove(0);
    let same = first("Sends an email.");
    assert_eq!(same.skill.name, "send-mail");
    assert!(same.score >= SAME, "{}", same.score);
    assert_eq!(first("shrink a photo").skill.name, "resize-image");
    assert!(first("translate a poem into Latin").score < SAME);
}

/// Nothing comes of nothing.
#[test]
fn an_empty_intent_is_refused() {
    for intent in ["", " \n"] {
        assert_eq!(staged(intent).unwrap_err(), "/send-mail/manifest.toml:4: `description` is empty");
    }
}
