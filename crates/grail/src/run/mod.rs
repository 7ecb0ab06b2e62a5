//! `grail run`: sandboxed Python from the command line.
//!
//! The code runs in a worker process, which is this very program started with a hidden argument. What it may see is put together in
//! [`settings`] from options, the script's own header and `grail.toml`.

mod header;
pub(crate) mod report;
pub(crate) mod settings;
mod toolfile;
mod types;

use std::future::Future;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use grail_project::{Project, read_source};
use grail_sandbox::{
    ApprovalStore, CallOptions, Context, Ending, Field, KEY_VARIABLE, MAX_SNAPSHOT_BYTES, Outcome, PausedRun,
    Purpose, ResourceGuard, Schema, SnapshotKey, Step, Suspended, ToolError, Value,
};
use serde_json::{Map, Value as Json, json};

use self::header::read_header;
use self::report::{Script, call_text};
use self::settings::{LivePrinter, MountOption, Settings, Speech, sandbox_failure};
use crate::Exit;
use crate::cli::Format;
use crate::memory::remember_run;
use crate::render::{Failure, Terminal, display_path, visible};

/// Sources and inputs beyond this are refused before any limit of a policy is asked.
const MAX_BYTES: u64 = 64 << 20;

/// What a kept run brings along.
const RUN_OPTIONS: [&str; 18] = [
    "file",
    "code",
    "input",
    "inputs",
    "schema",
    "output_schema",
    "names",
    "secret",
    "policy",
    "max_duration",
    "max_memory",
    "max_recursion",
    "max_suspensions",
    "max_output",
    "max_result",
    "max_source",
    "check_timeout",
    "tool_timeout",
];

/// Run Python in a sandbox: typed inputs, given tools, hard limits
///
/// The code sees its inputs as `inputs['name']`, the tools it is given, the folders that are mounted, and nothing else. Its last
/// expression, or a `return` at top level, is the result. Types are checked before anything runs.
///
/// A script may declare what it needs in a comment block `# /// grail` … `# ///` of TOML with `inputs`, `output`, `tools` and
/// `policy`. See docs/guides/sandbox.md.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grail run -c '1 + 1'\n  grail run report.py --input name=Ada --input scores='[1, 2]'\n  \
                  grail run report.py --tools tools.toml --mount data:/data:ro --policy strict\n\n\
                  Exit codes: 0 a value, or a run that waits for an answer; 1 the code's fault; 2 could not run."
)]
pub struct Arguments {
    /// The script; `-` reads it from stdin
    #[arg(value_name = "FILE", required_unless_present_any = ["code", "resume"], conflicts_with = "code")]
    pub file: Option<PathBuf>,
    /// The code itself
    #[arg(short, long, value_name = "CODE", allow_hyphen_values = true)]
    pub code: Option<String>,

    /// One input; JSON, or else a string
    #[arg(long = "input", value_name = "NAME=VALUE", help_heading = "Inputs")]
    pub input: Vec<String>,
    /// All inputs, as a JSON object
    #[arg(long, value_name = "FILE", help_heading = "Inputs")]
    pub inputs: Option<PathBuf>,
    /// JSON Schema of the inputs; replaces what the script declares
    #[arg(long, value_name = "FILE", help_heading = "Inputs")]
    pub schema: Option<PathBuf>,
    /// JSON Schema of the result; replaces what the script declares
    #[arg(long, value_name = "FILE", help_heading = "Inputs")]
    pub output_schema: Option<PathBuf>,
    /// Make every input a variable of its own, too
    #[arg(long, help_heading = "Inputs")]
    pub names: bool,
    /// An input whose value is not shown by `--debug`; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Inputs")]
    pub secret: Vec<String>,

    /// The policy: a preset (`strict`, `default`, `permissive`, `ai-agent`) or one of grail.toml
    #[arg(long, value_name = "NAME", help_heading = "What the code may use")]
    pub policy: Option<String>,
    /// The tools, a TOML file
    #[arg(long, value_name = "FILE", help_heading = "What the code may use")]
    pub tools: Option<PathBuf>,
    /// A folder: `ro` (the default), `rw`, or `cow`, whose writes are gone after the run
    #[arg(long, value_name = "HOST:VIRTUAL[:ro|rw|cow]", help_heading = "What the code may use")]
    pub mount: Vec<MountOption>,
    #[command(flatten)]
    pub limits: LimitArguments,

