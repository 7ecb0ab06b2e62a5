//! From what the worker said, or did not say, to how the run ended.

use std::collections::VecDeque;

use monty_proto::pb;
use monty_types::{DictPairs, ExcType, MontyException, MontyObject, StackFrame};

use crate::outcome::{Crash, Ending, Frame, Limit, LimitHit, Raised, ToolFailure, Usage};
use crate::policy::Limits;
use crate::pool::Lost;
use crate::program::Program;
use crate::tool::ToolError;
use crate::value::Value;

/// A hundred thousand decimal digits.
const MAX_INTEGER_BITS: u64 = 332_193;

/// A traceback of a deep recursion is mostly repetition.
const MAX_FRAMES: usize = 50;

pub(super) fn value(object: MontyObject, limits: &Limits) -> Ending {
    let size = object.deep_host_size() as u64;
    if size > limits.max_result {
        return limit(
            Limit::ResultSize,
            format!("the result takes {size} bytes, the policy allows {}", limits.max_result),
        );
    }
    if has_endless_integer(std::slice::from_ref(&object)) {
        return limit(
            Limit::ResultSize,
            "the result holds an integer of more than a hundred thousand digits".to_owned(),
        );
    }
    Ending::Value { value: Value::from_monty(object) }
}

pub(super) fn too_large(message: String) -> Ending {
    limit(Limit::ResultSize, message)
}

pub(super) fn crashed(message: String) -> Ending {
    Ending::WorkerCrashed(Crash { message })
}

pub(super) fn lost(lost: Lost, limits: &Limits) -> Ending {
    match lost {
        Lost::Late => limit(
            Limit::Duration,
            format!(
                "the code ran longer than {:?} and did not notice; its worker was stopped",
                limits.max_duration
            ),
        ),
        Lost::Flooded => {
            limit(Limit::Output, format!("the code printed more than {} bytes", limits.max_output))
        }
        Lost::OutOfMemory => {
            limit(Limit::Memory, format!("the code needed more than {} bytes of memory", limits.max_memory))
        }
        Lost::TooLarge(message) => too_large(message),
        Lost::Crashed(message) => crashed(message),
    }
}

/// Tells limits and failed tools from exceptions of the code itself.
pub(super) fn raised(
    error: pb::Error,
    program: &Program,
    script: &str,
    failures: &VecDeque<(String, ToolError)>,
    usage: &Usage,
    limits: &Limits,
) -> Ending {
    let exception = error.exception.and_then(|exception| MontyException::try_from(exception).ok());
    let Some(exception) = exception else {
        return crashed("the worker reported an error that cannot be read".to_owned());
    };
    let traceback = frames(exception.traceback(), program, script);
    let message = exception.message().unwrap_or_default().to_owned();
    let class = exception.exc_type().to_string();
    let failed =
        failures.iter().rev().find(|(_, error)| error.exception == class && error.message == message);
    if let Some((tool, _)) = failed {
        return Ending::ToolFailed(ToolFailure { tool: tool.clone(), exception: class, message, traceback });
    }
    // The interpreter hits a limit in the middle of something; code that raises the like itself only pretends.
    let is_raised_by_code = traceback.last().is_some_and(|frame| frame.source.starts_with("raise"));
    let hit = match exception.exc_type() {
        _ if is_raised_by_code => None,
        // The interpreter's own clock says so too: code that merely raises a `TimeoutError` is not over its limit.
        ExcType::TimeoutError
            if message.starts_with("time limit exceeded") && usage.executing >= limits.max_duration =>
        {
            Some((Limit::Duration, format!("the code ran longer than {:?}", limits.max_duration)))
        }
        ExcType::MemoryError if message.starts_with("memory limit exceeded") => {
            Some((Limit::Memory, format!("the code needed more than {} bytes of memory", limits.max_memory)))
        }
        ExcType::RecursionError if message.starts_with("maximum recursion depth exceeded") => {
            Some((Limit::Recursion, format!("calls nested deeper than {}", limits.max_recursion)))
        }
        ExcType::RuntimeError if message.starts_with("result frame of ") => {
            Some((Limit::ResultSize, message.clone()))
        }
        _ => None,
    };
    if let Some((limit, message)) = hit {
        return Ending::LimitHit(LimitHit { limit, message, traceback });
    }
    Ending::Raised(Raised { exception: class, message, traceback })
}

/// Whether an integer in there would take the host seconds to write in decimal. Python itself refuses far earlier.
pub(super) fn has_endless_integer(objects: &[MontyObject]) -> bool {
    objects.iter().any(|object| match object {
        MontyObject::BigInt(number) => number.bits() > MAX_INTEGER_BITS,
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items)
        | MontyObject::NamedTuple { values: items, .. } => has_endless_integer(items),
        MontyObject::Dict(pairs) => any_endless(pairs),
        MontyObject::ClassInstance(instance) => any_endless(&instance.attrs),
        _ => false,
    })
}

fn any_endless(pairs: &DictPairs) -> bool {
    pairs.iter().any(|(key, value)| {
        has_endless_integer(std::slice::from_ref(key)) || has_endless_integer(std::slice::from_ref(value))
    })
}

fn limit(limit: Limit, message: String) -> Ending {
    Ending::LimitHit(LimitHit { limit, message, traceback: Vec::new() })
}

/// Frames in the user's own lines and columns. Of a very long traceback the ends are kept.
fn frames(traceback: &[StackFrame], program: &Program, script: &str) -> Vec<Frame> {
    let convert = |frame: &StackFrame| {
        // A session's earlier snippets are called otherwise, and their text is gone.
        let (line, column, source) = if frame.filename == script {
            (frame.start.line, frame.start.column, program.original_line(frame.start.line))
        } else {
            (frame.start.line, frame.start.column, frame.preview_line.as_deref().unwrap_or_default())
        };
        let function = frame.frame_name.clone().filter(|name| name != "<module>");
        Frame { function, line, column, source: source.trim().to_owned() }
    };
    if traceback.len() <= MAX_FRAMES {
        return traceback.iter().map(convert).collect();
    }
    let (first, last) = (&traceback[..MAX_FRAMES / 2], &traceback[traceback.len() - MAX_FRAMES / 2..]);
    first.iter().chain(last).map(convert).collect()
}
