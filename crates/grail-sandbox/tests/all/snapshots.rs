//! Runs that stop, travel and go on; sessions; and bytes that somebody changed on the way.

use std::process::Command;

use grail_sandbox::{
    Access, Context, Ending, Files, Mount, SandboxError, Signature, SnapshotError, SnapshotKey, Step, Tool,
    ToolError, Toolset, Value,
};
use serde_json::json;

use crate::support::{build, shown};

fn fetch() -> Toolset {
    let signature =
        Signature::parse("def fetch(page: int, *, fresh: bool = False) -> str: ...").expect("a signature");
    Toolset::new([Tool::external(signature)]).expect("one tool")
}

async fn with_fetch() -> Context {
    build(Context::builder().tools(fetch())).await
}

fn key() -> SnapshotKey {
    SnapshotKey::from_bytes([7; 32])
}

fn suspended(step: Step) -> grail_sandbox::Suspended {
    match step {
        Step::Suspended(suspended) => *suspended,
        Step::Finished(outcome) => panic!("ended early: {outcome:?}"),
    }
}

fn finished(step: Step) -> grail_sandbox::Outcome {
    match step {
        Step::Finished(outcome) => *outcome,
        Step::Suspended(suspended) => panic!("suspended at {}", suspended.tool()),
    }
}

const LOOP: &str =
    "pages = []\nfor number in range(3):\n    pages.append(fetch(number, fresh=True))\n' '.join(pages)";

#[tokio::test]
async fn a_run_pauses_at_each_call_and_goes_on() {
    let context = with_fetch().await;
    let mut step = context.start(LOOP, json!({})).await;
    let mut seen = Vec::new();
    let outcome = loop {
        match step {
            Step::Suspended(paused) => {
                seen.push((paused.tool().to_owned(), paused.arguments()[0].clone(), paused.keywords().len()));
                let Value::Int(page) = paused.arguments()[0] else { panic!("a number") };
                step = paused.resume(Value::str(format!("p{page}"))).await;
            }
            Step::Finished(outcome) => break *outcome,
        }
    };
    assert_eq!(shown(&outcome), "'p0 p1 p2'");
    assert_eq!(seen, [0, 1, 2].map(|page| ("fetch".to_owned(), Value::Int(page), 1)));
}

