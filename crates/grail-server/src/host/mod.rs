//! Commands for a program that embeds Grail: one envelope in, one answer out, in the process or a line at a time.
//!
//! Every request gets exactly one answer, whatever it holds; a mistake of ours is an answer too. Requests run beside each other, and their
//! answers come as they are ready; only those that stage changes wait for one another.

mod command;
mod envelope;
pub mod generation;
mod line;
pub mod payload;
pub mod skill_payload;
mod skills;
mod work;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use grail_agent::Workspace;
use grail_sandbox::Toolset;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

use self::generation::{GenerateSkill, GenerationStatus};
use self::line::{Line, Lines};
use self::payload::{Commands, ListProposals, Nothing, OneProposal};
use self::skill_payload::OneInstalled;
use self::skills::Skills;
use self::work::host_error;
use crate::ServerError;
use crate::feedback::record_feedback;

pub use self::command::{CommandDescription, CommandName};
pub use self::envelope::{Answer, Envelope, ErrorCode, HostError, MAX_LINE_BYTES, VERSION, read_line};
pub use self::skills::OpenKeyring;

/// Requests that are worked on at once; further ones are not read yet.
const MAX_AT_ONCE: usize = 16;

/// What a host's requests are carried out with.
pub struct HostSettings {
    /// What a model may use beside handing code in.
    pub tools: Toolset,
    /// Where the credentials of skills are, beside their file.
    pub keyring: OpenKeyring,
}

impl Default for HostSettings {
    fn default() -> Self {
        Self { tools: Toolset::default(), keyring: Arc::new(|| None) }
    }
}

/// Answers requests about one project. Clones are the same server.
#[derive(Clone)]
pub struct HostServer {
    workspace: Arc<Workspace>,
    tools: Toolset,
    skills: Skills,
    /// Held by the one request that stages changes.
    writing: Arc<Mutex<()>>,
}

impl HostServer {
    pub fn new(workspace: Arc<Workspace>, settings: HostSettings) -> Self {
        let HostSettings { tools, keyring } = settings;
        let skills = Skills { workspace: Arc::clone(&workspace), keyring };
        Self { workspace, tools, skills, writing: Arc::default() }
    }

    /// Carries out one request.
    pub async fn handle(&self, envelope: Envelope) -> Answer {
        if envelope.v != VERSION {
            let message = format!("version {} of the envelope is not spoken here", envelope.v);
            let error = HostError::new(ErrorCode::UnsupportedVersion, message);
            return Answer::new(envelope.request_id, Err(error.hint(format!("use version {VERSION}"))));
        }
        let Some(command) = CommandName::parse(&envelope.command) else {
            let shown: String = envelope.command.chars().take(80).collect();
            let error = HostError::new(ErrorCode::UnknownCommand, format!("there is no command `{shown}`"))
                .hint("`host.commands` lists them");
            return Answer::new(envelope.request_id, Err(error));
        };
        let routed = AssertUnwindSafe(self.route(command, envelope.payload)).catch_unwind().await;
        let internal =
            |_| Err(HostError::new(ErrorCode::Internal, format!("`{}` panicked", command.as_str())));
        Answer::new(envelope.request_id, routed.unwrap_or_else(internal))
    }

