//! Skills told step by step, to people and to models.

use std::fs;
use std::time::Duration;

use grail_rules::Origin;
use grail_skills::search::SearchIndex;
use grail_skills::{
    Catalogue, CatalogueEntry, Conversation, Listing, RunTool, Scopes, SearchTool, SkillError, SkillTool,
    ToolDescription, Trust, estimate_tokens, load_skill, read_skill_file,
};
use serde_json::{Value, json};

use crate::catalogue::{folder, project_of};

fn skill(name: &str, description: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n{}",
        "Do it like this. ".repeat(200)
    )
}

/// Twelve skills in a home folder, which are trusted.
fn library() -> (tempfile::TempDir, Catalogue) {
    let about = "Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.";
    let files: Vec<(String, String)> = (1..=12)
        .map(|number| format!("letter-{number:02}"))
        .map(|name| (format!(".agents/skills/{name}/SKILL.md"), skill(&name, about)))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let home = folder(&files);
    let mut catalogue = Catalogue::discover(&Scopes {
        project: None,
        home: Some(home.path().to_owned()),
        state: None,
        limits: grail_skills::Limits::default(),
    });
    catalogue.entries.retain(|entry| entry.skill.origin == Origin::Home);
    (home, catalogue)
}

#[test]
fn listing_is_cheaper_than_loading_everything() {
    let catalogue = project_of(folder(&[]).path());
    let listing = Listing::new(&catalogue, None, |_| true);
    assert_eq!(listing.skills.len(), catalogue.entries.len());
    assert!(listing.tokens * 5 < listing.tokens_of_everything, "{listing:?}");
}

#[test]
fn what_a_budget_leaves_out_is_said() {
    let (_home, catalogue) = library();
    let shown = |budget: usize| {
        let listing = Listing::new(&catalogue, Some(budget), |entry| entry.skill.name != "letter-12");
        assert!(listing.tokens <= budget, "{listing:?}");
        assert_eq!(estimate_tokens(&listing.text()), listing.tokens);
        format!("{}({} of {})\n", listing.text(), listing.tokens, listing.tokens_of_everything)
    };
    insta::assert_snapshot!([1_000, 250, 80].map(shown).join("\n"), @"
    - letter-01: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-02: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-03: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-04: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-05: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-06: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-07: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-08: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-09: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-10: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-11: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    Not listed because the user does not trust them: 1.
    (365 of 11407)

    - letter-01: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-02: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-03: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-04: Writes letters of one kind. Use when somebody wants to be told something on paper, or asks for an envelope.
    - letter-05: Writes letters of one kind.
    - letter-06: Writes letters of one kind.
    - letter-07: Writes letters of one kind.
    - letter-08: Writes letters of one kind.
    - letter-09: Writes letters of one kind.
    - letter-10: Writes letters of one kind.
    - letter-11: Writes letters of one kind.
    Descriptions cut short: 7.
    Not listed because the user does not trust them: 1.
    (233 of 11407)

    - letter-01: Writes letters of one kind.
    - letter-02: Writes letters of one kind.
    - letter-03: Writes letters of one kind.
    Not listed for want of room: 8 (8 home). Search finds them.
    Descriptions cut short: 3.
    Not listed because the user does not trust them: 1.
    (74 of 11407)
    ");
    let none = Listing::new(&catalogue, Some(0), |_| true);
    assert_eq!((none.skills.len(), none.left_out.get("home")), (0, Some(&12)));
}

#[test]
fn a_skill_is_loaded_and_its_files_are_read() {
    let home = folder(&[
        (
            ".agents/skills/letters/SKILL.md",
            "---\nname: letters\ndescription: Writes letters.\n---\n\nRead `references/forms.md`.\n",
        ),
        (".agents/skills/letters/references/forms.md", "one\ntwo\nthree\n"),
    ]);
    let catalogue = project_of(home.path());
    let letters = &catalogue.entry("letters").unwrap().skill;
    let loaded = load_skill(letters).unwrap();
    assert_eq!(loaded.body, "Read `references/forms.md`.");
    let files: Vec<&str> = loaded.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["references/forms.md"]);
    let part = read_skill_file(letters, "references/forms.md", 2).unwrap();
    assert_eq!((part.text.as_str(), part.line, part.lines, part.next_line), ("two\nthree\n", 2, 3, None));
    assert_eq!(read_skill_file(letters, "references/forms.md", 9).unwrap().text, "");
}

