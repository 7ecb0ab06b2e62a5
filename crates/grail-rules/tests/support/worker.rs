//! The worker that the tests of rules in Python start: the sandbox's own, and nothing besides.

use std::process::ExitCode;

use grail_sandbox::worker;

/// Makes the memory limit real.
#[global_allocator]
static ALLOCATOR: worker::LimitedAllocator = worker::LimitedAllocator;

fn main() -> ExitCode {
    worker::serve()
}
