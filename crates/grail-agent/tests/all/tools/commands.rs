//! `run_command` and `install_package`: what a person approves first.

use serde_json::json;

use super::{Bench, with_tools};

#[tokio::test]
async fn a_command_sees_what_is_staged_and_leaves_the_project_alone() {
    let bench = Bench::shop();
    assert!(bench.tools.needs_approval("run_command"));
    bench.ok("write_file", json!({"path": "staged.txt", "text": "staged\n"})).await;
    bench.ok("delete_file", json!({"path": "README.md"})).await;
    let ran =
        bench.ok("run_command", json!({"program": "cat", "arguments": ["staged.txt", "README.md"]})).await;
    assert_eq!((&ran["exit_code"], &ran["stdout"]), (&json!(1), &json!("staged\n")));
    let ran =
        bench.ok("run_command", json!({"program": "cp", "arguments": ["staged.txt", "copy.txt"]})).await;
    assert_eq!(ran["changed"], json!(["copy.txt"]));
    assert_eq!(bench.sample.read("copy.txt"), None);
    assert_eq!(bench.staged("copy.txt"), None);
}

#[tokio::test]
async fn what_a_command_writes_can_be_staged() {
    let bench = Bench::shop();
    let copy = json!({"program": "cp", "arguments": ["README.md", "copy.md"], "keep_changes": true});
    bench.ok("run_command", copy).await;
    assert_eq!(bench.staged("copy.md").as_deref(), Some("# Shop\n"));
    let remove = json!({"program": "rm", "arguments": ["README.md", "copy.md"], "keep_changes": true});
    assert_eq!(bench.ok("run_command", remove).await["changed"], json!(["README.md", "copy.md"]));
    assert_eq!(bench.workspace().staging.staged(), [("README.md".to_owned(), None)].into());
    assert!(bench.sample.read("README.md").is_some());
}

#[tokio::test]
async fn there_is_no_shell_and_no_secret() {
    let bench = Bench::shop();
    let ran = bench.ok("run_command", json!({"program": "echo", "arguments": ["$HOME; ls | cat"]})).await;
    assert_eq!(ran["stdout"], json!("$HOME; ls | cat\n"));
    let ran = bench.ok("run_command", json!({"program": "env"})).await;
    let names: Vec<&str> =
        ran["stdout"].as_str().unwrap().lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert!(names.contains(&"PATH") && !names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
}

#[tokio::test]
async fn time_and_output_are_bounded() {
    let bench = Bench::shop();
    let said =
        bench.err("run_command", json!({"program": "sleep", "arguments": ["600"], "seconds": 1})).await;
    assert_eq!(
        said,
        "`sleep` had not ended after 1 seconds and was stopped; hint: allow more with `seconds`, or do less at once"
    );
    let ran = bench.ok("run_command", json!({"program": "seq", "arguments": ["200000"]})).await;
    let stdout = ran["stdout"].as_str().unwrap();
    assert!(stdout.len() <= 24 * 1024 && stdout.ends_with("\n200000\n"));
}

#[tokio::test]
async fn programs_are_names_or_files_of_the_project() {
    let bench = Bench::shop();
    for program in ["no-such-program", "", "../sh", "/bin/sh", "ls -l", "shop/none.sh", "a\nb", "~/x"] {
        let result = bench.call("run_command", json!({"program": program})).await;
        assert!(result.is_err(), "{program:?}: {result:?}");
    }
    assert!(bench.call("run_command", json!({"program": "echo", "arguments": ["a\0b"]})).await.is_err());
    assert!(
        bench.call("run_command", json!({"program": "echo", "arguments": vec!["x"; 500]})).await.is_err()
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let script = bench.sample.root().join("hello.sh");
        std::fs::write(&script, "#!/bin/sh\necho hello from $(basename $0)\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ran = bench.ok("run_command", json!({"program": "./hello.sh"})).await;
        assert_eq!(ran["stdout"], json!("hello from hello.sh\n"));
    }
}

#[tokio::test]
async fn packages_are_names_of_the_index() {
    let bench = Bench::shop();
    assert!(bench.tools.needs_approval("install_package"));
    for package in [
        "",
        "--index-url=x",
        "git+https://example.org/x",
        "./here",
        "a b",
        "/abs",
        "x; rm",
        "x @ https://y",
        "x\n",
    ] {
        let said = bench.err("install_package", json!({"packages": [package]})).await;
        assert!(said.contains("is no name of a package"), "{package:?}: {said}");
    }
    assert!(bench.call("install_package", json!({"packages": []})).await.is_err());
    assert!(bench.call("install_package", json!({"packages": vec!["x"; 100]})).await.is_err());
    let said = bench.err("install_package", json!({"packages": ["httpx[http2]>=0.27,<1"]})).await;
    assert!(said.starts_with("the project has no virtual environment"), "{said}");
}

#[tokio::test]
async fn commands_find_the_tools_of_the_project() {
    let Some(bench) = with_tools("ruff", &super::SHOP) else { return };
    let ran = bench.ok("run_command", json!({"program": "ruff", "arguments": ["--version"]})).await;
    assert!(ran["stdout"].as_str().unwrap().starts_with("ruff "), "{ran}");
}
