//! From what the worker said, or did not say, to how the run ended.

use monty_proto::pb;
use monty_types::{ExcType, MontyException, MontyObject, StackFrame};

use crate::outcome::{Crash, Ending, Frame, Limit, LimitHit, Raised, ToolFailure, Usage};
use crate::policy::Limits;
use crate::pool::Lost;
use crate::program::Program;
use crate::tool::ToolError;
use crate::value::Value;

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
    failure: Option<&(String, ToolError)>,
    usage: &Usage,
    limits: &Limits,
) -> Ending {
    let exception = error.exception.and_then(|exception| MontyException::try_from(exception).ok());
    let Some(exception) = exception else {
        return crashed("the worker reported an error that cannot be read".to_owned());
    };
    let traceback = frames(exception.traceback(), program, script);
    let message = exception.message().unwrap_or_default().to_owned();
    let hit = match exception.exc_type() {
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
    let class = exception.exc_type().to_string();
    match failure {
        Some((tool, error)) if error.exception == class && error.message == message => {
            Ending::ToolFailed(ToolFailure { tool: tool.clone(), exception: class, message, traceback })
        }
        _ => Ending::Raised(Raised { exception: class, message, traceback }),
    }
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
