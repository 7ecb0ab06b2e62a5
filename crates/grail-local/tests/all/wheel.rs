//! The whole wheel with both programs and a toy that learns nothing much: work, dataset, training, evaluation, and a gate that refuses.
//!
//! `grail` is another package, so it is the one beside `grail-local`: building the workspace makes both.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::Toy;

struct Stand {
    grail: PathBuf,
    home: TempDir,
    toy: TempDir,
}

impl Stand {
    /// Nothing if there is no `grail`, which is said; where everything is tested, there has to be one.
    #[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
    fn find() -> Option<Self> {
        let grail = Path::new(env!("CARGO_BIN_EXE_grail-local")).with_file_name("grail");
        if !grail.is_file() {
            assert!(env::var_os("CI").is_none(), "there is no `{}`", grail.display());
            eprintln!(
                "SKIPPED: there is no `grail` beside `grail-local`; `cargo test --workspace` builds both"
            );
            return None;
        }
        let toy = Toy { positions: 32_768, ..Toy::default() }.write();
        Some(Self { grail, home: tempfile::tempdir().unwrap(), toy })
    }

    fn run(&self, folder: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.grail);
        command.args(arguments).current_dir(self.home.path().join(folder));
        command.env("HOME", self.home.path()).env("GRAIL_NO_KEYRING", "1");
        command.env("GRAIL_LOCAL_PROGRAM", env!("CARGO_BIN_EXE_grail-local"));
        command.output().unwrap()
    }

    /// What a command says to machines, and how it ended.
    fn json(&self, arguments: &[&str]) -> (Json, i32) {
        let output = self.run("shop", &[arguments, &["--format", "json"]].concat());
        let said = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{arguments:?}: {error}\n{}", String::from_utf8_lossy(&output.stderr))
        });
        (said, output.status.code().unwrap())
    }
}

#[test]
fn a_toy_is_trained_asked_and_not_promoted() {
    let Some(stand) = Stand::find() else { return };
    let work = stand.run("", &["demo", "--folder", "shop"]);
    assert!(work.status.success(), "{}", String::from_utf8_lossy(&work.stderr));
    // One token is one byte here, so what a model is told about a skill is long.
    let settings = stand.home.path().join("shop/grail.toml");
    let toy = stand.toy.path().display();
    let model = format!("\n[models.toy]\nweights = '{toy}'\ncontext-tokens = 16384\n");
    fs::write(&settings, fs::read_to_string(&settings).unwrap() + &model).unwrap();

    let train = ["train", "--model", "toy", "--iterations", "3", "--batch-size", "2", "--max-tokens", "8192"];
    let (trained, exit) = stand.json(&train);
    assert_eq!(exit, 0, "{trained:#}");
    let phase = &trained["phase"];
    assert_eq!(phase["state"]["state"], "trained");
    let losses: Vec<f64> =
        phase["curves"].as_array().unwrap().iter().filter_map(|point| point["loss"].as_f64()).collect();
    assert!(losses.len() >= 3 && losses.iter().all(|loss| loss.is_finite()), "{losses:?}");
    let asked = phase["curves"].as_array().unwrap().iter().filter_map(|point| point["passed"].as_f64());
    assert_eq!(asked.collect::<Vec<_>>(), [0.0; 3], "every checkpoint was asked, and a toy writes no Python");
    let (base, adapter) = phase["identity"].as_str().unwrap().split_once('+').unwrap();
    assert!(base.len() == 16 && adapter.len() == 16, "{base} {adapter}");

    let asking = ["--suite", "quick", "--seeds", "1", "--max-tokens", "16", "--no-types", "--no-render"];
    let (asked, exit) = stand.json(&[&["eval", "p1"][..], &asking].concat());
    assert_eq!(exit, 0, "{asked:#}");
    let arms = asked["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 3, "the phase, its base, and its base with the text of the skills");
    for arm in arms {
        assert_eq!(arm["score"]["answers"], 40);
        assert_eq!(arm["score"]["all"]["first_try"]["passed"], 0, "a toy writes no Python");
    }

    // Everything was asked before, so this is quick; and nothing is better than nothing.
    let (weighed, exit) = stand.json(&[&["promote", "p1"][..], &asking].concat());
    assert_eq!(exit, 1, "{weighed:#}");
    let (listed, _) =
        stand.json(&["generate", "a tide table view with port and height", "--layer", "syntax"]);
    assert_eq!(listed["proposal"]["model"]["name"], "template", "what was not promoted does not answer");
}
