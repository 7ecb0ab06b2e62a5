//! The built-in commands. Their specifications are the Markdown files under `specs/commands`, one a command:
//! `## title`, optionally a `toml` block of arguments, then `python` and `python after`, or `python unchanged`, and optionally the
//! expected notes in a `notes` block. Every case must also parse and stay as it is when the command runs again.

use std::path::{Path, PathBuf};

use grail_code::codemod::commands::{self, Arguments, CommandContext, CommandError, CommandResult};
use grail_code::{ModuleName, Semantic, Source, edit, parse_module};

#[derive(Default)]
struct Case {
    title: String,
    arguments: Vec<(String, String)>,
    before: Option<String>,
    after: Option<String>,
    notes: Option<Vec<String>>,
}

#[test]
fn every_command_has_a_specification_and_keeps_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/commands");
    let mut failures = Vec::new();
    let mut count = 0;
    for command in commands::ALL {
        let path = folder.join(format!("{}.md", command.name));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("`{}` has no specification: {error}", command.name));
        for case in read_cases(&text) {
            count += 1;
            if let Some(failure) = check(command.name, &case) {
                failures.push(format!("{}: {}\n{failure}", command.name, case.title));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} cases fail:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(count > 100, "only {count} cases were found");
}

fn read_cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            cases.push(Case { title: title.to_owned(), ..Case::default() });
        }
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let code: String = block.iter().map(|line| format!("{line}\n")).collect();
        let case = cases.last_mut().expect("a block stands below a title");
        match language {
            "toml" => {
                case.arguments = block
                    .iter()
                    .map(|line| {
                        let (name, value) = line.split_once(" = ").expect("`name = \"value\"`");
                        let value = value.trim_matches(if value.starts_with('\'') { '\'' } else { '"' });
                        (name.to_owned(), value.to_owned())
                    })
                    .collect();
            }
            "python" => case.before = Some(code),
            "python after" => case.after = Some(code),
            "python unchanged" => {
                case.before = Some(code.clone());
                case.after = Some(code);
            }
            "notes" => case.notes = Some(block.iter().map(|line| (*line).to_owned()).collect()),
            other => panic!("{}: unknown block `{other}`", case.title),
        }
    }
    cases
}

fn check(command: &str, case: &Case) -> Option<String> {
    let arguments: Vec<_> =
        case.arguments.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let before = case.before.as_deref().expect("a `python` block");
    let after = case.after.as_deref().expect("a `python after` block");
    let result = match run(command, before, &arguments) {
        Ok(result) => result,
        Err(error) => return Some(format!("error: {error}")),
    };
    if result.text != after {
        return Some(format!("--- expected\n{after}--- found\n{}--- notes\n{:?}", result.text, result.notes));
    }
    if let Some(notes) = &case.notes
        && *notes != result.notes
    {
        return Some(format!("--- expected notes\n{notes:#?}\n--- found\n{:#?}", result.notes));
    }
    if edit::apply(before, result.edits).as_deref() != Ok(after) {
        return Some("the edits do not make the text".to_owned());
    }
    if !parse_module(Source::from_text(after)).is_valid() {
        return Some("the result does not parse".to_owned());
    }
    match run(command, after, &arguments) {
        Ok(again) if again.edits.is_empty() => None,
        Ok(again) => Some(format!("a second run changes it to\n{}", again.text)),
        Err(error) => Some(format!("a second run fails: {error}")),
    }
}

fn run(command: &str, text: &str, arguments: &[(&str, &str)]) -> Result<CommandResult, CommandError> {
    let command = commands::find(command)?;
    let arguments = Arguments::new(command, arguments.iter().copied())?;
    let parsed = parse_module(Source::from_text(text));
    let semantic = Semantic::of_module(&parsed, ModuleName::module("shop.orders"));
    let context = CommandContext { parsed: &parsed, semantic: &semantic, path: "shop/orders.py" };
    commands::run(command, &context, &arguments)
}

#[test]
fn the_registry_is_sorted_by_name_without_repetition() {
    let names: Vec<_> = commands::ALL.iter().map(|command| command.name).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
}

/// The table against LibCST is written by hand; this keeps it complete.
#[test]
fn the_parity_table_names_every_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/libcst-parity.md");
    let table = std::fs::read_to_string(path).expect("the parity table");
    for command in commands::ALL {
        assert!(table.contains(&format!("`{}`", command.name)), "{} is missing", command.name);
        for name in command.libcst.into_iter().flat_map(|names| names.split(", ")) {
            let row = table.lines().find(|line| line.contains(&format!("`{name}`")));
            let row = row.unwrap_or_else(|| panic!("{name} is missing"));
            assert!(row.contains(command.name), "{name}: {row}");
        }
    }
}

