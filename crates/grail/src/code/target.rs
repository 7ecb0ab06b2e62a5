//! What a command is about: `FILE:LINE:COLUMN` or a dotted name, and the part of the project that may mention it.

use std::path::{Path, PathBuf};

use grail_code::rename::{MemberOracle, RenameError};
use grail_code::{Field, Kind, Position, parse_module};
use grail_project::{LoadedProject, read_source};

use crate::files::{PathArguments, ProjectFiles};
use crate::render::Failure;

/// The thing a user points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Place { file: PathBuf, at: Position },
    Name(String),
}

impl Target {
    /// Reads `FILE:LINE:COLUMN`.
    pub fn parse_place(text: &str) -> Result<Self, Failure> {
        let place = || {
            let mut parts = text.rsplitn(3, ':');
            let column = parts.next()?.parse().ok()?;
            let line = parts.next()?.parse().ok()?;
            Some(Self::Place { file: PathBuf::from(parts.next()?), at: Position { line, column } })
        };
        place().ok_or_else(|| {
            Failure::with_hint(
                format!("`{text}` is not a place"),
                "write `path/to/file.py:LINE:COLUMN`, or name the symbol with `--name package.module.name`",
            )
        })
    }

    /// Words of which a file has to contain one to matter: the name itself and, for a parameter, the function it belongs to.
    fn words(&self, max_bytes: u64) -> anyhow::Result<Vec<String>> {
        match self {
            Self::Name(name) => Ok(name.rsplit('.').take(3).map(str::to_owned).collect()),
            Self::Place { file, at } => {
                let parsed = parse_module(read_source(file, max_bytes)?.source);
                let path = file.display().to_string();
                let offset = parsed.source().offset(*at).ok_or_else(|| {
                    rename_failure(&RenameError::NoSuchPlace { path: path.clone(), at: *at })
                })?;
                let word = word_at(parsed.text(), offset as usize);
                let word = word.ok_or_else(|| rename_failure(&RenameError::NotAName { path, at: *at }))?;
                let mut words = vec![word.to_owned()];
                let owner = parsed.node_at(offset).and_then(|node| {
                    node.ancestors().find(|node| matches!(node.kind(), Kind::Call | Kind::FunctionDef))
                });
                let owner = owner.and_then(|owner| match owner.kind() {
                    Kind::Call => {
                        owner.child(Field::Func).map(|callee| callee.text().rsplit('.').next().unwrap_or(""))
                    }
                    _ => owner.child(Field::Name).map(|name| name.text()),
                });
                words.extend(owner.filter(|name| !name.is_empty()).map(str::to_owned));
                Ok(words)
            }
        }
    }
}

/// The identifier that covers or ends at `offset`.
fn word_at(text: &str, offset: usize) -> Option<&str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let start = text[..offset]
        .rfind(|character| !is_word(character))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let end =
        text[offset..].find(|character| !is_word(character)).map_or(text.len(), |length| offset + length);
    (start < end).then(|| &text[start..end])
}

/// The project's files that may mention the target, parsed, with types on demand.
pub struct TargetProject {
    pub files: ProjectFiles,
    pub loaded: LoadedProject,
    pub target: Target,
}

impl TargetProject {
    /// Loads what may mention the target. A place's own file is always there, and files that import everything are too.
    pub fn load(target: Target, paths: &[PathBuf]) -> anyhow::Result<Self> {
        Self::load_with(target, paths, &[])
    }

    /// As [`Self::load`], with the modules of these names whether they mention the target or not.
    pub fn load_with(target: Target, paths: &[PathBuf], modules: &[String]) -> anyhow::Result<Self> {
        let mut paths = paths.to_vec();
        if let Target::Place { file, .. } = &target {
            if paths.is_empty() {
                paths.push(from_here(grail_project::find_root(file)?));
            }
            paths.push(file.clone());
        } else if paths.is_empty() {
            paths.push(PathBuf::from("."));
        }
        let mut files = PathArguments { paths, exclude: Vec::new() }.find()?;
        let words = target.words(files.project.config.code.max_file_bytes)?;
        let finders: Vec<_> = words.iter().map(|word| memchr::memmem::Finder::new(word.as_bytes())).collect();
        let star = memchr::memmem::Finder::new(b"import *");
        let loaded = files.load("reading", |module, text| {
            modules.contains(&module.name)
                || finders.iter().chain([&star]).any(|finder| finder.find(text.as_bytes()).is_some())
        });
        Ok(Self { files, loaded, target })
    }

