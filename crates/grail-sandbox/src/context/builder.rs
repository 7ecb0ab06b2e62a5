//! How a context is put together.

use std::sync::Arc;

use schemars::JsonSchema;

use super::prepared::PreparedPrograms;
use super::{Context, Inner};
use crate::error::SandboxError;
use crate::files::Files;
use crate::observe::{Metrics, Redactor};
use crate::policy::{ResolvedPolicy, ResourceGuard};
use crate::pool::{LivePrinter, Workers};
use crate::program::ResultRule;
use crate::schema::Schema;
use crate::stub::StubModule;
use crate::tool::Toolset;

/// Collects what a run may see. Nothing that is not named here exists for the code.
#[derive(Default)]
pub struct ContextBuilder {
    input_schema: Option<Schema>,
    output_schema: Option<Schema>,
    tools: Toolset,
    policy: Option<ResolvedPolicy>,
    guard: Option<ResourceGuard>,
    files: Files,
    inputs_as_names: bool,
    unchecked_types: bool,
    optional_result: bool,
    debug: bool,
    metrics: Option<Arc<dyn Metrics>>,
    redactor: Redactor,
    live: Option<LivePrinter>,
}

impl ContextBuilder {
    /// Inputs must fit this schema; records in it are readable by attribute.
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.input_schema = Some(schema);
        self
    }

    /// Inputs are a Rust type.
    pub fn input<Type: JsonSchema>(self) -> Result<Self, SandboxError> {
        Ok(self.input_schema(Schema::of::<Type>()?))
    }

    /// The result must fit this schema.
    pub fn output_schema(mut self, schema: Schema) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// The result is a Rust type; read it with [`crate::Outcome::decode`].
    pub fn output<Type: JsonSchema>(self) -> Result<Self, SandboxError> {
        Ok(self.output_schema(Schema::of::<Type>()?))
    }

    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// Without one, the policy `default` applies.
    pub fn policy(mut self, policy: ResolvedPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Limits of this call site, over the policy.
    pub fn guard(mut self, guard: ResourceGuard) -> Self {
        self.guard = Some(guard);
        self
    }

    pub fn files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    /// Besides `inputs['name']`, `name` itself is visible.
    pub fn inputs_as_names(mut self) -> Self {
        self.inputs_as_names = true;
        self
    }

    /// Runs code without checking its types first.
    pub fn without_type_check(mut self) -> Self {
        self.unchecked_types = true;
        self
    }

    /// Code may end without a value; a trailing assignment is then no error.
    pub fn result_optional(mut self) -> Self {
        self.optional_result = true;
        self
    }

    /// Outcomes carry a timeline.
    pub fn debug(mut self) -> Self {
        self.debug = true;
        self
    }

    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// What must not appear in timelines, spans and stored approvals.
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Called with printed output as it comes.
    pub fn on_print(mut self, print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.live = Some(LivePrinter(Arc::new(print)));
        self
    }

    /// # Errors
    /// The guard asks for more than the policy gives.
    pub fn build(self, workers: Workers) -> Result<Context, SandboxError> {
        let mut policy = self.policy.unwrap_or_default();
        if let Some(guard) = &self.guard {
            policy = policy.tighten(guard)?;
        }
        let denied: Arc<[String]> = self
            .tools
            .names()
            .into_iter()
            .filter(|name| !policy.tools.allows(name))
            .map(str::to_owned)
            .collect();
        let tools = self.tools.filter(|tool| policy.tools.allows(tool.name()));
        let mut stubs = StubModule::new();
        if let Some(schema) = &self.input_schema {
            stubs = stubs.inputs(schema);
        }
        if self.inputs_as_names {
            stubs = stubs.inputs_as_variables();
        }
        if let Some(schema) = &self.output_schema {
            stubs = stubs.output(schema);
        }
        let stubs = tools.tools().fold(stubs, |stubs, tool| stubs.tool(tool.signature())).text()?;
        Ok(Context {
            skips_type_check: false,
            inner: Arc::new(Inner {
                workers,
                input_schema: self.input_schema,
                output_schema: self.output_schema,
                tools,
                denied,
                policy,
                files: self.files,
                stubs,
                prepared: PreparedPrograms::default(),
                inputs_as_names: self.inputs_as_names,
                type_check: !self.unchecked_types,
                rule: if self.optional_result { ResultRule::Optional } else { ResultRule::Required },
                debug: self.debug,
                metrics: self.metrics,
                redactor: self.redactor,
                live: self.live,
            }),
        })
    }
}
