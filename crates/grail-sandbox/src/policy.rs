//! Named limits and permissions; composed, the strictest wins.

use std::time::Duration;

/// What one run may use, after every layer has been applied. There is no "unlimited".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time the interpreter may spend executing; waiting for tools does not count.
    pub max_duration: Duration,
    /// Bytes the run may allocate in its worker.
    pub max_memory: u64,
    /// Depth of Python calls.
    pub max_recursion: u32,
    /// How often the run may stop to ask the host: tool calls, file calls, waits.
    pub max_suspensions: u32,
    /// Bytes of printed output that are kept; printing more ends the run.
    pub max_output: u64,
    /// Bytes of the result value.
    pub max_result: u64,
    /// Bytes of source.
    pub max_source: u64,
    /// Time the static check and the type check may take.
    pub check_timeout: Duration,
    /// Time one tool call may take.
    pub tool_timeout: Duration,
}
