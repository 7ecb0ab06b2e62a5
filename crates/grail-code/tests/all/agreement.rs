//! `grail_tree.py` does what the Rust functions do: on CPython, and in the sandbox's own interpreter.
//!
//! The cases are made mechanically from a corpus that has every kind of node: every list item taken out, every optional field emptied,
//! something new put into every list.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use grail_code::data::{
    Change, DataError, Visit, code_of, codegen, deep_equals, docstring, findall, matches, remove, replace,
    transform, tree, visit,
};
use grail_code::tree::Arity;
use grail_code::{Kind, Source, parse_module};
use serde_json::{Value, json};

const CORPUS: &str = include_str!("../corpus/everything.py");

pub(crate) fn snippets() -> impl Iterator<Item = &'static str> {
    CORPUS.split_inclusive("# ---\n")
}

fn data(text: &str) -> Value {
    tree(&parse_module(Source::from_text(text))).expect("not too deep")
}

/// A changed tree, and what was changed.
struct Mutant {
    tree: Value,
    what: String,
}

/// Every item of every list removed, every optional field emptied, a name put into every list.
fn mutants(tree: &Value) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let mut work = vec![(String::new(), tree)];
    while let Some((pointer, value)) = work.pop() {
        let Some(kind) = value["type"].as_str().and_then(Kind::from_name) else { continue };
        for spec in kind.fields() {
            let name = spec.field.name();
            let place = format!("{pointer}/{name}");
            let field = &value[name];
            let mut add = |what: String, change: &dyn Fn(&mut Value)| {
                let mut changed = tree.clone();
                change(changed.pointer_mut(&place).expect("the field"));
                mutants.push(Mutant { tree: changed, what: format!("{what} {}.{name}", kind.name()) });
            };
            match field {
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        add(format!("remove {index} of"), &|list| {
                            drop(list.as_array_mut().expect("a list").remove(index))
                        });
                        work.push((format!("{place}/{index}"), item));
                    }
                    add("empty".to_owned(), &|list| *list = json!([]));
                    let new = json!({"type": "Name", "id": "new"});
                    for index in [0, items.len()] {
                        add(format!("insert at {index} of"), &|list| {
                            list.as_array_mut().expect("a list").insert(index, new.clone());
                        });
                    }
                }
                Value::Object(_) => {
                    if spec.arity == Arity::Optional {
                        add("empty".to_owned(), &|field| *field = Value::Null);
                    }
                    work.push((place, field));
                }
                _ => {}
            }
        }
    }
    mutants
}

/// What Python's own rules forbid, however it is printed.
fn may_be_invalid(what: &str) -> bool {
    let (action, place) = what.rsplit_once(' ').expect("an action and a place");
    let needs_company = [
        "Parameters.params",
        "Parameter.default",
        "TypeVar.default",
        "ExceptHandler.exc",
        "Try.handlers",
        "DictComp.key",
        "DictItem.key",
        "Keyword.arg",
        "TypeParams.params",
        "MatchOr.patterns",
        "MatchAs.pattern",
        "MatchAs.name",
        "MatchClass.patterns",
        "MatchSequence.patterns",
        "FString.parts",
        "TString.parts",
        "FormatSpec.parts",
        "ConcatenatedString.parts",
        "BoolOp.values",
        "Call.args",
        "ClassDef.bases",
        "FunctionDef.returns",
    ];
    if action.starts_with("insert") {
        // A name is not an alias, a decorator, a comparison …; only lists of expressions and statements are asked to stay valid.
        return !["List.elts", "Set.elts", "Tuple.elts", "Delete.targets", "Global.names"].contains(&place)
            && !place.ends_with(".body");
    }
    needs_company.contains(&place)
}

#[test]
fn the_corpus_is_valid_and_has_every_kind() {
    let parsed = parse_module(Source::from_text(CORPUS));
    assert_eq!(parsed.diagnostics(), []);
    let missing: Vec<&str> = Kind::ALL
        .iter()
        .filter(|kind| parsed.nodes_of(**kind).next().is_none())
        .map(|kind| kind.name())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert_eq!(codegen(&data(CORPUS)), CORPUS);
}

