//! What a rule looks for, compiled: patterns, the message, where it points, and the fix.
//!
//! A rule looks at *subjects*: what `match` finds, or the artifact itself. A subject is a finding unless the rule says more: with `require`,
//! if one of those patterns does not hold; with `forbid`, at each place within it where one of those matches. Captures of the same name in
//! `match` and in `require` or `forbid` stand for the same code.

use std::path::Path;

use grail_code::query::{Match, Pattern, PatternError, Searcher, same_code};
use grail_code::{Node, Parsed, Position, Semantic, Source, Span};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use serde_saphyr::Spanned;

use super::document::Block;
use super::message::Message;
use super::options::{self, Options};
use super::recipe::Recipe;
use super::scene::Scene;
use crate::RuleProblem;

pub(crate) struct Definition {
    /// What is looked at. Of rules without `match` it is the pattern of artifacts.
    pub(crate) subjects: Vec<Subject>,
    pub(crate) is_about_artifacts: bool,
    unless: Vec<Pattern>,
    require: Vec<Pattern>,
    forbid: Vec<Pattern>,
    /// The capture to point at.
    at: Option<String>,
    message: Message,
    help: Option<Message>,
    pub(crate) recipe: Option<Recipe>,
}

pub(crate) struct Subject {
    pub(crate) pattern: Pattern,
    /// The pattern as code, if it is.
    pub(crate) code: Option<String>,
}

/// A place where the rule does not hold.
pub(crate) struct Violation {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) subject: Match,
    pub(crate) occurrence: Option<Match>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefinitionData {
    #[serde(rename = "match")]
    subject: Option<Spanned<Value>>,
    #[serde(rename = "where")]
    constraints: Option<Spanned<Value>>,
    inside: Option<Spanned<Value>>,
    not_inside: Option<Spanned<Value>>,
    unless: Option<Spanned<Value>>,
    require: Option<Spanned<Value>>,
    forbid: Option<Spanned<Value>>,
    at: Option<Spanned<String>>,
    message: Spanned<String>,
    help: Option<Spanned<String>>,
    fix: Option<Spanned<Value>>,
}

/// The file a definition stands in, and the options it is filled with.
pub(crate) struct Compiler<'c> {
    pub(crate) path: &'c Path,
    /// The line of the file that the block starts on.
    pub(crate) line: usize,
    pub(crate) options: &'c Options,
}

impl Definition {
    pub(crate) fn compile(path: &Path, block: &Block, options: &Options) -> Result<Self, RuleProblem> {
        let compiler = Compiler { path, line: block.line, options };
        let data: DefinitionData = serde_saphyr::from_str(&block.text).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line() as usize).saturating_sub(1);
            compiler.problem(line, yaml_message(&error)).hint(
                "a definition has `match`, `where`, `unless`, `require`, `forbid`, `at`, `message`, `help` and `fix`",
            )
        })?;
        compiler.definition(data)
    }

    /// Whether matching needs to know what names stand for.
    pub(crate) fn needs_names(&self) -> bool {
        let patterns = self.unless.iter().chain(&self.require).chain(&self.forbid);
        self.subjects.iter().map(|subject| &subject.pattern).chain(patterns).any(Pattern::needs_names)
            || self.recipe.is_some()
    }

    /// Gets ready to judge the subjects of one file.
    pub(crate) fn judge<'d, 'a>(
        &'d self,
        parsed: &'a Parsed,
        semantic: Option<&'d Semantic<'a>>,
    ) -> Judge<'d, 'a> {
        let searchers =
            |patterns: &'d [Pattern]| patterns.iter().map(|one| one.searcher(parsed, semantic)).collect();
        Judge {
            definition: self,
            unless: searchers(&self.unless),
            require: searchers(&self.require),
            forbid: searchers(&self.forbid),
        }
    }

    fn violation(&self, subject: &Match, occurrence: Option<Match>, node: Node<'_>) -> Violation {
        let scene = Scene { parsed: node.parsed(), subject, occurrence: occurrence.as_ref() };
        let span =
            self.at.as_deref().and_then(|name| scene.span(name)).unwrap_or_else(|| scene.default_span());
        let message = self.message.render(&scene);
        let help = self.help.as_ref().map(|help| help.render(&scene));
        Violation { span, message, help, subject: subject.clone(), occurrence }
    }
}

/// A rule in one file: remembers what its patterns found out from one subject to the next.
pub(crate) struct Judge<'d, 'a> {
    definition: &'d Definition,
    unless: Vec<Searcher<'d, 'a>>,
    require: Vec<Searcher<'d, 'a>>,
    forbid: Vec<Searcher<'d, 'a>>,
}

