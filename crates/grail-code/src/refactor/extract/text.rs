//! The new function's text, and the call in place of the selection.

use ruff_python_ast::token::TokenKind;

use super::checks::is_async;
use super::place::Home;
use super::{Context, Exit, Extraction, Names};
use crate::layout::{block_indentation, indentation_unit, reindent_span};
use crate::refactor::entity::MethodKind;
use crate::semantic::{BindingKind, SymbolId};
use crate::tree::Attribute;
use crate::{Edit, Field, Kind, Node, Span};

pub(super) fn write(
    context: &Context<'_, '_>,
    names: &Names,
    home: &Home,
    exit: Exit,
    name: &str,
) -> Extraction {
    let semantic = context.semantic;
    let spelled = |symbol: &SymbolId| semantic.symbol(*symbol).name.to_string();
    let receiver = home.receiver.map(|(_, symbol)| symbol);
    let passed: Vec<SymbolId> =
        names.inputs.iter().copied().filter(|symbol| Some(*symbol) != receiver).collect();
    let is_async = context.own_nodes().any(is_async);

    let arguments: Vec<String> = passed.iter().map(spelled).collect();
    let callee = match receiver {
        Some(receiver) => format!("{}.{name}", spelled(&receiver)),
        None => name.to_owned(),
    };
    let await_ = if is_async { "await " } else { "" };
    let call = format!("{await_}{callee}({})", arguments.join(", "));
    let returns: Vec<String> = names.outputs.iter().map(spelled).collect();

    let function = function(context, names, home, &returns, name, &passed, is_async);
    let replacement = if context.selected.is_expression() {
        expression_call(context, &call, is_async)
    } else {
        let statement = match (exit, returns.as_slice()) {
            (Exit::Returns, _) => format!("return {call}"),
            (Exit::Falls, []) => call,
            (Exit::Falls, returns) => format!("{} = {call}", returns.join(", ")),
        };
        Edit::replace(replaced(context).span, statement)
    };
    let parameters = receiver.iter().map(spelled).chain(arguments).collect();
    Extraction { edits: vec![Edit::insert(home.offset, function), replacement], parameters, returns }
}

/// The bytes that the call replaces, and whether they are whole lines.
struct Replaced {
    span: Span,
    /// The bytes that move into the function.
    moved: Span,
    has_own_lines: bool,
}

/// Statements on lines of their own take their comments along.
fn replaced(context: &Context<'_, '_>) -> Replaced {
    let parsed = &context.file.parsed;
    let source = parsed.source();
    let span = context.selected.span;
    let line_start = source.line_start(span.start);
    let is_first = Span::new(line_start, span.start).of(parsed.text()).trim().is_empty();
    let semicolon = parsed
        .token_after(span.end)
        .filter(|token| token.kind() == TokenKind::Semi)
        .map(|token| ruff_text_size::Ranged::range(token).end().to_u32());
    let line_end = source.line_end(semicolon.unwrap_or(span.end));
    let rest = Span::new(semicolon.unwrap_or(span.end), line_end).of(parsed.text()).trim_start();
    let is_last = rest.is_empty() || rest.starts_with('#');
    if !is_first || !is_last {
        return Replaced { span, moved: span, has_own_lines: false };
    }
    // Comment lines above, as far as they were selected.
    let mut start = line_start;
    while start > context.selected.asked.start && start > 0 {
        let above = Span::new(source.line_start(start - 1), start);
        let text = above.of(parsed.text()).trim_start();
        let is_covered = context.selected.asked.start <= above.start + (above.len() - text.len() as u32);
        if !(text.starts_with('#') && is_covered) {
            break;
        }
        start = above.start;
    }
    let indentation = source.indentation(start).len() as u32;
    Replaced {
        span: Span::new(start + indentation, line_end),
        moved: Span::new(start, line_end),
        has_own_lines: true,
    }
}

