//! The built-in codemod commands, one file each, and their registry.
//!
//! A command reads one file and says what to change: edits, imports, and notes on what it left alone and why. It changes nothing by
//! itself; [`apply`](run()) puts edits and imports together. Running a command on its own result changes nothing more.

mod add_trailing_commas;
mod apply;
mod convert_format_string;
mod convert_named_tuple_to_dataclass;
mod convert_percent_format_string;
mod convert_type_comments;
mod convert_union_to_or;
mod decorators;
mod ensure_import_present;
mod fix_variadic_callable;
mod format_literal;
mod header_comments;
mod interpolation;
mod noop;
mod optional_to_or_none;
mod order_default_parameters;
mod remove_unused_imports;
mod rename;
mod rename_typing_generic_aliases;
mod strip_strings_from_types;
mod type_comment;
mod type_expressions;
mod unions;
mod unnecessary_format_string;

use std::collections::BTreeMap;

use thiserror::Error;

pub use apply::{CommandResult, run};

use crate::imports::ImportRequest;
use crate::{Edit, EditConflict, Kind, Node, Parsed, Semantic, Span};

/// A built-in codemod that looks at one file at a time.
pub struct Command {
    /// In kebab-case, as on the command line.
    pub name: &'static str,
    pub summary: &'static str,
    /// LibCST's command or commands that do the same.
    pub libcst: Option<&'static str>,
    pub arguments: &'static [Argument],
    pub run: fn(&CommandContext<'_>, &Arguments) -> Result<CommandOutcome, CommandError>,
}

/// An argument of a command. All values are text.
pub struct Argument {
    pub name: &'static str,
    pub help: &'static str,
    /// `None` if the argument must be given.
    pub default: Option<&'static str>,
}

/// The values of a command's arguments, defaults filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    values: BTreeMap<&'static str, String>,
}

/// The file a command looks at.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    pub parsed: &'a Parsed,
    pub semantic: &'a Semantic<'a>,
    /// Relative to the project's root, with `/`.
    pub path: &'a str,
}

