//! Every tool alone, over a real project.

mod check;
mod code;
mod commands;
mod files;
mod git;
mod layers;
mod navigation;
mod skills;
mod validators;

use std::path::Path;
use std::sync::Arc;

use grail_agent::tools::{effect, is_read_only, needs_approval, toolset};
use grail_agent::{CodeMode, Workspace};
use grail_sandbox::{ToolError, Toolset};
use serde_json::{Value as Json, json};

use crate::sample::Sample;

/// The shop that most of these tests are about.
pub(super) const SHOP: [(&str, &str); 4] = [
    ("shop/__init__.py", ""),
    (
        "shop/core.py",
        "\
\"\"\"What the shop sells.\"\"\"


class Order:
    \"\"\"Things that somebody buys.\"\"\"

    def total(self, rate: float = 0.19) -> float:
        return 1.0 + rate


def price(order: Order) -> float:
    \"\"\"What it costs.

    With taxes.
    \"\"\"
    return order.total()
",
    ),
    (
        "shop/web.py",
        "from shop.core import Order, price\n\n\ndef show() -> str:\n    return str(price(Order()))\n",
    ),
    ("README.md", "# Shop\n"),
];

/// A project with the tools of the repository as its own; says so and gives `None` where they are missing.
pub(super) fn with_tools(tool: &str, files: &[(&str, &str)]) -> Option<Bench> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    if !venv.join("bin").join(tool).is_file() {
        eprintln!("skipped: no `{tool}` in the repository's .venv; scripts/venv makes it");
        return None;
    }
    let sample = Sample::new(files);
    #[cfg(unix)]
    std::os::unix::fs::symlink(venv.canonicalize().unwrap(), sample.root().join(".venv")).unwrap();
    Some(Bench::over(sample))
}

pub(super) struct Bench {
    pub(super) sample: Sample,
    pub(super) tools: Toolset,
}

impl Bench {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        Self::over(Sample::new(files))
    }

    pub(super) fn over(sample: Sample) -> Self {
        let tools = toolset(&sample.workspace).unwrap();
        Self { sample, tools }
    }

    pub(super) fn shop() -> Self {
        Self::new(&SHOP)
    }

    pub(super) async fn call(&self, tool: &str, arguments: Json) -> Result<Json, ToolError> {
        let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.tools.call_with(tool, arguments).await
    }

    pub(super) async fn ok(&self, tool: &str, arguments: Json) -> Json {
        self.call(tool, arguments).await.unwrap()
    }

    /// What the tool says when it fails.
    pub(super) async fn err(&self, tool: &str, arguments: Json) -> String {
        self.call(tool, arguments).await.unwrap_err().message
    }

    pub(super) fn workspace(&self) -> &Arc<Workspace> {
        &self.sample.workspace
    }

    pub(super) fn staged(&self, path: &str) -> Option<String> {
        self.workspace().staging.staged().remove(path).flatten()
    }
}

#[test]
fn every_tool_has_an_effect_and_a_description_of_every_argument() {
    let bench = Bench::shop();
    for tool in bench.tools.tools() {
        let name = tool.name();
        assert!(effect(name).is_some(), "`{name}` is not in the table of effects");
        assert_eq!(bench.tools.needs_approval(name), needs_approval(name), "{name}");
        assert!(tool.signature().doc.as_deref().is_some_and(|doc| doc.ends_with('.')), "{name}");
        assert!(tool.signature().result().is_some(), "{name}");
    }
}

#[test]
fn what_cannot_be_taken_back_asks_and_only_reading_is_read_only() {
    assert!(needs_approval("delete_file") && !needs_approval("write_file"));
    assert!(is_read_only("read_file") && !is_read_only("write_file") && !is_read_only("delete_file"));
    assert!(needs_approval("format_disk"), "what nobody knows is asked about");
    assert!(is_read_only("cst_validate_anything"));
}

