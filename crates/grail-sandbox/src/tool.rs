//! Host functions that sandboxed code may call.
//!
//! A [`Tool`] is a name, a signature and a handler; a [`Toolset`] is the list a run sees. Whatever a handler does wrong arrives in the
//! code as a Python exception, so that code may handle it like any other.

mod binding;
mod middleware;
mod toolset;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::error::SandboxError;
use crate::stub::Signature;
use crate::value::Value;

pub use middleware::{CacheResults, CountCalls, LimitRate, LogCalls, Middleware, Next, Retry};
pub use toolset::{Toolset, ToolsetError};

/// One call, as the code made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub tool: String,
    pub arguments: Vec<Value>,
    pub keywords: Vec<(String, Value)>,
}

/// What a tool did wrong. It arrives in the code as a Python exception.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{exception}: {message}")]
pub struct ToolError {
    /// A built-in exception class; what Python does not know becomes a `RuntimeError`.
    pub exception: String,
    pub message: String,
}

/// A host function: its name, its signature and what it does.
#[derive(Clone)]
pub struct Tool {
    signature: Signature,
    handler: Handler,
}

type Function = Arc<dyn Fn(Call) -> Result<Value, ToolError> + Send + Sync>;

#[derive(Clone)]
pub(crate) enum Handler {
    /// Called on a thread of its own; the code gets the value at once.
    Blocking(Function),
    /// Called where the run is driven; the code gets the value at once.
    Quick(Function),
    /// The code awaits it; several overlap.
    Awaited(Arc<dyn Fn(Call) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync>),
    /// Nobody in this process answers: the run suspends.
    External,
}

impl ToolError {
    pub fn new(exception: impl Into<String>, message: impl Into<String>) -> Self {
        Self { exception: exception.into(), message: message.into() }
    }

    /// A failure with nothing better to call it.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new("RuntimeError", message)
    }

    pub fn value_error(message: impl Into<String>) -> Self {
        Self::new("ValueError", message)
    }

    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }
}

impl Tool {
    /// A tool whose arguments and result are Rust types. Positional and keyword arguments are bound to the fields of `Arguments`; what
    /// does not fit is a `TypeError` in the code.
    pub fn typed<Arguments, Returned>(
        name: &str,
        documentation: &str,
        handler: impl Fn(Arguments) -> Result<Returned, ToolError> + Send + Sync + 'static,
    ) -> Result<Self, SandboxError>
    where
        Arguments: DeserializeOwned + JsonSchema,
        Returned: Serialize + JsonSchema,
    {
        let signature = Signature::of::<Arguments, Returned>(name)?.with_doc(documentation);
        let bound = signature.clone();
        Ok(Self::blocking(signature, move |call| encode(&bound, &handler(binding::bind(&bound, &call)?)?)))
    }

    /// As [`Tool::typed`], for a function the code awaits.
    pub fn typed_async<Arguments, Returned, Pending>(
        name: &str,
        documentation: &str,
        handler: impl Fn(Arguments) -> Pending + Send + Sync + 'static,
    ) -> Result<Self, SandboxError>
    where
        Arguments: DeserializeOwned + JsonSchema,
        Returned: Serialize + JsonSchema,
        Pending: Future<Output = Result<Returned, ToolError>> + Send + 'static,
    {
        let signature = Signature::of::<Arguments, Returned>(name)?.with_doc(documentation).asynchronous();
        let bound = signature.clone();
        Ok(Self::awaited(signature, move |call| {
            let pending = binding::bind(&bound, &call).map(&handler);
            let signature = bound.clone();
            async move { encode(&signature, &pending?.await?) }
        }))
    }

    /// A tool on values as they are.
    pub fn blocking(
        mut signature: Signature,
        handler: impl Fn(Call) -> Result<Value, ToolError> + Send + Sync + 'static,
    ) -> Self {
        signature.is_async = false;
        Self { signature, handler: Handler::Blocking(Arc::new(handler)) }
    }

    /// A tool on values as they are, which the code awaits.
    pub fn awaited<Pending>(
        signature: Signature,
        handler: impl Fn(Call) -> Pending + Send + Sync + 'static,
    ) -> Self
    where
        Pending: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        Self {
            signature: signature.asynchronous(),
            handler: Handler::Awaited(Arc::new(move |call| handler(call).boxed())),
        }
    }

    /// A tool that nobody here answers: calling it suspends the run, and whoever resumes it brings the answer.
    pub fn external(signature: Signature) -> Self {
        Self { signature, handler: Handler::External }
    }

    /// Promises that this tool only computes and is done in microseconds. It is then called on the thread that drives the run, which
    /// saves the way to another thread and back: most of the time of such a call.
    ///
    /// A tool that waits after all, for a disk, a lock or a network, holds up every run that this thread drives, and the limit on the
    /// time of a tool call cannot stop it. A tool that the code awaits is not changed.
    pub fn quick(mut self) -> Self {
        if let Handler::Blocking(function) = self.handler {
            self.handler = Handler::Quick(function);
        }
        self
    }

    pub fn name(&self) -> &str {
        &self.signature.name
    }

    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(crate) fn handler(&self) -> &Handler {
        &self.handler
    }

    pub(crate) fn renamed(mut self, name: String) -> Self {
        self.signature.name = name;
        self
    }
}

impl Call {
    /// The call's arguments as one JSON object, by parameter name.
    ///
    /// # Errors
    /// A `TypeError` when they do not fit the signature.
    pub fn by_name(
        &self,
        signature: &Signature,
    ) -> Result<serde_json::Map<String, serde_json::Value>, ToolError> {
        binding::by_name(signature, self)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.handler {
            Handler::Blocking(_) => "blocking",
            Handler::Quick(_) => "quick",
            Handler::Awaited(_) => "awaited",
            Handler::External => "external",
        };
        write!(formatter, "Tool({} {kind})", self.name())
    }
}

/// As the stub promises it: records where the result's schema has them.
fn encode(signature: &Signature, returned: &impl Serialize) -> Result<Value, ToolError> {
    let json = serde_json::to_value(returned).map_err(|error| ToolError::failed(error.to_string()))?;
    let value = match signature.result() {
        Some(schema) => schema.to_python_record(&json),
        None => Value::from_json(&json),
    };
    value.map_err(|error| ToolError::value_error(format!("the result {error}")))
}
