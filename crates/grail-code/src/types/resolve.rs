//! From an identifier to the places that define it.
//!
//! A place is the file and range of the defining *name*: `x` in `self.x = 1`, `g` in `from m import f as g`.

use ruff_db::files::File;
use ruff_db::parsed::parsed_module;
use ruff_db::source::source_text;
use ruff_python_ast::{self as ast, AnyNodeRef, name::Name};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;
use ty_python_core::definition::{Definition, DefinitionKind};
use ty_python_core::place::ScopedPlaceId;
use ty_python_core::scope::{NodeWithScopeRef, ScopeId};
use ty_python_core::{ProgramFile, attribute_scopes, place_table, semantic_index, use_def_map};
use ty_python_semantic::types::{DynamicType, Type};
use ty_python_semantic::{
    Db, HasType, ImportAliasResolution, ResolvedDefinition, SemanticModel, definitions_for_attribute,
    definitions_for_imported_symbol, definitions_for_name,
};

use super::database::project_path;
use super::keywords::{resolve_class_keyword, resolve_keyword};
use super::occurrences::{Enclosing, Occurrence};

/// The file and range of a name that defines something.
pub(super) type Place = (File, TextRange);

/// What an identifier refers to.
#[derive(Default)]
pub(super) struct Resolution {
    /// Definitions in the given files.
    pub(super) places: Vec<Place>,
    /// Something outside of them (typeshed) is, or is among, what it refers to.
    pub(super) outside: bool,
    /// It may refer to something else as well, because a part of the receiver's type is declared as `Any`.
    pub(super) doubtful: bool,
}

impl Resolution {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && !self.outside
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.places.extend(other.places);
        self.outside |= other.outside;
        self.doubtful |= other.doubtful;
    }

    pub(super) fn of<'db>(db: &'db dyn Db, definitions: Vec<ResolvedDefinition<'db>>) -> Self {
        let mut resolution = Self::default();
        for definition in definitions {
            let (file, range) = match definition {
                ResolvedDefinition::Definition(definition) => place_of(db, definition),
                ResolvedDefinition::Module(file) => (file.file(db), TextRange::empty(TextSize::new(0))),
                ResolvedDefinition::FileWithRange(file_range) => (file_range.file(), file_range.range()),
            };
            if project_path(db, file).is_none() {
                resolution.outside = true;
            } else if !resolution.places.contains(&(file, range)) {
                resolution.places.push((file, range));
            }
        }
        resolution
    }
}

/// What one identifier refers to. Import aliases are ends, not steps: after `from m import f as g`, `g` is the alias.
pub(super) fn resolve(model: &SemanticModel<'_>, occurrence: Occurrence<'_>) -> Resolution {
    let db = model.db();
    let aliases = ImportAliasResolution::PreserveAliases;
    match occurrence {
        Occurrence::Name(name) => {
            Resolution::of(db, definitions_for_name(model, name.id.as_str(), name.into(), aliases))
        }
        Occurrence::Attribute { attribute, enclosing } => resolve_attribute(model, attribute, enclosing),
        Occurrence::Keyword { keyword, call } => keyword
            .arg
            .as_ref()
            .map(|name| resolve_keyword(model, keyword, &name.id, call))
            .unwrap_or_default(),
        Occurrence::PatternKeyword { keyword, pattern } => {
            resolve_member(model, &pattern.cls, keyword.attr.id.clone())
        }
        Occurrence::ClassKeyword { keyword, class } => {
            keyword.arg.as_ref().map(|name| resolve_class_keyword(model, &name.id, class)).unwrap_or_default()
        }
        Occurrence::Slot { literal, class } => resolve_in_class(model, class, &Name::new(&literal.value)),
        Occurrence::Reflection { literal, receiver, .. } => {
            resolve_member(model, receiver, Name::new(&literal.value))
        }
        Occurrence::Imported { import, alias } => {
            let name = alias.name.as_str();
            let resolution =
                Resolution::of(db, definitions_for_imported_symbol(model, import, name, aliases));
            // What cannot be found is defined, as far as anyone can tell, where it is imported.
            if resolution.is_empty() && alias.asname.is_none() {
                Resolution { places: vec![(model.file(), alias.name.range())], ..Resolution::default() }
            } else {
                resolution
            }
        }
        Occurrence::Forwarded { name, global, enclosing } => {
            Resolution { places: resolve_forwarded(model, name, global, enclosing), ..Resolution::default() }
        }
        Occurrence::Binding(identifier) => {
            Resolution { places: vec![(model.file(), identifier.range())], ..Resolution::default() }
        }
    }
}