#[tokio::test]
async fn a_paused_run_goes_on_in_another_context() {
    let mut paused = suspended(with_fetch().await.start(LOOP, json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    drop(paused);
    let elsewhere = with_fetch().await;
    let restored = elsewhere.load(&bytes, &key()).await.expect("loads");
    assert_eq!((restored.tool(), restored.arguments()), ("fetch", [Value::Int(0)].as_slice()));
    let next = suspended(restored.resume(Value::str("a")).await);
    let next = suspended(next.resume(Value::str("b")).await);
    assert_eq!(shown(&finished(next.resume(Value::str("c")).await)), "'a b c'");
}

#[tokio::test]
async fn an_awaited_call_survives_the_trip() {
    let signature = Signature::parse("async def ask(question: str) -> str: ...").expect("a signature");
    let tools = || Toolset::new([Tool::external(signature.clone())]).expect("one tool");
    let context = build(Context::builder().tools(tools())).await;
    let code = "import asyncio\nawait asyncio.gather(ask('one'), ask('two'))";
    let mut paused = suspended(context.start(code, json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    drop(paused);
    let restored = context.load(&bytes, &key()).await.expect("loads");
    assert_eq!(restored.arguments(), [Value::str("one")]);
    let next = suspended(restored.resume(Value::Int(1)).await);
    assert_eq!(next.arguments(), [Value::str("two")]);
    assert_eq!(shown(&finished(next.resume(Value::Int(2)).await)), "[1, 2]");
}

#[tokio::test]
async fn budgets_survive_the_trip() {
    let context = with_fetch().await;
    let code = "print('before')\nfetch(1)\nfetch(2)";
    let mut paused = suspended(context.start(code, json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    let restored = context.load(&bytes, &key()).await.expect("loads");
    let next = suspended(restored.resume(Value::None).await);
    let outcome = finished(next.resume(Value::None).await);
    assert_eq!(outcome.printed.text, "before\n");
    assert_eq!((outcome.usage.tool_calls, outcome.usage.suspensions), (2, 2));
}

#[tokio::test]
async fn a_failed_answer_raises_where_the_code_stands() {
    let paused = suspended(with_fetch().await.start("fetch(1)", json!({})).await);
    let outcome = finished(paused.fail(ToolError::value_error("no such page")).await);
    let Ending::ToolFailed(failure) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(failure.message, "no such page");
}

#[tokio::test]
async fn changed_bytes_another_key_and_another_version_are_different_refusals() {
    let context = with_fetch().await;
    let mut paused = suspended(context.start("fetch(1)", json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    let refusal = |result: Result<grail_sandbox::Suspended, SandboxError>| match result {
        Err(SandboxError::Snapshot(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    };
    // Every region of the file, beginning after magic, version and engine.
    let header = 8 + 2;
    for index in (header..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        let mut changed = bytes.clone();
        changed[index] ^= 1;
        let error = refusal(context.load(&changed, &key()).await);
        assert!(
            matches!(
                error,
                SnapshotError::Tampered
                    | SnapshotError::OtherKey
                    | SnapshotError::OtherVersion { .. }
                    | SnapshotError::NotASnapshot
            ),
            "byte {index}: {error}"
        );
        assert!(index < 40 || matches!(error, SnapshotError::Tampered), "byte {index}: {error}");
    }
    let other = SnapshotKey::from_bytes([8; 32]);
    assert!(matches!(refusal(context.load(&bytes, &other).await), SnapshotError::OtherKey));
    let mut newer = bytes.clone();
    newer[8] += 1;
    assert!(matches!(refusal(context.load(&newer, &key()).await), SnapshotError::OtherVersion { .. }));
    assert!(matches!(refusal(context.load(b"garbage", &key()).await), SnapshotError::NotASnapshot));
    assert!(matches!(
        refusal(context.load(&bytes[..bytes.len() / 2], &key()).await),
        SnapshotError::Tampered
    ));
    assert!(context.load(&bytes, &key()).await.is_ok(), "the untouched bytes still load");
}

#[tokio::test]
async fn mounts_are_attached_again_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "hello").expect("writes");
    let mounted = || {
        let mount = Mount::new("/data", folder.path(), Access::ReadOnly);
        let policy = grail_sandbox::Policies::default().resolve("permissive").expect("a preset");
        Context::builder().tools(fetch()).files(Files::none().mount(mount).expect("mounts")).policy(policy)
    };
    let context = build(mounted()).await;
    let code = "from pathlib import Path\nfetch(1)\nPath('/data/a.txt').read_text()";
    let mut paused = suspended(context.start(code, json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    let without = with_fetch().await;
    assert!(matches!(
        without.load(&bytes, &key()).await,
        Err(SandboxError::Snapshot(SnapshotError::MountMissing { name })) if name == "/data"
    ));
    let restored = build(mounted()).await.load(&bytes, &key()).await.expect("loads");
    assert_eq!(shown(&finished(restored.resume(Value::None).await)), "'hello'");
}

#[tokio::test]
async fn a_session_may_define_what_the_engine_lacks() {
    let context = build(Context::builder()).await;
    let mut session = context.session().await.expect("starts");
    session.feed("def format(value, spec):\n    return f'{value}{spec}'", json!({})).await;
    assert_eq!(shown(&session.feed("format(1, '!')", json!({})).await), "'1!'");
}

#[tokio::test]
async fn a_session_keeps_its_state_and_can_travel() {
    let context = with_fetch().await;
    let mut session = context.session().await.expect("starts");
    assert_eq!(
        session
            .feed("import math\ndef square(n: int) -> int:\n    return n * n", json!({}))
            .await
            .ending
            .name(),
        "value"
    );
    assert_eq!(shown(&session.feed("square(4) + math.floor(0.5)", json!({})).await), "16");
    assert_eq!(session.feed("square('x')", json!({})).await.ending.name(), "type-errors");
    assert_eq!(session.feed("1 / 0", json!({})).await.ending.name(), "raised");
    let bytes = session.dump(&key()).await.expect("dumps");
    session.close().await;
    let mut restored = context.load_session(&bytes, &key()).await.expect("loads");
    assert_eq!(shown(&restored.feed("square(5)", json!({})).await), "25");
    assert!(matches!(
        context.load(&bytes, &key()).await,
        Err(SandboxError::Snapshot(SnapshotError::OtherKind { .. }))
    ));
}

#[tokio::test]
async fn a_key_is_made_once_and_kept_private() {
    let folder = tempfile::tempdir().expect("a folder");
    SnapshotKey::load_or_create(folder.path()).expect("makes one");
    let first = std::fs::read_to_string(folder.path().join("snapshot.key")).expect("is there");
    SnapshotKey::load_or_create(folder.path()).expect("reads it");
    assert_eq!(std::fs::read_to_string(folder.path().join("snapshot.key")).expect("is there"), first);
    let listing = Command::new("ls").arg("-l").arg(folder.path().join("snapshot.key")).output().expect("ls");
    assert!(String::from_utf8_lossy(&listing.stdout).starts_with("-rw-------"));
    std::fs::write(folder.path().join("snapshot.key"), "short").expect("writes");
    assert!(matches!(SnapshotKey::load_or_create(folder.path()), Err(SnapshotError::BadKey { .. })));
}

#[tokio::test]
async fn a_call_that_needs_approval_waits_in_the_store_and_goes_on_when_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = grail_sandbox::ApprovalStore::new(folder.path());
    let signature = Signature::parse("def pay(amount: int) -> str: ...").expect("a signature");
    let pay = Tool::blocking(signature, |call| Ok(Value::str(format!("paid {}", call.arguments[0].repr()))));
    let tools = Toolset::new([pay]).expect("one tool").require_approval(|tool| tool.name() == "pay");
    let context = build(Context::builder().tools(tools)).await;
    let waiting = suspended(context.run("pay(3)", json!({}), &grail_sandbox::CallOptions::default()).await);
    let outcome = waiting.wait_for_approval(&store, &key(), json!(null)).await.expect("is kept");
    let Ending::AwaitingApproval { id, tool } = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(tool, "pay");
    let sealed = store.snapshot(id).expect("is there");
    let paused =
        grail_sandbox::PausedRun::open(&sealed, &key(), grail_sandbox::Purpose::Approval).expect("is whole");
    assert_eq!(paused.question.arguments, [json!(3)]);
    store.decide(id, grail_sandbox::Decision::Approved { reason: None }).expect("undecided");
    let restored = context.load(&paused.snapshot, &key()).await.expect("loads");
    assert_eq!(shown(&finished(restored.call_tool().await)), "'paid 3'");
    // Whoever does not ask for steps gets a failure that says why.
    let outcome = context.execute("pay(3)", json!({})).await;
    let Ending::ToolFailed(failure) = &outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(failure.message, "`pay` needs approval, and nobody is there to answer");
}

#[tokio::test]
async fn loading_never_calls_a_tool_however_the_tools_have_changed() {
    let mut paused = suspended(with_fetch().await.start("fetch(1)", json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    let signature =
        Signature::parse("def fetch(page: int, *, fresh: bool = False) -> str: ...").expect("a signature");
    let called = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&called);
    let answering = Tool::blocking(signature, move |_| {
        seen.store(true, std::sync::atomic::Ordering::SeqCst);
        Ok(Value::None)
    });
    let context = build(Context::builder().tools(Toolset::new([answering]).expect("one tool"))).await;
    let loaded = context.load(&bytes, &key()).await.expect("loads");
    assert_eq!(loaded.tool(), "fetch");
    assert!(!called.load(std::sync::atomic::Ordering::SeqCst));
}

#[tokio::test]
async fn a_run_cannot_bring_more_than_the_policy_allows_now() {
    let policy = grail_sandbox::Policies::default().resolve("permissive").expect("a preset");
    let generous = build(Context::builder().tools(fetch()).policy(policy)).await;
    let mut paused = suspended(generous.start("fetch(1)", json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    assert!(matches!(
        with_fetch().await.load(&bytes, &key()).await,
        Err(SandboxError::Snapshot(SnapshotError::BeyondPolicy { .. }))
    ));
}

#[tokio::test]
async fn infinities_survive_the_trip() {
    let signature = Signature::parse("async def ask(number: float) -> str: ...").expect("a signature");
    let tools = Toolset::new([Tool::external(signature)]).expect("one tool");
    let context = build(Context::builder().tools(tools)).await;
    let mut paused = suspended(context.start("await ask(float('inf'))", json!({})).await);
    let bytes = paused.dump(&key()).await.expect("dumps");
    let loaded = context.load(&bytes, &key()).await.expect("loads");
    assert_eq!(loaded.arguments(), [Value::Float(f64::INFINITY)]);
}

#[tokio::test]
async fn a_call_nobody_awaited_does_not_answer_the_next_snippet() {
    let signature = Signature::parse("async def echo(text: str) -> str: ...").expect("a signature");
    let echo = Tool::awaited(signature, |call| async move { Ok(call.arguments[0].clone()) });
    let context = build(Context::builder().tools(Toolset::new([echo]).expect("one tool"))).await;
    let mut session = context.session().await.expect("starts");
    assert_eq!(shown(&session.feed("pending = echo('a')\n1", json!({})).await), "1");
    assert_eq!(shown(&session.feed("await echo('b')", json!({})).await), "'b'");
    // What was defined before an exception is known to the checker as well.
    assert_eq!(session.feed("number = 1\nnumber / 0", json!({})).await.ending.name(), "raised");
    assert_eq!(shown(&session.feed("number + 1", json!({})).await), "2");
}
