//! Types as a file writes them: expressions in the code, and annotations that are strings.
//!
//! Both are trees; a [`TypeTree`] hides which one a node belongs to and answers by qualified name, so that `t.List` after
//! `import typing as t` counts and a local class called `List` does not.

use super::CommandContext;
use crate::semantic::{BindingKind, Semantic};
use crate::tree::string_literal;
use crate::{Field, Kind, Node, NodeId, Parsed, Source, Span, parse_expression};

/// A string that stands where an annotation is expected, with the tree of its content.
pub(super) struct AnnotationString<'a> {
    pub(super) node: Node<'a>,
    /// Where the content begins in the file.
    pub(super) offset: u32,
    pub(super) parsed: Parsed,
}

/// The file's tree, or that of an annotation string.
#[derive(Clone, Copy)]
pub(super) struct TypeTree<'t> {
    semantic: &'t Semantic<'t>,
    pub(super) parsed: &'t Parsed,
    offset: u32,
    holder: Option<Node<'t>>,
}

/// The strings in annotations whose content is written without escapes and parses.
pub(super) fn annotation_strings<'a>(context: &CommandContext<'a>) -> Vec<AnnotationString<'a>> {
    let mut found = Vec::new();
    for annotation in context.parsed.nodes().filter(|node| is_annotation(*node)) {
        let mut pending = vec![annotation];
        while let Some(node) = pending.pop() {
            match node.kind() {
                Kind::String => found.extend(parse_content(node)),
                // A call's arguments are values.
                Kind::Call => {}
                Kind::Subscript => {
                    let value = node.child(Field::Value);
                    let goes_by = |names: &[&str]| {
                        value.is_some_and(|value| {
                            names.iter().any(|name| context.semantic.has_qualified_name(value, name))
                        })
                    };
                    if goes_by(&["typing.Literal", "typing_extensions.Literal"]) {
                        continue;
                    }
                    let is_annotated = goes_by(&["typing.Annotated", "typing_extensions.Annotated"]);
                    match node.child(Field::Slice) {
                        // What follows the type is metadata.
                        Some(slice) if is_annotated && slice.kind() == Kind::Tuple => {
                            pending.extend(slice.list(Field::Elts).next());
                        }
                        slice => pending.extend(slice),
                    }
                    pending.extend(value);
                }
                _ => pending.extend(node.children()),
            }
        }
    }
    found.sort_by_key(|string| string.offset);
    found
}

/// Whether the node is the annotation of a parameter, a variable or a return value.
pub(super) fn is_annotation(node: Node<'_>) -> bool {
    matches!(node.field(), Field::Annotation | Field::Returns)
}

/// The tree of a string's content, if it is one expression and written without escapes.
pub(super) fn parse_content(node: Node<'_>) -> Option<AnnotationString<'_>> {
    let literal = string_literal(node)?;
    let is_plain = matches!(literal.prefix, "" | "r" | "R" | "u" | "U")
        && !literal.content.contains(['\\', '\n', '\r'])
        && !literal.content.is_empty();
    if !is_plain {
        return None;
    }
    let parsed = parse_expression(Source::from_text(literal.content));
    // Leading blanks are an error in a string annotation, and trailing ones are not worth the trouble.
    let is_whole = parsed.is_valid() && parsed.root().span_with_parentheses().len() == literal.span.len();
    is_whole.then_some(AnnotationString { node, offset: literal.span.start, parsed })
}

impl<'t> TypeTree<'t> {
    pub(super) fn of_file(context: &CommandContext<'t>) -> Self {
        Self { semantic: context.semantic, parsed: context.parsed, offset: 0, holder: None }
    }

    pub(super) fn of_string(context: &CommandContext<'t>, string: &'t AnnotationString<'t>) -> Self {
        Self {
            semantic: context.semantic,
            parsed: &string.parsed,
            offset: string.offset,
            holder: Some(string.node),
        }
    }

    pub(super) fn is_string(&self) -> bool {
        self.holder.is_some()
    }

    /// The node in the file that a note about `node` should name.
    pub(super) fn place(&self, node: Node<'t>) -> Node<'t> {
        self.holder.unwrap_or(node)
    }

    /// A span of this tree as a span of the file.
    pub(super) fn in_file(&self, span: Span) -> Span {
        Span::new(span.start + self.offset, span.end + self.offset)
    }

    /// The qualified name in `names` that the expression goes by, if it can go by no other.
    pub(super) fn name_among<'n>(&self, node: Node<'t>, names: &[&'n str]) -> Option<&'n str> {
        // A call or subscript goes by its function's name, but is something else.
        if !matches!(node.kind(), Kind::Name | Kind::Attribute) {
            return None;
        }
        // Most attributes fail here, before a long chain of them is walked.
        if let Some(attribute) = node.child(Field::Attr)
            && !names.iter().any(|name| name.rsplit('.').next() == Some(attribute.text()))
        {
            return None;
        }
        let found = self.qualified_names(node);
        let is_listed = |name: &String| names.contains(&name.as_str());
        if !found.iter().all(is_listed) {
            return None;
        }
        let first = found.first()?;
        names.iter().copied().find(|name| *name == first)
    }

    /// Whether a builtin can be written at `node` and still mean the builtin.
    pub(super) fn sees_builtin(&self, node: Node<'t>, name: &str) -> bool {
        let scope = self.semantic.scope_of(self.place(node));
        self.semantic.lookup(scope, name).is_none()
    }

    fn qualified_names(&self, node: Node<'t>) -> Vec<String> {
        let Some(holder) = self.holder else {
            return self.semantic.qualified_names(node).into_iter().map(|name| name.name).collect();
        };
        let Some((root, attributes)) = dotted(node) else { return Vec::new() };
        let scope = self.semantic.scope_of(holder);
        let Some(symbol) = self.semantic.lookup(scope, root.text()) else { return Vec::new() };
        let symbol = self.semantic.symbol(symbol);
        let bindings = symbol.bindings.iter().map(|id| self.semantic.binding(*id));
        bindings
            .filter(|binding| binding.kind != BindingKind::Deletion)
            .map(|binding| {
                let is_aliased = self.semantic.parsed().node(binding.node).field() == Field::Asname;
                let base = match (&binding.imported, binding.kind) {
                    (Some(_), BindingKind::Import) if !is_aliased => symbol.name.as_ref(),
                    (Some(imported), _) => imported.as_str(),
                    // A name of this file; no qualified name that a command looks for has an empty part.
                    (None, _) => "",
                };
                format!("{base}{attributes}")
            })
            .collect()
    }
}

/// The first name of `a.b.c` and the rest with its dots.
fn dotted(node: Node<'_>) -> Option<(Node<'_>, String)> {
    let mut attributes = Vec::new();
    let mut current = node;
    loop {
        match current.kind() {
            Kind::Name => break,
            Kind::Attribute => {
                attributes.push(current.child(Field::Attr)?.text());
                current = current.child(Field::Value)?;
            }
            _ => return None,
        }
    }
    Some((current, attributes.iter().rev().map(|attribute| format!(".{attribute}")).collect()))
}

/// Ids of the nodes, to ask whether a node is one of them.
pub(super) fn ids<'a>(strings: &'a [AnnotationString<'a>]) -> impl Iterator<Item = NodeId> + 'a {
    strings.iter().map(|string| string.node.id())
}
