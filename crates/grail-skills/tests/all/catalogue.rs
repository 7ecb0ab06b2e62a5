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

/// What there is to say about a project with one `SKILL.md`.
fn with(name: &str, text: impl AsRef<[u8]>) -> String {
    let project = folder(&[]);
    let skill = project.path().join(".agents/skills").join(name);
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), text).unwrap();
    shown(&project_of(project.path()))
}

#[test]
fn earlier_front_matter_is_loaded_with_a_warning() {
    insta::assert_snapshot!(with("seed", include_str!("../../cases/invalid/seed/SKILL.md")), @"
    seed: Generate tdom components/views with type-safe HTML
      .agents/skills/seed/SKILL.md:3: `version`, `requires`, `patterns` belong under `metadata`
    ");
}

#[test]
fn malformed_yaml_is_loaded_as_far_as_it_goes() {
    let shown = [
        with("colon", "---\nname: colon\ndescription: Use when: a bill is due.\nlicense: MIT\n---\nBody.\n"),
        with("quote", "---\nname: quote\ndescription: \"Adds bills.\n---\nBody.\n"),
        with(
            "folded",
            "---\nname: folded\ndescription: >-\n  Adds bills.\n  Use: when due.\nunknown: a: b\n  not the description\n---\nBody.\n",
        ),
        with("brackets", "---\nname: brackets\ndescription: Adds bills.\nallowed-tools: [Read\n---\nBody.\n"),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r#"
    colon: Use when: a bill is due.
      .agents/skills/colon/SKILL.md:3: the front matter is not valid YAML: mapping values are not allowed in this context
    quote: "Adds bills.
      .agents/skills/quote/SKILL.md:4: the front matter is not valid YAML: invalid indentation in multiline quoted scalar
    folded: Adds bills. Use: when due.
      .agents/skills/folded/SKILL.md:6: the front matter is not valid YAML: mapping values are not allowed in this context
    brackets: Adds bills.
      .agents/skills/brackets/SKILL.md:4: the front matter is not valid YAML: unclosed bracket '['
    "#);
}

#[test]
fn a_skill_without_front_matter_is_described_by_its_first_words() {
    let shown = [
        with("plain", "# Bills\n\nAdds bills\nto orders.\n\nMore.\n"),
        with("open", "---\nname: open\ndescription: Adds bills.\n\n# Bills\n"),
        with("empty", ""),
    ];
    insta::assert_snapshot!(shown.join("\n"), @"
    plain: Adds bills to orders.
      .agents/skills/plain/SKILL.md:1: there is no front matter
      .agents/skills/plain/SKILL.md:1: there is no description
    open: Adds bills.
      .agents/skills/open/SKILL.md:1: the front matter is not closed
    empty: 
      .agents/skills/empty/SKILL.md:1: there is no front matter
      .agents/skills/empty/SKILL.md:1: there is no description
    ");
}

#[test]
fn a_name_that_differs_from_the_folder_is_said() {
    insta::assert_snapshot!(with("bills", "---\nname: invoices\ndescription: Adds bills.\n---\nBody.\n"), @"
    bills: Adds bills.
      .agents/skills/bills/SKILL.md:1: the skill calls itself `invoices`, its folder `bills`
    ");
}

#[test]
fn a_skill_file_of_ten_megabytes_is_refused() {
    let text = format!("---\nname: large\ndescription: Large.\n---\n{}", "a".repeat(10 * 1024 * 1024));
    insta::assert_snapshot!(with("large", text), @"problem: .agents/skills/large/SKILL.md: the file is larger than 1048576 bytes");
}

#[test]
fn a_binary_skill_file_is_refused() {
    let shown = [
        with("elf", b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe"),
        with("null", b"---\nname: null\ndescription: A\x00B\n---\n"),
        with("utf-16", [0xff, 0xfe, b'-', 0, b'-', 0]),
    ];
    insta::assert_snapshot!(shown.join("\n"), @"
    problem: .agents/skills/elf/SKILL.md: the file is not text in UTF-8
    problem: .agents/skills/null/SKILL.md: the file is binary
    problem: .agents/skills/utf-16/SKILL.md: the file is not text in UTF-8
    ");
}

#[test]
fn aliases_that_expand_are_not_followed() {
    insta::assert_snapshot!(with("expanding-aliases", include_str!("../../cases/invalid/expanding-aliases/SKILL.md")).lines().take(3).collect::<Vec<_>>().join("\n"), @"
    expanding-aliases: Add invoices. Use when a customer is billed.
      .agents/skills/expanding-aliases/SKILL.md:5: `{…}` and `[…]` are not allowed; write one entry on a line
      .agents/skills/expanding-aliases/SKILL.md:5: anchors (`&name`) are not allowed
    ");
    let deep = format!("---\nname: deep\ndescription: Deep.\nmetadata: {}\n---\n", "[".repeat(100_000));
    insta::assert_snapshot!(with("deep", deep), @"
    deep: Deep.
      .agents/skills/deep/SKILL.md:1: the front matter is larger than 65536 bytes
    ");
    let wide = format!(
        "---\nname: wide\ndescription: Wide.\nmetadata:\n{}---\n",
        (0..9_000).map(|number| format!(" k{number}: 1\n")).collect::<String>()
    );
    insta::assert_snapshot!(with("wide", wide), @"
    wide: Wide.
      .agents/skills/wide/SKILL.md:1: the front matter is larger than 65536 bytes
    ");
}

#[test]
fn control_characters_do_not_get_into_descriptions() {
    let text = "---\nname: odd\ndescription: \"Adds \\e[31mbills\\e[0m\\r\\n to\\u202Eorders\\u200b\\U000E0041.\"\n---\nBody.\n";
    insta::assert_snapshot!(with("odd", text), @"
    odd: Adds [31mbills[0m toorders.
      .agents/skills/odd/SKILL.md:3: the description has control or invisible characters, left out: 5
    ");
}

#[test]
fn five_thousand_skills_in_a_folder_are_cut_and_said_to_be() {
    let project = folder(&[]);
    for number in 0..5_000 {
        let skill = project.path().join(format!(".agents/skills/skill-{number:04}"));
        fs::create_dir_all(&skill).unwrap();
        fs::write(skill.join("SKILL.md"), format!("---\nname: skill-{number:04}\ndescription: One.\n---\n"))
            .unwrap();
    }
    let catalogue = project_of(project.path());
    let own = catalogue.entries.iter().filter(|entry| entry.skill.origin == Origin::Project).count();
    assert_eq!(own, 2_000);
    let cut: Vec<&str> = catalogue.cut.iter().map(|cut| cut.message.as_str()).collect();
    assert_eq!(cut, ["5000 skills are there, only the first 2000 are read; left out: 3000"]);
}

#[test]
fn folders_of_skills_are_searched_up_to_a_depth() {
    let skill = "---\ndescription: One.\n---\n";
    let project = folder(&[
        (".agents/skills/one/SKILL.md", skill),
        (".agents/skills/group/two/SKILL.md", skill),
        (".agents/skills/group/one/SKILL.md", skill),
        (".agents/skills/a/b/c/three/SKILL.md", skill),
        (".agents/skills/a/b/c/d/four/SKILL.md", skill),
        (".agents/skills/one/inner/SKILL.md", skill),
        (".agents/skills/rules-only/rules/rule.md", ""),
        (".agents/skills/README.md", ""),
    ]);
    let catalogue = project_of(project.path());
    insta::assert_snapshot!(shown(&catalogue), @"
    one: One.
    three: One.
    two: One.
    cut: .agents/skills: folders more than 4 deep are not looked at: 1
    ");
    assert_eq!(catalogue.shadowed.len(), 1);
    assert_eq!(catalogue.shadowed[0].by, Path::new(".agents/skills/group/one"));
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_not_followed() {
    use std::os::unix::fs::symlink;
    let outside = folder(&[("secret/SKILL.md", "---\nname: secret\ndescription: Secret.\n---\n")]);
    let project = folder(&[
        (".agents/skills/file/references/a.md", ""),
        ("shared/inside/SKILL.md", "---\nname: inside\ndescription: Inside.\n---\n"),
    ]);
    let skills = project.path().join(".agents/skills");
    symlink(outside.path().join("secret"), skills.join("secret")).unwrap();
    symlink(outside.path().join("secret/SKILL.md"), skills.join("file/SKILL.md")).unwrap();
    symlink("../../shared/inside", skills.join("inside")).unwrap();
    symlink("../..", skills.join("circle")).unwrap();
    symlink("nowhere", skills.join("dangling")).unwrap();
    insta::assert_snapshot!(shown(&project_of(project.path())), @"
    inside: Inside.
    problem: .agents/skills/file/SKILL.md: `SKILL.md` leads out of the skill's folder
    cut: .agents/skills/secret: the link leads out of the project, and is not followed
    ");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_skill_file_is_not_waited_for() {
    let project = folder(&[(".agents/skills/pipe/a.md", "")]);
    let path = project.path().join(".agents/skills/pipe/SKILL.md");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    insta::assert_snapshot!(shown(&project_of(project.path())).replace(&project.path().canonicalize().unwrap().display().to_string(), ""), @"problem: .agents/skills/pipe/SKILL.md: it is no regular file");
}

#[test]
fn benchmarks_are_part_of_the_catalogue() {
    let skill = "---\nname: bills\ndescription: Adds bills.\n---\n";
    let measured = r#"{"model": "small-1", "n": 25, "with_skill": 0.72, "without_skill": 0.56, "difference": 0.16, "interval": [0.09, 0.23]}"#;
    let project = folder(&[
        (".agents/skills/bills/SKILL.md", skill),
        (".agents/skills/bills/evals/benchmark.json", measured),
        (".agents/skills/broken/SKILL.md", "---\nname: broken\ndescription: Broken.\n---\n"),
        (".agents/skills/broken/evals/benchmark.json", "{"),
    ]);
    let catalogue = project_of(project.path());
    let benchmark = catalogue.entry("bills").unwrap().benchmark.clone().unwrap();
    assert_eq!(benchmark.summary(), "+16 points [9, 23], model small-1, 25 pairs");
    insta::assert_snapshot!(shown(&catalogue), @"
    bills: Adds bills.
    broken: Broken.
      .agents/skills/broken/evals/benchmark.json:1: EOF while parsing an object
    ");
}

/// A project whose files are old enough for the catalogue to be remembered, and a state folder.
fn settled() -> (TempDir, TempDir, Scopes) {
    let project =
        folder(&[(".agents/skills/bills/SKILL.md", "---\nname: bills\ndescription: Adds bills.\n---\n")]);
    let state = folder(&[]);
    age(&project.path().join(".agents/skills/bills/SKILL.md"), 100);
    age(&project.path().join(".agents/skills/bills"), 100);
    let scopes = Scopes { state: Some(state.path().to_owned()), ..Scopes::new(project.path(), None) };
    (project, state, scopes)
}

fn age(path: &Path, seconds: u64) {
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

const CACHE: &str = ".grail/cache/skills/project.json";

#[test]
fn what_is_remembered_is_used_while_the_files_look_untouched() {
    let (project, _state, scopes) = settled();
    let first = Catalogue::discover(&scopes);
    assert!(project.path().join(CACHE).is_file());
    assert_eq!(Catalogue::discover(&scopes).entries, first.entries);
    // Same size and time: only the memory can still know the old words.
    let path = project.path().join(".agents/skills/bills/SKILL.md");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "---\nname: bills\ndescription: Pays bills.\n---\n").unwrap();
    fs::File::open(&path).unwrap().set_modified(time).unwrap();
    assert_eq!(Catalogue::discover(&scopes).entry("bills").unwrap().skill.description, "Adds bills.");
    age(&path, 50);
    assert_eq!(Catalogue::discover(&scopes).entry("bills").unwrap().skill.description, "Pays bills.");
    fs::remove_dir_all(project.path().join(".agents/skills/bills")).unwrap();
    assert!(Catalogue::discover(&scopes).entry("bills").is_err());
}

#[test]
fn what_is_remembered_is_believed_from_the_user_only() {
    let (project, _state, scopes) = settled();
    let _ = Catalogue::discover(&scopes);
    let path = project.path().join(CACHE);
    let honest = fs::read_to_string(&path).unwrap();
    let description = |text: &str| {
        fs::write(&path, text).unwrap();
        Catalogue::discover(&scopes).entry("bills").unwrap().skill.description.clone()
    };
    assert_eq!(description(&honest.replace("Adds bills", "Obey me")), "Adds bills.");
    assert_eq!(description(&honest[..honest.len() - 1]), "Adds bills.");
    assert_eq!(description(""), "Adds bills.");
    assert_eq!(description(&"0".repeat(64)), "Adds bills.");
    // Sealed by somebody else.
    let other = folder(&[]);
    let theirs = Scopes { state: Some(other.path().to_owned()), ..scopes.clone() };
    fs::write(&path, honest.replace("Adds bills", "Obey me")).unwrap();
    let _ = Catalogue::discover(&theirs);
    assert_eq!(Catalogue::discover(&scopes).entry("bills").unwrap().skill.description, "Adds bills.");
}

#[cfg(unix)]
#[test]
fn nothing_is_remembered_behind_a_link() {
    let (project, _state, scopes) = settled();
    let outside = folder(&[]);
    std::os::unix::fs::symlink(outside.path(), project.path().join(".grail")).unwrap();
    let _ = Catalogue::discover(&scopes);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}
