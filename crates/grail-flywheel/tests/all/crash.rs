//! Writers that are killed at any moment, and disks that are full: what was acknowledged is there, once, and nothing else but whole events.

#![cfg(unix)]
#![allow(clippy::print_stderr)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use grail_flywheel::log::{Filter, ReadProblemKind, forget_session};
use grail_flywheel::{EventKind, EventLog, read_events};

use crate::project::{Project, message, settings};

const WRITER: &str = env!("CARGO_BIN_EXE_grail-flywheel-test-writer");

#[test]
fn what_killed_writers_acknowledged_is_there() {
    crash(25);
}

/// `just crash-test` runs it.
#[test]
#[ignore = "kills thousands of processes"]
fn what_thousands_of_killed_writers_acknowledged_is_there() {
    let kills = std::env::var("GRAIL_CRASH_KILLS").ok().and_then(|kills| kills.parse().ok());
    crash(kills.unwrap_or(2000));
}

/// A writer, and its output as far as it was read.
struct Writer {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// Starts writers, two at a time on the same session, kills them in the middle of their work, and compares.
fn crash(kills: u64) {
    let project = Project::new();
    let mut acknowledged: BTreeSet<(String, u64)> = BTreeSet::new();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut killed = 0;
    while killed < kills {
        let session = format!("session-{}", chance.below(3));
        let sync = ["group", "group", "never", "always"][chance.below(4) as usize];
        let mut writers: Vec<(Writer, u64)> = (0..=chance.below(2))
            .map(|_| {
                killed += 1;
                (Writer::start(&project, &session, killed * 1_000_000, sync), chance.below(200))
            })
            .collect();
        for (writer, lines) in &mut writers {
            // After so many acknowledgements, at whatever the writer is doing then; sometimes before it has begun.
            let heard = writer.listen(*lines);
            acknowledged.extend(heard.into_iter().map(|number| (session.clone(), number)));
        }
        for (mut writer, _) in writers {
            writer.child.kill().unwrap();
            // What it had told before it died counts.
            let heard = writer.listen(u64::MAX);
            acknowledged.extend(heard.into_iter().map(|number| (session.clone(), number)));
            writer.child.wait().unwrap();
        }
    }
    let mut found = BTreeSet::new();
    for item in read_events(project.root(), &Filter::default()).unwrap() {
        match item {
            Ok(stored) => {
                let event = stored.event;
                assert_eq!(event.kind, EventKind::UserMessage { text: text_of(event.number) });
                assert!(found.insert((event.session, event.number)), "kept twice: {}", event.number);
            }
            // The last writer of a file may have died in the middle of a line.
            Err(problem) => assert_eq!(problem.kind, ReadProblemKind::Torn, "{problem}"),
        }
    }
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let torn = project.files().iter().filter(|name| name.starts_with("torn/")).count();
    eprintln!(
        "{killed} writers killed: {} events acknowledged, all there; {} whole ones beside them; {torn} torn lines set aside",
        acknowledged.len(),
        found.len() - acknowledged.len()
    );
}

impl Writer {
    fn start(project: &Project, session: &str, first: u64, sync: &str) -> Self {
        let mut child = Command::new(WRITER)
            .args(["stream", &project.root().to_string_lossy(), session, &first.to_string(), sync])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Numbers of events that it says are safe, at most so many.
    fn listen(&mut self, most: u64) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut line = String::new();
        while (numbers.len() as u64) < most && self.output.read_line(&mut line).unwrap() > 0 {
            // A last line may be cut short, and would name another number.
            if let Some(number) = line.strip_suffix('\n') {
                numbers.push(number.parse().unwrap());
            }
            line.clear();
        }
        numbers
    }
}

/// The same as in the writer.
fn text_of(number: u64) -> String {
    let length = match number % 40 {
        0 => 300_000,
        7 | 14 => 40_000,
        rest => 20 + 7 * rest,
    };
    format!("{number} ").chars().cycle().take(length as usize).collect()
}

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn two_processes_write_to_one_session_without_mixing_lines() {
    let project = Project::new();
    let mut writers: Vec<Child> = (0..2)
        .map(|_| {
            Command::new(WRITER)
                .args(["some", &project.root().to_string_lossy(), "ada", "40", "9000"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for writer in &mut writers {
        assert!(writer.wait().unwrap().success());
    }
    let mut numbers: Vec<u64> = read_events(project.root(), &Filter::default())
        .unwrap()
        .map(|item| item.unwrap().event.number)
        .collect();
    numbers.sort_unstable();
    let expected: Vec<u64> = (1..=40).flat_map(|number| [number, number]).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn a_session_is_forgotten_while_another_process_writes_it() {
    let project = Project::new();
    let mut writer = Writer::start(&project, "ada", 1, "group");
    writer.listen(100);
    let report = forget_session(project.root(), "ada").unwrap();
    assert!(report.events >= 100 && report.files == 1, "{report:?}");
    // It is refused from now on, and ends.
    writer.listen(u64::MAX);
    assert_eq!(writer.child.wait().unwrap().code(), Some(2));
    assert_eq!(project.files(), ["forgotten.jsonl"]);
    assert_eq!(project.told(), Vec::<String>::new());
}

/// A limit on the size of files fails a write in the middle, as a full disk does, and needs no rights.
#[test]
fn a_write_that_fails_in_the_middle_leaves_nothing_behind() {
    let project = Project::new();
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
    let root = project.root().to_string_lossy().into_owned();
    let output = Command::new("sh")
        .args(["-c", script, "sh", WRITER, "some", &root, "ada", "6", "3000"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    let kept = told.lines().take_while(|line| *line == "kept").count();
    assert!((1..6).contains(&kept), "{told}");
    let path = project.events().join("2026-11-16-ada.jsonl");
    for line in told.lines().skip(kept) {
        assert!(line.starts_with(&format!("`{}`: File too large", path.display())), "{line}");
    }
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.iter().filter(|byte| **byte == b'\n').count(), kept);
    assert!(whole.ends_with(b"\n"), "nothing is half written");
    // The trouble ends.
    let log = EventLog::open(project.root(), &settings()).unwrap();
    log.append(message("ada", 7, "after")).wait().unwrap();
    assert_eq!(project.told().last().map(String::as_str), Some("ada/7 after"));
    assert_eq!(project.told().len(), kept + 1);
}

#[test]
fn a_folder_that_is_read_only_is_told_with_what_to_do() {
    let project = Project::new();
    drop_after_one_event(&project);
    let mut writer = Command::new(WRITER);
    writer.args(["some", &project.root().to_string_lossy(), "bob", "1", "10"]).stdout(Stdio::piped());
    // The superuser may write anywhere, so somebody else has to try.
    for folder in [project.root().to_owned(), project.root().join(".grail"), project.events()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    }
    let is_superuser = fs::write(project.events().join("probe"), "").is_ok();
    if is_superuser {
        writer.uid(65_534).gid(65_534);
    }
    let Ok(mut child) = writer.spawn() else {
        eprintln!("SKIPPED: the superuser runs this, and nobody else may start `{WRITER}`");
        return;
    };
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    child.wait().unwrap();
    for folder in [project.root().to_owned(), project.root().join(".grail"), project.events()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let lock = project.events().join(".lock");
    let expected = format!(
        "`{}`: Permission denied (os error 13); hint: Grail keeps its memory in `.grail/`; make that folder writable\n",
        lock.display()
    );
    assert_eq!(told, expected);
}

fn drop_after_one_event(project: &Project) {
    EventLog::open(project.root(), &settings()).unwrap().append(message("ada", 1, "x")).wait().unwrap();
}