/// What a command wants to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutcome {
    pub edits: Vec<Edit>,
    pub add_imports: Vec<ImportRequest>,
    /// Imports that the edits may have left without a use.
    pub remove_imports_if_unused: Vec<ImportRequest>,
    /// What was left alone although it looked like work, and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CommandError {
    #[error("there is no command `{name}`")]
    UnknownCommand { name: String },
    #[error("`{command}` has no argument `{argument}`")]
    UnknownArgument { command: &'static str, argument: String },
    #[error("`{command}` needs a value for `{argument}`")]
    MissingArgument { command: &'static str, argument: &'static str },
    #[error("`{value}` is not a value for `{argument}`: expected {expected}")]
    InvalidArgument { argument: &'static str, value: String, expected: &'static str },
    #[error(transparent)]
    Conflict(#[from] EditConflict),
    #[error("the result of `{command}` would not be valid Python: {message}")]
    BrokenResult { command: &'static str, message: String },
    #[error("{message}")]
    Refused { message: String },
}

/// All commands, by name.
pub const ALL: &[Command] = &[
    decorators::ADD,
    header_comments::ADD,
    add_trailing_commas::COMMAND,
    convert_format_string::COMMAND,
    convert_named_tuple_to_dataclass::COMMAND,
    convert_percent_format_string::COMMAND,
    convert_type_comments::COMMAND,
    convert_union_to_or::COMMAND,
    ensure_import_present::COMMAND,
    header_comments::FIX,
    fix_variadic_callable::COMMAND,
    noop::COMMAND,
    optional_to_or_none::COMMAND,
    order_default_parameters::COMMAND,
    decorators::REMOVE,
    header_comments::REMOVE,
    remove_unused_imports::COMMAND,
    rename::COMMAND,
    rename_typing_generic_aliases::COMMAND,
    strip_strings_from_types::COMMAND,
    unnecessary_format_string::COMMAND,
];

/// The command of that name.
pub fn find(name: &str) -> Result<&'static Command, CommandError> {
    let found = ALL.iter().find(|command| command.name == name);
    found.ok_or_else(|| CommandError::UnknownCommand { name: name.to_owned() })
}

impl Arguments {
    /// Checks the given values against what the command takes, and fills in the defaults.
    pub fn new<'a>(
        command: &Command,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, CommandError> {
        let mut values = BTreeMap::new();
        for (name, value) in given {
            let argument = command.arguments.iter().find(|argument| argument.name == name);
            let argument = argument.ok_or_else(|| CommandError::UnknownArgument {
                command: command.name,
                argument: name.to_owned(),
            })?;
            values.insert(argument.name, value.to_owned());
        }
        for argument in command.arguments {
            match argument.default {
                Some(default) => {
                    values.entry(argument.name).or_insert_with(|| default.to_owned());
                }
                None if values.contains_key(argument.name) => {}
                None => {
                    return Err(CommandError::MissingArgument {
                        command: command.name,
                        argument: argument.name,
                    });
                }
            }
        }
        Ok(Self { values })
    }

    /// The value of an argument that the command declares.
    pub fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    fn is_set(&self, name: &'static str) -> Result<bool, CommandError> {
        match self.get(name) {
            "true" | "yes" => Ok(true),
            "false" | "no" | "" => Ok(false),
            value => Err(CommandError::InvalidArgument {
                argument: name,
                value: value.to_owned(),
                expected: "`true` or `false`",
            }),
        }
    }

    fn number(&self, name: &'static str) -> Result<usize, CommandError> {
        let value = self.get(name);
        value.parse().map_err(|_| CommandError::InvalidArgument {
            argument: name,
            value: value.to_owned(),
            expected: "a number",
        })
    }
}

impl<'a> CommandContext<'a> {
    /// A note that names the line it is about.
    fn note(&self, node: Node<'_>, reason: &str) -> String {
        let line = self.parsed.source().line_of(node.span().start) + 1;
        format!("line {line}: left as it is: {reason}")
    }

    fn nodes_of(&self, kind: Kind) -> impl Iterator<Item = Node<'a>> {
        self.parsed.nodes_of(kind)
    }

    /// The imports that may lose their last use when these spans are removed.
    fn imports_used_in(&self, spans: &[Span]) -> Vec<ImportRequest> {
        let references = self.semantic.references().iter();
        let references = references.filter(|it| spans.iter().any(|span| span.covers(it.span)));
        let symbols = references.filter_map(|reference| reference.symbol);
        let bindings = symbols.flat_map(|symbol| &self.semantic.symbol(symbol).bindings);
        let imported = bindings.filter_map(|id| self.semantic.binding(*id).imported.as_deref());
        let mut requests: Vec<_> = imported
            .flat_map(|imported| {
                let from = imported.rsplit_once('.').map(|(module, name)| ImportRequest::name(module, name));
                [Some(ImportRequest::module(imported)), from]
            })
            .flatten()
            .collect();
        requests.sort_by_key(ImportRequest::statement);
        requests.dedup();
        requests
    }

    /// Whether a name can be imported into the module: nothing else goes by it, or exactly this import does.
    fn is_free_for(&self, name: &str, imported: &str) -> bool {
        let semantic = self.semantic;
        let Some(symbol) = semantic.lookup(semantic.module_scope(), name) else { return true };
        let mut bindings = semantic.symbol(symbol).bindings.iter().map(|id| semantic.binding(*id));
        bindings.all(|binding| binding.imported.as_deref() == Some(imported))
    }
}

/// Whether the text of a node is shown at run time: `f"{x + 1=}"` prints its own source.
fn is_shown_as_source(node: Node<'_>) -> bool {
    node.ancestors().any(prints_source)
}

/// Whether the node is an interpolation with an `=`.
fn prints_source(node: Node<'_>) -> bool {
    node.kind() == Kind::Interpolation && node.attribute("debug") == Some(crate::tree::Attribute::Flag(true))
}
