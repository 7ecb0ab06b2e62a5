//! What a client sees: tools, proposals, resources, prompts, progress, feedback.

use grail_agent::{ProposalStore, StoppedClock};
use grail_flywheel::EventKind;
use grail_flywheel::event::CorrectionSource;
use grail_sandbox::{Tool, Toolset};
use grail_server::mcp::McpSettings;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::mcp_client::{Client, writing};
use crate::sample::{GOOD_SERVICE, Sample};

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

fn names(list: &Json, key: &str, field: &str) -> Vec<String> {
    list[key].as_array().unwrap().iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_client_is_told_who_serves_it() {
    let sample = Sample::new(&[]);
    let mut client = Client::connect(&sample, McpSettings::default());
    let greeting = client.greet(json!({})).await;
    assert_eq!(greeting["serverInfo"]["name"], "grail");
    let capabilities = greeting["capabilities"].as_object().unwrap();
    assert_eq!(capabilities.keys().collect::<Vec<_>>(), ["extensions", "prompts", "resources", "tools"]);
    assert!(greeting["instructions"].as_str().unwrap().contains("`generate_artifact`"));
    client.leave().await.unwrap();
}

#[tokio::test]
async fn every_tool_has_both_schemas_and_says_what_it_does_to_the_project() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let list = client.request("tools/list", json!({})).await;
    assert_eq!(
        names(&list, "tools", "name"),
        ["count_words", "endless", "erase", "feedback", "generate_artifact", "panics", "write_note"]
    );
    let tools = list["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    assert!(tools.iter().all(|tool| tool["outputSchema"]["type"] == "object"));
    assert_eq!(
        tools[0],
        json!({
            "name": "count_words",
            "description": "Count the words of a text.",
            "inputSchema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": "Text",
                "type": "object",
                "properties": {"text": {"description": "Some words.", "type": "string"}},
                "required": ["text"],
            },
            "outputSchema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"result": {"title": "uint", "type": "integer", "format": "uint", "minimum": 0}},
                "required": ["result"],
            },
            "annotations": {
                "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
            },
        })
    );
    let note = &tools[6];
    assert_eq!(note["annotations"]["readOnlyHint"], false);
    assert_eq!(note["annotations"]["destructiveHint"], true);
    let proposal = &note["outputSchema"]["properties"]["proposal"];
    assert_eq!(proposal["required"], json!(["id", "state", "files", "diff", "next"]));
}

#[tokio::test]
async fn a_result_comes_as_data_and_as_text() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    assert_eq!(
        client.call("count_words", json!({"text": "one two"})).await,
        json!({
            "content": [{"type": "text", "text": "{\"result\":2}"}],
            "structuredContent": {"result": 2},
            "isError": false,
        })
    );
}

#[tokio::test]
async fn what_goes_wrong_is_told_with_a_hint_and_does_not_end_the_server() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let text = |answer: Json| {
        assert_eq!(answer["isError"], true);
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        text(client.call("count_words", json!({"text": ""})).await),
        "ValueError: the text is empty; hint: say something"
    );
    assert_eq!(
        text(client.call("count_words", json!({})).await),
        "TypeError: count_words() missing required argument: 'text'"
    );
    assert_eq!(
        text(client.call("count_words", json!({"text": "a", "more": 1})).await),
        "TypeError: count_words() got an unexpected keyword argument 'more'"
    );
    assert_eq!(text(client.call("panics", json!({})).await), "RuntimeError: the tool `panics` panicked");
    let unknown = client.call("count_letters", json!({})).await;
    assert_eq!(unknown["code"], -32602);
    assert!(unknown["message"].as_str().unwrap().starts_with("there is no tool `count_letters`; there are "));
}

#[tokio::test]
async fn a_change_waits_as_a_proposal_and_touches_nothing() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let answer = client.call("write_note", json!({"path": "a.py", "text": "a = 1\n"})).await;
    let told = &answer["structuredContent"];
    let id = told["proposal"]["id"].as_str().unwrap();
    assert_eq!(told["path"], "a.py");
    assert_eq!(told["proposal"]["state"], "waiting");
    assert_eq!(told["proposal"]["files"], json!(["a.py"]));
    assert_eq!(told["proposal"]["diff"], "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+a = 1\n");
    assert_eq!(sample.read("a.py"), None);
    assert!(sample.workspace.staging.is_empty());
    let stored = ProposalStore::of_project(sample.root()).read(id).unwrap();
    assert_eq!((stored.mode.as_str(), stored.model.answered.as_str()), ("mcp", "tester 1"));
    // The next call does not see it.
    let next = client.call("write_note", json!({"path": "b.py", "text": "b = 1\n"})).await;
    assert_eq!(next["structuredContent"]["proposal"]["files"], json!(["b.py"]));
}

