//! The list of tools a run sees, put together from parts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use thiserror::Error;

use super::middleware::Middleware;
use super::{Call, Handler, Next, Tool, ToolError};
use crate::value::Value;

/// Tools by name. Cheap to clone; every operation gives a new set.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    /// Shared: every run holds its context's set.
    entries: Arc<Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    tool: Tool,
    needs_approval: bool,
    /// Outermost first.
    middleware: Vec<Arc<dyn Middleware>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolsetError {
    #[error("two tools are called `{name}`; rename one, or give a set a prefix")]
    SameName { name: String },
    #[error("there is no tool `{name}` to rename; there are {existing}")]
    Unknown { name: String, existing: String },
    #[error("`{name}` cannot be the name of a tool: it is not a Python identifier, or it is reserved")]
    BadName { name: String },
}

impl Toolset {
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, ToolsetError> {
        let entries = tools
            .into_iter()
            .map(|tool| Entry { tool, needs_approval: false, middleware: Vec::new() })
            .collect();
        Self { entries: Arc::new(entries) }.validated()
    }

    /// Both sets; a name in both is refused.
    pub fn combine(mut self, other: Self) -> Result<Self, ToolsetError> {
        Arc::make_mut(&mut self.entries).extend(other.entries.iter().cloned());
        self.validated()
    }

    pub fn filter(mut self, keep: impl Fn(&Tool) -> bool) -> Self {
        Arc::make_mut(&mut self.entries).retain(|entry| keep(&entry.tool));
        self
    }

    /// `search` becomes `github_search` under the prefix `github_`.
    pub fn prefix(self, prefix: &str) -> Result<Self, ToolsetError> {
        let renamed = |entry: &Entry| {
            let name = format!("{prefix}{}", entry.tool.name());
            Entry { tool: entry.tool.clone().renamed(name), ..entry.clone() }
        };
        Self { entries: Arc::new(self.entries.iter().map(renamed).collect()) }.validated()
    }

    pub fn rename(mut self, from: &str, to: &str) -> Result<Self, ToolsetError> {
        let existing = self.names().join(", ");
        let entry = Arc::make_mut(&mut self.entries)
            .iter_mut()
            .find(|entry| entry.tool.name() == from)
            .ok_or_else(|| ToolsetError::Unknown { name: from.to_owned(), existing })?;
        entry.tool = entry.tool.clone().renamed(to.to_owned());
        self.validated()
    }

    /// Calls of these tools suspend the run until somebody decides.
    pub fn require_approval(mut self, which: impl Fn(&Tool) -> bool) -> Self {
        for entry in Arc::make_mut(&mut self.entries) {
            entry.needs_approval |= which(&entry.tool);
        }
        self
    }

    /// Puts `middleware` round every tool of the set.
    pub fn wrap(mut self, middleware: impl Middleware + 'static) -> Self {
        let middleware: Arc<dyn Middleware> = Arc::new(middleware);
        for entry in Arc::make_mut(&mut self.entries) {
            entry.middleware.insert(0, Arc::clone(&middleware));
        }
        self
    }

    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.tool.name()).collect()
    }

    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.entry(name).map(|entry| &entry.tool)
    }

    pub fn needs_approval(&self, name: &str) -> bool {
        self.entry(name).is_some_and(|entry| entry.needs_approval)
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Calls a tool as a host does, by the names of its arguments. Whether it needs approval is for the host to ask first.
    ///
    /// # Errors
    /// What sandboxed code would see as an exception: a `TypeError` for arguments that do not fit, whatever the tool raises.
    pub async fn call_with(
        &self,
        tool: &str,
        arguments: serde_json::Map<String, serde_json::Value>,
    ) -> Result<serde_json::Value, ToolError> {
        let keyword = |(name, value): (String, serde_json::Value)| {
            let value = Value::from_json(&value)
                .map_err(|error| ToolError::value_error(format!("the argument `{name}` {error}")))?;
            Ok((name, value))
        };
        let keywords = arguments.into_iter().map(keyword).collect::<Result<_, ToolError>>()?;
        let call = Call { tool: tool.to_owned(), arguments: Vec::new(), keywords };
        self.call(call).await.map(|value| value.to_json())
    }

    /// Calls a tool through its middleware. A panic of the handler is its failure, not ours.
    pub(crate) async fn call(&self, call: Call) -> Result<Value, ToolError> {
        let Some(entry) = self.entry(&call.tool) else {
            return Err(ToolError::new("NameError", format!("there is no tool `{}`", call.tool)));
        };
        Next { middleware: &entry.middleware, tool: &entry.tool }.run(call).await
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.name() == name)
    }

    fn validated(self) -> Result<Self, ToolsetError> {
        for (index, entry) in self.entries.iter().enumerate() {
            let name = entry.tool.name();
            if !is_usable_name(name) {
                return Err(ToolsetError::BadName { name: name.to_owned() });
            }
            if self.entries[..index].iter().any(|other| other.tool.name() == name) {
                return Err(ToolsetError::SameName { name: name.to_owned() });
            }
        }
        Ok(self)
    }
}

/// Names of our own that a tool must not take.
const RESERVED: [&str; 3] = ["inputs", "tools", crate::program::RETURN_FUNCTION];

fn is_usable_name(name: &str) -> bool {
    let starts_well = name.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
    let is_identifier =
        starts_well && name.chars().all(|character| character.is_alphanumeric() || character == '_');
    is_identifier && !name.starts_with("__") && !RESERVED.contains(&name)
}

impl Next<'_> {
    /// The tool that is called in the end.
    pub fn tool(&self) -> &Tool {
        self.tool
    }

    /// The rest of the chain: the next middleware, at last the tool.
    pub async fn run(self, call: Call) -> Result<Value, ToolError> {
        if let Some((first, rest)) = self.middleware.split_first() {
            return first.call(call, Next { middleware: rest, tool: self.tool }).await;
        }
        match self.tool.handler() {
            Handler::Blocking(handler) => {
                let handler = Arc::clone(handler);
                let finished = tokio::task::spawn_blocking(move || handler(call)).await;
                finished.unwrap_or_else(|_| Err(panicked(self.tool.name())))
            }
            Handler::Quick(handler) => {
                let finished = catch_unwind(AssertUnwindSafe(|| handler(call)));
                finished.unwrap_or_else(|_| Err(panicked(self.tool.name())))
            }
            Handler::Awaited(handler) => {
                let finished = AssertUnwindSafe(async { handler(call).await }).catch_unwind().await;
                finished.unwrap_or_else(|_| Err(panicked(self.tool.name())))
            }
            Handler::External => Err(ToolError::failed(format!(
                "nobody here answers `{}`; start the run step by step",
                self.tool.name()
            ))),
        }
    }
}

fn panicked(name: &str) -> ToolError {
    ToolError::failed(format!("the tool `{name}` panicked"))
}
