//! The Model Context Protocol over any pair of streams: tools, skills as resources and prompts.
//!
//! The protocol itself is `rmcp`'s. Here is what Grail says in it. Nothing that a client calls touches the project unless changes may be
//! written (`--write`) or the person behind the client agreed; otherwise changes end as proposals that wait.

mod approval;
mod calls;
mod pages;
mod prompts;
mod resources;
mod skill_extension;
mod tools;

use std::collections::BTreeSet;
use std::sync::Arc;

use grail_agent::Workspace;
use grail_sandbox::Toolset;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig, Tool as Described,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use self::approval::PendingQuestions;
use self::pages::page;
use self::tools::{Access, OfferedTool, offer};
use crate::feedback::feedback_tool;
use crate::{ServerError, WatchedEvents};

/// A longer line is dropped: no tool takes so much.
const MAX_LINE_BYTES: usize = 4 << 20;
/// Entries of one page of a list.
const PAGE: usize = 100;

/// Methods whose parameters the protocol's types read.
const KNOWN_METHODS: [&str; 9] = [
    "completion/complete",
    "initialize",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/call",
    "tools/list",
];

const INSTRUCTIONS: &str = "Grail knows this project's own Python dialect. Before you write code of a kind that a prompt `generate-…` is about, \
get that prompt or load the skill; hand code in with `generate_artifact`, which checks it by the project's rules and fixes what it can. \
Changes become proposals: tell the person which one waits. Whenever a person confirms or corrects your work, call `feedback`.";

/// What a client may do.
#[derive(Clone, Debug, Default)]
pub struct McpSettings {
    /// Changes are written at once, and can be undone with `grail proposals revert`. Otherwise they wait, unless the client asks a person.
    pub write: bool,
    /// Tools that need approval and may be called without asking.
    pub allowed: BTreeSet<String>,
}

/// A server for one project. Clones are the same server.
#[derive(Clone)]
pub struct McpServer {
    inner: Arc<Inner>,
}

struct Inner {
    workspace: Arc<Workspace>,
    tools: Toolset,
    offered: Vec<OfferedTool>,
    settings: McpSettings,
    /// Held by the one call that stages changes.
    writing: Mutex<()>,
    pending: PendingQuestions,
    watched: Option<Arc<WatchedEvents>>,
}

impl McpServer {
    /// Serves these tools and `feedback`. `is_read_only` says which of them only look.
    pub fn new(
        workspace: Arc<Workspace>,
        tools: Toolset,
        is_read_only: impl Fn(&str) -> bool,
        settings: McpSettings,
    ) -> Result<Self, ServerError> {
        let tools = tools.combine(Toolset::new([feedback_tool(&workspace)?])?)?;
        let offered = offer(&tools, is_read_only);
        let asking = || offered.iter().filter(|offered| offered.access == Access::Asks);
        if let Some(name) = settings.allowed.iter().find(|name| !asking().any(|tool| tool.name() == **name)) {
            let known = asking().map(|offered| format!("`{}`", offered.name())).collect();
            return Err(ServerError::UnknownTool { name: name.clone(), known });
        }
        let (writing, pending) = (Mutex::default(), PendingQuestions::default());
        let inner = Inner { workspace, tools, offered, settings, writing, pending, watched: None };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Tells clients who wait for a call what these events say.
    #[must_use]
    pub fn watching(mut self, events: Arc<WatchedEvents>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.watched = Some(events);
        }
        self
    }

    /// Serves one client until it is gone.
    pub async fn serve_streams(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ServerError> {
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE_BYTES);
        let failed = |reason: String| ServerError::Connection { reason };
        match self.serve(transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| failed(error.to_string())),
            // It left before it said what it wants.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Serves the client that started this process, over its standard input and output.
    pub async fn serve_stdio(self) -> Result<(), ServerError> {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        self.serve_streams(input, output).await
    }
}

impl Inner {
    /// Whatever a call left behind is dropped.
    fn clear(&self) {
        self.workspace.staging.clear();
        self.workspace.artifacts.clear();
    }

    fn new_name(&self) -> Option<String> {
        self.workspace.clock.new_id().ok()
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        capabilities.extensions = Some(skill_extension::capability());
        let mut server = Implementation::new("grail", env!("CARGO_PKG_VERSION"));
        server.title = Some("Grail".to_owned());
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.inner.offered.iter().map(|offered| offered.described.clone());
        let (tools, next_cursor) = page(tools, request.as_ref(), PAGE)?;
        Ok(ListToolsResult { next_cursor, ..ListToolsResult::with_all_items(tools) })
    }

    fn get_tool(&self, name: &str) -> Option<Described> {
        self.inner.offered.iter().find(|offered| offered.name() == name).map(|tool| tool.described.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let found = resources::list(&self.inner.workspace);
        let (resources, next_cursor) = page(found, request.as_ref(), PAGE)?;
        Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) })
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (templates, _) = page([resources::template()], request.as_ref(), PAGE)?;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = resources::read(&self.inner.workspace, &request.uri)?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let found = prompts::list(&self.inner.workspace);
        let (prompts, next_cursor) = page(found, request.as_ref(), PAGE)?;
        Ok(ListPromptsResult { next_cursor, ..ListPromptsResult::with_all_items(prompts) })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&self.inner.workspace, &request)?.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let answer = skill_extension::answer(&self.inner.workspace, &request);
        let unknown = || {
            let method: String = request.method.chars().take(80).collect();
            // What is known and comes here all the same could not be read.
            Err(match KNOWN_METHODS.contains(&method.as_str()) {
                true => ErrorData::invalid_params(format!("these are no parameters of `{method}`"), None),
                false => ErrorData::new(
                    ErrorCode::METHOD_NOT_FOUND,
                    format!("there is no method `{method}`"),
                    None,
                ),
            })
        };
        answer.unwrap_or_else(unknown).map(CustomResult::new)
    }
}
