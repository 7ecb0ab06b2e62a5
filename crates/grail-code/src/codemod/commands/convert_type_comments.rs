//! `convert-type-comments`: `x = 1  # type: int` becomes `x: int = 1`; loops, `with` blocks and functions likewise (PEP 484, 526).
//!
//! Where Python evaluates the annotation and the type may not be there yet, the annotation is a string.

use ruff_python_ast::token::TokenKind;

use super::interpolation::Refusal;
use super::type_comment::{Annotations, Signature, Type, TypeComment};
use super::{Argument, Arguments, Command, CommandContext, CommandError, CommandOutcome};
use crate::layout::{annotate_parameter, annotate_return};
use crate::semantic::ScopeKind;
use crate::tree::{ParameterKind, TokenSpan};
use crate::{Edit, Field, Kind, Node, Span};

pub(super) const COMMAND: Command = Command {
    name: "convert-type-comments",
    summary: "Turn `# type:` comments into annotations",
    libcst: Some("ConvertTypeComments"),
    arguments: &[Argument {
        name: "no-quote-annotations",
        help: "Whether annotations are never put into quotes, though Python may not know their names yet",
        default: Some("false"),
    }],
    run,
};

fn run(context: &CommandContext<'_>, arguments: &Arguments) -> Result<CommandOutcome, CommandError> {
    let is_lazy = arguments.is_set("no-quote-annotations")? || has_lazy_annotations(context);
    let annotations = Annotations { context, is_lazy };
    let mut outcome = CommandOutcome::default();
    for node in context.parsed.nodes() {
        let converted = match node.kind() {
            Kind::Assign => assignment(&annotations, node),
            Kind::For | Kind::With => block(&annotations, node),
            Kind::FunctionDef => function(&annotations, node),
            _ => continue,
        };
        match converted {
            Ok(edits) => outcome.edits.extend(edits),
            Err(Refusal(reason)) => outcome.notes.push(context.note(node, reason)),
        }
    }
    Ok(outcome)
}

fn has_lazy_annotations(context: &CommandContext<'_>) -> bool {
    context
        .semantic
        .bindings()
        .iter()
        .any(|binding| binding.imported.as_deref() == Some("__future__.annotations"))
}

type Converted = Result<Vec<Edit>, Refusal>;

fn assignment(annotations: &Annotations<'_, '_>, statement: Node<'_>) -> Converted {
    let context = annotations.context;
    let Some(comment) = TypeComment::behind(context, statement.span().end) else { return Ok(Vec::new()) };
    let ty = Type::parse(comment.content)?;
    let targets: Vec<_> = statement.list(Field::Targets).collect();
    let removal = Edit::remove(comment.removal(context));
    let is_single =
        |target: &Node<'_>| matches!(target.kind(), Kind::Name | Kind::Attribute | Kind::Subscript);
    match targets[..] {
        [target] if is_single(&target) => {
            if ty.root().kind() == Kind::Tuple {
                return Err(Refusal("the comment has more types than there are targets"));
            }
            check_not_global(context, target)?;
            let text = annotations.text(ty.root(), statement, is_evaluated(context, statement))?;
            let end = target.span_with_parentheses().end;
            Ok(vec![Edit::insert(end, format!(": {text}")), removal])
        }
        _ => {
            let declarations = declarations(annotations, statement, &targets, &ty)?;
            Ok(vec![declarations, removal])
        }
    }
}

/// `for` and `with`: the comment stands behind the colon, the declaration before the statement.
fn block(annotations: &Annotations<'_, '_>, statement: Node<'_>) -> Converted {
    let context = annotations.context;
    let (target, header_end) = match statement.kind() {
        Kind::For => {
            (statement.child(Field::Target), statement.child(Field::Iter).map(|iter| iter.span().end))
        }
        _ => {
            let mut targets = statement.list(Field::Items).filter_map(|item| item.child(Field::OptionalVars));
            let target = targets.next().filter(|_| targets.next().is_none());
            (target, statement.list(Field::Items).last().map(|item| item.span().end))
        }
    };
    let Some(comment) = header_end.and_then(|end| comment_behind_colon(context, end)) else {
        return Ok(Vec::new());
    };
    let target = target.ok_or(Refusal("the comment does not say which target it means"))?;
    let ty = Type::parse(comment.content)?;
    let declarations = declarations(annotations, statement, &[target], &ty)?;
    Ok(vec![declarations, Edit::remove(comment.removal(context))])
}