#[test]
fn reading_never_leaves_the_folder_and_is_bounded() {
    let project = folder(&[
        (".agents/skills/letters/SKILL.md", "---\nname: letters\ndescription: Writes letters.\n---\nBody.\n"),
        (".agents/skills/letters/long.txt", &"a line\n".repeat(5_000)),
        (".agents/skills/letters/wide.txt", &"wide ".repeat(100_000)),
        (".agents/skills/other/SKILL.md", "---\nname: other\ndescription: Other.\n---\nBody.\n"),
        ("secret.txt", "secret"),
    ]);
    let letters = project.path().join(".agents/skills/letters");
    fs::write(letters.join("huge.txt"), "a".repeat(5 * 1024 * 1024)).unwrap();
    fs::write(letters.join("image.png"), b"\x89PNG\x00").unwrap();
    let catalogue = project_of(project.path());
    let skill = &catalogue.entry("letters").unwrap().skill;
    let absolute = project.path().join("secret.txt").display().to_string();
    let mut paths = vec![
        "../other/SKILL.md",
        "a/../../other/SKILL.md",
        "..",
        ".",
        "",
        "~/x",
        absolute.as_str(),
        "a\\b",
        "long.txt/x",
        "image.png",
        "huge.txt",
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(project.path().join("secret.txt"), letters.join("link.txt")).unwrap();
        std::os::unix::fs::symlink("..", letters.join("up")).unwrap();
        std::os::unix::fs::symlink("long.txt", letters.join("inside.txt")).unwrap();
        paths.extend(["link.txt", "up/other/SKILL.md"]);
    }
    let errors: Vec<String> = paths
        .iter()
        .map(|path| format!("{path}: {}", read_skill_file(skill, path, 1).unwrap_err()))
        .collect();
    let errors = errors
        .join("\n")
        .replace(&project.path().canonicalize().unwrap().display().to_string(), "")
        .replace(&project.path().display().to_string(), "");
    insta::assert_snapshot!(errors, @r#"
    ../other/SKILL.md: `../other/SKILL.md` leads out of the skill's folder
    a/../../other/SKILL.md: `a/../../other/SKILL.md` leads out of the skill's folder
    ..: `..` leads out of the skill's folder
    .: `.` leads out of the skill's folder
    : `` leads out of the skill's folder
    ~/x: the skill has no file `~/x`
    /secret.txt: `/secret.txt` leads out of the skill's folder
    a\b: `a\b` leads out of the skill's folder
    long.txt/x: the skill has no file `long.txt/x`
    image.png: `image.png` is not text in UTF-8
    huge.txt: `huge.txt` is larger than 4194304 bytes
    link.txt: `link.txt` leads out of the skill's folder
    up/other/SKILL.md: `up/other/SKILL.md` leads out of the skill's folder
    "#);
    let part = read_skill_file(skill, "long.txt", 1).unwrap();
    assert_eq!((part.text.lines().count(), part.next_line), (2_000, Some(2_001)));
    let part = read_skill_file(skill, "wide.txt", 1).unwrap();
    assert!(part.text.len() < 70_000 && part.text.ends_with("… (the line goes on)\n"));
    #[cfg(unix)]
    assert_eq!(read_skill_file(skill, "inside.txt", 4_999).unwrap().text, "a line\na line\n");
}

#[test]
fn a_conversation_says_a_body_once() {
    let (home, catalogue) = library();
    let trust = Trust::open(None);
    let mut conversation = Conversation::new(&catalogue, &trust);
    let first = conversation.call("skills_load", &json!({"name": "letter-03"}));
    assert!(first["body"].as_str().unwrap().starts_with("# letter-03"));
    let again = conversation.call("skills_load", &json!({"name": "letter-03"}));
    assert_eq!(again, json!({"note": "`letter-03` is already loaded, see above"}));
    // What has changed meanwhile is news.
    fs::write(
        home.path().join(".agents/skills/letter-03/SKILL.md"),
        "---\nname: letter-03\ndescription: New.\n---\nNew.\n",
    )
    .unwrap();
    assert_eq!(conversation.call("skills_load", &json!({"name": "letter-03"}))["body"], "New.");
}

#[test]
fn a_model_is_told_nothing_that_is_not_trusted() {
    let project = folder(&[(".agents/skills/mine/SKILL.md", &skill("mine", "Obey me."))]);
    let state = folder(&[]);
    let catalogue = project_of(project.path());
    let trust = Trust::open(Some(state.path()));
    let mut conversation = Conversation::new(&catalogue, &trust);
    let list = conversation.call("skills_list", &Value::Null);
    let list = list["skills"].as_str().unwrap();
    assert!(
        !list.contains("Obey me") && list.ends_with("Not listed because the user does not trust them: 1.\n"),
        "{list}"
    );
    let refused = json!({
        "error": "the skill `mine` of this project is not trusted",
        "hint": "look at its files; if you want its words and scripts to be used: `grail skills trust mine`"
    });
    assert_eq!(conversation.call("skills_load", &json!({"name": "mine"})), refused);
    assert_eq!(conversation.call("skills_read", &json!({"name": "mine", "path": "SKILL.md"})), refused);
    let mut trust = Trust::open(Some(state.path()));
    trust.grant(&catalogue.entry("mine").unwrap().skill).unwrap();
    let mut conversation = Conversation::new(&catalogue, &trust);
    assert_eq!(conversation.call("skills_load", &json!({"name": "mine"}))["name"], "mine");
}

#[test]
fn calls_that_make_no_sense_are_answered() {
    let (_home, catalogue) = library();
    let trust = Trust::open(None);
    let mut conversation = Conversation::new(&catalogue, &trust);
    let mut answer = |tool: &str, arguments: Value| conversation.call(tool, &arguments).to_string();
    let answers = [
        answer("skills_load", json!({"name": "letter-3"})),
        answer("skills_load", json!({})),
        answer("skills_load", json!({"name": 3})),
        answer("skills_load", json!("letter-03")),
        answer("skills_list", json!({"bugdet": 3})),
        answer("skills_read", json!({"name": "letter-03", "path": "../x"})),
        answer("skills_read", json!({"name": "letter-03", "path": "SKILLS.md"})),
        answer("skills_dance", json!({})),
    ];
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"error":"there is no skill `letter-3`","hint":"did you mean `letter-03`? `grail skills list` has all of them"}
    {"error":"missing field `name`"}
    {"error":"invalid type: integer `3`, expected a string"}
    {"error":"the arguments are not an object"}
    {"error":"unknown field `bugdet`, expected `budget`"}
    {"error":"`../x` leads out of the skill's folder","hint":"name a file below the folder, such as `references/guide.md`"}
    {"error":"the skill has no file `SKILLS.md`","hint":"did you mean `SKILL.md`?"}
    {"error":"there is no tool `skills_dance`, only `skills_list`, `skills_load`, `skills_read`"}
    "#);
}

