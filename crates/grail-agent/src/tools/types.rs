//! Types for those who need them: who `x.run()` means. Inferred when first asked for, because that reads every file; in builds without the
//! feature `types` nobody knows.

use grail_code::rename::MemberOracle;

use crate::workspace::Workspace;

#[cfg(not(feature = "types"))]
pub(super) fn oracle(_workspace: &Workspace) -> Option<Box<dyn MemberOracle + '_>> {
    None
}

#[cfg(feature = "types")]
pub(super) fn oracle(workspace: &Workspace) -> Option<Box<dyn MemberOracle + '_>> {
    Some(Box::new(inferred::LazyOracle::new(workspace)))
}

#[cfg(feature = "types")]
mod inferred {
    //! The type-aware oracle over all files of the project as they would be.

    use std::cell::OnceCell;

    use grail_code::rename::{MemberOracle, MemberReferences};
    use grail_code::types::TypeOracle;

    use crate::tools::sources;
    use crate::workspace::Workspace;

    pub(super) struct LazyOracle<'w> {
        workspace: &'w Workspace,
        types: OnceCell<Option<TypeOracle>>,
    }

    impl<'w> LazyOracle<'w> {
        pub(super) fn new(workspace: &'w Workspace) -> Self {
            Self { workspace, types: OnceCell::new() }
        }

        fn build(&self) -> Option<TypeOracle> {
            let project = sources::project(self.workspace, |_, _| true);
            let texts = project.files.iter().map(|file| (file.path.clone(), file.parsed.text().to_owned()));
            let config = &self.workspace.project.config.project;
            let folders: Vec<&str> = config.src.iter().map(|folder| plain(folder)).collect();
            let version = config.target_version;
            TypeOracle::new(texts, &folders, (version.major, version.minor)).ok()
        }
    }

    /// `./src` and `src/` are `src`; the project's root is the empty path.
    fn plain(folder: &str) -> &str {
        match folder.trim_start_matches("./").trim_end_matches('/') {
            "." => "",
            folder => folder,
        }
    }

    impl MemberOracle for LazyOracle<'_> {
        fn references(&self, path: &str, offset: u32) -> MemberReferences {
            match self.types.get_or_init(|| self.build()) {
                Some(types) => MemberOracle::references(types, path, offset),
                None => MemberReferences::default(),
            }
        }
    }
}