    /// Check the code, run nothing
    #[arg(long, conflicts_with_all = ["resume", "snapshot_out"])]
    pub check_only: bool,
    /// Show what happened, step by step
    #[arg(long)]
    pub debug: bool,

    /// Where a run that waits for an answer is kept
    #[arg(long, value_name = "FILE", help_heading = "Paused runs")]
    pub snapshot_out: Option<PathBuf>,
    /// Go on with a run that was kept
    #[arg(long, value_name = "FILE", conflicts_with_all = RUN_OPTIONS, help_heading = "Paused runs")]
    pub resume: Option<PathBuf>,
    /// What the call returns, as JSON
    #[arg(
        long,
        value_name = "JSON",
        requires = "resume",
        help_heading = "Paused runs",
        allow_hyphen_values = true
    )]
    pub answer: Option<String>,
    /// What the call raises: a message, or `ValueError: message`
    #[arg(
        long,
        value_name = "TEXT",
        requires = "resume",
        conflicts_with = "answer",
        help_heading = "Paused runs"
    )]
    pub error: Option<String>,
}

/// Limits of this run. They tighten the policy, and loosen it as far as it allows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArguments {
    /// Executing time, such as `2s`
    #[arg(long, value_name = "TIME")]
    pub max_duration: Option<String>,
    /// Memory, such as `64MiB`
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
    /// Depth of calls
    #[arg(long, value_name = "COUNT")]
    pub max_recursion: Option<String>,
    /// How often the code may ask the host for something
    #[arg(long, value_name = "COUNT")]
    pub max_suspensions: Option<String>,
    /// Printed output
    #[arg(long, value_name = "SIZE")]
    pub max_output: Option<String>,
    /// The result
    #[arg(long, value_name = "SIZE")]
    pub max_result: Option<String>,
    /// The source
    #[arg(long, value_name = "SIZE")]
    pub max_source: Option<String>,
    /// Time for all checks before the run
    #[arg(long, value_name = "TIME")]
    pub check_timeout: Option<String>,
    /// Time for one tool call
    #[arg(long, value_name = "TIME")]
    pub tool_timeout: Option<String>,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let project = Project::discover(Path::new("."))?;
    wait_for(start(arguments, &project, terminal))
}

/// Drives a future on a runtime of its own.
pub(crate) fn wait_for<Output>(
    future: impl Future<Output = anyhow::Result<Output>>,
) -> anyhow::Result<Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(future);
    // A tool that does not end must not keep the command from ending.
    runtime.shutdown_background();
    result
}

async fn start(arguments: Arguments, project: &Project, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    // Told now, before the run has done anything that would be lost.
    if let Some(file) = arguments.snapshot_out.as_deref().filter(|file| file.symlink_metadata().is_ok()) {
        return Err(exists_already(file).into());
    }
    if let Some(file) = &arguments.resume {
        return resume(&arguments, file, project, terminal).await;
    }
    let source = read_script(&arguments)?;
    let name = match &arguments.file {
        Some(file) if file.as_os_str() != "-" => display_path(file).display().to_string(),
        Some(_) => "<stdin>".to_owned(),
        None => "<code>".to_owned(),
    };
    let settings = settings(&arguments, &source, project)?;
    for warning in settings.weakened_mounts(&settings.policy(project)?) {
        terminal.warning(format_args!("{warning}"))?;
    }
    let speech = speech(terminal.format(), arguments.debug);
    let context = settings.context(project, &speech).await?;
    let script = Script { name: &name, text: &source };
    if arguments.check_only {
        let outcome = context.check(&source).await;
        return show(&outcome, &script, terminal);
    }
    let mut inputs = read_inputs(&arguments)?;
    if let Some(schema) = &settings.input_schema {
        Schema::from_json(schema.clone())
            .map_err(|error| sandbox_failure(&error))?
            .fill_defaults(&mut inputs);
    }
    let started = Instant::now();
    let step = context.run(&source, inputs, &CallOptions::default()).await;
    if let Step::Finished(outcome) = &step {
        remember_run(project, &source, outcome, started.elapsed());
    }
    let kept = Kept { settings: &settings, snapshot_out: arguments.snapshot_out.as_deref(), project };
    finish(step, &script, kept, terminal).await
}

