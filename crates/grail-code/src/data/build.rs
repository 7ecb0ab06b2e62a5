//! Tree to data: who owns which piece of the text between the nodes.
//!
//! Two loops over the flat tree: forwards for what children learn from parents (indentation, how far a block may reach), backwards to
//! assemble parents from finished children. A node whose parts do not line up with its text, as error recovery leaves some, becomes a
//! leaf with its text: everything else relies on `print(data) == text`.

use serde_json::{Value, json};

use super::codegen::print;
use super::layout::{
    FieldLayout, KindLayout, Object, Parent, Shape, WhenEmpty, default_around, default_head, default_tail,
    layout, separator,
};
use super::precedence::needs_parentheses;
use super::trivia::{attached_comments, comments_of_block, ends_line, is_blank, skip_trivia, take_tokens};
use super::{DataError, is_clause, is_void_without};
use crate::tree::{Arity, Attribute, FieldSpec};
use crate::{Field, Kind, Node, NodeId, Parsed, Span};

/// Deeper trees are refused: readers of JSON, Python's among them, recurse.
pub const MAX_DEPTH: usize = 500;

/// A parsed module or expression as data.
pub fn tree(parsed: &Parsed) -> Result<Value, DataError> {
    let mut builder = Builder::new(parsed)?;
    let data = builder.build(false);
    if builder.is_exact(&data) {
        return Ok(data);
    }
    // Only broken source comes here. Every statement is checked by itself, and what does not print as it was becomes a leaf.
    Ok(builder.build(true))
}

struct Builder<'a> {
    parsed: &'a Parsed,
    text: &'a str,
    newline: &'static str,
    /// How far a node could reach: to its next sibling, or as far as its parent.
    limits: Vec<u32>,
    /// Of the line a statement stands on, as a span of the text.
    indents: Vec<Span>,
    /// With the parentheses around an expression, with the trailing comments of a block.
    extents: Vec<Span>,
    values: Vec<Option<Object>>,
}

/// A node does not line up with its text.
struct Misfit;

impl<'a> Builder<'a> {
    fn new(parsed: &'a Parsed) -> Result<Self, DataError> {
        let text = parsed.text();
        let count = parsed.len();
        let end = text.len() as u32;
        let mut builder = Self {
            parsed,
            text,
            newline: parsed.source().newline(),
            limits: vec![end; count],
            indents: vec![Span::at(0); count],
            extents: parsed.nodes().map(Node::span).collect(),
            values: vec![None; count],
        };
        let mut depths = vec![1_u32; count];
        for node in parsed.nodes() {
            let index = node.id().index();
            if depths[index] as usize > MAX_DEPTH {
                return Err(DataError::TooDeep { depth: deepest(parsed) });
            }
            let mut previous: Option<Node<'_>> = None;
            let mut block: Option<(Field, Span)> = None;
            for child in node.children() {
                let at = child.id().index();
                depths[at] = depths[index] + 1;
                builder.limits[at] = builder.limits[index];
                if let Some(previous) = previous {
                    builder.limits[previous.id().index()] = child.span().start;
                }
                previous = Some(child);
                builder.indents[at] = builder.indents[index];
                let is_block = matches!(child.field(), Field::Body | Field::Cases)
                    && (child.kind().is_statement() || is_clause(child.kind()));
                if is_block && node.kind() != Kind::Module {
                    let indent = match block {
                        Some((field, indent)) if field == child.field() => indent,
                        _ => builder.line_prefix(node, child).unwrap_or(builder.indents[index]),
                    };
                    block = Some((child.field(), indent));
                    builder.indents[at] = indent;
                }
                builder.extents[at] = builder.with_parentheses(node, child);
            }
        }
        Ok(builder)
    }

    /// What stands before the first statement of a block on its line, if that line is the block's own.
    fn line_prefix(&self, parent: Node<'_>, first: Node<'_>) -> Option<Span> {
        let start = first.span().start;
        let line = self.parsed.source().line_start(start);
        let prefix = Span::new(line, start);
        (line > parent.span().start && is_blank(prefix.of(self.text))).then_some(prefix)
    }