fn comment_behind_colon<'a>(context: &CommandContext<'a>, offset: u32) -> Option<TypeComment<'a>> {
    TypeComment::behind(context, colon_behind(context, offset)?)
}

/// Where the colon that ends a header ends.
fn colon_behind(context: &CommandContext<'_>, offset: u32) -> Option<u32> {
    let rest = Span::new(offset, context.parsed.text().len() as u32);
    let colon = context.parsed.tokens_in(rest).iter().find(|token| token.kind() == TokenKind::Colon)?;
    Some(colon.range_span().end)
}

/// Lines `name: type` before a statement, one for each name that its targets bind.
fn declarations(
    annotations: &Annotations<'_, '_>,
    statement: Node<'_>,
    targets: &[Node<'_>],
    ty: &Type,
) -> Result<Edit, Refusal> {
    let context = annotations.context;
    let source = context.parsed.source();
    let start = statement.span().start;
    let before = Span::new(source.line_start(start), start).of(context.parsed.text());
    if !before.trim_matches([' ', '\t', '\u{c}']).is_empty() {
        return Err(Refusal("the statement shares its line with another"));
    }
    let is_evaluated = is_evaluated(context, statement);
    let mut pending: Vec<(Node<'_>, Node<'_>)> =
        targets.iter().rev().map(|target| (*target, ty.root())).collect();
    let mut text = String::new();
    while let Some((target, ty)) = pending.pop() {
        match target.kind() {
            Kind::Tuple | Kind::List => {
                let names: Vec<_> = target.list(Field::Elts).collect();
                let types: Vec<_> = match ty.kind() {
                    Kind::Tuple => ty.list(Field::Elts).collect(),
                    _ => return Err(Refusal("the comment has fewer types than there are targets")),
                };
                if names.len() != types.len() {
                    return Err(Refusal("the comment does not have as many types as there are targets"));
                }
                pending.extend(names.into_iter().zip(types).rev());
            }
            Kind::Starred => pending.extend(target.child(Field::Value).map(|value| (value, ty))),
            Kind::Name | Kind::Attribute => {
                if ty.kind() == Kind::Tuple {
                    return Err(Refusal("the comment has more types than there are targets"));
                }
                check_not_global(context, target)?;
                let annotation = annotations.text(ty, statement, is_evaluated)?;
                text += &format!("{}: {annotation}{}{before}", target.text(), source.newline());
            }
            _ => return Err(Refusal("a target cannot be declared")),
        }
    }
    Ok(Edit::insert(start, text))
}

/// Within a function Python does not evaluate the annotations of variables.
fn is_evaluated(context: &CommandContext<'_>, statement: Node<'_>) -> bool {
    let scope = context.semantic.scope(context.semantic.scope_of(statement));
    !matches!(scope.kind, ScopeKind::Function | ScopeKind::Lambda)
}

/// A name declared `global` or `nonlocal` cannot be annotated.
fn check_not_global(context: &CommandContext<'_>, target: Node<'_>) -> Result<(), Refusal> {
    if target.kind() != Kind::Name {
        return Ok(());
    }
    let opener = target
        .ancestors()
        .find(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef | Kind::Module))
        .unwrap_or_else(|| context.parsed.root());
    let is_declared = opener.descendants().any(|node| {
        matches!(node.kind(), Kind::Global | Kind::Nonlocal)
            && node.list(Field::Names).any(|name| name.text() == target.text())
    });
    if is_declared { Err(Refusal("a global or nonlocal name cannot be annotated")) } else { Ok(()) }
}