/// What is needed to keep a run that waits.
pub(crate) struct Kept<'run> {
    pub(crate) settings: &'run Settings,
    pub(crate) snapshot_out: Option<&'run Path>,
    pub(crate) project: &'run Project,
}

/// Shows how a run ended, or keeps it if it waits.
pub(crate) async fn finish(
    step: Step,
    script: &Script<'_>,
    kept: Kept<'_>,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let mut suspended = match step {
        Step::Finished(outcome) => return show(&outcome, script, terminal),
        Step::Suspended(suspended) => *suspended,
    };
    let origin = Origin {
        script: script.name.to_owned(),
        source: script.text.to_owned(),
        settings: kept.settings.clone(),
    };
    let origin = serde_json::to_value(origin)?;
    let key = key(kept.project)?;
    if suspended.needs_approval() && kept.snapshot_out.is_none() {
        let outcome = suspended.wait_for_approval(&approvals(kept.project), &key, origin).await;
        return show(&outcome.map_err(|error| sandbox_failure(&error))?, script, terminal);
    }
    let Some(file) = kept.snapshot_out else {
        let tool = suspended.tool().to_owned();
        suspended.abandon().await;
        return Err(Failure::with_hint(
            format!("the code called `{tool}`, which has no command, so nobody here can answer"),
            "keep the run with `--snapshot-out FILE`, then go on with `--resume FILE --answer JSON`",
        )
        .into());
    };
    let bytes =
        suspended.seal(&key, Purpose::Resume, origin).await.map_err(|error| sandbox_failure(&error))?;
    write_new(file, &bytes)?;
    show_suspended(&suspended, file, terminal)?;
    suspended.abandon().await;
    Ok(Exit::Fine)
}

/// What an approval remembers of the run it belongs to.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Origin {
    pub(crate) script: String,
    pub(crate) source: String,
    pub(crate) settings: Settings,
}

pub(crate) fn key(project: &Project) -> anyhow::Result<SnapshotKey> {
    SnapshotKey::load_or_create(&project.root.join(".grail")).map_err(|error| sandbox_failure(&error.into()))
}

pub(crate) fn approvals(project: &Project) -> ApprovalStore {
    ApprovalStore::new(project.root.join(".grail/runs/approvals"))
}

/// Printed output goes out as it comes, to a terminal without what would command it; as JSON it is part of the outcome.
pub(crate) fn speech(format: Format, debug: bool) -> Speech {
    let is_terminal = std::io::stdout().is_terminal();
    let live: LivePrinter = Arc::new(move |text| {
        let text = if is_terminal { visible(text) } else { text.into() };
        // Whoever closed the pipe has seen enough.
        let mut output = std::io::stdout().lock();
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    });
    Speech { debug, live: (format == Format::Text).then_some(live) }
}

pub(crate) fn show(outcome: &Outcome, script: &Script, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match terminal.format() {
        Format::Json => terminal.json(&report::json(outcome)?)?,
        Format::Text => {
            report::timeline(outcome, terminal)?;
            report::text(outcome, script, terminal)?;
        }
    }
    Ok(match outcome.ending {
        Ending::Value { .. } | Ending::AwaitingApproval { .. } => Exit::Fine,
        Ending::WorkerCrashed(_) | Ending::NoWorker { .. } => Exit::CouldNotRun,
        _ => Exit::Findings,
    })
}

fn show_suspended(suspended: &Suspended, file: &Path, terminal: &mut Terminal) -> anyhow::Result<()> {
    let (arguments, keywords) = (plain(suspended.arguments()), named(suspended.keywords()));
    let shown = display_path(file).display();
    if terminal.format() == Format::Json {
        return terminal.json(&json!({
            "outcome": "suspended",
            "tool": suspended.tool(),
            "arguments": arguments,
            "keywords": keywords,
            "snapshot": shown.to_string(),
        }));
    }
    terminal
        .note(format_args!("the run waits for `{}`", call_text(suspended.tool(), &arguments, &keywords)))?;
    terminal.note(format_args!("hint: `grail run --resume {shown} --answer JSON` goes on"))
}

fn plain(arguments: &[Value]) -> Vec<Json> {
    arguments.iter().map(Value::to_json).collect()
}

