//! Recordings in files, and one of a real model.

use std::path::Path;

use grail_model::{Exchange, FinishReason, ModelError, Recorder, Recording, Replay, Scripted, Step, collect};

use crate::loopback::question;

#[tokio::test]
async fn a_recording_goes_through_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversation.json");
    let recorder = Recorder::new(Scripted::new([Step::Say("one".to_owned())]));
    let heard = collect(&recorder, &question("hi"), |_| {}).await.unwrap();
    recorder.recording().write(&path).unwrap();
    let recording = Recording::read(&path).unwrap();
    assert_eq!(recording, recorder.recording());
    assert_eq!(recording.exchanges, [Exchange { request: question("hi"), reply: heard.clone() }]);
    // Written over what was there, with nothing left beside it.
    recording.write(&path).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(collect(&Replay::new(recording), &question("hi"), |_| {}).await.unwrap(), heard);
}

#[test]
fn files_that_are_no_recordings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversation.json");
    let problem = |path: &Path| match Recording::read(path).unwrap_err() {
        ModelError::Recording { action, reason, .. } => format!("{action}: {reason}"),
        other => panic!("{other}"),
    };
    assert_eq!(problem(folder.path()), "read: it is no file");
    std::fs::write(&path, "[]").unwrap();
    assert!(problem(&path).starts_with("read: "));
    std::fs::write(&path, "{\"model\": ").unwrap();
    assert_eq!(problem(&path), "read: EOF while parsing a value at line 1 column 10");
    // Longer than may be, without taking up room.
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(problem(&path), "read: it has more than 67108864 bytes");
    let nowhere = folder.path().join("missing/conversation.json");
    assert!(Recording::default().write(&nowhere).is_err());
}

/// What `live::what_a_real_model_says_can_be_replayed` has written down.
#[tokio::test]
async fn a_real_conversation_is_replayed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/smollm2.json");
    let recording = Recording::read(&path).unwrap();
    let replay = Replay::new(recording.clone());
    let mut kinds = Vec::new();
    for exchange in &recording.exchanges {
        let reply = collect(&replay, &exchange.request, |_| {}).await.unwrap();
        assert!(reply.finish.model.ends_with("SmolLM2-135M-Instruct.Q4_1.gguf"));
        assert!(reply.finish.usage.input_tokens > 0 && reply.finish.usage.output_tokens > 0);
        kinds.push((!reply.text.is_empty(), reply.tool_calls.len(), reply.finish.reason));
    }
    assert_eq!(
        kinds,
        [(true, 0, FinishReason::Stop), (false, 1, FinishReason::ToolCalls), (true, 0, FinishReason::Stop),]
    );
}
