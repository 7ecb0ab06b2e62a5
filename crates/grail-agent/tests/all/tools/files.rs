//! `read_file`, `write_file`, `list_files`, `delete_file`, `staged_changes`.

use serde_json::json;

use super::Bench;

#[tokio::test]
async fn a_file_is_read_in_parts() {
    let bench = Bench::new(&[("a.txt", "one\ntwo\nthree\n")]);
    assert_eq!(
        bench.ok("read_file", json!({"path": "a.txt", "line": 2, "lines": 1})).await,
        json!({"path": "a.txt", "text": "two\n", "line": 2, "total_lines": 3, "next_line": 3, "is_staged": false})
    );
    let rest = bench.ok("read_file", json!({"path": "./a.txt", "line": 3})).await;
    assert_eq!((&rest["text"], &rest["next_line"]), (&json!("three\n"), &json!(null)));
    assert_eq!(
        bench.err("read_file", json!({"path": "a.txt", "line": 9})).await,
        "`a.txt` has no line 9; hint: it has 3 lines"
    );
}

#[tokio::test]
async fn a_large_file_comes_in_bounded_parts() {
    let text = "x".repeat(99) + "\n";
    let bench = Bench::new(&[("large.txt", &text.repeat(5_000)), ("long.txt", &"y".repeat(900_000))]);
    let part = bench.ok("read_file", json!({"path": "large.txt", "lines": 1_000_000})).await;
    assert_eq!(part["next_line"], json!(656));
    let line = bench.ok("read_file", json!({"path": "long.txt"})).await;
    assert!(line["text"].as_str().unwrap().len() < 70_000);
}

#[tokio::test]
async fn what_is_written_is_read_and_listed_but_not_on_disk() {
    let bench = Bench::new(&[("a.py", "x = 1\n")]);
    assert_eq!(
        bench.ok("write_file", json!({"path": "a.py", "text": "x = 2\n"})).await,
        json!({"path": "a.py", "change": "changed", "diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"})
    );
    bench.ok("write_file", json!({"path": "new/b.html", "text": "<b>\n"})).await;
    assert_eq!(bench.ok("read_file", json!({"path": "a.py"})).await["text"], json!("x = 2\n"));
    assert_eq!(bench.sample.read("a.py").as_deref(), Some("x = 1\n"));
    let listed = bench.ok("list_files", json!({})).await;
    assert_eq!(
        listed,
        json!({"files": [
            {"path": "a.py", "bytes": 6, "is_staged": true},
            {"path": "grail.toml", "bytes": 0, "is_staged": false},
            {"path": "new/b.html", "bytes": 4, "is_staged": true},
        ], "more": 0})
    );
    let changes = bench.ok("staged_changes", json!({})).await;
    assert_eq!(
        changes["files"],
        json!([{"path": "a.py", "change": "changed"}, {"path": "new/b.html", "change": "created"}])
    );
    let same = bench.ok("write_file", json!({"path": "a.py", "text": "x = 1\n"})).await;
    assert_eq!(same["change"], json!("unchanged"));
    assert!(!bench.workspace().staging.is_staged("a.py"));
}

#[tokio::test]
async fn a_removal_is_staged_like_anything_else() {
    let bench = Bench::shop();
    let removed = bench.ok("delete_file", json!({"path": "README.md"})).await;
    assert_eq!(removed["change"], json!("removed"));
    assert!(bench.sample.read("README.md").is_some());
    assert_eq!(
        bench.err("read_file", json!({"path": "README.md"})).await,
        "`README.md` does not exist; hint: `list_files` shows what there is"
    );
    assert!(!bench.ok("list_files", json!({})).await.to_string().contains("README"));
    assert!(bench.err("delete_file", json!({"path": "README.md"})).await.contains("does not exist"));
}