#[test]
fn what_a_command_cannot_use_is_refused() {
    let message = |result: Result<CommandResult, CommandError>| result.unwrap_err().to_string();
    assert_eq!(message(run("nope", "", &[])), "there is no command `nope`");
    assert_eq!(message(run("noop", "", &[("x", "y")])), "`noop` has no argument `x`");
    assert_eq!(
        message(run("add-header-comment", "", &[])),
        "`add-header-comment` needs a value for `comment`"
    );
    assert_eq!(
        message(run("add-trailing-commas", "", &[("formatter", "gofmt")])),
        "`gofmt` is not a value for `formatter`: expected `black` or `yapf`"
    );
    assert_eq!(
        message(run("ensure-import-present", "", &[("module", "a b")])),
        "`import a b` is not a module or name that can be imported"
    );
}

/// Chains that lean left may be of any length; no command may walk them by recursion.
#[test]
fn hostile_chains_cost_no_command_its_stack() {
    let chain = |first: &str, link: &str| format!("{first}{}", link.repeat(20_000));
    let sources = [
        format!("import typing as t\nx = {}\n", chain("t", ".List")),
        format!("x = 1  # type: {}\n", chain("a", ".b")),
        format!("x: '{}'\n", chain("a", ".b")),
        format!("x = {}\n", chain("f", "(a, b)")),
        format!("x = {}\n", chain("'%s'", " % a")),
        format!("x = {}\n", chain("'{}'", ".format(a)")),
        format!("from typing import Optional\nx = Optional[{}]\n", chain("a", " | a")),
        format!("x = {}\n", chain("f'a'", " f'b'")),
    ];
    let run_all = move || {
        for source in sources {
            for command in commands::ALL {
                run(command.name, &source, sample_arguments(command.name)).expect("a result");
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(run_all);
    thread.expect("a thread").join().expect("no command overflows");
}

/// Values for the arguments that have no default.
fn sample_arguments(command: &str) -> &'static [(&'static str, &'static str)] {
    match command {
        "add-decorator" => &[("target", "test*"), ("decorator", "functools.cache"), ("import", "functools")],
        "add-header-comment" | "remove-header-comment" => &[("comment", "pyre-strict")],
        "convert-percent-format-string" => &[("assume-numbers", "true")],
        "ensure-import-present" => &[("module", "collections.abc"), ("entity", "Iterable")],
        "remove-decorator" => &[("decorator", "staticmethod")],
        "rename" => &[("old-name", "os.path.join"), ("new-name", "paths.joined")],
        _ => &[],
    }
}

/// Every command over a sample of the standard library: the result parses and a second run finds nothing to do.
#[test]
fn the_standard_library_survives_every_command() {
    let mut files = standard_library();
    if files.is_empty() {
        return;
    }
    files.sort();
    let step = files.len().div_ceil(sample_size());
    let mut failures = Vec::new();
    for path in files.iter().step_by(step) {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if !parse_module(Source::from_text(text.as_str())).is_valid() {
            continue;
        }
        for command in commands::ALL {
            let arguments = sample_arguments(command.name);
            let outcome = run(command.name, &text, arguments)
                .and_then(|first| run(command.name, &first.text, arguments).map(|second| (first, second)));
            match outcome {
                Err(error) => failures.push(format!("{}: {}: {error}", path.display(), command.name)),
                Ok((_, second)) if !second.edits.is_empty() => {
                    failures.push(format!("{}: {}: {:?}", path.display(), command.name, second.edits));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// How many files of the standard library to look at; `GRAIL_TEST_FILES` asks for more than the usual hundred.
fn sample_size() -> usize {
    std::env::var("GRAIL_TEST_FILES").ok().and_then(|count| count.parse().ok()).unwrap_or(100)
}

/// The Python files of the machine's standard library, or of the folder in `GRAIL_TEST_SOURCES`; none if there is no Python.
fn standard_library() -> Vec<PathBuf> {
    if let Some(folder) = std::env::var_os("GRAIL_TEST_SOURCES") {
        return python_files(PathBuf::from(folder));
    }
    let program = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
    let Ok(output) = std::process::Command::new("python3").args(["-c", program]).output() else {
        return Vec::new();
    };
    python_files(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn python_files(root: PathBuf) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("site-packages") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "py") {
                files.push(path);
            }
        }
    }
    files
}
