//! `grail models serve`

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use grail_agent::models::{PHASE_PREFIX, local_choice, promoted_phase};
use grail_model::local::{CATALOGUE, Ready, find_local_program, local_command};
use grail_rules::tools::interruption;
use serde::Deserialize;
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::interrupt::while_tools_run;
use crate::memory::open_workspace;
use crate::render::{BOLD, Failure, RESET, Terminal, visible_line};

/// Where the token comes from, and where the program finds it.
const TOKEN_VARIABLE: &str = "GRAIL_LOCAL_TOKEN";
/// A shorter token is guessed.
const SHORTEST_TOKEN: usize = 16;

/// Serve a model or a phase to other tools, until Ctrl-C
///
/// The server speaks the protocol of OpenAI on this machine alone. Whoever asks must bring the token: the one in `GRAIL_LOCAL_TOKEN`, or else one
/// that is made up and printed. `/v1/models` and every answer say the hash of the weights that answer.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail models serve
  grail models serve phase:p3 --port 8080
  GRAIL_LOCAL_TOKEN=… grail models serve smollm2-135m")]
pub struct Arguments {
    /// What `--model` of `grail generate` takes for a model on this machine; without it, the promoted phase, or the first weights of the list
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,
    /// The port; without it, a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// How many threads it may use
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// How many tokens a request and its answer may have together
    #[arg(long, value_name = "TOKENS")]
    pub context: Option<u32>,
}

#[derive(Deserialize)]
struct Announcement {
    ready: Ready,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let open = open_workspace()?;
    let name = match &arguments.model {
        Some(name) => name.clone(),
        None => promoted_phase(&open.workspace, None)?
            .map_or_else(|| CATALOGUE[0].name.to_owned(), |phase| format!("{PHASE_PREFIX}{}", phase.id)),
    };
    let Some(mut choice) = local_choice(&open.workspace, &name)? else {
        let message = format!("`{}` is no model on this machine", visible_line(&name));
        return Err(Failure::with_hint(
            message,
            "`grail models list` shows them; a path works as `local:PATH`",
        )
        .into());
    };
    choice.settings.threads = arguments.threads.or(choice.settings.threads);
    choice.settings.context = arguments.context.or(choice.settings.context);
    let (token, is_own) = token()?;
    let mut command = local_command(&find_local_program()?);
    command
        .arg("serve")
        .args(choice.settings.arguments())
        .args(["--port".to_owned(), arguments.port.to_string()].map(OsString::from))
        .env(TOKEN_VARIABLE, &token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    let Ok(Announcement { ready }) = serde_json::from_str::<Announcement>(&line) else {
        let _ = child.kill();
        child.wait()?;
        // What went wrong stands above: its messages are ours.
        return Err(Failure::new(format!("`{}` cannot be served", visible_line(&name))).into());
    };
    if let Err(error) = choice.settings.check_identity(&ready.identity) {
        let _ = child.kill();
        child.wait()?;
        return Err(error.into());
    }
    announce(&ready, (!is_own).then_some(token.as_str()), terminal)?;
    interruption().store(false, Ordering::SeqCst);
    let status = while_tools_run(|| {
        loop {
            if interruption().load(Ordering::SeqCst) {
                // Its input ends, and so does it.
                drop(child.stdin.take());
                return child.wait().map(|_| None);
            }
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    })?;
    match status {
        None => Ok(Exit::Fine),
        Some(_) if interruption().load(Ordering::SeqCst) => Ok(Exit::Fine),
        Some(status) => Err(Failure::new(format!("the server has ended: {status}")).into()),
    }
}

fn announce(ready: &Ready, token: Option<&str>, terminal: &mut Terminal) -> anyhow::Result<()> {
    let url = format!("http://127.0.0.1:{}/v1", ready.port);
    if terminal.format() == Format::Json {
        terminal
            .json(&json!({"url": url, "model": ready.model, "identity": ready.identity, "token": token}))?;
    } else {
        terminal.line(format_args!("{BOLD}{}{RESET} {url}", visible_line(&ready.model)))?;
        terminal.line(format_args!("identity {}", visible_line(&ready.identity)))?;
        match token {
            Some(token) => terminal.line(format_args!("token {token}"))?,
            None => terminal.line(format_args!("token as in {TOKEN_VARIABLE}"))?,
        }
        terminal.note(format_args!("Ctrl-C ends it"))?;
    }
    terminal.flush()
}

/// The token of the environment, or a new one; and whether it was there.
fn token() -> anyhow::Result<(String, bool)> {
    match std::env::var(TOKEN_VARIABLE) {
        Ok(token) if token.len() >= SHORTEST_TOKEN => Ok((token, true)),
        Ok(token) if !token.is_empty() => Err(Failure::with_hint(
            format!("the token in `{TOKEN_VARIABLE}` has only {} characters", token.len()),
            format!("at least {SHORTEST_TOKEN}; without the variable one is made up"),
        )
        .into()),
        _ => Ok((grail_model::local::new_token()?, false)),
    }
}
