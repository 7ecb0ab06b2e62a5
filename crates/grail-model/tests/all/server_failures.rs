//! Every way in which a server fails, over real connections: each ends in an error that says what to do.

use std::time::Duration;

use grail_model::{Limits, ModelError, ServerSettings, collect, connect};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::loopback::{
    Act, Loopback, ask, delta, events_text, finish, head, question, respond, stream, text_answer,
};

fn interrupted(reason: &str) -> ModelError {
    ModelError::Interrupted { model: "tiny".to_owned(), reason: reason.to_owned() }
}

#[tokio::test]
async fn no_server_says_where_and_what_to_do() {
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}/v1");
    let settings = ServerSettings { pause: Duration::from_millis(1), ..ServerSettings::new(&url, "tiny") };
    let error = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), format!("no model server answers at `{url}`: the connection was refused"));
    assert_eq!(
        error.hint().unwrap(),
        "start the server there (for example `ollama serve` or `llama-server -m MODEL.gguf`), or use `--model template`, which needs none"
    );
    assert!(error.is_transient());
    // One that speaks no TLS.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let _ = connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = connection.read_to_end(&mut Vec::new()).await;
    });
    let error = collect(&connect(&ServerSettings::new(url, "tiny")).unwrap(), &question("hi"), |_| {})
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn garbage_is_refused() {
    let garbage = |body: &[u8]| Act::Send([head("200 OK", "text/event-stream"), body.to_vec()].concat());
    let shown = async |act| {
        let error = ask(act).await.unwrap_err();
        assert!(error.hint().is_some());
        error.to_string()
    };
    assert_eq!(
        shown(garbage(b"data: {\"choices\": [\n\n")).await,
        "what `tiny` sent cannot be read: EOF while parsing a list at line 1 column 13 in `{\"choices\": [`"
    );
    assert_eq!(
        shown(garbage(b"data: \xff\xfe\x00\n\n")).await,
        "what `tiny` sent cannot be read: the stream is broken: UTF8 error: invalid utf-8 sequence of 1 bytes from index 0"
    );
    assert_eq!(
        shown(garbage(b"Lorem ipsum\ndolor sit amet\n")).await,
        "what `tiny` sent cannot be read: no part of the stream is an answer"
    );
    assert_eq!(
        shown(garbage(b"data: {\"choices\": [{\"delta\": {\"content\": 7}}]}\n\n")).await,
        "what `tiny` sent cannot be read: `content` is neither text nor a list of parts at line 1 column 37 in `{\"choices\": [{\"delta\": {\"content\": 7}}]}`"
    );
    assert_eq!(
        shown(respond("200 OK", "text/html", "<html>")).await,
        "what `tiny` sent cannot be read: it is a web page; the address of a server usually ends in `/v1`"
    );
    assert_eq!(
        shown(respond("200 OK", "application/json", "{\"a\": ")).await,
        "what `tiny` sent cannot be read: it is no JSON: EOF while parsing a value at line 1 column 6"
    );
    assert_eq!(
        shown(Act::Send(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())).await,
        "`tiny` stopped in the middle of its answer: invalid HTTP version parsed"
    );
    let deep = format!("data: {}\n\n", "[".repeat(100_000));
    assert!(shown(garbage(deep.as_bytes())).await.starts_with("what `tiny` sent cannot be read: "));
}

#[tokio::test]
async fn an_answer_that_stops_midway_is_none() {
    let begun =
        [head("200 OK", "text/event-stream"), events_text(&[delta(&json!({"content": "def f("}))])].concat();
    let ended = interrupted("the stream ended before the answer did");
    assert_eq!(ask(Act::Send(begun.clone())).await, Err(ended.clone()));
    // In the middle of an event.
    let half = [begun.clone(), b"data: {\"model\": \"ti".to_vec()].concat();
    assert_eq!(ask(Act::Send(half)).await, Err(ended));
    // A body that is shorter than it promised.
    let short =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\ndata: ".to_vec();
    assert_eq!(ask(Act::Send(short)).await, Err(interrupted("end of file before message length reached")));
    // Before it began.
    assert_eq!(
        ask(Act::Send(Vec::new())).await,
        Err(interrupted("connection closed before message completed"))
    );
    // The server says so itself.
    let sorry = [begun, b"data: {\"error\": {\"message\": \"out of\\nmemory\", \"code\": 500}}\n\n".to_vec()]
        .concat();
    assert_eq!(ask(Act::Send(sorry)).await, Err(interrupted("out of memory")));
}

