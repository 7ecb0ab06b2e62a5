//! Clients that make no sense, or go away.

use grail_server::mcp::McpSettings;
use serde_json::json;

use crate::mcp_client::Client;
use crate::sample::Sample;

#[tokio::test]
async fn lines_that_make_no_sense_do_not_end_the_server() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let huge =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"x\",\"params\":\"{}\"}}", "x".repeat(5 << 20));
    let lines: [&[u8]; 9] = [
        b"",
        b"garbage",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe\x00",
        b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}",
        deep.as_bytes(),
        huge.as_bytes(),
    ];
    for line in lines {
        client.line(line).await;
        let answer = client.call("count_words", json!({"text": "still there"})).await;
        assert_eq!(answer["structuredContent"]["result"], 2);
    }
}

#[tokio::test]
async fn an_unknown_method_is_answered() {
    let sample = Sample::new(&[]);
    let mut client = Client::greeted(&sample, McpSettings::default()).await;
    assert_eq!(client.request("tools/destroy", json!({})).await["code"], -32601);
    assert_eq!(client.request("tools/call", json!({"arguments": {}})).await["code"], -32602);
    assert_eq!(client.request("ping", json!({})).await, json!({}));
}

#[tokio::test]
async fn a_call_before_the_greeting_is_refused_and_the_greeting_still_works() {
    let sample = Sample::new(&[]);
    let mut client = Client::connect(&sample, McpSettings::default());
    assert_eq!(client.call("count_words", json!({"text": "a"})).await["code"], -32602);
    client.greet(json!({})).await;
    assert_eq!(client.call("count_words", json!({"text": "a"})).await["structuredContent"]["result"], 1);
}

#[tokio::test]
async fn the_server_ends_when_its_client_is_gone() {
    let sample = Sample::new(&[]);
    Client::connect(&sample, McpSettings::default()).leave().await.unwrap();
    Client::greeted(&sample, McpSettings::default()).await.leave().await.unwrap();
    let mut busy = Client::greeted(&sample, McpSettings::default()).await;
    busy.send("tools/call", json!({"name": "endless", "arguments": {}})).await;
    busy.leave().await.unwrap();
}
