//! `grail skills`: list, load, read, validate, new, trust

use std::path::Path;

use crate::scratch::Scratch;

const BILLS: &str = "---
name: bills
description: Adds bills to orders. Use when a customer pays later.
---

# Bills

One line for each thing that was sold. Read `references/forms.md` for forms.
";

/// The front matter of earlier skills, and a body that must not change.
const SEED: &str = "---
name: letters
version: \"1.0\"
description: Writes letters.
requires:
  - paper
---

# Letters

version: this stays
";

fn project() -> Scratch {
    Scratch::new(&[
        ("grail.toml", ""),
        (".agents/skills/bills/SKILL.md", BILLS),
        (".agents/skills/bills/references/forms.md", "A form has a number.\n"),
    ])
}

/// Only what is about the project's own skills.
fn own(output: &str) -> String {
    output
        .lines()
        .filter(|line| !line.contains("built-in") && !line.starts_with("  "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_list_marks_what_is_not_trusted() {
    let scratch = project();
    let list = scratch.run(&["skills", "list"]);
    let first: Vec<&str> = list.lines().take(2).collect();
    insta::assert_snapshot!(first.join("\n"), @"
    bills (project, not trusted)
      Adds bills to orders. Use when a customer pays later.
    ");
    scratch.run(&["skills", "trust", "bills"]);
    let list = scratch.run(&["skills", "list"]);
    assert_eq!(list.lines().next(), Some("bills (project)"));
    let forms = scratch.path(".agents/skills/bills/references/forms.md");
    std::fs::write(forms, "A form has two numbers.\n").unwrap();
    let list = scratch.run(&["skills", "list"]);
    assert_eq!(list.lines().next(), Some("bills (project, changed, not trusted any more)"));
}

#[test]
fn the_list_says_what_a_budget_leaves_out() {
    let scratch = project();
    insta::assert_snapshot!(scratch.run(&["skills", "list", "--budget", "100"]), @"
    - middleware: Write middleware, both ASGI (scope, receive, send) and component middleware of tdom-svcs (target, props, context).
    Not listed for want of room: 6 (6 built-in). Search finds them.
    Descriptions cut short: 1.
    Not listed because the user does not trust them: 1.
    ! 8 skills; telling a model about them takes 74 tokens, loading all of them 7182
    exit 0
    ");
}

#[test]
fn the_list_shows_what_was_measured_and_what_is_odd() {
    let benchmark = r#"{"model": "small-1", "n": 25, "with_skill": 0.72, "without_skill": 0.56, "difference": 0.16, "interval": [0.09, 0.23]}"#;
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        (".agents/skills/bills/SKILL.md", BILLS),
        (".agents/skills/bills/evals/benchmark.json", benchmark),
        (".agents/skills/letters/SKILL.md", SEED),
        (".agents/skills/middleware/SKILL.md", "---\nname: middleware\ndescription: \"Ours\\e[2J.\"\n---\n"),
        ("no-home/.agents/skills/bills/SKILL.md", BILLS),
    ]);
    insta::assert_snapshot!(own(&scratch.run(&["skills", "list"])), @"
    bills (project, not trusted, +16 points [9, 23], model small-1, 25 pairs)
    letters (project, not trusted)
    middleware (project, not trusted)
    ! 9 skills; telling a model about them takes 519 tokens, loading all of them 6092
    ! `~/.agents/skills/bills` is hidden by `.agents/skills/bills`
    ! warning: .agents/skills/letters/SKILL.md:3: `version`, `requires` belong under `metadata`
    !   `grail skills validate --fix` moves it there
    ! warning: .agents/skills/middleware/SKILL.md:3: the description has control or invisible characters, left out: 1
    exit 0
    ");
    let json = scratch.run(&["skills", "list", "--format", "json"]);
    insta::assert_snapshot!(json.split("\n    {\n      \"name\": \"pytest-tests\"").next().unwrap().split("\"name\": \"letters\"").nth(1).unwrap().split("\n    }").next().unwrap(), @r#"
    ,
          "description": "Writes letters.",
          "origin": "project",
          "trust": "untrusted",
          "folder": ".agents/skills/letters",
          "metadata": {
            "requires": "paper",
            "version": "1.0"
          },
          "body_tokens": 7,
          "runnable": false,
          "warnings": [
            {
              "path": ".agents/skills/letters/SKILL.md",
              "line": 3,
              "message": "`version`, `requires` belong under `metadata`",
              "hint": "`grail skills validate --fix` moves it there"
            }
          ]
    "#);
}

#[test]
fn a_skill_is_loaded_and_read_by_a_person_whatever_it_is() {
    let scratch = project();
    insta::assert_snapshot!(scratch.run(&["skills", "load", "bills"]), @"
    # Bills

    One line for each thing that was sold. Read `references/forms.md` for forms.
    ! about 24 tokens, 1 file to read
    !   references/forms.md
    ! warning: no model is told this: the project's skill `bills` is not trusted (`grail skills trust bills`)
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "read", "bills", "references/forms.md"]), @"
    A form has a number.
    ! warning: no model is told this: the project's skill `bills` is not trusted (`grail skills trust bills`)
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "read", "bills", "../../../grail.toml"]), @"
    ! error: `../../../grail.toml` leads out of the skill's folder
    ! hint: name a file below the folder, such as `references/guide.md`
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "read", "bills", "reference/form.md"]), @"
    ! error: the skill has no file `reference/form.md`
    ! hint: did you mean `references/forms.md`?
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "load", "bill"]), @"
    ! error: there is no skill `bill`
    ! hint: did you mean `bills`? `grail skills list` has all of them
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "load", "bills", "--format", "json"]), @r##"
    {
      "name": "bills",
      "body": "# Bills\n\nOne line for each thing that was sold. Read `references/forms.md` for forms.",
      "files": [
        {
          "path": "references/forms.md",
          "bytes": 21
        }
      ],
      "more_files": 0,
      "tokens": 24,
      "trust": "untrusted"
    }
    exit 0
    "##);
}

