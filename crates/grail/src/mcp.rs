//! `grail mcp`: the project's tools, skills and prompts for a coding agent, over the Model Context Protocol.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use grail_agent::written_tool::{DEFINE_TOOL, with_written_tools};
use grail_agent::{model_tools, models, tools};
use grail_flywheel::EventSink;
use grail_model::Model;
use grail_server::WatchedEvents;
use grail_server::mcp::{McpServer, McpSettings};

use crate::Exit;
use crate::memory::{OpenWorkspace, open_workspace_in};
use crate::render::Terminal;

/// Serve the project's tools, skills and prompts to a coding agent, over the Model Context Protocol
///
/// Agents start this and speak with it on stdin and stdout. They may look at everything that the project shows; whatever they want to
/// change becomes a proposal, checked by the project's rules, which you approve in the agent if it can ask you, or with `grail proposals`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail mcp
  grail mcp --project ~/shop
  grail mcp --write

In an agent's configuration:
  {\"mcpServers\": {\"grail\": {\"command\": \"grail\", \"args\": [\"mcp\", \"--project\", \"/path/to/project\"]}}}")]
pub struct Arguments {
    /// The project's folder, if the agent starts this somewhere else
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub project: PathBuf,
    /// Write changes at once; `grail proposals revert` undoes each
    #[arg(long)]
    pub write: bool,
    /// Let a tool that needs approval be called without asking; may be repeated
    #[arg(long, value_name = "TOOL")]
    pub allow: Vec<String>,
    /// The model that tools ask which ask one themselves, such as `generate_feature`: a name of `grail.toml`
    #[arg(long, value_name = "NAME", default_value = models::TEMPLATE)]
    pub model: String,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let mut events = None;
    let open = open_workspace_in(&arguments.project, |log| {
        let watched = Arc::new(WatchedEvents::new(log));
        events = Some(Arc::clone(&watched));
        watched as Arc<dyn EventSink>
    })?;
    let workspace = Arc::clone(&open.workspace);
    let settings = McpSettings { write: arguments.write, allowed: arguments.allow.into_iter().collect() };
    serve(&open, terminal, async {
        let chosen = models::choose(&workspace, Some(&arguments.model)).await?;
        let model: Arc<dyn Model> = Arc::from(chosen.model);
        let asking = model_tools::toolset(&workspace, &model)?
            .require_approval(|tool| tools::needs_approval(tool.name()));
        let tools = with_written_tools(&workspace, tools::toolset(&workspace)?.combine(asking)?)?;
        // It is the loop of an agent of ours that keeps what is defined.
        let tools = tools.filter(|tool| tool.name() != DEFINE_TOOL);
        let mut server = McpServer::new(workspace, tools, tools::is_read_only, settings)?;
        if let Some(events) = events {
            server = server.watching(events);
        }
        Ok(server.serve_stdio().await?)
    })
}

/// Serves until the other side is gone. What still runs then is given up.
pub(crate) fn serve(
    open: &OpenWorkspace,
    terminal: &mut Terminal,
    server: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Exit> {
    // One thread listens and answers while another one works.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(server);
    runtime.shutdown_background();
    open.finish(terminal)?;
    result.map(|()| Exit::Fine)
}
