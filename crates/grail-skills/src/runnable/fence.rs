//! What a skill's program may touch, and the launcher that sees to it.
//!
//! The host forbids itself `unsafe`, so nothing can be done between fork and exec. Instead the program is started through a launcher, this same
//! binary with a hidden argument: it puts the walls up round itself and then becomes the program. Walls are inherited by everything the program
//! starts and cannot be taken down. Where a system lacks one the program runs without it, and [`FenceReport`] says which stand.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The first argument of a launcher.
pub const LAUNCHER_ARGUMENT: &str = "__skill-launcher";
/// What the launcher's one line on stderr begins with.
pub(crate) const REPORT_PREFIX: &str = "grail-fence: ";

/// What a program may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// Files and folders that may be read, and programs in them started.
    pub read: Vec<PathBuf>,
    /// Folders where everything is allowed.
    pub write: Vec<PathBuf>,
    pub network: bool,
    pub limits: Limits,
}

/// What a program may use up, each process on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub address_bytes: u64,
    pub file_bytes: u64,
    pub open_files: u64,
    /// Of the whole user, as the system counts them: far above what people run, far below what a fork bomb needs.
    pub processes: u64,
    pub processor_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            address_bytes: 8 << 30,
            file_bytes: 1 << 30,
            open_files: 1024,
            processes: 8192,
            processor_seconds: 300,
        }
    }
}

/// Which walls stand round a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceReport {
    /// Programs with special rights give it none.
    pub privileges: Wall,
    /// It reads and writes where it may, and nowhere else (Landlock).
    pub files: Wall,
    /// No network, unless it was allowed; in any case no sockets of other programs and no leaving the process group (seccomp).
    pub network: Wall,
    /// Memory, files, processes and processor time (resource limits).
    pub limits: Wall,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    Stands,
    /// The network, where it was asked for.
    Open,
    /// The system knows only a part of what was asked for.
    StandsInPart(String),
    Missing(String),
}

impl FenceReport {
    /// The report on a program that was started without a launcher.
    pub fn missing(reason: &str) -> Self {
        let missing = || Wall::Missing(reason.to_owned());
        Self { privileges: missing(), files: missing(), network: missing(), limits: missing() }
    }

    /// What is not as it should be, for people: the wall and the reason.
    pub fn gaps(&self) -> Vec<String> {
        let walls = [
            ("privileges", &self.privileges),
            ("files", &self.files),
            ("network", &self.network),
            ("limits", &self.limits),
        ];
        let gap = |(name, wall): (&str, &Wall)| match wall {
            Wall::Stands | Wall::Open => None,
            Wall::StandsInPart(reason) => Some(format!("{name} in part ({reason})")),
            Wall::Missing(reason) => Some(format!("{name} ({reason})")),
        };
        walls.into_iter().filter_map(gap).collect()
    }
}

/// What the launcher says on stderr before it becomes the program, or instead.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LauncherWord {
    Fenced(FenceReport),
    NotStarted(String),
}

/// The part of a fence that is not paths; paths are arguments of their own, because they need not be text.
#[derive(Serialize, Deserialize)]
struct Orders {
    read: usize,
    write: usize,
    network: bool,
    limits: Limits,
}

impl Fence {
    /// The arguments with which a launcher starts `program` behind this fence.
    pub(crate) fn launcher_arguments(&self, program: OsString, arguments: Vec<OsString>) -> Vec<OsString> {
        let orders = Orders {
            read: self.read.len(),
            write: self.write.len(),
            network: self.network,
            limits: self.limits,
        };
        let orders = serde_json::json!(orders).to_string();
        let paths = self.read.iter().chain(&self.write).map(|path| path.clone().into_os_string());
        let mut all = vec![LAUNCHER_ARGUMENT.into(), orders.into()];
        all.extend(paths);
        all.push(program);
        all.extend(arguments);
        all
    }

    /// The other side of [`Fence::launcher_arguments`], without the launcher's own argument.
    fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<(Self, Vec<OsString>)> {
        let orders: Orders = serde_json::from_str(arguments.next()?.to_str()?).ok()?;
        let mut take =
            |count: usize| -> Vec<PathBuf> { arguments.by_ref().take(count).map(PathBuf::from).collect() };
        let (read, write) = (take(orders.read), take(orders.write));
        let fence = Self { read, write, network: orders.network, limits: orders.limits };
        Some((fence, arguments.collect()))
    }
}

#[cfg(unix)]
pub use launcher::launch;

#[cfg(unix)]
mod launcher {
    //! The launcher's side. It runs in a process of its own, with one thread and nothing open but the standard streams.

