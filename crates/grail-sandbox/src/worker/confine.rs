//! The walls a worker puts round itself before it reads its first request.
//!
//! The interpreter already refuses files, sockets and processes; these walls hold if it has a bug. Each one stands on its own, and
//! where a system lacks one the worker serves without it: [`Confinement`] says which stand.
//!
//! No wall hides what the worker inherited: a host must start workers with nothing open but their pipes, as the standard library
//! and the engine's pool do.

use serde::Serialize;

/// Which walls stand round this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confinement {
    /// Programs with special rights give none to this process.
    pub privileges: Wall,
    /// No path can be opened, created, removed or executed, no port bound or connected (Landlock).
    pub files: Wall,
    /// No system call but those a computation needs; any other kills the process (seccomp).
    pub system_calls: Wall,
    /// No core dumps, files, descriptors or processes, and a bound on addresses (resource limits).
    pub limits: Wall,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    Stands,
    /// The system knows only a part of what was asked for.
    StandsInPart(String),
    Missing(String),
}

/// What to put up; anything but [`Walls::ALL`] is for proving that one wall holds without the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walls {
    pub(super) files: bool,
    pub(super) system_calls: bool,
    pub(super) limits: bool,
}

impl Walls {
    pub(super) const ALL: Self = Self { files: true, system_calls: true, limits: true };
    pub(super) const NONE: Self = Self { files: false, system_calls: false, limits: false };
}

impl Confinement {
    /// The walls that bind a thread and those it starts: put up while there is only one.
    pub(super) fn of_first_thread(walls: Walls) -> Self {
        let left_out = || Wall::Missing("not asked for".to_owned());
        Self {
            privileges: forbid_new_privileges(),
            files: if walls.files { close_files() } else { left_out() },
            system_calls: left_out(),
            limits: left_out(),
        }
    }

    /// The walls that would stop threads from starting: put up when all of them run.
    pub(super) fn of_whole_process(mut self, walls: Walls) -> Self {
        if walls.limits {
            self.limits = limit_resources();
        }
        if walls.system_calls {
            self.system_calls = close_system_calls();
        }
        self
    }
}

impl Wall {
    fn from_result<E: ToString>(result: Result<(), E>) -> Self {
        match result {
            Ok(()) => Self::Stands,
            Err(reason) => Self::Missing(reason.to_string()),
        }
    }
}

#[cfg(target_os = "linux")]
fn forbid_new_privileges() -> Wall {
    Wall::from_result(rustix::thread::set_no_new_privs(true))
}

#[cfg(target_os = "linux")]
fn close_files() -> Wall {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
    // Everything this version of the library can name; the kernel's own version decides what it enforces.
    let newest = ABI::V6;
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(newest))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(newest)))
        .and_then(|rules| rules.scope(Scope::from_all(newest)))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.restrict_self());
    match restricted.map(|status| status.ruleset) {
        Ok(RulesetStatus::FullyEnforced) => Wall::Stands,
        Ok(RulesetStatus::PartiallyEnforced) => {
            Wall::StandsInPart("this kernel's Landlock is an early one".to_owned())
        }
        Ok(RulesetStatus::NotEnforced) => Wall::Missing("this kernel has no Landlock".to_owned()),
        Err(reason) => Wall::Missing(reason.to_string()),
    }
}

/// Addresses a worker may map. Memory is limited exactly elsewhere; this only has to be above every such limit.
#[cfg(unix)]
const ADDRESS_BYTES: u64 = 1 << 38;

#[cfg(unix)]
fn limit_resources() -> Wall {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limits = [
        ("core", Resource::Core, 0),
        ("file size", Resource::Fsize, 0),
        // As many as it has from the start: with none at all it could not even wait for its input.
        ("open files", Resource::Nofile, 3),
        ("processes", Resource::Nproc, 0),
        ("addresses", Resource::As, ADDRESS_BYTES),
    ];
    let failed: Vec<_> = limits
        .iter()
        .filter_map(|&(name, resource, most)| {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            setrlimit(resource, limit).err().map(|reason| format!("{name}: {reason}"))
        })
        .collect();
    match failed.len() {
        0 => Wall::Stands,
        count if count == limits.len() => Wall::Missing(failed.join(", ")),
        _ => Wall::StandsInPart(failed.join(", ")),
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn close_system_calls() -> Wall {
    Wall::from_result(filter_system_calls())
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn filter_system_calls() -> Result<(), String> {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

    let text = |error: seccompiler::BackendError| error.to_string();
    // Memory and time, the two pipes, waiting, and an orderly end.
    let mut allowed = vec![
        libc::SYS_read,
        libc::SYS_pread64,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_ppoll,
        libc::SYS_futex,
        libc::SYS_munmap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_mremap,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_sched_yield,
        libc::SYS_restart_syscall,
        libc::SYS_rseq,
        libc::SYS_membarrier,
    ];
    #[cfg(target_arch = "x86_64")]
    allowed.push(libc::SYS_poll);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        allowed.into_iter().map(|call| (call, Vec::new())).collect();

    let only = |conditions: Vec<SeccompCondition>| SeccompRule::new(conditions).map(|rule| vec![rule]);
    let executable = libc::PROT_EXEC as u64;
    let own_process = u64::from(std::process::id());
    let narrow = || -> Result<_, seccompiler::BackendError> {
        // No memory becomes code.
        let no_code = || {
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(executable), 0)
                .and_then(|condition| only(vec![condition]))
        };
        // `abort` signals itself, and nobody else.
        let to_itself = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, own_process)?;
        // The standard library's own checks ask whether a descriptor is open before they close it.
        let is_open =
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::F_GETFD as u64)?;
        Ok([
            (libc::SYS_fcntl, only(vec![is_open])?),
            (libc::SYS_mmap, no_code()?),
            (libc::SYS_mprotect, no_code()?),
            (libc::SYS_tgkill, only(vec![to_itself])?),
        ])
    };
    rules.extend(narrow().map_err(text)?);

    // The C library opens a file to decide how to give back memory, and the standard library to count processors. Both do without.
    // Filters add up, and of two answers the kernel takes the harder one.
    let mut refused = vec![libc::SYS_openat, libc::SYS_sched_getaffinity];
    #[cfg(target_arch = "x86_64")]
    refused.push(libc::SYS_open);
    let refused: BTreeMap<i64, Vec<SeccompRule>> =
        refused.into_iter().map(|call| (call, Vec::new())).collect();
    rules.extend(refused.clone());

    // Any other attempt to leave is a crash, which the host reports, and never an error that the code could learn from.
    for (rules, otherwise, matched) in [
        (refused, SeccompAction::Allow, SeccompAction::Errno(libc::EACCES as u32)),
        (rules, SeccompAction::KillProcess, SeccompAction::Allow),
    ] {
        let architecture = std::env::consts::ARCH.try_into().map_err(text)?;
        let program: BpfProgram = SeccompFilter::new(rules, otherwise, matched, architecture)
            .and_then(TryInto::try_into)
            .map_err(text)?;
        apply_filter_all_threads(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn forbid_new_privileges() -> Wall {
    absent()
}

#[cfg(not(target_os = "linux"))]
fn close_files() -> Wall {
    absent()
}

#[cfg(not(unix))]
fn limit_resources() -> Wall {
    absent()
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn close_system_calls() -> Wall {
    absent()
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn absent() -> Wall {
    Wall::Missing("this system has no such wall".to_owned())
}
