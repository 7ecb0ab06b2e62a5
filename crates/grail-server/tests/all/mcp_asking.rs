//! The person behind the client is asked: about changes, and about calls that need approval.

use std::collections::BTreeSet;

use grail_agent::ProposalStore;
use grail_server::mcp::McpSettings;
use serde_json::{Value as Json, json};

use crate::mcp_client::Client;
use crate::sample::Sample;

/// A client whose person can be asked while a call waits.
async fn able(sample: &Sample) -> Client {
    let mut client = Client::connect(sample, McpSettings::default());
    client.greet(json!({"elicitation": {}})).await;
    client
}

fn note() -> Json {
    json!({"name": "write_note", "arguments": {"path": "a.py", "text": "a = 1\n"}})
}

async fn decide(client: &mut Client, params: Json, result: Json) -> (Json, Json) {
    let id = client.send("tools/call", params).await;
    let question = client.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    client.reply(&question, result).await;
    (question["params"].clone(), client.answer(id).await)
}

#[tokio::test]
async fn a_change_that_the_person_approves_is_written() {
    let sample = Sample::new(&[]);
    let mut client = able(&sample).await;
    let approve = json!({"action": "accept", "content": {"decision": "approve"}});
    let (question, answer) = decide(&mut client, note(), approve).await;
    assert_eq!(
        question["message"],
        "Write this change into the project? (`write_note`)\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+a = 1\n"
    );
    let choices = &question["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(*choices, json!(["approve", "reject", "later"]));
    assert_eq!(answer["structuredContent"]["proposal"]["state"], "approved");
    assert_eq!(sample.read("a.py").as_deref(), Some("a = 1\n"));
}

#[tokio::test]
async fn a_change_that_the_person_rejects_is_dropped_and_one_without_an_answer_waits() {
    let sample = Sample::new(&[]);
    let mut client = able(&sample).await;
    for (result, state) in [
        (json!({"action": "accept", "content": {"decision": "reject"}}), "rejected"),
        (json!({"action": "accept", "content": {"decision": "later"}}), "waiting"),
        (json!({"action": "decline"}), "waiting"),
        (json!({"action": "cancel"}), "waiting"),
        (json!({"action": "accept", "content": {"decision": 1}}), "waiting"),
        (json!({"action": "accept"}), "waiting"),
    ] {
        let (_, answer) = decide(&mut client, note(), result).await;
        assert_eq!(answer["structuredContent"]["proposal"]["state"], state);
    }
    assert_eq!(sample.read("a.py"), None);
}

#[tokio::test]
async fn a_call_that_needs_approval_is_refused_where_nobody_can_be_asked() {
    let sample = Sample::new(&[("a.py", "a = 1\n")]);
    let mut client = Client::greeted(&sample, McpSettings { write: true, ..McpSettings::default() }).await;
    let answer = client.call("erase", json!({"text": "a.py"})).await;
    assert_eq!(answer["isError"], true);
    assert_eq!(
        answer["content"][0]["text"],
        "PermissionError: `erase` needs the approval of a person, and this client cannot ask; hint: start the server with `grail mcp --allow erase`"
    );
    assert!(sample.read("a.py").is_some());
}

#[tokio::test]
async fn a_call_that_needs_approval_runs_when_it_is_allowed_beforehand() {
    let sample = Sample::new(&[("a.py", "a = 1\n")]);
    let settings = McpSettings { write: true, allowed: BTreeSet::from(["erase".to_owned()]) };
    let mut client = Client::greeted(&sample, settings).await;
    let answer = client.call("erase", json!({"text": "a.py"})).await;
    assert_eq!(answer["structuredContent"]["proposal"]["state"], "approved");
    assert_eq!(sample.read("a.py"), None);
}

#[tokio::test]
async fn a_person_is_asked_about_the_call_first_and_then_about_the_change() {
    let sample = Sample::new(&[("a.py", "a = 1\n")]);
    let mut client = able(&sample).await;
    let erase = json!({"name": "erase", "arguments": {"text": "a.py"}});
    let (question, answer) = decide(&mut client, erase.clone(), json!({"action": "decline"})).await;
    assert_eq!(question["message"], "May `erase` be called with\n{\n  \"text\": \"a.py\"\n}");
    assert_eq!(answer["isError"], true);
    let id = client.send("tools/call", erase).await;
    for decision in ["allow", "approve"] {
        let question = client.next().await.unwrap();
        client.reply(&question, json!({"action": "accept", "content": {"decision": decision}})).await;
    }
    assert_eq!(client.answer(id).await["structuredContent"]["proposal"]["state"], "approved");
    assert_eq!(sample.read("a.py"), None);
}

/// What every request of the newer protocol carries.
fn modern(mut params: Json) -> Json {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    params
}

#[tokio::test]
async fn newer_clients_take_the_question_with_them_and_bring_the_answer() {
    let sample = Sample::new(&[]);
    let mut client = Client::connect(&sample, McpSettings::default());
    let question = client.request("tools/call", modern(note())).await;
    assert_eq!(question["resultType"], "input_required", "{question}");
    assert_eq!(question["inputRequests"]["decision"]["method"], "elicitation/create");
    assert_eq!(sample.read("a.py"), None);
    let mut again = note();
    again["requestState"] = question["requestState"].clone();
    again["inputResponses"] = json!({"decision": {"action": "accept", "content": {"decision": "approve"}}});
    let answer = client.request("tools/call", modern(again.clone())).await;
    assert_eq!(answer["structuredContent"]["proposal"]["state"], "approved");
    assert_eq!(sample.read("a.py").as_deref(), Some("a = 1\n"));
    assert_eq!(ProposalStore::of_project(sample.root()).list().len(), 1);
    // An answer counts once: the same one again is a call of its own, which changes nothing any more.
    let repeated = client.request("tools/call", modern(again)).await;
    assert_eq!(repeated["structuredContent"]["proposal"], Json::Null);
}

#[tokio::test]
async fn an_answer_to_another_question_allows_nothing() {
    let sample = Sample::new(&[("a.py", ""), ("b.py", "")]);
    let mut client = Client::connect(&sample, McpSettings::default());
    let erase = |path: &str| json!({"name": "erase", "arguments": {"text": path}});
    let question = client.request("tools/call", modern(erase("a.py"))).await;
    let allow = json!({"decision": {"action": "accept", "content": {"decision": "allow"}}});
    for state in [question["requestState"].clone(), json!("20260101-000000-ffffff")] {
        let mut other = erase("b.py");
        other["requestState"] = state;
        other["inputResponses"] = allow.clone();
        let answer = client.request("tools/call", modern(other)).await;
        assert_eq!(answer["resultType"], "input_required", "it is asked again");
    }
    assert!(ProposalStore::of_project(sample.root()).list().is_empty());
}