    fn with_parentheses(&self, parent: Node<'_>, node: Node<'_>) -> Span {
        let span = node.span();
        let behind = self.text[span.end as usize..].trim_start().bytes().next();
        if !matches!(behind, Some(b')' | b'#' | b'\\')) {
            return span;
        }
        let extent = if node.kind().is_expression() {
            node.span_with_parentheses()
        } else if is_pattern(node.kind()) && parent.kind() != Kind::MatchCase {
            self.pattern_with_parentheses(parent, span)
        } else {
            span
        };
        if parent.span().covers(extent) { extent } else { span }
    }

    fn pattern_with_parentheses(&self, parent: Node<'_>, mut span: Span) -> Span {
        let mut own = match parent.kind() {
            // The first parenthesis behind the class is the pattern's own.
            Kind::MatchClass => parent
                .child(Field::Cls)
                .map_or(parent.span(), |class| Span::new(class.span().end, parent.span().end)),
            _ => parent.span(),
        };
        let has_own = matches!(parent.kind(), Kind::MatchClass | Kind::MatchSequence);
        let lead = &self.text[own.start as usize..own.end as usize];
        if has_own && lead.trim_start().starts_with('(') {
            own.start += (lead.len() - lead.trim_start().len()) as u32 + 1;
        }
        loop {
            let before = self.text[own.start as usize..span.start as usize].trim_end();
            let after = &self.text[span.end as usize..own.end as usize];
            let blank = after.len() - after.trim_start().len();
            if !before.ends_with('(') || !after[blank..].starts_with(')') {
                return span;
            }
            span = Span::new(own.start + before.len() as u32 - 1, span.end + blank as u32 + 1);
        }
    }

    fn build(&mut self, checks_statements: bool) -> Value {
        let parsed = self.parsed;
        for node in parsed.nodes().rev() {
            let index = node.id().index();
            let object = match self.assemble(node) {
                Ok(object) => object,
                Err(Misfit) => self.opaque(node),
            };
            self.values[index] = Some(object);
            let is_root = index == 0;
            if checks_statements && (is_root || node.kind().is_statement() || is_clause(node.kind())) {
                let value = Value::Object(self.values[index].take().unwrap_or_default());
                let indent = self.indents[index].of(self.text);
                let is_exact =
                    print(&value, indent, self.newline, false) == self.extents[index].of(self.text);
                self.values[index] = match value {
                    Value::Object(object) if is_exact => Some(object),
                    _ => Some(self.opaque(node)),
                };
            }
        }
        let mut root = self.values[0].take().unwrap_or_default();
        let (span, extent) = (self.parsed.root().span(), self.root_extent());
        if span != extent {
            let open = Span::new(extent.start, span.start).of(self.text);
            let close = Span::new(span.end, extent.end).of(self.text);
            root.insert("parens".to_owned(), json!([open, close]));
        }
        if self.newline != "\n" {
            root.insert("newline".to_owned(), self.newline.into());
        }
        Value::Object(root)
    }

    /// A root is the whole text, also if it is an expression with blanks or parentheses around it.
    fn root_extent(&self) -> Span {
        Span::new(0, self.text.len() as u32)
    }

    fn is_exact(&self, data: &Value) -> bool {
        super::codegen(data) == self.text
    }

    fn opaque(&mut self, node: Node<'_>) -> Object {
        let index = node.id().index();
        if node.kind() == Kind::Module {
            self.extents[index] = self.root_extent();
        }
        let mut object = self.start(node);
        object.insert("text".to_owned(), self.extents_without_parentheses(node).of(self.text).into());
        object
    }

    fn extents_without_parentheses(&self, node: Node<'_>) -> Span {
        let extent = self.extents[node.id().index()];
        if node.kind().is_statement() || is_clause(node.kind()) || node.kind() == Kind::Module {
            extent
        } else {
            node.span()
        }
    }

