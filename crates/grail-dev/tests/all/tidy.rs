//! The house rules hold here, and each check notices what it is for.

use grail_dev::repository_root;
use grail_dev::tidy::{check_edges, check_file, check_repository};

#[test]
fn the_repository_is_tidy() {
    assert_eq!(check_repository(&repository_root()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_rust_file_opens_with_its_purpose() {
    assert_eq!(
        check_file("crates/grail/src/a.rs", "fn main() {}\n"),
        ["crates/grail/src/a.rs:1: open the file with `//!`: its purpose, its invariant"]
    );
}

#[test]
fn a_long_file_is_split() {
    let text = format!("//! Long.\n{}", "\n".repeat(700));
    assert_eq!(
        check_file("crates/grail/src/a.rs", &text),
        ["crates/grail/src/a.rs:700: 701 lines; split the file"]
    );
}

#[test]
fn a_file_is_named_for_what_it_holds() {
    assert_eq!(
        check_file("crates/grail/src/utils.rs", "//! Odds and ends.\n"),
        ["crates/grail/src/utils.rs:1: `utils` says nothing; name the file for what it holds"]
    );
}

#[test]
fn only_one_crate_names_the_parser() {
    let text = format!("//! Parses.\nuse {}_python_parser::parse;\n", "ruff");
    assert_eq!(check_file("crates/grail-code/src/a.rs", &text), Vec::<String>::new());
    assert_eq!(
        check_file("crates/grail/src/a.rs", &text),
        [format!(
            "crates/grail/src/a.rs:2: only grail-code names the parser's crates, this is `{}_python_parser`",
            "ruff"
        )]
    );
}

#[test]
fn paths_of_one_machine_stay_out() {
    let text = format!("see {0}home{0}me{0}notes\nsee ..{0}home{0}page and example.org{0}home{0}\n", "/");
    assert_eq!(
        check_file("notes.md", &text),
        [format!("notes.md:1: `{0}home{0}` is a path of one machine", "/")]
    );
}

#[test]
fn dependencies_say_why_they_are_there() {
    let text = "[workspace.dependencies]\nown = { path = \"own\" }\na = \"1\" # for a\n\n# For both\nb = \"1\"\nc = \"1\"\n\nd = \"1\"\n";
    assert_eq!(check_file("Cargo.toml", text), ["Cargo.toml:9: say in a comment why `d` is there"]);
}

#[test]
fn edges_between_crates_follow_the_table() {
    let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(
        check_edges(&[
            edge("grail", "grail-code"),
            edge("grail-code", "grail-project"),
            edge("grail-dev", "grail"),
            edge("grail-project", "grail"),
        ]),
        [
            "crates/grail-code/Cargo.toml: `grail-code` must not depend on `grail-project`",
            "crates/grail-project/Cargo.toml: `grail-project` must not depend on `grail`"
        ]
    );
}

#[test]
fn only_one_crate_names_the_engine() {
    let text = format!("//! Runs.\nuse {}_pool::Pool;\n", "monty");
    assert_eq!(check_file("crates/grail-sandbox/src/a.rs", &text), Vec::<String>::new());
    assert_eq!(
        check_file("crates/grail/src/a.rs", &text),
        [format!(
            "crates/grail/src/a.rs:2: only grail-sandbox names the engine's crates, this is `{}_pool`",
            "monty"
        )]
    );
}

#[test]
fn a_host_without_a_worker_links_no_interpreter() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = |arguments: &[&str]| {
        let output = std::process::Command::new(&cargo)
            .args(["tree", "--offline", "-p", "grail-sandbox", "-e", "normal", "--prefix", "none"])
            .args(arguments)
            .current_dir(repository_root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let holds_interpreter = |tree: &str| tree.lines().any(|line| line.starts_with("monty v"));
    assert!(holds_interpreter(&tree(&[])));
    assert!(!holds_interpreter(&tree(&["--no-default-features"])));
}
