//! What a rename of one definition would have to take along: every definition that is the same thing to its users.
//!
//! For a name that is all its bindings in the scope. For a class member it is the *family*: overrides and overridden
//! members, connected through each class and its bases in both directions, and through classes that join two bases.
//! For a parameter it is the parameter of that name in all of its function's overloads and overrides.

use ruff_db::parsed::parsed_module;
use ruff_db::source::source_text;
use ruff_python_ast::name::Name;
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};
use ty_python_core::definition::Definition;
use ty_python_core::place::ScopedPlaceId;
use ty_python_core::{ProgramFile, semantic_index};
use ty_python_semantic::{Db, SemanticModel, contains_identifier};
use unicode_normalization::UnicodeNormalization;

use super::keywords::{function_scope, parameter_places};
use super::resolve::{
    Place, bindings_of_place, definitions_by_range, has_unknown_base, own_members, place_of, resolve_in_bases,
};
use super::{Outside, caught};

pub(super) struct Target {
    pub(super) name: Name,
    pub(super) places: FxHashSet<Place>,
    pub(super) kind: TargetKind,
    pub(super) outside: Outside,
}

pub(super) enum TargetKind {
    /// A name of a module or a function: variables, functions, classes, imports.
    Name,
    Member,
    /// `functions` are the places of the functions that have the parameter; `callee` is what call sites spell.
    Parameter {
        functions: FxHashSet<Place>,
        callee: Name,
    },
}

/// A class's constructors answer to its name alone: a subclass is free to take other parameters.
const CONSTRUCTORS: [&str; 2] = ["__init__", "__new__"];

/// Everything that belongs together with the definitions at `places`.
pub(super) fn find_target<'db>(
    db: &'db dyn Db,
    files: &[ProgramFile<'db>],
    name: &Name,
    places: &[Place],
) -> Option<Target> {
    let mut target: Option<Target> = None;
    for &(file, range) in places {
        if target.as_ref().is_some_and(|target| target.places.contains(&(file, range))) {
            continue;
        }
        let definitions = definitions_by_range(db, db.program_file(file));
        let Some(definition) = definitions.get(&range) else {
            continue;
        };
        let found = target_of(db, files, name, *definition);
        match &mut target {
            Some(target) => {
                target.places.extend(found.places);
                target.outside = target.outside.max(found.outside);
            }
            None => target = Some(found),
        }
    }
    target
}

fn target_of<'db>(
    db: &'db dyn Db,
    files: &[ProgramFile<'db>],
    name: &Name,
    definition: Definition<'db>,
) -> Target {
    if let Some(target) = parameter_target(db, files, name, definition) {
        return target;
    }
    if is_member(db, definition) {
        let (places, outside) = member_family(db, files, name, definition);
        return Target { name: name.clone(), places, kind: TargetKind::Member, outside };
    }
    let places = bindings_of_same_name(db, definition).into_iter().map(|each| place_of(db, each)).collect();
    Target { name: name.clone(), places, kind: TargetKind::Name, outside: Outside::No }
}

/// Defined in a class body or, as `self.x`, in one of its methods.
fn is_member<'db>(db: &'db dyn Db, definition: Definition<'db>) -> bool {
    definition.scope(db).node(db).as_class().is_some()
        || matches!(definition.place(db), ScopedPlaceId::Member(_))
}

fn bindings_of_same_name<'db>(db: &'db dyn Db, definition: Definition<'db>) -> Vec<Definition<'db>> {
    bindings_of_place(db, definition.scope(db), definition.place(db))
}

/// One class's contribution: its own definitions of the member together with those its bases answer with.
struct Group {
    places: Vec<Place>,
    outside: Outside,
}

