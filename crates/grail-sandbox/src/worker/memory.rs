//! The most memory a session held, as far as a process can see its own.
//!
//! Two views, and the larger one counts: the bytes the allocator has handed out, which is exact but known only at the moments it is
//! looked at, and the kernel's high-water mark of resident pages, which misses nothing but counts reused pages as already there.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::Ordering;

use monty_types::{BASELINE_MEMORY, LIVE_MEMORY};

/// Descriptors into `/proc` are opened before the walls go up; elsewhere there are none and the allocator's view stands alone.
pub(super) struct Peak {
    status: Option<File>,
    reset: Option<File>,
    resident_before: u64,
    seen: u64,
}

impl Peak {
    pub(super) fn open() -> Self {
        Self {
            status: File::open("/proc/self/status").ok(),
            reset: OpenOptions::new().write(true).open("/proc/self/clear_refs").ok(),
            resident_before: 0,
            seen: 0,
        }
    }

    pub(super) fn begin_session(&mut self) {
        // `5` sets the high-water mark back to what is resident now. Where that is forbidden the mark would be an older session's.
        if let Some(reset) = &mut self.reset
            && reset.write_all(b"5").is_err()
        {
            self.status = None;
        }
        self.resident_before = self.high_water_mark().unwrap_or(u64::MAX);
        self.seen = 0;
    }

    /// Looks at the allocator only: a few nanoseconds.
    pub(super) fn sample(&mut self) -> u64 {
        let live =
            LIVE_MEMORY.load(Ordering::Relaxed).saturating_sub(BASELINE_MEMORY.load(Ordering::Relaxed));
        self.seen = self.seen.max(live as u64);
        self.seen
    }

    /// Asks the kernel too: some microseconds.
    pub(super) fn measure(&mut self) -> u64 {
        let resident = self.high_water_mark().unwrap_or(0).saturating_sub(self.resident_before);
        self.seen = self.seen.max(resident);
        self.sample()
    }

    #[cfg(unix)]
    fn high_water_mark(&self) -> Option<u64> {
        use std::os::unix::fs::FileExt;
        // Both must be there: a mark that was never set back tells about the whole life of the process.
        let (status, _) = (self.status.as_ref()?, self.reset.as_ref()?);
        let mut buffer = [0; 2048];
        let length = status.read_at(&mut buffer, 0).ok()?;
        high_water_mark_in(&buffer[..length])
    }

    #[cfg(not(unix))]
    fn high_water_mark(&self) -> Option<u64> {
        None
    }
}

/// The number in `VmHWM:    1234 kB`.
fn high_water_mark_in(status: &[u8]) -> Option<u64> {
    let line = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    let digits = line.iter().filter(|byte| byte.is_ascii_digit());
    let kibibytes =
        digits.fold(0_u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::high_water_mark_in;

    #[test]
    fn the_mark_is_read_from_the_kernels_table() {
        assert_eq!(
            high_water_mark_in(b"Name:\tcat\nVmHWM:\t    1792 kB\nVmRSS:\t 12 kB\n"),
            Some(1792 * 1024)
        );
        assert_eq!(high_water_mark_in(b"Name:\tcat\n"), None);
    }
}
