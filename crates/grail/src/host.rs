//! `grail host`: commands for a program that embeds Grail, one envelope a line.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use grail_agent::tools;
use grail_agent::written_tool::with_written_tools;
use grail_server::host::{HostServer, HostSettings};

use crate::Exit;
use crate::mcp::serve;
use crate::memory::open_workspace_in;
use crate::render::Terminal;
use crate::skills::open_keyring;

/// Answer commands of a program that embeds Grail, one JSON envelope a line
///
/// Each line on stdin is a request `{v, request_id, command, payload}`; each line on stdout is an answer `{v, request_id, ok, payload, error}`.
/// Answers come as they are ready. The command `host.commands` lists what can be asked for, with the schemas of payloads and answers.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  echo '{\"v\": 1, \"request_id\": \"1\", \"command\": \"host.commands\"}' | grail host
  echo '{\"v\": 1, \"request_id\": \"2\", \"command\": \"check\", \"payload\": {\"paths\": [\"src\"]}}' | grail host")]
pub struct Arguments {
    /// The project's folder
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub project: PathBuf,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace_in(&arguments.project, |log| log)?;
    let workspace = Arc::clone(&open.workspace);
    let tools = with_written_tools(&workspace, tools::for_generating(&workspace)?)?;
    let settings = HostSettings { tools, keyring: Arc::new(open_keyring) };
    let server = HostServer::new(workspace, settings);
    serve(&open, terminal, async { Ok(server.serve_stdio().await?) })
}