fn named(keywords: &[(String, Value)]) -> Map<String, Json> {
    keywords.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
}

/// Goes on with a kept run: as it was started, with tools and mounts of this call where they are given.
async fn resume(
    arguments: &Arguments,
    file: &Path,
    project: &Project,
    terminal: &mut Terminal,
) -> anyhow::Result<Exit> {
    let shown = display_path(file).display().to_string();
    let bytes = read_paused(file).with_context(|| format!("`{shown}` cannot be read"))?;
    let key = key(project)?;
    let paused = PausedRun::open(&bytes, &key, Purpose::Resume).map_err(|_| {
        Failure::with_hint(
            format!("`{shown}` is no paused run of this project, or it was changed"),
            format!("the key of a project is in `.grail/`, or in the variable `{KEY_VARIABLE}`"),
        )
    })?;
    let mut origin: Origin = serde_json::from_value(paused.question.origin.clone())
        .map_err(|_| Failure::new(format!("`{shown}` was not kept by `grail run`")))?;
    if let Some(tools) = &arguments.tools {
        origin.settings.tools_file = Some(std::path::absolute(tools)?);
    }
    if !arguments.mount.is_empty() {
        origin.settings.mounts = arguments.mount.iter().cloned().map(MountOption::absolute).collect();
    }
    let context = origin.settings.context(project, &speech(terminal.format(), arguments.debug)).await?;
    let answer = arguments.answer.as_deref().map(parse_json_answer).transpose()?;
    let answer = answer.as_ref().map(answer_value).transpose()?;
    let suspended = load(&context, &paused, &key).await?;
    let step = match (answer, &arguments.error) {
        (Some(answer), _) => suspended.resume(answer).await,
        (None, Some(error)) => suspended.fail(parse_error(error)).await,
        (None, None) if suspended.needs_approval() => {
            let message = format!("the run waits for `{}`, which needs approval", suspended.tool());
            suspended.abandon().await;
            return Err(Failure::with_hint(
                message,
                "run the script again without `--snapshot-out`, and `grail approvals` decides; `--answer JSON` and \
                 `--error TEXT` go on without the tool",
            )
            .into());
        }
        (None, None) if suspended.can_be_called() => suspended.call_tool().await,
        (None, None) => {
            let message = format!("the run waits for `{}`, which has no command", suspended.tool());
            return Err(
                Failure::with_hint(message, "answer it with `--answer JSON` or `--error TEXT`").into()
            );
        }
    };
    let script = Script { name: &origin.script, text: &origin.source };
    let kept = Kept { settings: &origin.settings, snapshot_out: arguments.snapshot_out.as_deref(), project };
    finish(step, &script, kept, terminal).await
}

/// The paused run, if it stands at the call that it was sealed with.
pub(crate) async fn load(
    context: &Context,
    paused: &PausedRun,
    key: &SnapshotKey,
) -> anyhow::Result<Suspended> {
    let suspended = context.load(&paused.snapshot, key).await.map_err(|error| sandbox_failure(&error))?;
    if paused.question.is_about(suspended.call()) {
        return Ok(suspended);
    }
    suspended.abandon().await;
    let message = "the run no longer stands at the call that was shown";
    Err(Failure::with_hint(message, "run the script again; nothing was called").into())
}

pub(crate) fn answer_value(answer: &Json) -> anyhow::Result<Value> {
    Value::from_json(answer).map_err(|error| Failure::new(format!("the answer {error}")).into())
}

pub(crate) fn parse_json_answer(text: &str) -> anyhow::Result<Json> {
    serde_json::from_str(text).map_err(|error| {
        Failure::with_hint(format!("the answer is not JSON: {error}"), "write strings in double quotes")
            .into()
    })
}

/// `ValueError: message` raises that; anything else is a `RuntimeError`.
fn parse_error(text: &str) -> ToolError {
    match text.split_once(": ") {
        Some((class, message)) if class.ends_with("Error") && class.chars().all(char::is_alphanumeric) => {
            ToolError::new(class, message)
        }
        _ => ToolError::failed(text),
    }
}

