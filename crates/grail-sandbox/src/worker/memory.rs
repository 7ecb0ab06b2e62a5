//! The most memory a session held, as far as a process can see its own.
//!
//! Two views, and the larger one counts: the bytes the allocator has handed out, which is exact but known only at the moments it is
//! looked at, and the kernel's high-water mark of resident pages, which misses nothing but counts reused pages as already there.
//!
//! The kernel takes longer to say its mark than a small program takes to run. It is not asked about sessions too short to have touched
//! much memory: pages cannot be cleared faster than the machine can write.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use monty_types::{BASELINE_MEMORY, LIVE_MEMORY};

/// In this time a processor clears a megabyte at most.
const TOO_SHORT: Duration = Duration::from_micros(50);

/// Descriptors into `/proc` are opened before the walls go up; elsewhere there are none and the allocator's view stands alone.
pub(super) struct Peak {
    /// Says the high-water mark, in nine microseconds.
    status: Option<File>,
    /// Says what is resident now, in one.
    now: Option<File>,
    /// Sets the mark back.
    reset: Option<File>,
    page_bytes: u64,
    resident_before: u64,
    seen: u64,
    /// Time spent in the session's turns before this one, and since when this one runs.
    worked: Duration,
    turn: Option<Instant>,
}

impl Peak {
    pub(super) fn open() -> Self {
        Self {
            status: File::open("/proc/self/status").ok(),
            now: File::open("/proc/self/statm").ok(),
            reset: OpenOptions::new().write(true).open("/proc/self/clear_refs").ok(),
            page_bytes: page_bytes(),
            resident_before: 0,
            seen: 0,
            worked: Duration::ZERO,
            turn: None,
        }
    }

    /// Between two sessions, when nobody waits for the worker.
    pub(super) fn begin_session(&mut self) {
        // `5` sets the mark back to what is resident now. Where that is forbidden the mark would be an older session's.
        let is_reset = self.reset.as_mut().is_some_and(|reset| reset.write_all(b"5").is_ok());
        let resident = if is_reset { self.resident() } else { None };
        self.resident_before = resident.unwrap_or(u64::MAX);
        self.seen = 0;
        self.worked = Duration::ZERO;
        self.turn = None;
    }

    pub(super) fn begin_turn(&mut self) {
        self.turn = Some(Instant::now());
    }

    pub(super) fn end_turn(&mut self) {
        self.worked = self.worked_so_far();
        self.turn = None;
    }

    /// Looks at the allocator only: a few nanoseconds.
    pub(super) fn sample(&mut self) -> u64 {
        let live =
            LIVE_MEMORY.load(Ordering::Relaxed).saturating_sub(BASELINE_MEMORY.load(Ordering::Relaxed));
        self.seen = self.seen.max(live as u64);
        self.seen
    }

    /// Asks the kernel too, if the session was long enough to matter: some microseconds.
    pub(super) fn measure(&mut self) -> u64 {
        if self.worked_so_far() < TOO_SHORT {
            return self.sample();
        }
        let mark = self.high_water_mark().unwrap_or(0);
        let resident = mark.saturating_sub(self.resident_before);
        self.seen = self.seen.max(resident);
        self.sample()
    }

    fn worked_so_far(&self) -> Duration {
        self.worked + self.turn.map_or(Duration::ZERO, |started| started.elapsed())
    }

    #[cfg(unix)]
    fn high_water_mark(&self) -> Option<u64> {
        high_water_mark_in(read(self.status.as_ref()?, &mut [0; 2048])?)
    }

    #[cfg(unix)]
    fn resident(&self) -> Option<u64> {
        let pages = resident_pages_in(read(self.now.as_ref()?, &mut [0; 128])?)?;
        pages.checked_mul(self.page_bytes)
    }

    #[cfg(not(unix))]
    fn high_water_mark(&self) -> Option<u64> {
        None
    }

    #[cfg(not(unix))]
    fn resident(&self) -> Option<u64> {
        None
    }
}

#[cfg(unix)]
fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(not(unix))]
fn page_bytes() -> u64 {
    0
}

/// The kernel's tables are written anew for whoever reads from their start.
#[cfg(unix)]
fn read<'a>(table: &File, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    use std::os::unix::fs::FileExt;
    let length = table.read_at(buffer, 0).ok()?;
    buffer.get(..length)
}

/// The number in `VmHWM:    1234 kB`.
fn high_water_mark_in(status: &[u8]) -> Option<u64> {
    let line = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    number(line.trim_ascii().strip_suffix(b" kB")?)?.checked_mul(1024)
}

/// The second of `statm`'s numbers.
fn resident_pages_in(statm: &[u8]) -> Option<u64> {
    number(statm.split(|&byte| byte == b' ').nth(1)?)
}

fn number(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{high_water_mark_in, resident_pages_in};

    #[test]
    fn the_kernels_tables_are_read() {
        let status = b"Name:\tcat\nVmHWM:\t    1792 kB\nVmRSS:\t 12 kB\n";
        assert_eq!(high_water_mark_in(status), Some(1792 * 1024));
        assert_eq!(high_water_mark_in(b"Name:\tcat\n"), None);
        assert_eq!(resident_pages_in(b"643 448 416 5 0 92 0\n"), Some(448));
        assert_eq!(resident_pages_in(b"643"), None);
    }
}
