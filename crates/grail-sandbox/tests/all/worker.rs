//! The worker program, spoken to as a host speaks to it: frames on standard input and output.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use grail_sandbox::{SandboxError, WorkerConfig, Workers};
use monty_proto::pb::child_event::Kind as Event;
use monty_proto::pb::parent_request::Kind as Request;
use monty_proto::{FrameReader, PROTOCOL_VERSION, pb, write_frame};
use monty_types::MontyObject;

const WORKER: &str = env!("CARGO_BIN_EXE_grail-sandbox-worker");

/// A worker and its pipes.
struct Worker {
    process: Child,
    input: ChildStdin,
    output: FrameReader<ChildStdout>,
}

/// What a turn brought: what was printed, the peak memory, and how the turn ended.
struct Turn {
    printed: String,
    peak_memory: u64,
    end: Event,
}

impl Worker {
    fn start() -> Self {
        let mut process = Command::new(WORKER)
            .arg("subprocess")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = FrameReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    /// A worker with a session of ten seconds and the given memory.
    fn with_session(max_memory_bytes: u64) -> Self {
        let mut worker = Self::start();
        assert!(matches!(worker.configure(max_memory_bytes, None).end, Event::Ok(_)));
        worker
    }

    /// Begins a session; `"one-run"` says that it is for one run only.
    fn configure(&mut self, max_memory_bytes: u64, stay: Option<&str>) -> Turn {
        let limits = pb::ResourceLimits {
            max_memory_bytes: Some(max_memory_bytes),
            max_duration_micros: Some(10_000_000),
            ..Default::default()
        };
        let configure = pb::Configure {
            script_name: "main.py".to_owned(),
            limits: Some(limits),
            protocol_version: PROTOCOL_VERSION,
            ..Default::default()
        };
        let kind = Some(Request::Configure(configure));
        let request = pb::ParentRequest { kind, trace_parent: stay.map(str::to_owned) };
        write_frame(&mut self.input, &request).unwrap();
        self.read_turn().expect("the worker answers")
    }

    fn turn(&mut self, kind: Request) -> Turn {
        write_frame(&mut self.input, &request(kind)).unwrap();
        self.read_turn().expect("the worker answers")
    }

    /// `None` when the worker ended without an answer.
    fn read_turn(&mut self) -> Option<Turn> {
        let (mut printed, mut peak_memory) = (String::new(), None);
        loop {
            match self.output.read::<pb::ChildEvent>().ok()??.kind? {
                Event::Print(print) if print.stream() == pb::PrintStream::Unspecified => {
                    assert_eq!(peak_memory, None, "one report a turn");
                    peak_memory = Some(print.text.parse().unwrap());
                }
                Event::Print(print) => printed.push_str(&print.text),
                // The last words of a worker come without one.
                end @ Event::FatalError(_) => return Some(Turn { printed, peak_memory: 0, end }),
                end => {
                    let peak_memory = peak_memory.expect("a report of memory");
                    return Some(Turn { printed, peak_memory, end });
                }
            }
        }
    }

    fn feed(&mut self, code: &str) -> Turn {
        self.turn(Request::Feed(pb::Feed { code: code.to_owned(), ..Default::default() }))
    }

    fn check(&mut self, stubs: &str, code: &str) -> Turn {
        let requirements = vec![stubs.to_owned(), code.to_owned()];
        self.turn(Request::InstallDependencies(pb::InstallDependencies { requirements }))
    }

    /// How the process ended, and whatever it wrote on standard error.
    fn end(mut self) -> (ExitStatus, String) {
        drop(self.input);
        let mut errors = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.process.wait().unwrap(), errors)
    }
}

fn request(kind: Request) -> pb::ParentRequest {
    pb::ParentRequest { kind: Some(kind), trace_parent: None }
}

