//! Code patterns: Python with metavariables, compiled node by node from the pattern's own tree.
//!
//! The flat tree is read from its end, so children are compiled before their parents without recursion. What a pattern leaves out where
//! Python code often says more (decorators, `async`, type parameters, annotations, defaults, `as` names) is not asked for.

use super::PatternError;
use super::matcher::{
    FieldTest, Item, KindSet, Matcher, MatcherId, NodeTest, Program, Quantity, Relation, RelationKind, Root,
    Sequence, Slot, Stop, Test, TextTest,
};
use super::prepare::{Metavariable, Prepared, prepare};
use super::value::{name, value};
use crate::tree::{Arity, Attribute, ParameterKind, string_literal};
use crate::{Field, Kind, Node, NodeId, Span};

/// Compiles a code pattern into `program`; the result is its root.
pub(super) fn compile(program: &mut Program, pattern: &str) -> Result<Root, PatternError> {
    let prepared = prepare(pattern)?;
    let mut compiler = Compiler { prepared: &prepared, parts: Vec::new(), program };
    compiler.reserve_names();
    compiler.compile()
}

/// What a node of the pattern became.
#[derive(Clone, Debug)]
enum Part {
    One(MatcherId),
    /// A clause that may be missing.
    Optional(MatcherId),
    /// `$$$`: any number of nodes, whatever the list may hold.
    Many {
        slot: Option<Slot>,
    },
    Keyword {
        name: String,
        matcher: MatcherId,
    },
    /// Literal text of an f-string, split at its wildcards.
    Text(Vec<String>),
}

struct Compiler<'c> {
    program: &'c mut Program,
    prepared: &'c Prepared,
    /// By node, filled from the end.
    parts: Vec<Option<Part>>,
}

impl<'c> Compiler<'c> {
    /// Gives captures the order in which they are written.
    fn reserve_names(&mut self) {
        for node in self.prepared.parsed.nodes() {
            if let Some(Metavariable { name: Some(name), .. }) = self.metavariable(node) {
                self.program.reserve(name);
            }
        }
    }

    fn compile(&mut self) -> Result<Root, PatternError> {
        let parsed = &self.prepared.parsed;
        self.parts = vec![None; parsed.len()];
        let root = parsed.node(self.prepared.root);
        let mut body = root;
        if root.kind() == Kind::Module {
            let mut statements = root.children();
            let (first, second) = (statements.next(), statements.next());
            match (first, second) {
                (None, _) => {
                    return Err(PatternError::new("the pattern has no code")
                        .hint("a pattern is Python code, for instance `print($X)`"));
                }
                (Some(only), None) => body = only,
                _ => {}
            }
        }
        let body = match body.kind() {
            Kind::Expr => body.child(Field::Value).unwrap_or(body),
            _ => body,
        };
        for node in root.subtree().rev() {
            if node.id() < body.id() {
                break;
            }
            let part = if node == body { self.root_part(node)? } else { self.part(node, body)? };
            self.parts[node.id().index()] = Some(part);
        }
        if body.kind() == Kind::Module {
            let items = self.items(body, Field::Body);
            if items.iter().all(|item| matches!(item.quantity, Quantity::Many { .. })) {
                return Err(self.many_error(body));
            }
            return Ok(Root::Statements(Sequence { items }));
        }
        match self.parts[body.id().index()].clone() {
            Some(Part::One(id) | Part::Optional(id) | Part::Keyword { matcher: id, .. }) => {
                Ok(Root::Node(id))
            }
            _ => Err(self.many_error(body)),
        }
    }

    fn root_part(&mut self, node: Node<'c>) -> Result<Part, PatternError> {
        match node.kind() {
            // Used by its children only.
            Kind::Module => Ok(Part::One(self.program.add(Matcher::Any))),
            Kind::Import | Kind::ImportFrom => self.import(node, true),
            _ => self.part(node, node),
        }
    }

