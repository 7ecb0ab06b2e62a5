//! Type-aware references: where a name, an attribute or a keyword is defined, and everything that refers to a definition.
//!
//! The own binder answers names and imports without types. This oracle runs ty's inference over files held in memory
//! and answers what needs types: attributes and methods through any receiver whose type can be inferred (`self`,
//! annotations, constructors, chained calls, `super()`), keyword arguments, dataclass and named-tuple fields
//! (`Point(x=1)`, `replace(point, x=1)`, `case Point(x=1)`), properties, class methods, names inside string annotations.
//!
//! # Families
//! A method and its overrides are one thing to a rename, so [`TypeOracle::references`] treats all definitions of a member
//! along an inheritance chain, and in the bases that some class joins, as one family. Parameters follow their method's
//! family, except in constructors. [`References::outside`] tells when a family reaches beyond the given files, where
//! renaming would break an override.
//!
//! # Certain and unsure
//! A reference is certain if every part of the receiver's type that has the attribute gets it from the family. It is
//! unsure if the attribute cannot be resolved at all (the receiver is unknown, unreachable, or inherits from something
//! unknown), if only some parts belong to the family, or if the type was declared as a union with `Any`.
//!
//! # What it does not answer
//! - Functions without a return annotation: ty takes what they return as unknown, so what is accessed on it is unsure.
//! - Protocols match by structure: classes that implement one without naming it as a base are not part of its family.
//! - Names in strings other than annotations, `__slots__`, `__match_args__` and `getattr(x, "name")` with its like, which
//!   is always unsure: `__all__`, typed-dict keys, docstrings.
//! - `**{"name": 1}`, and keywords that pass through `**kwargs` of another function.
//! - A stub beside its module: imports lead to the stub, the module's own definitions are separate ones.
//! - References to modules, and attributes that only code outside of the class assigns.
//! - Files that nest too deep to analyse; they are listed in [`References::skipped`] if they spell the name.
//! - Installed packages: only the given files and the standard library's stubs are known.

mod database;
mod keywords;
mod member_oracle;
mod nesting;
mod occurrences;
mod references;
mod resolve;
mod target;

use std::panic::AssertUnwindSafe;

use ruff_db::panic::catch_unwind;
use ruff_db::parsed::parsed_module;
use ruff_db::source::source_text;
use ruff_python_ast::name::Name;
use ruff_text_size::TextSize;
use ty_python_semantic::SemanticModel;

use crate::Span;
use database::Database;
use references::{Verdict, references_in_file};
use resolve::Place;
use target::{find_target, mentions};

/// A project's files under type inference.
pub struct TypeOracle {
    database: Database,
    paths: Vec<String>,
    too_deep: Vec<(String, String)>,
}

/// A name in one of the given files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    pub path: String,
    pub span: Span,
}

/// What refers to a definition. All lists are in order of path and position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// References beyond doubt, the definitions themselves among them.
    pub certain: Vec<Location>,
    /// Names spelled the same that may refer to it.
    pub unsure: Vec<Location>,
    pub outside: Outside,
    /// Paths of files that spell the name and could not be analysed.
    pub skipped: Vec<String>,
}

/// Whether a family of members has definitions outside of the given files, such as an override of `Thread.run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outside {
    #[default]
    No,
    /// A base class could not be resolved.
    Maybe,
    Yes,
}

#[derive(Debug, thiserror::Error)]
pub enum TypesError {
    #[error("`{path}` cannot be a file of the project: {reason}")]
    InvalidPath { path: String, reason: String },
    #[error("cannot resolve imports from these source roots: {reason}")]
    InvalidRoots { reason: String },
}

/// Inference recurses with the nesting of expressions and types; the memory is only touched where it is needed.
const STACK_SIZE: usize = 512 * 1024 * 1024;

impl TypeOracle {
    /// `files` are pairs of path (relative to the project, with `/`) and text; `roots` are the folders that imports start
    /// from, such as `["", "src"]`, the first taking precedence.
    pub fn new(
        files: impl IntoIterator<Item = (String, String)>,
        roots: &[&str],
        python_version: (u8, u8),
    ) -> Result<Self, TypesError> {
        let (too_deep, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(_, text)| nesting::nests_too_deep(text));
        let database = Database::new(&files, roots, python_version)?;
        let mut paths: Vec<String> = files.into_iter().map(|(path, _)| path).collect();
        paths.sort();
        paths.dedup();
        Ok(Self { database, paths, too_deep })
    }

