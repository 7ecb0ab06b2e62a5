//! Runs that wait for a person: stored once, decided once, by whichever process.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Barrier;
use std::thread;

use grail_sandbox::{Approval, ApprovalError, ApprovalState, ApprovalStore, Decision, NewApproval, Redactor};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

struct Scratch {
    store: ApprovalStore,
    folder: PathBuf,
    _root: TempDir,
}

fn scratch() -> Scratch {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("runs").join("approvals");
    Scratch { store: ApprovalStore::new(&folder), folder, _root: root }
}

impl Scratch {
    fn create(&self, arguments: &Json) -> String {
        self.store
            .create(
                &NewApproval {
                    tool: "send_mail",
                    arguments,
                    code: "send_mail('anna', key='hunter22')",
                    policy: "default",
                    snapshot: b"\x00sealed\xff",
                },
                &Redactor::default().secret("hunter22").unwrap(),
            )
            .unwrap()
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn approve() -> Decision {
    Decision::Approved { reason: None }
}

/// The approval without what changes from run to run.
fn stable(approval: &Approval) -> Json {
    let mut json = serde_json::to_value(approval).unwrap();
    for field in ["id", "created_at", "decided_at"] {
        if json.get(field).is_some() {
            json[field] = json!("…");
        }
    }
    json
}

#[test]
fn a_paused_run_is_kept_until_it_is_decided_and_has_ended() {
    let scratch = scratch();
    let id = scratch.create(&json!({"args": ["anna"], "kwargs": {"key": "hunter22"}}));
    assert_eq!(
        stable(&scratch.store.get(&id).unwrap()),
        json!({
            "id": "…", "state": "pending", "tool": "send_mail",
            "arguments": {"args": ["anna"], "kwargs": {"key": "[redacted]"}},
            "code": "send_mail('anna', key='[redacted]')", "policy": "default", "created_at": "…",
        })
    );
    assert_eq!(scratch.store.snapshot(&id).unwrap(), b"\x00sealed\xff");

    let reason = Some("she asked for it".to_owned());
    let decided = scratch.store.decide(&id, Decision::Approved { reason }).unwrap();
    assert_eq!(decided.state, ApprovalState::Approved);
    assert_eq!(stable(&decided)["decision"], json!({"decision": "approved", "reason": "she asked for it"}));

    scratch.store.finish(&id, "value").unwrap();
    let finished = scratch.store.get(&id).unwrap();
    assert_eq!((finished.state, finished.ending.as_deref()), (ApprovalState::Finished, Some("value")));
    assert_eq!(scratch.store.list().unwrap().approvals, [finished]);
}

#[test]
fn a_run_is_denied_or_answered() {
    let scratch = scratch();
    let (denied, answered) = (scratch.create(&json!([])), scratch.create(&json!([])));
    let reason = Some("never".to_owned());
    scratch.store.decide(&denied, Decision::Denied { reason }).unwrap();
    scratch.store.decide(&answered, Decision::Answered { value: json!({"sent": true}) }).unwrap();
    assert_eq!(scratch.store.get(&denied).unwrap().state, ApprovalState::Denied);
    let answered = scratch.store.get(&answered).unwrap();
    assert_eq!(answered.decision, Some(Decision::Answered { value: json!({"sent": true}) }));
}

#[test]
fn a_second_decision_is_refused() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    scratch.store.decide(&id, Decision::Denied { reason: None }).unwrap();
    let error = scratch.store.decide(&id, approve()).unwrap_err();
    assert_eq!(error.to_string(), format!("approval `{id}` is already denied"));
    scratch.store.finish(&id, "raised").unwrap();
    let error = scratch.store.finish(&id, "value").unwrap_err();
    assert_eq!(error.to_string(), format!("approval `{id}` is already finished"));
    assert_eq!(scratch.store.get(&id).unwrap().ending.as_deref(), Some("raised"));
}

#[test]
fn a_run_does_not_end_before_it_is_decided() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    assert!(matches!(scratch.store.finish(&id, "value"), Err(ApprovalError::NotDecided { .. })));
}

