//! Fuzz targets: whatever code, a worker or a snapshot says, the host answers with an outcome or an error.
//!
//! Under `cargo test` each runs for a second; `scripts/fuzz SECONDS` runs them for longer. A failure prints a seed.

use std::sync::{LazyLock, Mutex};

use bolero::check;
use grail_sandbox::{Context, Ending, Policies, ResolvedPolicy, SnapshotKey, Step, Tool, Toolset};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::support::workers;

/// Pieces of programs that reach far into the engine more often than random bytes do.
#[rustfmt::skip]
const FRAGMENTS: [&str; 80] = [
    "x", "y", "f", "inputs", "echo", "tools", "grail_", "print", "len", "str", "int", "list", "dict", "set", "range", "sorted",
    "map", "zip", "sum", "repr", "hash", "type", "getattr", "isinstance", "open", "(", ")", "[", "]", "{", "}", ",", ":", ".",
    " = ", " == ", " + ", " * ", " ** ", " << ", " // ", " % ", "-", "not ", " and ", " or ", " in ", " is ", " if ", " else ",
    "for x in ", "while ", "def f(x):\n    ", "class A:\n    ", "try:\n    ", "except Exception:\n    ", "finally:\n    ", "with ",
    "return ", "raise ", "lambda x: ", "await ", "async ", "import json\n", "import re\n", "from pathlib import Path\n", "Path('/a')",
    "yield ", "del ", "global x\n", "0", "1", "999999999", "1e300", "'a'", "b'\\x00'", "f'{x!r:>{y}}'", "None", "\n", "\n    ",
];

/// Whole statements: most sequences of them run, and some of them run into each other.
#[rustfmt::skip]
const STATEMENTS: [&str; 56] = [
    "x = 1\n", "x = 'a'\n", "x = []\n", "x = {}\n", "x = (1, 2)\n", "x = {1, 2}\n", "x = b'ab'\n", "x = 2.5\n", "x = None\n",
    "y = x\n", "x, y = y, x\n", "x = [x, x]\n", "x = (x, y)\n", "x = {'k': x}\n", "x = x + x\n", "x = x * 3\n", "x = x * 1000\n",
    "x = x ** 9\n", "x = -x\n", "x = str(x)\n", "x = repr(x)\n", "x = list(x)\n", "x = sorted(x)\n", "x = x[0]\n", "x = x[::-1]\n",
    "x = len(x)\n", "x = hash(x)\n", "x = x == y\n", "x = x < y\n", "x.append(x)\n", "x['k'] = y\n", "x = f'{x!r:>50}'\n",
    "x = echo(value=x)\n", "x = echo(x)\n", "print(x)\n", "print(x, y, sep=x)\n", "for i in range(5):\n    x = [x, i]\n",
    "while x:\n    x = x[1:]\n", "try:\n    x = x.y\nexcept Exception as error:\n    x = error\n", "try:\n    raise x\nfinally:\n    y = x\n",
    "def f(a, *b, c=1, **d):\n    return f(a, *b) if b else x\n", "x = f(x)\n", "x = f(x, y, c=x)\n", "x = lambda: x\n", "x = x()\n",
    "class A:\n    def __init__(self, a):\n        self.a = a\n", "x = A(x)\n", "x = x.a\n", "import json\nx = json.dumps(x)\n",
    "import json\nx = json.loads(x)\n", "import re\nx = re.findall(x, str(y))\n", "from pathlib import Path\nx = Path(x).read_text()\n",
    "x = [i for i in x if i]\n", "async def g():\n    return x\nx = await g()\n", "assert x == y, x\n", "return x\n",
];

#[derive(Deserialize, JsonSchema)]
struct Echo {
    value: serde_json::Value,
}

/// One runtime and one context for all targets: their workers are what is being tested.
static SANDBOX: LazyLock<(Runtime, Context)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let context = runtime.block_on(async {
        let echo = Tool::typed("echo", "Gives back what it was given.", |echo: Echo| Ok(echo.value)).unwrap();
        let builder =
            Context::builder().policy(policy()).tools(Toolset::new([echo]).unwrap()).without_type_check();
        builder.build(workers().await).unwrap()
    });
    (runtime, context)
});

fn policy() -> ResolvedPolicy {
    let limits = "[fuzz]\nmax-duration = '100ms'\nmax-memory = '16MiB'\nmax-output = '16KiB'\nmax-recursion = 100\n\
                  max-suspensions = 50\ncheck-timeout = '1s'\n";
    Policies::from_toml(&toml::from_str(limits).unwrap()).unwrap().resolve("fuzz").unwrap()
}

/// Runs `code`, which may end in any way but one: no program may bring a worker down without hitting a limit.
fn run(code: &str) {
    let (runtime, context) = &*SANDBOX;
    let outcome = runtime.block_on(context.execute(code, json!({"x": 1})));
    let is_lost = matches!(outcome.ending, Ending::WorkerCrashed(_) | Ending::NoWorker { .. });
    assert!(!is_lost, "{:?} of {code:?}", outcome.ending);
}

#[test]
fn any_text_ends_in_an_outcome() {
    check!().for_each(|bytes| run(&String::from_utf8_lossy(bytes)));
}

