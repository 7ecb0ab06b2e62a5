//! Annotations from a stub file, written into the source it describes.
//!
//! Definitions are matched by their dotted path; a function only if its parameters agree in name, kind and order. What does not
//! match, and what could mean something else in the source, is left alone with a note.

mod annotation;
mod definitions;

use super::error::{Place, RefactorError};
use super::{Location, Note};
use crate::imports::{self, ImportRequest};
use crate::layout::{annotate_parameter, annotate_return};
use crate::semantic::ScopeId;
use crate::tree::ParameterKind;
use crate::{Edit, Field, Kind, Node, ProjectFile, Semantic, Span, edit};
use annotation::Translator;
use definitions::{Definitions, Function, Variable};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StubOptions {
    /// Replace annotations that the source has already.
    pub overwrite: bool,
}

/// What a stub gave to a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StubChange {
    pub edits: Vec<Edit>,
    /// How many annotations were written.
    pub annotations: usize,
    /// What was skipped, and why. The places are in the source or in the stub.
    pub notes: Vec<Note>,
}

/// Writes the annotations of `stub` into `file`, and imports what they need.
pub fn apply_stub(
    file: &ProjectFile,
    stub: &ProjectFile,
    options: &StubOptions,
) -> Result<StubChange, RefactorError> {
    for checked in [file, stub] {
        if let Some(diagnostic) = checked.parsed.diagnostics().first() {
            let place = Place::of(&checked.path, &checked.parsed, diagnostic.span);
            return Err(RefactorError::BrokenSource { message: diagnostic.message.clone(), place });
        }
    }
    let source_names = Semantic::of_module(&file.parsed, file.module.clone());
    let stub_names = Semantic::of_module(&stub.parsed, stub.module.clone());
    let mut writer = Writer {
        file,
        stub,
        translator: Translator::new(&source_names, &stub_names),
        options: *options,
        edits: Vec::new(),
        annotations: 0,
        notes: Vec::new(),
    };
    let given = Definitions::of(&stub.parsed);
    let found = Definitions::of(&file.parsed);
    writer.functions(&given, &found);
    writer.variables(&given, &found);
    writer.notes.sort_by(|left, right| left.location.cmp(&right.location));
    let requests = writer.translator.requests;
    let edits = with_imports(file, writer.edits, &requests)?;
    Ok(StubChange { edits, annotations: writer.annotations, notes: writer.notes })
}

struct Writer<'s, 'a> {
    file: &'a ProjectFile,
    stub: &'a ProjectFile,
    translator: Translator<'s, 'a>,
    options: StubOptions,
    edits: Vec<Edit>,
    annotations: usize,
    notes: Vec<Note>,
}

