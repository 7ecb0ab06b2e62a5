//! Skills checked by the specification and by Grail; front matter of earlier skills brought to the specification.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use grail_skills::{
    SKILL_FILE, SkillFinding, is_valid_by_specification, migrate_front_matter, validate_skill,
    validate_specification,
};

use crate::catalogue::folder;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn cases(kind: &str) -> Vec<PathBuf> {
    folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(kind))
}

fn is_valid(folder: &Path) -> bool {
    is_valid_by_specification(&validate_specification(folder, folder))
}

fn shown(findings: &[SkillFinding]) -> String {
    let line = |finding: &SkillFinding| {
        let (path, source) = (finding.path.display(), format!("{:?}", finding.source).to_lowercase());
        let hint = finding.hint.as_deref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
        format!("{path}:{}: {} [{source}] {}{hint}", finding.line, finding.severity.name(), finding.message)
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn validate(folder: &Path) -> Vec<SkillFinding> {
    validate_skill(folder, Path::new(folder.file_name().unwrap()), None)
}

#[test]
fn every_case_is_judged_as_its_folder_says() {
    let wrong: Vec<PathBuf> = cases("valid")
        .into_iter()
        .filter(|case| !is_valid(case))
        .chain(cases("invalid").into_iter().filter(|case| is_valid(case)))
        .collect();
    assert_eq!(wrong, Vec::<PathBuf>::new());
}

/// Prints `valid` or `invalid` for every folder; a crash of the validator is no blessing.
const REFERENCE: &str = "
import sys
from pathlib import Path
from skills_ref import validate
for folder in sys.argv[1:]:
    try:
        errors = validate(Path(folder))
    except Exception as error:
        errors = [error]
    print('invalid' if errors else 'valid')
";

#[test]
fn the_reference_validator_agrees_on_every_skill_there_is() {
    let hostile = hostile_folders();
    compare_with_the_reference(
        &[
            cases("valid"),
            cases("invalid"),
            folders(&repository().join("skills")),
            folders(&repository().join("examples/shop/.agents/skills")),
            folders(hostile.path()),
        ]
        .concat(),
    );
}

/// Lines that front matter is made of, well and badly.
const LINES: [&str; 48] = [
    "name: skill",
    "name: skill",
    "name: skill",
    "name: \"skill\"",
    "name: 'skill' # here",
    "name:   skill  ",
    "name: |",
    "name: Skill",
    "name: [skill]",
    "'name': skill",
    "? name",
    ": skill",
    "description: Adds bills.",
    "description: Adds bills.",
    "description: Adds bills.",
    "description: >",
    "description:",
    "description: a: b",
    "description: a:b",
    "description: a # b",
    "description: a#b",
    "description: 'it''s'",
    "description: 'it's'",
    "description: \"a\\tb\"",
    "description: \"a\\qb\"",
    "description: - a",
    "description: @a",
    "description: `a`",
    "description: %a",
    "description: *a",
    "description: &a b",
    "description: !a b",
    "description: {a}",
    "description: a, [b], {c}",
    "description: ---",
    "  more words",
    "    more: words",
    "  - more",
    "- more",
    "license: MIT",
    "compatibility: 3.11",
    "metadata:",
    "  version: 1",
    "  version: 1",
    "# comment",
    "",
    "...",
    "\tindented",
];

#[test]
fn the_reference_validator_agrees_on_front_matter_of_random_lines() {
    let scratch = tempfile::tempdir().unwrap();
    let mut random: u64 = 7;
    let mut next = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % bound
    };
    let mut all = Vec::new();
    for number in 0..1_500 {
        let mut lines: Vec<&str> = (0..next(4)).map(|_| LINES[next(LINES.len())]).collect();
        // Most would be invalid for want of the two fields.
        for wanted in ["name: skill", "description: Adds bills."] {
            if next(4) > 0 {
                lines.insert(next(lines.len() + 1), wanted);
            }
        }
        let folder = scratch.path().join(number.to_string()).join("skill");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(SKILL_FILE), format!("---\n{}\n---\nBody.\n", lines.join("\n"))).unwrap();
        all.push(folder);
    }
    compare_with_the_reference(&all);
}

