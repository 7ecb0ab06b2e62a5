//! A new parameter, and its value at every call.

use super::arguments::{
    arguments, double_star, index_of_position, insert, keyword, keyword_index, positional_count,
    star_reaching, unpacked,
};
use super::calls::{self, Call};
use super::entity::Names;
use super::error::{Place, RefactorError};
use super::target::{self, Function};
use super::{EditSet, Location, SignatureChange, Target};
use crate::layout::{CommaList, insert_list_items};
use crate::tree::ParameterKind;
use crate::{Edit, Field, Kind, Project, Source, parse_expression, parse_statement};

/// A parameter to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterSpec {
    pub name: String,
    pub annotation: Option<String>,
    pub default: Option<String>,
    pub position: ParameterPosition,
}

/// Where a new parameter goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParameterPosition {
    /// As far back as a parameter can stand that arguments may fill by position: before `*args`, and without a default before those
    /// that have one.
    #[default]
    Last,
    /// This place, from 0, among the parameters that arguments may fill by position; `self` and `cls` are not counted.
    Index(usize),
    KeywordOnly,
}

/// Adds a parameter to a function. With `call_value`, an expression, every call passes it; without, the parameter needs a default
/// unless nothing calls the function. `extra_references` are names elsewhere that are known to mean the function.
pub fn add_parameter(
    project: &Project,
    target: &Target,
    parameter: &ParameterSpec,
    call_value: Option<&str>,
    extra_references: &[Location],
) -> Result<SignatureChange, RefactorError> {
    check_spec(parameter, call_value)?;
    let names = Names::new(project);
    let function = target::find(&names, target)?;
    refuse_taken_name(&names, &function, &parameter.name)?;
    let calls = calls::find(&names, &function, extra_references);
    let place = placement(project, &function, parameter)?;

    let mut edits = EditSet::default();
    edits.add(function.definition.file, definition_edits(&function, parameter, place));
    for call in &calls.certain {
        let Some(value) = call_value else {
            if parameter.default.is_some() {
                refuse_shifted_arguments(project, parameter, place, call)?;
                continue;
            }
            return Err(RefactorError::ValueNeeded {
                name: parameter.name.clone(),
                place: Place::new(project, call.file, call.node.span()),
            });
        };
        edits.add(call.file, call_edits(project, &function, parameter, place, call, value)?);
    }
    Ok(SignatureChange {
        files: edits.finish(project)?,
        calls: calls.certain.len(),
        unsure: calls.unsure,
        notes: calls.notes,
    })
}

/// Whether a word can name something in Python.
pub(super) fn is_name(name: &str) -> bool {
    let parsed = parse_statement(Source::from_text(format!("{name} = 0")));
    parsed.is_valid()
        && parsed
            .only()
            .and_then(|statement| statement.child(Field::Targets))
            .is_some_and(|target| target.kind() == Kind::Name && target.text() == name)
}

pub(super) fn check_expression(text: &str) -> Result<(), RefactorError> {
    let parsed = parse_expression(Source::from_text(text));
    let is_plain = parsed.is_valid()
        && parsed.root().kind() != Kind::Starred
        && (parsed.root().kind() != Kind::Tuple || parsed.root().is_parenthesized_tuple());
    if is_plain { Ok(()) } else { Err(RefactorError::NotAnExpression { text: text.to_owned() }) }
}

#[derive(Clone, Copy)]
struct Placement {
    /// In the list of parameters, `/` and `*` counted.
    list_index: usize,
    /// Among the parameters that take arguments by position, `self` counted; `None` if keyword-only.
    position: Option<usize>,
    needs_star: bool,
    is_positional_only: bool,
}

fn check_spec(parameter: &ParameterSpec, call_value: Option<&str>) -> Result<(), RefactorError> {
    if !is_name(&parameter.name) {
        return Err(RefactorError::InvalidName { name: parameter.name.clone() });
    }
    for text in
        [parameter.annotation.as_deref(), parameter.default.as_deref(), call_value].into_iter().flatten()
    {
        check_expression(text)?;
    }
    Ok(())
}

/// The function must not know the name yet: not as its own, and not as one from outside that the parameter would hide.
fn refuse_taken_name(names: &Names<'_>, function: &Function<'_>, name: &str) -> Result<(), RefactorError> {
    let file = function.definition.file;
    let semantic = &names.semantics[file];
    let taken = |span| RefactorError::NameTaken {
        name: name.to_owned(),
        place: Place::new(names.project, file, span),
    };
    if let Some(scope) = semantic.scope_opened_by(function.node.id())
        && let Some(symbol) = semantic.scope(scope).symbols.get(name)
    {
        let symbol = semantic.symbol(*symbol);
        let first = symbol.bindings.first().map(|id| semantic.binding(*id).span);
        return Err(taken(first.unwrap_or(function.node.span())));
    }
    let body_start = function.list.span().end;
    for reference in semantic.references() {
        let is_inside = body_start <= reference.span.start && reference.span.end <= function.node.span().end;
        if !is_inside || reference.name != name {
            continue;
        }
        // A function further in may bind the name for itself.
        let is_inner = reference.symbol.is_some_and(|symbol| {
            let owner = semantic.scope(semantic.symbol(symbol).scope).node;
            function.node.is_ancestor_of(semantic.parsed().node(owner))
        });
        if !is_inner {
            return Err(taken(reference.span));
        }
    }
    Ok(())
}

