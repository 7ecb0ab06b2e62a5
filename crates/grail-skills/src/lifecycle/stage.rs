//! A skill on its way in: copied within bounds, then looked at as a whole before anything of it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use grail_code::tree::string_literal;
use grail_code::{Kind, Source, parse_module};

use super::Step;
use super::problem::LifecycleProblem;
use super::store::failed;
use crate::error::{SkillError, SkillProblem};
use crate::runnable::capabilities::{ScriptCapabilities, infer_capabilities};
use crate::runnable::{Capability, Credential, Manifest, protocol, read_inline_metadata};
use crate::skill::{SkillFile, SkillFolder};

/// A skill whose files have more bytes together is not installed.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Folders that belong to a working copy and not to the skill.
const LEFT_OUT: [&str; 4] = [".git", "__pycache__", ".venv", ".grail"];

/// A skill that could be installed: everything that can be known without starting it.
#[derive(Clone, Debug)]
pub struct StagedSkill {
    pub manifest: Manifest,
    /// The text of the entry file.
    pub script: String,
    /// The requirements of the script's PEP 723 block.
    pub dependencies: Vec<String>,
    /// What its Python files can do, by path.
    pub capabilities: BTreeMap<String, ScriptCapabilities>,
    /// Over every file.
    pub hash: String,
}

impl StagedSkill {
    pub fn credentials(&self) -> &[Credential] {
        &self.manifest.credentials
    }

    /// What the files together can do.
    pub fn used(&self) -> BTreeSet<Capability> {
        self.capabilities.values().flat_map(ScriptCapabilities::capabilities).collect()
    }
}

/// Reads and checks the skill in a folder: manifest, script, inline metadata, the protocol's methods, capabilities.
pub fn validate_staged_skill(folder: &Path) -> Result<StagedSkill, SkillError> {
    let (manifest, script) = Manifest::read_with_script(folder)?;
    let path = folder.join(&manifest.entry_file);
    let metadata = read_inline_metadata(&path, &script)?;
    check_script(&path, &script)?;
    let dependencies = metadata.dependencies.iter().map(ToString::to_string).collect();
    let files = plain_files(folder)?;
    let capabilities = infer_all(folder, &files, &manifest.entry_file)?;
    Ok(StagedSkill { manifest, script, dependencies, capabilities, hash: content_hash(folder)? })
}

/// The script has to be Python, and has to know the methods that the runner will call.
fn check_script(path: &Path, script: &str) -> Result<(), SkillProblem> {
    // An encoding makes another text of the same bytes: what is read here would not be what runs.
    let source = Source::from_bytes(script.as_bytes()).ok().filter(|source| source.text() == script);
    let Some(source) = source else {
        return Err(SkillProblem::new(path, 0, "the script is not plain UTF-8 text")
            .hint("leave out the comment that declares an encoding"));
    };
    let parsed = parse_module(source);
    if let Some(error) = parsed.diagnostics().first() {
        let line = parsed.source().line_of(error.span.start);
        return Err(SkillProblem::new(path, line, format!("the script is not Python: {}", error.message)));
    }
    let texts: BTreeSet<String> = parsed
        .nodes_of(Kind::String)
        .filter_map(|node| Some(string_literal(node)?.value().into_owned()))
        .collect();
    match protocol::METHODS.iter().find(|method| !texts.contains(**method)) {
        Some(method) => Err(SkillProblem::new(path, 0, format!("the script does not answer `{method}`"))
            .hint("start from the template of the skill `python-skill`, which answers every method")),
        None => Ok(()),
    }
}

/// What the files of a skill can do: Python files by their text, and files whose text says nothing by what they are.
fn infer_all(
    folder: &Path,
    files: &[SkillFile],
    entry_file: &Path,
) -> Result<BTreeMap<String, ScriptCapabilities>, SkillError> {
    let source = SkillFolder::Disk(folder.to_owned());
    let own_modules: BTreeSet<String> = files.iter().filter_map(|file| module_of(&file.path)).collect();
    let mut found = BTreeMap::new();
    for file in files {
        let ending = file.path.rsplit('.').next().unwrap_or_default();
        let capabilities = match ending {
            // The entry file is run whatever it is called.
            _ if ["py", "pyw"].contains(&ending) || Path::new(&file.path) == entry_file => {
                let bytes = source.read(&file.path, MAX_BYTES)?;
                match Source::from_bytes(&bytes) {
                    // Of other encodings Python may make another text.
                    Ok(source) if ["utf-8", "ascii", "latin-1"].contains(&source.encoding()) => {
                        infer_capabilities(source.text(), &own_modules)
                    }
                    _ => ScriptCapabilities::opaque(Capability::Dynamic, "a file in another encoding"),
                }
            }
            "so" | "pyd" | "dll" | "dylib" => {
                ScriptCapabilities::opaque(Capability::Native, "a native library")
            }
            "pyc" | "pyo" | "pyz" | "zip" | "egg" | "whl" | "pth" => {
                ScriptCapabilities::opaque(Capability::Dynamic, "code that cannot be read")
            }
            _ => continue,
        };
        found.insert(file.path.clone(), capabilities);
    }
    Ok(found)
}

/// The module that a path below the folder brings: `tools` of `tools.py` and of `tools/__init__.py`.
fn module_of(path: &str) -> Option<String> {
    let top = path.split('/').next()?;
    match path.contains('/') {
        true => path.ends_with(".py").then(|| top.to_owned()),
        false => top.strip_suffix(".py").map(str::to_owned),
    }
}

/// Copies a skill's files to `target`, a folder that does not exist yet.
pub(super) fn copy_skill(source: &Path, target: &Path, on_step: &dyn Fn(Step)) -> Result<(), SkillError> {
    let files = plain_files(source)?;
    let reader = SkillFolder::Disk(source.to_owned());
    let mut left = MAX_BYTES;
    let too_large = || LifecycleProblem::TooLarge { folder: source.to_owned(), limit: MAX_BYTES };
    fs::create_dir_all(target).map_err(|reason| failed("create", target, reason))?;
    for file in files {
        if file.bytes > left {
            return Err(too_large().into());
        }
        let bytes = reader.read(&file.path, left)?;
        left -= bytes.len() as u64;
        let path = target.join(&file.path);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(target))?;
            let mut copy = File::create_new(&path)?;
            copy.write_all(&bytes)?;
            copy.sync_all()
        };
        write().map_err(|reason| failed("write", &path, reason))?;
        on_step(Step::FileCopied);
    }
    Ok(())
}

/// A hash over the paths and contents of every file.
pub(super) fn content_hash(folder: &Path) -> Result<String, SkillError> {
    let reader = SkillFolder::Disk(folder.to_owned());
    let mut hasher = blake3::Hasher::new();
    for file in plain_files(folder)? {
        let bytes = reader.read(&file.path, MAX_BYTES)?;
        for part in [file.path.as_bytes(), &bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The files that make up the skill, none of them a link.
fn plain_files(folder: &Path) -> Result<Vec<SkillFile>, SkillError> {
    let mut files = SkillFolder::Disk(folder.to_owned()).files()?;
    files.retain(|file| !file.path.split('/').any(|part| LEFT_OUT.contains(&part)));
    match files.iter().find(|file| file.link.is_some()) {
        Some(link) => Err(LifecycleProblem::Link { path: link.path.clone() }.into()),
        None => Ok(files),
    }
}
