//! Structural patterns: data with LibCST's matcher vocabulary, compiled to the same matchers as code.

mod fields;
mod sequence;

use regex::Regex;
use serde_json::{Map, Value};

use super::matcher::{
    FieldTest, KindSet, Matcher, MatcherId, NameTest, NodeTest, Origin, Program, Relation, RelationKind,
    Root, Stop, Test, TextTest,
};
use super::vocabulary::{self, closest};
use super::{PatternError, Predicate, code};
use crate::{Field, Kind, Span};

/// Keys that mean something on every node, whatever its type.
const KEYS: &[&str] = &[
    "type",
    "type_of",
    "one_of",
    "all_of",
    "not",
    "regex",
    "text",
    "predicate",
    "inside",
    "not_inside",
    "has",
    "not_has",
    "follows",
    "not_follows",
    "precedes",
    "not_precedes",
    "comes_from",
    "qualified_name",
    "code",
    "pattern",
    "where",
    "capture",
];

/// Keys of an entry in a list that stands for several nodes.
const QUANTIFIERS: &[&str] = &["zero_or_more", "zero_or_one", "at_least", "at_most"];

/// Whether a text is a structural pattern rather than code.
pub(super) fn looks_structural(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = lines.find(|line| *line != "---") else { return false };
    let first = match first.strip_prefix('{') {
        // The first key of a flow mapping may stand on the next line.
        Some("") => lines.next().unwrap_or_default(),
        Some(rest) => rest.trim_start(),
        None => first,
    };
    let (key, rest) = match first.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split_once(['"', '\'']).unwrap_or_default(),
        None => {
            first.split_at(first.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(first.len()))
        }
    };
    let Some(value) = rest.trim_start().strip_prefix(':') else { return false };
    KEYS.contains(&key) && (value.is_empty() || value.starts_with([' ', '"', '{', '[']))
}

pub(super) fn compile(data: &Value) -> Result<Program, PatternError> {
    Builder { program: Program::new(), path: Vec::new(), text: None }.build(data)
}

pub(super) fn compile_text(text: &str) -> Result<Program, PatternError> {
    let data: Value = serde_saphyr::from_str(text).map_err(|error| {
        let mut result = PatternError::new(format!("not YAML: {}", first_line(&error.to_string())));
        if let Some(location) = error.location() {
            let offset = offset_of(text, location.line() as usize, location.column() as usize);
            result = result.at(Span::at(offset));
        }
        result.hint("quote values that start with `*`, `$`, `{`, `[` or `@`")
    })?;
    Builder { program: Program::new(), path: Vec::new(), text: Some(text) }.build(&data)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn offset_of(text: &str, line: usize, column: usize) -> u32 {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let line = text[start..].lines().next().unwrap_or_default();
    let within = line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    (start + within) as u32
}

struct Builder<'b> {
    program: Program,
    /// Keys and indices that lead to the value being compiled.
    path: Vec<String>,
    text: Option<&'b str>,
}