#[tokio::test]
async fn one_program_calls_several_tools() {
    let bench = Bench::shop();
    let code = CodeMode::start(bench.workspace(), bench.tools.clone()).await.unwrap();
    let program = r#"
names = [symbol.name for symbol in document_symbols("shop/core.py").symbols]
renamed = cst_rename("shop/core.py", "price", "cost")
written = write_file("shop/new.py", "from shop.core import cost\n")
left = check(["shop/new.py"])
try:
    delete_file("README.md")
except PermissionError as error:
    print(error)
{"names": names, "files": renamed.files, "change": written.change, "problems": len(left.problems)}
"#;
    let asked = std::sync::Mutex::new(Vec::new());
    let refuse = |tool: &str, arguments: &Json| {
        asked.lock().unwrap().push((tool.to_owned(), arguments.clone()));
        false
    };
    let told = code.run(program, &refuse).await;
    assert_eq!(*asked.lock().unwrap(), [("delete_file".to_owned(), json!({"path": "README.md"}))]);
    assert_eq!(
        told,
        json!({
            "printed": "`delete_file` needs a person's approval, and it was not given; go on without it\n",
            "value": {"names": ["Order", "total", "price"], "files": ["shop/core.py", "shop/web.py"], "change": "created", "problems": 0}
        })
    );
    assert_eq!(
        bench.staged("shop/web.py").unwrap().lines().next(),
        Some("from shop.core import Order, cost")
    );
    assert_eq!(bench.sample.read("shop/new.py"), None);
}

#[tokio::test]
async fn a_program_that_does_not_fit_the_stubs_is_not_run() {
    let bench = Bench::shop();
    let code = CodeMode::start(bench.workspace(), bench.tools.clone()).await.unwrap();
    let told = code.run("write_file('a.py', 'x')\nread_file(path=1)\n", &|_, _| true).await;
    assert!(told["error"].to_string().contains("read_file"), "{told}");
    assert!(bench.workspace().staging.is_empty());
}

#[tokio::test]
async fn stubs_show_what_fields_mean() {
    let bench = Bench::shop();
    let code = CodeMode::start(bench.workspace(), bench.tools.clone()).await.unwrap();
    let stubs = code.stubs();
    let part = stubs.split("class FileText").nth(1).unwrap().split("\n\n").next().unwrap();
    insta::assert_snapshot!(part, @r#"
    :
        """A file, or a part of it."""
        path: str
        text: str
        # The first line of the text, from 1.
        line: int
        # Lines of the whole file.
        total_lines: int
        # The line to go on with, if there is more.
        next_line: int | None
        # Whether this is what the proposal would write, not what is on disk.
        is_staged: bool
    "#);
    let part = stubs.split("def read_file").nth(1).unwrap().split("\ndef ").next().unwrap();
    insta::assert_snapshot!(part, @r#"
    (path: str, line: int | None = None, lines: int | None = None) -> FileText:
        """Read a file of the project, or a part of it.

        path: The file, below the project's root.
        line: The first line, from 1.
        lines: How many lines; as many as fit if it is not said.
        """
    "#);
}

#[tokio::test]
async fn a_program_is_one_tool_among_others_and_only_reads() {
    let sample = Sample::new(&[("shop.py", "TAX = 0.2\n")]);
    let tools = toolset(&sample.workspace).unwrap();
    let run = async |code: &str| {
        let arguments = json!({"code": code}).as_object().unwrap().clone();
        tools.call_with("execute_code", arguments).await.unwrap()
    };
    let answer = run("print(len(list_files().files))\nread_file('shop.py').text").await;
    assert_eq!(answer["value"], "TAX = 0.2\n");
    assert_eq!(answer["error"], json!(null));
    let answer = run("write_file('shop.py', '')").await;
    assert_eq!(answer["error"]["outcome"], "type-errors");
    assert!(sample.workspace.staging.is_empty());
}
