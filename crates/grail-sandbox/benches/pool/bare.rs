//! The engine's worker pool as it comes, with the engine's own worker program: no checks, no limits but its own.

use std::path::Path;

use monty_pool::{Pool, PoolConfig, ReplConfig, ResumeValue, TurnEvent, on_print_sync};
use monty_types::{MontyObject, NameLookupResult};

use crate::Times;
use crate::programs::PAUSING;

pub(crate) struct BarePool {
    pool: Pool,
}

impl BarePool {
    pub(crate) async fn start(program: &Path) -> Self {
        Self { pool: Pool::new(PoolConfig::subprocess(program)).await.expect("the engine's worker starts") }
    }

    pub(crate) async fn run(&self, code: impl AsRef<str>) -> MontyObject {
        self.run_with(code.as_ref(), &ReplConfig::default()).await
    }

    pub(crate) async fn run_with(&self, code: &str, config: &ReplConfig) -> MontyObject {
        let mut checkout = self.pool.checkout(config).await.expect("a worker");
        let mut print = on_print_sync(|_, _| {});
        let mut event = checkout.feed(code, Vec::new(), Vec::new(), false, &mut print).await.expect("a turn");
        loop {
            event = match event {
                TurnEvent::Complete(value) => {
                    checkout.finish().await.expect("a healthy worker");
                    return value;
                }
                TurnEvent::FunctionCall { args, .. } => {
                    checkout.resume(ResumeValue::Return(sum(&args)), &mut print).await.expect("a turn")
                }
                TurnEvent::NameLookup { name, .. } => {
                    checkout.resume_name_lookup(function(&name), &mut print).await.expect("a turn")
                }
                other => panic!("{other:?}"),
            };
        }
    }

    pub(crate) async fn dump_and_load(&self, times: &mut Times) {
        let mut print = on_print_sync(|_, _| {});
        let mut paused = self.pool.checkout(&ReplConfig::default()).await.expect("a worker");
        let mut event =
            paused.feed(PAUSING, Vec::new(), Vec::new(), false, &mut print).await.expect("a turn");
        while let TurnEvent::NameLookup { name, .. } = &event {
            event = paused.resume_name_lookup(function(name), &mut print).await.expect("a turn");
        }
        let started = std::time::Instant::now();
        let state = paused.dump().await.expect("a dump");
        let mut restored = self.pool.checkout(&ReplConfig::default()).await.expect("a worker");
        let (event, _) = restored.restore(state, Vec::new(), &mut print).await.expect("a restored run");
        times.0.push(started.elapsed());
        assert!(matches!(event, Some(TurnEvent::FunctionCall { .. })));
        restored.resume(ResumeValue::Return(MontyObject::Int(1)), &mut print).await.expect("a turn");
        restored.finish().await.expect("a healthy worker");
        paused.resume(ResumeValue::Return(MontyObject::Int(1)), &mut print).await.expect("a turn");
        paused.finish().await.expect("a healthy worker");
    }
}

fn sum(arguments: &[MontyObject]) -> MontyObject {
    let number = |object: &MontyObject| if let MontyObject::Int(number) = object { *number } else { 0 };
    MontyObject::Int(arguments.iter().map(number).sum())
}

fn function(name: &str) -> NameLookupResult {
    NameLookupResult::Value(MontyObject::Function { name: name.to_owned(), docstring: None })
}
