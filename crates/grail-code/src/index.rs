//! What one file defines, imports and calls, as plain data that can be kept: no tree, no node ids. Many of them make a [`ProjectIndex`].
//!
//! Names are qualified as far as the file alone shows; what lies behind a re-export is for the project to say. Texts and lists are bounded,
//! so that no file can make its index larger than itself by much.

mod cycles;
mod project;

use serde::{Deserialize, Serialize};

pub use cycles::{ImportEdge, ImportGraph};
pub use project::ProjectIndex;

use crate::semantic::origins::member;
use crate::semantic::{BindingKind, Origin, imported_module};
use crate::tree::{ParameterKind, string_literal};
use crate::{Field, Kind, ModuleName, Node, Semantic, Span};

/// The longest text of an expression that is kept, in bytes.
pub const MAX_TEXT: usize = 200;

/// The longest name or string value that is kept, in bytes.
pub const MAX_VALUE: usize = 1_000;

/// How many definitions, imports and calls are kept of one file.
pub const MAX_ENTRIES: usize = 50_000;

/// What a file defines, imports and calls, each in source order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIndex {
    pub module: ModuleName,
    pub definitions: Vec<Definition>,
    pub imports: Vec<Import>,
    pub calls: Vec<Call>,
}

/// A class, function or method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// With the module's own name, if that is known; inner names of functions read `outer.<locals>.inner`.
    pub qualified_name: String,
    pub kind: DefinitionKind,
    pub span: Span,
    /// Where the name stands.
    pub name_span: Span,
    /// The name's line, from 1.
    pub line: u32,
    /// A class's bases without its keywords.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decorators: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<Annotation>,
    pub is_async: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    Class,
    Function,
    Method,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation: Option<Annotation>,
    pub has_default: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    pub text: String,
    /// For a name, and for a generic type its name without the arguments.
    pub qualified_name: Option<String>,
}

/// An `import` of one module, or a `from … import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// Absolute, where the file's own name is known.
    pub module: String,
    /// The `c` of `import a.b as c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The names of a `from … import`; empty for a plain `import`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<ImportedName>,
    pub span: Span,
    /// Runs only when a function does.
    pub in_function: bool,
    /// Within `if TYPE_CHECKING:`, so never run.
    pub is_typing_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedName {
    /// `*` for everything.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The qualified name of what is called; `*.name` for a method of an object whose class is not known here.
    pub callee: String,
    /// The last part of that name; empty if what is called has none.
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    pub span: Span,
    /// The definition in whose body the call stands.
    pub enclosing: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// `None` by position; `*` and `**` for what is unpacked.
    pub keyword: Option<String>,
    pub value: ArgumentValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentValue {
    /// The qualified name of a name or dotted name.
    Name(String),
    /// The value of a string literal.
    String(String),
    /// The source of anything else.
    Text(String),
}

/// Which entries somebody asks for.
#[derive(Clone, Copy)]
pub struct Wanted<'w> {
    /// Asked for each class and function. Of other definitions only classes and functions at the top are kept, and of these only where they are: names lead there through
    /// re-exports.
    pub definition: &'w dyn Fn(Node<'_>) -> bool,
    /// Asked for the last part of a name. Other calls are left out.
    pub call: &'w dyn Fn(&str) -> bool,
}

/// Collects what one file defines, imports and calls.
pub fn index(semantic: &Semantic<'_>) -> FileIndex {
    index_wanted(semantic, Wanted { definition: &|_| true, call: &|_| true })
}

/// As [`index`], but only what is wanted: of a large project that is little.
pub fn index_wanted(semantic: &Semantic<'_>, wanted: Wanted<'_>) -> FileIndex {
    let mut index = FileIndex { module: semantic.module().clone(), ..FileIndex::default() };
    let mut bodies: Vec<Body<'_>> = Vec::new();
    for node in semantic.parsed().nodes() {
        while bodies.last().is_some_and(|body| body.end <= node.id().index()) {
            bodies.pop();
        }
        // Decorators, defaults and bases are read outside of what they belong to.
        if let Some(owner) = node.parent().filter(|owner| opens_body(*owner) && node.field() == Field::Body)
            && bodies.last().is_none_or(|body| body.owner != owner)
        {
            let name = qualified(semantic, owner).unwrap_or_default();
            bodies.push(Body { owner, end: owner.subtree_end(), name });
        }
        let enclosing = bodies.last();
        match node.kind() {
            Kind::ClassDef | Kind::FunctionDef if index.definitions.len() < MAX_ENTRIES => {
                let is_in_class = enclosing.is_some_and(|body| body.owner.kind() == Kind::ClassDef);
                if (wanted.definition)(node) {
                    index.definitions.extend(definition(semantic, node, is_in_class));
                } else if enclosing.is_none() {
                    index.definitions.extend(place_of_definition(semantic, node, is_in_class));
                }
            }
            Kind::Import | Kind::ImportFrom if index.imports.len() < MAX_ENTRIES => {
                let in_function = bodies.iter().any(|body| body.owner.kind() == Kind::FunctionDef);
                index.imports.extend(imports(semantic, node, in_function));
            }
            Kind::Call if index.calls.len() < MAX_ENTRIES && is_wanted_call(semantic, node, wanted.call) => {
                index.calls.push(call(semantic, node, enclosing.map(|body| body.name.clone())));
            }
            _ => {}
        }
    }
    index
}

