//! Front matter as data: texts, lists and maps with their lines, and nothing that YAML would make of them.
//!
//! `no` is the text `no` and `1.0` the text `1.0`. Aliases are never followed, so that a few lines cannot stand for gigabytes. What the
//! strict dialect of the reference validator refuses is read all the same and noted.

use granit_parser::{Event, Options, Parser, Span, StructureStyle, options};

/// More nodes than any front matter has.
const MAX_NODES: usize = 4_000;
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    /// Within the text, from 1.
    pub(crate) line: usize,
    column: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// A mistake, or something that the strict dialect refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) line: usize,
    pub(crate) message: String,
}

#[derive(Debug)]
pub(crate) struct Yaml {
    /// `None` if there is nothing but comments.
    pub(crate) root: Option<Node>,
    pub(crate) refused: Vec<Remark>,
}

impl Node {
    pub(crate) fn of_text(text: &str) -> Self {
        Self { value: Value::Text(text.to_owned()), line: 1, column: 0 }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The fields of a map whose names are plain texts.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &Node, &Node)> {
        let pairs = match &self.value {
            Value::Map(pairs) => pairs.as_slice(),
            _ => &[],
        };
        pairs.iter().filter_map(|(key, value)| Some((key.text()?, key, value)))
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    /// How this would stand in one line: lists with commas between.
    pub(crate) fn flat_text(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            Value::List(items) => items.iter().map(Self::flat_text).collect::<Vec<_>>().join(", "),
            Value::Map(pairs) => pairs
                .iter()
                .map(|(key, value)| format!("{}: {}", key.flat_text(), value.flat_text()))
                .collect::<Vec<_>>()
                .join(", "),
        }
    }
}

/// Reads the first document of a YAML text.
pub(crate) fn parse(text: &str) -> Result<Yaml, Remark> {
    let mut options: Options = options! { emit_unresolved_aliases: true, emit_anchor_events: false };
    options.set_emit_comments(false);
    options.block_nesting_limit = MAX_DEPTH;
    options.flow_nesting_limit = MAX_DEPTH;
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| Remark {
            line: error.marker().line(),
            message: error.kind().to_string().lines().next().unwrap_or_default().to_owned(),
        })?;
        builder.take(event, span)?;
    }
    Ok(Yaml { root: builder.root, refused: builder.refused })
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    refused: Vec<Remark>,
    nodes: usize,
    documents: usize,
}

/// A collection that is not closed yet.
struct Open {
    line: usize,
    column: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map { pairs: Vec<(Node, Node)>, key: Option<Node> },
}

impl Builder {
    fn take(&mut self, event: Event, span: Span) -> Result<(), Remark> {
        let (line, column) = (span.start.line(), span.start.col());
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Remark { line, message: "there is a second document".to_owned() });
                }
            }
            Event::Scalar(text, _, anchor, tag) => {
                self.refuse(line, false, anchor, tag.is_some());
                // The parser writes `~` for what is not there.
                let text = if span.is_empty() { String::new() } else { text.into_owned() };
                self.add(Node { value: Value::Text(text), line, column })?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.refuse(line, style == StructureStyle::Flow, anchor, tag.is_some());
                self.open.push(Open { line, column, kind: OpenKind::List(Vec::new()) });
            }
            Event::MappingStart(style, anchor, tag) => {
                self.refuse(line, style == StructureStyle::Flow, anchor, tag.is_some());
                self.open.push(Open { line, column, kind: OpenKind::Map { pairs: Vec::new(), key: None } });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { line, column, kind }) = self.open.pop() else { return Ok(()) };
                let value = match kind {
                    OpenKind::List(items) => Value::List(items),
                    OpenKind::Map { pairs, .. } => {
                        self.check_indentation(&pairs);
                        Value::Map(pairs)
                    }
                };
                self.add(Node { value, line, column })?;
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.remark(line, "aliases (`*name`) are not allowed");
                self.add(Node { value: Value::Text(String::new()), line, column })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, node: Node) -> Result<(), Remark> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("there are more than {MAX_NODES} values");
            return Err(Remark { line: node.line, message });
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(OpenKind::List(items)) => items.push(node),
            Some(OpenKind::Map { pairs, key }) => match key.take() {
                None => {
                    if node.text().is_none() {
                        let message = "a list or a map is no key".to_owned();
                        self.refused.push(Remark { line: node.line, message });
                    } else if pairs.iter().any(|(known, _)| known.value == node.value) {
                        let message = format!("`{}` is there twice", node.flat_text());
                        self.refused.push(Remark { line: node.line, message });
                    }
                    *key = Some(node);
                }
                Some(key) => pairs.push((key, node)),
            },
        }
        Ok(())
    }

    fn refuse(&mut self, line: usize, is_flow: bool, anchor: usize, has_tag: bool) {
        if is_flow {
            self.remark(line, "`{…}` and `[…]` are not allowed; write one entry on a line");
        }
        if anchor != 0 {
            self.remark(line, "anchors (`&name`) are not allowed");
        }
        if has_tag {
            self.remark(line, "tags (`!name`) are not allowed");
        }
    }

    /// One remark of a kind is enough, whatever number of places it is about.
    fn remark(&mut self, line: usize, message: &str) {
        if !self.refused.iter().any(|known| known.message == message) {
            self.refused.push(Remark { line, message: message.to_owned() });
        }
    }

    /// Maps beside each other start in the same column.
    fn check_indentation(&mut self, pairs: &[(Node, Node)]) {
        let mut columns = pairs.iter().map(|(_, value)| value).filter(|value| value.is_map());
        let Some(first) = columns.next() else { return };
        if let Some(other) = columns.find(|other| other.column != first.column) {
            let message = "the map is indented unlike the one before it".to_owned();
            self.refused.push(Remark { line: other.line, message });
        }
    }
}
