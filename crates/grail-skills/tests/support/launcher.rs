//! The launcher that the tests start skills with: as `grail` does, it only looks at its first argument.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        #[cfg(unix)]
        Some(first) if first == grail_skills::runnable::fence::LAUNCHER_ARGUMENT => {
            grail_skills::runnable::fence::launch(arguments)
        }
        _ => ExitCode::FAILURE,
    }
}