#[test]
fn python_like_text_ends_in_an_outcome() {
    check!().for_each(|picks: &[u8]| {
        let code: String = picks.iter().map(|&pick| FRAGMENTS[usize::from(pick) % FRAGMENTS.len()]).collect();
        run(&code);
    });
}

#[test]
fn whole_statements_end_in_an_outcome() {
    check!().for_each(|picks: &[u8]| {
        let statements = picks.iter().map(|&pick| STATEMENTS[usize::from(pick) % STATEMENTS.len()]);
        run(&format!("x = y = 0\n{}x", statements.collect::<String>()));
    });
}

#[test]
fn any_bytes_are_no_snapshot() {
    let key = SnapshotKey::generate().unwrap();
    check!().for_each(|bytes: &[u8]| {
        let (runtime, context) = &*SANDBOX;
        assert!(runtime.block_on(context.load(bytes, &key)).is_err());
    });
}

#[test]
fn a_changed_snapshot_is_refused() {
    let key = SnapshotKey::generate().unwrap();
    let (runtime, context) = &*SANDBOX;
    let snapshot = runtime.block_on(async {
        let Step::Suspended(mut suspended) = context.start("echo(value=1) + 1", json!({})).await else {
            panic!("it stands at the call")
        };
        suspended.dump(&key).await.unwrap()
    });
    assert!(runtime.block_on(context.load(&snapshot, &key)).is_ok());
    check!().with_type::<(usize, u8)>().for_each(|&(place, change)| {
        let (runtime, context) = &*SANDBOX;
        let mut changed = snapshot.clone();
        let place = place % changed.len();
        changed[place] ^= change.max(1);
        assert!(runtime.block_on(context.load(&changed, &key)).is_err(), "byte {place}");
        changed.truncate(place);
        assert!(runtime.block_on(context.load(&changed, &key)).is_err(), "cut at {place}");
    });
}

#[cfg(unix)]
mod workers_that_lie {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use grail_sandbox::{WorkerConfig, Workers};
    use monty_proto::pb::child_event::Kind as Event;
    use monty_proto::{pb, write_frame};
    use monty_types::MontyObject;

    use super::*;

    /// A worker that says what is in a file, whatever it is asked.
    static STAGE: Mutex<()> = Mutex::new(());

    fn run_with_worker_saying(answers: &[u8]) {
        // Told apart from other tests by its folder; one at a time because a script that is being written cannot be started.
        let _turn = STAGE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let (program, said) = (folder.path().join("worker"), folder.path().join("said"));
        let mut frames = Vec::new();
        write_frame(&mut frames, &event(Event::Ok(pb::Ok {}))).unwrap();
        frames.extend_from_slice(answers);
        fs::write(&said, frames).unwrap();
        fs::write(&program, format!("#!/bin/sh\nexec /bin/cat '{}'\n", said.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (runtime, _) = &*SANDBOX;
        runtime.block_on(async {
            let mut config = WorkerConfig::new(&program);
            config.warm = 0;
            let workers = Workers::start(config).await.unwrap();
            let context = Context::builder().policy(policy()).without_type_check().build(workers).unwrap();
            context.execute("1 + 1", json!({})).await;
        });
    }

    fn event(kind: Event) -> pb::ChildEvent {
        pb::ChildEvent { kind: Some(kind), ..Default::default() }
    }

    #[test]
    fn any_bytes_from_a_worker_end_in_an_outcome() {
        check!().for_each(|bytes: &[u8]| run_with_worker_saying(bytes));
    }

    /// Real events in an order that makes no sense, with values that make none either.
    #[test]
    fn any_events_from_a_worker_end_in_an_outcome() {
        check!().for_each(|picks: &[u8]| {
            let mut frames = Vec::new();
            for pair in picks.chunks(2) {
                let (kind, size) = (pair[0], usize::from(*pair.last().unwrap_or(&0)));
                write_frame(&mut frames, &event(made_up(kind, size))).unwrap();
            }
            run_with_worker_saying(&frames);
        });
    }

    fn made_up(kind: u8, size: usize) -> Event {
        let number = u32::try_from(size).unwrap_or(u32::MAX);
        let name = "grail_".repeat(size % 4);
        let value = (0..size % 60).fold(MontyObject::None, |inner, _| MontyObject::List(vec![inner]));
        match kind % 12 {
            0 => Event::Complete(pb::Complete { value: None }),
            1 => Event::Complete(pb::Complete { value: Some(value.into()) }),
            2 => Event::Print(pb::Print { stream: i32::from(kind), text: "9".repeat(size * 100) }),
            3 => Event::FunctionCall(monty_proto::WireFunctionCall {
                function_name: name,
                args: vec![value; size % 3],
                kwargs: Vec::new(),
                call_id: number,
                object_id: None,
            }),
            4 => Event::OsCall(pb::OsCall { call_id: number, call: None }),
            5 => Event::NameLookup(pb::NameLookup { name, object_id: None }),
            6 => Event::ResolveFutures(pb::ResolveFutures { pending_call_ids: vec![number; size] }),
            7 => Event::Error(pb::Error { exception: None }),
            8 => Event::TypingError(pb::TypingError { diagnostics: name }),
            9 => Event::DumpResult(pb::DumpResult { state: vec![kind; size] }),
            10 => Event::Ok(pb::Ok {}),
            _ => Event::FatalError(pb::FatalError { message: name }),
        }
    }
}