#[test]
fn whatever_is_taken_out_the_rest_is_valid() {
    let mut count = 0;
    let mut broken = Vec::new();
    for text in snippets() {
        for mutant in mutants(&data(text)) {
            count += 1;
            let printed = codegen(&mutant.tree);
            let parsed = parse_module(Source::from_text(printed.clone()));
            if !parsed.is_valid() && !may_be_invalid(&mutant.what) {
                let message = &parsed.diagnostics()[0].message;
                let line = printed
                    .lines()
                    .nth(parsed.diagnostics()[0].start.line as usize - 1)
                    .unwrap_or_default()
                    .to_owned();
                broken.push(format!("{}: {message}: {line}", mutant.what));
            }
        }
    }
    assert!(broken.is_empty(), "{} of {count}:\n{}", broken.len(), broken.join("\n"));
    assert!(count > 1000, "{count}");
}

/// Cases and what the Rust side makes of them, made once for both engines.
static CASES: LazyLock<(Vec<Value>, Vec<Value>)> = LazyLock::new(|| cases().into_iter().unzip());

fn cases() -> Vec<(Value, Value)> {
    let mut cases = Vec::new();
    for text in snippets() {
        let tree = data(text);
        for mutant in mutants(&tree) {
            cases.push((json!({"op": "codegen", "tree": mutant.tree}), codegen(&mutant.tree).into()));
        }
        // A tree per case is much to read for the interpreters: a sample does.
        for id in (1..tree_size(&tree)).step_by(6) {
            let new = json!({"type": "IfExp", "body": "a", "test": "b", "orelse": "c"});
            let printed = |result: Result<Value, DataError>| match result {
                Ok(tree) => codegen(&tree),
                Err(error) => format!("error: {error}"),
            };
            cases.push((
                json!({"op": "remove", "tree": tree, "id": id}),
                printed(remove(tree.clone(), id)).into(),
            ));
            let replaced = printed(replace(tree.clone(), id, new.clone()));
            cases.push((json!({"op": "replace", "tree": tree, "id": id, "new": new}), replaced.into()));
        }
        for node in findall(&tree, &json!({})).into_iter().step_by(5) {
            cases.push((json!({"op": "code_of", "tree": node}), code_of(node).into()));
            cases.push((json!({"op": "docstring", "tree": node}), docstring(node).into()));
            cases.push((
                json!({"op": "deep_equals", "tree": node, "other": tree}),
                deep_equals(node, &tree).into(),
            ));
        }
        for pattern in [
            json!({"type": "Name"}),
            json!({"type": "Call", "func": "f", "args": ["a"]}),
            json!({"type": "Name", "id": "a", "ctx": "load"}),
            json!({"type": "FunctionDef", "returns": null, "is_async": false}),
            json!({"type": "Attribute", "value": {"type": "Name"}}),
        ] {
            let found: Vec<String> = findall(&tree, &pattern).into_iter().map(code_of).collect();
            cases.push((json!({"op": "findall", "tree": tree, "pattern": pattern}), found.into()));
            let node = &tree["body"][0];
            cases.push((
                json!({"op": "matches", "tree": node, "pattern": pattern}),
                matches(node, &pattern).into(),
            ));
        }
        let mut seen = Vec::new();
        visit(&tree, |node| {
            seen.push(node["type"].clone());
            if node["type"] == "Assign" { Visit::Skip } else { Visit::Children }
        });
        cases.push((json!({"op": "visit", "tree": tree, "skip": "Assign"}), Value::Array(seen)));
        for actions in [
            json!({"Call": "remove", "Assign": ["one()", "two()"], "Name": "renamed + 1"}),
            json!({"Alias": "remove", "Pass": "remove", "Keyword": "remove", "Decorator": "remove", "Starred": []}),
            json!({"Name": ["a", "b"]}),
        ] {
            let result = transform(tree.clone(), |node| {
                match actions.get(node["type"].as_str().unwrap_or_default()) {
                    None => Change::Keep,
                    Some(Value::Array(items)) => Change::Flatten(items.clone()),
                    Some(Value::String(action)) if action == "remove" => Change::Remove,
                    Some(new) => Change::Replace(new.clone()),
                }
            });
            let printed = result.map_or_else(|error| format!("error: {error}"), |tree| codegen(&tree));
            cases.push((json!({"op": "transform", "tree": tree, "actions": actions}), printed.into()));
        }
    }
    cases
}