fn function(annotations: &Annotations<'_, '_>, function: Node<'_>) -> Converted {
    let context = annotations.context;
    let Some(parameters) = function.child(Field::Params) else { return Ok(Vec::new()) };
    let all: Vec<_> =
        parameters.list(Field::Params).filter(|param| param.kind() == Kind::Parameter).collect();
    let comments: Vec<_> = all.iter().map(|param| parameter_comment(context, *param)).collect();
    let header_end = function.child(Field::Returns).map_or(parameters.span().end, |node| node.span().end);
    let signature_comment = signature_comment(context, function, header_end);
    let signature = match &signature_comment {
        Some((comment, _)) => Some(Signature::parse(comment.content)?),
        None => None,
    };
    let types = match signature.as_ref().and_then(Signature::parameters) {
        Some(types) => Some(fit(types, &all, function)?),
        None => None,
    };

    let mut edits = Vec::new();
    for (index, (param, comment)) in all.iter().zip(&comments).enumerate() {
        let own = match comment {
            Some(comment) => {
                edits.push(Edit::remove(comment.removal(context)));
                Some(Type::parse(comment.content)?)
            }
            None => None,
        };
        if param.child(Field::Annotation).is_some() {
            continue;
        }
        let common = types.as_ref().and_then(|types| types.get(index).copied().flatten());
        let Some(ty) = own.as_ref().map(Type::root).or(common) else { continue };
        edits.extend(annotate_parameter(*param, &annotations.text(ty, function, true)?));
    }
    if let (Some((_, removal)), Some(signature)) = (&signature_comment, &signature) {
        edits.push(Edit::remove(*removal));
        if function.child(Field::Returns).is_none() {
            let text = annotations.text(signature.returns.root(), function, true)?;
            edits.extend(annotate_return(function, &text));
        }
    }
    Ok(edits)
}

/// The comment behind a parameter and its comma.
fn parameter_comment<'a>(context: &CommandContext<'a>, param: Node<'_>) -> Option<TypeComment<'a>> {
    let end =
        param.child(Field::Default).map_or(param.span().end, |default| default.span_with_parentheses().end);
    let after = context.parsed.token_after(end.max(param.span().end))?;
    let end = if after.kind() == TokenKind::Comma { after.range_span().end } else { param.span().end };
    TypeComment::behind(context, end)
}

/// The comment behind the header's colon or alone on the next line, and what to remove with it.
fn signature_comment<'a>(
    context: &CommandContext<'a>,
    function: Node<'_>,
    header_end: u32,
) -> Option<(TypeComment<'a>, Span)> {
    let source = context.parsed.source();
    let colon = colon_behind(context, header_end)?;
    if let Some(comment) = TypeComment::behind(context, colon) {
        let removal = comment.removal(context);
        return Some((comment, removal));
    }
    let rest = Span::new(colon, source.line_end(colon)).of(context.parsed.text());
    if !rest.trim_start().is_empty() && !rest.trim_start().starts_with('#') {
        return None;
    }
    let line = source.next_line_start(colon);
    let next = Span::new(line, source.line_end(line));
    let comment = context.parsed.tokens_in(next).iter().find(|token| token.kind() != TokenKind::Indent)?;
    let first = function.list(Field::Body).next()?;
    if comment.kind() != TokenKind::Comment || comment.range_span().start > first.span().start {
        return None;
    }
    let comment = TypeComment::read(context, comment.range_span())?;
    let removal = if comment.has_rest { comment.span } else { Span::new(line, source.next_line_start(line)) };
    Some((comment, removal))
}

/// The type of each parameter. A method's comment may leave out the first.
fn fit<'t>(
    types: Vec<Node<'t>>,
    params: &[Node<'_>],
    function: Node<'_>,
) -> Result<Vec<Option<Node<'t>>>, Refusal> {
    let is_method = function.parent().is_some_and(|parent| parent.kind() == Kind::ClassDef)
        && params.first().is_some_and(|first| {
            matches!(first.parameter_kind(), Some(ParameterKind::Positional | ParameterKind::PositionalOnly))
        });
    let types: Vec<_> = types.into_iter().map(Some).collect();
    if types.len() == params.len() {
        Ok(types)
    } else if is_method && types.len() + 1 == params.len() {
        Ok(std::iter::once(None).chain(types).collect())
    } else {
        Err(Refusal("the comment does not have as many types as there are parameters"))
    }
}
