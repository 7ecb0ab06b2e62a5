//! Which skills there are: the project's, the user's, the built-in ones. The nearer one wins, and that is said; so is everything that
//! was not looked at. What was read is remembered in the project, sealed with the user's key, and believed only as long as the files look
//! untouched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use grail_rules::{BuiltInSkill, Origin, SKILLS_FOLDER};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::cache::{CatalogueCache, Remembered, Stamp};
use crate::evals::{BENCHMARK_FILE, Benchmark};
use crate::home::state_folder;
use crate::skill::{Document, MAX_SKILL_BYTES, SKILL_FILE, Skill, SkillFolder, document, read_bounded};
use crate::tokens::estimate_tokens;
use crate::{MANIFEST_FILE, SkillError, SkillProblem};

/// A larger benchmark is not read.
const MAX_BENCHMARK_BYTES: u64 = 64 * 1024;

/// Where skills are looked for, and how far.
#[derive(Clone, Debug)]
pub struct Scopes {
    pub project: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// The user's folder for what is remembered; without it nothing is remembered in the project either.
    pub state: Option<PathBuf>,
    pub limits: Limits,
}

/// How much of a folder is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// In each of the two folders.
    pub max_skills: usize,
    /// Folders between `.agents/skills` and a `SKILL.md`.
    pub max_depth: usize,
    /// Folders that are opened in each of the two.
    pub max_folders: usize,
}

/// Every skill there is, by name.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Nearest first: the project's, the user's, the built-in ones; each by name.
    pub entries: Vec<CatalogueEntry>,
    pub shadowed: Vec<ShadowedSkill>,
    /// Skills that cannot be used at all.
    pub problems: Vec<SkillProblem>,
    /// What the limits kept from being looked at.
    pub cut: Vec<Cut>,
}

/// A skill and what is good to know before loading it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogueEntry {
    pub skill: Skill,
    /// The folder as shown in messages.
    pub shown: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What loading the body costs.
    pub body_tokens: usize,
    /// There is a manifest beside it.
    pub is_runnable: bool,
    /// Whether it helps, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<Benchmark>,
    /// What is wrong with its `SKILL.md`, which was read all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<SkillProblem>,
}

/// A skill that another one of the same name hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowedSkill {
    pub name: String,
    pub folder: PathBuf,
    pub by: PathBuf,
}

/// Something that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    pub folder: PathBuf,
    pub message: String,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_skills: 2_000, max_depth: 4, max_folders: 10_000 }
    }
}

impl Scopes {
    /// A project and the user's home.
    pub fn new(project: &Path, home: Option<&Path>) -> Self {
        let state = state_folder(home);
        let home = home.filter(|home| *home != project).map(Path::to_owned);
        Self { project: Some(project.to_owned()), home, state, limits: Limits::default() }
    }
}

impl Catalogue {
    /// Reads what every skill says about itself.
    pub fn discover(scopes: &Scopes) -> Self {
        let mut catalogue = Self::default();
        let mut names = FxHashMap::default();
        let project = scopes.project.iter().map(|root| (root, PathBuf::new(), Origin::Project));
        let home = scopes.home.iter().map(|home| (home, PathBuf::from("~"), Origin::Home));
        for (root, shown, origin) in project.chain(home) {
            let shown = shown.join(SKILLS_FOLDER);
            let scope = Scope { root, shown: &shown, origin, limits: scopes.limits };
            let scope_name = if origin == Origin::Project { "project" } else { "home" };
            let cache = CatalogueCache::open(scopes.project.as_deref(), scopes.state.as_deref(), scope_name);
            let entries = catalogue.read_scope(&scope, cache);
            catalogue.add_all(entries, &mut names);
        }
        catalogue.add_all(built_in(), &mut names);
        catalogue
    }

    pub fn entry(&self, name: &str) -> Result<&CatalogueEntry, SkillError> {
        self.entries.iter().find(|entry| entry.skill.name == name).ok_or_else(|| SkillError::Unknown {
            name: name.to_owned(),
            known: self.entries.iter().map(|entry| entry.skill.name.clone()).collect(),
        })
    }

