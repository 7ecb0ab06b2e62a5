//! Stands in for `grail-local serve` where a test needs one that misbehaves. It speaks the same protocol; what it does wrong is the text of the
//! weights that it is given.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::exit;
use std::thread;
use std::time::Duration;

const IDENTITY: &str = "00112233445566ff";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |option: &str| {
        let at = arguments.iter().position(|argument| argument == option);
        at.and_then(|at| arguments.get(at + 1)).cloned().unwrap_or_default()
    };
    let (weights, name) = (after("--model"), after("--name"));
    let token = std::env::var("GRAIL_LOCAL_TOKEN").unwrap_or_default();
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        exit(0);
    });
    let behaviour = fs::read_to_string(&weights).unwrap_or_default();
    let behaviour = behaviour.trim();
    let starts = count_start(&weights);
    say("loading the weights");
    match behaviour {
        "refuses" => {
            say("error: the model needs 9 GB of memory, and 2 GB are free");
            say("hint: choose a smaller model");
            exit(2);
        }
        "never-ready" => thread::sleep(Duration::from_secs(600)),
        "garbage" => tell("hello"),
        _ => {}
    }
    let identity = match (behaviour, starts) {
        ("swapped", 2..) | ("dies-and-changes", 2..) => "ffffffffffffffff",
        _ => IDENTITY,
    };
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { exit(1) };
    let port = listener.local_addr().map_or(0, |address| address.port());
    tell(&format!(
        r#"{{"ready":{{"port":{port},"model":"{name}","identity":"{identity}","parameters":7,"memory_bytes":99}}}}"#
    ));
    for connection in listener.incoming().flatten() {
        answer(connection, behaviour, starts, &name, identity, &token);
    }
}

/// How often this one was started, with this time.
fn count_start(weights: &str) -> usize {
    let path = format!("{weights}.starts");
    let starts = fs::read_to_string(&path).ok().and_then(|text| text.parse().ok()).unwrap_or(0) + 1;
    let _ = fs::write(&path, starts.to_string());
    starts
}

fn answer(
    mut connection: TcpStream,
    behaviour: &str,
    starts: usize,
    name: &str,
    identity: &str,
    token: &str,
) {
    let Ok(reading) = connection.try_clone() else { return };
    let mut reader = BufReader::new(reading);
    let (mut line, mut length, mut is_allowed, mut first) = (String::new(), 0, false, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if first.is_empty() {
            first.clone_from(&line);
        }
        let lower = line.to_lowercase();
        if let Some(number) = lower.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
        if lower.starts_with("authorization:") {
            is_allowed = line.trim().ends_with(&format!("Bearer {token}"));
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let _ = reader.read_exact(&mut vec![0; length]);
    if !is_allowed {
        return send(&mut connection, "401 Unauthorized", "application/json", r#"{"error": "no token"}"#);
    }
    if first.starts_with("GET") {
        let listed = if behaviour == "liar" { "another" } else { identity };
        let body = format!(r#"{{"data": [{{"id": "{name}", "identity": "{listed}"}}]}}"#);
        return send(&mut connection, "200 OK", "application/json", &body);
    }
    let dies = match behaviour {
        "dies-always" => true,
        "dies-once" | "dies-and-changes" => starts == 1,
        _ => false,
    };
    if dies {
        say("the allocation of 4 GB failed");
        exit(9);
    }
    let fingerprint = if behaviour == "other-weights" { "another" } else { identity };
    let chunk = format!(
        r#"{{"model": "{name}", "system_fingerprint": "{fingerprint}", "choices": [{{"delta": {{"content": "hello"}}, "finish_reason": "stop"}}]}}"#
    );
    send(&mut connection, "200 OK", "text/event-stream", &format!("data: {chunk}\n\ndata: [DONE]\n\n"));
}

fn send(connection: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let _ =
        write!(connection, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{body}");
}

#[expect(clippy::print_stdout, reason = "its first line says that it is ready")]
fn tell(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "a program says on stderr how it goes")]
fn say(line: &str) {
    eprintln!("{line}");
}