impl<'a> Judge<'_, 'a> {
    /// What is wrong with a subject: nothing, the subject itself, or places within it.
    pub(crate) fn violations(&mut self, subject: &Match, node: Node<'a>) -> Vec<Violation> {
        if self.unless.iter_mut().any(|pattern| holds(pattern, subject, node)) {
            return Vec::new();
        }
        if !self.forbid.is_empty() {
            let mut violations: Vec<Violation> = Vec::new();
            for pattern in &mut self.forbid {
                let found = pattern.within(node).filter(|found| agree(subject, &found.captures, node));
                violations.extend(found.map(|found| self.definition.violation(subject, Some(found), node)));
            }
            violations.sort_by_key(|violation| (violation.span.start, violation.span.end));
            violations.dedup_by_key(|violation| violation.span);
            return violations;
        }
        if !self.require.is_empty() && self.require.iter_mut().all(|pattern| holds(pattern, subject, node)) {
            return Vec::new();
        }
        vec![self.definition.violation(subject, None, node)]
    }
}

/// A pattern that can match the subject itself must do so; any other may match anywhere within it.
fn holds<'a>(pattern: &mut Searcher<'_, 'a>, subject: &Match, node: Node<'a>) -> bool {
    if pattern.pattern().root_kinds().any(|kind| kind == node.kind()) {
        return pattern.at(node).is_some_and(|found| agree(subject, &found.captures, node));
    }
    pattern.within(node).any(|found| agree(subject, &found.captures, node))
}

/// Whether captures of the same name stand for the same code.
fn agree(subject: &Match, captures: &grail_code::query::Captures, node: Node<'_>) -> bool {
    let parsed = node.parsed();
    captures.iter().all(|(name, capture)| match subject.captures.get(name) {
        Some(other) => {
            capture.nodes().len() == other.nodes().len()
                && capture
                    .nodes()
                    .iter()
                    .zip(other.nodes())
                    .all(|(a, b)| same_text_or_code(parsed.node(*a), parsed.node(*b)))
        }
        None => true,
    })
}

/// An `Identifier` and a `Name` of the same text are the same word: `def a` and `a()`.
fn same_text_or_code(a: Node<'_>, b: Node<'_>) -> bool {
    a.text() == b.text() || same_code(a, b)
}

