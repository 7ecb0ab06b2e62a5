//! Imports: adding them where they belong, finding and removing those nobody uses.
//!
//! Each function looks at one parsed file and returns edits for it. Adding several imports parses the text between two of them
//! ([`add_all`]), so that each sees what the others did.

mod add;
mod remove;
mod unused;

use ruff_python_stdlib::sys::is_known_standard_library;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use add::{add, add_all};
pub(crate) use remove::remove_aliases;
pub use remove::{remove, remove_all, remove_if_unused};
pub use unused::{UnusedImport, UnusedOptions, remove_unused, unused};

use crate::{EditConflict, ModuleName, Position};

/// Whether a top-level module belongs to Python itself.
pub fn is_standard_library(module: &str) -> bool {
    is_known_standard_library(14, module)
}

/// An import statement with one name: `import module [as alias]` or `from module import name [as alias]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The dotted module; empty in `from . import name`.
    #[serde(default)]
    pub module: String,
    /// How many dots stand before the module.
    #[serde(default)]
    pub level: u32,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub alias: Option<String>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ImportError {
    #[error("`{text}` is not a module or name that can be imported")]
    Invalid { text: String },
    #[error("cannot import `{name}`: line {} already binds it to something else", at.line)]
    NameTaken { name: String, at: Position },
    #[error(transparent)]
    Conflict(#[from] EditConflict),
}

impl ImportRequest {
    /// `import module`.
    pub fn module(module: impl Into<String>) -> Self {
        Self { module: module.into(), ..Self::default() }
    }

    /// `from module import name`; leading dots of the module count as its level.
    pub fn name(module: &str, name: impl Into<String>) -> Self {
        let rest = module.trim_start_matches('.');
        let level = (module.len() - rest.len()) as u32;
        Self { module: rest.to_owned(), level, name: Some(name.into()), alias: None }
    }

    pub fn alias(self, alias: impl Into<String>) -> Self {
        Self { alias: Some(alias.into()), ..self }
    }

    /// Reads `os`, `os.path as p`, `typing:Optional`, `typing:Optional as Opt`, `.models:User`, or an import statement.
    pub fn parse(text: &str) -> Result<Self, ImportError> {
        let invalid = || ImportError::Invalid { text: text.to_owned() };
        let words: Vec<&str> = text.split_whitespace().collect();
        let request = match words[..] {
            ["import", module] | [module] if !module.contains(':') => Self::module(module),
            ["import", module, "as", alias] | [module, "as", alias] if !module.contains(':') => {
                Self::module(module).alias(alias)
            }
            ["from", module, "import", name] => Self::name(module, name),
            ["from", module, "import", name, "as", alias] => Self::name(module, name).alias(alias),
            [pair] => {
                pair.split_once(':').map(|(module, name)| Self::name(module, name)).ok_or_else(invalid)?
            }
            [pair, "as", alias] => pair
                .split_once(':')
                .map(|(module, name)| Self::name(module, name).alias(alias))
                .ok_or_else(invalid)?,
            _ => return Err(invalid()),
        };
        request.validate()?;
        Ok(request)
    }

    /// The name the import binds: what code then uses.
    pub fn bound_name(&self) -> &str {
        match (&self.alias, &self.name) {
            (Some(alias), _) => alias,
            (None, Some(name)) => name,
            (None, None) => self.module.split('.').next().unwrap_or_default(),
        }
    }

    /// The module with its dots.
    pub fn dotted_module(&self) -> String {
        ".".repeat(self.level as usize) + &self.module
    }

    /// The dotted name of what it imports into the module `own`: `typing.Optional`.
    pub fn imported(&self, own: &ModuleName) -> String {
        let module = own.resolve(self.level, &self.module).unwrap_or_else(|| self.dotted_module());
        match &self.name {
            Some(name) if module.is_empty() || module.ends_with('.') => format!("{module}{name}"),
            Some(name) => format!("{module}.{name}"),
            None => module,
        }
    }

    /// The import as a statement.
    pub fn statement(&self) -> String {
        let module = self.dotted_module();
        let alias = self.alias.as_ref().map(|alias| format!(" as {alias}")).unwrap_or_default();
        match &self.name {
            Some(name) => format!("from {module} import {name}{alias}"),
            None => format!("import {module}{alias}"),
        }
    }

    fn validate(&self) -> Result<(), ImportError> {
        let is_dotted = |text: &str| text.split('.').all(crate::rename::is_valid_name);
        let has_module = is_dotted(&self.module) || (self.module.is_empty() && self.level > 0);
        let has_name = match &self.name {
            Some(name) => name == "*" || crate::rename::is_valid_name(name),
            None => self.level == 0,
        };
        let has_alias = self.alias.as_deref().is_none_or(crate::rename::is_valid_name);
        if has_module && has_name && has_alias {
            Ok(())
        } else {
            Err(ImportError::Invalid { text: self.statement() })
        }
    }
}