    fn part(&mut self, node: Node<'c>, root: Node<'c>) -> Result<Part, PatternError> {
        if let Some((kinds, metavariable)) = self.stand_in(node) {
            if metavariable.is_many {
                let slot = metavariable.name.map(|name| self.program.slot(name));
                self.note_many(slot);
                return Ok(Part::Many { slot });
            }
            let mut matcher = self.program.add(Matcher::Kinds(kinds));
            if let Some(exception) = self.exception(node.kind()) {
                matcher = self.program.add(Matcher::AllOf(vec![matcher, exception]));
            }
            return Ok(Part::One(self.captured(metavariable, matcher)));
        }
        let part = match node.kind() {
            Kind::Name | Kind::Identifier => Part::One(self.literal_name(node)?),
            Kind::Operator
            | Kind::Integer
            | Kind::Float
            | Kind::Imaginary
            | Kind::Boolean
            | Kind::MatchSingleton => {
                Part::One(self.literal(KindSet::of(&[node.kind()]), value(node).into_owned()))
            }
            Kind::String | Kind::Bytes => Part::One(self.string(node)),
            Kind::ConcatenatedString
                if node.children().all(|part| part.kind() == node_kind_of_parts(node)) =>
            {
                Part::One(self.string(node))
            }
            Kind::InterpolationText => Part::Text(wildcard_pieces(&self.prepared.written(node.text()))),
            Kind::FString | Kind::TString => Part::One(self.interpolated(node, node == root)?),
            Kind::Import | Kind::ImportFrom => self.import(node, false)?,
            Kind::Set => self.set(node)?,
            Kind::Else | Kind::Finally => {
                let id = self.node_matcher(node)?;
                let items = self.items(node, Field::Body);
                if node != root && (Sequence { items }).accepts_nothing() {
                    Part::Optional(id)
                } else {
                    Part::One(id)
                }
            }
            Kind::Parameters => {
                let id = self.node_matcher(node)?;
                let items = self.items(node, Field::Params);
                let may_be_absent =
                    (Sequence { items }).accepts_nothing() && node.list(Field::Params).next().is_some();
                if may_be_absent { Part::Optional(id) } else { Part::One(id) }
            }
            Kind::Keyword => {
                let id = self.node_matcher(node)?;
                match node.child(Field::Keyword) {
                    Some(arg) if self.metavariable(arg).is_none() => {
                        Part::Keyword { name: name(arg.text()).into_owned(), matcher: id }
                    }
                    _ => Part::One(id),
                }
            }
            _ => Part::One(self.node_matcher(node)?),
        };
        Ok(part)
    }

    /// If the node is nothing but a metavariable: the kinds it stands for. Such a node is a name, or the smallest thing that
    /// syntax puts around a name where the metavariable is written.
    fn stand_in(&self, node: Node<'c>) -> Option<(KindSet, Metavariable<'c>)> {
        let only = |field: Field| {
            let mut children = node.children();
            let child = children.next().filter(|child| child.field() == field)?;
            let metavariable = self.metavariable(child)?;
            children.next().is_none().then_some(metavariable)
        };
        let any_of = |field: Field| {
            node.child(field).and_then(|child| self.metavariable(child)).filter(|found| found.is_many)
        };
        match node.kind() {
            Kind::Name => self.metavariable(node).map(|found| {
                // `x[$$$]` has no list to stand in: whatever is between the brackets is one expression.
                let is_slice = node.field() == Field::Slice;
                (expressions(), if is_slice { Metavariable { is_many: false, ..found } } else { found })
            }),
            Kind::Identifier => {
                self.metavariable(node).map(|found| (KindSet::of(&[Kind::Identifier]), found))
            }
            Kind::Expr => only(Field::Value).map(|found| (KindSet::where_kind(Kind::is_statement), found)),
            Kind::Alias => only(Field::Name).map(|found| (KindSet::of(&[Kind::Alias]), found)),
            Kind::Parameter => {
                let is_starred =
                    matches!(node.parameter_kind(), Some(ParameterKind::Star | ParameterKind::DoubleStar));
                let found = only(Field::Name).filter(|_| !is_starred)?;
                let kinds: &[Kind] = match found.is_many {
                    true => &[Kind::Parameter, Kind::ParamSlash, Kind::ParamStar],
                    false => &[Kind::Parameter],
                };
                Some((KindSet::of(kinds), found))
            }
            Kind::TypeVar => only(Field::Name)
                .map(|found| (KindSet::of(&[Kind::TypeVar, Kind::TypeVarTuple, Kind::ParamSpec]), found)),
            Kind::MatchAs => only(Field::Name).map(|found| (match_patterns(), found)),
            Kind::Decorator => {
                any_of(Field::Expression).map(|found| (KindSet::of(&[Kind::Decorator]), found))
            }
            Kind::ExceptHandler => {
                any_of(Field::Exc).map(|found| (KindSet::of(&[Kind::ExceptHandler]), found))
            }
            Kind::WithItem => any_of(Field::ContextExpr).map(|found| (KindSet::of(&[Kind::WithItem]), found)),
            Kind::MatchCase => {
                let pattern = node.child(Field::Pattern).filter(|pattern| pattern.kind() == Kind::MatchAs)?;
                let found = self.metavariable(pattern.child(Field::Name)?).filter(|found| found.is_many)?;
                Some((KindSet::of(&[Kind::MatchCase]), found))
            }
            Kind::DictItem if node.child(Field::Key).is_none() => {
                any_of(Field::Value).map(|found| (KindSet::of(&[Kind::DictItem]), found))
            }
            _ => None,
        }
    }