impl Compiler<'_> {
    fn definition(&self, data: DefinitionData) -> Result<Definition, RuleProblem> {
        let extra =
            [("inside", &data.inside), ("not_inside", &data.not_inside), ("where", &data.constraints)];
        let is_about_artifacts = data.subject.is_none();
        let subjects = match &data.subject {
            Some(subject) => self.subjects(subject, &extra)?,
            None => {
                let any = json!({"type_of": ["FunctionDef", "ClassDef"], "name": "$NAME"});
                let pattern = self.pattern(&any, 0, &extra)?;
                vec![Subject { pattern, code: None }]
            }
        };
        let patterns = |data: &Option<Spanned<Value>>| match data {
            Some(data) => self.patterns(data),
            None => Ok(Vec::new()),
        };
        let forbid = patterns(&data.forbid)?;
        let known = |name: &str| {
            let has = |pattern: &Pattern| pattern.capture_names().iter().any(|known| known == name);
            subjects.iter().all(|subject| has(&subject.pattern))
                || (!forbid.is_empty() && forbid.iter().all(has))
        };
        let check = |names: Vec<String>, line: usize| match names.iter().find(|name| !known(name)) {
            Some(name) => {
                Err(self.problem(line, format!("no pattern of this rule captures `${name}`")).hint(
                    "every alternative of `match` (or of `forbid`) must capture what a message or fix names",
                ))
            }
            None => Ok(()),
        };
        let message = self.message(&data.message)?;
        check(message.names(), line_of(&data.message))?;
        let help = data.help.as_ref().map(|help| self.message(help)).transpose()?;
        if let (Some(help), Some(spanned)) = (&help, &data.help) {
            check(help.names(), line_of(spanned))?;
        }
        let at = data.at.as_ref().map(|at| at.value.trim_start_matches('$').to_owned());
        if let (Some(name), Some(spanned)) = (&at, &data.at) {
            check(vec![name.clone()], line_of(spanned))?;
        }
        let recipe = match &data.fix {
            Some(fix) => {
                let line = line_of(fix);
                let recipe = Recipe::compile(self, &self.filled(&fix.value, line)?, line, &subjects)?;
                check(recipe.names(), line)?;
                Some(recipe)
            }
            None => None,
        };
        Ok(Definition {
            unless: patterns(&data.unless)?,
            require: patterns(&data.require)?,
            subjects,
            is_about_artifacts,
            forbid,
            at,
            message,
            help,
            recipe,
        })
    }

    fn subjects(
        &self,
        subject: &Spanned<Value>,
        extra: &[(&str, &Option<Spanned<Value>>)],
    ) -> Result<Vec<Subject>, RuleProblem> {
        let line = line_of(subject);
        let filled = self.filled(&subject.value, line)?;
        let compile = |data: &Value| {
            let code = data.as_str().map(str::to_owned);
            Ok(Subject { pattern: self.pattern(data, line, extra)?, code })
        };
        alternatives(&filled).map(compile).collect()
    }

    /// One pattern or a list of them.
    pub(crate) fn patterns(&self, data: &Spanned<Value>) -> Result<Vec<Pattern>, RuleProblem> {
        let line = line_of(data);
        let filled = self.filled(&data.value, line)?;
        alternatives(&filled).map(|one| self.pattern(one, line, &[])).collect()
    }

    /// A pattern in either spelling, together with the keys that stand beside it.
    pub(crate) fn pattern(
        &self,
        data: &Value,
        line: usize,
        extra: &[(&str, &Option<Spanned<Value>>)],
    ) -> Result<Pattern, RuleProblem> {
        let mut structure = match data {
            Value::String(code) if extra.iter().all(|(_, value)| value.is_none()) => {
                return Pattern::code(code).map_err(|error| self.pattern_problem(&error, code, line));
            }
            Value::String(code) => Map::from_iter([("code".to_owned(), json!(code))]),
            Value::Object(map) => map.clone(),
            other => return Err(self.problem(line, format!("`{other}` is no pattern"))),
        };
        for (key, value) in extra {
            let Some(value) = value else { continue };
            if structure.contains_key(*key) {
                return Err(self.problem(line_of(value), format!("`{key}` is also in the pattern")));
            }
            structure.insert((*key).to_owned(), self.filled(&value.value, line_of(value))?);
        }
        Pattern::structural(&Value::Object(structure)).map_err(|error| self.pattern_problem(&error, "", line))
    }

    fn filled(&self, value: &Value, line: usize) -> Result<Value, RuleProblem> {
        let mut value = value.clone();
        options::fill(&mut value, self.options).map_err(|name| self.unknown_option(&name, line))?;
        Ok(value)
    }

    fn message(&self, text: &Spanned<String>) -> Result<Message, RuleProblem> {
        let line = line_of(text);
        let filled = self.filled(&Value::String(text.value.clone()), line)?;
        Ok(Message::parse(filled.as_str().unwrap_or(&text.value)))
    }

    fn unknown_option(&self, name: &str, line: usize) -> RuleProblem {
        let known: Vec<String> = self.options.keys().map(|key| format!("`{key}`")).collect();
        let hint = match known.is_empty() {
            true => "options and their defaults stand in the front matter, under `options`".to_owned(),
            false => format!("the rule's options are {}", known.join(", ")),
        };
        self.problem(line, format!("the rule has no option `{name}`")).hint(hint)
    }

    /// A problem on a line of the block, from 0.
    pub(crate) fn problem(&self, line: usize, message: impl Into<String>) -> RuleProblem {
        RuleProblem::new(self.path, self.line + line, message)
    }

    fn pattern_problem(&self, error: &PatternError, code: &str, line: usize) -> RuleProblem {
        let mut message = format!("invalid pattern: {}", error.message);
        if !error.path.is_empty() {
            message.push_str(&format!(" (at `{}`)", error.path));
        }
        let mut problem = self.problem(line, message);
        if let Some(span) = error.span.filter(|_| !code.is_empty()) {
            let source = Source::from_text(code);
            problem = problem.snippet(caret(code, source.position(span.start.min(code.len() as u32))));
        }
        problem.hint = error.hint.clone();
        problem
    }
}

/// A list of patterns, or one.
fn alternatives(data: &Value) -> impl Iterator<Item = &Value> {
    match data {
        Value::Array(items) => items.iter(),
        one => std::slice::from_ref(one).iter(),
    }
}

fn line_of<T>(value: &Spanned<T>) -> usize {
    (value.referenced.line() as usize).saturating_sub(1)
}

fn caret(text: &str, at: Position) -> String {
    let line = text.lines().nth(at.line.saturating_sub(1) as usize).unwrap_or_default();
    format!("  {line}\n  {}^", " ".repeat(at.column.saturating_sub(1) as usize))
}

/// The library's message without the place, which is told apart.
pub(crate) fn yaml_message(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.split(" at line ").next().unwrap_or(line);
    line.trim_start_matches("error: ").trim_end_matches([':', ' ']).to_owned()
}
