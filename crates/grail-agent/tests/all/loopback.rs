//! Servers on loopback that answer as a test wants. Each serves so many connections and ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Answers the first request with the first of these, and so on; gives the address.
pub(crate) fn serve(answers: Vec<Vec<u8>>) -> String {
    serve_with(answers.len(), move |number, _| answers[number].clone())
}

/// Answers so many requests with what is made of them.
pub(crate) fn serve_with(count: usize, answer: impl Fn(usize, &str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (number, connection) in listener.incoming().take(count).enumerate() {
            let mut connection = connection.unwrap();
            let request = read_request(&mut connection);
            // Whoever has heard enough hangs up.
            let _ = connection.write_all(&answer(number, &request));
        }
    });
    url
}

pub(crate) fn response(status: &str, kind: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// A stream of these events of the model `tiny`.
pub(crate) fn stream(events: &[serde_json::Value]) -> Vec<u8> {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    response("200 OK", "text/event-stream", &events)
}

pub(crate) fn read_request(connection: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or_default() {
                return text;
            }
        }
        match connection.read(&mut piece) {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}
