//! Suites from files: TOML or JSON, in the project or built in.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Suite, SuitePrompt, builtin, builtin_names};
use crate::FlywheelError;
use crate::dataset::chat::is_forbidden;

/// Where a project has suites of its own, nearest first.
const FOLDERS: [&str; 2] = [SUITES_FOLDER, "evals"];
const SUITES_FOLDER: &str = ".grail/suites";
const MAX_BYTES: u64 = 4 * 1024 * 1024;
const MAX_PROMPTS: usize = 5_000;
const MAX_PROMPT_BYTES: usize = 8 * 1024;

/// What a file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    prompts: Vec<SuitePrompt>,
}

/// The suite of this name: a project's own before a built-in one. A path to a file will do as well.
pub fn load_suite(root: &Path, name: &str) -> Result<Suite, FlywheelError> {
    let files = suite_files(root)?;
    for file in &files {
        if file.file_stem().is_some_and(|stem| stem == name) {
            return read_file(file);
        }
    }
    if let Some(suite) = builtin(name) {
        return suite;
    }
    // Whoever names a file is told what is wrong with it, also where it does not look like a suite.
    let named = FOLDERS
        .iter()
        .flat_map(|folder| ["toml", "json"].map(|ending| root.join(folder).join(format!("{name}.{ending}"))));
    if let Some(path) = named.chain([root.join(name)]).find(|path| is_suite_file(path) && path.is_file()) {
        return read_file(&path);
    }
    let mut known: Vec<String> =
        files.iter().filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect();
    known.extend(builtin_names().map(str::to_owned));
    Err(FlywheelError::refused(
        format!("there is no suite `{}`", name.chars().take(80).collect::<String>()),
        format!("there are {}; a project's own are in `.grail/suites/` or `evals/`", known.join(", ")),
    ))
}

/// Every suite: those of the project, then those built in. One that cannot be read is an error of its own.
pub fn list_suites(root: &Path) -> Result<Vec<Result<Suite, FlywheelError>>, FlywheelError> {
    let own = suite_files(root)?.into_iter().map(|file| read_file(&file));
    Ok(own.chain(builtin_names().into_iter().filter_map(builtin)).collect())
}

/// The prompts of every suite, built in or the project's, each once, sorted: what no dataset may learn from. A suite that cannot be read is an
/// error: whoever goes on without it would learn what they are going to be asked.
pub fn held_out_prompts(root: &Path) -> Result<Vec<String>, FlywheelError> {
    let mut prompts = BTreeSet::new();
    for suite in list_suites(root)? {
        prompts.extend(suite?.prompts.into_iter().map(|prompt| prompt.prompt));
    }
    Ok(prompts.into_iter().collect())
}

/// Reads and checks a suite; `path` says by its ending whether it is TOML or JSON, and is for messages.
pub fn parse_suite(path: &str, text: &str) -> Result<Suite, FlywheelError> {
    let refused = |message: String| {
        FlywheelError::refused(
            format!("`{path}`: {message}"),
            "a suite has a `name` and `prompts`, each with `id`, `kind` and `prompt`, and what it `checks`",
        )
    };
    let written: Written = if path.ends_with(".json") {
        serde_json::from_str(text).map_err(|error| refused(error.to_string()))?
    } else {
        toml::from_str(text).map_err(|error| refused(error.to_string()))?
    };
    if written.prompts.is_empty() {
        return Err(refused("there is no prompt".to_owned()));
    }
    if written.prompts.len() > MAX_PROMPTS {
        return Err(refused(format!("there are more than {MAX_PROMPTS} prompts")));
    }
    let mut ids = BTreeSet::new();
    for prompt in &written.prompts {
        let id = &prompt.id;
        let is_plain =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
        if id.is_empty() || id.len() > 80 || !id.chars().all(is_plain) {
            return Err(refused(format!("`{id}` is no name of a prompt: letters, digits, `-`, `_` and `.`")));
        }
        if !ids.insert(id) {
            return Err(refused(format!("two prompts are called `{id}`")));
        }
        let text = prompt.prompt.trim();
        if text.is_empty() || text.len() > MAX_PROMPT_BYTES || text.contains(is_forbidden) {
            let bounds = format!("1 to {MAX_PROMPT_BYTES} bytes, without control characters");
            return Err(refused(format!("the prompt of `{id}` cannot be asked: {bounds}")));
        }
        if prompt.kind.trim().is_empty() {
            return Err(refused(format!("`{id}` does not say which kind of artifact it asks for")));
        }
    }
    Ok(Suite::new(written.name, written.description, written.prompts))
}

fn read_file(path: &Path) -> Result<Suite, FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let metadata = fs::metadata(path).map_err(storage)?;
    if metadata.len() > MAX_BYTES {
        return Err(FlywheelError::refused(
            format!("`{}` has more than {MAX_BYTES} bytes", path.display()),
            "make several suites of it",
        ));
    }
    let text = fs::read_to_string(path).map_err(storage)?;
    parse_suite(&path.display().to_string(), &text)
}

/// Files of suites, by folder and name.
fn suite_files(root: &Path) -> Result<Vec<PathBuf>, FlywheelError> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let folder = root.join(folder);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(FlywheelError::storage(&folder, error)),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = paths.filter(|path| is_suite_file(path) && path.is_file()).collect();
        // Other tools have files in `evals/`, too.
        found.retain(|path| folder.ends_with(SUITES_FOLDER) || mentions_prompts(path));
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

/// Whether the part of a file that could be a suite says anything of prompts.
fn mentions_prompts(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    read.is_ok() && memchr::memmem::find(&bytes, b"prompts").is_some()
}

fn is_suite_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml" || extension == "json")
}