    fn read_scope(&mut self, scope: &Scope, mut cache: CatalogueCache) -> Vec<CatalogueEntry> {
        let (mut all, found) = find(scope, &mut cache, &mut self.cut);
        let read: Vec<_> = found
            .par_iter()
            .map(|found| {
                // Before the reading: what changes in between is seen the next time.
                let stamp = if found.is_link { None } else { Stamp::of(&found.folder) };
                read_entry(found, scope.origin).map(|entry| Remembered { entry, stamp })
            })
            .collect();
        let mut has_news = false;
        for outcome in read {
            match outcome {
                Ok(new) => {
                    has_news |= new.stamp.is_some();
                    all.push(new);
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        cache.save(&all, has_news);
        let mut entries: Vec<CatalogueEntry> = all.into_iter().map(|one| one.entry).collect();
        entries.sort_by(|a, b| (&a.skill.name, &a.shown).cmp(&(&b.skill.name, &b.shown)));
        entries
    }

    /// `names` tells which entry has a name.
    fn add_all(&mut self, entries: Vec<CatalogueEntry>, names: &mut FxHashMap<String, usize>) {
        for entry in entries {
            match names.get(&entry.skill.name) {
                Some(by) => self.shadowed.push(ShadowedSkill {
                    name: entry.skill.name,
                    folder: entry.shown,
                    by: self.entries[*by].shown.clone(),
                }),
                None => {
                    names.insert(entry.skill.name.clone(), self.entries.len());
                    self.entries.push(entry);
                }
            }
        }
    }
}

/// One of the two folders.
struct Scope<'s> {
    root: &'s Path,
    shown: &'s Path,
    origin: Origin,
    limits: Limits,
}

/// A folder with a `SKILL.md`.
struct Found {
    folder: PathBuf,
    shown: PathBuf,
    name: String,
    /// Where links lead is asked every time.
    is_link: bool,
}

/// The skills of one scope: those that are remembered, and those that have to be read. A folder that is a skill is not searched for more.
fn find(scope: &Scope, cache: &mut CatalogueCache, cut: &mut Vec<Cut>) -> (Vec<Remembered>, Vec<Found>) {
    let Scope { root, shown, limits, .. } = *scope;
    let top = root.join(SKILLS_FOLDER);
    let real_root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let (mut remembered, mut found) = (Vec::new(), Vec::new());
    let mut opened = 0;
    let mut too_deep = 0;
    let mut pending = vec![(top, shown.to_owned(), 0)];
    while let Some((folder, shown, depth)) = pending.pop() {
        if opened == limits.max_folders {
            let message = format!("only {} folders are looked at", limits.max_folders);
            cut.push(Cut { folder: shown, message });
            break;
        }
        opened += 1;
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let entries: Vec<(fs::DirEntry, fs::FileType)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.file_type().ok()?, entry)))
            .filter(|(kind, _)| kind.is_dir() || kind.is_symlink())
            .map(|(kind, entry)| (entry, kind))
            .collect();
        let untouched: Vec<bool> = entries
            .par_iter()
            .map(|(entry, kind)| kind.is_dir() && cache.is_untouched(&entry.path(), || entry.metadata().ok()))
            .collect();
        for ((entry, kind), is_untouched) in entries.into_iter().zip(untouched) {
            let folder = entry.path();
            if is_untouched {
                remembered.extend(cache.take(&folder));
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let shown = shown.join(&name);
            if kind.is_symlink() {
                let Ok(real) = fs::canonicalize(&folder) else { continue };
                if !real.is_dir() {
                    continue;
                }
                if !real.starts_with(&real_root) {
                    let message = "the link leads out of the project, and is not followed".to_owned();
                    cut.push(Cut { folder: shown, message });
                    continue;
                }
                // A link to a skill is a skill; one to a folder of skills could lead round in circles.
                if has_skill_file(&folder) {
                    found.push(Found { folder, shown, name, is_link: true });
                }
            } else if has_skill_file(&folder) {
                found.push(Found { folder, shown, name, is_link: false });
            } else if depth + 1 < limits.max_depth {
                pending.push((folder, shown, depth + 1));
            } else {
                too_deep += 1;
            }
        }
    }
    if too_deep > 0 {
        let message = format!("folders more than {} deep are not looked at: {too_deep}", limits.max_depth);
        cut.push(Cut { folder: shown.to_owned(), message });
    }
    let number = remembered.len() + found.len();
    if number > limits.max_skills {
        let message = format!(
            "{number} skills are there, only the first {} are read; left out: {}",
            limits.max_skills,
            number - limits.max_skills
        );
        cut.push(Cut { folder: shown.to_owned(), message });
        keep_first(&mut remembered, &mut found, limits.max_skills);
    }
    (remembered, found)
}