    /// The path by which the loaded project knows the file a user named.
    pub fn path_of(&self, file: &Path) -> Option<String> {
        let wanted = std::fs::canonicalize(file).ok()?;
        let same = |path: &Path| std::fs::canonicalize(path).is_ok_and(|path| path == wanted);
        self.loaded.files.iter().find(|(_, loaded)| same(&loaded.path)).map(|(path, _)| path.clone())
    }

    /// Types for those who need them: inferred only when asked for, because that reads every file. `None` in builds without types.
    pub fn oracle(&self) -> Option<impl MemberOracle + '_> {
        #[cfg(feature = "types")]
        return Some(types::LazyOracle::new(&self.files));
        #[cfg(not(feature = "types"))]
        return None::<NoTypes>;
    }
}

/// A folder as seen from the current one, so that the files below it are shown the way users write them.
fn from_here(folder: PathBuf) -> PathBuf {
    let Ok(here) = std::fs::canonicalize(".") else { return folder };
    if let Ok(below) = folder.strip_prefix(&here) {
        return Path::new(".").join(below);
    }
    match here.strip_prefix(&folder) {
        Ok(levels) => levels.iter().map(|_| "..").collect(),
        Err(_) => folder,
    }
}

/// An error of a rename as the command line shows it.
pub fn rename_failure(error: &RenameError) -> Failure {
    match error.hint() {
        Some(hint) => Failure::with_hint(error.to_string(), hint),
        None => Failure::new(error.to_string()),
    }
}

#[cfg(not(feature = "types"))]
struct NoTypes;

#[cfg(not(feature = "types"))]
impl MemberOracle for NoTypes {
    fn references(&self, _path: &str, _offset: u32) -> grail_code::rename::MemberReferences {
        grail_code::rename::MemberReferences::default()
    }
}

#[cfg(feature = "types")]
mod types {
    //! The type-aware oracle over all files of a project, built when it is first asked.

    use std::cell::OnceCell;

    use grail_code::rename::{MemberOracle, MemberReferences};
    use grail_code::types::TypeOracle;
    use grail_project::load_project;

    use crate::files::ProjectFiles;
    use crate::progress::Progress;

    pub(super) struct LazyOracle<'a> {
        files: &'a ProjectFiles,
        types: OnceCell<Option<TypeOracle>>,
    }

    impl<'a> LazyOracle<'a> {
        pub(super) fn new(files: &'a ProjectFiles) -> Self {
            Self { files, types: OnceCell::new() }
        }

        fn build(&self) -> Option<TypeOracle> {
            let project = &self.files.project;
            let progress = Progress::new("inferring types", self.files.files.len());
            let loaded =
                load_project(project, &self.files.files, &|done| progress.advance(done), |_, _| true);
            let texts =
                loaded.project.files.iter().map(|file| (file.path.clone(), file.parsed.text().to_owned()));
            let roots: Vec<&str> = project.config.project.src.iter().map(|root| root_folder(root)).collect();
            let version = project.config.project.target_version;
            TypeOracle::new(texts, &roots, (version.major, version.minor)).ok()
        }
    }

    /// `./src` and `src/` are `src`; the project's root is the empty path.
    fn root_folder(root: &str) -> &str {
        match root.trim_start_matches("./").trim_end_matches('/') {
            "." => "",
            folder => folder,
        }
    }

    impl MemberOracle for LazyOracle<'_> {
        fn references(&self, path: &str, offset: u32) -> MemberReferences {
            let Some(types) = self.types.get_or_init(|| self.build()) else {
                return MemberReferences::default();
            };
            MemberOracle::references(types, path, offset)
        }
    }
}