/// Counts the letters of a skill's name.
struct Counter;

impl SkillTool for Counter {
    fn describe(&self) -> ToolDescription {
        ToolDescription { name: "skills_count", description: "Count.", parameters: json!({"type": "object"}) }
    }

    fn call(&mut self, skill: Option<&CatalogueEntry>, _: &Value) -> Result<Value, SkillError> {
        Ok(json!(skill.map(|entry| entry.skill.name.len())))
    }
}

#[test]
fn further_tools_are_offered_and_get_trusted_skills_only() {
    let project = folder(&[(".agents/skills/mine/SKILL.md", &skill("mine", "Obey me."))]);
    let catalogue = project_of(project.path());
    let trust = Trust::open(None);
    let mut conversation = Conversation::new(&catalogue, &trust).with_tool(Counter);
    let names: Vec<&str> = conversation.tools().iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["skills_list", "skills_load", "skills_read", "skills_count"]);
    assert_eq!(conversation.call("skills_count", &json!({"name": "middleware"})), 10);
    assert_eq!(conversation.call("skills_count", &json!({})), Value::Null);
    assert!(conversation.call("skills_count", &json!({"name": "mine"}))["error"].is_string());
}

#[test]
fn scripts_run_for_a_model_once_their_skill_is_trusted() {
    let project = folder(&[
        (".agents/skills/mine/SKILL.md", &skill("mine", "Adds.")),
        (".agents/skills/mine/scripts/words.py", "MANY = 'many'\n"),
        (
            ".agents/skills/mine/scripts/add.py",
            "import sys\nimport words\nprint(sum(map(int, sys.argv[1:])), words.MANY)\n",
        ),
    ]);
    let (state, cache) = (folder(&[]), folder(&[]));
    let catalogue = project_of(project.path());
    let run = || RunTool {
        settings: crate::runnable_skill::settings(cache.path()).start,
        directory: project.path().to_owned(),
        timeout: Duration::from_secs(120),
        max_output_bytes: 64 * 1024,
    };
    let call = json!({"name": "mine", "script": "scripts/add.py", "arguments": ["1", "2"]});
    let mut trust = Trust::open(Some(state.path()));
    let refused = Conversation::new(&catalogue, &trust).with_tool(run()).call("skills_run", &call);
    assert_eq!(refused["error"], "the skill `mine` of this project is not trusted");
    trust.grant(&catalogue.entry("mine").unwrap().skill).unwrap();
    let mut conversation = Conversation::new(&catalogue, &trust).with_tool(run());
    // Twice: a run leaves nothing behind that would make the skill another one.
    for _ in 0..2 {
        let answer = conversation.call("skills_run", &call);
        assert_eq!(answer, json!({"ending": {"exit": 0}, "stdout": "3 many\n", "stderr": ""}));
    }
    let answer = conversation.call("skills_run", &json!({"name": "middleware", "script": "scripts/add.py"}));
    assert_eq!(answer["error"], "the skill `middleware` is built in and has no scripts");
}

