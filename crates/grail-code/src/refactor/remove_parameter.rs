//! A parameter less, and its value gone from every call.

use super::arguments::{
    Shape, arguments, double_star, index_of_position, keyword, remove, star_reaching, unpacked,
};
use super::calls::{self, Call};
use super::entity::Names;
use super::error::{Place, RefactorError};
use super::target::{self, Function, Parameter};
use super::{EditSet, Location, Note, SignatureChange, Target};
use crate::layout::{CommaList, remove_list_items};
use crate::semantic::BindingKind;
use crate::tree::ParameterKind;
use crate::{Edit, Field, Kind, Node, Project};

/// How to remove a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoveParameter {
    pub name: String,
    /// Remove it though the body uses it; the uses stay and become free names.
    pub force: bool,
}

/// Removes a parameter from a function and its argument from every call. `extra_references` are names elsewhere that are known to
/// mean the function.
pub fn remove_parameter(
    project: &Project,
    target: &Target,
    request: &RemoveParameter,
    extra_references: &[Location],
) -> Result<SignatureChange, RefactorError> {
    let names = Names::new(project);
    let function = target::find(&names, target)?;
    let parameter = function.parameter(&names, &request.name)?;
    let is_first = function.parameters.first().is_some_and(|first| first.index == parameter.index);
    if is_first && function.bound_count() > 0 {
        return Err(RefactorError::BoundParameter {
            name: request.name.clone(),
            place: Place::new(project, function.definition.file, parameter.node.span()),
        });
    }
    if !request.force {
        refuse_used(&names, &function, parameter)?;
    }
    let calls = calls::find(&names, &function, extra_references);
    let mut notes = calls.notes;
    let mut edits = EditSet::default();
    edits.add(function.definition.file, definition_edits(&function, parameter));
    let mut removed = Vec::new();
    for call in &calls.certain {
        if let Some(index) = argument_index(project, &function, parameter, call)?
            && let Some(argument) = call.node.list(Field::Args).nth(index)
        {
            removed.push((call, index, argument));
        }
    }
    for &(call, index, argument) in &removed {
        // A call within an argument that goes, goes with it.
        if removed
            .iter()
            .any(|(other, _, outer)| other.file == call.file && outer.span().covers(call.node.span()))
        {
            continue;
        }
        if let Some(effect) = side_effect(argument) {
            let path = project.files[call.file].path.clone();
            notes.push(Note {
                location: Location { path, span: effect.span() },
                message: "the removed argument did something beyond its value".to_owned(),
            });
        }
        edits.add(call.file, remove(call, &[index]));
    }
    Ok(SignatureChange {
        files: edits.finish(project)?,
        calls: calls.certain.len(),
        unsure: calls.unsure,
        notes,
    })
}

fn refuse_used(
    names: &Names<'_>,
    function: &Function<'_>,
    parameter: Parameter<'_>,
) -> Result<(), RefactorError> {
    let semantic = &names.semantics[function.definition.file];
    let Some(symbol) = parameter.node.child(Field::Name).and_then(|name| semantic.symbol_of(name)) else {
        return Ok(());
    };
    let symbol = semantic.symbol(symbol);
    let references = symbol.references.iter().map(|id| semantic.reference(*id).span);
    let bindings = symbol.bindings.iter().map(|id| semantic.binding(*id));
    let rebindings =
        bindings.filter(|binding| binding.kind != BindingKind::Parameter).map(|binding| binding.span);
    match references.chain(rebindings).min() {
        None => Ok(()),
        Some(span) => Err(RefactorError::ParameterUsed {
            name: parameter.name.to_owned(),
            place: Place::new(names.project, function.definition.file, span),
        }),
    }
}

fn definition_edits(function: &Function<'_>, parameter: Parameter<'_>) -> Vec<Edit> {
    let items: Vec<Node<'_>> = function.list.list(Field::Params).collect();
    let others = |kind: ParameterKind| {
        function
            .parameters
            .iter()
            .filter(move |other| other.kind == kind && other.index != parameter.index)
            .count()
    };
    let marker = |kind: Kind| items.iter().position(|item| item.kind() == kind);
    let mut indexes = vec![parameter.index];
    match parameter.kind {
        ParameterKind::PositionalOnly if others(ParameterKind::PositionalOnly) == 0 => {
            indexes.extend(marker(Kind::ParamSlash));
        }
        ParameterKind::KeywordOnly if others(ParameterKind::KeywordOnly) == 0 => {
            indexes.extend(marker(Kind::ParamStar));
        }
        ParameterKind::Star if others(ParameterKind::KeywordOnly) > 0 => {
            return vec![Edit::replace(parameter.node.span(), "*")];
        }
        _ => {}
    }
    CommaList::of(function.list)
        .map_or_else(Vec::new, |list| remove_list_items(function.node.parsed(), &list, &indexes))
}

/// Which argument of a call fills the parameter; an error if that cannot be told.
fn argument_index(
    project: &Project,
    function: &Function<'_>,
    parameter: Parameter<'_>,
    call: &Call<'_>,
) -> Result<Option<usize>, RefactorError> {
    let arguments = arguments(call.node);
    let positional: Vec<_> = function.positional().collect();
    let passed = |node: Node<'_>| {
        let place = Place::new(project, call.file, node.span());
        Err(RefactorError::ArgumentPassed { name: parameter.name.to_owned(), place })
    };
    match parameter.kind {
        ParameterKind::Star => {
            let room = positional.len().saturating_sub(call.bound);
            let extra = arguments.iter().find(|argument| match argument.shape {
                Shape::Positional(at) => at >= room,
                Shape::Starred(_) => true,
                _ => false,
            });
            return extra.map_or(Ok(None), |argument| passed(argument.node));
        }
        ParameterKind::DoubleStar => {
            let is_known = |name: &str| {
                let mut named = function.parameters.iter().filter(|other| {
                    matches!(other.kind, ParameterKind::Positional | ParameterKind::KeywordOnly)
                });
                named.any(|other| other.name == name)
            };
            let extra = arguments.iter().find(|argument| match argument.shape {
                Shape::Keyword(name) => !is_known(name),
                Shape::DoubleStarred => true,
                _ => false,
            });
            return extra.map_or(Ok(None), |argument| passed(argument.node));
        }
        _ => {}
    }
    if let Some(index) = keyword(&arguments, parameter.name)
        && parameter.kind != ParameterKind::PositionalOnly
    {
        return Ok(Some(index));
    }
    let position = positional.iter().position(|other| other.index == parameter.index);
    if let Some(position) = position {
        // A call through the class may leave `self` to a `*`.
        let Some(position) = position.checked_sub(call.bound) else { return Ok(None) };
        if let Some(star) = star_reaching(&arguments, position) {
            return Err(unpacked(project, call.file, star, parameter.name));
        }
        if let Some(index) = index_of_position(&arguments, position) {
            return Ok(Some(index));
        }
    }
    match double_star(&arguments).filter(|_| parameter.kind != ParameterKind::PositionalOnly) {
        Some(argument) => Err(unpacked(project, call.file, argument, parameter.name)),
        None => Ok(None),
    }
}

/// Something in an argument that may do more than give a value.
fn side_effect(argument: Node<'_>) -> Option<Node<'_>> {
    argument.subtree().find(|node| {
        matches!(node.kind(), Kind::Call | Kind::Await | Kind::Yield | Kind::YieldFrom | Kind::NamedExpr)
    })
}