fn member_family<'db>(
    db: &'db dyn Db,
    files: &[ProgramFile<'db>],
    name: &Name,
    definition: Definition<'db>,
) -> (FxHashSet<Place>, Outside) {
    let mut groups = Vec::new();
    for &file in files {
        groups.extend(caught(|| class_groups(db, file, name)).unwrap_or_default());
    }
    let mut groups_by_place: FxHashMap<Place, Vec<usize>> = FxHashMap::default();
    for (index, group) in groups.iter().enumerate() {
        for place in &group.places {
            groups_by_place.entry(*place).or_default().push(index);
        }
    }
    let mut pending: Vec<Place> =
        bindings_of_same_name(db, definition).into_iter().map(|each| place_of(db, each)).collect();
    let mut places: FxHashSet<Place> = pending.iter().copied().collect();
    let mut outside = Outside::No;
    while let Some(place) = pending.pop() {
        for index in groups_by_place.remove(&place).unwrap_or_default() {
            let group = &groups[index];
            outside = outside.max(group.outside);
            pending.extend(group.places.iter().copied().filter(|place| places.insert(*place)));
        }
    }
    (places, outside)
}

fn class_groups<'db>(db: &'db dyn Db, file: ProgramFile<'db>, name: &Name) -> Vec<Group> {
    let mut groups = Vec::new();
    let text = source_text(db, file.file(db));
    if !contains_identifier(&text, "class") {
        return groups;
    }
    let spelled = mentions(&text, name);
    let parsed = parsed_module(db, file.python_file(db)).load(db);
    let model = SemanticModel::new(db, file);
    for scope in semantic_index(db, file).scope_ids() {
        let Some(class) = scope.node(db).as_class() else {
            continue;
        };
        let class = class.node(&parsed);
        let mut places = if spelled { own_members(db, scope, name) } else { Vec::new() };
        // A class that neither defines the member nor joins two bases connects nothing.
        if places.is_empty() && class.bases().len() < 2 {
            continue;
        }
        let inherited = resolve_in_bases(&model, class, name);
        places.extend(inherited.places);
        let outside = if inherited.outside {
            Outside::Yes
        } else if has_unknown_base(&model, class) {
            Outside::Maybe
        } else {
            Outside::No
        };
        groups.push(Group { places, outside });
    }
    groups
}

fn parameter_target<'db>(
    db: &'db dyn Db,
    files: &[ProgramFile<'db>],
    name: &Name,
    definition: Definition<'db>,
) -> Option<Target> {
    let scope = definition.scope(db);
    let file = definition.program_file(db);
    let parsed = parsed_module(db, file.python_file(db)).load(db);
    let function = scope.node(db).as_function()?.node(&parsed);
    if !parameter_places(db, scope, name).contains(&place_of(db, definition)) {
        return None;
    }
    let function_definition = *definitions_by_range(db, file).get(&function.name.range())?;
    let is_constructor = CONSTRUCTORS.contains(&function.name.as_str());
    let owner = function_definition.scope(db).node(db).as_class();
    let (candidates, outside) = if owner.is_some() && !is_constructor {
        member_family(db, files, &function.name.id, function_definition)
    } else {
        let overloads = bindings_of_same_name(db, function_definition);
        (overloads.into_iter().map(|each| place_of(db, each)).collect(), Outside::No)
    };
    let callee = match owner {
        Some(class) if is_constructor => class.node(&parsed).name.id.clone(),
        _ => function.name.id.clone(),
    };

    let mut functions = FxHashSet::default();
    let mut places = FxHashSet::default();
    for candidate in candidates {
        let Some(scope) = function_scope(db, candidate) else {
            continue;
        };
        let parameter = parameter_places(db, scope, name);
        if !parameter.is_empty() {
            functions.insert(candidate);
            places.extend(parameter);
        }
    }
    Some(Target { name: name.clone(), places, kind: TargetKind::Parameter { functions, callee }, outside })
}

/// Whether `text` may contain the identifier. Python compares identifiers in NFKC, so other scripts cannot simply be
/// searched for as text.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    !name.is_ascii()
        || contains_identifier(text, name)
        || !text.is_ascii() && contains_identifier(&text.nfkc().collect::<String>(), name)
}