    /// The keys that every node has.
    fn start(&self, node: Node<'_>) -> Object {
        let index = node.id().index();
        let span = node.span();
        let mut object = Object::new();
        object.insert("type".to_owned(), node.kind().name().into());
        object.insert("id".to_owned(), index.into());
        object.insert("range".to_owned(), json!([span.start, span.end]));
        let indent = self.indents[index].of(self.text);
        if !indent.is_empty() && (node.kind().is_statement() || is_clause(node.kind())) {
            object.insert("indent".to_owned(), indent.into());
        }
        for &name in node.kind().attributes() {
            let value = match node.attribute(name) {
                Some(Attribute::Flag(flag)) => flag.into(),
                Some(Attribute::Number(number)) => number.into(),
                Some(Attribute::Word(word)) => word.into(),
                Some(Attribute::Absent) | None => Value::Null,
            };
            object.insert(name.to_owned(), value);
        }
        object
    }

    fn assemble(&mut self, node: Node<'_>) -> Result<Object, Misfit> {
        let index = node.id().index();
        let mut object = self.start(node);
        let table = layout(node.kind().name()).ok_or(Misfit)?;
        if node.kind().fields().is_empty() {
            object.insert("text".to_owned(), node.text().into());
            return Ok(object);
        }
        let children = self.take_children(node, &mut object)?;
        let parent = node.parent().map_or(Parent::default(), |parent| Parent {
            kind: parent.kind().name(),
            is_star: parent.attribute("is_star") == Some(Attribute::Flag(true)),
        });
        let span = if node.kind() == Kind::Module { self.root_extent() } else { node.span() };
        let last = children.iter().flatten().last().map_or(span.end, |&id| self.extents[id.index()].end);
        let mut layer = Layer {
            node,
            indent: self.indents[index].of(self.text).to_owned(),
            cursor: span.start,
            end: span.end.max(last),
            trivia: Object::new(),
        };
        let starts: Vec<Option<u32>> =
            children.iter().map(|ids| ids.first().map(|id| self.extents[id.index()].start)).collect();
        let bound_of = |field: usize, layer: &Layer<'_>| {
            starts[field..].iter().flatten().next().copied().unwrap_or(layer.end)
        };
        let head = default_head(&object, table, parent);
        let head_end = take_tokens(self.text, layer.cursor, bound_of(0, &layer), &head);
        let written = head_end.map_or("", |end| Span::new(layer.cursor, end).of(self.text));
        if written != head {
            layer.trivia.insert("head".to_owned(), written.into());
        }
        layer.cursor = head_end.unwrap_or(layer.cursor);
        for (position, field) in table.entries.iter().enumerate() {
            let around = default_around(&object, field, parent);
            let around = (self.resolve(&around.0, &layer.indent), self.resolve(&around.1, &layer.indent));
            let bound = bound_of(position + 1, &layer);
            let ids = &children[position];
            match (&field.shape, ids.as_slice()) {
                (Shape::Block, []) => self.empty_block(&mut layer, field, bound, &around),
                (_, []) => self.absent(&mut layer, field, bound, &around),
                (Shape::Single, [id, ..]) => self.single(&mut layer, field, *id, bound, &around)?,
                (Shape::List(_), ids) => self.list(&mut layer, &mut object, field, ids, bound, &around)?,
                (Shape::Block, ids) => self.block(&mut layer, &mut object, field, ids, bound, &around)?,
            }
        }
        self.finish(layer, object, table, index)
    }

    fn finish(
        &mut self,
        mut layer: Layer<'_>,
        mut object: Object,
        table: &KindLayout,
        index: usize,
    ) -> Result<Object, Misfit> {
        let end = layer.end.max(layer.cursor);
        let tail = Span::new(layer.cursor, end).of(self.text);
        if tail != default_tail(&object, table) {
            layer.trivia.insert("tail".to_owned(), tail.into());
        }
        if layer.node.kind().is_statement() || is_clause(layer.node.kind()) || index == 0 {
            self.extents[index] = Span::new(layer.node.span().start, end);
        }
        if !layer.trivia.is_empty() {
            object.insert("trivia".to_owned(), Value::Object(layer.trivia));
        }
        Ok(object)
    }

    /// Moves the children's data into their parent's fields; gives their ids per field, in the order of the schema.
    fn take_children(&mut self, node: Node<'_>, object: &mut Object) -> Result<Vec<Vec<NodeId>>, Misfit> {
        let fields = node.kind().fields();
        let mut ids: Vec<Vec<NodeId>> = vec![Vec::new(); fields.len()];
        let mut current = 0;
        let mut cursor = node.span().start;
        for child in node.children() {
            let position = fields.iter().position(|spec| spec.field == child.field()).ok_or(Misfit)?;
            let extent = self.extents[child.id().index()];
            let is_second = fields[position].arity != Arity::Many && !ids[position].is_empty();
            let limit = self.limits[node.id().index()].max(node.span().end);
            if position < current || is_second || extent.start < cursor || extent.end > limit {
                return Err(Misfit);
            }
            (current, cursor) = (position, extent.end);
            ids[position].push(child.id());
        }
        for (spec, ids) in fields.iter().zip(&ids) {
            let mut values = Vec::with_capacity(ids.len());
            for &id in ids {
                values.push(self.finished_child(id));
            }
            let value = match spec.arity {
                Arity::Many => Value::Array(values),
                _ => values.pop().unwrap_or(Value::Null),
            };
            object.insert(spec.field.name().to_owned(), value);
        }
        self.forbid_parentheses(object, fields);
        Ok(ids)
    }

    /// A child's data, with the parentheses around it.
    fn finished_child(&mut self, id: NodeId) -> Value {
        let mut child = self.values[id.index()].take().unwrap_or_default();
        let node = self.parsed.node(id);
        let (span, extent) = (node.span(), self.extents[id.index()]);
        if !node.kind().is_statement() && !is_clause(node.kind()) && span != extent {
            let open = Span::new(extent.start, span.start).of(self.text);
            let close = Span::new(span.end, extent.end).of(self.text);
            child.insert("parens".to_owned(), json!([open, close]));
        }
        Value::Object(child)
    }

    /// Where our rules would add parentheses that the source does without, the data says so.
    fn forbid_parentheses(&self, object: &mut Object, fields: &[FieldSpec]) {
        for spec in fields {
            let name = spec.field.name();
            let children = match object.get(name) {
                Some(Value::Array(items)) => items.as_slice(),
                Some(value) => std::slice::from_ref(value),
                None => continue,
            };
            let bare: Vec<usize> = (0..children.len())
                .filter(|&at| {
                    children[at].get("parens").is_none() && needs_parentheses(object, name, &children[at])
                })
                .collect();
            for at in bare {
                let child = match object.get_mut(name) {
                    Some(Value::Array(items)) => items.get_mut(at),
                    other => other,
                };
                if let Some(Value::Object(child)) = child {
                    child.insert("parens".to_owned(), json!(["", ""]));
                }
            }
        }
    }

    fn resolve(&self, text: &str, indent: &str) -> String {
        text.replace('\n', &format!("{}{indent}", self.newline))
    }

    fn absent(&self, layer: &mut Layer<'_>, field: &FieldLayout, bound: u32, around: &(String, String)) {
        if field.when_empty == WhenEmpty::Drop {
            // Only broken source has a statement without what it is about; the data says that nobody took it out.
            if is_void_without(layer.node.kind()) && field.shape != Shape::Single {
                layer.trivia.insert(field.name.clone(), json!(["", "", "empty"]));
            }
            return;
        }
        let Some(open_end) = take_tokens(self.text, layer.cursor, bound, &around.0) else {
            if field.when_empty == WhenEmpty::Keep {
                layer.trivia.insert(field.name.clone(), json!(["", "", "empty"]));
            }
            return;
        };
        let close_end = take_tokens(self.text, open_end, bound, &around.1).unwrap_or(open_end);
        let open = Span::new(layer.cursor, open_end).of(self.text);
        let close = Span::new(open_end, close_end).of(self.text);
        layer.cursor = close_end;
        if field.when_empty == WhenEmpty::KeepWritten
            || (open, close) != (around.0.as_str(), around.1.as_str())
        {
            layer.trivia.insert(field.name.clone(), json!([open, close, "empty"]));
        }
    }

    fn single(
        &self,
        layer: &mut Layer<'_>,
        field: &FieldLayout,
        id: NodeId,
        bound: u32,
        around: &(String, String),
    ) -> Result<(), Misfit> {
        let extent = self.extents[id.index()];
        let open = self.between(layer.cursor, extent.start)?;
        layer.cursor = extent.end;
        let close_end = match around.1.trim().is_empty() {
            true => layer.cursor,
            false => take_tokens(self.text, layer.cursor, bound, &around.1).unwrap_or(layer.cursor),
        };
        let close = self.between(layer.cursor, close_end)?;
        layer.cursor = close_end;
        if (open, close) != (around.0.as_str(), around.1.as_str()) {
            layer.trivia.insert(field.name.clone(), json!([open, close]));
        }
        Ok(())
    }

    fn between(&self, start: u32, end: u32) -> Result<&'a str, Misfit> {
        self.text.get(start as usize..end as usize).ok_or(Misfit)
    }

    fn list(
        &self,
        layer: &mut Layer<'_>,
        object: &mut Object,
        field: &FieldLayout,
        ids: &[NodeId],
        bound: u32,
        around: &(String, String),
    ) -> Result<(), Misfit> {
        let (default_gap, separator, default_after) = separator(object, field);
        let default_after = self.resolve(default_after, &layer.indent);
        let extents: Vec<Span> = ids.iter().map(|id| self.extents[id.index()]).collect();
        let first = extents[0].start;
        let attached =
            layer.cursor + attached_comments(self.between(layer.cursor, first)?, None, false) as u32;
        let open = self.between(layer.cursor, attached)?;
        let mut before = self.between(attached, first)?;
        let mut items: Vec<ItemTrivia<'_>> = Vec::with_capacity(ids.len());
        for pair in extents.windows(2) {
            let rest = self.between(pair[0].end, pair[1].start)?;
            let separator_end =
                take_tokens(self.text, pair[0].end, pair[1].start, separator).ok_or(Misfit)?;
            let separator_at = (separator_end - pair[0].end) as usize;
            let gap = &rest[..separator_at - separator.len()];
            let rest = &rest[separator_at..];
            let attached = attached_comments(rest, None, false);
            items.push(ItemTrivia { before, gap, after: Some(&rest[..attached]) });
            before = &rest[attached..];
        }
        layer.cursor = extents[extents.len() - 1].end;
        let mut last = ItemTrivia { before, gap: default_gap, after: None };
        let mut trailing = None;
        if separator == "," {
            if let Some(end) = take_tokens(self.text, layer.cursor, bound, separator) {
                last.gap = self.between(layer.cursor, end - 1)?;
                layer.cursor = end;
                trailing = Some(separator);
            }
            let rest = self.between(layer.cursor, bound)?;
            let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
            if line.trim_start().starts_with('#') {
                last.after = Some(line.trim_end());
                layer.cursor += line.trim_end().len() as u32;
            }
        }
        items.push(last);
        let close_end = match around.1.trim() {
            "" if around.1.is_empty() => layer.cursor,
            "" => skip_trivia(self.text, layer.cursor, bound),
            tokens => take_tokens(self.text, layer.cursor, bound, tokens).unwrap_or(layer.cursor),
        };
        let close = self.between(layer.cursor, close_end)?;
        layer.cursor = close_end;
        if layer.node.kind() == Kind::Tuple && ids.len() == 1 && trailing.is_none() {
            trailing = Some("");
        }
        match trailing {
            Some(separator) => {
                layer.trivia.insert(field.name.clone(), json!([open, close, separator]));
            }
            None if (open, close) != (around.0.as_str(), around.1.as_str()) => {
                layer.trivia.insert(field.name.clone(), json!([open, close]));
            }
            None => {}
        }
        let all_default =
            items[..items.len() - 1].iter().all(|item| item.after == Some(default_after.as_str()))
                && !open.trim_end_matches([' ', '\t']).ends_with(['\n', '\r']);
        let Some(Value::Array(values)) = object.get_mut(&field.name) else { return Err(Misfit) };
        for (value, item) in values.iter_mut().zip(items) {
            let after = item.after.filter(|after| !all_default || *after != default_after);
            item.write(value, default_gap, after);
        }
        Ok(())
    }

    fn empty_block(&self, layer: &mut Layer<'_>, field: &FieldLayout, bound: u32, around: &(String, String)) {
        if layer.node.kind() == Kind::Module {
            let text = Span::new(layer.cursor, bound).of(self.text);
            layer.cursor = bound;
            if text != around.1 {
                layer.trivia.insert(field.name.clone(), json!([text, ""]));
            }
        } else {
            layer.trivia.insert(field.name.clone(), json!(["", "", "empty"]));
        }
    }

    fn block(
        &self,
        layer: &mut Layer<'_>,
        object: &mut Object,
        field: &FieldLayout,
        ids: &[NodeId],
        bound: u32,
        around: &(String, String),
    ) -> Result<(), Misfit> {
        let is_module = layer.node.kind() == Kind::Module;
        let extents: Vec<Span> = ids.iter().map(|id| self.extents[id.index()]).collect();
        let indent = self.indents[ids[0].index()].of(self.text);
        let first = extents[0].start;
        let lead = self.between(layer.cursor, first)?;
        let mut attached = attached_comments(lead, Some(indent), is_module);
        if is_module && lead[..attached].trim().is_empty() {
            // Comments at the top are about the file.
            attached = lead.len();
        }
        let open = &lead[..attached];
        let mut before = &lead[attached..];
        let default_after = format!("{}{indent}", self.newline);
        let mut items: Vec<ItemTrivia<'_>> = Vec::with_capacity(ids.len());
        for pair in extents.windows(2) {
            let rest = self.between(pair[0].end, pair[1].start)?;
            let attached = match ends_line(rest) {
                true => attached_comments(rest, Some(indent), false),
                false => 0,
            };
            items.push(ItemTrivia { before, gap: "", after: Some(&rest[..attached]) });
            before = &rest[attached..];
        }
        layer.cursor = extents[extents.len() - 1].end;
        let mut last = ItemTrivia { before, gap: "", after: None };
        let limit = match bound < layer.end {
            true => bound,
            false => self.limits[layer.node.id().index()].max(layer.end),
        };
        let rest = self.between(layer.cursor, limit)?;
        let line = rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())].trim_end();
        if line.trim_start().starts_with([';', '#']) {
            last.after = Some(line);
            layer.cursor += line.len() as u32;
        }
        items.push(last);
        let rest = self.between(layer.cursor, limit)?;
        let has_own_lines = open.contains(['\n', '\r']);
        let close = match is_module {
            true => rest,
            false if has_own_lines => &rest[..comments_of_block(rest, indent)],
            false => "",
        };
        layer.cursor += close.len() as u32;
        if (open, close) != (around.0.as_str(), around.1.as_str()) {
            layer.trivia.insert(field.name.clone(), json!([open, close]));
        }
        let Some(Value::Array(values)) = object.get_mut(&field.name) else { return Err(Misfit) };
        for (value, item) in values.iter_mut().zip(items) {
            let after = item.after.filter(|after| *after != default_after);
            item.write(value, "", after);
        }
        Ok(())
    }
}

