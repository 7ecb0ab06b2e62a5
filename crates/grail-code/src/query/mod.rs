//! Finding code: one matcher, two spellings.
//!
//! A code pattern is Python with metavariables (`print($X, $$$REST)`); a structural pattern is data with LibCST's matcher vocabulary
//! (`{type: Call, func: print}`). Both compile to the same [`Pattern`].

mod analysis;
mod code;
mod error;
mod matcher;
mod predicate;
mod prepare;
mod report;
mod run;
mod structural;
mod value;
mod vocabulary;

use std::borrow::Cow;
use std::sync::Arc;

pub use error::PatternError;
pub use predicate::{PREDICATES, Predicate};
pub use report::{CaptureReport, MatchReport};
pub use value::same_code;
pub use vocabulary::{FIELD_ALIASES, FieldAlias, TYPE_ALIASES, TypeAlias};

use matcher::{KindSet, Program, Root};
use run::Search;

use crate::{Kind, Node, NodeId, Parsed, Semantic, Span};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    program: Arc<Program>,
    names: Arc<[String]>,
    kinds: KindSet,
    words: Vec<String>,
    needs_names: bool,
}

/// One place where a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The node that matches; of several statements the first.
    pub node: NodeId,
    /// The last statement of a match of several, else `node`.
    pub last: NodeId,
    pub span: Span,
    pub captures: Captures,
}

/// What the metavariables of a pattern stand for in a match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    names: Arc<[String]>,
    values: Vec<Option<Capture>>,
}

/// What one metavariable stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capture {
    Node(NodeId),
    /// Neighbours in one list. Keywords that the pattern names may stand between arguments that were captured.
    Nodes(Vec<NodeId>),
}

impl Pattern {
    /// Reads either spelling: a mapping with a structural key, in YAML or JSON, is structural; everything else is code.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if structural::looks_structural(text) { Self::yaml(text) } else { Self::code(text) }
    }

    /// Compiles Python with metavariables.
    pub fn code(text: &str) -> Result<Self, PatternError> {
        let mut program = Program::new();
        program.root = code::compile(&mut program, text)?;
        Ok(Self::of(program))
    }

    /// Compiles a structural pattern.
    pub fn structural(data: &serde_json::Value) -> Result<Self, PatternError> {
        structural::compile(data).map(Self::of)
    }

    /// Compiles a structural pattern written in YAML or JSON; errors point into the text.
    pub fn yaml(text: &str) -> Result<Self, PatternError> {
        structural::compile_text(text).map(Self::of)
    }

    fn of(program: Program) -> Self {
        Self {
            names: program.names.clone().into(),
            kinds: analysis::root_kinds(&program),
            words: analysis::required_words(&program),
            needs_names: program.needs_names(),
            program: Arc::new(program),
        }
    }

    /// The names of the captures, in the order in which they are written.
    pub fn capture_names(&self) -> &[String] {
        &self.names
    }

    /// Whether the pattern speaks of qualified names, so that matching needs a [`Semantic`].
    pub fn needs_names(&self) -> bool {
        self.needs_names
    }

    /// Words that every file with a match contains.
    pub fn required_words(&self) -> &[String] {
        &self.words
    }

    /// Whether a file with this text can contain a match. If not, it need not be parsed.
    pub fn prefilter(&self, text: &str) -> bool {
        self.words.iter().all(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some())
    }

    /// The kinds of nodes a match may start with.
    pub fn root_kinds(&self) -> impl Iterator<Item = Kind> {
        self.kinds.iter()
    }

    /// Whether the pattern matches this node itself. Without a `semantic`, qualified names match nothing.
    pub fn matches<'a>(&self, node: Node<'a>, semantic: Option<&Semantic<'a>>) -> Option<Captures> {
        self.searcher(node.parsed(), semantic).at(node).map(|found| found.captures)
    }

    /// For callers with several questions about one file: what one answer took to find out serves the next.
    pub fn searcher<'s, 'a>(
        &'s self,
        parsed: &'a Parsed,
        semantic: Option<&'s Semantic<'a>>,
    ) -> Searcher<'s, 'a> {
        Searcher { pattern: self, search: Search::new(&self.program, parsed, semantic) }
    }

    fn match_at<'s, 'a>(&'s self, search: &mut Search<'s, 'a>, node: Node<'a>) -> Option<Match> {
        if !self.kinds.contains(node.kind()) {
            return None;
        }
        let (last, values) = match &self.program.root {
            Root::Node(id) => (node.id(), search.match_node(*id, node)?),
            Root::Statements(sequence) => search.match_statements(sequence, node)?,
        };
        let span = Span::new(node.span().start, node.parsed().node(last).span().end);
        let captures = Captures { names: Arc::clone(&self.names), values };
        Some(Match { node: node.id(), last, span, captures })
    }
}