#[tokio::test]
async fn a_connection_that_was_kept_is_not_asked_again() {
    // It promises to keep its connections, and hangs up as soon as one is used again: what a server does that has just lost its patience.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let body = events_text(&[delta(&json!({"content": "well"})), finish("stop")]);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut kept = Vec::new();
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let _ = connection.read(&mut [0; 65_536]).await;
            let _ = connection.write_all(&[head.as_bytes(), &body].concat()).await;
            kept.push(tokio::spawn(async move { connection.read(&mut [0; 1]).await }));
        }
    });
    let settings = ServerSettings { retries: 0, ..ServerSettings::new(url, "tiny") };
    let server = connect(&settings).unwrap();
    for _ in 0..3 {
        collect(&server, &question("hi"), |_| {}).await.unwrap();
    }
}

#[tokio::test]
async fn an_empty_answer_is_none() {
    let empty = || Err(ModelError::Empty { model: "tiny".to_owned() });
    assert_eq!(ask(stream(&[json!({"model": "tiny", "choices": []})])).await, empty());
    assert_eq!(ask(stream(&[finish("stop")])).await, empty());
    assert_eq!(ask(text_answer(" \n")).await, empty());
}

#[tokio::test]
async fn silence_and_dawdling_have_an_end() {
    let begun =
        [head("200 OK", "text/event-stream"), events_text(&[delta(&json!({"content": "well"}))])].concat();
    let mut server = Loopback::start(vec![
        Act::Hang(Vec::new()),
        Act::Hang(begun.clone()),
        Act::Endless(head("200 OK", "text/event-stream"), b": still there\n\n".to_vec()),
        Act::Hang([begun, events_text(&[finish("stop")])].concat()),
        Act::Hang([head("200 OK", "application/json"), b"{".to_vec()].concat()),
        Act::Hang([head("400 Bad Request", "text/plain"), b"because".to_vec()].concat()),
    ])
    .await;
    let settings = ServerSettings { timeout: Duration::from_millis(100), ..server.settings() };
    let silent = Err(ModelError::Timeout { model: "tiny".to_owned(), seconds: 0 });
    for _ in 0..2 {
        assert_eq!(collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await, silent);
    }
    // A fast machine sends more in that time than any answer may have, and it is the time that counts here.
    let limits = Limits { body_bytes: usize::MAX, ..Limits::default() };
    let total_timeout = Duration::from_millis(200);
    let settings = ServerSettings { total_timeout, limits, ..server.settings() };
    let overdue = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await;
    assert_eq!(overdue, Err(ModelError::Overdue { model: "tiny".to_owned(), seconds: 0 }));
    // Once all is said, nobody waits for a server that does not hang up.
    let settings = ServerSettings { timeout: Duration::from_millis(100), ..server.settings() };
    let reply = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap();
    assert_eq!(reply.text, "well");
    assert_eq!(collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await, silent);
    // What came of an explanation is told.
    let settings = ServerSettings { total_timeout: Duration::from_millis(200), ..server.settings() };
    let error = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), "`tiny` answered with status 400: because");
    server.until_ended(6).await;
}

#[tokio::test]
async fn endless_answers_are_given_up() {
    let too_long = |limit| Err(ModelError::TooLong { model: "tiny".to_owned(), limit });
    let begin = || head("200 OK", "text/event-stream");
    let mut server = Loopback::start(vec![
        // Text, one line, and noise without end.
        Act::Endless(begin(), events_text(&[delta(&json!({"content": "la ".repeat(1000)}))])),
        Act::Endless([begin(), b"data: ".to_vec()].concat(), vec![b'a'; 4096]),
        Act::Endless(begin(), b": still there\n\n".repeat(100)),
        Act::Endless(head("200 OK", "application/json"), b"[[[[[[[[".repeat(1000)),
    ])
    .await;
    let limits = Limits { body_bytes: 1 << 20, line_bytes: 1 << 18, reply_bytes: 1 << 16 };
    let model = connect(&ServerSettings { limits, ..server.settings() }).unwrap();
    for limit in [limits.reply_bytes, limits.line_bytes, limits.body_bytes, limits.line_bytes] {
        assert_eq!(collect(&model, &question("hi"), |_| {}).await, too_long(limit));
    }
    // Whoever was given up is hung up on.
    server.until_ended(4).await;
}