#[test]
fn of_many_threads_that_decide_one_wins() {
    let scratch = scratch();
    for _ in 0..20 {
        let id = scratch.create(&json!([]));
        let barrier = Barrier::new(8);
        let wins = thread::scope(|scope| {
            let deciders: Vec<_> = (0..8)
                .map(|number| {
                    let (id, barrier, store) = (&id, &barrier, &scratch.store);
                    scope.spawn(move || {
                        barrier.wait();
                        store.decide(id, Decision::Answered { value: json!(number) }).ok()
                    })
                })
                .collect();
            deciders.into_iter().filter_map(|decider| decider.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(wins.len(), 1);
        assert_eq!(scratch.store.get(&id).unwrap().decision, wins[0].decision);
    }
}

/// The other process is this test binary again, asked for the next test with a folder in its environment.
#[test]
fn of_several_processes_that_decide_one_wins() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    let deciders: Vec<_> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "approvals::decides_as_another_process", "--nocapture"])
                .env("GRAIL_TEST_APPROVALS", &scratch.folder)
                .env("GRAIL_TEST_APPROVAL", &id)
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let outputs: Vec<String> = deciders
        .into_iter()
        .map(|decider| String::from_utf8(decider.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    let count = |word| outputs.iter().filter(|output| output.contains(word)).count();
    assert_eq!((count("decision: won"), count("decision: lost")), (1, 3), "{outputs:?}");
    assert_eq!(scratch.store.get(&id).unwrap().state, ApprovalState::Approved);
}

#[test]
#[allow(clippy::print_stdout)]
fn decides_as_another_process() {
    let (Ok(folder), Ok(id)) = (std::env::var("GRAIL_TEST_APPROVALS"), std::env::var("GRAIL_TEST_APPROVAL"))
    else {
        return;
    };
    match ApprovalStore::new(folder).decide(&id, approve()) {
        Ok(_) => println!("decision: won"),
        Err(ApprovalError::AlreadyDecided { .. }) => println!("decision: lost"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn approvals_are_listed_from_the_oldest() {
    let scratch = scratch();
    assert_eq!(scratch.store.list().unwrap().approvals, []);
    let mut ids: Vec<String> = (0..5).map(|number| scratch.create(&json!([number]))).collect();
    ids.sort();
    let listed: Vec<String> =
        scratch.store.list().unwrap().approvals.into_iter().map(|approval| approval.id).collect();
    assert_eq!(listed, ids);
}

#[test]
fn broken_files_are_reported_and_hide_no_other() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    let (cut, deep) = ("0".repeat(12) + "-" + &"1".repeat(16), "0".repeat(12) + "-" + &"2".repeat(16));
    fs::write(scratch.folder.join(format!("{cut}.json")), "{\"tool\": \"send").unwrap();
    fs::write(scratch.folder.join(format!("{deep}.json")), "[".repeat(1_000_000)).unwrap();
    fs::write(scratch.folder.join("notes.json"), "{}").unwrap();
    fs::write(scratch.folder.join("README"), "").unwrap();
    fs::write(scratch.folder.join(".new-abc"), "half").unwrap();
    fs::create_dir(scratch.folder.join(format!("{}-{}.json", "3".repeat(12), "3".repeat(16)))).unwrap();
    let list = scratch.store.list().unwrap();
    assert_eq!(list.approvals.iter().map(|approval| &approval.id).collect::<Vec<_>>(), [&id]);
    let folder = scratch.folder.display().to_string();
    let reasons: Vec<String> =
        list.broken.iter().map(|broken| broken.reason.replace(&folder, "FOLDER")).collect();
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    `FOLDER/000000000000-1111111111111111.json` is not an approval: EOF while parsing a string at line 1 column 14
    `FOLDER/000000000000-2222222222222222.json` is not an approval: it nests too deeply
    `FOLDER/333333333333-3333333333333333.json` is not an approval: it is not a regular file
    `notes` is not the id of an approval
    "#);
}

#[test]
fn a_broken_decision_is_reported_and_not_taken_for_none() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    fs::write(scratch.folder.join(format!("{id}.decision.json")), "{").unwrap();
    assert!(matches!(scratch.store.get(&id), Err(ApprovalError::Broken { .. })));
    assert!(matches!(scratch.store.decide(&id, approve()), Err(ApprovalError::Broken { .. })));
    assert_eq!(scratch.store.list().unwrap().broken.len(), 1);
}

#[test]
fn ids_cannot_leave_the_folder() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    fs::write(scratch.folder.join("../secret.json"), "{}").unwrap();
    let upper = id.to_uppercase().replace(char::is_numeric, "A");
    for wrong in [
        "",
        "..",
        "../secret",
        "/etc/passwd",
        "a\0b",
        &format!("{id}/"),
        &format!("../approvals/{id}"),
        &upper,
    ] {
        assert!(matches!(scratch.store.get(wrong), Err(ApprovalError::MalformedId { .. })), "{wrong}");
        assert!(scratch.store.snapshot(wrong).is_err() && scratch.store.remove(wrong).is_err());
        assert!(
            scratch.store.decide(wrong, approve()).is_err() && scratch.store.finish(wrong, "value").is_err()
        );
    }
    let unknown = "0".repeat(12) + "-" + &"0".repeat(16);
    let error = scratch.store.get(&unknown).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no approval `{unknown}`"));
    assert_eq!(error.hint(), Some("`grail approvals list` shows the ids"));
}

#[test]
fn nothing_half_written_stays_behind() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    scratch.store.decide(&id, approve()).unwrap();
    scratch.store.decide(&id, approve()).unwrap_err();
    scratch.store.finish(&id, "value").unwrap();
    assert_eq!(
        scratch.files(),
        [format!("{id}.decision.json"), format!("{id}.ending.json"), format!("{id}.json")]
    );
    scratch.store.remove(&id).unwrap();
    assert_eq!(scratch.files(), [""; 0]);
    assert!(matches!(scratch.store.remove(&id), Err(ApprovalError::Unknown { .. })));
}

#[cfg(unix)]
#[test]
fn others_on_the_machine_cannot_read_a_paused_run() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(scratch.folder.clone()), 0o700);
    assert_eq!(mode(scratch.folder.join(format!("{id}.json"))), 0o600);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_not_followed() {
    let scratch = scratch();
    scratch.create(&json!([]));
    let linked = "0".repeat(12) + "-" + &"0".repeat(16);
    std::os::unix::fs::symlink("/dev/zero", scratch.folder.join(format!("{linked}.json"))).unwrap();
    let error = scratch.store.get(&linked).unwrap_err();
    assert!(error.to_string().ends_with("is not an approval: it is not a regular file"), "{error}");
}

#[test]
fn an_answer_too_large_or_too_deep_is_refused_and_a_reason_is_cut() {
    let scratch = scratch();
    let id = scratch.create(&json!([]));
    let large = Decision::Answered { value: json!("x".repeat(5 << 20)) };
    assert!(matches!(scratch.store.decide(&id, large), Err(ApprovalError::TooLarge { .. })));
    let deep = (0..300).fold(json!(1), |value, _| json!([value]));
    let deep = scratch.store.decide(&id, Decision::Answered { value: deep });
    assert!(matches!(deep, Err(ApprovalError::TooDeep)));
    let long = Decision::Denied { reason: Some("é".repeat(100_000)) };
    assert_eq!(
        scratch.store.decide(&id, long).unwrap().decision,
        Some(Decision::Denied { reason: Some("é".repeat(2000)) })
    );
}