#[test]
fn trust_is_given_and_taken_back() {
    let scratch = project();
    insta::assert_snapshot!(scratch.run(&["skills", "trust", "bills"]), @"
    `bills` is trusted with these 2 files:
      SKILL.md (174 bytes)
      references/forms.md (21 bytes)
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "trust", "bills", "--revoke"]), @"
    `bills` is not trusted any more
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "trust", "middleware"]), @"
    ! error: the skill `middleware` is not the project's, and trusted anyway
    exit 2
    ");
    // Nothing of it is in the project.
    assert!(scratch.path("no-home/.local/state/grail/trusted-skills.json").is_file());
}

#[test]
fn validating_points_at_mistakes_and_repairs_old_front_matter() {
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        (".agents/skills/bills/SKILL.md", BILLS),
        (".agents/skills/letters/SKILL.md", SEED),
    ]);
    insta::assert_snapshot!(scratch.run(&["skills", "validate"]), @"
    .agents/skills/letters/SKILL.md:3: error [agentskills] `version` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    .agents/skills/letters/SKILL.md:5: error [agentskills] `requires` is no field of a skill
      hint: `grail skills validate --fix` moves it under `metadata`
    ! 2 skills: 2 errors, 0 warnings
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "validate", "bills"]), @"
    ! 1 skill: 0 errors, 0 warnings
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "validate", "letters", "--format", "json"]), @r#"
    {
      "skills": [
        {
          "folder": ".agents/skills/letters",
          "valid": false,
          "fixed": false,
          "findings": [
            {
              "source": "agentskills",
              "severity": "error",
              "path": ".agents/skills/letters/SKILL.md",
              "line": 3,
              "message": "`version` is no field of a skill",
              "hint": "`grail skills validate --fix` moves it under `metadata`"
            },
            {
              "source": "agentskills",
              "severity": "error",
              "path": ".agents/skills/letters/SKILL.md",
              "line": 5,
              "message": "`requires` is no field of a skill",
              "hint": "`grail skills validate --fix` moves it under `metadata`"
            }
          ]
        }
      ]
    }
    exit 1
    "#);
    insta::assert_snapshot!(scratch.run(&["skills", "validate", "--fix"]), @"
    ! changed .agents/skills/letters/SKILL.md
    ! 2 skills: 0 errors, 0 warnings
    exit 0
    ");
    insta::assert_snapshot!(scratch.read(".agents/skills/letters/SKILL.md"), @r#"
    ---
    name: letters
    description: Writes letters.
    metadata:
      version: "1.0"
      requires: "paper"
    ---

    # Letters

    version: this stays
    "#);
    insta::assert_snapshot!(scratch.run(&["skills", "validate", "nothing"]), @"
    ! error: there is no skill `nothing`
    ! hint: `grail skills list` has all of them
    exit 2
    ");
}

#[test]
fn a_new_skill_is_valid() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let description = "Writes \"views\": pages # of the shop.";
    insta::assert_snapshot!(scratch.run(&["skills", "new", "shop-views", "--description", description]), @"
    created .agents/skills/shop-views/SKILL.md
    created .agents/skills/shop-views/evals/evals.json
    ! write it, see `grail skills validate shop-views`, then `grail skills trust shop-views`
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "validate"]), @"
    ! 1 skill: 0 errors, 0 warnings
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "new", "shop-views"]), @"
    ! error: `.agents/skills/shop-views` exists
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "new", "../Shop"]), @"
    ! error: the name `../Shop` is not in lower case
    ! hint: such as `shop-views`
    exit 2
    ");
    let list = scratch.run(&["skills", "list"]);
    insta::assert_snapshot!(list.lines().take(2).collect::<Vec<_>>().join("\n"), @r#"
    shop-views (project, not trusted)
      Writes "views": pages # of the shop.
    "#);
    insta::assert_snapshot!(scratch.run(&["skills", "new", "plain"]), @"
    created .agents/skills/plain/SKILL.md
    created .agents/skills/plain/evals/evals.json
    ! write it, see `grail skills validate plain`, then `grail skills trust plain`
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "validate", ".agents/skills/plain"]), @"
    ! 1 skill: 0 errors, 0 warnings
    exit 0
    ");
}

#[test]
fn built_in_skills_are_valid_with_their_rules_and_evals() {
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let scratch = Scratch::new(&[("grail.toml", "")]);
    insta::assert_snapshot!(scratch.run(&["skills", "validate", &skills.display().to_string()]), @"
    ! 7 skills: 0 errors, 0 warnings
    exit 0
    ");
}
