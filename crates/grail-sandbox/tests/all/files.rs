//! Files as the code sees them, through a context and a real worker. What the interpreter would never send is tested beside the
//! file system itself.

use std::fs;
use std::sync::{Arc, Mutex};

use grail_sandbox::{
    Access, CallbackFile, Context, Ending, FileAccess, Files, Mount, PausedRun, Permission, Policies, Policy,
    Purpose, ResolvedPolicy, Signature, SnapshotKey, Step, Tool, Toolset, Value,
};
use serde_json::json;

use crate::support::{build, shown};

async fn context(files: Files, access: FileAccess) -> Context {
    build(Context::builder().files(files).policy(policy(access))).await
}

fn policy(access: FileAccess) -> ResolvedPolicy {
    // Parents can only tighten, so the parent is the one that allows most.
    let policy = Policy::builder().inherits("permissive").files(access).build().unwrap();
    Policies::define([("mine", policy)]).unwrap().resolve("mine").unwrap()
}

/// What the code gives, or the exception it ended with.
async fn run(context: &Context, code: &str) -> String {
    let outcome = context.execute(&format!("from pathlib import Path\n{code}"), json!({})).await;
    match &outcome.ending {
        Ending::Raised(raised) => format!("{}: {}", raised.exception, raised.message),
        _ => shown(&outcome),
    }
}

#[tokio::test]
async fn there_is_no_file_system_unless_one_is_given() {
    let nothing = context(Files::none(), FileAccess::Write).await;
    for code in ["Path('/etc/passwd').read_text()", "Path('/').exists()", "list(Path('.').iterdir())"] {
        assert!(
            run(&nothing, code).await.starts_with("PermissionError: [Errno 13] Permission denied: "),
            "{code}"
        );
    }
    let given = Files::none().with_file("/data/a", "a").unwrap();
    let forbidden = context(given, FileAccess::None).await;
    assert_eq!(
        run(&forbidden, "Path('/data/a').read_text()").await,
        "PermissionError: [Errno 13] Permission denied: '/data/a'"
    );
}

#[tokio::test]
async fn virtual_files_are_read_and_written() {
    let files = Files::none().with_file("/data/scores.csv", "ada,3\ngrace,4\n").unwrap();
    let context = context(files, FileAccess::Overlay).await;
    let code = "total = 0\nfor line in Path('/data/scores.csv').read_text().splitlines():\n    \
                total += int(line.split(',')[1])\nPath('/data/total.txt').write_text(str(total))\n\
                (Path('/data/total.txt').read_text(), sorted([p.name for p in Path('/data').iterdir()]))";
    assert_eq!(run(&context, code).await, "('7', ['scores.csv', 'total.txt'])");
    // Nothing of it is there for the next run.
    assert_eq!(run(&context, "Path('/data/total.txt').exists()").await, "False");
}

#[tokio::test]
async fn open_reads_and_writes_as_in_python() {
    let files = Files::none().with_file("/data/a.txt", "one\ntwo\n").unwrap();
    let context = context(files, FileAccess::Overlay).await;
    assert_eq!(
        run(&context, "with open('/data/a.txt') as file:\n    lines = file.readlines()\nlines").await,
        r"['one\n', 'two\n']"
    );
    let code = "with open('/data/b.txt', 'w') as file:\n    file.write('x')\n    file.write('y')\n\
                with open('/data/b.txt', 'a') as file:\n    file.write('z')\nopen('/data/b.txt').read()";
    assert_eq!(run(&context, code).await, "'xyz'");
    assert_eq!(
        run(&context, "open('/data/none.txt')").await,
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/none.txt'"
    );
}

#[tokio::test]
async fn permissions_are_respected_and_can_be_caught() {
    let files = Files::none()
        .with_file("/data/open.txt", "open")
        .and_then(|files| files.with_file("/data/private/key", "key"))
        .and_then(|files| files.permission("/data", Permission::Read))
        .and_then(|files| files.permission("/data/private", Permission::None))
        .unwrap();
    let context = context(files, FileAccess::Write).await;
    assert_eq!(run(&context, "Path('/data/open.txt').read_text()").await, "'open'");
    assert_eq!(
        run(&context, "try:\n    Path('/data/open.txt').write_text('x')\nexcept PermissionError as error:\n    return str(error)\n0").await,
        "\"[Errno 13] Permission denied: '/data/open.txt'\""
    );
    assert_eq!(run(&context, "[str(path) for path in Path('/data').iterdir()]").await, "['/data/open.txt']");
}