/// `name` looked up on the value of `receiver`, as if the source said `receiver.name` there.
pub(super) fn resolve_member(model: &SemanticModel<'_>, receiver: &ast::Expr, name: Name) -> Resolution {
    // ty looks the receiver's type up by the node's index, which a clone keeps; the attribute itself needs none.
    let attribute = ast::ExprAttribute {
        node_index: ast::AtomicNodeIndex::NONE,
        range: receiver.range(),
        value: Box::new(unsubscripted(model, receiver).clone()),
        attr: ast::Identifier::new(name, receiver.range()),
        ctx: ast::ExprContext::Load,
    };
    let mut resolution = Resolution::of(model.db(), definitions_for_attribute(model, &attribute));
    resolution.doubtful = has_explicit_any(model, receiver);
    resolution
}

/// `name` looked up on each base of `class`.
pub(super) fn resolve_in_bases(
    model: &SemanticModel<'_>,
    class: &ast::StmtClassDef,
    name: &Name,
) -> Resolution {
    let mut resolution = Resolution::default();
    for base in class.bases() {
        resolution.merge(resolve_member(model, base, name.clone()));
    }
    resolution
}

/// Whether a base of `class` could not be resolved, so that what it inherits is unknown.
pub(super) fn has_unknown_base(model: &SemanticModel<'_>, class: &ast::StmtClassDef) -> bool {
    class.bases().iter().any(|base| matches!(base.inferred_type(model), None | Some(Type::Dynamic(_))))
}

fn resolve_attribute(
    model: &SemanticModel<'_>,
    attribute: &ast::ExprAttribute,
    enclosing: Enclosing<'_>,
) -> Resolution {
    let name = &attribute.attr.id;
    if let Some(class) = enclosing.class
        && matches!(attribute.value.inferred_type(model), Some(Type::BoundSuper(_)))
    {
        return resolve_in_bases(model, class, name);
    }
    let resolution = resolve_member(model, &attribute.value, name.clone());
    // In code that is unreachable for the given Python version `self` has no type, but still its meaning.
    if let Enclosing { class: Some(class), receiver: Some(receiver), .. } = enclosing
        && resolution.is_empty()
        && attribute.value.as_name_expr().is_some_and(|value| value.id == receiver.name.id)
        && is_unknown(model, &attribute.value)
    {
        return resolve_in_class(model, class, name);
    }
    resolution
}

/// The bindings that `global name` or `nonlocal name` in a function mean.
fn resolve_forwarded(
    model: &SemanticModel<'_>,
    name: &str,
    global: bool,
    enclosing: Enclosing<'_>,
) -> Vec<Place> {
    let (db, file) = (model.db(), model.program_file());
    let index = semantic_index(db, file);
    let Some(function) =
        enclosing.function.and_then(|function| index.try_node_scope(NodeWithScopeRef::Function(function)))
    else {
        return Vec::new();
    };
    let outer = index.visible_ancestor_scopes(function).map(|(scope, _)| scope).skip(1);
    let bindings = outer.filter(|scope| scope.is_global() == global).find_map(|scope| {
        let table = index.place_table(scope);
        let symbol = table.symbol_id(name).filter(|symbol| !table.symbol(*symbol).is_nonlocal())?;
        Some(bindings_of_place(db, scope.to_scope_id(db, file), ScopedPlaceId::Symbol(symbol)))
    });
    bindings.unwrap_or_default().into_iter().map(|binding| place_of(db, binding)).collect()
}

/// `name` as `class` itself defines it, or else its bases.
fn resolve_in_class(model: &SemanticModel<'_>, class: &ast::StmtClassDef, name: &Name) -> Resolution {
    let (db, file) = (model.db(), model.program_file());
    let own = semantic_index(db, file)
        .try_node_scope(NodeWithScopeRef::Class(class))
        .map(|scope| own_members(db, scope.to_scope_id(db, file), name))
        .unwrap_or_default();
    if own.is_empty() {
        resolve_in_bases(model, class, name)
    } else {
        Resolution { places: own, ..Resolution::default() }
    }
}

pub(super) fn is_class(model: &SemanticModel<'_>, expression: &ast::Expr) -> bool {
    matches!(
        expression.inferred_type(model),
        Some(Type::ClassLiteral(_) | Type::GenericAlias(_) | Type::SubclassOf(_))
    )
}

/// A module's attributes are never members of a class, even where they cannot be resolved.
pub(super) fn is_module(model: &SemanticModel<'_>, expression: &ast::Expr) -> bool {
    matches!(expression.inferred_type(model), Some(Type::ModuleLiteral(_)))
}

