//! `grail skills search`: the right skill for a sentence, with a score and a reason.

use crate::scratch::Scratch;

fn office() -> Scratch {
    Scratch::new(&[
        ("grail.toml", ""),
        (
            ".agents/skills/send-email/SKILL.md",
            "---\nname: send-email\ndescription: Send an email to one or more recipients, with a subject and a body.\n---\n\nWrite it.\n",
        ),
        (
            ".agents/skills/csv-to-json/SKILL.md",
            "---\nname: csv-to-json\ndescription: Convert CSV files to JSON, one object per row.\n---\n\nConvert it.\n",
        ),
    ])
}

#[test]
fn a_sentence_finds_its_skill() {
    let office = office();
    insta::assert_snapshot!(office.run(&["skills", "search", "send an email", "--limit", "1"]), @"
    0.97  send-email (project, not trusted)
          has `send`, `email`
    ! 1 found among 9 skills; those below 0.1 are not shown
    exit 0
    ");
    insta::assert_snapshot!(office.run(&["skills", "search", "convert json to csv", "--limit", "1"]), @"
    0.49  csv-to-json (project, not trusted)
          has `convert`, `json`, `csv`; goes the other way round
    ! 1 found among 9 skills; those below 0.1 are not shown
    exit 0
    ");
}

#[test]
fn nothing_found_is_exit_1_and_no_word_is_exit_2() {
    let office = office();
    insta::assert_snapshot!(office.run(&["skills", "search", "bake a chocolate cake", "--threshold", "0.5"]), @"
    ! 0 found among 9 skills; those below 0.5 are not shown
    exit 1
    ");
    insta::assert_snapshot!(office.run(&["skills", "search", "?!"]), @"
    ! error: there is nothing to search for in `?!`
    ! hint: say what you want to do in a few words, such as `send an email`
    exit 2
    ");
    insta::assert_snapshot!(office.run(&["skills", "search", "x", "--threshold", "2"]), @"
    ! error: invalid value '2' for '--threshold <SCORE>': a number between 0 and 1 is wanted
    !
    ! For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn json_has_scores_and_reasons() {
    let office = office();
    let output =
        office.command(&["skills", "search", "send an email", "--limit", "1", "--format", "json"]).output();
    let record: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let hit = &record["hits"][0];
    assert_eq!(hit["skill"]["name"], "send-email");
    assert_eq!(hit["same"], true);
    assert_eq!(hit["trust"], "untrusted");
    assert!(hit["score"].as_f64().unwrap() > 0.85);
    assert_eq!(record["errors"], serde_json::json!([]));
}

#[test]
fn the_index_is_kept_in_the_project() {
    let office = office();
    office.run(&["skills", "search", "send an email"]);
    let files = std::fs::read_dir(office.path(".grail/cache/skills")).unwrap();
    let names: Vec<String> =
        files.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name.starts_with("search-")), "{names:?}");
}
