//! What a turn costs beside the model: disclosure, prompt, reading the answer, check, fix, proposal, in a project of 500 files.
//!
//! The model is a script that answers at once, and only Grail's own layers run. Prints medians; nothing is asserted.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark talks, and ends when it cannot")]

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{Surroundings, Workspace, tools};
use grail_model::{Scripted, Step, ToolCall};
use grail_project::Project;
use grail_rules::Layer;
use serde_json::json;
use tempfile::TempDir;

const FILES: usize = 500;
const ROUNDS: usize = 40;

fn main() {
    let folder = project();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut opening, mut compiling, mut first, mut second) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut making = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let workspace = open(&folder);
        opening.push(start.elapsed());
        compiling.push(runtime.block_on(generate(&workspace, vec![hand_in(GOOD)])));
        workspace.staging.clear();
        // Without a retry, with one: the difference is what one more turn costs.
        first.push(runtime.block_on(generate(&workspace, vec![hand_in(GOOD)])));
        workspace.staging.clear();
        second.push(runtime.block_on(generate(&workspace, vec![hand_in(BAD), hand_in(GOOD)])));
        workspace.staging.clear();
        let start = Instant::now();
        tools::for_generating(&workspace).unwrap();
        making.push(start.elapsed());
    }
    let (first, second) = (median(first), median(second));
    println!("{FILES} files, medians of {ROUNDS}");
    println!("open the workspace       {:8.2} ms", milliseconds(median(opening)));
    println!("make the tools           {:8.2} ms", milliseconds(median(making)));
    println!("the first proposal       {:8.2} ms, with compiling the rules", milliseconds(median(compiling)));
    println!("one turn to a proposal   {:8.2} ms", milliseconds(first));
    println!("one more turn            {:8.2} ms", milliseconds(second.saturating_sub(first)));
}

const GOOD: &str = "class CartService:\n    def __init__(self, *, prices: list[float]) -> None:\n        self._prices = prices\n\n    def total(self) -> float:\n        return sum(self._prices)\n";
const BAD: &str = "class CartService:\n    def total(self) -> float\n        return 0.0\n";

fn hand_in(code: &str) -> Step {
    let arguments =
        json!({"artifact_type": "service", "name": "CartService", "description": "", "code": code});
    Step::Call(vec![ToolCall { id: "1".to_owned(), name: "generate_artifact".to_owned(), arguments }])
}

async fn generate(workspace: &Arc<Workspace>, script: Vec<Step>) -> Duration {
    let model = Scripted::new(script);
    let tools = tools::for_generating(workspace).unwrap();
    let settings =
        GenerateSettings { layers: vec![Layer::Syntax, Layer::Rules], ..GenerateSettings::default() };
    let start = Instant::now();
    let work = Generation::start(workspace, &model, tools, "a cart service", settings, Company::default());
    work.await.unwrap().run().await.unwrap();
    start.elapsed()
}

fn open(folder: &TempDir) -> Arc<Workspace> {
    let project = Project::discover(folder.path()).unwrap();
    let surroundings = Surroundings::new(Some(folder.path().join("home")), "no-worker".into());
    Arc::new(Workspace::open(project, surroundings).unwrap())
}

fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("grail.toml"), "").unwrap();
    fs::write(
        folder.path().join("pyproject.toml"),
        "[project]\nname = \"shop\"\nversion = \"1\"\ndependencies = [\"svcs\", \"tdom\", \"pytest\"]\n",
    )
    .unwrap();
    for number in 0..FILES {
        let mut text = format!("\"\"\"Module {number}.\"\"\"\n\n");
        for part in 0..20 {
            let _ = write!(text, "\ndef part_{part}(*, value: int) -> int:\n    return value + {part}\n");
        }
        let package = folder.path().join(format!("src/shop/part_{}", number % 20));
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join(format!("module_{number}.py")), text).unwrap();
    }
    folder
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
