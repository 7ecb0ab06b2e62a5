//! The short form of the demo, which needs nothing, and what the long form needs.

use std::fs;

use grail_flywheel::suite::curriculum;
use serde_json::{Value as Json, json};

use crate::scratch::Scratch;

#[test]
fn the_short_form_goes_from_a_hole_in_a_page_to_a_dataset() {
    let scratch = Scratch::new(&[]);
    let output = scratch.command(&["demo", "--folder", "shop", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown: Json = serde_json::from_slice(&output.stdout).unwrap();
    let steps: Vec<(&str, i64)> = shown["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["command"].as_str().unwrap(), step["exit"].as_i64().unwrap()))
        .collect();
    let profile = "$ grail generate 'a user profile view with avatar, name and bio' \
                   --model template --layer syntax --layer rules --yes";
    assert_eq!(
        steps,
        [
            ("$ grail skills list", 0),
            ("$ grail check", 1),
            ("$ grail check --fix", 0),
            (profile, 0),
            ("$ grail generate '…' --model template --yes    # 16 sentences", 0),
            ("$ grail events stats", 0),
            ("$ grail dataset build --no-types", 0),
            ("$ grail events stats --html report.html", 0),
        ]
    );
    let step = |number: usize| &shown["steps"][number]["said"];
    assert_eq!(step(1)["diagnostics"].as_array().unwrap().len(), 4);
    assert_eq!(step(4), "16 of 16 passed every check and were approved");
    assert_eq!(step(6)["dataset"]["counts"]["extracted"], 17);
    let mended = scratch.read("shop/src/shop/views/search_view.py");
    assert!(mended.contains("def search_view(*, query: str, hits: list[str]) -> str:"), "{mended}");
    assert!(mended.contains("return html(t\"<h1>{query}</h1>"), "{mended}");
    assert!(scratch.read("shop/report.html").contains("</html>"));
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let scratch = Scratch::new(&[("shop/notes.txt", "mine")]);
    insta::assert_snapshot!(scratch.run(&["demo", "--folder", "shop"]), @r"
    ! error: `shop` is not empty
    ! hint: name a new folder: the demo makes a project in it
    exit 2
    ");
}

#[test]
fn the_long_form_says_what_it_needs_before_it_begins() {
    let scratch = Scratch::new(&[]);
    let mut command = scratch.command(&["demo", "--full", "--folder", "shop"]);
    let output = command.env("GRAIL_CACHE", scratch.path("cache")).output().unwrap();
    insta::assert_snapshot!(crate::scratch::render(&output), @r"
    ! error: the weights `smollm2-135m` are not on this machine
    ! hint: `grail models pull NAME` fetches them; `grail models list` shows them
    exit 2
    ");
    assert!(!scratch.path("shop").exists());
}

#[test]
fn a_demo_that_was_broken_off_goes_on_where_it_was() {
    let scratch =
        Scratch::new(&[("other/.grail/demo.jsonl", ""), ("third/.grail/demo.jsonl", "[1, 2]\nno journal\n")]);
    for folder in ["shop", "other", "third"] {
        assert_eq!(
            scratch.run(&["demo", "--folder", folder, "--resume"]),
            format!(
                "! error: no demo was begun in `{folder}`\n! hint: leave `--resume` out to begin one\nexit 2\n"
            )
        );
    }
    assert_eq!(scratch.read("third/.grail/demo.jsonl"), "[1, 2]\nno journal\n");
    let run = |arguments: &[&str]| {
        let output =
            scratch.command(&[&["demo", "--folder", "shop"][..], arguments].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&[]);
    // The journal as a kill in the middle of its sixth line would have left it.
    let journal = scratch.read("shop/.grail/demo.jsonl");
    let kept: String = journal.split_inclusive('\n').take(5).collect();
    fs::write(scratch.path("shop/.grail/demo.jsonl"), format!("{kept}{{\"title\": \"what")).unwrap();
    let told = run(&["--resume"]);
    assert!(!told.contains("grail check") && told.contains("grail events stats"), "{told}");
    let again: Json = serde_json::from_str(&run(&["--resume", "--format", "json"])).unwrap();
    assert_eq!(again["steps"].as_array().unwrap().len(), 8);
}

#[test]
fn sentences_that_were_worked_on_are_not_worked_on_again() {
    let scratch = Scratch::new(&[]);
    let run = |arguments: &[&str]| {
        let arguments = [&["demo", "--folder", "shop", "--format", "json"], arguments].concat();
        let output = scratch.command(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Json>(&output.stdout).unwrap()
    };
    let proposals = || fs::read_dir(scratch.path("shop/.grail/proposals")).unwrap().count();
    let command = run(&[])["steps"][4]["command"].clone();
    let before = proposals();
    // As a kill would have left it, after ten of sixteen sentences.
    let journal = scratch.read("shop/.grail/demo.jsonl");
    let kept: String = journal.split_inclusive('\n').take(4).collect();
    fs::write(scratch.path("shop/.grail/demo.jsonl"), kept).unwrap();
    let came = |number: usize| if number == 0 { "nothing" } else { "right" };
    let worked: String = curriculum().unwrap()[..10]
        .iter()
        .enumerate()
        .map(|(number, it)| json!({"command": command, "intent": it.intent, "came": came(number)}))
        .map(|line| format!("{line}\n"))
        .collect();
    let other = json!({"command": "another step", "intent": "a view", "came": "right"});
    let lessons = "shop/.grail/demo-lessons.jsonl";
    fs::write(scratch.path(lessons), format!("{worked}{other}\n{{\"command\": \"$ gr")).unwrap();
    let told = run(&["--resume"]);
    assert_eq!(told["steps"][4]["said"], "15 of 16 passed every check and were approved");
    assert_eq!(proposals() - before, 6);
    assert!(!scratch.path(lessons).exists());
}
