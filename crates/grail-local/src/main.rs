//! `grail-local`: a model in a process of its own. Data goes to standard output, everything else to standard error.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use grail_local::loading::{self, LoadOptions};
use grail_local::model::Precision;
use grail_local::server::Service;
use grail_local::train::{Settings, train};
use grail_local::{LocalError, Result};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Where the secret of the server is taken from.
const TOKEN: &str = "GRAIL_LOCAL_TOKEN";

/// Local models: inference and training.
#[derive(Parser)]
#[command(name = "grail-local", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer chat requests on 127.0.0.1 until standard input ends
    ///
    /// The environment variable GRAIL_LOCAL_TOKEN holds the secret that requests bring along. The first line on standard output says when
    /// the server is ready, and where.
    Serve(Serve),
    /// Train an adapter; events go to standard output, one JSON object per line
    Train {
        /// The settings of the run, as JSON
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// End when standard input ends, because whoever started this is gone; the last checkpoint is kept
        #[arg(long)]
        until_input_ends: bool,
    },
    /// Say what a model is, as JSON, without loading it
    Inspect {
        #[command(flatten)]
        model: ModelArguments,
    },
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    model: ModelArguments,
    /// The name under which the model answers
    #[arg(long)]
    name: String,
    /// Threads that compute; all cores if absent
    #[arg(long)]
    threads: Option<usize>,
    /// Where to listen; 0 takes a free port
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[derive(Args)]
struct ModelArguments {
    /// A `.gguf` file, a `.safetensors` file, or a folder
    #[arg(long, value_name = "PATH")]
    model: PathBuf,
    /// A folder as `mlx_lm.lora` or PEFT writes it
    #[arg(long, value_name = "FOLDER")]
    adapter: Option<PathBuf>,
    /// The longest prompt with its answer, in tokens
    #[arg(long, default_value_t = 4096)]
    context: usize,
    /// How weights are held that are stored as floats
    #[arg(long, value_enum, default_value_t = PrecisionArgument::Full)]
    precision: PrecisionArgument,
}

#[derive(Clone, Copy, ValueEnum)]
enum PrecisionArgument {
    /// 32 bits
    Full,
    /// 8 bits: a quarter of the memory
    Eight,
}

impl ModelArguments {
    fn options(self, threads: Option<usize>) -> LoadOptions {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        LoadOptions {
            model: self.model,
            adapter: self.adapter,
            threads: threads.unwrap_or_else(cores).clamp(1, 256),
            context: self.context.max(2),
            precision: match self.precision {
                PrecisionArgument::Full => Precision::Full,
                PrecisionArgument::Eight => Precision::Eight,
            },
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve(arguments) => serve(arguments),
        Command::Train { config, until_input_ends } => run_training(&config, until_input_ends),
        Command::Inspect { model } => loading::inspect(&model.options(None))
            .map(|inspection| say(&serde_json::to_value(inspection).unwrap_or_default())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&format!("error: {error}"));
            if let Some(hint) = error.hint() {
                log(&format!("hint: {hint}"));
            }
            ExitCode::from(if matches!(error, LocalError::NotANumber | LocalError::Arithmetic(_)) {
                1
            } else {
                2
            })
        }
    }
}

fn serve(arguments: Serve) -> Result<()> {
    let token = std::env::var(TOKEN).unwrap_or_default();
    if token.trim().is_empty() {
        return Err(LocalError::Environment { name: TOKEN, reason: "holds no token" });
    }
    let options = arguments.model.options(arguments.threads);
    log(&format!("loading `{}` for {} threads", options.model.display(), options.threads));
    let loaded = loading::load(&options)?;
    let ready = json!({
        "model": arguments.name,
        "identity": loaded.identity,
        "parameters": loaded.parameters,
        "memory_bytes": loaded.memory_bytes,
    });
    let service = Service::new(loaded, &arguments.name, token.trim());
    let failed = |source| LocalError::Listen { port: arguments.port, source };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (stop, stopped) = oneshot::channel();
    when_input_ends(move || {
        let _ = stop.send(());
    });
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", arguments.port)).await.map_err(failed)?;
        let mut ready = ready;
        ready["port"] = json!(listener.local_addr().map_err(failed)?.port());
        say(&json!({"ready": ready}));
        service.run(listener, stopped).await;
        Ok::<(), LocalError>(())
    })?;
    // Requests under way are dropped with the runtime, and the engine with the last of them.
    runtime.shutdown_background();
    Ok(())
}

fn run_training(config: &Path, until_input_ends: bool) -> Result<()> {
    if until_input_ends {
        // As a kill would end it: checkpoints appear as a whole, so the last one can be gone on from.
        when_input_ends(|| {
            log("error: whoever started the training is gone");
            std::process::exit(2);
        });
    }
    let settings = Settings::read(config)?;
    let outcome = train(&settings, &mut |event| say(&serde_json::to_value(event).unwrap_or_default()));
    match outcome {
        Ok(_) => Ok(()),
        Err(error) => {
            say(&json!({"event": "error", "message": error.to_string(), "hint": error.hint()}));
            Err(error)
        }
    }
}

/// Standard input stays open for as long as this process is wanted, so that it ends with whoever started it, however that ends.
fn when_input_ends(act: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        act();
    });
}

/// One line of data. If nobody reads it, there is nobody to tell so.
fn say(value: &serde_json::Value) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{value}").and_then(|()| output.flush());
}

fn log(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