fn settings(arguments: &Arguments, source: &str, project: &Project) -> anyhow::Result<Settings> {
    let header = read_header(source)?;
    let mut policies: Vec<String> = Vec::new();
    if header.policy.is_some() || arguments.policy.is_some() {
        let base = arguments.policy.clone().or_else(|| project.config.sandbox.policy.clone());
        policies.push(base.unwrap_or_else(|| "default".to_owned()));
        policies.extend(header.policy);
    }
    Ok(Settings {
        policies,
        limits: arguments.limits.guard()?,
        tools_file: arguments.tools.as_ref().map(std::path::absolute).transpose()?,
        tools: header.tools,
        input_schema: arguments.schema.as_deref().map(read_json).transpose()?.or(header.inputs),
        output_schema: arguments.output_schema.as_deref().map(read_json).transpose()?.or(header.output),
        names: arguments.names,
        secrets: arguments.secret.clone(),
        mounts: arguments.mount.iter().cloned().map(MountOption::absolute).collect(),
    })
}

fn read_script(arguments: &Arguments) -> anyhow::Result<String> {
    if let Some(code) = &arguments.code {
        return Ok(code.clone());
    }
    match &arguments.file {
        None => Ok(String::new()),
        Some(file) if file.as_os_str() == "-" => {
            let mut source = String::new();
            std::io::stdin()
                .take(MAX_BYTES)
                .read_to_string(&mut source)
                .context("stdin cannot be read as UTF-8")?;
            Ok(source)
        }
        Some(file) => Ok(read_source(file, MAX_BYTES)?.source.text().to_owned()),
    }
}

fn read_inputs(arguments: &Arguments) -> anyhow::Result<Json> {
    let mut inputs = match &arguments.inputs {
        None => Map::new(),
        Some(file) => match read_json(file)? {
            Json::Object(fields) => fields,
            _ => {
                return Err(Failure::new(format!(
                    "`{}` does not hold a JSON object",
                    display_path(file).display()
                ))
                .into());
            }
        },
    };
    for input in &arguments.input {
        let Some((name, value)) = input.split_once('=') else {
            return Err(Failure::with_hint(
                format!("`{input}` is not an input"),
                "write `--input NAME=VALUE`",
            )
            .into());
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
        inputs.insert(name.to_owned(), value);
    }
    Ok(Json::Object(inputs))
}

fn read_json(file: &Path) -> anyhow::Result<Json> {
    let shown = display_path(file).display().to_string();
    let mut text = String::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .with_context(|| format!("`{shown}` cannot be read"))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("`{shown}` is not JSON: {error}")).into())
}

/// What is too large for a paused run is cut one byte behind the limit, where nothing takes it for one any more.
fn read_paused(path: &Path) -> std::io::Result<Vec<u8>> {
    // Opening a pipe would wait for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let limit = 2 * MAX_SNAPSHOT_BYTES as u64 + 1;
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A paused run can hold secrets: only its owner may read it. It replaces nothing.
fn write_new(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(bytes)?;
        file.persist_noclobber(path).map_err(|error| error.error)
    });
    match written {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists_already(path).into()),
        Err(error) => Err(error).with_context(|| format!("`{}` cannot be written", path.display())),
    }
}

fn exists_already(path: &Path) -> Failure {
    let message = format!("`{}` exists already", display_path(path).display());
    Failure::with_hint(message, "keep the run in a new file, or remove this one first")
}

impl LimitArguments {
    fn guard(&self) -> anyhow::Result<ResourceGuard> {
        let given = [
            (Field::MaxDuration, &self.max_duration),
            (Field::MaxMemory, &self.max_memory),
            (Field::MaxRecursion, &self.max_recursion),
            (Field::MaxSuspensions, &self.max_suspensions),
            (Field::MaxOutput, &self.max_output),
            (Field::MaxResult, &self.max_result),
            (Field::MaxSource, &self.max_source),
            (Field::CheckTimeout, &self.check_timeout),
            (Field::ToolTimeout, &self.tool_timeout),
        ];
        let written: Map<String, Json> = given
            .into_iter()
            .filter_map(|(field, text)| {
                let text = text.as_ref()?;
                let value = serde_json::from_str::<serde_json::Number>(text)
                    .map_or_else(|_| Json::from(text.as_str()), Json::from);
                Some((field.name().to_owned(), value))
            })
            .collect();
        serde_json::from_value(Json::Object(written)).map_err(|error| Failure::new(error.to_string()).into())
    }
}