/// Keeps the first skills by name and path, whether they are remembered or not.
fn keep_first(remembered: &mut Vec<Remembered>, found: &mut Vec<Found>, number: usize) {
    let mut places: Vec<(String, PathBuf)> =
        remembered.iter().map(|one| (one.entry.skill.name.clone(), one.entry.shown.clone())).collect();
    places.extend(found.iter().map(|found| (found.name.clone(), found.shown.clone())));
    places.sort();
    let Some((name, shown)) = places.get(number) else { return };
    let limit = (name.as_str(), shown.as_path());
    remembered.retain(|one| (one.entry.skill.name.as_str(), one.entry.shown.as_path()) < limit);
    found.retain(|found| (found.name.as_str(), found.shown.as_path()) < limit);
}

fn has_skill_file(folder: &Path) -> bool {
    folder.join(SKILL_FILE).symlink_metadata().is_ok()
}

fn read_entry(found: &Found, origin: Origin) -> Result<CatalogueEntry, SkillProblem> {
    let shown = found.shown.join(SKILL_FILE);
    let folder = SkillFolder::Disk(found.folder.clone());
    let path = found.folder.join(SKILL_FILE);
    // Where links lead is asked only if there is one.
    let bytes = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => read_bounded(&path, MAX_SKILL_BYTES),
        _ => folder.read(SKILL_FILE, MAX_SKILL_BYTES),
    };
    let bytes = bytes.map_err(|error| match error {
        SkillError::TooLarge { .. } => document::too_large(&shown),
        SkillError::File { reason, .. } => SkillProblem::new(&shown, 0, reason.to_string()),
        other => SkillProblem::new(&shown, 0, other.to_string()),
    })?;
    let document = Document::read(&shown, &bytes)?;
    let skill =
        Skill { name: found.name.clone(), description: String::new(), origin, folder: found.folder.clone() };
    let mut entry = entry(document, skill, found.shown.clone());
    entry.is_runnable = found.folder.join(MANIFEST_FILE).is_file();
    if found.folder.join(BENCHMARK_FILE).is_file() {
        let shown = found.shown.join(BENCHMARK_FILE);
        let benchmark = folder
            .read(BENCHMARK_FILE, MAX_BENCHMARK_BYTES)
            .map_err(|error| SkillProblem::new(&shown, 0, error.to_string()))
            .and_then(|bytes| Benchmark::parse(&shown, &bytes));
        match benchmark {
            Ok(benchmark) => entry.benchmark = Some(benchmark),
            Err(problem) => entry.warnings.push(problem),
        }
    }
    Ok(entry)
}

fn entry(document: Document, skill: Skill, shown: PathBuf) -> CatalogueEntry {
    CatalogueEntry {
        body_tokens: estimate_tokens(&document.body),
        skill: Skill { description: document.description, ..skill },
        shown,
        license: document.license,
        compatibility: document.compatibility,
        metadata: document.metadata,
        is_runnable: false,
        benchmark: None,
        warnings: document.warnings,
    }
}

/// Read once in the life of the program.
fn built_in() -> Vec<CatalogueEntry> {
    static BUILT_IN: LazyLock<Vec<CatalogueEntry>> = LazyLock::new(read_built_in);
    BUILT_IN.clone()
}

fn read_built_in() -> Vec<CatalogueEntry> {
    let read = |skill: BuiltInSkill| {
        let shown = Path::new("built-in").join(skill.name());
        let document = Document::read(&shown.join(SKILL_FILE), skill.file(SKILL_FILE)?).ok()?;
        let is_runnable = skill.file(MANIFEST_FILE).is_some();
        let benchmark =
            skill.file(BENCHMARK_FILE).and_then(|bytes| Benchmark::parse(Path::new(""), bytes).ok());
        let name = skill.name().to_owned();
        let skill =
            Skill { name, description: String::new(), origin: Origin::BuiltIn, folder: shown.clone() };
        Some(CatalogueEntry { is_runnable, benchmark, ..entry(document, skill, shown) })
    };
    BuiltInSkill::all().filter_map(read).collect()
}
