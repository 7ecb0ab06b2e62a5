//! `grail mcp`: the real process, spoken to in raw lines.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value as Json, json};

use crate::scratch::Scratch;

const SERVICE: &str = "\
\"\"\"Sends mail.\"\"\"


class MailService:
    def __init__(self, *, host: str) -> None:
        self._host = host

    def send(self, to: str) -> str:
        return f\"{self._host}: {to}\"
";

/// A server, and the line to it.
struct Server {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    count: u64,
}

impl Server {
    fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        let mut process = scratch
            .command(&[&["mcp"], arguments].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, count: 0 }
    }

    fn greeted(scratch: &Scratch, arguments: &[&str]) -> Self {
        let mut server = Self::start(scratch, arguments);
        let client = json!({"name": "tester", "version": "1"});
        server.request(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        server.line(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    fn line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn next(&mut self) -> Json {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Json::Null)
    }

    /// The result or the error of a request.
    fn request(&mut self, method: &str, params: Json) -> Json {
        self.count += 1;
        let id = self.count;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(message.to_string().as_bytes());
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer.get("result").or_else(|| answer.get("error")).unwrap().clone()
    }

    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Hangs up and waits for the end: what was on stderr, and the exit code.
    fn leave(mut self) -> (String, i32) {
        drop(self.input.take());
        let output = self.process.wait_with_output().unwrap();
        (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
    }
}

fn artifact() -> Json {
    json!({"artifact_type": "service", "name": "MailService", "description": "sends mail", "code": SERVICE})
}

#[test]
fn an_agent_generates_and_a_person_approves_later() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let mut server = Server::greeted(&scratch, &[]);
    let made = server.call("generate_artifact", artifact());
    assert_eq!(made["structuredContent"]["success"], true, "{made}");
    let proposal = &made["structuredContent"]["proposal"];
    assert_eq!(proposal["state"], "waiting");
    assert!(!scratch.path("services/mail_service.py").exists());
    let id = proposal["id"].as_str().unwrap().to_owned();
    let feedback = json!({"subject": id, "verdict": "accepted", "text": "as wanted"});
    assert_eq!(server.call("feedback", feedback)["structuredContent"]["recorded"], true);
    assert_eq!(server.leave(), (String::new(), 0));
    scratch.run(&["proposals", "approve", &id]);
    assert_eq!(scratch.read("services/mail_service.py"), SERVICE);
    let events = fs::read_dir(scratch.path(".grail/events")).unwrap();
    let kept: String = events.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert!(
        kept.contains("\"event\":\"user_confirmation\"") && kept.contains("\"text\":\"as wanted\""),
        "{kept}"
    );
}

#[test]
fn with_write_it_is_there_at_once_and_can_be_undone() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let mut server = Server::greeted(&scratch, &["--write"]);
    let made = server.call("generate_artifact", artifact());
    let proposal = &made["structuredContent"]["proposal"];
    assert_eq!(proposal["state"], "approved");
    assert_eq!(scratch.read("services/mail_service.py"), SERVICE);
    let id = proposal["id"].as_str().unwrap().to_owned();
    server.leave();
    scratch.run(&["proposals", "revert", &id]);
    assert!(!scratch.path("services/mail_service.py").exists());
}

#[test]
fn every_tool_is_offered_with_both_schemas() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let mut server = Server::greeted(&scratch, &[]);
    let list = server.request("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "generate_artifact"));
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
    }
}

#[test]
fn nonsense_does_not_end_it_and_its_client_going_away_does() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    assert_eq!(Server::start(&scratch, &[]).leave(), (String::new(), 0));
    let mut server = Server::greeted(&scratch, &[]);
    let huge = "x".repeat(5 << 20);
    let lines: [&[u8]; 4] = [b"garbage", b"\xff\x00", b"{\"jsonrpc\":", huge.as_bytes()];
    for line in lines {
        server.line(line);
        assert_eq!(server.request("ping", json!({})), json!({}));
    }
    assert_eq!(server.request("no/such", json!({}))["code"], -32601);
    // In the middle of a line.
    server.input.as_mut().unwrap().write_all(b"{\"jsonrpc\"").unwrap();
    assert_eq!(server.leave(), (String::new(), 0));
}

#[test]
fn it_serves_the_project_that_it_is_told_to() {
    let scratch = Scratch::new(&[("shop/grail.toml", "")]);
    let mut server = Server::greeted(&scratch, &["--project", "shop", "--write"]);
    server.call("generate_artifact", artifact());
    server.leave();
    assert_eq!(scratch.read("shop/services/mail_service.py"), SERVICE);
    let unknown = scratch.run(&["mcp", "--allow", "everything"]);
    assert!(unknown.starts_with(
        "! error: no tool that needs approval is called `everything`\n! hint: those that need approval: "
    ));
    assert!(unknown.ends_with("exit 2\n"));
    let nowhere = scratch.run(&["mcp", "--project", "nowhere"]);
    assert!(nowhere.starts_with("! error: ") && nowhere.ends_with("exit 2\n"), "{nowhere}");
}