    /// Answers lines until the input ends and every answer is written.
    pub async fn serve_streams(
        &self,
        input: impl AsyncRead + Send + Unpin,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ServerError> {
        let output = Arc::new(Mutex::new(output));
        let room = Arc::new(Semaphore::new(MAX_AT_ONCE));
        let mut at_work: JoinSet<std::io::Result<()>> = JoinSet::new();
        let mut lines = Lines::new(input, MAX_LINE_BYTES);
        let failed = |error: std::io::Error| ServerError::Connection { reason: error.to_string() };
        while let Some(line) = lines.next().await.map_err(failed)? {
            // Whoever no longer reads answers gets no more.
            while let Some(written) = at_work.try_join_next() {
                written
                    .map_err(|error| ServerError::Connection { reason: error.to_string() })?
                    .map_err(failed)?;
            }
            let request = match line {
                Line::Whole(bytes) if bytes.trim_ascii().is_empty() => continue,
                Line::Whole(bytes) => read_line(&bytes),
                Line::TooLong => Err(Box::new(too_long())),
            };
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
            let (server, output) = (self.clone(), Arc::clone(&output));
            at_work.spawn(async move {
                let _permit = permit;
                let answer = match request {
                    Ok(envelope) => server.handle(envelope).await,
                    Err(answer) => *answer,
                };
                let mut line = serde_json::to_vec(&answer)?;
                line.push(b'\n');
                let mut output = output.lock().await;
                output.write_all(&line).await?;
                output.flush().await
            });
        }
        while let Some(written) = at_work.join_next().await {
            written
                .map_err(|error| ServerError::Connection { reason: error.to_string() })?
                .map_err(failed)?;
        }
        Ok(())
    }

    /// Answers the program that started this process, over its standard input and output.
    pub async fn serve_stdio(&self) -> Result<(), ServerError> {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        self.serve_streams(input, output).await
    }

    async fn route(&self, command: CommandName, payload: Json) -> Result<Json, HostError> {
        let workspace = Arc::clone(&self.workspace);
        let skills = self.skills.clone();
        match command {
            CommandName::HostCommands => {
                let _: Nothing = read(payload)?;
                let commands = CommandName::ALL.iter().map(|command| command.describe()).collect();
                told(Commands { version: VERSION, commands })
            }
            CommandName::Check => blocking(payload, move |wanted| work::check(&workspace, &wanted)).await,
            CommandName::Generate => {
                let wanted = read(payload)?;
                let _alone = self.writing.lock().await;
                told(work::generate(&workspace, self.tools.clone(), wanted).await?)
            }
            CommandName::ProposalList => {
                blocking(payload, move |wanted: ListProposals| Ok(work::list(&workspace, &wanted))).await
            }
            CommandName::ProposalShow => {
                blocking(payload, move |one: OneProposal| work::show(&workspace, &one.id)).await
            }
            CommandName::ProposalApprove => {
                blocking(payload, move |one: OneProposal| work::approve(&workspace, &one.id)).await
            }
            CommandName::ProposalReject => blocking(payload, move |one| work::reject(&workspace, one)).await,
            CommandName::ProposalRevert => {
                blocking(payload, move |one: OneProposal| work::revert(&workspace, &one.id)).await
            }
            CommandName::Feedback => {
                let record = move |feedback| {
                    record_feedback(&workspace, feedback)
                        .map_err(|error| HostError { code: ErrorCode::BadPayload, ..host_error(&error) })
                };
                blocking(payload, record).await
            }
            CommandName::SkillGenerate => {
                let wanted: GenerateSkill = read(payload)?;
                if !wanted.confirm {
                    return told(generation::preview(&workspace, &wanted).await?);
                }
                at_leisure(move || generation::confirm(&workspace, &wanted)).await
            }
            CommandName::SkillGenerateStatus => {
                blocking(payload, move |one: GenerationStatus| generation::status(&workspace, &one.skill_id))
                    .await
            }
            CommandName::SkillList => blocking(payload, move |_: Nothing| Ok(skills.list())).await,
            CommandName::SkillLoad => blocking(payload, move |one| skills.load(&one)).await,
            CommandName::SkillRead => blocking(payload, move |one| skills.read(&one)).await,
            CommandName::SkillSearch => blocking(payload, move |wanted| skills.search(&wanted)).await,
            CommandName::SkillInvoke => blocking(payload, move |wanted| skills.invoke(&wanted)).await,
            CommandName::SkillStatus => blocking(payload, move |wanted| skills.status(&wanted)).await,
            CommandName::SkillEnable => {
                blocking(payload, move |one: OneInstalled| skills.enable(&one.skill_id)).await
            }
            CommandName::SkillDisable => blocking(payload, move |one| skills.disable(&one)).await,
            CommandName::SkillQuarantine => blocking(payload, move |one| skills.quarantine(&one)).await,
            CommandName::SkillRollback => {
                blocking(payload, move |one: OneInstalled| skills.rollback(&one.skill_id)).await
            }
            CommandName::SkillRemove => {
                blocking(payload, move |one: OneInstalled| skills.remove(&one.skill_id)).await
            }
        }
    }
}

/// Does something that waits for a disk or a process, on a thread that may.
async fn blocking<Payload, Told>(
    payload: Json,
    work: impl FnOnce(Payload) -> Result<Told, HostError> + Send + 'static,
) -> Result<Json, HostError>
where
    Payload: DeserializeOwned + Send + 'static,
    Told: Serialize + Send + 'static,
{
    let payload = read(payload)?;
    at_leisure(move || work(payload)).await
}

async fn at_leisure<Told: Serialize + Send + 'static>(
    work: impl FnOnce() -> Result<Told, HostError> + Send + 'static,
) -> Result<Json, HostError> {
    let done = tokio::task::spawn_blocking(work).await;
    let internal = |_| Err(HostError::new(ErrorCode::Internal, "the command panicked"));
    told(done.unwrap_or_else(internal)?)
}

fn read<Payload: DeserializeOwned>(payload: Json) -> Result<Payload, HostError> {
    let payload = if payload.is_null() { Json::Object(serde_json::Map::new()) } else { payload };
    let wrong = |reason: &str| {
        HostError::new(ErrorCode::BadPayload, format!("the payload is not what the command takes: {reason}"))
            .hint("`host.commands` shows the schema of each payload")
    };
    if !payload.is_object() {
        return Err(wrong("it is no object"));
    }
    serde_json::from_value(payload).map_err(|error| wrong(&error.to_string()))
}

fn told(answer: impl Serialize) -> Result<Json, HostError> {
    serde_json::to_value(answer).map_err(|error| HostError::new(ErrorCode::Internal, error.to_string()))
}

fn too_long() -> Answer {
    let message = format!("the line has more than {MAX_LINE_BYTES} bytes");
    Answer::new("", Err(HostError::new(ErrorCode::TooLarge, message)))
}
