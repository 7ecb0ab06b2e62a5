//! A server on loopback that does exactly what a test wants, down to the byte. It serves as many connections as it has acts, then ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use grail_model::{ChatRequest, Message, ModelError, Reply, ServerSettings, collect, connect};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What is done with one connection, after its request was read.
pub(crate) enum Act {
    /// Sends this and closes.
    Send(Vec<u8>),
    /// Sends this in such pieces and closes.
    Pieces(Vec<Vec<u8>>),
    /// Sends the first, then the second again and again until nobody wants it.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends this, and then nothing until the other side hangs up.
    Hang(Vec<u8>),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Method and path.
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: Json,
}

pub(crate) struct Loopback {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How many connections are over.
    ended: watch::Receiver<usize>,
}

impl Loopback {
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (tell, ended) = watch::channel(0);
        let requests = Arc::clone(&seen);
        tokio::spawn(async move {
            for act in acts {
                let Ok((mut connection, _)) = listener.accept().await else { return };
                if let Some(request) = read_request(&mut connection).await {
                    requests.lock().unwrap().push(request);
                    play(&mut connection, act).await;
                }
                drop(connection);
                tell.send_modify(|count| *count += 1);
            }
        });
        Self { url, seen, ended }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until so many connections are over.
    pub(crate) async fn until_ended(&mut self, count: usize) {
        let all = self.ended.wait_for(|ended| *ended >= count);
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("the connections end").unwrap();
    }

    /// Settings for a server that is asked for `tiny`, without pauses worth waiting for.
    pub(crate) fn settings(&self) -> ServerSettings {
        ServerSettings {
            retries: 0,
            pause: Duration::from_millis(1),
            timeout: Duration::from_secs(20),
            ..ServerSettings::new(&self.url, "tiny")
        }
    }
}

pub(crate) fn question(text: &str) -> ChatRequest {
    ChatRequest { messages: vec![Message::user(text)], ..ChatRequest::default() }
}

/// The head of a response that ends with its connection.
pub(crate) fn head(status: &str, kind: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n").into_bytes()
}

pub(crate) fn respond(status: &str, kind: &str, body: impl AsRef<[u8]>) -> Act {
    Act::Send([head(status, kind), body.as_ref().to_vec()].concat())
}

pub(crate) fn json_response(body: &Json) -> Act {
    respond("200 OK", "application/json", body.to_string())
}

/// A stream of these events, and its end.
pub(crate) fn stream(events: &[Json]) -> Act {
    Act::Send(
        [head("200 OK", "text/event-stream"), events_text(events), b"data: [DONE]\n\n".to_vec()].concat(),
    )
}

pub(crate) fn events_text(events: &[Json]) -> Vec<u8> {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes()
}

/// A piece of an answer of `tiny`.
pub(crate) fn delta(delta: &Json) -> Json {
    json!({"model": "tiny", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub(crate) fn finish(reason: &str) -> Json {
    json!({"model": "tiny", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

pub(crate) fn text_answer(text: &str) -> Act {
    stream(&[delta(&json!({"role": "assistant", "content": text})), finish("stop")])
}

/// What one answer comes to.
pub(crate) async fn ask(act: Act) -> Result<Reply, ModelError> {
    let server = Loopback::start(vec![act]).await;
    collect(&connect(&server.settings()).unwrap(), &question("hi"), |_| {}).await
}

async fn read_request(connection: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let end = head_end + length.unwrap_or_default();
    while bytes.len() < end {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let body = serde_json::from_slice(&bytes[head_end..end]).unwrap_or(Json::Null);
    Some(Seen { line, head, body })
}

async fn play(connection: &mut TcpStream, act: Act) {
    match act {
        Act::Send(bytes) => {
            let _ = connection.write_all(&bytes).await;
        }
        Act::Pieces(pieces) => {
            let _ = connection.set_nodelay(true);
            for piece in pieces {
                if connection.write_all(&piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
        Act::Endless(first, again) => {
            let mut open = connection.write_all(&first).await.is_ok();
            // Nobody takes a gigabyte.
            let times = (1 << 30) / again.len();
            for _ in 0..times {
                open = open && connection.write_all(&again).await.is_ok();
                if !open {
                    return;
                }
            }
        }
        Act::Hang(bytes) => {
            let _ = connection.write_all(&bytes).await;
            let _ = connection.read_to_end(&mut Vec::new()).await;
        }
    }
    let _ = connection.shutdown().await;
}