/// A node being assembled.
struct Layer<'a> {
    node: Node<'a>,
    indent: String,
    /// Everything before this place has an owner.
    cursor: u32,
    end: u32,
    trivia: Object,
}

struct ItemTrivia<'a> {
    before: &'a str,
    gap: &'a str,
    after: Option<&'a str>,
}

impl ItemTrivia<'_> {
    fn write(&self, value: &mut Value, default_gap: &str, after: Option<&str>) {
        let Value::Object(object) = value else { return };
        if !self.before.is_empty() {
            object.insert("before".to_owned(), self.before.into());
        }
        if self.gap != default_gap {
            object.insert("gap".to_owned(), self.gap.into());
        }
        if let Some(after) = after {
            object.insert("after".to_owned(), after.into());
        }
    }
}

const fn is_pattern(kind: Kind) -> bool {
    (kind as u8) >= (Kind::MatchValue as u8) && (kind as u8) <= (Kind::MatchOr as u8)
}

fn deepest(parsed: &Parsed) -> usize {
    let mut depths = vec![1_usize; parsed.len()];
    let mut deepest = 1;
    for node in parsed.nodes() {
        for child in node.children() {
            depths[child.id().index()] = depths[node.id().index()] + 1;
            deepest = deepest.max(depths[child.id().index()]);
        }
    }
    deepest
}
