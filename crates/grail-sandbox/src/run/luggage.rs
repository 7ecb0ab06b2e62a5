//! What travels with a paused run besides the engine's own dump: what it has used, printed and is still waiting for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{PendingCall, Run};
use crate::outcome::Usage;
use crate::tool::{Call, ToolError};
use crate::value::PackedValue;

/// What a run needs besides the engine's own dump to go on elsewhere.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Luggage {
    executing_micros: u64,
    elapsed_micros: u64,
    peak_memory: u64,
    tool_calls: u32,
    suspensions: u32,
    feeds: u32,
    printed: String,
    waiting: Vec<WireCall>,
    ready: Vec<WireAnswer>,
    failures: Vec<(String, String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireCall {
    id: u32,
    tool: String,
    arguments: Vec<PackedValue>,
    keywords: Vec<(String, PackedValue)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireAnswer {
    id: u32,
    tool: String,
    /// The value, or the exception's class and message.
    answer: Result<PackedValue, (String, String)>,
}

impl Run {
    pub(crate) fn luggage(&self) -> Luggage {
        let waiting = self.waiting.iter().map(|pending| WireCall {
            id: pending.id,
            tool: pending.call.tool.clone(),
            arguments: pending.call.arguments.iter().map(PackedValue::pack).collect(),
            keywords: pending
                .call
                .keywords
                .iter()
                .map(|(name, value)| (name.clone(), PackedValue::pack(value)))
                .collect(),
        });
        let ready = self.ready.iter().map(|(id, tool, answer)| WireAnswer {
            id: *id,
            tool: tool.clone(),
            answer: match answer {
                Ok(value) => Ok(PackedValue::pack(value)),
                Err(error) => Err((error.exception.clone(), error.message.clone())),
            },
        });
        Luggage {
            executing_micros: micros(self.usage.executing),
            elapsed_micros: micros(self.elapsed()),
            peak_memory: self.prints.peak_memory,
            tool_calls: self.usage.tool_calls,
            suspensions: self.usage.suspensions,
            feeds: self.feeds,
            printed: self.prints.text.clone(),
            waiting: waiting.collect(),
            ready: ready.collect(),
            failures: self
                .failures
                .iter()
                .map(|(tool, error)| (tool.clone(), error.exception.clone(), error.message.clone()))
                .collect(),
        }
    }

    pub(crate) fn unpack(&mut self, luggage: Luggage) {
        self.usage = Usage {
            executing: Duration::from_micros(luggage.executing_micros),
            elapsed: Duration::from_micros(luggage.elapsed_micros),
            peak_memory: luggage.peak_memory,
            tool_calls: luggage.tool_calls,
            suspensions: luggage.suspensions,
        };
        self.feeds = luggage.feeds;
        self.prints.text = luggage.printed;
        self.prints.peak_memory = luggage.peak_memory;
        let failures = luggage.failures.into_iter();
        self.failures =
            failures.map(|(tool, exception, message)| (tool, ToolError { exception, message })).collect();
        let ready = luggage.ready.into_iter().map(|ready| {
            let answer = ready.answer.map(|value| value.unpack());
            (ready.id, ready.tool, answer.map_err(|(exception, message)| ToolError { exception, message }))
        });
        self.ready = ready.collect();
        let unpacked = luggage.waiting.into_iter().map(|call| PendingCall {
            id: call.id,
            awaited: true,
            call: Call {
                tool: call.tool,
                arguments: call.arguments.iter().map(PackedValue::unpack).collect(),
                keywords: call.keywords.into_iter().map(|(name, value)| (name, value.unpack())).collect(),
            },
        });
        self.waiting = unpacked.collect();
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
