//! What the name of a keyword argument means: a parameter, or a field where the constructor is made from fields.

use ruff_db::parsed::parsed_module;
use ruff_python_ast::{self as ast, name::Name};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;
use ty_python_core::definition::DefinitionKind;
use ty_python_core::place::ScopedPlaceId;
use ty_python_core::scope::ScopeId;
use ty_python_core::{place_table, semantic_index};
use ty_python_semantic::types::ide_support::{call_signature_details, definitions_for_keyword_argument};
use ty_python_semantic::types::{Type, TypeDefinition};
use ty_python_semantic::{Db, HasType, SemanticModel};

use super::resolve::{
    Place, Resolution, bindings_of_place, is_class, is_unknown, place_of, resolve_expression,
    resolve_in_bases, resolve_member,
};

/// What the keyword `name` of `call` refers to.
pub(super) fn resolve_keyword(
    model: &SemanticModel<'_>,
    keyword: &ast::Keyword,
    name: &Name,
    call: &ast::ExprCall,
) -> Resolution {
    if let Some(Type::Union(union)) = call.func.inferred_type(model) {
        return parameter_of_union(model, name, union.elements(model.db()));
    }
    let parameters = Resolution::of(model.db(), definitions_for_keyword_argument(model, keyword, call));
    if !parameters.is_empty() {
        return parameters;
    }
    if is_class(model, &call.func) {
        return constructed_field(model, name, call);
    }
    let replaced = replaced_field(model, name, call);
    if !replaced.is_empty() {
        return replaced;
    }
    parameter_of_callee(model, name, call)
}

/// What the keyword `name` in the bases of `class` refers to: a parameter of the bases' `__init_subclass__`.
pub(super) fn resolve_class_keyword(
    model: &SemanticModel<'_>,
    name: &Name,
    class: &ast::StmtClassDef,
) -> Resolution {
    let hooks = resolve_in_bases(model, class, &Name::new_static("__init_subclass__")).places.into_iter();
    let places = hooks.flat_map(|hook| parameter_of_function(model.db(), hook, name)).collect();
    Resolution { places, ..Resolution::default() }
}

/// Whether a keyword that could not be resolved may still be a parameter of one of `functions`: something of the same
/// name but unknown type is called, or one of them is an argument, as in `partial(function, name=1)`.
pub(super) fn may_reach(
    model: &SemanticModel<'_>,
    call: &ast::ExprCall,
    functions: &FxHashSet<Place>,
    callee: &Name,
) -> bool {
    let same_name = match &*call.func {
        ast::Expr::Name(name) => name.id == *callee,
        ast::Expr::Attribute(attribute) => attribute.attr.id == *callee,
        _ => false,
    };
    let refers = |argument: &ast::Expr| {
        resolve_expression(model, argument).places.iter().any(|place| functions.contains(place))
    };
    same_name && is_unknown(model, &call.func) || call.arguments.args.iter().any(refers)
}

/// `Point(x=1)` where the constructor is generated (dataclass, named tuple): its parameters have no definitions of their
/// own, so the field is meant. In doubt if no generated constructor is seen, as with a base class that is unknown.
fn constructed_field(model: &SemanticModel<'_>, name: &Name, call: &ast::ExprCall) -> Resolution {
    let constructor = resolve_member(model, &call.func, Name::new_static("__init__"));
    if !constructor.places.is_empty() {
        return Resolution::default();
    }
    let mut field = resolve_member(model, &call.func, name.clone());
    let is_parameter = call_signature_details(model, call)
        .iter()
        .any(|details| details.parameters.iter().any(|parameter| parameter.name == name.as_str()));
    field.doubtful |= !is_parameter;
    field
}

/// `replace(point, x=1)` and `point._replace(x=1)`, unless the project defines a function of that name.
fn replaced_field(model: &SemanticModel<'_>, name: &Name, call: &ast::ExprCall) -> Resolution {
    let original = match &*call.func {
        ast::Expr::Attribute(attribute) if attribute.attr.as_str() == "_replace" => Some(&*attribute.value),
        ast::Expr::Attribute(attribute) if attribute.attr.as_str() == "replace" => {
            call.arguments.args.first()
        }
        ast::Expr::Name(function) if function.id.as_str() == "replace" => call.arguments.args.first(),
        _ => None,
    };
    let Some(original) = original else {
        return Resolution::default();
    };
    if !resolve_expression(model, &call.func).places.is_empty() {
        return Resolution::default();
    }
    resolve_member(model, original, name.clone())
}

/// Each part of a union is asked on its own: ty merges those with equal signatures, whose parameters still differ.
fn parameter_of_union<'db>(model: &SemanticModel<'db>, name: &Name, parts: &[Type<'db>]) -> Resolution {
    let (db, environment) = (model.db(), model.program_environment());
    let mut resolution = Resolution::default();
    for part in parts {
        match part.definition(db, &environment) {
            Some(TypeDefinition::Function(function)) => {
                resolution.places.extend(parameter_of_function(db, place_of(db, function), name));
            }
            _ => resolution.doubtful = true,
        }
    }
    resolution
}

/// A decorator hides the signature, but the callee's name still leads to the function.
fn parameter_of_callee(model: &SemanticModel<'_>, name: &Name, call: &ast::ExprCall) -> Resolution {
    let functions = resolve_expression(model, &call.func).places.into_iter();
    let places = functions.flat_map(|function| parameter_of_function(model.db(), function, name)).collect();
    Resolution { places, ..Resolution::default() }
}

fn parameter_of_function(db: &dyn Db, function: Place, name: &str) -> Vec<Place> {
    function_scope(db, function).map(|scope| parameter_places(db, scope, name)).unwrap_or_default()
}

/// Where the function of `scope` binds its parameter `name`; empty if that is not one of its parameters.
pub(super) fn parameter_places<'db>(db: &'db dyn Db, scope: ScopeId<'db>, name: &str) -> Vec<Place> {
    let Some(symbol) = place_table(db, scope).symbol_id(name) else {
        return Vec::new();
    };
    let bindings = bindings_of_place(db, scope, ScopedPlaceId::Symbol(symbol));
    if !bindings.iter().any(|binding| matches!(binding.kind(db), DefinitionKind::Parameter(_))) {
        return Vec::new();
    }
    bindings.into_iter().map(|binding| place_of(db, binding)).collect()
}

/// The scope of the function whose name is at `place`.
pub(super) fn function_scope<'db>(db: &'db dyn Db, (file, range): Place) -> Option<ScopeId<'db>> {
    let file = db.program_file(file);
    let parsed = parsed_module(db, file.python_file(db)).load(db);
    semantic_index(db, file).scope_ids().find(|scope| {
        scope.node(db).as_function().is_some_and(|function| function.node(&parsed).name.range() == range)
    })
}
