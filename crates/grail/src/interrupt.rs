//! Ctrl-C while other tools run: they are in process groups of their own, which the terminal does not reach.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use grail_rules::tools::interruption;

/// Does some work with tools. The first Ctrl-C meanwhile ends the tools, and what they were to find out counts as not known; a second one
/// ends the program, as the first one does at any other time.
pub(crate) fn while_tools_run<T>(work: impl FnOnce() -> T) -> T {
    ENDS_PROGRAM.store(false, Ordering::SeqCst);
    let result = work();
    ENDS_PROGRAM.store(true, Ordering::SeqCst);
    result
}

/// Whether the next signal has its usual effect.
static ENDS_PROGRAM: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let ends_program = Arc::new(AtomicBool::new(true));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // Carried out in this order. Where they cannot be had, the program ends at once and its tools some time later.
        let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&ends_program));
        let _ = signal_hook::flag::register(signal, Arc::clone(interruption()));
        let _ = signal_hook::flag::register(signal, Arc::clone(&ends_program));
    }
    ends_program
});