#[tokio::test]
async fn ten_megabytes_of_arguments_are_refused() {
    let limits = Limits::default();
    let arguments = format!("{{\"text\": \"{}\"}}", "a".repeat(10 << 20));
    let piece = |arguments: &str| {
        delta(
            &json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "write_file", "arguments": arguments}}]}),
        )
    };
    let in_one = ask(stream(&[piece(&arguments), finish("tool_calls")])).await;
    assert_eq!(in_one, Err(ModelError::TooLong { model: "tiny".to_owned(), limit: limits.line_bytes }));
    let pieces: Vec<Json> =
        arguments.as_bytes().chunks(1 << 16).map(|part| piece(&String::from_utf8_lossy(part))).collect();
    let in_pieces = ask(stream(&pieces)).await;
    assert_eq!(in_pieces, Err(ModelError::TooLong { model: "tiny".to_owned(), limit: limits.reply_bytes }));
    let many: Vec<Json> =
        (0..100).map(|index| json!({"index": index, "function": {"name": "check"}})).collect();
    let flood = ask(stream(&[delta(&json!({"tool_calls": many}))])).await.unwrap_err();
    assert_eq!(flood.to_string(), "what `tiny` sent cannot be read: it calls more than 64 tools at once");
}

#[tokio::test]
async fn one_long_line_in_single_bytes_is_no_burden() {
    // A reader that looked at an unfinished line again with every byte would need minutes for this.
    let text = "x".repeat(100_000);
    let event = events_text(&[delta(&json!({"content": text})), finish("stop")]);
    let mut pieces = vec![head("200 OK", "text/event-stream")];
    pieces.extend(event.chunks(16).map(<[u8]>::to_vec));
    assert_eq!(ask(Act::Pieces(pieces)).await.unwrap().text, text);
}

#[tokio::test]
async fn what_may_pass_is_asked_again() {
    let busy = || {
        respond("503 Service Unavailable", "application/json", r#"{"error": {"message": "Loading model"}}"#)
    };
    let server = Loopback::start(vec![
        busy(),
        Act::Send(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nConnection: close\r\n\r\n".to_vec()),
        text_answer("at last"),
    ])
    .await;
    let settings = ServerSettings { retries: 2, ..server.settings() };
    let reply = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap();
    assert_eq!((reply.text.as_str(), server.seen().len()), ("at last", 3));
    // A server that hangs up before it says anything.
    let server = Loopback::start(vec![Act::Send(Vec::new()), text_answer("sorry")]).await;
    let settings = ServerSettings { retries: 1, ..server.settings() };
    assert_eq!(collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap().text, "sorry");
    // Not for ever.
    let server = Loopback::start(vec![busy(), busy(), busy()]).await;
    let settings = ServerSettings { retries: 1, ..server.settings() };
    let error = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), "`tiny` answered with status 503: Loading model");
    assert_eq!(server.seen().len(), 2);
    // Not if the server wants to be left alone for an hour, or until a day far away.
    for pause in ["3600", "Tue, 31 Dec 2999 23:59:59 GMT"] {
        let response =
            format!("HTTP/1.1 429 Too Many Requests\r\nRetry-After: {pause}\r\nConnection: close\r\n\r\n");
        let server = Loopback::start(vec![Act::Send(response.into_bytes())]).await;
        let settings = ServerSettings { retries: 5, ..server.settings() };
        let error = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap_err();
        assert_eq!(error.to_string(), "`tiny` answered with status 429: it does not say why");
        assert_eq!(error.hint(), Some("the server has too much to do; try again later"));
    }
    // A moment that has passed is no reason to wait.
    let past =
        b"HTTP/1.1 503 Busy\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n";
    let server = Loopback::start(vec![Act::Send(past.to_vec()), text_answer("ok")]).await;
    let settings = ServerSettings { retries: 1, pause: Duration::from_secs(3600), ..server.settings() };
    assert_eq!(collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap().text, "ok");
}

#[tokio::test]
async fn what_will_not_pass_is_not_asked_again() {
    let cases = [
        ("404 Not Found", r#"{"error": "model \"tiny\" not found"}"#, "status 404: model \"tiny\" not found"),
        ("400 Bad Request", r#"{"detail": "no\ttools\u001b[31m here"}"#, "status 400: no tools [31m here"),
        ("422 Unprocessable", r#"{"object": "error", "message": "no"}"#, "status 422: no"),
        ("418 Teapot", "short and stout", "status 418: short and stout"),
        ("307 Temporary Redirect", "", "status 307: it does not say why"),
    ];
    for (status, body, expected) in cases {
        let server = Loopback::start(vec![respond(status, "application/json", body)]).await;
        let settings = ServerSettings { retries: 5, ..server.settings() };
        let error = collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await.unwrap_err();
        assert_eq!(error.to_string(), format!("`tiny` answered with {expected}"));
        assert_eq!(server.seen().len(), 1);
    }
    let endless = Act::Endless(head("400 Bad Request", "text/plain"), b"no ".repeat(1000));
    let error = ask(endless).await.unwrap_err();
    assert_eq!(error.to_string(), format!("`tiny` answered with status 400: {}…", "no ".repeat(100)));
}
