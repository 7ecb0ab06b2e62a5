//! Envelopes in, answers out: in the process and a line at a time.

use grail_agent::ProposalStore;
use grail_server::host::{
    Answer, CommandName, Envelope, ErrorCode, HostServer, HostSettings, MAX_LINE_BYTES,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::sample::Sample;

fn server(sample: &Sample) -> HostServer {
    HostServer::new(Arc::clone(&sample.workspace), HostSettings::default())
}

async fn ask(server: &HostServer, command: &str, payload: Json) -> Answer {
    let (request_id, command) = ("7".to_owned(), command.to_owned());
    let answer = server.handle(Envelope { v: 1, request_id, command, payload }).await;
    assert_eq!((answer.v, answer.request_id.as_str()), (1, "7"));
    assert_eq!(answer.ok, answer.error.is_none());
    answer
}

/// What comes back for these lines, in any order.
async fn lines(sample: &Sample, text: &[u8]) -> Vec<Answer> {
    let (mut here, there) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(there);
    let server = server(sample);
    let serving = tokio::spawn(async move { server.serve_streams(input, output).await });
    here.write_all(text).await.unwrap();
    here.shutdown().await.unwrap();
    let mut told = String::new();
    here.read_to_string(&mut told).await.unwrap();
    serving.await.unwrap().unwrap();
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_command_has_a_name_that_leads_back() {
    for command in CommandName::ALL {
        assert_eq!(CommandName::parse(command.as_str()), Some(*command));
    }
    assert_eq!(CommandName::parse("skill.explode"), None);
}

#[tokio::test]
async fn a_host_is_told_every_command_with_its_schemas() {
    let sample = Sample::new(&[]);
    let answer = ask(&server(&sample), "host.commands", Json::Null).await;
    let commands = answer.payload["commands"].as_array().unwrap();
    assert_eq!(commands.len(), CommandName::ALL.len());
    let check = commands.iter().find(|command| command["command"] == "check").unwrap();
    assert_eq!(check["payload"]["properties"]["paths"]["type"], "array");
    assert!(commands.iter().all(|command| command["answer"]["type"] == "object"));
}

#[tokio::test]
async fn files_are_checked() {
    let sample = Sample::new(&[("good.py", "a = 1\n"), ("src/bad.py", "def f(:\n    pass\n")]);
    let server = server(&sample);
    let all = ask(&server, "check", Json::Null).await;
    assert_eq!((&all.payload["passed"], &all.payload["files"]), (&json!(false), &json!(2)));
    assert_eq!(all.payload["problems"][0]["path"], "src/bad.py");
    assert_eq!(all.payload["problems"][0]["layer"], "syntax");
    let one = ask(&server, "check", json!({"paths": ["good.py"]})).await;
    assert_eq!(
        one.payload,
        json!({"passed": true, "files": 1, "problems": [], "more_problems": 0, "errors": []})
    );
    let code = |answer: Answer| answer.error.unwrap().code;
    assert_eq!(code(ask(&server, "check", json!({"paths": ["sr"]})).await), ErrorCode::NotFound);
    assert_eq!(code(ask(&server, "check", json!({"paths": ["../x"]})).await), ErrorCode::BadPayload);
    assert_eq!(code(ask(&server, "check", json!({"kind": "castle"})).await), ErrorCode::Failed);
}

#[tokio::test]
async fn what_a_command_does_not_take_is_refused() {
    let sample = Sample::new(&[]);
    let server = server(&sample);
    for (command, payload) in [
        ("check", json!({"path": []})),
        ("check", json!([])),
        ("generate", json!({})),
        ("generate", json!({"intent": " "})),
        ("generate", json!({"intent": "a thing without a kind"})),
        ("generate", json!({"intent": "a service", "layers": ["magic"]})),
        ("proposal.show", json!({"id": 1})),
        ("feedback", json!({"subject": "", "verdict": "accepted"})),
        ("skill.search", json!({"intent": ""})),
    ] {
        let error = ask(&server, command, payload.clone()).await.error.unwrap();
        assert_eq!(error.code, ErrorCode::BadPayload, "{command} {payload}: {}", error.message);
    }
}

#[tokio::test]
async fn proposals_are_listed_shown_approved_reverted_and_rejected() {
    let sample = Sample::new(&[]);
    let server = server(&sample);
    sample.workspace.staging.write("a.py", "a = 1\n".to_owned()).unwrap();
    let proposal = grail_agent::propose_staged(&sample.workspace, grail_agent::StagedWork::default());
    let proposal = proposal.unwrap().unwrap();
    sample.workspace.staging.clear();
    ProposalStore::of_project(sample.root()).save(&proposal, None).unwrap();
    let id = json!({"id": proposal.id});
    let list = ask(&server, "proposal.list", Json::Null).await;
    assert_eq!(list.payload["proposals"][0]["files"], json!(["a.py"]));
    let shown = ask(&server, "proposal.show", id.clone()).await;
    assert_eq!(shown.payload["proposal"]["state"], "waiting");
    let approved = ask(&server, "proposal.approve", id.clone()).await;
    assert_eq!(approved.payload["proposal"]["state"], "approved");
    assert_eq!(sample.read("a.py").as_deref(), Some("a = 1\n"));
    let again = ask(&server, "proposal.reject", id.clone()).await.error.unwrap();
    assert_eq!(again.code, ErrorCode::Refused);
    let reverted = ask(&server, "proposal.revert", id).await;
    assert_eq!(reverted.payload["proposal"]["state"], "reverted");
    assert_eq!(sample.read("a.py"), None);
    assert_eq!(ask(&server, "proposal.list", Json::Null).await.payload["proposals"], json!([]));
    let unknown = ask(&server, "proposal.show", json!({"id": "../../etc"})).await.error.unwrap();
    assert_eq!(unknown.code, ErrorCode::NotFound);
    assert_eq!(unknown.hint.as_deref(), Some("`grail proposals list` shows them"));
}

#[tokio::test]
async fn skills_are_listed_loaded_read_and_found() {
    let own = "---\nname: house-style\ndescription: How we write\n---\nBe brief.\n";
    let sample = Sample::new(&[(".agents/skills/house-style/SKILL.md", own)]);
    let server = server(&sample);
    let list = ask(&server, "skill.list", Json::Null).await;
    let skills = list.payload["skills"].as_array().unwrap();
    let house = skills.iter().find(|skill| skill["name"] == "house-style").unwrap();
    assert_eq!((&house["origin"], &house["trusted"]), (&json!("project"), &json!(false)));
    let loaded = ask(&server, "skill.load", json!({"name": "view-conventions"})).await;
    assert!(!loaded.payload["body"].as_str().unwrap().is_empty());
    let read = ask(&server, "skill.read", json!({"name": "view-conventions", "path": "SKILL.md"})).await;
    assert!(read.payload["text"].as_str().unwrap().starts_with("---\n"));
    let found = ask(&server, "skill.search", json!({"intent": "write a pytest test", "limit": 1})).await;
    assert_eq!(found.payload["hits"][0]["name"], "pytest-tests");
    let code = |answer: Answer| answer.error.unwrap().code;
    assert_eq!(code(ask(&server, "skill.load", json!({"name": "house-style"})).await), ErrorCode::Refused);
    assert_eq!(code(ask(&server, "skill.load", json!({"name": "nobody"})).await), ErrorCode::NotFound);
    let outside = json!({"name": "view-conventions", "path": "../../grail.toml"});
    assert!(!ask(&server, "skill.read", outside).await.ok);
    assert_eq!(code(ask(&server, "skill.invoke", json!({"skill_id": "nobody"})).await), ErrorCode::NotFound);
    assert_eq!(code(ask(&server, "skill.status", json!({"skill_id": "nobody"})).await), ErrorCode::NotFound);
    assert_eq!(ask(&server, "skill.status", Json::Null).await.payload["skills"], json!([]));
}

#[tokio::test]
async fn host_command_skill_generate() {
    if !has_python() {
        return;
    }
    let sample = Sample::new(&[]);
    let server = server(&sample);
    let intent = "convert temperatures from celsius to fahrenheit";
    let preview = ask(&server, "skill.generate", json!({"intent": intent, "confirm": false})).await;
    assert_eq!(preview.payload["outcome"], "proposed", "{preview:?}");
    let shown = &preview.payload["preview"];
    let id = shown["skill_id"].as_str().unwrap();
    assert!(shown["files"].as_object().unwrap().contains_key("manifest.toml"), "{shown}");
    assert_eq!(ask(&server, "skill.status", Json::Null).await.payload["skills"], json!([]));
    let status = ask(&server, "skill.generate.status", json!({"skill_id": id})).await;
    assert_eq!((&status.payload["state"], &status.payload["intent"]), (&json!("proposed"), &json!(intent)));
    let other = json!({"intent": intent, "confirm": true, "hash": "0".repeat(64)});
    assert_eq!(ask(&server, "skill.generate", other).await.error.unwrap().code, ErrorCode::Refused);
    let confirmed = ask(&server, "skill.generate", json!({"intent": intent, "confirm": true})).await;
    assert_eq!(confirmed.payload["outcome"], "installed", "{confirmed:?}");
    let installed = ask(&server, "skill.status", json!({"skill_id": id})).await;
    assert_eq!(installed.payload["skills"][0]["state"], "active");
    let store = grail_agent::skill_generator::store_of(&sample.workspace).unwrap();
    let folder = store.active(id).unwrap().folder;
    for (path, text) in shown["files"].as_object().unwrap() {
        assert_eq!(std::fs::read_to_string(folder.join(path)).unwrap(), text.as_str().unwrap(), "{path}");
    }
    let found = ask(&server, "skill.search", json!({"intent": intent, "limit": 1})).await;
    assert_eq!(found.payload["hits"][0]["name"], *id);
    let again = ask(&server, "skill.generate", json!({"intent": intent})).await;
    assert_eq!(
        (&again.payload["outcome"], &again.payload["skill_id"]),
        (&json!("existing-match"), &json!(id))
    );
}

#[tokio::test]
async fn a_skill_that_was_not_previewed_cannot_be_confirmed() {
    let sample = Sample::new(&[]);
    let server = server(&sample);
    let code = |answer: Answer| answer.error.unwrap().code;
    let confirm = json!({"intent": "send mail", "confirm": true});
    assert_eq!(code(ask(&server, "skill.generate", confirm).await), ErrorCode::NotFound);
    assert_eq!(code(ask(&server, "skill.generate", json!({"intent": ""})).await), ErrorCode::BadPayload);
    let unknown = json!({"skill_id": "nobody"});
    assert_eq!(code(ask(&server, "skill.generate.status", unknown).await), ErrorCode::NotFound);
}

/// Whether there is a Python to run a skill with; that a test is left out is said.
#[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
fn has_python() -> bool {
    let found = std::process::Command::new("python3")
        .args(["-c", "import sys; raise SystemExit(sys.version_info < (3, 11))"])
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("SKIPPED: there is no Python 3.11 or newer");
    }
    found
}

#[tokio::test]
async fn every_line_is_answered_whatever_it_holds() {
    let sample = Sample::new(&[]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let huge = "x".repeat(MAX_LINE_BYTES + 1);
    let long_id = format!(r#"{{"v": 1, "request_id": "{}", "command": "check"}}"#, "i".repeat(300));
    for (line, id, code) in [
        ("garbage", "", ErrorCode::BadJson),
        (deep.as_str(), "", ErrorCode::BadJson),
        (huge.as_str(), "", ErrorCode::TooLarge),
        ("null", "", ErrorCode::BadEnvelope),
        ("[1]", "", ErrorCode::BadEnvelope),
        (r#"{"request_id": "1", "command": "check"}"#, "1", ErrorCode::BadEnvelope),
        (r#"{"v": "1", "request_id": "1", "command": "check"}"#, "1", ErrorCode::BadEnvelope),
        (r#"{"v": 2, "request_id": "1", "something": "new"}"#, "1", ErrorCode::UnsupportedVersion),
        (r#"{"v": 1, "command": "check"}"#, "", ErrorCode::BadEnvelope),
        (long_id.as_str(), "", ErrorCode::BadEnvelope),
        (r#"{"v": 1, "request_id": "1"}"#, "1", ErrorCode::BadEnvelope),
        (r#"{"v": 1, "request_id": "1", "command": "explode"}"#, "1", ErrorCode::UnknownCommand),
    ] {
        let answers = lines(&sample, line.as_bytes()).await;
        let shown: String = line.chars().take(60).collect();
        assert_eq!(answers.len(), 1, "{shown}");
        assert_eq!(
            (answers[0].request_id.as_str(), answers[0].error.as_ref().unwrap().code),
            (id, code),
            "{shown}"
        );
    }
    assert!(lines(&sample, b"\n  \n").await.is_empty());
    assert_eq!(lines(&sample, b"\xff\xfe\n").await[0].error.as_ref().unwrap().code, ErrorCode::BadJson);
}

#[tokio::test]
async fn many_requests_are_answered_each_under_its_own_name() {
    let sample = Sample::new(&[]);
    let request =
        |number: usize| format!("{{\"v\":1,\"request_id\":\"r{number}\",\"command\":\"proposal.list\"}}\n");
    let text: String = (0..100).map(request).collect();
    let mut ids: Vec<String> =
        lines(&sample, text.as_bytes()).await.into_iter().map(|one| one.request_id).collect();
    ids.sort();
    let mut wanted: Vec<String> = (0..100).map(|number| format!("r{number}")).collect();
    wanted.sort();
    assert_eq!(ids, wanted);
}
