//! The skills embedded in the program.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};

static SKILLS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../skills");

/// One embedded skill: what would be its folder.
#[derive(Clone, Copy)]
pub struct BuiltInSkill {
    folder: &'static Dir<'static>,
}

impl BuiltInSkill {
    /// All of them, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        SKILLS.dirs().map(|folder| Self { folder })
    }

    pub fn name(self) -> &'static str {
        self.folder.path().to_str().unwrap_or_default()
    }

    /// One file, by its path below the skill's folder.
    pub fn file(self, path: &str) -> Option<&'static [u8]> {
        self.folder.get_file(format!("{}/{path}", self.name())).map(include_dir::File::contents)
    }

    /// Every file, by its path below the skill's folder.
    pub fn files(self) -> BTreeMap<&'static str, &'static [u8]> {
        let mut files = BTreeMap::new();
        let mut pending = vec![self.folder];
        while let Some(folder) = pending.pop() {
            pending.extend(folder.dirs());
            for file in folder.files() {
                let path = file.path().strip_prefix(self.folder.path()).ok().and_then(|path| path.to_str());
                files.extend(path.map(|path| (path, file.contents())));
            }
        }
        files
    }
}
