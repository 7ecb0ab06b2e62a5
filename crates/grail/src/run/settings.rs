//! Everything a run of the command line may see, as data: it is kept beside a paused run, so that another process can go on with it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use grail_project::Project;
use grail_sandbox::{
    Access, Context, FileAccess, Files, Mount, Policies, PolicyError, Redactor, ResolvedPolicy,
    ResourceGuard, SandboxError, Schema, WorkerConfig, Workers,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::toolfile::read_tools;
use crate::render::Failure;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Composed: the strictest of all.
    pub(crate) policies: Vec<String>,
    pub(crate) limits: ResourceGuard,
    pub(crate) tools_file: Option<PathBuf>,
    /// Those of the tools that the script declares; all of them if it declares nothing.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) input_schema: Option<Json>,
    pub(crate) output_schema: Option<Json>,
    /// Inputs are variables of their own, too.
    pub(crate) names: bool,
    /// Inputs that are not shown in what is written down about the run.
    #[serde(default)]
    pub(crate) secrets: Vec<String>,
    pub(crate) mounts: Vec<MountOption>,
}

/// `HOST:VIRTUAL[:ro|rw|cow]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountOption {
    host: PathBuf,
    path: String,
    access: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Ro,
    Rw,
    Cow,
}

/// How a run speaks while it goes.
#[derive(Clone, Default)]
pub(crate) struct Speech {
    pub(crate) debug: bool,
    pub(crate) live: Option<LivePrinter>,
}

/// Is given printed output as it comes.
pub(crate) type LivePrinter = Arc<dyn Fn(&str) + Send + Sync>;

impl Settings {
    pub(crate) fn policy(&self, project: &Project) -> anyhow::Result<ResolvedPolicy> {
        let policies = Policies::from_toml(&project.config.policies).map_err(policy_failure)?;
        let base = project.config.sandbox.policy.as_deref().unwrap_or("default");
        let names: Vec<&str> = self.policies.iter().map(String::as_str).collect();
        let names = if names.is_empty() { vec![base] } else { names };
        let policy = policies.compose(&names).map_err(policy_failure)?;
        policy.tighten(&self.limits).map_err(policy_failure)
    }

    /// Starts workers from this very program.
    pub(crate) async fn context(&self, project: &Project, speech: &Speech) -> anyhow::Result<Context> {
        let policy = self.policy(project)?;
        let mut builder = Context::builder();
        if self.names {
            builder = builder.inputs_as_names();
        }
        if let Some(schema) = &self.input_schema {
            builder = builder
                .input_schema(Schema::from_json(schema.clone()).map_err(|error| sandbox_failure(&error))?);
        }
        if let Some(schema) = &self.output_schema {
            builder = builder
                .output_schema(Schema::from_json(schema.clone()).map_err(|error| sandbox_failure(&error))?);
        }
        if let Some(file) = &self.tools_file {
            let tools = read_tools(file, policy.limits.tool_timeout)?;
            if let Some(missing) = self.tools.iter().flatten().find(|name| tools.get(name).is_none()) {
                return Err(missing_tool(missing, &tools.names().join("`, `")).into());
            }
            builder = builder.tools(match &self.tools {
                Some(names) => tools.filter(|tool| names.iter().any(|name| name == tool.name())),
                None => tools,
            });
        } else if let Some(missing) = self.tools.iter().flatten().next() {
            return Err(missing_tool(missing, "").into());
        }
        builder = builder.files(self.files(&policy)?).policy(policy);
        if !self.secrets.is_empty() {
            let named = |redactor: Redactor, name: &String| redactor.secret_name(name);
            builder = builder.redactor(self.secrets.iter().fold(Redactor::default(), named));
        }
        if speech.debug {
            builder = builder.debug();
        }
        if let Some(live) = speech.live.clone() {
            builder = builder.on_print(move |text| live(text));
        }
        let program = std::env::current_exe()?;
        let workers = Workers::start(WorkerConfig { most: 1, ..WorkerConfig::new(program) })
            .await
            .map_err(|error| sandbox_failure(&error))?;
        builder.build(workers).map_err(|error| sandbox_failure(&error))
    }

    /// A word on each mount that the policy makes less of than was asked for.
    pub(crate) fn weakened_mounts(&self, policy: &ResolvedPolicy) -> Vec<String> {
        let writable = self.mounts.iter().filter(|mount| mount.access == Mode::Rw);
        let kept = match policy.files {
            FileAccess::Write | FileAccess::None => return Vec::new(),
            FileAccess::Read => "makes it read-only",
            FileAccess::Overlay => "keeps writes in memory",
        };
        writable
            .map(|mount| format!("`{}` is mounted `rw`, but policy `{}` {kept}", mount.path, policy.name()))
            .collect()
    }

    fn files(&self, policy: &ResolvedPolicy) -> anyhow::Result<Files> {
        let mut files = Files::none();
        for mount in &self.mounts {
            let access = match mount.access {
                Mode::Ro => Access::ReadOnly,
                Mode::Rw => Access::ReadWrite,
                Mode::Cow => Access::CopyOnWrite,
            };
            files = files
                .mount(Mount::new(mount.path.as_str(), &mount.host, access))
                .map_err(|error| sandbox_failure(&error))?;
        }
        if !self.mounts.is_empty() && policy.files == FileAccess::None {
            return Err(Failure::with_hint(
                format!("policy `{}` allows no files, so nothing can be mounted", policy.name()),
                "leave `--mount` out, or choose another `--policy`",
            )
            .into());
        }
        Ok(files)
    }
}

impl MountOption {
    /// A paused run is resumed from anywhere, so its host folders are remembered in full.
    pub(crate) fn absolute(mut self) -> Self {
        if let Ok(path) = std::fs::canonicalize(&self.host) {
            self.host = path;
        }
        self
    }
}

impl FromStr for MountOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (place, access) = match text.rsplit_once(':') {
            Some((place, "ro")) => (place, Mode::Ro),
            Some((place, "rw")) => (place, Mode::Rw),
            Some((place, "cow")) => (place, Mode::Cow),
            _ => (text, Mode::Ro),
        };
        match place.rsplit_once(':') {
            Some((host, path)) if !host.is_empty() && path.starts_with('/') => {
                Ok(Self { host: Path::new(host).to_owned(), path: path.to_owned(), access })
            }
            _ => Err("expected HOST:/VIRTUAL, then `:ro`, `:rw` or `:cow` if you like".to_owned()),
        }
    }
}

pub(crate) fn sandbox_failure(error: &SandboxError) -> anyhow::Error {
    match error {
        SandboxError::Policy(error) => policy_failure(error.clone()),
        SandboxError::Approval(error) => {
            let hint = error.hint().map(str::to_owned);
            Failure { message: error.to_string(), snippet: None, hint }.into()
        }
        other => Failure::new(other.to_string()).into(),
    }
}

fn policy_failure(error: PolicyError) -> anyhow::Error {
    let hint = error.hint();
    Failure { message: error.to_string(), snippet: None, hint }.into()
}

fn missing_tool(name: &str, existing: &str) -> Failure {
    let hint = if existing.is_empty() {
        "give a tools file with `--tools`".to_owned()
    } else {
        format!("the tools file has `{existing}`")
    };
    Failure::with_hint(format!("the script declares the tool `{name}`, which it was not given"), hint)
}