fn compare_with_the_reference(all: &[PathBuf]) {
    let python = repository().join(".venv/bin/python");
    let has_validator = Command::new(&python)
        .args(["-c", "import skills_ref"])
        .output()
        .is_ok_and(|run| run.status.success());
    if !has_validator {
        // Past the test harness, which keeps what tests print to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: no `skills-ref` in .venv; scripts/venv makes it");
        return;
    }
    let output = Command::new(&python).arg("-c").arg(REFERENCE).args(all).output().unwrap();
    let theirs = String::from_utf8(output.stdout).unwrap();
    assert_eq!(theirs.lines().count(), all.len());
    let mut differences = Vec::new();
    for (folder, theirs) in all.iter().zip(theirs.lines()) {
        let ours = if is_valid(folder) { "valid" } else { "invalid" };
        if ours != theirs {
            let text = fs::read(folder.join(SKILL_FILE)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text[..text.len().min(500)]).into_owned();
            differences.push(format!("{}: {ours}, the reference says {theirs}:\n{text}", folder.display()));
        }
    }
    assert_eq!(differences.join("\n"), "");
}

/// Skills that cannot lie in a repository.
fn hostile_folders() -> tempfile::TempDir {
    let good = |name: &str| format!("---\nname: {name}\ndescription: Adds invoices.\n---\n");
    let large = good("large") + &"All work and no play. ".repeat(500_000);
    let folder = folder(&[("large/SKILL.md", &large), ("empty/SKILL.md", "")]);
    fs::create_dir(folder.path().join("binary")).unwrap();
    fs::write(folder.path().join("binary/SKILL.md"), b"\x7fELF\x00\xff\xfe").unwrap();
    fs::create_dir(folder.path().join("latin-1")).unwrap();
    fs::write(folder.path().join("latin-1/SKILL.md"), b"---\nname: latin-1\ndescription: \xe4\n---\n")
        .unwrap();
    folder
}

