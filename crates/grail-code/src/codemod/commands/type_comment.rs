//! Type comments (PEP 484) and the annotations they become.

use ruff_python_ast::token::TokenKind;

use super::CommandContext;
use super::interpolation::Refusal;
use crate::semantic::{BindingKind, is_builtin};
use crate::tree::TokenSpan;
use crate::{Field, Kind, Node, Parsed, Source, Span, parse_expression};

/// `# type: int`, and what may follow it.
pub(super) struct TypeComment<'a> {
    /// The comment up to where another comment begins in it.
    pub(super) span: Span,
    /// What stands behind `type:`.
    pub(super) content: &'a str,
    /// Whether another comment follows on the line.
    pub(super) has_rest: bool,
}

impl<'a> TypeComment<'a> {
    /// The type comment that follows `offset` on its line.
    pub(super) fn behind(context: &CommandContext<'a>, offset: u32) -> Option<Self> {
        let source = context.parsed.source();
        let rest = Span::new(offset, source.line_end(offset));
        let comment = context.parsed.tokens_in(rest).first()?;
        if comment.kind() != TokenKind::Comment {
            return None;
        }
        Self::read(context, comment.range_span())
    }

    /// Reads a comment as a type comment; `# type: ignore` is none.
    pub(super) fn read(context: &CommandContext<'a>, comment: Span) -> Option<Self> {
        let text: &'a str = comment.of(context.parsed.text());
        let content = text.strip_prefix('#')?.trim_start().strip_prefix("type:")?.trim_start();
        let start = text.len() - content.len();
        let end = comment_within(content).unwrap_or(content.len());
        let has_rest = end < content.len();
        let (content, _) = content.split_at(end);
        let is_ignore = content
            .strip_prefix("ignore")
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'));
        if is_ignore || content.trim().is_empty() {
            return None;
        }
        let span = Span::new(comment.start, comment.start + (start + end) as u32);
        Some(Self { span, content: content.trim_end(), has_rest })
    }

    /// What to remove: the comment, and the blanks before it unless another comment takes its place.
    pub(super) fn removal(&self, context: &CommandContext<'_>) -> Span {
        if self.has_rest {
            return self.span;
        }
        let before = &context.parsed.text()[..self.span.start as usize];
        let code = before.trim_end_matches([' ', '\t']);
        Span::new(code.len() as u32, self.span.end)
    }
}

/// Where a second comment begins, outside of quotes.
fn comment_within(content: &str) -> Option<usize> {
    let mut quote = None;
    for (at, character) in content.char_indices() {
        match (quote, character) {
            (None, '#') => return Some(at),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), character) if character == open => quote = None,
            _ => {}
        }
    }
    None
}

/// A type as text and as tree.
pub(super) struct Type {
    parsed: Parsed,
}

impl Type {
    pub(super) fn parse(content: &str) -> Result<Self, Refusal> {
        let parsed = parse_expression(Source::from_text(content));
        let is_type = parsed.is_valid()
            && parsed.nodes().all(|node| {
                matches!(
                    node.kind(),
                    Kind::Name
                        | Kind::Attribute
                        | Kind::Identifier
                        | Kind::Subscript
                        | Kind::Tuple
                        | Kind::List
                        | Kind::Starred
                        | Kind::BinOp
                        | Kind::UnaryOp
                        | Kind::Operator
                        | Kind::String
                        | Kind::NoneLiteral
                        | Kind::Ellipsis
                        | Kind::Integer
                        | Kind::Boolean
                        | Kind::Bytes
                )
            });
        if is_type { Ok(Self { parsed }) } else { Err(Refusal("the comment is no type")) }
    }

    pub(super) fn root(&self) -> Node<'_> {
        self.parsed.root()
    }
}

/// The parameter types and the result of `(int, *str) -> bool`; no parameter types for `(...)`.
pub(super) struct Signature {
    call: Option<Parsed>,
    pub(super) returns: Type,
}

impl Signature {
    pub(super) fn parse(content: &str) -> Result<Self, Refusal> {
        let malformed = Refusal("the comment is no function type");
        let close = closing_parenthesis(content).ok_or(malformed)?;
        let (parameters, rest) = content.split_at(close + 1);
        let returns = rest.trim_start().strip_prefix("->").ok_or(malformed)?;
        let returns = Type::parse(returns.trim())?;
        let inner = parameters[1..close].trim();
        if inner == "..." {
            return Ok(Self { call: None, returns });
        }
        // Read as a call, so that `*int` and `**int` are understood.
        let call = parse_expression(Source::from_text(format!("f({inner})")));
        let is_call = call.is_valid() && call.root().kind() == Kind::Call;
        if !is_call {
            return Err(malformed);
        }
        Ok(Self { call: Some(call), returns })
    }