/// One pattern in one file. Without a `Semantic`, qualified names match nothing.
pub struct Searcher<'s, 'a> {
    pattern: &'s Pattern,
    search: Search<'s, 'a>,
}

impl<'a> Searcher<'_, 'a> {
    pub fn pattern(&self) -> &Pattern {
        self.pattern
    }

    /// The match of this node itself.
    pub fn at(&mut self, node: Node<'a>) -> Option<Match> {
        self.pattern.match_at(&mut self.search, node)
    }

    /// Every match at or below a node.
    pub fn within(&mut self, node: Node<'a>) -> impl Iterator<Item = Match> {
        node.subtree().filter_map(|node| self.at(node))
    }
}

/// Every match in a file, in source order; matches within matches too. Binds names if the pattern needs them and none are given.
pub fn find_all<'a>(parsed: &'a Parsed, semantic: Option<&Semantic<'a>>, pattern: &Pattern) -> Vec<Match> {
    find_within(parsed.root(), semantic, pattern)
}

/// Every match at or below a node.
pub fn find_within<'a>(node: Node<'a>, semantic: Option<&Semantic<'a>>, pattern: &Pattern) -> Vec<Match> {
    find_among(node.subtree(), node.parsed(), semantic, pattern)
}

/// The matches among some nodes of one file, for callers that know where to look.
pub fn find_among<'a>(
    nodes: impl Iterator<Item = Node<'a>>,
    parsed: &'a Parsed,
    semantic: Option<&Semantic<'a>>,
    pattern: &Pattern,
) -> Vec<Match> {
    let own = (pattern.needs_names && semantic.is_none()).then(|| Semantic::new(parsed));
    let mut search = Search::new(&pattern.program, parsed, semantic.or(own.as_ref()));
    nodes.filter_map(|node| pattern.match_at(&mut search, node)).collect()
}

/// The captures of a match of this node itself.
pub fn extract<'a>(node: Node<'a>, semantic: Option<&Semantic<'a>>, pattern: &Pattern) -> Option<Captures> {
    pattern.matches(node, semantic)
}

/// The captures of every match in a file.
pub fn extract_all<'a>(
    parsed: &'a Parsed,
    semantic: Option<&Semantic<'a>>,
    pattern: &Pattern,
) -> Vec<Captures> {
    find_all(parsed, semantic, pattern).into_iter().map(|found| found.captures).collect()
}

impl Match {
    /// The source text of the match.
    pub fn text<'a>(&self, parsed: &'a Parsed) -> &'a str {
        self.span.of(parsed.text())
    }

    /// The statement that the match is or stands in.
    pub fn statement<'a>(&self, parsed: &'a Parsed) -> Option<Node<'a>> {
        parsed.node(self.node).statement()
    }
}

impl Captures {
    pub fn get(&self, name: &str) -> Option<&Capture> {
        let index = self.names.iter().position(|known| known == name)?;
        self.values[index].as_ref()
    }

    /// The node of a capture that is one node.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        match self.get(name)? {
            Capture::Node(id) => Some(*id),
            Capture::Nodes(_) => None,
        }
    }

    /// Captures in the order in which the pattern names them; those that took no part in the match are left out.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Capture)> {
        self.names.iter().zip(&self.values).filter_map(|(name, value)| Some((name.as_str(), value.as_ref()?)))
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl Capture {
    pub fn nodes(&self) -> &[NodeId] {
        match self {
            Capture::Node(id) => std::slice::from_ref(id),
            Capture::Nodes(ids) => ids,
        }
    }

    /// From the first to the last node; `None` if a list captured nothing.
    pub fn span(&self, parsed: &Parsed) -> Option<Span> {
        let (first, last) = (self.nodes().first()?, self.nodes().last()?);
        Some(Span::new(parsed.node(*first).span().start, parsed.node(*last).span().end))
    }

    /// The source text, with everything between the nodes. Nodes that are no neighbours are joined by commas.
    pub fn text<'a>(&self, parsed: &'a Parsed) -> Cow<'a, str> {
        let Some(span) = self.span(parsed) else { return Cow::Borrowed("") };
        if self.is_contiguous(parsed) {
            return Cow::Borrowed(span.of(parsed.text()));
        }
        let texts: Vec<&str> = self
            .nodes()
            .iter()
            .map(|id| parsed.node(*id).span_with_parentheses().of(parsed.text()))
            .collect();
        Cow::Owned(texts.join(", "))
    }

    /// Whether no sibling stands between the nodes.
    pub fn is_contiguous(&self, parsed: &Parsed) -> bool {
        self.nodes().windows(2).all(|pair| {
            let next = pair[0].index() + 1 + parsed.node(pair[0]).descendants().count();
            next == pair[1].index()
        })
    }
}