#[tokio::test]
async fn callback_files_call_the_host() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let log = CallbackFile::new(|| Ok(b"so far".to_vec())).writable(move |content| {
        told.lock().unwrap().push(String::from_utf8_lossy(content).into_owned());
        Ok(())
    });
    let vault = CallbackFile::new(|| Err("the vault is sealed".to_owned()));
    let files = Files::none()
        .with_callback("/host/log", log)
        .and_then(|files| files.with_callback("/host/vault", vault))
        .unwrap();
    let context = context(files, FileAccess::Write).await;
    assert_eq!(run(&context, "Path('/host/log').read_text()").await, "'so far'");
    assert_eq!(run(&context, "Path('/host/log').write_text('hello')").await, "5");
    assert_eq!(*heard.lock().unwrap(), ["hello"]);
    assert_eq!(
        run(&context, "Path('/host/vault').read_text()").await,
        "OSError: [Errno 5] the vault is sealed: '/host/vault'"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_mounted_folder_cannot_be_left() {
    let host = tempfile::tempdir().unwrap();
    let (inside, outside) = (host.path().join("inside"), host.path().join("outside"));
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    fs::write(inside.join("note"), "note").unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("door")).unwrap();
    std::os::unix::fs::symlink("/proc/self/root", inside.join("proc")).unwrap();
    for access in [Access::ReadOnly, Access::ReadWrite, Access::CopyOnWrite] {
        let files = Files::none().mount(Mount::new("/project", &inside, access)).unwrap();
        let context = context(files, FileAccess::Write).await;
        assert_eq!(run(&context, "Path('/project/note').read_text()").await, "'note'");
        let code = format!(
            "seen = []\nfor way in ['/project/door/secret', '/project/../outside/secret', '/project/proc{0}/secret', '{0}/secret', \
             '/proc/self/root{0}/secret', '/project/./door/../../outside/secret']:\n    try:\n        seen.append(Path(way).read_text())\n    \
             except (PermissionError, FileNotFoundError):\n        pass\nseen",
            outside.display()
        );
        assert_eq!(run(&context, &code).await, "[]", "{access:?}");
    }
}

#[tokio::test]
async fn what_a_paused_run_wrote_goes_with_it() {
    let host = tempfile::tempdir().unwrap();
    fs::write(host.path().join("note"), "note").unwrap();
    let files = || {
        Files::none()
            .mount(Mount::new("/project", host.path(), Access::CopyOnWrite))
            .and_then(|files| files.with_file("/data/a", "a"))
            .unwrap()
    };
    let ask = || Toolset::new([Tool::external(Signature::parse("def ask() -> str: ...").unwrap())]).unwrap();
    let first = build(Context::builder().files(files()).tools(ask())).await;
    let code = "from pathlib import Path\nPath('/project/note').write_text('changed')\nPath('/data/b').write_text('b')\n\
                answer = ask()\nPath('/project/note').read_text() + Path('/data/b').read_text() + answer";
    let Step::Suspended(mut suspended) = first.run(code, json!({}), &Default::default()).await else {
        panic!("no call")
    };
    let key = SnapshotKey::from_bytes([7; 32]);
    let bytes = suspended.seal(&key, Purpose::Resume, json!({"from": "here"})).await.unwrap();
    suspended.abandon().await;

    let paused = PausedRun::open(&bytes, &key, Purpose::Resume).unwrap();
    assert_eq!((paused.question.tool.as_str(), &paused.question.origin), ("ask", &json!({"from": "here"})));
    let second = build(Context::builder().files(files()).tools(ask())).await;
    let suspended = second.load(&paused.snapshot, &key).await.unwrap();
    let Step::Finished(outcome) = suspended.resume(Value::str("!")).await else { panic!("no end") };
    assert_eq!(shown(&outcome), "'changedb!'");
    assert_eq!(fs::read_to_string(host.path().join("note")).unwrap(), "note");

    let without = build(Context::builder().tools(ask())).await;
    assert!(without.load(&paused.snapshot, &key).await.is_err());
}

#[tokio::test]
async fn a_paused_run_is_sealed_with_its_question() {
    let tools =
        Toolset::new([Tool::external(Signature::parse("def pay(amount: int) -> bool: ...").unwrap())])
            .unwrap();
    let context = build(Context::builder().tools(tools)).await;
    let Step::Suspended(mut suspended) = context.run("pay(5)", json!({}), &Default::default()).await else {
        panic!("no call")
    };
    let key = SnapshotKey::from_bytes([7; 32]);
    let bytes = suspended.seal(&key, Purpose::Resume, json!(null)).await.unwrap();
    suspended.abandon().await;
    assert!(PausedRun::open(&bytes, &key, Purpose::Resume).is_ok());
    for place in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert!(PausedRun::open(&changed, &key, Purpose::Resume).is_err(), "byte {place}");
    }
    assert!(PausedRun::open(&bytes, &SnapshotKey::from_bytes([8; 32]), Purpose::Resume).is_err());
    assert!(PausedRun::open(&bytes[..bytes.len() / 2], &key, Purpose::Resume).is_err());
}