#[tokio::test]
async fn an_artifact_is_checked_and_becomes_a_proposal() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let hand_in = |code: &str| json!({"artifact_type": "service", "name": "MailService", "description": "sends mail", "code": code});
    let wrong = client.call("generate_artifact", hand_in("class MailService(:\n    pass\n")).await;
    assert_eq!(wrong["structuredContent"]["success"], false);
    assert_eq!(wrong["structuredContent"]["problems"][0]["line"], 1);
    assert_eq!(wrong["structuredContent"]["proposal"], Json::Null);
    let right = client.call("generate_artifact", hand_in(GOOD_SERVICE)).await;
    assert_eq!(right["structuredContent"]["success"], true, "{right}");
    assert_eq!(right["structuredContent"]["proposal"]["files"], json!(["services/mail_service.py"]));
    let id = right["structuredContent"]["proposal"]["id"].as_str().unwrap();
    let stored = ProposalStore::of_project(sample.root()).read(id).unwrap();
    assert_eq!(stored.kind.as_deref(), Some("service"));
    assert_eq!(stored.lineage, ["sends mail"]);
    assert_eq!(stored.checks[0].layers.len(), 2);
    assert_eq!(sample.read("services/mail_service.py"), None);
}

#[tokio::test]
async fn with_write_a_change_is_applied_and_can_be_undone() {
    let sample = Sample::new(&[("a.py", "a = 0\n")]);
    let mut client = Client::greeted(&sample, writing()).await;
    let answer = client.call("write_note", json!({"path": "a.py", "text": "a = 1\n"})).await;
    let proposal = &answer["structuredContent"]["proposal"];
    assert_eq!(proposal["state"], "approved");
    assert_eq!(sample.read("a.py").as_deref(), Some("a = 1\n"));
    let id = proposal["id"].as_str().unwrap();
    ProposalStore::of_project(sample.root()).revert(id, &StoppedClock::default()).unwrap();
    assert_eq!(sample.read("a.py").as_deref(), Some("a = 0\n"));
}

#[tokio::test]
async fn a_path_out_of_the_project_is_refused() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, writing()).await;
    for path in ["../a.py", "/tmp/a.py", ".git/config", ".grail/proposals/x"] {
        let answer = client.call("write_note", json!({"path": path, "text": "x"})).await;
        assert_eq!(answer["isError"], true, "{path}");
    }
    assert!(ProposalStore::of_project(sample.root()).list().is_empty());
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let sample = Sample::new(&[]);
    let echo =
        |number: usize| Tool::typed(&format!("echo_{number:03}"), "", |word: Word| Ok(word.word)).unwrap();
    let many = Toolset::new((0..150).map(echo)).unwrap();
    let mut client = Client::connect_with(&sample, many, McpSettings::default());
    client.greet(json!({})).await;
    let first = client.request("tools/list", json!({})).await;
    assert_eq!(names(&first, "tools", "name").len(), 100);
    assert_eq!(first["nextCursor"], "100");
    let second = client.request("tools/list", json!({"cursor": "100"})).await;
    assert_eq!(names(&second, "tools", "name").len(), 51);
    assert_eq!(second.get("nextCursor"), None);
    let broken = client.request("tools/list", json!({"cursor": "x"})).await;
    assert_eq!(broken["message"], "`x` is no cursor of this server");
}