    /// What a metavariable of this kind does not stand for.
    fn exception(&mut self, kind: Kind) -> Option<MatcherId> {
        match kind {
            Kind::Alias => {
                let star = self.program.add(Matcher::Text(TextTest::Exact("*".to_owned())));
                Some(self.program.add(Matcher::Not(star)))
            }
            Kind::Parameter => Some(self.unstarred()),
            _ => None,
        }
    }

    /// A parameter without a star.
    fn unstarred(&mut self) -> MatcherId {
        let starred = ["star", "double_star"].map(|word| {
            let attributes = vec![("kind", Attribute::Word(word))];
            self.add_node(KindSet::of(&[Kind::Parameter]), attributes, Vec::new())
        });
        let starred = self.program.add(Matcher::OneOf(starred.to_vec()));
        self.program.add(Matcher::Not(starred))
    }

    fn captured(&mut self, metavariable: Metavariable<'_>, matcher: MatcherId) -> MatcherId {
        match metavariable.name {
            None => matcher,
            Some(name) => {
                let slot = self.program.slot(name);
                self.program.add(Matcher::Capture(slot, matcher))
            }
        }
    }

    fn note_many(&mut self, slot: Option<Slot>) {
        if let Some(slot) = slot {
            self.program.is_many[slot.index()] = true;
        }
    }

