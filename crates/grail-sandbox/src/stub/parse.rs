//! Signatures from Python stub text. Functions become signatures; what stands beside them is kept word for word.

use std::sync::Arc;

use grail_code::tree::{self, string_literal};
use grail_code::{Field, Kind, Node, Source, parse_module};

use super::name::is_free_name;
use super::signature::{Parameter, ParameterKind, Signature, check_name};
use crate::error::SandboxError;

const MAX_TEXT: usize = 256 * 1024;

/// What a stub file holds beside its functions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Declarations {
    pub(super) imports: Vec<String>,
    /// Name and text, in source order.
    pub(super) named: Vec<(String, String)>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Signature>, SandboxError> {
    if text.len() > MAX_TEXT {
        return Err(refuse(format!("the stub is larger than {MAX_TEXT} bytes")));
    }
    let parsed = parse_module(Source::from_text(text));
    if let Some(diagnostic) = parsed.diagnostics().first() {
        let line = parsed.source().position(diagnostic.span.start).line;
        return Err(refuse(format!("line {line} of the stub does not parse: {}", diagnostic.message)));
    }
    let mut signatures: Vec<Signature> = Vec::new();
    let mut declarations = Declarations::default();
    for statement in parsed.root().list(Field::Body) {
        match statement.kind() {
            Kind::FunctionDef => {
                let signature = signature(statement)?;
                if signatures.iter().any(|known| known.name == signature.name) {
                    return Err(refuse(format!(
                        "`{}` is declared twice; a tool has one signature, so write a union instead of overloads",
                        signature.name
                    )));
                }
                signatures.push(signature);
            }
            Kind::Import | Kind::ImportFrom => declarations.imports.push(statement.text().to_owned()),
            Kind::ClassDef | Kind::TypeAlias | Kind::Assign | Kind::AnnAssign => {
                let name = declared_name(statement).ok_or_else(|| refuse_statement(statement))?;
                if !is_free_name(name) {
                    return Err(refuse(format!(
                        "`{name}` has a meaning of its own; the stub must call it something else"
                    )));
                }
                declarations.named.push((name.to_owned(), format!("{}\n", statement.text())));
            }
            Kind::Pass => {}
            Kind::Expr if is_text_or_ellipsis(statement) => {}
            _ => return Err(refuse_statement(statement)),
        }
    }
    let declarations = Arc::new(declarations);
    for signature in &mut signatures {
        signature.declarations = Some(Arc::clone(&declarations));
    }
    Ok(signatures)
}

fn signature(function: Node<'_>) -> Result<Signature, SandboxError> {
    let text_of = |field| function.child(field).map(|node| node.text().to_owned());
    let name = text_of(Field::Name).unwrap_or_default();
    check_name(&name)?;
    if let Some(decorator) = function.list(Field::Decorators).next() {
        return Err(refuse(format!(
            "`{name}` is decorated with `{}`; a tool's stub is a plain function",
            decorator.text()
        )));
    }
    let parameters = function.child(Field::Params).into_iter().flat_map(|list| list.list(Field::Params));
    Ok(Signature {
        name,
        parameters: parameters.filter(|node| node.kind() == Kind::Parameter).map(parameter).collect(),
        returns: annotation_text(function.child(Field::Returns)),
        is_async: function.is_async(),
        doc: function.list(Field::Body).next().and_then(docstring),
        type_parameters: text_of(Field::TypeParams).unwrap_or_default(),
        arguments: None,
        result: None,
        declarations: None,
    })
}

fn parameter(node: Node<'_>) -> Parameter {
    let kind = match node.parameter_kind() {
        Some(tree::ParameterKind::PositionalOnly) => ParameterKind::PositionalOnly,
        Some(tree::ParameterKind::Star) => ParameterKind::VarArgs,
        Some(tree::ParameterKind::KeywordOnly) => ParameterKind::KeywordOnly,
        Some(tree::ParameterKind::DoubleStar) => ParameterKind::VarKwargs,
        _ => ParameterKind::Normal,
    };
    let name = node.child(Field::Name).map_or("", |name| name.text());
    let parameter = Parameter::new(name, kind, annotation_text(node.child(Field::Annotation)));
    match node.child(Field::Default) {
        Some(default) => parameter.with_default(default.span_with_parentheses().of(node.parsed().text())),
        None => parameter,
    }
}

fn annotation_text(node: Option<Node<'_>>) -> String {
    node.map_or_else(
        || "Any".to_owned(),
        |node| node.span_with_parentheses().of(node.parsed().text()).to_owned(),
    )
}

fn docstring(statement: Node<'_>) -> Option<String> {
    let value = statement.child(Field::Value).filter(|_| statement.kind() == Kind::Expr)?;
    string_literal(value).filter(|_| value.kind() == Kind::String).map(|literal| literal.value().into_owned())
}

fn is_text_or_ellipsis(statement: Node<'_>) -> bool {
    let kind = statement.child(Field::Value).map(Node::kind);
    matches!(kind, Some(Kind::String | Kind::ConcatenatedString | Kind::Ellipsis))
}

fn declared_name(statement: Node<'_>) -> Option<&str> {
    let node = match statement.kind() {
        Kind::Assign => {
            let mut targets = statement.list(Field::Targets);
            let first = targets.next()?;
            if targets.next().is_some() {
                return None;
            }
            first
        }
        Kind::AnnAssign => statement.child(Field::Target)?,
        _ => statement.child(Field::Name)?,
    };
    matches!(node.kind(), Kind::Name | Kind::Identifier).then(|| node.text())
}

fn refuse_statement(statement: Node<'_>) -> SandboxError {
    let line = statement.parsed().source().position(statement.span().start).line;
    refuse(format!(
        "line {line} of the stub is no declaration; it may hold functions, classes, type aliases and imports"
    ))
}

fn refuse(reason: String) -> SandboxError {
    let reason =
        if reason.chars().count() > 300 { reason.chars().take(299).chain(['…']).collect() } else { reason };
    SandboxError::Signature { reason }
}
