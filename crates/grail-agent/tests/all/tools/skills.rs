//! Skills, told step by step; only those that are trusted.

use grail_skills::Trust;
use serde_json::json;

use super::Bench;
use crate::sample::Sample;

const NOTES: [(&str, &str); 4] = [
    (
        ".agents/skills/release-notes/SKILL.md",
        "---\nname: release-notes\ndescription: Write release notes from the commits since the last tag. Use when a release is made.\n---\n# Release notes\n\nRun the script.\n",
    ),
    (
        ".agents/skills/release-notes/scripts/count.py",
        "import sys\nprint(len(sys.argv) - 1)\nprint('done', file=sys.stderr)\n",
    ),
    (".agents/skills/release-notes/references/style.md", "one\ntwo\n"),
    ("a.py", ""),
];

/// A project whose skill the user has looked at.
fn trusting() -> Bench {
    let first = Sample::new(&NOTES);
    let mut trust = Trust::open(first.workspace.state.as_deref());
    trust.grant(&first.workspace.catalogue.entry("release-notes").unwrap().skill).unwrap();
    Bench::over(first.reopened())
}

#[tokio::test]
async fn what_is_not_trusted_is_counted_and_nothing_else() {
    let bench = Bench::new(&NOTES);
    let listed = bench.ok("list_skills", json!({})).await;
    assert!(!listed.to_string().contains("release"), "{listed}");
    assert!(listed["remarks"].as_str().unwrap().contains('1'), "{listed}");
    for (tool, arguments) in [
        ("load_skill", json!({"name": "release-notes"})),
        ("read_skill_file", json!({"name": "release-notes", "path": "references/style.md"})),
        ("run_skill_script", json!({"name": "release-notes", "script": "scripts/count.py"})),
    ] {
        let said = bench.err(tool, arguments).await;
        assert!(said.starts_with("the skill `release-notes` of this project is not trusted"), "{said}");
    }
    let found = bench.ok("search_skills", json!({"query": "write release notes"})).await;
    assert!(!found.to_string().contains("release-notes"), "{found}");
}

#[tokio::test]
async fn a_body_is_told_once() {
    let bench = trusting();
    let listed = bench.ok("list_skills", json!({})).await;
    assert_eq!(listed["skills"][0]["name"], json!("release-notes"));
    let loaded = bench.ok("load_skill", json!({"name": "release-notes"})).await;
    assert_eq!(loaded["body"], json!("# Release notes\n\nRun the script."));
    assert_eq!(loaded["files"], json!(["references/style.md", "scripts/count.py"]));
    let again = bench.ok("load_skill", json!({"name": "release-notes"})).await;
    assert_eq!(
        (&again["body"], &again["note"]),
        (&json!(""), &json!("`release-notes` is already loaded, see above"))
    );
    let events = bench.sample.events.events();
    assert_eq!(events.len(), 1, "{events:?}");
}

#[tokio::test]
async fn files_of_a_skill_are_read_and_no_others() {
    let bench = trusting();
    assert_eq!(
        bench
            .ok("read_skill_file", json!({"name": "release-notes", "path": "references/style.md", "line": 2}))
            .await,
        json!({"path": "references/style.md", "text": "two\n", "line": 2, "total_lines": 2, "next_line": null})
    );
    for path in ["../../../a.py", "/etc/passwd", "references/none.md", "", "references"] {
        assert!(
            bench.call("read_skill_file", json!({"name": "release-notes", "path": path})).await.is_err(),
            "{path}"
        );
    }
    assert!(bench.err("load_skill", json!({"name": "no-such"})).await.contains("no-such"));
}

#[tokio::test]
async fn scripts_run_bounded_and_fenced() {
    let bench = trusting();
    let arguments = json!({"name": "release-notes", "script": "scripts/count.py", "arguments": ["a", "b c"]});
    match bench.call("run_skill_script", arguments).await {
        Ok(ran) => assert_eq!(ran, json!({"exit_code": 0, "stdout": "2\n", "stderr": "done\n"})),
        Err(error) => eprintln!("skipped: no Python here to run scripts with: {error}"),
    }
    for (script, arguments) in [
        ("../x.py", json!([])),
        ("scripts/none.py", json!([])),
        ("scripts/count.py", json!(["a\0b"])),
        ("scripts/count.py", json!(vec!["x"; 200])),
    ] {
        let call = json!({"name": "release-notes", "script": script, "arguments": arguments});
        assert!(bench.call("run_skill_script", call).await.is_err(), "{script}");
    }
    let built_in = json!({"name": "svcs-services", "script": "scripts/x.py"});
    assert!(bench.err("run_skill_script", built_in).await.contains("is built in and has no scripts"));
}

#[tokio::test]
async fn skills_are_found_by_what_they_do() {
    let bench = trusting();
    let found =
        bench.ok("search_skills", json!({"query": "write release notes from commits", "limit": 2})).await;
    assert_eq!(found["skills"][0]["name"], json!("release-notes"));
    assert!(bench.call("search_skills", json!({"query": "…"})).await.is_err());
}