    fn metavariable(&self, node: Node<'c>) -> Option<Metavariable<'c>> {
        match node.kind() {
            Kind::Name | Kind::Identifier => self.prepared.metavariable(node.text()),
            _ => None,
        }
    }

    fn literal_name(&mut self, node: Node<'c>) -> Result<MatcherId, PatternError> {
        if node.text().contains(self.prepared.sigil) {
            let written = self.prepared.written(node.text());
            return Err(self
                .error(format!("a metavariable stands for a whole name, not for a part of `{written}`"), node)
                .hint(
                    "match the whole name and restrict it: `{pattern: ..., where: {NAME: {regex: ...}}}`",
                ));
        }
        Ok(self.literal(KindSet::of(&[node.kind()]), name(node.text()).into_owned()))
    }

    fn literal(&mut self, kinds: KindSet, text: String) -> MatcherId {
        let kinds = self.program.add(Matcher::Kinds(kinds));
        let value = self.program.add(Matcher::Value(TextTest::Exact(text)));
        self.program.add(Matcher::AllOf(vec![kinds, value]))
    }

    /// A string by its value, spelled as one literal or as several.
    fn string(&mut self, node: Node<'c>) -> MatcherId {
        let kind = node_kind_of_parts(node);
        let part = self.program.add(Matcher::Kinds(KindSet::of(&[kind])));
        let parts = self.program.any_number(part);
        let concatenated = self.add_node(
            KindSet::of(&[Kind::ConcatenatedString]),
            Vec::new(),
            vec![FieldTest { field: Field::Parts, test: Test::Sequence(Sequence { items: vec![parts] }) }],
        );
        let mut tests = vec![self.program.add(Matcher::OneOf(vec![part, concatenated]))];
        if string_literal(node).is_some_and(|literal| literal.is_raw()) {
            tests.push(self.program.add(Matcher::Raw));
        }
        let whole = value(node);
        let metavariable = self.prepared.metavariable(&whole);
        if metavariable.is_none() {
            let mut pieces = wildcard_pieces(&self.prepared.written(&whole));
            let test =
                if pieces.len() == 1 { TextTest::Exact(pieces.remove(0)) } else { TextTest::Glob(pieces) };
            tests.push(self.program.add(Matcher::Value(test)));
        }
        let matcher = self.program.add(Matcher::AllOf(tests));
        match metavariable {
            Some(metavariable) => self.captured(metavariable, matcher),
            None => matcher,
        }
    }

    fn interpolated(&mut self, node: Node<'c>, is_root: bool) -> Result<MatcherId, PatternError> {
        let items = self.items(node, Field::Parts);
        let accepts_anything = matches!(items.as_slice(), [Item { quantity: Quantity::Many { .. }, .. }]);
        let fields = vec![FieldTest { field: Field::Parts, test: Test::Sequence(Sequence { items }) }];
        let mut matcher = self.add_node(KindSet::of(&[node.kind()]), Vec::new(), fields);
        if accepts_anything && !is_root {
            // `"a" f"{b}"` is an f-string as a whole.
            let any = self.program.add(Matcher::Any);
            let gap = self.program.any_number(any);
            let one = Item { matcher, quantity: Quantity::One };
            let parts = Test::Sequence(Sequence { items: vec![gap, one, gap] });
            let fields = vec![FieldTest { field: Field::Parts, test: parts }];
            let joined = self.add_node(KindSet::of(&[Kind::ConcatenatedString]), Vec::new(), fields);
            matcher = self.program.add(Matcher::OneOf(vec![matcher, joined]));
        }
        if string_literal(node).is_some_and(|literal| literal.is_raw()) {
            let raw = self.program.add(Matcher::Raw);
            matcher = self.program.add(Matcher::AllOf(vec![matcher, raw]));
        }
        Ok(matcher)
    }

    /// A single imported name matches each of the names that a statement imports.
    fn import(&mut self, node: Node<'c>, is_root: bool) -> Result<Part, PatternError> {
        let mut aliases = node.list(Field::Names);
        let only = aliases.next().filter(|_| aliases.next().is_none());
        let alias = only.and_then(|alias| match &self.parts[alias.id().index()] {
            Some(Part::One(id)) => Some(*id),
            _ => None,
        });
        let Some(alias) = alias else { return Ok(Part::One(self.node_matcher(node)?)) };
        let mut test = self.node_test(node)?;
        test.fields.retain(|field| field.field != Field::Names);
        if is_root {
            let statement = self.program.add(Matcher::Node(test));
            let binds = self.program.binds(statement);
            let inside =
                Relation { kind: RelationKind::Inside, stop: Stop::Neighbor, inner: statement, binds };
            let inside = self.program.add(Matcher::Relation(inside));
            return Ok(Part::One(self.program.add(Matcher::AllOf(vec![alias, inside]))));
        }
        let any = self.program.add(Matcher::Any);
        let gap = self.program.any_number(any);
        let items = vec![gap, Item { matcher: alias, quantity: Quantity::One }, gap];
        test.fields.push(FieldTest { field: Field::Names, test: Test::Sequence(Sequence { items }) });
        Ok(Part::One(self.program.add(Matcher::Node(test))))
    }

    /// `{$$$}` is a set or a dictionary.
    fn set(&mut self, node: Node<'c>) -> Result<Part, PatternError> {
        let items = self.items(node, Field::Elts);
        let [Item { quantity: quantity @ Quantity::Many { .. }, .. }] = items[..] else {
            return Ok(Part::One(self.node_matcher(node)?));
        };
        let set = self.node_matcher(node)?;
        let entry = self.program.add(Matcher::Any);
        let entries = Sequence { items: vec![Item { matcher: entry, quantity }] };
        let fields = vec![FieldTest { field: Field::Items, test: Test::Sequence(entries) }];
        let dictionary = self.add_node(KindSet::of(&[Kind::Dict]), Vec::new(), fields);
        Ok(Part::One(self.program.add(Matcher::OneOf(vec![set, dictionary]))))
    }

    fn node_matcher(&mut self, node: Node<'c>) -> Result<MatcherId, PatternError> {
        let mut test = self.node_test(node)?;
        if node.kind() == Kind::Parameter && test.attributes.is_empty() {
            let unstarred = self.unstarred();
            let matcher = self.program.add(Matcher::Node(test));
            return Ok(self.program.add(Matcher::AllOf(vec![matcher, unstarred])));
        }
        // Names first: they decide soonest.
        test.fields.sort_by_key(|field| match field.field {
            Field::Name | Field::Func => 0,
            Field::Body | Field::Decorators => 2,
            _ => 1,
        });
        Ok(self.program.add(Matcher::Node(test)))
    }

    /// The kind, attributes and fields of a node of the pattern.
    fn node_test(&mut self, node: Node<'c>) -> Result<NodeTest, PatternError> {
        let mut fields = Vec::new();
        for spec in node.kind().fields() {
            let test = match spec.arity {
                Arity::Many => self.list_test(node, spec.field),
                Arity::One | Arity::Optional => match node.child(spec.field) {
                    Some(child) => match self.parts[child.id().index()].clone() {
                        Some(Part::One(id) | Part::Keyword { matcher: id, .. }) => Some(Test::One(id)),
                        Some(Part::Optional(id)) => Some(Test::Optional(id)),
                        _ => return Err(self.many_error(child)),
                    },
                    None if may_be_left_out(node.kind(), spec.field) || spec.arity == Arity::One => None,
                    None => Some(Test::Absent),
                },
            };
            fields.extend(test.map(|test| FieldTest { field: spec.field, test }));
        }
        let kinds = KindSet::of(&[node.kind()]);
        Ok(NodeTest { kinds, attributes: attributes(node), fields })
    }

    fn list_test(&mut self, node: Node<'c>, field: Field) -> Option<Test> {
        let items = self.items(node, field);
        match (node.kind(), field) {
            (_, Field::Decorators) if items.is_empty() => None,
            (_, Field::Decorators) => {
                let any = self.program.add(Matcher::Any);
                let gap = self.program.any_number(any);
                let spread = items.into_iter().flat_map(|item| [item, gap]);
                Some(Test::Sequence(Sequence { items: std::iter::once(gap).chain(spread).collect() }))
            }
            (Kind::ClassDef, Field::Bases) if items.is_empty() && !has_parentheses(node) => None,
            (Kind::Call | Kind::ClassDef, Field::Args | Field::Bases) => {
                let keywords = self.keywords(node, field);
                let rest = Sequence { items };
                Some(if keywords.is_empty() {
                    Test::Sequence(rest)
                } else {
                    Test::Arguments { keywords, rest }
                })
            }
            _ => Some(Test::Sequence(Sequence { items })),
        }
    }

    /// The nodes of a list, without keywords that have a name.
    fn items(&mut self, node: Node<'c>, field: Field) -> Vec<Item> {
        let parts: Vec<NodeId> = node.list(field).map(Node::id).collect();
        let mut items = Vec::new();
        for id in parts {
            match self.parts[id.index()].clone() {
                Some(Part::One(matcher) | Part::Optional(matcher)) => {
                    items.push(Item { matcher, quantity: Quantity::One });
                }
                Some(Part::Many { slot }) => {
                    let matcher = self.program.add(Matcher::Any);
                    let quantity = Quantity::Many { min: 0, max: u32::MAX, slot };
                    items.push(Item { matcher, quantity });
                }
                Some(Part::Text(pieces)) => self.push_text(&mut items, pieces),
                Some(Part::Keyword { .. }) | None => {}
            }
        }
        items
    }

    fn keywords(&self, node: Node<'c>, field: Field) -> Vec<(String, MatcherId)> {
        node.list(field)
            .filter_map(|child| match &self.parts[child.id().index()] {
                Some(Part::Keyword { name, matcher }) => Some((name.clone(), *matcher)),
                _ => None,
            })
            .collect()
    }

    /// Text of an f-string: a wildcard at its border also stands for interpolations.
    fn push_text(&mut self, items: &mut Vec<Item>, mut pieces: Vec<String>) {
        let any = self.program.add(Matcher::Any);
        let gap = self.program.any_number(any);
        let opens = pieces.len() > 1 && pieces[0].is_empty();
        let closes = pieces.len() > 1 && pieces[pieces.len() - 1].is_empty();
        if opens {
            items.push(gap);
        }
        if pieces.iter().all(String::is_empty) && pieces.len() > 1 {
            return;
        }
        let kind = self.program.add(Matcher::Kinds(KindSet::of(&[Kind::InterpolationText])));
        let test = if pieces.len() == 1 { TextTest::Exact(pieces.remove(0)) } else { TextTest::Glob(pieces) };
        let text = self.program.add(Matcher::Text(test));
        let matcher = self.program.add(Matcher::AllOf(vec![kind, text]));
        items.push(Item { matcher, quantity: Quantity::One });
        if closes {
            items.push(gap);
        }
    }

    fn add_node(
        &mut self,
        kinds: KindSet,
        attributes: Vec<(&'static str, Attribute)>,
        fields: Vec<FieldTest>,
    ) -> MatcherId {
        self.program.add(Matcher::Node(NodeTest { kinds, attributes, fields }))
    }

    fn error(&self, message: String, node: Node<'_>) -> PatternError {
        PatternError::new(message).at(self.prepared.original(node.span()))
    }

    fn many_error(&self, node: Node<'_>) -> PatternError {
        let text = self.prepared.written(node.text());
        let first = text.find("$$$").map_or(text.as_str(), |at| &text[at..]);
        let length = 3 + first[3.min(first.len())..]
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .count();
        let word = first.get(..length).unwrap_or("$$$");
        let start = node.span().start + (node.text().find(self.prepared.sigil).unwrap_or(0)) as u32;
        let span = self.prepared.original(Span::new(start, start + 1));
        let span = Span::new(span.start, span.start + word.len() as u32);
        PatternError::new(format!("`{word}` stands where exactly one node is expected")).at(span).hint(
            "`$NAME` matches one node; `$$$NAME` needs a list to stand in: arguments, elements, statements, parameters",
        )
    }
}

/// Optional parts that a pattern without them does not forbid.
fn may_be_left_out(kind: Kind, field: Field) -> bool {
    matches!(
        (kind, field),
        (Kind::FunctionDef, Field::Returns | Field::TypeParams)
            | (Kind::ClassDef | Kind::TypeAlias, Field::TypeParams)
            | (Kind::Parameter, Field::Annotation | Field::Default)
            | (Kind::TypeVar, Field::Bound | Field::Default)
            | (Kind::TypeVarTuple | Kind::ParamSpec, Field::Default)
            | (Kind::ExceptHandler, Field::Name)
            | (Kind::WithItem, Field::OptionalVars)
            | (Kind::Alias, Field::Asname)
            | (Kind::Interpolation, Field::FormatSpec)
    )
}

/// Attributes that the pattern spells out.
fn attributes(node: Node<'_>) -> Vec<(&'static str, Attribute)> {
    let attributes = node.kind().attributes().iter();
    attributes
        .filter_map(|name| {
            let value = node.attribute(name)?;
            let is_asked = match *name {
                "ctx" | "parenthesized" => false,
                "is_async" | "is_lazy" | "debug" => value == Attribute::Flag(true),
                "conversion" => value != Attribute::Absent,
                "kind" => matches!(value, Attribute::Word("star" | "double_star")),
                _ => true,
            };
            is_asked.then_some((*name, value))
        })
        .collect()
}

/// Whether a class header has parentheses, perhaps empty ones.
fn has_parentheses(node: Node<'_>) -> bool {
    let header = node.child(Field::TypeParams).or_else(|| node.child(Field::Name));
    header.is_some_and(|header| {
        let text = node.parsed().text();
        text[header.span().end as usize..].trim_start().starts_with('(')
    })
}

/// `Bytes` or `String`.
fn node_kind_of_parts(node: Node<'_>) -> Kind {
    match node.children().next() {
        Some(part) => part.kind(),
        None => node.kind(),
    }
}

fn expressions() -> KindSet {
    KindSet::where_kind(|kind| kind.is_expression() && kind != Kind::Starred)
}

fn match_patterns() -> KindSet {
    KindSet::of(&[
        Kind::MatchValue,
        Kind::MatchSingleton,
        Kind::MatchSequence,
        Kind::MatchMapping,
        Kind::MatchClass,
        Kind::MatchStar,
        Kind::MatchAs,
        Kind::MatchOr,
    ])
}

/// Splits at `…` and `$$$`.
fn wildcard_pieces(text: &str) -> Vec<String> {
    text.replace("$$$", "…").split('…').map(str::to_owned).collect()
}