fn placement(
    project: &Project,
    function: &Function<'_>,
    parameter: &ParameterSpec,
) -> Result<Placement, RefactorError> {
    let items = function.list.list(Field::Params).count();
    let double_star = function.parameters.iter().find(|other| other.kind == ParameterKind::DoubleStar);
    if parameter.position == ParameterPosition::KeywordOnly {
        let has_star = function.list.list(Field::Params).any(|item| item.kind() == Kind::ParamStar)
            || function.parameters.iter().any(|other| other.kind == ParameterKind::Star);
        return Ok(Placement {
            list_index: double_star.map_or(items, |other| other.index),
            position: None,
            needs_star: !has_star,
            is_positional_only: false,
        });
    }
    let positional: Vec<_> = function.positional().copied().collect();
    let bound = function.bound_count().min(positional.len());
    let is_required = parameter.default.is_none();
    let first_default = positional.iter().position(|other| other.has_default).unwrap_or(positional.len());
    let position = match parameter.position {
        ParameterPosition::Index(index) => (index + bound).min(positional.len()),
        _ if is_required => first_default.max(bound),
        _ => positional.len(),
    };
    let order_is_broken = if is_required {
        position > first_default
    } else {
        position < first_default && position < positional.len()
    };
    if order_is_broken {
        return Err(RefactorError::RequiredBehindDefault { place: function.place(project) });
    }
    let (list_index, is_positional_only) = match positional.get(position) {
        Some(next) => (next.index, next.kind == ParameterKind::PositionalOnly),
        None => {
            // Behind the last one, and behind the `/` that may follow it.
            let behind = positional.last().map_or(0, |last| {
                let slash = usize::from(last.kind == ParameterKind::PositionalOnly);
                last.index + 1 + slash
            });
            (behind, false)
        }
    };
    Ok(Placement { list_index, position: Some(position), needs_star: false, is_positional_only })
}

fn definition_edits(function: &Function<'_>, parameter: &ParameterSpec, place: Placement) -> Vec<Edit> {
    let mut text = parameter.name.clone();
    if let Some(annotation) = &parameter.annotation {
        text.push_str(": ");
        text.push_str(annotation);
    }
    if let Some(default) = &parameter.default {
        text.push_str(if parameter.annotation.is_some() { " = " } else { "=" });
        text.push_str(default);
    }
    let items: Vec<&str> = if place.needs_star { vec!["*", &text] } else { vec![&text] };
    CommaList::of(function.list).map_or_else(Vec::new, |list| {
        insert_list_items(function.node.parsed(), &list, place.list_index, &items)
    })
}

/// A parameter with a default that calls do not pass must not take over what they pass to others.
fn refuse_shifted_arguments(
    project: &Project,
    parameter: &ParameterSpec,
    place: Placement,
    call: &Call<'_>,
) -> Result<(), RefactorError> {
    let arguments = arguments(call.node);
    if let Some(at) = keyword(&arguments, &parameter.name) {
        return Err(RefactorError::ArgumentPassed {
            name: parameter.name.clone(),
            place: Place::new(project, call.file, arguments[at].node.span()),
        });
    }
    let Some(position) = place.position else { return Ok(()) };
    let position = position.saturating_sub(call.bound);
    if positional_count(&arguments) > position {
        return Err(RefactorError::ArgumentShifted {
            name: parameter.name.clone(),
            place: Place::new(project, call.file, call.node.span()),
        });
    }
    match star_reaching(&arguments, position) {
        Some(star) => Err(unpacked(project, call.file, star, &parameter.name)),
        None => Ok(()),
    }
}

fn call_edits(
    project: &Project,
    function: &Function<'_>,
    parameter: &ParameterSpec,
    place: Placement,
    call: &Call<'_>,
    value: &str,
) -> Result<Vec<Edit>, RefactorError> {
    let arguments = arguments(call.node);
    let name = &parameter.name;
    if let Some(at) = keyword(&arguments, name) {
        return Err(RefactorError::ArgumentPassed {
            name: name.clone(),
            place: Place::new(project, call.file, arguments[at].node.span()),
        });
    }
    let takes_any_keyword = function.parameters.iter().any(|other| other.kind == ParameterKind::DoubleStar);
    if let Some(argument) = double_star(&arguments).filter(|_| takes_any_keyword) {
        return Err(unpacked(project, call.file, argument, name));
    }
    let by_keyword = || insert(call, keyword_index(&arguments), &[&format!("{name}={value}")]);
    let Some(position) = place.position else { return Ok(by_keyword()) };
    let position = position.saturating_sub(call.bound);
    // A `*` right at the position is pushed back by the new argument; one before it may reach any place.
    if let Some(star) = position.checked_sub(1).and_then(|last| star_reaching(&arguments, last)) {
        return Err(unpacked(project, call.file, star, name));
    }
    let count = positional_count(&arguments);
    if count >= position {
        let index = index_of_position(&arguments, position).unwrap_or_else(|| {
            position
                .checked_sub(1)
                .and_then(|last| index_of_position(&arguments, last))
                .map_or(0, |at| at + 1)
        });
        return Ok(insert(call, index, &[value]));
    }
    if place.is_positional_only {
        return Err(RefactorError::PositionalOnly {
            name: name.clone(),
            place: Place::new(project, call.file, call.node.span()),
        });
    }
    Ok(by_keyword())
}