    use std::ffi::OsString;
    use std::io::Write;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitCode};

    use super::{Fence, FenceReport, LauncherWord, Limits, REPORT_PREFIX, Wall};

    /// What a shell returns for a program that it cannot start.
    const CANNOT_START: u8 = 126;

    /// Puts up the walls that the arguments after [`super::LAUNCHER_ARGUMENT`] ask for and becomes the program. Returns if that fails.
    pub fn launch(arguments: impl Iterator<Item = OsString>) -> ExitCode {
        let Some((fence, program)) = Fence::from_arguments(arguments) else {
            return refuse("the launcher is started by Grail only");
        };
        let [program, arguments @ ..] = &program[..] else {
            return refuse("there is no program to start");
        };
        let report = put_up(&fence);
        tell(&LauncherWord::Fenced(report));
        let reason = Command::new(program).args(arguments).exec();
        refuse(&format!("`{}`: {reason}", program.display()))
    }

    fn refuse(reason: &str) -> ExitCode {
        tell(&LauncherWord::NotStarted(reason.to_owned()));
        ExitCode::from(CANNOT_START)
    }

    /// Who started us may be gone; the program then finds its input closed.
    fn tell(word: &LauncherWord) {
        let line = format!("{REPORT_PREFIX}{}\n", serde_json::json!(word));
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn put_up(fence: &Fence) -> FenceReport {
        end_with_host();
        // Landlock opens the folders it allows, and the limit on open files would be in its way.
        let privileges = forbid_new_privileges();
        let files = close_files(fence);
        let limits = limit_resources(&fence.limits);
        let network = close_calls(fence.network);
        FenceReport { privileges, files, network, limits }
    }

    fn from_result<E: ToString>(result: Result<(), E>) -> Wall {
        match result {
            Ok(()) => Wall::Stands,
            Err(reason) => Wall::Missing(reason.to_string()),
        }
    }

    /// A host that is killed cannot end its programs any more. The host starts them from a thread that lives as long as they do.
    fn end_with_host() {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }

    #[cfg(target_os = "linux")]
    fn forbid_new_privileges() -> Wall {
        from_result(rustix::thread::set_no_new_privs(true))
    }

    #[cfg(target_os = "linux")]
    fn close_files(fence: &Fence) -> Wall {
        use landlock::{
            ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
            path_beneath_rules,
        };
        // Everything this version of the library can name; the kernel's own version decides what it enforces.
        let newest = ABI::V6;
        let read = AccessFs::from_read(newest);
        let write = AccessFs::from_all(newest) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let devices = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
        let restricted = Ruleset::default()
            .handle_access(AccessFs::from_all(newest))
            .and_then(|rules| rules.scope(Scope::from_all(newest)))
            .and_then(|rules| rules.create())
            // What does not exist on this system is left out.
            .and_then(|rules| rules.add_rules(path_beneath_rules(&fence.read, read)))
            .and_then(|rules| rules.add_rules(path_beneath_rules(&fence.write, write)))
            .and_then(|rules| rules.add_rules(path_beneath_rules(devices, AccessFs::from_file(newest))))
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

    fn limit_resources(limits: &Limits) -> Wall {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limits = [
            ("core", Resource::Core, 0),
            ("addresses", Resource::As, limits.address_bytes),
            ("file size", Resource::Fsize, limits.file_bytes),
            ("open files", Resource::Nofile, limits.open_files),
            ("processes", Resource::Nproc, limits.processes),
            ("processor time", Resource::Cpu, limits.processor_seconds),
        ];
        let failed: Vec<_> = limits
            .iter()
            .filter_map(|&(name, resource, most)| {
                // Nobody may raise what was lowered before.
                let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
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
    fn close_calls(network: bool) -> Wall {
        match filter_calls(network) {
            Ok(()) if network => Wall::Open,
            Ok(()) => Wall::Stands,
            Err(reason) => Wall::Missing(reason),
        }
    }

    /// Landlock knows connections over TCP only; without sockets there is no way out at all. Calls that look into other processes, the kernel's
    /// keys or new namespaces are refused as well: no skill needs them.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn filter_calls(network: bool) -> Result<(), String> {
        use std::collections::BTreeMap;

        use seccompiler::{
            BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
            SeccompRule, apply_filter,
        };

        let text = |error: seccompiler::BackendError| error.to_string();
        let refused = [
            libc::SYS_add_key,
            libc::SYS_bpf,
            // Its operations include sockets, which no filter sees.
            libc::SYS_io_uring_setup,
            libc::SYS_keyctl,
            libc::SYS_mount,
            libc::SYS_perf_event_open,
            libc::SYS_pivot_root,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_ptrace,
            libc::SYS_request_key,
            libc::SYS_setns,
            // Whoever leaves the group would not be ended with it.
            libc::SYS_setpgid,
            libc::SYS_setsid,
            libc::SYS_umount2,
            libc::SYS_unshare,
            libc::SYS_userfaultfd,
        ];
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            refused.into_iter().map(|call| (call, Vec::new())).collect();
        let sockets = if network {
            // Agents for keys, containers and desktops listen on these; the network does not.
            let is_local =
                SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::AF_UNIX as u64);
            vec![is_local.and_then(|condition| SeccompRule::new(vec![condition])).map_err(text)?]
        } else {
            Vec::new()
        };
        rules.insert(libc::SYS_socket, sockets);
        let architecture = std::env::consts::ARCH.try_into().map_err(text)?;
        let answer = SeccompAction::Errno(libc::EPERM as u32);
        let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture)
            .and_then(TryInto::try_into)
            .map_err(text)?;
        apply_filter(&program).map_err(|error| error.to_string())
    }

    #[cfg(not(target_os = "linux"))]
    fn forbid_new_privileges() -> Wall {
        absent()
    }

    #[cfg(not(target_os = "linux"))]
    fn close_files(_: &Fence) -> Wall {
        absent()
    }

    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fn close_calls(_: bool) -> Wall {
        absent()
    }

    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fn absent() -> Wall {
        Wall::Missing("this system has no such wall".to_owned())
    }
}
