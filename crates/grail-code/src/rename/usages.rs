//! Everything that means a symbol: what a rename would touch, without the rename.

use super::{MemberOracle, Place, RenameError, RenameOptions, RenamePlan, rename_at, rename_named};
use crate::{Position, Project, Span};

/// A name that no project binds, so that planning a rename to it never meets a collision.
const UNBOUND: &str = "__grail_usages__";

/// The places that mean a symbol, its definition among them, in order of paths and positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usages {
    pub name: String,
    pub certain: Vec<Place>,
    /// Places that spell the name and may mean it.
    pub unsure: Vec<Place>,
}

/// Who uses the thing at a position.
pub fn usages_at(
    project: &Project,
    path: &str,
    at: Position,
    oracle: Option<&dyn MemberOracle>,
) -> Result<Usages, RenameError> {
    rename_at(project, path, at, UNBOUND, &RenameOptions::default(), oracle).map(|plan| usages(project, plan))
}

/// Who uses the thing of that dotted name.
pub fn usages_named(
    project: &Project,
    name: &str,
    oracle: Option<&dyn MemberOracle>,
) -> Result<Usages, RenameError> {
    rename_named(project, name, UNBOUND, &RenameOptions::default(), oracle).map(|plan| usages(project, plan))
}

fn usages(project: &Project, plan: RenamePlan) -> Usages {
    let mut certain = Vec::new();
    for file in plan.files {
        let Some(parsed) = project.file(&file.path).map(|file| &file.parsed) else { continue };
        for edit in file.edits {
            // A new alias is inserted behind the name it is for.
            let start =
                if edit.span.is_empty() { edit.span.end - plan.old.len() as u32 } else { edit.span.start };
            let span = Span::new(start, edit.span.end);
            certain.push(Place { path: file.path.clone(), at: parsed.source().position(start), span });
        }
    }
    Usages { name: plan.old, certain, unsure: plan.unsure }
}
