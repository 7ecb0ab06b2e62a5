//! The program over real HTTP on loopback, as other programs use it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::Toy;

const TOKEN: &str = "a secret of this test";

struct Server {
    child: Child,
    port: u16,
    ready: Value,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = Toy::default().write();
        let mut child = program(&["serve", "--name", "toy", "--threads", "1", "--model"], folder.path())
            .env("GRAIL_LOCAL_TOKEN", TOKEN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let port = ready["ready"]["port"].as_u64().unwrap() as u16;
        Self { child, port, ready, _folder: folder }
    }

    /// The status and the body of what comes back, read to the end.
    fn send(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let authorization =
            token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{authorization}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses may close before it has read everything.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
            unchunk(body)
        } else {
            body.to_owned()
        };
        (status, body)
    }

    fn chat(&self, body: &Value) -> (u16, Value) {
        let (status, body) = self.send("POST", "/v1/chat/completions", Some(TOKEN), &body.to_string());
        (status, serde_json::from_str(&body).unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(arguments: &[&str], path: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grail-local"));
    command.args(arguments).arg(path);
    command
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    whole
}

fn question(text: &str) -> Value {
    json!({
        "model": "toy",
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 12,
        "temperature": 0.8,
        "seed": 5,
    })
}

#[test]
fn answers_say_who_gave_them() {
    let server = Server::start();
    let identity = server.ready["ready"]["identity"].as_str().unwrap().to_owned();
    assert_eq!(identity.len(), 16);
    let (status, models) = server.send("GET", "/v1/models", Some(TOKEN), "");
    let models: Value = serde_json::from_str(&models).unwrap();
    assert_eq!(
        (status, &models["data"][0]["id"], &models["data"][0]["identity"]),
        (200, &json!("toy"), &json!(identity))
    );
    let (status, answer) = server.chat(&question("Hi"));
    assert_eq!(status, 200, "{answer}");
    assert_eq!((&answer["model"], &answer["system_fingerprint"]), (&json!("toy"), &json!(identity)));
    assert_eq!(answer["usage"]["completion_tokens"], 12);
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let (_, again) = server.chat(&question("Hi"));
    assert_eq!(answer["choices"], again["choices"]);
}

#[test]
fn a_stream_is_the_same_answer_in_pieces() {
    let server = Server::start();
    let (_, whole) = server.chat(&question("Hi"));
    let mut body = question("Hi");
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let (status, text) = server.send("POST", "/v1/chat/completions", Some(TOKEN), &body.to_string());
    assert_eq!(status, 200);
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(lines.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> =
        lines[..lines.len() - 1].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let content: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(json!(content), whole["choices"][0]["message"]["content"]);
    assert!(chunks.iter().all(|chunk| chunk["model"] == "toy"));
    assert_eq!(chunks.last().unwrap()["usage"]["completion_tokens"], 12);
}

#[test]
fn many_clients_at_once_get_what_each_would_get_alone() {
    let server = Server::start();
    let alone: Vec<Value> = (0..6).map(|seed| server.chat(&json!({"seed": seed, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "max_tokens": 20})).1["choices"].clone()).collect();
    let together: Vec<Value> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..6)
            .map(|seed| {
                let server = &server;
                scope.spawn(move || {
                    server.chat(&json!({"seed": seed, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 20})).1["choices"].clone()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn without_the_token_nothing_is_answered() {
    let server = Server::start();
    for token in [None, Some("wrong"), Some(""), Some("a secret of this tesu")] {
        for (method, path) in [("GET", "/v1/models"), ("POST", "/v1/chat/completions"), ("GET", "/")] {
            assert_eq!(server.send(method, path, token, "").0, 401, "{token:?} {path}");
        }
    }
    assert_eq!(server.send("GET", "/elsewhere", Some(TOKEN), "").0, 404);
    assert_eq!(server.send("GET", "/v1/chat/completions", Some(TOKEN), "").0, 405);
}

#[test]
fn bad_requests_are_explained() {
    let server = Server::start();
    let mut long = question("Hi");
    long["messages"][0]["content"] = json!("x ".repeat(400));
    let cases = [
        (json!({"messages": []}), 400, "`messages` are empty"),
        (json!({}), 400, "messages"),
        (json!({"messages": [{"role": "user", "content": "a"}], "temperature": -1}), 400, "`temperature`"),
        (
            json!({"messages": [{"role": "user", "content": "a"}], "model": "other"}),
            404,
            "the model here is `toy`",
        ),
        (
            json!({"messages": [{"role": "user", "content": "a"}], "tools": [{"type": "function"}]}),
            400,
            "`tools` are not supported",
        ),
        (json!({"messages": [{"role": "user", "content": "a"}], "grammar": "start: x y z"}), 400, "grammar"),
        (
            json!({"messages": [{"role": "user", "content": "a"}], "response_format": {"type": "yaml"}}),
            400,
            "`response_format`",
        ),
        (long.clone(), 400, "the context holds 256"),
    ];
    for (body, expected, part) in cases {
        let (status, answer) = server.chat(&body);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(status == expected && message.contains(part), "{body}: {status} {message}");
    }
    assert_eq!(server.send("POST", "/v1/chat/completions", Some(TOKEN), "{\"messages\": ").0, 400);
    let large =
        format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{}\"}}]}}", "x".repeat(9 << 20));
    assert_eq!(server.send("POST", "/v1/chat/completions", Some(TOKEN), &large).0, 413);
    assert_eq!(server.chat(&long).1["error"]["code"], "context_length_exceeded");
    // And it still answers.
    assert_eq!(server.chat(&question("Hi")).0, 200);
}

#[test]
fn a_schema_in_the_request_holds() {
    let server = Server::start();
    let schema = json!({"type": "object", "properties": {"colour": {"enum": ["grail-red"]}}, "required": ["colour"], "additionalProperties": false});
    let mut body = question("Hi");
    body["max_tokens"] = json!(100);
    body["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
    let (_, answer) = server.chat(&body);
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(content).unwrap(), json!({"colour": "grail-red"}));
}

#[test]
fn a_template_in_the_request_is_kept_and_its_holes_are_filled() {
    let server = Server::start();
    let mut body = question("Hi");
    body["max_tokens"] = json!(120);
    body["template"] = json!([
        {"text": "class "},
        {"regex": "[A-Z][a-z]{1,8}"},
        {"text": ":\n    route = \"/"},
        {"regex": r"[a-z]{1,3}\/[a-z]{1,3}"},
        {"text": "\"\n    flags = "},
        {"schema": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}},
        {"text": "  # "},
        {"grammar": "\"yes\" | \"no\""},
    ]);
    let (status, answer) = server.chat(&body);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    let (name, rest) = content.strip_prefix("class ").unwrap().split_once(":\n    route = \"/").unwrap();
    let (route, rest) = rest.split_once("\"\n    flags = ").unwrap();
    let (flags, comment) = rest.split_once("  # ").unwrap();
    assert!(
        (2..=9).contains(&name.len()) && name.starts_with(|it: char| it.is_ascii_uppercase()),
        "{content}"
    );
    let (folder, file) = route.split_once('/').unwrap();
    for part in [folder, file] {
        assert!((1..=3).contains(&part.len()) && part.chars().all(|it| it.is_ascii_lowercase()), "{content}");
    }
    assert!(serde_json::from_str::<Vec<bool>>(flags).is_ok_and(|flags| flags.len() <= 2), "{content}");
    assert!(["yes", "no"].contains(&comment), "{content}");

    // What is no template is refused, and so is one beside another form.
    body["template"] = json!([{"hole": "x"}]);
    let (status, answer) = server.chat(&body);
    assert!(status == 400 && answer["error"]["message"].as_str().unwrap().contains("hole"), "{answer}");
    body["template"] = json!([{"text": "x"}]);
    body["grammar"] = json!("root ::= \"x\"");
    let (status, answer) = server.chat(&body);
    assert_eq!(status, 400);
    assert_eq!(
        answer["error"]["message"], "`grammar` cannot be combined with another form of the answer",
        "{answer}"
    );
}

#[test]
fn it_ends_when_its_input_ends() {
    let mut server = Server::start();
    drop(server.child.stdin.take());
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn who_hangs_up_in_the_middle_does_no_harm() {
    let server = Server::start();
    for _ in 0..5 {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let mut body = question("Hi");
        body["stream"] = json!(true);
        body["max_tokens"] = json!(200);
        let body = body.to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 20];
        stream.read_exact(&mut first).unwrap();
    }
    assert_eq!(server.chat(&question("Hi")).0, 200);
}

#[test]
fn a_model_can_be_inspected_and_what_is_none_is_explained() {
    let folder = Toy::default().write();
    let output = program(&["inspect", "--model"], folder.path()).output().unwrap();
    assert!(output.status.success());
    let inspection: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&inspection["architecture"], &inspection["layers"]), (&json!("llama"), &json!(2)));
    assert_eq!((&inspection["chat_template"], &inspection["tokenizer"]), (&json!(true), &json!(true)));
    assert_eq!(inspection["sha256"].as_str().unwrap().len(), 64);
    let output = program(&["inspect", "--model"], &folder.path().join("absent.gguf")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.starts_with("error: `") && message.contains("absent.gguf"), "{message}");
}

#[test]
fn without_a_token_or_memory_it_does_not_start() {
    let folder = Toy::default().write();
    let mut serve = program(&["serve", "--name", "toy", "--model"], folder.path());
    let output = serve.env_remove("GRAIL_LOCAL_TOKEN").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("GRAIL_LOCAL_TOKEN") && message.contains("hint: "), "{message}");
    let error = grail_local::loading::check_memory(3 << 30, Some(1 << 30)).unwrap_err();
    assert_eq!(error.to_string(), "the model needs about 3072 MiB and 1024 MiB are available");
    assert!(error.hint().unwrap().contains("--context"));
}