    /// `None` if the comment leaves them open.
    pub(super) fn parameters(&self) -> Option<Vec<Node<'_>>> {
        let arguments = self.call.as_ref()?.root().list(Field::Args);
        Some(
            arguments
                .map(|argument| match argument.kind() {
                    Kind::Starred | Kind::Keyword => argument.child(Field::Value).unwrap_or(argument),
                    _ => argument,
                })
                .collect(),
        )
    }
}

fn closing_parenthesis(content: &str) -> Option<usize> {
    if !content.starts_with('(') {
        return None;
    }
    let mut depth = 0;
    let mut quote = None;
    for (at, character) in content.char_indices() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// How to write types as annotations.
pub(super) struct Annotations<'c, 'a> {
    pub(super) context: &'c CommandContext<'a>,
    /// Never quote: asked for, or `from __future__ import annotations`.
    pub(super) is_lazy: bool,
}

impl Annotations<'_, '_> {
    /// The type as an annotation at a node. Python evaluates it there unless `is_evaluated` is false; a type that may not exist
    /// at that moment, or not support what the comment does with it, goes into quotes.
    pub(super) fn text(&self, ty: Node<'_>, at: Node<'_>, is_evaluated: bool) -> Result<String, Refusal> {
        let text = ty.text();
        if self.is_lazy || !is_evaluated || self.is_safe(ty, at) || ty.kind() == Kind::String {
            return Ok(text.to_owned());
        }
        let quote = ["\"", "'"].into_iter().find(|quote| !text.contains(*quote));
        let quote = quote.filter(|_| !text.contains('\\')).ok_or(Refusal("its quotes cannot be nested"))?;
        Ok(format!("{quote}{text}{quote}"))
    }

    /// Whether evaluating the type at the node surely works.
    fn is_safe(&self, ty: Node<'_>, at: Node<'_>) -> bool {
        ty.subtree().all(|node| match node.kind() {
            Kind::Name => self.is_bound_before(node.text(), at),
            // `a.b.c` is judged once, as a whole.
            Kind::Attribute | Kind::Subscript => {
                let is_inner = node.field() == Field::Value && node.kind() == Kind::Attribute && node != ty;
                is_inner || node.child(Field::Value).is_some_and(|value| self.is_of_typing(value, at))
            }
            // Only newer versions know `X | Y` and `*Ts`.
            Kind::BinOp | Kind::Starred => false,
            _ => true,
        })
    }

    fn is_bound_before(&self, name: &str, at: Node<'_>) -> bool {
        let semantic = self.context.semantic;
        let Some(symbol) = semantic.lookup(semantic.scope_of(at), name) else { return is_builtin(name) };
        let symbol = semantic.symbol(symbol);
        let mut bindings = symbol.bindings.iter().map(|id| semantic.binding(*id));
        symbol.scope == semantic.module_scope()
            && bindings.all(|binding| {
                let statement = self.context.parsed.node(binding.node).statement();
                let is_certain = statement.is_some_and(|statement| {
                    let parent = statement.parent().map(Node::kind);
                    statement.span().end <= at.span().start
                        && matches!(parent, Some(Kind::Module | Kind::Try | Kind::ExceptHandler))
                });
                let is_definition = matches!(
                    binding.kind,
                    BindingKind::Import | BindingKind::ImportFrom | BindingKind::Class
                );
                is_certain && is_definition && !binding.is_typing_only
            })
    }

    /// Whether a dotted expression begins in a module of typing, or with a name imported from there.
    fn is_of_typing(&self, node: Node<'_>, at: Node<'_>) -> bool {
        let mut root = node;
        while root.kind() == Kind::Attribute {
            match root.child(Field::Value) {
                Some(value) => root = value,
                None => return false,
            }
        }
        let semantic = self.context.semantic;
        let symbol = semantic.lookup(semantic.scope_of(at), root.text());
        symbol.filter(|_| root.kind() == Kind::Name).is_some_and(|symbol| {
            let mut bindings = semantic.symbol(symbol).bindings.iter().map(|id| semantic.binding(*id));
            bindings.all(|binding| binding.imported.as_deref().is_some_and(is_typing))
        })
    }
}

fn is_typing(name: &str) -> bool {
    let module = name.split('.').next().unwrap_or(name);
    matches!(module, "typing" | "typing_extensions")
}
