//! Proof of the walls: a confined process tries to get out, and says how far it got.
//!
//! Every attempt is a process of its own, because the wall round system calls kills whoever touches it. Each wall is tried alone
//! too: behind all of them together, only the first one in the way would show.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use serde::Serialize;

use super::confine::{Confinement, Walls};
use super::{PROBE_ARGUMENT, on_big_stack, refuse};

type Attempt = fn() -> io::Result<()>;

/// What is tried, by name.
const ATTEMPTS: &[(&str, Attempt)] = &[
    ("read a file", || fs::File::open("/etc/passwd").map(drop)),
    ("list a directory", || fs::read_dir("/").map(drop)),
    ("make a directory", make_a_directory),
    ("open a port", || TcpListener::bind("127.0.0.1:0").map(drop)),
    ("start a program", start_a_program),
    ("signal the parent", signal_the_parent),
];

const WALLS: &[(&str, Walls)] = &[
    ("none", Walls::NONE),
    ("files", Walls { files: true, ..Walls::NONE }),
    ("limits", Walls { limits: true, ..Walls::NONE }),
    ("system-calls", Walls { system_calls: true, ..Walls::NONE }),
    ("all", Walls::ALL),
];

/// What the parent prints.
#[derive(Serialize)]
struct Report {
    confinement: serde_json::Value,
    /// By wall, then by attempt.
    attempts: BTreeMap<&'static str, BTreeMap<&'static str, String>>,
}

pub(super) fn report() -> ExitCode {
    let mut report = Report { confinement: serde_json::Value::Null, attempts: BTreeMap::new() };
    for &(walls, _) in WALLS {
        for &(attempt, _) in ATTEMPTS {
            match run_attempt(attempt, walls) {
                Ok((confinement, result)) => {
                    report.attempts.entry(walls).or_default().insert(attempt, result);
                    if walls == "all" {
                        report.confinement = confinement;
                    }
                }
                Err(error) => return refuse(&format!("cannot try to {attempt}: {error}")),
            }
        }
    }
    match serde_json::to_string_pretty(&report) {
        Ok(text) if writeln!(io::stdout(), "{text}").is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// In the child: confines itself as a worker does, then tries.
pub(super) fn attempt(attempt: &str, walls: &str) -> ExitCode {
    let found = ATTEMPTS.iter().find(|(name, _)| *name == attempt);
    let (Some(&(_, attempt)), Some(&(_, walls))) = (found, WALLS.iter().find(|(name, _)| *name == walls))
    else {
        return refuse("no such attempt or wall");
    };
    let confinement = Confinement::of_first_thread(walls);
    let started = on_big_stack(move || {
        let confinement = confinement.of_whole_process(walls);
        let told = serde_json::to_string(&confinement).unwrap_or_default();
        let mut output = io::stdout();
        let said = writeln!(output, "{told}").and_then(|()| output.flush());
        let result = match attempt() {
            Ok(()) => "allowed".to_owned(),
            Err(error) => format!("refused: {error}"),
        };
        match said.and_then(|()| write!(output, "{result}")).and_then(|()| output.flush()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    });
    match started {
        Ok(()) => loop {
            std::thread::park();
        },
        Err(error) => refuse(&format!("no thread: {error}")),
    }
}

fn run_attempt(attempt: &str, walls: &str) -> io::Result<(serde_json::Value, String)> {
    let program = std::env::current_exe()?;
    let output = Command::new(program)
        .args([PROBE_ARGUMENT, attempt, walls])
        .env_clear()
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (confinement, result) = text.split_once('\n').unwrap_or(("null", &text));
    let result = if output.status.success() { result.to_owned() } else { ending(output.status) };
    Ok((serde_json::from_str(confinement).unwrap_or_default(), result))
}

fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if status.signal() == Some(rustix::process::Signal::SYS.as_raw()) {
            return "killed".to_owned();
        }
    }
    format!("ended with {status}")
}

fn make_a_directory() -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("grail-probe-{}", std::process::id()));
    fs::create_dir(&path)?;
    fs::remove_dir(&path)
}

fn start_a_program() -> io::Result<()> {
    let program = if cfg!(windows) { "cmd.exe" } else { "/bin/true" };
    // With the streams it has: opening others would be another attempt.
    Command::new(program).spawn()?.wait().map(drop)
}

#[cfg(unix)]
fn signal_the_parent() -> io::Result<()> {
    let parent = rustix::process::getppid().ok_or(io::ErrorKind::NotFound)?;
    // Signal 0: asks whether a signal could be sent.
    Ok(rustix::process::test_kill_process(parent)?)
}

#[cfg(not(unix))]
fn signal_the_parent() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