fn value(turn: &Turn) -> MontyObject {
    match &turn.end {
        Event::Complete(complete) => complete.value.clone().unwrap().into_object().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_runs_code_and_prints() {
    let mut worker = Worker::with_session(64 << 20);
    let turn = worker.feed("print('hello')\n1 + 1");
    assert_eq!(value(&turn), MontyObject::Int(2));
    assert_eq!(turn.printed, "hello\n");
    assert!(matches!(worker.turn(Request::Reset(pb::Reset {})).end, Event::Ok(_)));
    assert!(matches!(worker.turn(Request::Shutdown(pb::Shutdown {})).end, Event::Ok(_)));
    let (status, errors) = worker.end();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
}

#[test]
fn the_report_of_memory_covers_what_was_freed_again() {
    let mut worker = Worker::with_session(512 << 20);
    let small = worker.feed("1").peak_memory;
    let large = worker.feed("len([0] * 4_000_000)").peak_memory;
    assert!(small < 8 << 20, "{small}");
    assert!(large > 4_000_000 * 8, "{large}");
    assert_eq!(worker.feed("1").peak_memory, large, "it is the session's");
}

#[test]
fn a_light_session_for_one_run_is_cleared_away_unasked() {
    let mut worker = Worker::start();
    let mut light = 0;
    for _ in 0..20 {
        assert!(matches!(worker.configure(64 << 20, Some("one-run")).end, Event::Ok(_)));
        let turn = worker.feed("kept = 1\nkept");
        assert_eq!(value(&turn), MontyObject::Int(1));
        if turn.peak_memory <= 1 << 20 {
            light += 1;
        } else {
            // The first runs fetch the worker's own pages. What held much is left to the host, which can wait with a deadline.
            assert!(!matches!(worker.configure(64 << 20, None).end, Event::Ok(_)), "there is a session yet");
            assert!(matches!(worker.turn(Request::Reset(pb::Reset {})).end, Event::Ok(_)));
        }
    }
    assert!(light > 0);
    assert!(matches!(worker.configure(64 << 20, None).end, Event::Ok(_)));
    // The name is looked up with the host: the runs before left nothing.
    assert!(matches!(worker.feed("kept").end, Event::NameLookup(_)));
}

#[test]
fn a_type_check_runs_nothing() {
    let mut worker = Worker::with_session(512 << 20);
    let stubs = "def fetch(url: str) -> int: ...\n";
    assert!(matches!(worker.check(stubs, "fetch('a') + 1").end, Event::Ok(_)));
    let turn = worker.check(stubs, "print('ran')\nfetch(1)\n");
    assert_eq!(turn.printed, "");
    let Event::TypingError(error) = turn.end else { panic!("{:?}", turn.end) };
    let diagnostics: serde_json::Value = serde_json::from_str(&error.diagnostics).unwrap();
    assert_eq!(diagnostics[0]["code"], "invalid-argument-type");
    assert_eq!(diagnostics[0]["location"]["row"], 2);
    // Nothing of it is left for the next check, and the session is still there.
    assert!(matches!(worker.check("", "fetch(1)").end, Event::TypingError(_)));
    assert_eq!(value(&worker.feed("2")), MontyObject::Int(2));
}

#[test]
fn a_malformed_request_is_refused_and_the_next_one_served() {
    let mut worker = Worker::with_session(64 << 20);
    worker.input.write_all(&[3, 0, 0, 0, 0xff, 0xff, 0xff]).unwrap();
    assert!(matches!(worker.read_turn().unwrap().end, Event::Error(_)));
    assert_eq!(value(&worker.feed("3")), MontyObject::Int(3));
}

#[test]
fn a_broken_frame_ends_the_worker() {
    let mut worker = Worker::with_session(64 << 20);
    worker.input.write_all(&u32::MAX.to_le_bytes()).unwrap();
    assert!(matches!(worker.read_turn().unwrap().end, Event::FatalError(_)));
    assert_eq!(worker.end().0.code(), Some(1));
}

#[test]
fn crossing_the_memory_limit_has_a_status_of_its_own_and_no_words() {
    let mut worker = Worker::with_session(16 << 20);
    let request_kind = Request::Feed(pb::Feed {
        code: "x = []\nwhile True: x.append('a' * 65536)".to_owned(),
        ..Default::default()
    });
    write_frame(&mut worker.input, &request(request_kind)).unwrap();
    match worker.read_turn() {
        None => assert_eq!(worker.end(), (exit_status(monty_types::OOM_EXIT_CODE), String::new())),
        Some(turn) => assert!(matches!(turn.end, Event::Error(_)), "{:?}", turn.end),
    }
}

#[test]
fn sources_as_large_as_a_policy_allows_fit_the_stack() {
    // The most any policy allows.
    let long = 1024 * 1024;
    for source in [
        format!("{}1", "1+".repeat(long / 2 - 1)),
        format!("x = 1\nx{}", ".a".repeat(long / 2 - 4)),
        format!("{}1", "not ".repeat(long / 4 - 1)),
        format!("{}1{}", "[".repeat(190), "]".repeat(190)),
        format!("{}1{}", "(".repeat(long / 2), ")".repeat(long / 2 - 1)),
        format!("{}1", "lambda: ".repeat(long / 8 - 1)),
        format!("x = 1\nx{}", "()".repeat(long / 2 - 4)),
        format!("x = 1\nx{}", "[0]".repeat(long / 3 - 4)),
        format!("{}1", "-".repeat(long - 1)),
        format!("1{}", "if 1 else 1".repeat(long / 11 - 1)),
        format!("1{}", " if 1 else 1".repeat(long / 12 - 1)),
        "a and ".repeat(long / 6 - 1) + "a",
    ] {
        let mut worker = Worker::with_session(1 << 30);
        let start: String = source.chars().take(20).collect();
        let request_kind = Request::Feed(pb::Feed { code: source, ..Default::default() });
        write_frame(&mut worker.input, &request(request_kind)).unwrap();
        let turn = worker.read_turn().unwrap_or_else(|| panic!("died of `{start}…`"));
        assert!(
            matches!(turn.end, Event::Complete(_) | Event::Error(_) | Event::NameLookup(_)),
            "{start}: {:?}",
            turn.end
        );
    }
}

/// The engine trusts its dumps, which is why hosts seal them. Should one ever get through changed, it costs that worker at most.
#[test]
fn a_changed_dump_is_refused_or_ends_its_worker() {
    let mut worker = Worker::with_session(64 << 20);
    assert!(matches!(
        worker.feed("x = {'a': [1, 2.5, 'three']}\ny = fetch(x)\n[x, y]").end,
        Event::FunctionCall(_)
    ));
    let Event::DumpResult(dump) = worker.turn(Request::Dump(pb::Dump {})).end else { panic!("no dump") };
    let (mut answered, mut ended) = (0, 0);
    for place in (0..dump.state.len()).step_by(dump.state.len().div_ceil(150)) {
        let mut state = dump.state.clone();
        state[place] ^= 1 << (place % 8);
        let mut worker = Worker::with_session(64 << 20);
        write_frame(&mut worker.input, &request(Request::Load(pb::Load { state }))).unwrap();
        match worker.read_turn() {
            Some(Turn { end: Event::FunctionCall(call), .. }) => {
                let result = pb::ExtFunctionResult {
                    kind: Some(pb::ext_function_result::Kind::ReturnValue(MontyObject::Int(1).into())),
                };
                let resume = pb::ResumeCall { call_id: call.call_id, result: Some(result) };
                write_frame(&mut worker.input, &request(Request::ResumeCall(resume))).unwrap();
                if worker.read_turn().is_some() { answered += 1 } else { ended += 1 }
            }
            Some(Turn { end: Event::FatalError(fatal), .. }) => {
                assert!(fatal.message.starts_with("the worker panicked: "), "{}", fatal.message);
                assert_eq!(worker.end().0.code(), Some(101));
                ended += 1;
            }
            Some(_) => answered += 1,
            None => ended += 1,
        }
    }
    assert!(answered > 0, "{answered} answered, {ended} ended");
}

#[test]
fn any_other_argument_is_refused() {
    for arguments in [&[][..], &["--help"], &["subprocess", "x"]] {
        let output = Command::new(WORKER).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(output.stdout, b"");
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "error: this program runs sandboxed Python for a host, which starts it as `subprocess`\n"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_is_no_worker_is_found_out_at_the_start() {
    let error = Workers::start(WorkerConfig::new("/bin/true")).await.err().expect("no worker");
    assert!(
        matches!(error, SandboxError::WorkerUnavailable { ref program, .. } if program == "/bin/true"),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
mod walls {
    use super::*;

    #[test]
    fn a_serving_worker_is_confined() {
        let mut worker = Worker::with_session(64 << 20);
        worker.feed("1");
        let process = worker.process.id();
        for task in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
            let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
                line.trim().to_owned()
            };
            assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), ("1".to_owned(), "2".to_owned()));
        }
        let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
        for (name, most) in [
            ("Max core file size", "0"),
            ("Max file size", "0"),
            ("Max open files", "3"),
            ("Max processes", "0"),
        ] {
            let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            assert_eq!(line.split_whitespace().take(2).collect::<Vec<_>>(), [most, most], "{name}");
        }
    }

    #[test]
    fn every_wall_holds_alone() {
        let output = Command::new(WORKER).arg("probe-walls").output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let stands = |wall: &str| report["confinement"][wall] == "stands";
        let attempts = |wall: &str| report["attempts"][wall].as_object().unwrap().clone();
        assert_eq!(report["confinement"]["privileges"], "stands");
        assert_eq!(report["confinement"]["limits"], "stands");

        for (attempt, result) in attempts("none") {
            assert_eq!(result, "allowed", "{attempt}: an attempt that fails anyway proves nothing");
        }
        let denied = "refused: Permission denied (os error 13)";
        if stands("files") {
            for (attempt, result) in attempts("files") {
                let expected = if attempt == "signal the parent" {
                    "refused: Operation not permitted (os error 1)"
                } else {
                    denied
                };
                assert_eq!(result, expected, "{attempt}");
            }
        }
        for attempt in ["read a file", "list a directory", "open a port"] {
            assert_eq!(
                attempts("limits")[attempt],
                "refused: Too many open files (os error 24)",
                "{attempt}"
            );
        }
        if stands("system_calls") {
            for wall in ["system-calls", "all"] {
                for (attempt, result) in attempts(wall) {
                    let opens = ["read a file", "list a directory"].contains(&attempt.as_str());
                    assert_eq!(result, if opens { denied } else { "killed" }, "{attempt}");
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_worker_whose_host_is_gone_ends_even_in_the_middle_of_a_turn() {
    let mut worker = Worker::with_session(64 << 20);
    let request_kind = Request::Feed(pb::Feed { code: "while True: pass".to_owned(), ..Default::default() });
    write_frame(&mut worker.input, &request(request_kind)).unwrap();
    let (status, _) = worker.end();
    assert_eq!(status.code(), Some(1));
}

#[cfg(unix)]
fn exit_status(code: i32) -> ExitStatus {
    std::os::unix::process::ExitStatusExt::from_raw(code << 8)
}