/// The body of a definition that the walk is in.
struct Body<'a> {
    owner: Node<'a>,
    end: usize,
    name: String,
}

fn opens_body(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef)
}

/// Whether a call's function goes by a wanted name, here or where it was imported from.
fn is_wanted_call(semantic: &Semantic<'_>, call: Node<'_>, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let Some(function) = call.child(Field::Func) else { return is_wanted("") };
    match function.kind() {
        Kind::Attribute => is_wanted(function.child(Field::Attr).map_or("", Node::text)),
        Kind::Name => {
            let is_imported_as = |symbol| {
                let bindings = semantic.symbol(symbol).bindings.iter().take(64);
                let mut imported = bindings.filter_map(|id| semantic.binding(*id).imported.as_deref());
                imported.any(|name| is_wanted(name.rsplit('.').next().unwrap_or(name)))
            };
            is_wanted(function.text()) || semantic.symbol_of(function).is_some_and(is_imported_as)
        }
        _ => is_wanted(""),
    }
}

fn definition<'a>(semantic: &Semantic<'a>, node: Node<'a>, is_in_class: bool) -> Option<Definition> {
    let parameters = node.child(Field::Params).into_iter().flat_map(|list| list.list(Field::Params));
    let bases = node.list(Field::Bases).filter(|base| base.kind() != Kind::Keyword);
    Some(Definition {
        bases: bases.take(MAX_TEXT).map(|base| named(semantic, base)).collect(),
        decorators: node
            .list(Field::Decorators)
            .filter_map(|decorator| decorator.child(Field::Expression))
            .take(MAX_TEXT)
            .map(|expression| named(semantic, expression))
            .collect(),
        parameters: parameters.take(MAX_TEXT).filter_map(|item| parameter(semantic, item)).collect(),
        returns: node.child(Field::Returns).map(|returns| annotation(semantic, returns)),
        ..place_of_definition(semantic, node, is_in_class)?
    })
}

/// A definition without what its header says.
fn place_of_definition<'a>(semantic: &Semantic<'a>, node: Node<'a>, is_in_class: bool) -> Option<Definition> {
    let name = node.child(Field::Name)?;
    Some(Definition {
        qualified_name: qualified(semantic, node)?,
        kind: match node.kind() {
            Kind::ClassDef => DefinitionKind::Class,
            _ if is_in_class => DefinitionKind::Method,
            _ => DefinitionKind::Function,
        },
        span: node.span(),
        name_span: name.span(),
        line: semantic.parsed().source().position(name.span().start).line,
        bases: Vec::new(),
        decorators: Vec::new(),
        parameters: Vec::new(),
        returns: None,
        is_async: node.is_async(),
    })
}

fn parameter<'a>(semantic: &Semantic<'a>, node: Node<'a>) -> Option<Parameter> {
    Some(Parameter {
        name: bounded(node.child(Field::Name)?.text(), MAX_VALUE),
        kind: node.parameter_kind()?,
        annotation: node.child(Field::Annotation).map(|node| annotation(semantic, node)),
        has_default: node.child(Field::Default).is_some(),
    })
}

fn annotation<'a>(semantic: &Semantic<'a>, node: Node<'a>) -> Annotation {
    Annotation { text: bounded(node.text(), MAX_TEXT), qualified_name: qualified(semantic, node) }
}

fn imports<'a>(semantic: &Semantic<'a>, statement: Node<'a>, in_function: bool) -> Vec<Import> {
    let text = |node: Node<'_>| bounded(&crate::semantic::dotted_text(node.text()), MAX_VALUE);
    let aliases = || statement.list(Field::Names).take(MAX_ENTRIES);
    let is_typing_only = |alias: Node<'_>| {
        let target = alias.child(Field::Asname).or_else(|| alias.child(Field::Name));
        target.and_then(|node| semantic.binding_at(node.id())).is_some_and(|binding| binding.is_typing_only)
    };
    let import = |module: String, alias: Option<String>, names: Vec<ImportedName>, is_typing_only: bool| {
        Import { module, alias, names, span: statement.span(), in_function, is_typing_only }
    };
    if statement.kind() == Kind::ImportFrom {
        let names = aliases().filter_map(|alias| {
            let name = text(alias.child(Field::Name)?);
            Some(ImportedName { name, alias: alias.child(Field::Asname).map(text) })
        });
        let module = bounded(&imported_module(statement, semantic.module()), MAX_VALUE);
        return vec![import(module, None, names.collect(), aliases().any(is_typing_only))];
    }
    let modules = aliases().filter_map(|alias| {
        let module = text(alias.child(Field::Name)?);
        Some(import(module, alias.child(Field::Asname).map(text), Vec::new(), is_typing_only(alias)))
    });
    modules.collect()
}