/// `Base` for `Base[int]`: attributes are looked up on the class, which ty does not do for its specialisations.
fn unsubscripted<'a>(model: &SemanticModel<'_>, expression: &'a ast::Expr) -> &'a ast::Expr {
    match expression {
        ast::Expr::Subscript(subscript) if is_class(model, expression) => &subscript.value,
        _ => expression,
    }
}

fn has_explicit_any(model: &SemanticModel<'_>, receiver: &ast::Expr) -> bool {
    match receiver.inferred_type(model) {
        Some(Type::Union(union)) => union
            .elements(model.db())
            .iter()
            .any(|element| matches!(element, Type::Dynamic(DynamicType::Any))),
        Some(Type::Dynamic(DynamicType::Any)) => true,
        _ => false,
    }
}

/// The file and range of the name that `definition` defines.
pub(super) fn place_of<'db>(db: &'db dyn Db, definition: Definition<'db>) -> Place {
    let parsed = parsed_module(db, definition.python_file(db)).load(db);
    let target = definition.focus_range(db, &parsed);
    let text = source_text(db, target.file());
    (target.file(), last_identifier(text.as_str(), target.range()))
}

/// Targets end with the name they define: `self.x`, `f as g`, a plain `x`.
fn last_identifier(text: &str, range: TextRange) -> TextRange {
    let Some(target) = text.get(range.start().to_usize()..range.end().to_usize()) else {
        return range;
    };
    let name = target.trim_end_matches(|character: char| character.is_alphanumeric() || character == '_');
    match u32::try_from(name.len()) {
        Ok(skipped) if name.len() < target.len() => {
            TextRange::new(range.start() + TextSize::new(skipped), range.end())
        }
        _ => range,
    }
}

/// All definitions of a file by the range of the name they define, reachable or not.
pub(super) fn definitions_by_range<'db>(
    db: &'db dyn Db,
    file: ProgramFile<'db>,
) -> FxHashMap<TextRange, Definition<'db>> {
    let mut definitions = FxHashMap::default();
    for scope in semantic_index(db, file).scope_ids() {
        for definition in definitions_in_scope(db, scope) {
            definitions.entry(place_of(db, definition).1).or_insert(definition);
        }
    }
    definitions
}

/// The definitions that the source itself contains, in order; not those that ty adds for loops and closures.
fn definitions_in_scope<'db>(db: &'db dyn Db, scope: ScopeId<'db>) -> Vec<Definition<'db>> {
    use_def_map(db, scope)
        .all_definitions_with_usage()
        .filter_map(|(_, state, _)| state.definition())
        .filter(|definition| {
            let kind = definition.kind(db);
            kind.is_user_visible() && !matches!(kind, DefinitionKind::DictKeyAssignment(_))
        })
        .collect()
}

/// The definitions of one name or member of a scope.
pub(super) fn bindings_of_place<'db>(
    db: &'db dyn Db,
    scope: ScopeId<'db>,
    place: ScopedPlaceId,
) -> Vec<Definition<'db>> {
    definitions_in_scope(db, scope).into_iter().filter(|each| each.place(db) == place).collect()
}

/// Where a class itself defines a member: in its body, or on `self` in its methods.
pub(super) fn own_members<'db>(db: &'db dyn Db, class: ScopeId<'db>, name: &str) -> Vec<Place> {
    let mut definitions = Vec::new();
    if let Some(symbol) = place_table(db, class).symbol_id(name) {
        definitions.extend(bindings_of_place(db, class, ScopedPlaceId::Symbol(symbol)));
    }
    let file = class.program_file(db);
    let index = semantic_index(db, file);
    for method in attribute_scopes(db, class) {
        if let Some(member) = index.place_table(method).member_id_by_instance_attribute_name(name) {
            definitions.extend(bindings_of_place(
                db,
                method.to_scope_id(db, file),
                ScopedPlaceId::Member(member),
            ));
        }
    }
    definitions.into_iter().map(|definition| place_of(db, definition)).collect()
}

/// The type of `expression` is not known at all.
pub(super) fn is_unknown(model: &SemanticModel<'_>, expression: &ast::Expr) -> bool {
    matches!(expression.inferred_type(model), None | Some(Type::Dynamic(_) | Type::Never))
}

/// What an expression that is a plain name or an attribute refers to.
pub(super) fn resolve_expression(model: &SemanticModel<'_>, expression: &ast::Expr) -> Resolution {
    match expression {
        ast::Expr::Name(name) => Resolution::of(
            model.db(),
            definitions_for_name(
                model,
                name.id.as_str(),
                AnyNodeRef::from(name),
                ImportAliasResolution::ResolveAliases,
            ),
        ),
        ast::Expr::Attribute(attribute) => resolve_attribute(model, attribute, Enclosing::default()),
        _ => Resolution::default(),
    }
}
