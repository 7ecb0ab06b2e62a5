//! What starts a script: uv, or a plain interpreter, or nothing that is there.

use std::fs;
use std::process::Command;

use grail_skills::runnable::{Needs, Runtime, choose_runtime};
use serde_json::json;

use crate::runnable_skill::{Scratch, settings, skip, told};

const MANIFEST: &str = "id = \"example\"\nname = \"Example\"\ndescription = \"An example.\"\n";

/// The template with another block of metadata, and `run` doing something else.
fn script(metadata: &str, body: &str) -> String {
    let template = fs::read_to_string(format!("{}/skill.py", crate::runnable_skill::TEMPLATES)).unwrap();
    let (_, rest) = template.split_once("# ///\n").unwrap();
    let marker = "    if not isinstance(input, dict)";
    assert!(rest.contains(marker));
    format!("# /// script\n{metadata}# ///\n{}", rest.replace(marker, &format!("    {body}\n{marker}")))
}

#[test]
fn packages_need_uv() {
    let metadata = "# dependencies = [\"httpx>=0.27\", \"rich\"]\n";
    let Some(scratch) = Scratch::made_of("example", &script(metadata, "pass"), MANIFEST) else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `example` needs the packages `httpx>=0.27`, `rich`, and there is no uv to fetch them\n\
         hint: install uv: https://docs.astral.sh/uv/getting-started/installation/"
    );
}

#[test]
fn a_python_that_nobody_has_is_named() {
    let metadata = "# requires-python = \">=3.99\"\n";
    let Some(scratch) = Scratch::made_of("example", &script(metadata, "pass"), MANIFEST) else { return };
    let told = scratch.failure(json!({}));
    assert_eq!(
        told.lines().next().unwrap(),
        "the skill `example` needs Python >=3.99, and there is none here"
    );
    assert!(told.contains("\nhint: found are `3."), "{told}");
}

#[test]
fn the_third_number_of_a_version_counts_where_it_is_named() {
    let metadata = "# requires-python = \">=3.11,!=3.11.*,!=3.12.*,!=3.13.*,!=3.14.*,<=3.10.0\"\n";
    let Some(scratch) = Scratch::made_of("example", &script(metadata, "pass"), MANIFEST) else { return };
    assert!(scratch.failure(json!({})).contains("and there is none here"));
    let manifest = format!("{MANIFEST}min_python = \"3.10.0\"\n");
    let script = script("# requires-python = \">=3.11.0\"\n", "pass");
    let Some(scratch) = Scratch::made_of("example", &script, &manifest) else { return };
    assert_eq!(scratch.invoke(json!({"text": ""})).unwrap().answer.output, json!({"words": 0}));
}

#[test]
fn what_a_script_does_not_list_is_not_there() {
    let body = "import pip";
    let Some(scratch) = Scratch::made_of("example", &script("#\n", body), MANIFEST) else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `example` answers `skill.invoke` with an error: \
         ModuleNotFoundError: No module named 'pip' (-32000)"
    );
}

#[test]
fn files_beside_the_script_can_be_imported() {
    let body = "import beside; return beside.VALUE";
    let Some(scratch) = Scratch::made_of("example", &script("#\n", body), MANIFEST) else { return };
    fs::write(scratch.skill.folder.join("beside.py"), "VALUE = 'found'\n").unwrap();
    assert_eq!(scratch.invoke(json!({})).unwrap().answer.output, json!("found"));
}

#[test]
fn uv_starts_skills_where_there_is_one() {
    let Some(scratch) = with_uv(Scratch::template()) else { return };
    let invocation = scratch.invoke(json!({"text": "one two three"})).unwrap();
    assert_eq!(invocation.answer.output, json!({"words": 3}));
}

#[test]
fn a_uv_that_is_too_old_is_refused() {
    let manifest = format!("{MANIFEST}min_uv_version = \"999.0\"\n");
    let Some(scratch) = with_uv(Scratch::made_of("example", &script("#\n", "pass"), &manifest)) else {
        return;
    };
    let told = scratch.failure(json!({}));
    assert!(told.starts_with("the skill `example` needs uv 999.0 or newer; this is uv 0."), "{told}");
}

#[test]
fn uv_fetches_packages_and_the_script_runs_without_network() {
    let Some(scratch) = with_uv(Scratch::template()) else { return };
    // A package in a file, so that nothing is downloaded.
    let wheel = scratch.skill.folder.join("tiny_thing-0.1-py3-none-any.whl");
    let make = "import sys, zipfile\n\
                with zipfile.ZipFile(sys.argv[1], 'w') as wheel:\n    \
                    info = 'tiny_thing-0.1.dist-info/'\n    \
                    wheel.writestr('tiny_thing.py', 'VALUE = 42\\n')\n    \
                    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny-thing\\nVersion: 0.1\\n')\n    \
                    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n    \
                    wheel.writestr(info + 'RECORD', '')\n";
    let python = grail_project::find_interpreters(None).remove(0).executable;
    assert!(Command::new(python).args(["-I", "-c", make]).arg(&wheel).status().unwrap().success());
    let url = format!("file://{}", fs::canonicalize(&wheel).unwrap().display());
    let metadata = format!("# requires-python = \">=3.11\"\n# dependencies = [\"tiny-thing @ {url}\"]\n");
    let body = "import tiny_thing; return tiny_thing.VALUE";
    fs::write(scratch.skill.script(), script(&metadata, body)).unwrap();
    let skill = grail_skills::runnable::RunnableSkill::open(&scratch.skill.folder).unwrap();
    let scratch = Scratch { skill, ..scratch };
    let invocation =
        scratch.invoke(json!({})).unwrap_or_else(|problem| panic!("{}\n{}", told(&problem), problem.stderr));
    assert_eq!(invocation.answer.output, json!(42));
}

#[test]
fn packages_that_cannot_be_fetched_are_reported_in_the_words_of_uv() {
    let metadata = "# dependencies = [\"tiny-thing @ file:///nowhere/tiny_thing-0.1-py3-none-any.whl\"]\n";
    let Some(scratch) = with_uv(Scratch::made_of("example", &script(metadata, "pass"), MANIFEST)) else {
        return;
    };
    let told = scratch.failure(json!({}));
    assert!(
        told.starts_with(
            "the skill `example` could not get its packages: uv ended with code 1\nhint: uv says `"
        ),
        "{told}"
    );
}

/// With uv, if there is one.
fn with_uv(scratch: Option<Scratch>) -> Option<Scratch> {
    let mut scratch = scratch?;
    let mut settings = settings(scratch.folder.path());
    settings.start.surroundings.with_uv = true;
    settings.start.surroundings.project_root = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into());
    match choose_runtime(&Needs::default(), &settings.start.surroundings) {
        Ok(Runtime::Uv { .. }) => {}
        _ => {
            skip("there is no uv on PATH or in .venv to start skills with");
            return None;
        }
    }
    scratch.settings = settings;
    Some(scratch)
}
