//! The files of one skill, on disk or embedded. Nothing outside the folder can be reached through it: not by `..`, not by an absolute
//! path, not by a link; and nothing is read without a bound.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use grail_rules::{BuiltInSkill, Origin};
use serde::Serialize;

use super::Skill;
use crate::SkillError;

/// More files in one skill are not looked at.
const MAX_FILES: usize = 2_000;
/// Deeper folders are not looked at.
const MAX_DEPTH: usize = 16;

/// Where a skill's files are.
#[derive(Clone)]
pub enum SkillFolder {
    Disk(PathBuf),
    BuiltIn(BuiltInSkill),
}

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SkillFile {
    /// Below the folder, with `/`.
    pub path: String,
    pub bytes: u64,
    /// Where a link leads, as it says. Links are listed and not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl SkillFolder {
    pub fn of(skill: &Skill) -> Result<Self, SkillError> {
        if skill.origin != Origin::BuiltIn {
            return Ok(Self::Disk(skill.folder.clone()));
        }
        BuiltInSkill::all()
            .find(|built_in| built_in.name() == skill.name)
            .map(Self::BuiltIn)
            .ok_or_else(|| SkillError::Unknown { name: skill.name.clone(), known: Vec::new() })
    }

    /// The content of one file of at most `max_bytes`.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, SkillError> {
        if !is_inside(path) {
            return Err(SkillError::Outside { path: path.to_owned() });
        }
        match self {
            Self::BuiltIn(skill) => {
                let bytes = skill.file(path).ok_or_else(|| self.no_file(path))?;
                if bytes.len() as u64 > max_bytes {
                    return Err(SkillError::TooLarge { path: path.into(), max_bytes });
                }
                Ok(bytes.to_vec())
            }
            Self::Disk(folder) => {
                let real_folder = fs::canonicalize(folder).map_err(|reason| SkillError::File {
                    action: "open",
                    path: folder.clone(),
                    reason,
                })?;
                let real = fs::canonicalize(folder.join(path)).map_err(|_| self.no_file(path))?;
                if !real.starts_with(&real_folder) {
                    return Err(SkillError::Outside { path: path.to_owned() });
                }
                if real.is_dir() {
                    return Err(self.no_file(path));
                }
                read_bounded(&real, max_bytes).map_err(|error| match error {
                    SkillError::TooLarge { max_bytes, .. } => {
                        SkillError::TooLarge { path: path.into(), max_bytes }
                    }
                    SkillError::File { action, reason, .. } => {
                        SkillError::File { action, path: path.into(), reason }
                    }
                    other => other,
                })
            }
        }
    }

    /// Every file by path, links among them. More than [`MAX_FILES`] are an error: half a skill is none.
    pub fn files(&self) -> Result<Vec<SkillFile>, SkillError> {
        match self {
            Self::BuiltIn(skill) => Ok(skill
                .files()
                .into_iter()
                .map(|(path, bytes)| SkillFile {
                    path: path.to_owned(),
                    bytes: bytes.len() as u64,
                    link: None,
                })
                .collect()),
            Self::Disk(folder) => walk(folder),
        }
    }

    fn no_file(&self, path: &str) -> SkillError {
        let known = self.files().unwrap_or_default().into_iter().map(|file| file.path).collect();
        SkillError::NoFile { path: path.to_owned(), known }
    }
}

/// A path that names something below a folder, whatever links may be there.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', '\0'])
        && Path::new(path).components().all(|component| matches!(component, Component::Normal(_)))
}

/// Reads a regular file; a pipe or a device is none.
pub(crate) fn read_bounded(path: &Path, max_bytes: u64) -> Result<Vec<u8>, SkillError> {
    let failed = |reason| SkillError::File { action: "read", path: path.to_owned(), reason };
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(std::io::Error::other("it is no regular file")));
    }
    let too_large = || SkillError::TooLarge { path: path.to_owned(), max_bytes };
    if metadata.len() > max_bytes {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The file may grow meanwhile.
    File::open(path).map_err(failed)?.take(max_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large());
    }
    Ok(bytes)
}

fn walk(folder: &Path) -> Result<Vec<SkillFile>, SkillError> {
    let mut files = Vec::new();
    let mut pending = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((path, inside, depth)) = pending.pop() {
        let failed = |reason| SkillError::File { action: "read", path: path.clone(), reason };
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(SkillError::TooManyFiles { folder: folder.to_owned() });
                }
                pending.push((entry.path(), name, depth + 1));
                continue;
            }
            if files.len() == MAX_FILES {
                return Err(SkillError::TooManyFiles { folder: folder.to_owned() });
            }
            let link = if kind.is_symlink() {
                Some(fs::read_link(entry.path()).map_err(failed)?.to_string_lossy().into_owned())
            } else {
                None
            };
            let bytes = entry.metadata().map_err(failed)?.len();
            files.push(SkillFile { path: name, bytes, link });
        }
    }
    files.sort();
    Ok(files)
}
