//! What training ran on, as far as it explains how long it took. Nothing here names the machine or its owner.

use std::collections::BTreeMap;
use std::fs;

pub(super) fn describe() -> BTreeMap<String, String> {
    let mut machine = BTreeMap::new();
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            machine.insert(name.to_owned(), value);
        }
    };
    set("system", Some(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)));
    let cores = std::thread::available_parallelism().ok();
    set("cores", cores.map(|cores| cores.to_string()));
    set("processor", of_file("/proc/cpuinfo", "model name"));
    set("memory", of_file("/proc/meminfo", "MemTotal"));
    machine
}

/// `NAME: VALUE` of a file of the system, where there is one.
fn of_file(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(value.trim().chars().take(80).collect())
}
