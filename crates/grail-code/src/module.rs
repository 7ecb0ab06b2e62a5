//! Dotted module names, and what relative imports mean from inside one.

use serde::{Deserialize, Serialize};

/// The name a file is imported by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleName {
    /// For instance `shop.models`; empty if unknown.
    pub name: String,
    /// Whether the file is an `__init__.py`.
    pub is_package: bool,
}

impl ModuleName {
    pub fn module(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_package: false }
    }

    pub fn package(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_package: true }
    }

    pub fn is_known(&self) -> bool {
        !self.name.is_empty()
    }

    /// The package that `.` means here.
    pub fn parent_package(&self) -> &str {
        if self.is_package {
            &self.name
        } else {
            self.name.rsplit_once('.').map_or("", |(package, _)| package)
        }
    }

    /// The absolute name of `from {dots}{module} import …` in this module; `None` if the dots lead out of what is known.
    pub fn resolve(&self, level: u32, module: &str) -> Option<String> {
        if level == 0 {
            return Some(module.to_owned());
        }
        if !self.is_known() {
            return None;
        }
        let mut base = self.parent_package();
        for _ in 1..level {
            base = base.rsplit_once('.')?.0;
        }
        match (base, module) {
            ("", _) => None,
            (base, "") => Some(base.to_owned()),
            (base, module) => Some(format!("{base}.{module}")),
        }
    }
}
