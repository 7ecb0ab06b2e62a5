//! The `grail` binary: a deep stack, quiet workers, and an exit code. Started with a hidden argument it is a worker of the sandbox, or puts a
//! fence round itself and becomes the program of a skill.

use std::process::ExitCode;
use std::thread;

use grail_sandbox::worker;
#[cfg(unix)]
use grail_skills::runnable::fence;

/// Makes the memory limit of sandboxed runs real, where this program is their worker.
#[global_allocator]
static ALLOCATOR: worker::LimitedAllocator = worker::LimitedAllocator;

/// Trees follow the nesting of the input; what cannot be a loop gets room instead.
const STACK_BYTES: usize = 64 * 1024 * 1024;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == worker::ARGUMENT) {
        return worker::serve();
    }
    #[cfg(unix)]
    if std::env::args_os().nth(1).is_some_and(|argument| argument == fence::LAUNCHER_ARGUMENT) {
        return fence::launch(std::env::args_os().skip(2));
    }
    silence_workers();
    let worker = thread::Builder::new().name("grail".to_owned()).stack_size(STACK_BYTES).spawn(grail::run);
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit.into(),
        // The panic message is on stderr already.
        Ok(Err(_)) => grail::Exit::CouldNotRun.into(),
        // No thread to be had: this one does it too.
        Err(_) => grail::run().into(),
    }
}

/// A panic while working on one file is reported as that file's error, not as noise in between.
fn silence_workers() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let is_worker = thread::current().name().is_some_and(|name| name.starts_with("grail-worker"));
        if !is_worker {
            default(info);
        }
    }));
}