impl<'a> Writer<'_, 'a> {
    fn functions(&mut self, given: &Definitions<'a>, found: &Definitions<'a>) {
        for (path, functions) in &given.functions {
            let [function] = functions.as_slice() else {
                let reason = if functions.iter().any(|function| function.is_overload) {
                    format!("`{path}` is overloaded")
                } else {
                    format!("`{path}` is defined more than once")
                };
                self.note_stub(functions[0].node, reason);
                continue;
            };
            if function.is_overload {
                self.note_stub(function.node, format!("`{path}` is overloaded"));
                continue;
            }
            let Some(counterparts) = found.functions.get(path) else {
                self.note_stub(function.node, format!("the source defines no function `{path}`"));
                continue;
            };
            for counterpart in counterparts {
                self.function(path, function, counterpart);
            }
        }
    }

    fn function(&mut self, path: &str, given: &Function<'a>, found: &Function<'a>) {
        let shape = |function: &Function<'a>| -> Vec<(ParameterKind, &'a str)> {
            let parameters = function.parameters.iter();
            parameters
                .filter_map(|node| Some((node.parameter_kind()?, node.child(Field::Name)?.text())))
                .collect()
        };
        if shape(given) != shape(found) {
            return self
                .note_source(found.node, format!("the parameters of `{path}` differ from the stub's"));
        }
        let scope = self.translator.header_scope(found.node);
        for (given, found) in given.parameters.iter().zip(&found.parameters) {
            if let Some(annotation) = given.child(Field::Annotation) {
                self.parameter(*found, annotation, scope);
            }
        }
        if let Some(returns) = given.node.child(Field::Returns) {
            self.returns(found.node, returns, scope);
        }
    }

    fn parameter(&mut self, parameter: Node<'a>, annotation: Node<'a>, scope: ScopeId) {
        let existing = parameter.child(Field::Annotation);
        if existing.is_some() && !self.options.overwrite {
            return;
        }
        let Some(text) = self.translate(annotation, parameter, scope) else { return };
        self.write(annotate_parameter(parameter, &text));
    }

    fn returns(&mut self, function: Node<'a>, annotation: Node<'a>, scope: ScopeId) {
        let existing = function.child(Field::Returns);
        if existing.is_some() && !self.options.overwrite {
            return;
        }
        let Some(text) = self.translate(annotation, function, scope) else { return };
        self.write(annotate_return(function, &text));
    }

    fn variables(&mut self, given: &Definitions<'a>, found: &Definitions<'a>) {
        for (path, variables) in &given.variables {
            let [Variable { node: name, statement, .. }] = variables.as_slice() else {
                self.note_stub(variables[0].node, format!("`{path}` is declared more than once"));
                continue;
            };
            let Some(annotation) = statement.child(Field::Annotation) else { continue };
            match found.variables.get(path).and_then(|variables| definitions::first(variables)) {
                Some(variable) => self.variable(variable, annotation),
                None => self.note_stub(*name, format!("the source binds no variable `{path}`")),
            }
        }
    }

    fn variable(&mut self, variable: &Variable<'a>, annotation: Node<'a>) {
        let statement = variable.statement;
        let existing = statement.child(Field::Annotation).filter(|_| statement.kind() == Kind::AnnAssign);
        if existing.is_some() && !self.options.overwrite {
            return;
        }
        let scope = self.translator.header_scope(statement);
        let Some(text) = self.translate(annotation, variable.node, scope) else { return };
        if let Some(existing) = existing {
            return self.write(vec![Edit::replace(existing.span_with_parentheses(), text)]);
        }
        let mut targets = statement.list(Field::Targets);
        let is_alone = targets.next() == Some(variable.node) && targets.next().is_none();
        if statement.kind() == Kind::Assign && is_alone {
            let end = variable.node.span_with_parentheses().end;
            return self.write(vec![Edit::insert(end, format!(": {text}"))]);
        }
        // Several targets cannot carry an annotation; a declaration before them can.
        let source = self.file.parsed.source();
        let start = statement.span().start;
        let indentation = source.indentation(start);
        let is_first = source.line_start(start) + indentation.len() as u32 == start;
        if is_first && variable.node.kind() == Kind::Name {
            let declaration = format!("{}: {text}{}{indentation}", variable.node.text(), source.newline());
            self.write(vec![Edit::insert(start, declaration)]);
        } else {
            self.note_source(variable.node, "there is no room for an annotation here".to_owned());
        }
    }

    fn translate(&mut self, annotation: Node<'a>, place: Node<'a>, scope: ScopeId) -> Option<String> {
        match self.translator.translate(annotation, place, scope) {
            Ok(text) => Some(text),
            Err(reason) => {
                self.note_source(place, reason);
                None
            }
        }
    }

    /// One annotation.
    fn write(&mut self, edits: Vec<Edit>) {
        self.annotations += usize::from(!edits.is_empty());
        self.edits.extend(edits);
    }

    fn note_source(&mut self, node: Node<'a>, message: String) {
        let path = self.file.path.clone();
        self.notes.push(Note { location: Location { path, span: name_span(node) }, message });
    }

    fn note_stub(&mut self, node: Node<'a>, message: String) {
        let path = self.stub.path.clone();
        self.notes.push(Note { location: Location { path, span: name_span(node) }, message });
    }
}

fn name_span(node: Node<'_>) -> Span {
    node.child(Field::Name).map_or(node.span(), Node::span)
}

/// The annotations and the imports as edits of one text.
fn with_imports(
    file: &ProjectFile,
    annotations: Vec<Edit>,
    requests: &[ImportRequest],
) -> Result<Vec<Edit>, RefactorError> {
    let text = file.parsed.text();
    if requests.is_empty() || annotations.is_empty() {
        return Ok(annotations);
    }
    let overlap = |span: Span| RefactorError::Overlap { place: Place::of(&file.path, &file.parsed, span) };
    let add = |text: &str| imports::add_all(text, &file.module, requests);
    let refused = |error: imports::ImportError| RefactorError::Import {
        error,
        place: Place::of(&file.path, &file.parsed, Span::at(0)),
    };
    let annotated = edit::apply(text, annotations.clone()).map_err(|conflict| overlap(conflict.second))?;
    let wanted = add(&annotated).map_err(refused)?;
    // Small edits where the two do not meet, else one large one.
    let imported = add(text).map_err(refused)?;
    let mut edits = annotations;
    edits.push(difference(text, &imported));
    match edit::apply(text, edits.clone()) {
        Ok(result) if result == wanted => edit::order(edits).map_err(|conflict| overlap(conflict.second)),
        _ => Ok(vec![difference(text, &wanted)]),
    }
}

/// The one edit between two texts.
fn difference(before: &str, after: &str) -> Edit {
    let shared = before.bytes().zip(after.bytes()).take_while(|(left, right)| left == right).count();
    let start = (0..=shared)
        .rev()
        .find(|at| before.is_char_boundary(*at) && after.is_char_boundary(*at))
        .unwrap_or(0);
    let room = before.len().min(after.len()) - start;
    let tail =
        before.bytes().rev().zip(after.bytes().rev()).take(room).take_while(|(left, right)| left == right);
    let tail = tail.count();
    let is_border = |tail: &usize| {
        before.is_char_boundary(before.len() - tail) && after.is_char_boundary(after.len() - tail)
    };
    let tail = (0..=tail).rev().find(is_border).unwrap_or(0);
    let span = Span::new(start as u32, (before.len() - tail) as u32);
    Edit::replace(span, &after[start..after.len() - tail])
}
