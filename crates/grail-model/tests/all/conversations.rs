//! Scripted and replayed conversations, and what ends one badly.

use grail_model::{
    ChatRequest, Finish, FinishReason, Message, Model, ModelError, Recorder, Recording, Replay, Scripted,
    Step, ToolCall, Usage, collect,
};
use serde_json::json;

fn request(text: &str) -> ChatRequest {
    ChatRequest { messages: vec![Message::user(text)], ..ChatRequest::default() }
}

fn call(name: &str) -> ToolCall {
    ToolCall { id: "call-1".to_owned(), name: name.to_owned(), arguments: json!({"path": "a.py"}) }
}

#[tokio::test]
async fn a_script_answers_in_order_and_then_no_more() {
    let model = Scripted::new([Step::Say("hello".to_owned()), Step::Call(vec![call("read_file")])]);
    let mut pieces = 0;
    let first = collect(&model, &request("hi"), |_| pieces += 1).await.unwrap();
    assert_eq!((first.text.as_str(), pieces), ("hello", 2));
    let second = collect(&model, &request("read"), |_| {}).await.unwrap();
    assert_eq!(second.tool_calls, [call("read_file")]);
    assert_eq!(
        second.finish,
        Finish { reason: FinishReason::ToolCalls, usage: Usage::default(), model: "scripted".to_owned() }
    );
    let third = collect(&model, &request("more"), |_| {}).await;
    assert_eq!(third, Err(ModelError::ScriptEnded { answers: 2 }));
    assert_eq!(model.asked().len(), 3);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    let error =
        ModelError::Interrupted { model: "scripted".to_owned(), reason: "the connection closed".to_owned() };
    let model = Scripted::new([Step::Fail("def f(".to_owned(), error.clone()), Step::Say("  \n".to_owned())]);
    assert_eq!(collect(&model, &request("a"), |_| {}).await, Err(error));
    assert_eq!(
        collect(&model, &request("b"), |_| {}).await,
        Err(ModelError::Empty { model: "scripted".to_owned() })
    );
}

#[tokio::test]
async fn an_endless_answer_is_given_up() {
    let model = Scripted::new([Step::Say("a".repeat(grail_model::MAX_REPLY_BYTES + 1))]);
    let limit = grail_model::MAX_REPLY_BYTES;
    assert_eq!(
        collect(&model, &request("a"), |_| {}).await,
        Err(ModelError::TooLong { model: "scripted".to_owned(), limit })
    );
}

#[tokio::test]
async fn what_was_recorded_is_replayed() {
    let steps = [Step::Say("one".to_owned()), Step::Call(vec![call("check")]), Step::Say("two".to_owned())];
    let recorder = Recorder::new(Scripted::new(steps));
    let mut heard = Vec::new();
    for text in ["again", "once", "again"] {
        heard.push(collect(&recorder, &request(text), |_| {}).await.unwrap());
    }
    // Through a file and back.
    let text = serde_json::to_string(&recorder.recording()).unwrap();
    let recording: Recording = serde_json::from_str(&text).unwrap();
    let replay = Replay::new(recording);
    assert_eq!(replay.name(), "scripted");
    // By what is asked, not by when.
    assert_eq!(collect(&replay, &request("once"), |_| {}).await.unwrap(), heard[1]);
    assert_eq!(collect(&replay, &request("again"), |_| {}).await.unwrap(), heard[0]);
    assert_eq!(collect(&replay, &request("again"), |_| {}).await.unwrap(), heard[2]);
    assert_eq!(collect(&replay, &request("again"), |_| {}).await.unwrap(), heard[2]);
    assert_eq!(
        collect(&replay, &request("never"), |_| {}).await,
        Err(ModelError::NotRecorded { recorded: 3 })
    );
}
