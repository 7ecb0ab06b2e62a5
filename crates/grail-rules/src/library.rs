//! All packs there are: the project's own, the user's, the built-in ones. The nearer one wins, and is said to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use crate::built_in::BuiltInSkill;
use crate::kind::TEMPLATE_ENDING;
use crate::pack::{Origin, Pack};
use crate::rule::Rule;
use crate::{ArtifactKind, RuleProblem};

/// Where skills are looked for below the project's root and the home folder.
pub const SKILLS_FOLDER: &str = ".agents/skills";

/// More skills in one folder are not read, and that is said.
const MAX_SKILLS: usize = 200;
/// More files in one `rules/` folder are not read.
const MAX_RULE_FILES: usize = 500;
/// A larger file in a pack is not read.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The packs that can be in force.
#[derive(Default)]
pub struct Library {
    pub packs: Vec<Pack>,
    /// Packs that a nearer one of the same name hides: its name, where it is, where the nearer one is.
    pub shadowed: Vec<Shadowed>,
    /// What could not be read.
    pub problems: Vec<RuleProblem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    pub name: Arc<str>,
    pub folder: PathBuf,
    pub by: PathBuf,
}

impl Library {
    /// The packs of a project: its own, those of the home folder, the built-in ones.
    pub fn discover(root: &Path, home: Option<&Path>) -> Self {
        let mut library = Self::default();
        library.read_folder(&root.join(SKILLS_FOLDER), Path::new(SKILLS_FOLDER), Origin::Project);
        if let Some(home) = home.filter(|home| *home != root) {
            library.read_folder(&home.join(SKILLS_FOLDER), &Path::new("~").join(SKILLS_FOLDER), Origin::Home);
        }
        for pack in built_in() {
            library.add(pack);
        }
        library
    }

    /// The built-in packs alone.
    pub fn built_in() -> Self {
        Self { packs: built_in(), ..Self::default() }
    }

    /// Adds one skill's pack from a folder on disk.
    pub fn add_folder(&mut self, folder: &Path) -> bool {
        match self.read_skill(folder, folder, Origin::Project) {
            Some(pack) => {
                self.add(pack);
                true
            }
            None => false,
        }
    }

    pub fn pack(&self, name: &str) -> Option<&Pack> {
        self.packs.iter().find(|pack| *pack.name == *name)
    }

    /// Every rule, with its pack. Variants of one rule for different versions of a library come one after the other.
    pub fn rules(&self) -> impl Iterator<Item = (&Pack, &Arc<Rule>)> {
        self.packs.iter().flat_map(|pack| pack.rules.iter().map(move |rule| (pack, rule)))
    }

    pub fn kinds(&self) -> impl Iterator<Item = (&Pack, &Arc<ArtifactKind>)> {
        self.packs.iter().flat_map(|pack| pack.kinds.iter().map(move |kind| (pack, kind)))
    }

    fn add(&mut self, pack: Pack) {
        match self.pack(&pack.name) {
            Some(nearer) => {
                let shadowed =
                    Shadowed { name: pack.name.clone(), folder: pack.folder, by: nearer.folder.clone() };
                self.shadowed.push(shadowed);
            }
            None => self.packs.push(pack),
        }
    }

    fn read_folder(&mut self, folder: &Path, shown: &Path, origin: Origin) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut names: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        names.sort();
        if names.len() > MAX_SKILLS {
            self.problems.push(RuleProblem::new(
                shown,
                0,
                format!("only the first {MAX_SKILLS} skills are read"),
            ));
        }
        for path in names.into_iter().take(MAX_SKILLS).filter(|path| path.is_dir()) {
            let shown = shown.join(path.file_name().unwrap_or_default());
            if let Some(pack) = self.read_skill(&path, &shown, origin) {
                self.add(pack);
            }
        }
    }

    fn read_skill(&mut self, folder: &Path, shown: &Path, origin: Origin) -> Option<Pack> {
        let name = folder.file_name()?.to_str()?.to_owned();
        let mut files = BTreeMap::new();
        // Variants for older versions of a library lie in folders of their own.
        let mut pending = vec![
            (folder.join("templates"), "templates".to_owned(), 2),
            (folder.join("rules"), "rules".to_owned(), 0),
        ];
        while let Some((path, inside, depth)) = pending.pop() {
            let Ok(entries) = fs::read_dir(&path) else { continue };
            for entry in entries.flatten() {
                let name = format!("{inside}/{}", entry.file_name().to_string_lossy());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && depth < 2 {
                    pending.push((entry.path(), name, depth + 1));
                    continue;
                }
                let is_wanted = is_read(&name);
                if !kind.is_file() || !is_wanted {
                    continue;
                }
                if files.len() == MAX_RULE_FILES {
                    let message = format!("only {MAX_RULE_FILES} files of the pack are read");
                    self.problems.push(RuleProblem::new(shown, 0, message));
                    pending.clear();
                    break;
                }
                match read_file(&entry.path()) {
                    Ok(text) => {
                        files.insert(name, text);
                    }
                    Err(message) => self.problems.push(RuleProblem::new(shown.join(&name), 0, message)),
                }
            }
        }
        Pack::read(&name, origin, shown, &files)
    }
}

/// Of rules everything that makes one, of templates those that can be filled.
fn is_read(path: &str) -> bool {
    match path.strip_prefix("templates/") {
        Some(name) => name.ends_with(TEMPLATE_ENDING),
        None => {
            path.starts_with("rules/") && [".md", ".py", ".toml"].iter().any(|ending| path.ends_with(ending))
        }
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > MAX_FILE_BYTES {
        return Err(format!("the file is larger than {MAX_FILE_BYTES} bytes"));
    }
    fs::read_to_string(path).map_err(|error| format!("the file cannot be read: {error}"))
}

/// The packs embedded in the program, read once in its life.
fn built_in() -> Vec<Pack> {
    static BUILT_IN: LazyLock<Vec<Pack>> = LazyLock::new(read_built_in);
    BUILT_IN.clone()
}

fn read_built_in() -> Vec<Pack> {
    let read = |skill: BuiltInSkill| {
        let text =
            |(path, bytes): (&str, &[u8])| Some((path.to_owned(), str::from_utf8(bytes).ok()?.to_owned()));
        let files = skill.files().into_iter().filter(|(path, _)| is_read(path)).filter_map(text).collect();
        Pack::read(skill.name(), Origin::BuiltIn, &Path::new("built-in").join(skill.name()), &files)
    };
    BuiltInSkill::all().filter_map(read).collect()
}