fn function(
    context: &Context<'_, '_>,
    names: &Names,
    home: &Home,
    returns: &[String],
    name: &str,
    passed: &[SymbolId],
    is_async: bool,
) -> String {
    let parsed = &context.file.parsed;
    let newline = parsed.source().newline();
    let outer = &home.indentation;
    let inner = format!("{outer}{}", indentation_unit(parsed));
    let spelled = |symbol: &SymbolId| context.semantic.symbol(*symbol).name.to_string();

    let mut parameters: Vec<String> = home.receiver.iter().map(|(_, symbol)| spelled(symbol)).collect();
    parameters.extend(passed.iter().map(|symbol| match annotation(context, *symbol, home.offset) {
        Some(annotation) => format!("{}: {annotation}", spelled(symbol)),
        None => spelled(symbol),
    }));
    let mut lines: Vec<String> = Vec::new();
    if matches!(home.receiver, Some((MethodKind::Class, _))) {
        lines.push(format!("{outer}@classmethod"));
    }
    let keyword = if is_async { "async def" } else { "def" };
    lines.push(format!("{outer}{keyword} {name}({}):", parameters.join(", ")));
    if !names.globals.is_empty() {
        let globals: Vec<String> = names.globals.iter().map(spelled).collect();
        lines.push(format!("{inner}global {}", globals.join(", ")));
    }
    if context.selected.is_expression() {
        lines.push(format!("{inner}return {}", expression_text(context, &inner)));
    } else {
        let replaced = replaced(context);
        let from = block_indentation(context.selected.nodes[0]);
        let body = reindent_span(parsed, replaced.moved, &from, &inner);
        lines.push(if replaced.has_own_lines { body } else { format!("{inner}{body}") });
        if !returns.is_empty() {
            lines.push(format!("{inner}return {}", returns.join(", ")));
        }
    }
    let mut text = newline.repeat(home.blank_before);
    text.push_str(&lines.join(newline));
    text.push_str(&newline.repeat(1 + home.blank_after));
    text
}

/// An expression as the value of a `return`.
fn expression_text(context: &Context<'_, '_>, indentation: &str) -> String {
    let parsed = &context.file.parsed;
    let expression = context.selected.nodes[0];
    let span = context.selected.span;
    let from = parsed.source().indentation(span.start);
    let text = reindent_span(parsed, span, from, indentation);
    let is_wrapped = span != expression.span();
    let is_bare_generator = expression.kind() == Kind::GeneratorExp
        && expression.attribute("parenthesized") == Some(Attribute::Flag(false));
    let needs_parentheses = is_bare_generator
        || expression.kind() == Kind::NamedExpr
        || parsed
            .tokens_in(span)
            .iter()
            .any(|token| matches!(token.kind(), TokenKind::NonLogicalNewline | TokenKind::Comment));
    if needs_parentheses && !is_wrapped { format!("({text})") } else { text }
}

fn expression_call(context: &Context<'_, '_>, call: &str, is_async: bool) -> Edit {
    let span = context.selected.span;
    let expression = context.selected.nodes[0];
    let is_alone = matches!(expression.field(), Field::Args | Field::Iter | Field::Test)
        || expression.span_with_parentheses() != expression.span()
        || expression.parent().is_some_and(|parent| {
            parent.kind() == Kind::Keyword
                || (parent.kind().is_statement() && expression.field() == Field::Value)
        });
    let text = if is_async && !is_alone { format!("({call})") } else { call.to_owned() };
    // `return(a)` has no space to spare.
    let before = &context.file.parsed.text()[..span.start as usize];
    let touches = before.ends_with(|character: char| character.is_alphanumeric() || character == '_');
    Edit::replace(span, if touches { format!(" {text}") } else { text })
}

/// The annotation of a parameter that is handed on as it came, if it means the same in the new place.
fn annotation<'a>(context: &Context<'_, 'a>, symbol: SymbolId, home: u32) -> Option<&'a str> {
    let semantic = context.semantic;
    let [binding] = semantic.symbol(symbol).bindings.as_slice() else { return None };
    let binding = semantic.binding(*binding);
    let parameter: Node<'a> = context.file.parsed.node(binding.node).parent()?;
    let is_plain = binding.kind == BindingKind::Parameter
        && !matches!(
            parameter.parameter_kind(),
            Some(crate::tree::ParameterKind::Star | crate::tree::ParameterKind::DoubleStar)
        );
    let annotation = parameter.child(Field::Annotation).filter(|_| is_plain)?;
    let span = annotation.span_with_parentheses();
    let is_known_there = |id: SymbolId| {
        let symbol = semantic.symbol(id);
        let first = symbol.bindings.iter().map(|id| semantic.binding(*id).span.start).min();
        symbol.scope == semantic.module_scope() && first.is_some_and(|first| first < home)
    };
    let mut references = semantic.references().iter().filter(|reference| span.covers(reference.span));
    let is_known = references.all(|reference| reference.symbol.is_none_or(is_known_there));
    let text = span.of(context.file.parsed.text());
    (is_known && !text.contains(['\n', '\r'])).then_some(text)
}