impl Builder<'_> {
    fn build(mut self, data: &Value) -> Result<Program, PatternError> {
        self.program.root = match data {
            Value::String(text) => code::compile(&mut self.program, text)?,
            Value::Array(items) => Root::Statements(self.sequence(items)?),
            Value::Object(map) => self.root(map)?,
            _ => {
                let message = format!("a structural pattern is a mapping, not `{data}`");
                return Err(self.error(message, None).hint("for instance `{type: Call, func: print}`"));
            }
        };
        Ok(self.program)
    }

    fn root(&mut self, map: &Map<String, Value>) -> Result<Root, PatternError> {
        let is_code_only = map.keys().all(|key| matches!(key.as_str(), "code" | "pattern" | "where"));
        if is_code_only && let Some((key, Value::String(text))) = map.iter().find(|(key, _)| *key != "where")
        {
            let root = self.within(key.clone(), |builder| builder.code(text))?;
            self.constraints(map)?;
            return Ok(root);
        }
        let mut id = self.object(map)?;
        let is_unrestricted = map.contains_key("qualified_name")
            && !["type", "type_of", "code", "pattern", "one_of", "all_of"]
                .iter()
                .any(|key| map.contains_key(*key));
        if is_unrestricted {
            // A call goes by the name of its function: without this, both would be reported.
            let kinds = KindSet::of(&[Kind::Name, Kind::Attribute, Kind::FunctionDef, Kind::ClassDef]);
            let kinds = self.program.add(Matcher::Kinds(kinds));
            id = self.program.add(Matcher::AllOf(vec![kinds, id]));
        }
        Ok(Root::Node(id))
    }

    fn within<T>(
        &mut self,
        step: String,
        build: impl FnOnce(&mut Self) -> Result<T, PatternError>,
    ) -> Result<T, PatternError> {
        self.path.push(step);
        let result = build(self);
        self.path.pop();
        result
    }

    /// An error at the current path; in a text it points at `word`.
    fn error(&self, message: String, word: Option<&str>) -> PatternError {
        let mut error = PatternError::new(message);
        for step in &self.path {
            if !error.path.is_empty() && !step.starts_with('[') {
                error.path.push('.');
            }
            error.path.push_str(step);
        }
        let place = self.text.zip(word).and_then(|(text, word)| find_word(text, word));
        error.span = place;
        error
    }

    fn node(&mut self, data: &Value) -> Result<MatcherId, PatternError> {
        match data {
            Value::Null => Ok(self.program.add(Matcher::Any)),
            Value::Bool(flag) => {
                let text = if *flag { "True" } else { "False" };
                Ok(self.literal(&[Kind::Boolean], text))
            }
            Value::Number(number) => Ok(self.literal(&[Kind::Integer, Kind::Float], &number.to_string())),
            Value::String(text) => Ok(self.word(text)),
            Value::Object(map) => self.object(map),
            Value::Array(_) => Err(self
                .error("a list stands where exactly one node is expected".to_owned(), None)
                .hint("use `one_of: [...]` for alternatives")),
        }
    }

    /// A string in the place of a node.
    fn word(&mut self, text: &str) -> MatcherId {
        match text {
            "*" | "any" | "$_" => self.program.add(Matcher::Any),
            _ => match text.strip_prefix('$').filter(|name| is_capture_name(name)) {
                Some(name) => {
                    let any = self.program.add(Matcher::Any);
                    let slot = self.program.slot(name);
                    self.program.add(Matcher::Capture(slot, any))
                }
                None => self.program.add(Matcher::Shorthand(text.to_owned())),
            },
        }
    }

    fn literal(&mut self, kinds: &[Kind], text: &str) -> MatcherId {
        let kinds = self.program.add(Matcher::Kinds(KindSet::of(kinds)));
        let value = self.program.add(Matcher::Value(TextTest::Exact(text.to_owned())));
        self.program.add(Matcher::AllOf(vec![kinds, value]))
    }

    fn object(&mut self, map: &Map<String, Value>) -> Result<MatcherId, PatternError> {
        stacker::maybe_grow(64 * 1024, 4 * 1024 * 1024, || self.object_on_big_stack(map))
    }

    fn object_on_big_stack(&mut self, map: &Map<String, Value>) -> Result<MatcherId, PatternError> {
        if let Some(quantifier) = map.keys().find(|key| QUANTIFIERS.contains(&key.as_str())) {
            return Err(self.error(format!("`{quantifier}` stands outside a list"), Some(quantifier)));
        }
        if map.get("type").and_then(Value::as_str) == Some("Arg") {
            return self.argument(map);
        }
        let mut node = self.types(map)?;
        let is_typed = node.kinds != KindSet::ALL;
        let mut tests = Vec::new();
        let mut own_tests = Vec::new();
        for (key, data) in map {
            // `pattern` is also a field of `case` and its parts.
            let is_field =
                key == "pattern" && is_typed && node.kinds.iter().any(|kind| kind.field("pattern").is_some());
            if KEYS.contains(&key.as_str()) && !is_field {
                let test = self.within(key.clone(), |builder| builder.key(key, data))?;
                tests.extend(test);
            } else {
                let test = self.within(key.clone(), |builder| builder.field(&mut node, key, data))?;
                own_tests.extend(test);
            }
        }
        // Cheap tests first: the type, then the node's own value, then relations.
        let mut all = Vec::new();
        if is_typed || !node.fields.is_empty() || !node.attributes.is_empty() {
            all.push(self.program.add(Matcher::Node(node)));
        }
        all.extend(own_tests);
        all.extend(tests);
        let mut matcher = match all.as_slice() {
            [only] => *only,
            _ => self.program.add(Matcher::AllOf(all)),
        };
        if let Some(name) = map.get("capture") {
            let name = self.within("capture".to_owned(), |builder| builder.capture_name(name))?;
            let slot = self.program.slot(&name);
            matcher = self.program.add(Matcher::Capture(slot, matcher));
        }
        if map.contains_key("where") {
            self.constraints(map)?;
        }
        Ok(matcher)
    }

    fn types(&mut self, map: &Map<String, Value>) -> Result<NodeTest, PatternError> {
        let mut node = NodeTest { kinds: KindSet::ALL, attributes: Vec::new(), fields: Vec::new() };
        let names: Vec<(&str, &Value)> = match (map.get("type"), map.get("type_of")) {
            (Some(Value::Array(names)), _) => names.iter().map(|name| ("type", name)).collect(),
            (Some(name), _) => vec![("type", name)],
            (None, Some(Value::Array(names))) => names.iter().map(|name| ("type_of", name)).collect(),
            (None, Some(name)) => vec![("type_of", name)],
            (None, None) => return Ok(node),
        };
        let mut kinds = KindSet::EMPTY;
        let is_one = names.len() == 1;
        for (key, name) in names {
            let Some(name) = name.as_str() else {
                return Err(self.error(format!("a node type is a name, not `{name}`"), Some(key)));
            };
            if matches!(name, "*" | "any") {
                return Ok(node);
            }
            let Some((found, attribute)) = vocabulary::resolve_type(name) else {
                self.path.push(key.to_owned());
                let error = self.error(format!("unknown node type `{name}`"), Some(name));
                self.path.pop();
                return Err(did_you_mean(error, name, vocabulary::type_names()));
            };
            kinds = kinds.union(found);
            // Of several types, an attribute holds for one only; the plain type is then enough.
            node.attributes.extend(attribute.filter(|_| is_one));
        }
        node.kinds = kinds;
        Ok(node)
    }

    /// A key that means the same on every node. `None` if it adds no test of its own.
    fn key(&mut self, key: &str, data: &Value) -> Result<Option<MatcherId>, PatternError> {
        let matcher = match key {
            "type" | "type_of" | "capture" | "where" => return Ok(None),
            "one_of" => Matcher::OneOf(self.nodes(data)?),
            "all_of" => Matcher::AllOf(self.nodes(data)?),
            "not" => Matcher::Not(self.node(data)?),
            "regex" => Matcher::Value(TextTest::Regex(self.regex(data)?)),
            "text" => match data {
                Value::String(text) => Matcher::Text(TextTest::Exact(text.clone())),
                Value::Object(map) if map.contains_key("regex") => {
                    Matcher::Text(TextTest::Regex(self.regex(&map["regex"])?))
                }
                _ => return Err(self.error(format!("`text` is a string, not `{data}`"), Some("text"))),
            },
            "predicate" => match data {
                Value::Array(all) => {
                    let all: Result<Vec<_>, _> = all.iter().map(|one| self.predicate(one)).collect();
                    Matcher::AllOf(all?)
                }
                one => return self.predicate(one).map(Some),
            },
            "inside" => return self.relation(RelationKind::Inside, data).map(Some),
            "has" => return self.relation(RelationKind::Has, data).map(Some),
            "follows" => return self.relation(RelationKind::Follows, data).map(Some),
            "precedes" => return self.relation(RelationKind::Precedes, data).map(Some),
            "not_inside" => Matcher::Not(self.relation(RelationKind::Inside, data)?),
            "not_has" => Matcher::Not(self.relation(RelationKind::Has, data)?),
            "not_follows" => Matcher::Not(self.relation(RelationKind::Follows, data)?),
            "not_precedes" => Matcher::Not(self.relation(RelationKind::Precedes, data)?),
            "comes_from" => {
                let inner = self.node(data)?;
                Matcher::ComesFrom(Origin { inner, binds: self.program.binds(inner) })
            }
            "qualified_name" => Matcher::QualifiedName(self.qualified_name(data)?),
            "code" | "pattern" => {
                let Some(text) = data.as_str() else {
                    return Err(self.error(format!("`{key}` is Python code, not `{data}`"), Some(key)));
                };
                return match self.code(text)? {
                    Root::Node(id) => Ok(Some(id)),
                    Root::Statements(_) => Err(self
                        .error("several statements match no single node".to_owned(), Some(key))
                        .hint("only a pattern that is nothing but code may be several statements")),
                };
            }
            _ => return Ok(None),
        };
        Ok(Some(self.program.add(matcher)))
    }

    fn nodes(&mut self, data: &Value) -> Result<Vec<MatcherId>, PatternError> {
        let Value::Array(items) = data else {
            let key = self.path.last().cloned().unwrap_or_default();
            return Err(self.error(format!("`{key}` is a list of patterns"), Some(&key)));
        };
        let mut all = Vec::new();
        for (index, item) in items.iter().enumerate() {
            all.push(self.within(format!("[{index}]"), |builder| builder.node(item))?);
        }
        Ok(all)
    }

    fn code(&mut self, text: &str) -> Result<Root, PatternError> {
        code::compile(&mut self.program, text).map_err(|error| {
            let mut located = self.error(error.message, None);
            located.hint = error.hint;
            // Escapes and block scalars may keep the code from standing in the text as it is.
            let start = self.text.and_then(|whole| whole.find(text));
            located.span = start
                .zip(error.span)
                .map(|(start, span)| Span::new(start as u32 + span.start, start as u32 + span.end));
            located
        })
    }

    fn constraints(&mut self, map: &Map<String, Value>) -> Result<(), PatternError> {
        let Some(data) = map.get("where") else { return Ok(()) };
        let Value::Object(constraints) = data else {
            return Err(self.error("`where` maps capture names to patterns".to_owned(), Some("where")));
        };
        for (name, data) in constraints {
            let name = name.trim_start_matches('$');
            self.path.push("where".to_owned());
            let result = match self.program.names.iter().position(|known| known == name) {
                Some(slot) => self.within(name.to_owned(), |builder| builder.node(data)).map(|id| {
                    self.program.constraints[slot] = Some(id);
                    self.program.constraint_binds[slot] = self.program.binds(id);
                }),
                None => {
                    let error = self.error(format!("the pattern has no capture `${name}`"), Some(name));
                    Err(did_you_mean(error, name, self.program.names.iter().map(String::as_str)))
                }
            };
            self.path.pop();
            result?;
        }
        Ok(())
    }

    fn capture_name(&mut self, data: &Value) -> Result<String, PatternError> {
        match data.as_str().map(|name| name.trim_start_matches('$')) {
            Some(name) if is_capture_name(name) => Ok(name.to_owned()),
            _ => Err(self.error(format!("`{data}` is not a name for a capture"), Some("capture"))),
        }
    }

    fn regex(&mut self, data: &Value) -> Result<Regex, PatternError> {
        let Some(text) = data.as_str() else {
            return Err(self.error(format!("a regular expression is a string, not `{data}`"), Some("regex")));
        };
        Regex::new(text).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            self.error(format!("invalid regular expression `{text}`: {reason}"), Some(text))
        })
    }

    fn predicate(&mut self, data: &Value) -> Result<MatcherId, PatternError> {
        let name = data.as_str().unwrap_or_default();
        match Predicate::find(name) {
            Some(predicate) => Ok(self.program.add(Matcher::Predicate(predicate))),
            None => {
                let error = self.error(format!("unknown predicate `{name}`"), Some(name));
                Err(did_you_mean(error, name, super::PREDICATES.iter().map(|predicate| predicate.name)))
            }
        }
    }

    fn relation(&mut self, kind: RelationKind, data: &Value) -> Result<MatcherId, PatternError> {
        let mut stop = Stop::End;
        let inner = match data {
            Value::Object(map) if map.contains_key("stop_by") => {
                let mut map = map.clone();
                stop = match map.remove("stop_by") {
                    Some(Value::String(word)) if word == "neighbor" => Stop::Neighbor,
                    Some(Value::String(word)) if word == "end" => Stop::End,
                    Some(pattern @ Value::Object(_)) => {
                        Stop::At(self.within("stop_by".to_owned(), |builder| builder.node(&pattern))?)
                    }
                    other => {
                        let other = other.unwrap_or_default();
                        return Err(self
                            .error(format!("`stop_by` cannot be `{other}`"), Some("stop_by"))
                            .hint("`neighbor`, `end` or a pattern"));
                    }
                };
                self.object(&map)?
            }
            other => self.node(other)?,
        };
        let binds = self.program.binds(inner);
        Ok(self.program.add(Matcher::Relation(Relation { kind, stop, inner, binds })))
    }

    fn qualified_name(&mut self, data: &Value) -> Result<NameTest, PatternError> {
        let names: Vec<&str> = match data {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            Value::Object(map) if map.contains_key("regex") => {
                return self.regex(&map["regex"]).map(NameTest::Regex);
            }
            _ => Vec::new(),
        };
        if names.is_empty() {
            return Err(self
                .error(format!("a qualified name cannot be `{data}`"), Some("qualified_name"))
                .hint("a dotted name, a list of them, or `{regex: ...}`"));
        }
        if !names.iter().any(|name| name.contains('*')) {
            return Ok(NameTest::OneOf(names.into_iter().map(str::to_owned).collect()));
        }
        let alternatives: Vec<String> =
            names.iter().map(|name| regex::escape(name).replace(r"\*", ".*")).collect();
        self.regex(&Value::String(format!("^(?:{})$", alternatives.join("|")))).map(NameTest::Regex)
    }

    /// LibCST's `Arg`: any argument of a call or class header, whatever its form.
    fn argument(&mut self, map: &Map<String, Value>) -> Result<MatcherId, PatternError> {
        if let Some(key) = map
            .keys()
            .find(|key| !matches!(key.as_str(), "type" | "value" | "keyword" | "arg" | "star" | "capture"))
        {
            let error = self.error(format!("`Arg` has no field `{key}`"), Some(key));
            return Err(error.hint("`Arg` has `value`, `keyword` and `star`"));
        }
        let value = match map.get("value") {
            Some(data) => self.within("value".to_owned(), |builder| builder.node(data))?,
            None => self.program.add(Matcher::Any),
        };
        let keyword = map.get("keyword").or_else(|| map.get("arg"));
        let star = map.get("star").and_then(Value::as_str);
        let mut forms = Vec::new();
        let wants_keyword = keyword.is_some_and(|data| !matches!(data, Value::Null | Value::Bool(false)));
        if keyword.is_none() || !wants_keyword {
            if star.is_none_or(str::is_empty) {
                let kinds = KindSet::where_kind(|kind| kind.is_expression() && kind != Kind::Starred);
                let kinds = self.program.add(Matcher::Kinds(kinds));
                forms.push(self.program.add(Matcher::AllOf(vec![kinds, value])));
            }
            if star.is_none_or(|star| star == "*") {
                forms.push(self.node_with(Kind::Starred, vec![(Field::Value, Test::One(value))]));
            }
        }
        if keyword.is_none() || wants_keyword || star == Some("**") {
            let name = match keyword {
                Some(data) if wants_keyword => {
                    Some(Test::One(self.within("keyword".to_owned(), |builder| builder.node(data))?))
                }
                _ if star == Some("**") => Some(Test::Absent),
                _ => None,
            };
            if star.is_none_or(|star| star != "*") {
                let fields = name
                    .map(|test| (Field::Keyword, test))
                    .into_iter()
                    .chain([(Field::Value, Test::One(value))]);
                forms.push(self.node_with(Kind::Keyword, fields.collect()));
            }
        }
        let form = self.program.add(Matcher::OneOf(forms));
        let places = [Field::Args, Field::Bases].map(|field| self.program.add(Matcher::Field(field)));
        let place = self.program.add(Matcher::OneOf(places.to_vec()));
        let mut matcher = self.program.add(Matcher::AllOf(vec![place, form]));
        if let Some(name) = map.get("capture") {
            let name = self.within("capture".to_owned(), |builder| builder.capture_name(name))?;
            let slot = self.program.slot(&name);
            matcher = self.program.add(Matcher::Capture(slot, matcher));
        }
        Ok(matcher)
    }

    fn node_with(&mut self, kind: Kind, fields: Vec<(Field, Test)>) -> MatcherId {
        let fields = fields.into_iter().map(|(field, test)| FieldTest { field, test }).collect();
        self.program.add(Matcher::Node(NodeTest {
            kinds: KindSet::of(&[kind]),
            attributes: Vec::new(),
            fields,
        }))
    }
}

fn is_capture_name(name: &str) -> bool {
    name.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn did_you_mean<'w>(
    error: PatternError,
    word: &str,
    candidates: impl Iterator<Item = &'w str>,
) -> PatternError {
    match closest(word, candidates) {
        Some(suggestion) => error.hint(format!("did you mean `{suggestion}`?")),
        None => error,
    }
}

/// The first place where `word` stands on its own.
fn find_word(text: &str, word: &str) -> Option<Span> {
    let is_part = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word)
        .find(|(at, _)| {
            !word.is_empty()
                && !is_part(text[..*at].chars().next_back())
                && !is_part(text[at + word.len()..].chars().next())
        })
        .map(|(at, _)| Span::new(at as u32, (at + word.len()) as u32))
}
