//! Examples that are programs, run in the sandbox: what raises is no example.

use std::env;
use std::sync::{Mutex, PoisonError};

use grail_flywheel::curate::{ProgramRunner, Ran};
use grail_sandbox::{CallOptions, Context, Ending, Policies, Preset, Step, WorkerConfig, Workers};
use serde_json::Value as Json;
use tokio::runtime::{Builder, Runtime};

/// Runs programs one after the other, under the strictest policy. Workers are started with the first.
#[derive(Default)]
pub(super) struct SandboxedPrograms(Mutex<Option<Option<Ready>>>);

struct Ready {
    runtime: Runtime,
    context: Context,
}

impl ProgramRunner for SandboxedPrograms {
    fn run(&self, code: &str, tools: &[String]) -> Ran {
        // Tools answered when it was made; there is nobody to answer now. Code that imports something wants more than the sandbox has.
        if !tools.is_empty()
            || code.lines().any(|line| line.starts_with("import ") || line.starts_with("from "))
        {
            return Ran::CannotRun;
        }
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(ready) = ready.get_or_insert_with(start) else { return Ran::CannotRun };
        let step = ready.runtime.block_on(ready.context.run(code, Json::Null, &CallOptions::default()));
        let Step::Finished(outcome) = step else { return Ran::CannotRun };
        match outcome.ending {
            Ending::Value { .. } => Ran::Well,
            Ending::Raised(raised) => Ran::Failed(format!("{}: {}", raised.exception, raised.message)),
            Ending::LimitHit(_) => Ran::Failed("it hits the limits of the sandbox".to_owned()),
            _ => Ran::CannotRun,
        }
    }
}

fn start() -> Option<Ready> {
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let policy = Policies::default().resolve(Preset::Strict.name()).ok()?;
    let context = runtime.block_on(async {
        let workers = Workers::start(WorkerConfig::new(env::current_exe().ok()?)).await.ok()?;
        Context::builder().policy(policy).result_optional().build(workers).ok()
    })?;
    Some(Ready { runtime, context })
}
