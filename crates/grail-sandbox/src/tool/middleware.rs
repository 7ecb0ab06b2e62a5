//! What may happen around a tool call: logging, counting, caching, a limit on its rate, another try.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Call, Tool, ToolError};
use crate::observe::{Metrics, count_tool_call};
use crate::value::Value;

/// Something round a tool call. It may change the call, answer it alone, or pass it on with [`Next::run`].
pub trait Middleware: Send + Sync + fmt::Debug {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Result<Value, ToolError>>;
}

/// The rest of the way to the tool.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    pub(super) middleware: &'a [Arc<dyn Middleware>],
    pub(super) tool: &'a Tool,
}

/// Writes a `tracing` event for each call: its tool, how long it took, whether it failed. Arguments are not written.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogCalls;

/// Counts calls and failures and records durations.
#[derive(Clone)]
pub struct CountCalls {
    metrics: Arc<dyn Metrics>,
}

/// Answers a repeated call from memory. Failures are not kept.
#[derive(Debug)]
pub struct CacheResults {
    kept: Mutex<HashMap<String, Value>>,
    most: usize,
}

/// Lets so many calls through in a span of time; the others fail.
#[derive(Debug)]
pub struct LimitRate {
    most: usize,
    within: Duration,
    recent: Mutex<Vec<Instant>>,
}

/// Tries a failed call again, waiting longer each time.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    attempts: u32,
    first_wait: Duration,
}

impl CountCalls {
    pub fn new(metrics: Arc<dyn Metrics>) -> Self {
        Self { metrics }
    }
}

impl CacheResults {
    /// Keeps at most `most` results.
    pub fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), most }
    }
}

impl LimitRate {
    pub fn new(most: usize, within: Duration) -> Self {
        Self { most, within, recent: Mutex::default() }
    }
}

impl Retry {
    /// `attempts` in all, at least one.
    pub fn new(attempts: u32, first_wait: Duration) -> Self {
        Self { attempts: attempts.max(1), first_wait }
    }
}

impl Middleware for LogCalls {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let tool = call.tool.clone();
            let started = Instant::now();
            let answer = next.run(call).await;
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            tracing::info!(tool, micros, failed = answer.is_err(), "tool call");
            answer
        }
        .boxed()
    }
}

impl Middleware for CountCalls {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let tool = call.tool.clone();
            let started = Instant::now();
            let answer = next.run(call).await;
            count_tool_call(self.metrics.as_ref(), &tool, answer.is_err(), started.elapsed());
            answer
        }
        .boxed()
    }
}

impl Middleware for CacheResults {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let key = format!("{}{:?}{:?}", call.tool, call.arguments, call.keywords);
            if let Some(value) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
                return Ok(value.clone());
            }
            let value = next.run(call).await?;
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < self.most {
                kept.insert(key, value.clone());
            }
            Ok(value)
        }
        .boxed()
    }
}

impl Middleware for LimitRate {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            {
                let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
                let now = Instant::now();
                recent.retain(|earlier| now.duration_since(*earlier) < self.within);
                if recent.len() >= self.most {
                    let message =
                        format!("`{}` may be called {} times in {:?}", call.tool, self.most, self.within);
                    return Err(ToolError::failed(message));
                }
                recent.push(now);
            }
            next.run(call).await
        }
        .boxed()
    }
}

impl Middleware for Retry {
    fn call<'a>(&'a self, call: Call, next: Next<'a>) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let mut wait = self.first_wait;
            for _ in 1..self.attempts {
                match next.run(call.clone()).await {
                    Ok(value) => return Ok(value),
                    Err(_) => tokio::time::sleep(wait).await,
                }
                wait = wait.saturating_mul(2);
            }
            next.run(call).await
        }
        .boxed()
    }
}

impl fmt::Debug for CountCalls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CountCalls")
    }
}
