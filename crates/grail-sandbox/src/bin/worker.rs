//! A worker as a program of its own, for hosts that do not carry one inside themselves.

use std::process::ExitCode;

/// Makes the memory limit real: it counts every byte the worker asks for.
#[global_allocator]
static ALLOCATOR: monty_alloc::LimitedAllocator = monty_alloc::LimitedAllocator;

fn main() -> ExitCode {
    grail_sandbox::worker::serve()
}
