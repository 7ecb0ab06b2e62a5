//! `grail.toml`: defaults, mistakes with their place, and where a project begins.

use grail_project::{
    Config, EventSettings, ModelMode, Project, SyncPolicy, TargetVersion, find_root, init_project,
    load_config,
};

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
fn models_are_read() {
    let scratch = Scratch::new(&[(
        "grail.toml",
        "\
[generate]
model = \"local\"

[models.local]
url = \"http://127.0.0.1:11434/v1\"

[models.hosted]
url = \"https://models.example/v1\"
model = \"large-2\"
aliases = [\"large-2-eu\"]
key-env = \"MODELS_EXAMPLE_KEY\"
timeout = 60
total-timeout = 600
retries = 4
context-tokens = 128000
temperature = 0.2
max-tokens = 4096
input-price = 3
output-price = 15.5
mode = \"code\"
",
    )]);
    let config = load_config(scratch.root()).unwrap();
    assert_eq!(config.generate.model.as_deref(), Some("local"));
    let local = &config.models["local"];
    assert_eq!(
        (local.url.as_deref(), &local.model, local.mode),
        (Some("http://127.0.0.1:11434/v1"), &None, ModelMode::Auto)
    );
    let hosted = &config.models["hosted"];
    assert_eq!(hosted.model.as_deref(), Some("large-2"));
    assert_eq!(hosted.aliases, ["large-2-eu"]);
    assert_eq!(hosted.key_env.as_deref(), Some("MODELS_EXAMPLE_KEY"));
    assert_eq!((hosted.timeout, hosted.total_timeout, hosted.retries), (Some(60), Some(600), Some(4)));
    assert_eq!((hosted.context_tokens, hosted.max_tokens), (Some(128_000), Some(4096)));
    assert_eq!(
        (hosted.temperature, hosted.input_price, hosted.output_price),
        (Some(0.2), Some(3.0), Some(15.5))
    );
    assert_eq!(hosted.mode, ModelMode::Code);
}

#[test]
fn mistakes_about_models_are_pointed_at() {
    let head = "[models.local]\nurl = \"http://localhost/v1\"\n";
    let texts = [
        format!("{head}api-key = \"…\"\n"),
        format!("{head}timeot = 3\n"),
        "[models.local]\nmodel = \"qwen3\"\n".to_owned(),
        format!("{head}temperature = 3.5\n"),
        format!("{head}timeout = 0\n"),
        format!("{head}output-price = nan\n"),
        format!("{head}mode = \"fast\"\n"),
        "[models.template]\nurl = \"http://localhost/v1\"\n".to_owned(),
        "[models.\"a/b\"]\nurl = \"http://localhost/v1\"\n".to_owned(),
        "[generate]\nmodl = \"local\"\n".to_owned(),
    ];
    let reports = texts.map(|text| {
        let scratch = Scratch::new(&[("grail.toml", &text)]);
        scratch.report(&load_config(scratch.root()).expect_err("the configuration is wrong"))
    });
    insta::assert_snapshot!(reports.join("\n"), @r#"
    error: `ROOT/grail.toml:3:1`: unknown key `api-key`
      |
    3 | api-key = "…"
      | ^^^^^^^
    hint: known here: `url`, `weights`, `adapter`, `threads`, `model`, `aliases`, `key-env`, `timeout`, `total-timeout`, `retries`, `context-tokens`, `temperature`, `max-tokens`, `input-price`, `output-price`, `mode`

    error: `ROOT/grail.toml:3:1`: unknown key `timeot`
      |
    3 | timeot = 3
      | ^^^^^^
    hint: did you mean `timeout`?

    error: `ROOT/grail.toml:1:1`: a model needs a `url`, or `weights` if it is on this machine
      |
    1 | [models.local]
      | ^^^^^^^^^^^^^^

    error: `ROOT/grail.toml:3:15`: 3.5 is out of range: 0 to 2
      |
    3 | temperature = 3.5
      |               ^^^

    error: `ROOT/grail.toml:3:11`: 0 is out of range: 1 to 86400
      |
    3 | timeout = 0
      |           ^

    error: `ROOT/grail.toml:3:16`: NaN is out of range: 0 to 1000000
      |
    3 | output-price = nan
      |                ^^^

    error: `ROOT/grail.toml:3:8`: unknown variant `fast`, expected one of `auto`, `direct`, `code`, `answer`
      |
    3 | mode = "fast"
      |        ^^^^^^

    error: `ROOT/grail.toml:1:9`: `template` is the name of a model that comes with Grail
      |
    1 | [models.template]
      |         ^^^^^^^^

    error: `ROOT/grail.toml:1:9`: `a/b` is no name for a model
      |
    1 | [models."a/b"]
      |         ^^^^^

    error: `ROOT/grail.toml:2:1`: unknown key `modl`
      |
    2 | modl = "local"
      | ^^^^
    hint: did you mean `model`?
    "#);
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
hint: known here: `project`, `code`, `sandbox`, `check`, `policies`, `generate`, `events`, `train`, `learn`, `models`
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

#[test]
fn what_is_remembered_is_read() {
    let scratch = Scratch::new(&[("grail.toml", "[events]\nenabled = false\nsync = \"always\"\n")]);
    let config = load_config(scratch.root()).unwrap();
    assert_eq!(config.events, EventSettings { enabled: false, sync: SyncPolicy::Always });
    assert_eq!(Config::default().events, EventSettings { enabled: true, sync: SyncPolicy::Group });
}

#[test]
fn mistakes_about_events_are_pointed_at() {
    let reports = ["[events]\nenable = false\n", "[events]\nsync = \"sometimes\"\n"].map(|text| {
        let scratch = Scratch::new(&[("grail.toml", text)]);
        scratch.report(&load_config(scratch.root()).expect_err("the configuration is wrong"))
    });
    insta::assert_snapshot!(reports.join("\n"), @r#"
    error: `ROOT/grail.toml:2:1`: unknown key `enable`
      |
    2 | enable = false
      | ^^^^^^
    hint: did you mean `enabled`?

    error: `ROOT/grail.toml:2:8`: unknown variant `sometimes`, expected one of `group`, `always`, `never`
      |
    2 | sync = "sometimes"
      |        ^^^^^^^^^^^
    "#);
}