#[tokio::test]
async fn lists_are_filtered_and_bounded() {
    let files: Vec<(String, String)> =
        (0..120).map(|number| (format!("src/m{number:03}.py"), String::new())).collect();
    let mut files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.extend([
        ("docs/a.md", ""),
        (".gitignore", "ignored\n"),
        ("ignored", ""),
        (".venv/pyvenv.cfg", ""),
        (".env", "KEY=1"),
    ]);
    let bench = Bench::new(&files);
    let listed = bench.ok("list_files", json!({"folder": "src", "limit": 2})).await;
    assert_eq!(listed["more"], json!(118));
    let paths = |listed: serde_json::Value| -> Vec<String> {
        let files = listed["files"].as_array().unwrap().iter();
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(bench.ok("list_files", json!({"pattern": "*.md"})).await), ["docs/a.md"]);
    assert_eq!(
        paths(bench.ok("list_files", json!({"pattern": "src/**/m00[01].py"})).await),
        ["src/m000.py", "src/m001.py"]
    );
    let all = paths(bench.ok("list_files", json!({"limit": 1_000})).await);
    assert!(!all.iter().any(|path| path.contains("venv") || path == ".env" || path == "ignored"), "{all:?}");
    assert!(
        bench.err("list_files", json!({"pattern": "a[", })).await.starts_with("the pattern makes no sense")
    );
    assert!(
        bench.err("list_files", json!({"folder": "nowhere"})).await.starts_with("`nowhere` has no files")
    );
}

#[tokio::test]
async fn no_path_leads_out() {
    let bench = Bench::shop();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc", bench.sample.root().join("etc")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", bench.sample.root().join("host.py")).unwrap();
    }
    let long = "a/".repeat(600);
    let bad = [
        "..",
        "../x.py",
        "shop/../../x",
        "/etc/passwd",
        "etc/passwd",
        "host.py",
        "venv/lib/x.py",
        "node_modules/x/y.py",
        ".git/config",
        ".env",
        "a\nb",
        "a\u{1b}[31m",
        "",
        &long,
        "shop\\core.py",
    ];
    for path in bad {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "text": "x"})),
            ("delete_file", json!({"path": path})),
            ("check", json!({"paths": [path, "shop/core.py"]})),
            ("fix", json!({"paths": [path, "shop/core.py"]})),
            ("document_symbols", json!({"path": path})),
            ("cst_find_pattern", json!({"path": path, "pattern": "print($$$)"})),
            ("cst_rename", json!({"path": path, "old_name": "a", "new_name": "b"})),
            ("cst_add_import", json!({"path": path, "module": "os"})),
            ("cst_validate_service", json!({"path": path})),
        ] {
            let result = bench.call(tool, arguments).await;
            let is_whole_project = path.is_empty() && matches!(tool, "check" | "fix" | "cst_find_pattern");
            assert!(result.is_err() || is_whole_project, "{tool} takes {path:?}: {result:?}");
        }
    }
    assert!(bench.workspace().staging.is_empty());
    let listed = bench.ok("list_files", json!({})).await.to_string();
    assert!(!listed.contains("passwd") && !listed.contains("host.py"), "{listed}");
    let found = bench.ok("cst_find_pattern", json!({"path": ".", "pattern": "$X"})).await.to_string();
    assert!(!found.contains("host.py"), "{found}");
}

#[tokio::test]
async fn texts_are_bounded_and_must_be_text() {
    let bench = Bench::shop();
    let large = "x".repeat(2 << 20);
    assert!(
        bench
            .err("write_file", json!({"path": "a.py", "text": large}))
            .await
            .contains("more than 1048576 bytes")
    );
    assert!(
        bench
            .err("write_file", json!({"path": "a.py", "text": "a\0b"}))
            .await
            .starts_with("the text has null bytes")
    );
    std::fs::write(bench.sample.root().join("image.png"), [0_u8, 1, 2]).unwrap();
    assert!(bench.err("read_file", json!({"path": "image.png"})).await.contains("binary file"));
    assert!(bench.err("read_file", json!({"path": "shop"})).await.contains("not a regular file"));
    let unknown = bench.call("read_file", json!({"path": "a", "mode": "rb"})).await.unwrap_err();
    assert_eq!(unknown.exception, "TypeError");
}