fn call<'a>(semantic: &Semantic<'a>, node: Node<'a>, enclosing: Option<String>) -> Call {
    let callee = node.child(Field::Func).map_or_else(|| "*".to_owned(), |func| callee(semantic, func));
    let name = callee.rsplit('.').next().filter(|name| *name != "*").unwrap_or_default().to_owned();
    let arguments = node.list(Field::Args).take(MAX_TEXT).filter_map(|argument| {
        let (keyword, value) = match argument.kind() {
            Kind::Keyword => {
                let keyword = argument.child(Field::Keyword).map_or("**", Node::text);
                (Some(bounded(keyword, MAX_VALUE)), argument.child(Field::Value)?)
            }
            Kind::Starred => (Some("*".to_owned()), argument.child(Field::Value)?),
            _ => (None, argument),
        };
        Some(Argument { keyword, value: argument_value(semantic, value) })
    });
    Call { callee, name, arguments: arguments.collect(), span: node.span(), enclosing }
}

fn argument_value<'a>(semantic: &Semantic<'a>, value: Node<'a>) -> ArgumentValue {
    match value.kind() {
        Kind::Name | Kind::Attribute => match callee(semantic, value) {
            unknown if unknown.starts_with("*.") => ArgumentValue::Text(bounded(value.text(), MAX_TEXT)),
            name => ArgumentValue::Name(name),
        },
        Kind::String => match string_literal(value) {
            Some(literal) => ArgumentValue::String(bounded(&literal.value(), MAX_VALUE)),
            None => ArgumentValue::Text(bounded(value.text(), MAX_TEXT)),
        },
        _ => ArgumentValue::Text(bounded(value.text(), MAX_TEXT)),
    }
}

/// The best name for what an expression refers to.
fn callee<'a>(semantic: &Semantic<'a>, expression: Node<'a>) -> String {
    match expression.kind() {
        Kind::Name => {
            qualified(semantic, expression).unwrap_or_else(|| bounded(expression.text(), MAX_VALUE))
        }
        Kind::Attribute => {
            let attr = expression.child(Field::Attr).map_or("", Node::text);
            if let Some((class, _)) = member(semantic, expression)
                && let Some(class) = qualified(semantic, class)
            {
                return bounded(&format!("{class}.{attr}"), MAX_VALUE);
            }
            match root(expression) {
                Some(root) if is_definite(semantic, root) => {
                    qualified(semantic, expression).unwrap_or_else(|| bounded(expression.text(), MAX_VALUE))
                }
                _ => bounded(&format!("*.{attr}"), MAX_VALUE),
            }
        }
        _ => "*".to_owned(),
    }
}

/// The first name of a dotted one.
fn root(expression: Node<'_>) -> Option<Node<'_>> {
    let mut current = expression;
    for _ in 0..64 {
        match current.kind() {
            Kind::Name => return Some(current),
            Kind::Attribute => current = current.child(Field::Value)?,
            _ => return None,
        }
    }
    None
}

/// Whether a name means a module, class or function rather than some object.
fn is_definite(semantic: &Semantic<'_>, name: Node<'_>) -> bool {
    let Some(symbol) = semantic.symbol_of(name) else { return true };
    semantic.symbol(symbol).bindings.iter().take(64).any(|id| {
        matches!(
            semantic.binding(*id).kind,
            BindingKind::Import | BindingKind::ImportFrom | BindingKind::Class | BindingKind::Function
        )
    })
}

/// The qualified name, or the text.
fn named<'a>(semantic: &Semantic<'a>, expression: Node<'a>) -> String {
    qualified(semantic, expression).unwrap_or_else(|| bounded(expression.text(), MAX_TEXT))
}

/// The qualified name; of several, an imported one.
fn qualified<'a>(semantic: &Semantic<'a>, node: Node<'a>) -> Option<String> {
    let names = semantic.fully_qualified_names(node);
    let best = names.iter().find(|name| name.origin == Origin::Import).or_else(|| names.first())?;
    Some(bounded(&best.name, MAX_VALUE))
}

/// At most so many bytes of a text.
fn bounded(text: &str, limit: usize) -> String {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}
