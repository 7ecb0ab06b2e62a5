//! `grail.toml`: defaults, mistakes with their place, and where a project begins.

use grail_project::{Config, Project, TargetVersion, find_root, init_project, load_config};

use crate::scratch::Scratch;

fn check_mistake(text: &str, expected: &str) {
    let scratch = Scratch::new(&[("grail.toml", text)]);
    let error = load_config(scratch.root()).expect_err("the configuration is wrong");
    assert_eq!(scratch.report(&error), expected);
}

#[test]
fn every_key_is_optional() {
    let scratch = Scratch::new(&[("grail.toml", "[project]\n")]);
    assert_eq!(load_config(scratch.root()).unwrap(), Config::default());
    assert_eq!(load_config(Scratch::new(&[]).root()).unwrap(), Config::default());
}

#[test]
fn settings_are_read() {
    let scratch = Scratch::new(&[(
        "grail.toml",
        "[project]\nsrc = [\"lib\"]\nexclude = [\"gen/\"]\ntarget-version = \"3.11\"\n[code]\nmax-file-bytes = 10\n",
    )]);
    let config = load_config(scratch.root()).unwrap();
    assert_eq!(config.project.src, ["lib"]);
    assert_eq!(config.project.exclude, ["gen/"]);
    assert_eq!(config.project.target_version, TargetVersion { major: 3, minor: 11 });
    assert_eq!(config.code.max_file_bytes, 10);
}

#[test]
fn policies_are_handed_on_as_written() {
    let scratch = Scratch::new(&[(
        "grail.toml",
        "[sandbox]\npolicy = \"reports\"\n[policies.reports]\ninherits = [\"strict\"]\nmax-duration = \"1s\"\n",
    )]);
    let config = load_config(scratch.root()).unwrap();
    assert_eq!(config.sandbox.policy.as_deref(), Some("reports"));
    assert_eq!(config.policies["reports"]["max-duration"].as_str(), Some("1s"));
}

#[test]
fn the_template_states_the_defaults() {
    let scratch = Scratch::new(&[]);
    init_project(scratch.root()).unwrap();
    assert_eq!(load_config(scratch.root()).unwrap(), Config::default());
}

#[test]
fn a_misspelt_key_is_pointed_at() {
    check_mistake(
        "[project]\nexcludes = []\n",
        "\
error: `ROOT/grail.toml:2:1`: unknown key `excludes`
  |
2 | excludes = []
  | ^^^^^^^^
hint: did you mean `exclude`?
",
    );
}

#[test]
fn a_key_like_no_other_gets_the_list() {
    check_mistake(
        "[tools]\n",
        "\
error: `ROOT/grail.toml:1:2`: unknown key `tools`
  |
1 | [tools]
  |  ^^^^^
hint: known here: `project`, `code`, `sandbox`, `check`, `policies`
",
    );
}

#[test]
fn a_wrong_type_is_pointed_at() {
    check_mistake(
        "# é\n[project]\nsrc = \"src\"\n",
        "\
error: `ROOT/grail.toml:3:7`: invalid type: string \"src\", expected a sequence
  |
3 | src = \"src\"
  |       ^^^^^
",
    );
}

#[test]
fn an_unsupported_version_is_pointed_at() {
    check_mistake(
        "[project]\ntarget-version = \"2.7\"\n",
        "\
error: `ROOT/grail.toml:2:18`: `2.7` is not a supported Python version, expected `3.7` to `3.14`
  |
2 | target-version = \"2.7\"
  |                  ^^^^^
",
    );
}

#[test]
fn broken_toml_is_pointed_at() {
    check_mistake(
        "[project\n",
        "\
error: `ROOT/grail.toml:1:9`: unclosed table, expected `]`
  |
1 | [project
  |         ^
",
    );
}

#[test]
fn the_root_is_marked_by_grail_toml_before_pyproject_before_git() {
    let root_of = |files: &[(&str, &str)]| {
        let scratch = Scratch::new(files);
        let root = find_root(&scratch.path("a/b/c/m.py")).unwrap();
        root.strip_prefix(std::fs::canonicalize(scratch.root()).unwrap()).unwrap().to_owned()
    };
    let module = ("a/b/c/m.py", "");
    let (settings, pyproject, git) = (("grail.toml", ""), ("a/pyproject.toml", ""), ("a/b/.git/HEAD", ""));
    assert_eq!(root_of(&[module, settings, pyproject, git]).to_str(), Some(""));
    assert_eq!(root_of(&[module, pyproject, git]).to_str(), Some("a"));
    assert_eq!(root_of(&[module, git]).to_str(), Some("a/b"));
}

#[test]
fn a_missing_start_is_an_error() {
    let scratch = Scratch::new(&[]);
    let error = Project::discover(&scratch.path("nowhere")).expect_err("there is no such folder");
    assert_eq!(scratch.report(&error), "error: `ROOT/nowhere` does not exist\n");
}
