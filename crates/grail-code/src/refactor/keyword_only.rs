//! Parameters that arguments may fill by name alone, and the names at every call.

use super::arguments::{
    Shape, arguments, index_of_position, insert, keyword_index, needs_parentheses, remove, star_reaching,
    unpacked, value_text,
};
use super::calls::{self, Call};
use super::entity::Names;
use super::error::{Place, RefactorError};
use super::target::{self, Function, Parameter};
use super::{EditSet, Location, SignatureChange, Target};
use crate::layout::{CommaList, insert_list_items, remove_list_items};
use crate::tree::ParameterKind;
use crate::{Edit, Field, Kind, Node, Project};

/// Makes parameters keyword-only: they move behind a `*`, and calls that passed them by position name them. `extra_references` are
/// names elsewhere that are known to mean the function.
pub fn make_keyword_only(
    project: &Project,
    target: &Target,
    parameters: &[&str],
    extra_references: &[Location],
) -> Result<SignatureChange, RefactorError> {
    let names = Names::new(project);
    let function = target::find(&names, target)?;
    let chosen = choose(&names, &function, parameters)?;
    let calls = calls::find(&names, &function, extra_references);
    let mut edits = EditSet::default();
    if !chosen.is_empty() {
        edits.add(function.definition.file, definition_edits(&function, &chosen));
        for call in &calls.certain {
            edits.add(call.file, call_edits(project, &function, &chosen, call)?);
        }
    }
    Ok(SignatureChange {
        files: edits.finish(project)?,
        calls: calls.certain.len(),
        unsure: calls.unsure,
        notes: calls.notes,
    })
}

/// The parameters to change, in order; those that are keyword-only already are not among them.
fn choose<'a>(
    names: &Names<'a>,
    function: &Function<'a>,
    parameters: &[&str],
) -> Result<Vec<Parameter<'a>>, RefactorError> {
    let mut chosen = Vec::new();
    for name in parameters {
        let parameter = function.parameter(names, name)?;
        let is_bound = function.bound_count() > 0 && function.parameters[0].index == parameter.index;
        let place = || Place::new(names.project, function.definition.file, parameter.node.span());
        match parameter.kind {
            _ if is_bound => {
                return Err(RefactorError::BoundParameter { name: (*name).to_owned(), place: place() });
            }
            ParameterKind::KeywordOnly => {}
            ParameterKind::Star | ParameterKind::DoubleStar => {
                return Err(RefactorError::NotPositional { name: (*name).to_owned(), place: place() });
            }
            _ => chosen.push(parameter),
        }
    }
    chosen.sort_by_key(|parameter| parameter.index);
    chosen.dedup_by_key(|parameter| parameter.index);
    Ok(chosen)
}

fn definition_edits(function: &Function<'_>, chosen: &[Parameter<'_>]) -> Vec<Edit> {
    let parsed = function.node.parsed();
    let Some(list) = CommaList::of(function.list) else { return Vec::new() };
    let items: Vec<Node<'_>> = function.list.list(Field::Params).collect();
    let is_chosen = |index: usize| chosen.iter().any(|parameter| parameter.index == index);
    let star = items.iter().position(|item| item.kind() == Kind::ParamStar);
    let var_args = function.parameters.iter().find(|parameter| parameter.kind == ParameterKind::Star);
    let first = chosen.first().map_or(0, |parameter| parameter.index);
    let positional_end = function.positional().map(|parameter| parameter.index + 1).max().unwrap_or(0);
    let is_tail = chosen.iter().all(|parameter| parameter.kind == ParameterKind::Positional)
        && (first..positional_end).all(is_chosen);
    if is_tail && var_args.is_none() {
        let mut edits = insert_list_items(parsed, &list, first, &["*"]);
        if let Some(star) = star {
            edits.extend(remove_list_items(parsed, &list, &[star]));
        }
        return edits;
    }
    // Otherwise they move behind the star, as they are written.
    let texts: Vec<&str> =
        chosen.iter().map(|parameter| list.items[parameter.index].of(parsed.text())).collect();
    let mut indexes: Vec<usize> = chosen.iter().map(|parameter| parameter.index).collect();
    let keeps_positional_only = function
        .parameters
        .iter()
        .any(|other| other.kind == ParameterKind::PositionalOnly && !is_chosen(other.index));
    if !keeps_positional_only {
        indexes.extend(items.iter().position(|item| item.kind() == Kind::ParamSlash));
    }
    let behind_star = star.or_else(|| var_args.map(|parameter| parameter.index)).map(|star| star + 1);
    let double_star = function.parameters.iter().find(|other| other.kind == ParameterKind::DoubleStar);
    let mut new_items = texts;
    if behind_star.is_none() {
        new_items.insert(0, "*");
    }
    let at = behind_star.or(double_star.map(|parameter| parameter.index)).unwrap_or(items.len());
    // At the end the list's last comma may go and come at once; both are one change there.
    if at == items.len() && indexes.contains(&(items.len() - 1)) {
        return rewrite_tail(function, &list, &indexes, &new_items);
    }
    let mut edits = remove_list_items(parsed, &list, &indexes);
    edits.extend(insert_list_items(parsed, &list, at, &new_items));
    edits
}

/// Removes items, the last one among them, and puts others in the place of that.
fn rewrite_tail(function: &Function<'_>, list: &CommaList, indexes: &[usize], items: &[&str]) -> Vec<Edit> {
    let last = list.items.len() - 1;
    let earlier: Vec<usize> = indexes.iter().copied().filter(|index| *index != last).collect();
    let mut edits = remove_list_items(function.node.parsed(), list, &earlier);
    edits.push(Edit::replace(list.items[last], items.join(", ")));
    edits
}

fn call_edits(
    project: &Project,
    function: &Function<'_>,
    chosen: &[Parameter<'_>],
    call: &Call<'_>,
) -> Result<Vec<Edit>, RefactorError> {
    let arguments = arguments(call.node);
    let positional: Vec<_> = function.positional().collect();
    let mut named: Vec<(usize, &str)> = Vec::new();
    for parameter in chosen {
        let position = positional.iter().position(|other| other.index == parameter.index);
        let Some(position) = position.and_then(|position| position.checked_sub(call.bound)) else { continue };
        if let Some(star) = star_reaching(&arguments, position) {
            return Err(unpacked(project, call.file, star, parameter.name));
        }
        if let Some(index) = index_of_position(&arguments, position) {
            named.push((index, parameter.name));
        }
    }
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let is_named = |index: usize| named.iter().any(|(other, _)| *other == index);
    let first = named.first().map_or(0, |(index, _)| *index);
    let has_plain_behind = arguments
        .iter()
        .enumerate()
        .skip(first)
        .any(|(index, argument)| matches!(argument.shape, Shape::Positional(_)) && !is_named(index));
    if !has_plain_behind {
        let in_place = |(index, name): &(usize, &str)| {
            let argument = arguments[*index].node;
            let span = argument.span_with_parentheses();
            if needs_parentheses(argument) {
                vec![Edit::insert(span.start, format!("{name}=(")), Edit::insert(span.end, ")")]
            } else {
                vec![Edit::insert(span.start, format!("{name}="))]
            }
        };
        return Ok(named.iter().flat_map(in_place).collect());
    }
    let indexes: Vec<usize> = named.iter().map(|(index, _)| *index).collect();
    let texts: Vec<String> =
        named.iter().map(|(index, name)| format!("{name}={}", value_text(arguments[*index].node))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut edits = remove(call, &indexes);
    edits.extend(insert(call, keyword_index(&arguments), &texts));
    Ok(edits)
}