fn tree_size(tree: &Value) -> u64 {
    findall(tree, &json!({})).len() as u64
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
fn python_agrees() {
    let Some(python) = find_python() else {
        eprintln!("SKIPPED: no `python3` (3.11 or newer) on PATH to run grail_tree.py with");
        return;
    };
    check_agreement(&python, "cpython");
    check_guide(&python, "cpython");
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
fn the_sandbox_agrees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = Command::new(root.join("scripts/venv")).output();
    let python = root.join(".venv/bin/python");
    let asked = Command::new(&python).args(["-c", "import pydantic_monty"]).output();
    if !asked.is_ok_and(|run| run.status.success()) {
        eprintln!("SKIPPED: `scripts/venv` could not install the sandbox: {made:?}");
        return;
    }
    check_agreement(&python, "monty");
    check_guide(&python, "monty");
}

fn find_python() -> Option<PathBuf> {
    let is_recent = "import sys; sys.exit(sys.version_info < (3, 11))";
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
        .into_iter()
        .find(|python| {
            Command::new(python).args(["-c", is_recent]).output().is_ok_and(|run| run.status.success())
        })
        .map(PathBuf::from)
}

fn check_agreement(python: &Path, engine: &str) {
    let (cases, expected) = &*CASES;
    let results = run_python(python, "agree.py", engine, cases);
    assert_eq!(results.len(), expected.len());
    for ((case, result), expected) in cases.iter().zip(&results).zip(expected) {
        assert_eq!(result, expected, "{engine} {}: {}", case["op"], codegen(&case["tree"]));
    }
}

/// Runs the examples of the guide: each block of Python, and the block that says what its last line evaluates to.
fn check_guide(python: &Path, engine: &str) {
    let guide = include_str!("../../../../docs/guides/tree-as-data.md").replace("\r\n", "\n");
    let blocks: Vec<(&str, &str)> = guide
        .split("```python")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next()?.split_once('\n'))
        .map(|(label, code)| (label.trim(), code))
        .collect();
    let source = blocks.iter().find(|(label, _)| *label == "source").expect("the file").1;
    let tree = data(&format!("{source}\n"));
    let examples: Vec<&str> =
        blocks.iter().filter(|(label, _)| label.is_empty()).map(|(_, code)| *code).collect();
    let expected: Vec<&str> =
        blocks.iter().filter(|(label, _)| *label == "result").map(|(_, code)| *code).collect();
    assert_eq!((examples.len(), expected.len()), (5, 5));
    let cases: Vec<Value> = examples
        .iter()
        .map(|code| {
            let (before, value) = code.rsplit_once('\n').unwrap_or(("", code));
            json!({"tree": tree, "code": before, "value": value})
        })
        .collect();
    assert_eq!(run_python(python, "guide.py", engine, &cases), expected);
}

fn run_python(python: &Path, script: &str, engine: &str, cases: &[Value]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cases.json");
    std::fs::write(&file, serde_json::to_vec(cases).expect("JSON")).expect("written");
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = Command::new(python)
        .arg(crate_root.join("tests/python").join(script))
        .arg(engine)
        .arg(crate_root.join("python/grail_tree.py"))
        .arg(&file)
        .output()
        .expect("Python starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).expect("JSON")
}