#[tokio::test]
async fn trusted_skills_are_resources_and_others_are_not() {
    let own = "---\nname: house-style\ndescription: How we write\n---\nBe brief.\n";
    let sample = Sample::new(&[(".agents/skills/house-style/SKILL.md", own)]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let list = client.request("resources/list", json!({})).await;
    let uris = names(&list, "resources", "uri");
    assert!(uris.contains(&"skill://view-conventions/SKILL.md".to_owned()));
    assert!(!uris.iter().any(|uri| uri.contains("house-style")));
    let read = client.request("resources/read", json!({"uri": "skill://view-conventions/SKILL.md"})).await;
    assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
    assert!(read["contents"][0]["text"].as_str().unwrap().starts_with("---\nname: view-conventions"));
    for uri in [
        "skill://house-style/SKILL.md",
        "skill://view-conventions/../svcs-services/SKILL.md",
        "skill://view-conventions/%2e%2e/%2e%2e/etc/passwd",
        "skill://view-conventions/nothing.md",
        "skill://nobody/SKILL.md",
        "file:///etc/passwd",
        "skill://",
        "skill://%zz/SKILL.md",
    ] {
        let answer = client.request("resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["code"], -32002, "{uri}: {answer}");
    }
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "skill://{name}/{+path}");
}

#[tokio::test]
async fn clients_that_know_skills_are_told_them_with_their_hashes() {
    let own = "---\nname: house-style\ndescription: How we write\n---\nBe brief.\n";
    let sample = Sample::new(&[(".agents/skills/house-style/SKILL.md", own)]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let list = client.request("skills/list", json!({})).await;
    let uris = names(&list, "skills", "uri");
    assert!(uris.contains(&"skill://view-conventions/SKILL.md".to_owned()), "{uris:?}");
    assert!(!uris.iter().any(|uri| uri.contains("house-style")));
    let got = client.request("skills/get", json!({"uri": "skill://view-conventions/SKILL.md"})).await;
    assert_eq!(got["skill"]["frontmatter"]["name"], "view-conventions");
    let files = got["skill"]["resources"].as_array().unwrap();
    assert!(files.iter().all(|file| file["digest"].as_str().unwrap().len() == "sha256:".len() + 64));
    for wrong in [json!({}), json!({"uri": "skill://house-style/SKILL.md"}), json!({"uri": 1})] {
        assert!(client.request("skills/get", wrong).await.get("code").is_some());
    }
}

#[tokio::test]
async fn there_is_a_prompt_for_every_kind_and_every_trusted_skill() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let list = client.request("prompts/list", json!({})).await;
    let prompts = names(&list, "prompts", "name");
    assert!(
        prompts.contains(&"generate-service".to_owned())
            && prompts.contains(&"use-view-conventions".to_owned())
    );
    let got = client
        .request(
            "prompts/get",
            json!({"name": "generate-service", "arguments": {"intent": "sends <b>mail</b>"}}),
        )
        .await;
    let text = got["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("<intent>sends &lt;b&gt;mail&lt;/b&gt;</intent>"), "{text}");
    assert!(text.contains("`artifact_type` \"service\""));
    let used = client
        .request(
            "prompts/get",
            json!({"name": "use-view-conventions", "arguments": {"task": "a profile view"}}),
        )
        .await;
    assert!(used["messages"][0]["content"]["text"].as_str().unwrap().contains("<task>a profile view</task>"));
    let missing = client.request("prompts/get", json!({"name": "generate-service"})).await;
    assert_eq!(missing["message"], "the prompt `generate-service` needs the argument `intent`");
    let unknown =
        client.request("prompts/get", json!({"name": "generate-castle", "arguments": {"intent": "x"}})).await;
    assert!(
        unknown["message"].as_str().unwrap().starts_with("no kind of artifact is called `castle`; hint: ")
    );
}

#[tokio::test]
async fn feedback_is_kept_as_an_event() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let feedback = json!({
        "subject": "services/mail_service.py", "verdict": "corrected", "text": "hosts are called `server` here",
        "corrected_code": "server = 1\n",
    });
    let answer = client.call("feedback", feedback).await;
    assert_eq!(answer["structuredContent"]["recorded"], true);
    let kept = sample.events.events().pop().unwrap().kind;
    assert_eq!(
        kept,
        EventKind::UserCorrection {
            text: "hosts are called `server` here".to_owned(),
            source: CorrectionSource::Feedback,
            subject: Some("services/mail_service.py".to_owned()),
            path: Some("services/mail_service.py".to_owned()),
            original: None,
            corrected: Some("server = 1\n".to_owned()),
            violates: Vec::new(),
        }
    );
    for broken in [
        json!({"subject": " ", "verdict": "accepted"}),
        json!({"subject": "a", "verdict": "corrected"}),
        json!({"subject": "a", "verdict": "great"}),
        json!({"subject": "a".repeat(2_000), "verdict": "accepted"}),
    ] {
        assert_eq!(client.call("feedback", broken).await["isError"], true);
    }
    assert_eq!(sample.events.events().len(), 1);
}

#[tokio::test]
async fn whoever_asks_for_progress_hears_how_a_call_goes_on() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let arguments = json!({"artifact_type": "service", "name": "MailService", "description": "mail", "code": GOOD_SERVICE});
    let answer = client
        .request(
            "tools/call",
            json!({"name": "generate_artifact", "arguments": arguments, "_meta": {"progressToken": "t"}}),
        )
        .await;
    assert_eq!(answer["structuredContent"]["success"], true);
    let told: Vec<&Json> =
        client.heard.iter().filter(|heard| heard["method"] == "notifications/progress").collect();
    assert!(told.iter().all(|one| one["params"]["progressToken"] == "t"));
    let messages: Vec<&str> = told.iter().map(|one| one["params"]["message"].as_str().unwrap()).collect();
    assert_eq!((messages[0], *messages.last().unwrap()), ("calling `generate_artifact`", "done"));
    let progress: Vec<f64> = told.iter().map(|one| one["params"]["progress"].as_f64().unwrap()).collect();
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]), "{progress:?}");
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing_behind() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, writing()).await;
    let id = client
        .send("tools/call", json!({"name": "endless", "arguments": {}, "_meta": {"progressToken": 1}}))
        .await;
    // It has begun.
    assert_eq!(client.next().await.unwrap()["params"]["message"], "calling `endless`");
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"})).await;
    // It waits for the cancelled one, which holds the staging.
    let answer = client.call("write_note", json!({"path": "a.py", "text": "a = 1\n"})).await;
    assert_eq!(answer["structuredContent"]["proposal"]["files"], json!(["a.py"]));
    assert_eq!(sample.read("never.py"), None);
    assert!(client.heard.iter().all(|heard| heard["id"] != id), "a cancelled call has no answer");
}
