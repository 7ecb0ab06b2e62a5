//! Which model is asked: by name, by the project's settings, with what is known about its server.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use grail_agent::{AgentError, Mode, models};

use crate::loopback::read_request;
use crate::sample::Sample;

/// A server that lists one model, refuses tools and schemas, and says hello. It serves so many requests and ends.
fn serve(requests: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&count);
    thread::spawn(move || {
        for connection in listener.incoming().take(requests) {
            let mut connection = connection.unwrap();
            let request = read_request(&mut connection);
            served.fetch_add(1, Ordering::SeqCst);
            let (status, kind, body) = if request.starts_with("GET") {
                ("200 OK", "application/json", r#"{"data": [{"id": "tiny"}]}"#)
            } else if request.contains("\"tools\"") || request.contains("response_format") {
                ("400 Bad Request", "application/json", r#"{"error": "not supported"}"#)
            } else {
                let answer = "data: {\"model\": \"tiny\", \"choices\": [{\"delta\": {\"content\": \"hello\"}, \"finish_reason\": \"stop\"}]}\n\n";
                ("200 OK", "text/event-stream", answer)
            };
            let _ = write!(
                connection,
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    (url, count)
}

fn project(url: &str, more: &str) -> Sample {
    let text =
        format!("[generate]\nmodel = \"local\"\n[models.local]\nurl = \"{url}\"\nmodel = \"tiny\"\n{more}");
    Sample::new(&[("grail.toml", &text)])
}

#[tokio::test]
async fn a_server_is_probed_once_and_remembered() {
    let (url, count) = serve(4);
    let sample = project(&url, "retries = 0\ninput-price = 2\ncontext-tokens = 4096\n");
    for _ in 0..2 {
        let chosen = models::choose(&sample.workspace, None).await.unwrap();
        assert_eq!((chosen.name.as_str(), chosen.model.name()), ("local", "tiny"));
        // Without tool calls of its own it is better at programs.
        assert_eq!(chosen.preferred_mode, Mode::Code);
        assert_eq!((chosen.prices.input, chosen.context_tokens), (2.0, Some(4096)));
        assert_eq!(count.load(Ordering::SeqCst), 4);
    }
    let folder = sample.root().join(".grail/models");
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        kept,
        serde_json::json!({
            "url": url,
            "model": "tiny",
            "probed": "2026-01-01T00:00:00Z",
            "abilities": {"models": ["tiny"], "tool_calls": false, "json_schema": false, "grammar": false},
        })
    );
    // What cannot be read, or is old, is asked for again: nobody is there any more.
    for text in [String::new(), kept.to_string().replace("2026-01-01", "2025-12-24")] {
        std::fs::write(&file, text).unwrap();
        assert!(matches!(models::choose(&sample.workspace, None).await, Err(AgentError::Model(_))));
    }
}

#[tokio::test]
async fn the_settings_decide_about_the_mode() {
    let (url, _) = serve(4);
    let sample = project(&url, "mode = \"direct\"\n");
    assert_eq!(models::choose(&sample.workspace, None).await.unwrap().preferred_mode, Mode::Direct);
}

#[tokio::test]
async fn a_model_that_is_not_there_is_said() {
    let sample = project("http://127.0.0.1:1/v1", "retries = 0\n");
    let fail = async |name| models::choose(&sample.workspace, name).await.err().unwrap().to_string();
    assert_eq!(
        fail(Some("local")).await,
        "no model server answers at `http://127.0.0.1:1/v1`: the connection was refused"
    );
    assert_eq!(fail(Some("locl")).await, "there is no model `locl`");
    assert_eq!(
        fail(Some("replay:missing.json")).await,
        "the recording `missing.json` cannot be read: No such file or directory (os error 2)"
    );
    let sample = project("http://127.0.0.1:1/v1", "key-env = \"GRAIL_TEST_NO_SUCH_KEY\"\n");
    let error = models::choose(&sample.workspace, None).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "the model `tiny` needs a key, and the environment variable `GRAIL_TEST_NO_SUCH_KEY` holds none that can be sent"
    );
}
