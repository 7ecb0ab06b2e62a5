//! Which skills there are: the project's, the user's, the built-in ones. The nearer one wins, and that is said; so is everything that
//! was not looked at. What was read is remembered in the project, sealed with the user's key, and believed only as long as the files look
//! untouched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use grail_rules::{BuiltInSkill, Origin, SKILLS_FOLDER};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::cache::{CatalogueCache, Stamp};
use crate::evals::{BENCHMARK_FILE, Benchmark};
use crate::home::state_folder;
use crate::skill::{Document, MAX_SKILL_BYTES, SKILL_FILE, Skill, SkillFolder, document};
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
        let mut cache = scopes
            .project
            .as_deref()
            .zip(scopes.state.as_deref())
            .and_then(|(project, state)| CatalogueCache::open(project, state))
            .unwrap_or_default();
        let project = scopes.project.iter().map(|root| (root, PathBuf::new(), Origin::Project));
        let home = scopes.home.iter().map(|home| (home, PathBuf::from("~"), Origin::Home));
        for (root, shown, origin) in project.chain(home) {
            catalogue.read_scope(root, &shown.join(SKILLS_FOLDER), origin, scopes.limits, &mut cache);
        }
        cache.save();
        catalogue.add_all(built_in());
        catalogue
    }

    pub fn entry(&self, name: &str) -> Result<&CatalogueEntry, SkillError> {
        self.entries.iter().find(|entry| entry.skill.name == name).ok_or_else(|| SkillError::Unknown {
            name: name.to_owned(),
            known: self.entries.iter().map(|entry| entry.skill.name.clone()).collect(),
        })
    }

    fn read_scope(
        &mut self,
        root: &Path,
        shown: &Path,
        origin: Origin,
        limits: Limits,
        cache: &mut CatalogueCache,
    ) {
        let found = find(root, shown, limits, &mut self.cut);
        let stamps: Vec<Option<Stamp>> = found.par_iter().map(|found| Stamp::of(&found.folder)).collect();
        let mut unknown = Vec::new();
        let mut entries = Vec::with_capacity(found.len());
        for (found, stamp) in found.iter().zip(stamps) {
            match cache.take(&found.folder, stamp.as_ref(), origin) {
                Some(entry) => entries.push(entry),
                None => unknown.push((found, stamp)),
            }
        }
        let read: Vec<_> = unknown.par_iter().map(|(found, _)| read_entry(found, origin)).collect();
        for (outcome, (_, stamp)) in read.into_iter().zip(unknown) {
            match outcome {
                Ok(entry) => {
                    cache.remember(&entry, stamp);
                    entries.push(entry);
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        entries.sort_by(|a, b| (&a.skill.name, &a.shown).cmp(&(&b.skill.name, &b.shown)));
        self.add_all(entries);
    }

    fn add_all(&mut self, entries: Vec<CatalogueEntry>) {
        let mut known: FxHashMap<String, PathBuf> =
            self.entries.iter().map(|entry| (entry.skill.name.clone(), entry.shown.clone())).collect();
        for entry in entries {
            match known.get(&entry.skill.name) {
                Some(by) => self.shadowed.push(ShadowedSkill {
                    name: entry.skill.name,
                    folder: entry.shown,
                    by: by.clone(),
                }),
                None => {
                    known.insert(entry.skill.name.clone(), entry.shown.clone());
                    self.entries.push(entry);
                }
            }
        }
    }
}

/// A folder with a `SKILL.md`.
struct Found {
    folder: PathBuf,
    shown: PathBuf,
    name: String,
}

/// The skills of one scope, by name and then by path. A folder that is a skill is not searched for more.
fn find(root: &Path, shown: &Path, limits: Limits, cut: &mut Vec<Cut>) -> Vec<Found> {
    let top = root.join(SKILLS_FOLDER);
    let real_root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let mut found = Vec::new();
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
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let (folder, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
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
                    found.push(Found { folder, shown, name });
                }
            } else if kind.is_dir() {
                if has_skill_file(&folder) {
                    found.push(Found { folder, shown, name });
                } else if depth + 1 < limits.max_depth {
                    pending.push((folder, shown, depth + 1));
                } else {
                    too_deep += 1;
                }
            }
        }
    }
    if too_deep > 0 {
        let message = format!("folders more than {} deep are not looked at: {too_deep}", limits.max_depth);
        cut.push(Cut { folder: shown.to_owned(), message });
    }
    found.sort_by(|a, b| (&a.name, &a.shown).cmp(&(&b.name, &b.shown)));
    if found.len() > limits.max_skills {
        let message = format!(
            "{} skills are there, only the first {} are read; left out: {}",
            found.len(),
            limits.max_skills,
            found.len() - limits.max_skills
        );
        cut.push(Cut { folder: shown.to_owned(), message });
        found.truncate(limits.max_skills);
    }
    found
}

fn has_skill_file(folder: &Path) -> bool {
    folder.join(SKILL_FILE).symlink_metadata().is_ok()
}

fn read_entry(found: &Found, origin: Origin) -> Result<CatalogueEntry, SkillProblem> {
    let shown = found.shown.join(SKILL_FILE);
    let folder = SkillFolder::Disk(found.folder.clone());
    let bytes = folder.read(SKILL_FILE, MAX_SKILL_BYTES).map_err(|error| match error {
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

fn built_in() -> Vec<CatalogueEntry> {
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
