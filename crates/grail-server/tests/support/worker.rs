//! What the tests start in other processes: a worker of the sandbox, or the launcher of a skill. As in `grail`, the first argument says which.

use std::process::ExitCode;

use grail_sandbox::worker;

/// Makes the memory limit real.
#[global_allocator]
static ALLOCATOR: worker::LimitedAllocator = worker::LimitedAllocator;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        #[cfg(unix)]
        Some(first) if first == grail_skills::runnable::fence::LAUNCHER_ARGUMENT => {
            grail_skills::runnable::fence::launch(arguments)
        }
        _ => worker::serve(),
    }
}