#[test]
fn the_front_matter_of_earlier_skills_is_told_how_to_migrate() {
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/invalid/seed");
    insta::assert_snapshot!(shown(&validate(&seed)), @"
    seed/SKILL.md:3: error [agentskills] `version` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    seed/SKILL.md:5: error [agentskills] `requires` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    seed/SKILL.md:8: error [agentskills] `patterns` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    ");
}

#[test]
fn mistakes_are_pointed_at() {
    let invalid = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/invalid");
    let findings: Vec<String> = folders(&invalid)
        .iter()
        .map(|case| shown(&validate_specification(case, Path::new(case.file_name().unwrap()))))
        .collect();
    insta::assert_snapshot!(findings.join("\n"), @"
    -hyphen-first/SKILL.md:2: error [agentskills] the name `-hyphen-first` starts or ends with a hyphen
    Capitals/SKILL.md:2: error [agentskills] the name `Capitals` is not in lower case
      hint: call it `capitals`
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/SKILL.md:2: error [agentskills] `name` has 65 characters; 64 are allowed
    anchors/SKILL.md:4: error [agentskills] anchors (`&name`) are not allowed
    anchors/SKILL.md:6: error [agentskills] aliases (`*name`) are not allowed
    blank-line-first/SKILL.md:1: error [agentskills] the file does not start with front matter
      hint: start the file with `---`, `name: …`, `description: …`, `---`
    byte-order-mark/SKILL.md:1: error [agentskills] the file does not start with front matter
      hint: start the file with `---`, `name: …`, `description: …`, `---`
    colon-in-the-description/SKILL.md:3: error [agentskills] the front matter is not valid YAML: mapping values are not allowed in this context
      hint: put values with `: ` or `#` in quotes
    compatibility-is-a-map/SKILL.md:5: error [agentskills] `compatibility` is not a text
    compatibility-too-long/SKILL.md:4: error [agentskills] `compatibility` has 501 characters; 500 are allowed
    description-is-a-list/SKILL.md:4: error [agentskills] `description` is not a text
    description-too-long/SKILL.md:3: error [agentskills] `description` has 1025 characters; 1024 are allowed
    empty-description/SKILL.md:3: error [agentskills] `description` is not a text
    empty-name/SKILL.md:2: error [agentskills] `name` is not a text
    escape-in-the-description/SKILL.md:3: error [agentskills] the front matter has a control character
    expanding-aliases/SKILL.md:5: error [agentskills] `{…}` and `[…]` are not allowed; write one entry on a line
    expanding-aliases/SKILL.md:5: error [agentskills] anchors (`&name`) are not allowed
    expanding-aliases/SKILL.md:6: error [agentskills] aliases (`*name`) are not allowed
    front-matter-is-a-list/SKILL.md:1: error [agentskills] the front matter is no list of `key: value`
    front-matter-is-empty/SKILL.md:1: error [agentskills] the front matter is no list of `key: value`
    front-matter-is-text/SKILL.md:1: error [agentskills] the front matter is no list of `key: value`
    front-matter-not-closed/SKILL.md:1: error [agentskills] the front matter is not closed
      hint: end it with a line `---`
    hyphen-last-/SKILL.md:2: error [agentskills] the name `hyphen-last-` starts or ends with a hyphen
    list-in-brackets/SKILL.md:4: error [agentskills] `{…}` and `[…]` are not allowed; write one entry on a line
    map-in-braces/SKILL.md:4: error [agentskills] `{…}` and `[…]` are not allowed; write one entry on a line
    no-description/SKILL.md:1: error [agentskills] there is no `description`
      hint: say what the skill does and when to use it
    no-front-matter/SKILL.md:1: error [agentskills] the file does not start with front matter
      hint: start the file with `---`, `name: …`, `description: …`, `---`
    no-name/SKILL.md:1: error [agentskills] there is no `name`
    no-skill-file:0: error [agentskills] there is no `SKILL.md`
    other-name/SKILL.md:2: error [agentskills] the skill calls itself `invoices`, its folder `other-name`
      hint: give both the same name
    same-field-twice/SKILL.md:4: error [agentskills] `description` is there twice
    same-key-twice-below/SKILL.md:6: error [agentskills] `a` is there twice
    seed/SKILL.md:3: error [agentskills] `version` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    seed/SKILL.md:5: error [agentskills] `requires` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    seed/SKILL.md:8: error [agentskills] `patterns` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    tab-indent/SKILL.md:5: error [agentskills] the front matter is not valid YAML: tabs disallowed within this context (block indentation)
      hint: put values with `: ` or `#` in quotes
    tags/SKILL.md:4: error [agentskills] tags (`!name`) are not allowed
    two words/SKILL.md:2: error [agentskills] the name `two words` has something else than letters, digits and hyphens
    two--hyphens/SKILL.md:2: error [agentskills] the name `two--hyphens` has two hyphens in a row
    two-documents/SKILL.md:5: error [agentskills] the front matter is not valid YAML: there is a second document
      hint: put values with `: ` or `#` in quotes
    unclosed-quote/SKILL.md:4: error [agentskills] the front matter is not valid YAML: invalid indentation in multiline quoted scalar
      hint: put values with `: ` or `#` in quotes
    under_score/SKILL.md:2: error [agentskills] the name `under_score` has something else than letters, digits and hyphens
    uneven-maps/SKILL.md:8: error [agentskills] the map is indented unlike the one before it
    unknown-field/SKILL.md:4: error [agentskills] `author` is no field of a skill
      hint: put it under `metadata`
    ");
}

#[test]
fn what_grail_adds_is_marked_as_its_own() {
    let body = "Words that go on and on.\n".repeat(600);
    let skill = format!("---\nname: invoices\ndescription: Adds invoices.\n---\n{body}\u{e0041}\u{e0042}\n");
    let evals = r#"{"skill_name": "bills", "evals": [{"id": 1, "prompt": "Bill it.", "assertions": ["It is billed"]}]}"#;
    let benchmark = r#"{"model": "m", "n": 20, "with_skill": 0.7, "without_skill": 0.6, "difference": 0.3, "interval": [0.2, 0.4]}"#;
    let scratch = folder(&[
        ("invoices/SKILL.md", &skill),
        ("invoices/evals/evals.json", evals),
        ("invoices/evals/benchmark.json", benchmark),
        ("invoices/manifest.toml", "id = 'invoices'\n"),
        (
            "invoices/rules/no-print.md",
            "---\nid: no-print\nseverity: error\n---\n# No print\n\n```yaml rule\nmatch: print($X)\nmessage: no\n```\n",
        ),
    ]);
    insta::assert_snapshot!(shown(&validate(&scratch.path().join("invoices"))), @r#"
    invoices/SKILL.md:5: warning [grail] the body has 601 lines; stay below 500
      hint: move what is not always needed to files in `references/`
    invoices/SKILL.md:605: error [grail] there is a character that nobody sees: `\u{e0041}`
      hint: a model reads what a person cannot; take it out
    invoices/evals/evals.json:0: error [grail] the evals are for `bills`, not for `invoices`
    invoices/evals/benchmark.json:0: error [grail] `difference` is `0.3`, but 0.7 − 0.6 is not
    invoices/manifest.toml:0: error [grail] the manifest has no `name`
      hint: add `name = "…"`
    invoices/rules/no-print.md:1: error [grail] the rule has no bad example that it finds; add a section `## Bad` with a block of Python and `# error: message` behind the line
    invoices/rules/no-print.md:1: error [grail] the rule has no good example that it passes; add a section `## Good` with a block of Python
    "#);
}

#[test]
fn migrating_changes_front_matter_only() {
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/invalid/seed").join(SKILL_FILE);
    let text = fs::read_to_string(seed).unwrap();
    let migrated = migrate_front_matter(&text).unwrap();
    insta::assert_snapshot!(migrated, @r#"
    ---
    name: seed
    description: "Generate tdom components/views with type-safe HTML"
    metadata:
      version: "1.0"
      requires: "tdom, svcs-di"
      patterns: "@view decorator, html(t'...')"
    ---

    # Components

    Write them as functions.
    "#);
    assert_eq!(migrate_front_matter(&migrated), None);
    let scratch = folder(&[("seed/SKILL.md", &migrated)]);
    assert_eq!(shown(&validate(&scratch.path().join("seed"))), "");
}

#[test]
fn migrating_adds_to_the_metadata_there_is() {
    let text = "---\r\nversion: 2.0  # the second\r\n# What it is called.\r\nname: a\r\nmetadata:\r\n    author: me\r\n\r\ndescription: b\r\nrequires: [tdom, 'svcs\"di']\r\n---\r\nBody ---\r\nversion: 1\r\n";
    insta::assert_snapshot!(format!("{:?}", migrate_front_matter(text).unwrap()), @r#""---\r\n# What it is called.\r\nname: a\r\nmetadata:\r\n    author: me\r\n    version: \"2.0\"\r\n    requires: \"tdom, svcs\\\"di\"\r\n\r\ndescription: b\r\n---\r\nBody ---\r\nversion: 1\r\n""#);
}

#[test]
fn migrating_leaves_alone_what_it_cannot_move_safely() {
    let untouched = [
        "---\nname: a\nmetadata: {author: me}\nversion: 1\n---\n",
        "---\nname: a\nmetadata: none\nversion: 1\n---\n",
        "---\nname: a\nmetadata:\n  version: 2\nversion: 1\n---\n",
        "---\nname: a\nversion: 1\nversion: 2\n---\n",
        "---\nname: a: b\nversion: 1\n---\n",
        "---\nname: a\n---\nversion: 1\n",
        "version: 1\n",
        "---\nversion: 1\n",
        "",
    ];
    for text in untouched {
        assert_eq!(migrate_front_matter(text), None, "{text}");
    }
}