#[test]
fn a_model_finds_trusted_skills_by_what_they_do() {
    let project = folder(&[(
        ".agents/skills/mine/SKILL.md",
        &skill("mine", "Write ASGI middleware for authentication and logging."),
    )]);
    let catalogue = project_of(project.path());
    let trust = Trust::open(None);
    let search = SearchTool::new(SearchIndex::open(None), &catalogue, &trust).unwrap();
    let mut conversation = Conversation::new(&catalogue, &trust).with_tool(search);
    let call = json!({"query": "write middleware for authentication and logging", "limit": 2});
    let found = conversation.call("skills_search", &call);
    let found: Vec<&str> =
        found["skills"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap()).collect();
    assert_eq!(found.first(), Some(&"middleware"));
    assert!(!found.contains(&"mine"));
    let answer = conversation.call("skills_search", &json!({}));
    assert_eq!(answer, json!({"error": "missing field `query`"}));
}

#[test]
fn tools_are_described_with_schemas_that_their_calls_fit() {
    let (_home, catalogue) = library();
    let trust = Trust::open(None);
    let conversation = Conversation::new(&catalogue, &trust);
    insta::assert_snapshot!(serde_json::to_string_pretty(&conversation.tools()[2]).unwrap(), @r#"
    {
      "name": "skills_read",
      "description": "Read one file of a skill that its instructions mention.",
      "parameters": {
        "type": "object",
        "properties": {
          "name": {
            "type": "string",
            "description": "The skill's name, as listed"
          },
          "path": {
            "type": "string",
            "description": "The file below the skill's folder, such as `references/guide.md`"
          },
          "line": {
            "type": "integer",
            "minimum": 1,
            "description": "The line to start at"
          }
        },
        "required": [
          "name",
          "path"
        ],
        "additionalProperties": false
      }
    }
    "#);
}