    /// Where the identifier at byte `offset` of `path` is defined. Empty if that is unknown, or not in the given files.
    /// A module is answered with its file and the empty span at its start.
    pub fn definitions(&self, path: &str, offset: u32) -> Vec<Location> {
        guarded(|| self.locations(self.places_at(path, offset).map(|(_, places)| places).unwrap_or_default()))
            .unwrap_or_default()
    }

    /// Everything that refers to what the identifier at byte `offset` of `path` defines or refers to. Without any
    /// certain reference if there is no such identifier, or no definition of it in the given files.
    pub fn references(&self, path: &str, offset: u32) -> References {
        guarded(|| self.find_references(path, offset))
            .unwrap_or_else(|| References { skipped: vec![path.to_owned()], ..References::default() })
    }

    fn find_references(&self, path: &str, offset: u32) -> References {
        let db = &self.database;
        let files: Vec<_> = self.paths.iter().filter_map(|path| db.project_file(path)).collect();
        let Some((name, places)) = self.places_at(path, offset) else {
            return References::default();
        };
        let Some(target) = find_target(db, &files, &name, &places) else {
            return References::default();
        };
        let mut references = References { outside: target.outside, ..References::default() };
        for file in files {
            if !mentions(&source_text(db, file.file(db)), &name) {
                continue;
            }
            let Some(path) = db.project_path(file.file(db)) else {
                continue;
            };
            // One file that trips ty up must not hide the references in all others.
            let Some(found) = caught(|| references_in_file(db, file, &target)) else {
                references.skipped.push(path.to_owned());
                continue;
            };
            for (range, verdict) in found {
                let location = Location { path: path.to_owned(), span: range.into() };
                match verdict {
                    Verdict::Certain => references.certain.push(location),
                    Verdict::Unsure => references.unsure.push(location),
                    Verdict::Unrelated => {}
                }
            }
        }
        let deep = self.too_deep.iter().filter(|(_, text)| mentions(text, &name));
        references.skipped.extend(deep.map(|(path, _)| path.clone()));
        references.skipped.sort();
        references.certain.sort();
        references.unsure.sort();
        references
    }

    /// The identifier at `offset` and the places that define it.
    fn places_at(&self, path: &str, offset: u32) -> Option<(Name, Vec<Place>)> {
        let db = &self.database;
        let file = db.project_file(path)?;
        let text = source_text(db, file.file(db));
        let name = identifier_at(&text, offset as usize)?;
        let parsed = parsed_module(db, file.python_file(db)).load(db);
        let model = SemanticModel::new(db, file);
        let mut found = None;
        occurrences::visit_occurrences(&model, parsed.suite(), &name, &mut |model, occurrence| {
            if found.is_none() && occurrence.range().contains(TextSize::new(offset)) {
                found = Some(resolve::resolve(model, occurrence).places);
            }
        });
        Some((name, found?))
    }

    fn locations(&self, places: Vec<Place>) -> Vec<Location> {
        let mut locations: Vec<Location> = places
            .into_iter()
            .filter_map(|(file, range)| {
                let path = self.database.project_path(file)?.to_owned();
                Some(Location { path, span: range.into() })
            })
            .collect();
        locations.sort();
        locations.dedup();
        locations
    }
}

/// Runs a query with a deep stack; nothing if ty panicked.
fn guarded<T>(query: impl FnOnce() -> T) -> Option<T> {
    stacker::grow(STACK_SIZE, || caught(query))
}

/// ty gives up on some input with a panic, which is silenced here; its database stays usable.
fn caught<T>(query: impl FnOnce() -> T) -> Option<T> {
    let query = AssertUnwindSafe(query);
    // The closure must take the wrapper whole, not the query inside it.
    catch_unwind(move || {
        let query = query;
        (query.0)()
    })
    .ok()
}

/// The identifier that covers `offset`, as Python compares it.
fn identifier_at(text: &str, offset: usize) -> Option<Name> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let (before, after) = (text.get(..offset)?, text.get(offset..)?);
    let start = before.trim_end_matches(is_part).len();
    let end = text.len() - after.trim_start_matches(is_part).len();
    let identifier = text.get(start..end)?;
    if identifier.is_empty() || !after.starts_with(is_part) {
        return None;
    }
    use unicode_normalization::UnicodeNormalization;
    Some(identifier.nfkc().collect::<String>().into())
}
