//! `ty server`, asked over its standard input and output: a small client of the Language Server Protocol.
//!
//! The server is kept while its owner lives, because starting it costs more than most answers. Before every question it is told what is
//! staged and what has changed on disk. It is somebody else's program: messages are bounded, every answer has a deadline, and
//! a server that misbehaves is ended and not asked again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use grail_project::project_path;
use serde_json::{Value as Json, json};

use super::programs::{environment, of_project};
use super::sources::is_python;
use crate::workspace::Workspace;

const START_DEADLINE: Duration = Duration::from_secs(20);
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);
const MAX_MESSAGE_BYTES: usize = 16 << 20;
const MAX_HEADER_BYTES: u64 = 4 * 1024;
/// So often a server is started before nobody believes in it any more.
const MAX_STARTS: usize = 3;

/// A server, if there is one.
#[derive(Default)]
pub(super) struct LanguageServer(Mutex<State>);

#[derive(Default)]
struct State {
    running: Option<Running>,
    starts: usize,
}

/// Where something is: a URI, and a line and character from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub uri: String,
    pub line: u32,
    pub character: u32,
}

impl LanguageServer {
    /// Asks about a place of a file. `None` if there is no server, or if it does not answer.
    pub(super) fn ask(
        &self,
        workspace: &Workspace,
        method: &str,
        path: &str,
        line: u32,
        column: u32,
        more: Json,
    ) -> Option<Json> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.running.is_none() {
            if state.starts == MAX_STARTS {
                return None;
            }
            state.starts += 1;
            state.running = Running::start(workspace);
            if state.running.is_none() {
                state.starts = MAX_STARTS;
            }
        }
        let running = state.running.as_mut()?;
        let uri = uri_of(&workspace.project.root.join(path));
        let position = json!({"line": line.saturating_sub(1), "character": column.saturating_sub(1)});
        let mut parameters = json!({"textDocument": {"uri": uri}, "position": position});
        if let (Some(parameters), Json::Object(more)) = (parameters.as_object_mut(), more) {
            parameters.extend(more);
        }
        let told = running.tell_changes(workspace, path);
        let answer = told.and_then(|()| running.request(method, parameters, ANSWER_DEADLINE));
        match answer {
            Ok(answer) => Some(answer),
            Err(_) => {
                state.running = None;
                None
            }
        }
    }
}

struct Running {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Json>,
    next: u64,
    /// Documents that are open, by path: their version and text.
    open: BTreeMap<String, (u64, String)>,
    /// The project's files when they were last looked at.
    seen: BTreeMap<String, (u64, Option<SystemTime>)>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(workspace: &Workspace) -> Option<Self> {
        let root = &workspace.project.root;
        let program = of_project(root, "ty")?;
        let mut command = Command::new(&program.program);
        command.arg("server").current_dir(root).env_clear().envs(environment(&[], &[], None));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C in a terminal is for us; the server ends with its input.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().ok()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, messages) = mpsc::channel();
        let (Some(input), Some(output)) = (input, output) else {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        };
        let mut running =
            Self { child, input, messages, next: 0, open: BTreeMap::new(), seen: looked_at(workspace) };
        let read = move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(message)) = read_message(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("language server".to_owned()).spawn(read).ok()?;
        let uri = uri_of(root);
        let parameters = json!({
            "processId": null,
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": "project"}],
            "capabilities": {
                // As we count: characters.
                "general": {"positionEncodings": ["utf-32"]},
                "textDocument": {"hover": {"contentFormat": ["plaintext"]}},
            },
        });
        let answer = running.request("initialize", parameters, START_DEADLINE).ok()?;
        if answer["capabilities"]["positionEncoding"] != "utf-32" {
            return None;
        }
        running.notify("initialized", json!({})).ok()?;
        Some(running)
    }

    /// Opens the file that is asked about and every staged one, closes what is staged no more, and says what changed on disk.
    fn tell_changes(&mut self, workspace: &Workspace, path: &str) -> io::Result<()> {
        let root = workspace.project.root.clone();
        let now = looked_at(workspace);
        let mut changes = Vec::new();
        for (file, state) in &now {
            match self.seen.get(file) {
                None => changes.push(json!({"uri": uri_of(&root.join(file)), "type": 1})),
                Some(before) if before != state => {
                    changes.push(json!({"uri": uri_of(&root.join(file)), "type": 2}));
                }
                Some(_) => {}
            }
        }
        let gone = self.seen.keys().filter(|file| !now.contains_key(*file));
        changes.extend(gone.map(|file| json!({"uri": uri_of(&root.join(file)), "type": 3})));
        if !changes.is_empty() {
            self.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}))?;
        }
        self.seen = now;
        let mut wanted: BTreeMap<String, String> = BTreeMap::new();
        for (file, text) in workspace.staging.staged() {
            if let Some(text) = text.filter(|_| is_python(&file)) {
                wanted.insert(file, text);
            }
        }
        if !wanted.contains_key(path)
            && let Ok(Some(text)) = workspace.staging.read(path)
        {
            wanted.insert(path.to_owned(), text);
        }
        let closed: Vec<String> =
            self.open.keys().filter(|file| !wanted.contains_key(*file)).cloned().collect();
        for file in closed {
            self.open.remove(&file);
            let document = json!({"uri": uri_of(&root.join(&file))});
            self.notify("textDocument/didClose", json!({"textDocument": document}))?;
        }
        for (file, text) in wanted {
            let uri = uri_of(&root.join(&file));
            match self.open.get(&file).map(|(version, known)| (*version, *known == text)) {
                Some((_, true)) => {}
                Some((version, false)) => {
                    let version = version + 1;
                    let document = json!({"uri": uri, "version": version});
                    let changes = json!([{"text": text}]);
                    self.open.insert(file, (version, text));
                    self.notify(
                        "textDocument/didChange",
                        json!({"textDocument": document, "contentChanges": changes}),
                    )?;
                }
                None => {
                    let document = json!({"uri": uri, "languageId": "python", "version": 1, "text": text});
                    self.open.insert(file, (1, text));
                    self.notify("textDocument/didOpen", json!({"textDocument": document}))?;
                }
            }
        }
        Ok(())
    }

    fn notify(&mut self, method: &str, parameters: Json) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": parameters}))
    }

    /// Asks, and waits for the answer; questions of the server are answered with nothing.
    fn request(&mut self, method: &str, parameters: Json, deadline: Duration) -> io::Result<Json> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}))?;
        let end = Instant::now() + deadline;
        loop {
            let message = match self.messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::UnexpectedEof.into()),
            };
            match (message.get("method"), message.get("id")) {
                (Some(method), Some(other)) => {
                    let items = message["params"]["items"].as_array().map_or(0, Vec::len);
                    let result = match method.as_str() {
                        Some("workspace/configuration") => json!(vec![Json::Null; items]),
                        _ => Json::Null,
                    };
                    let answer = json!({"jsonrpc": "2.0", "id": other.clone(), "result": result});
                    self.send(&answer)?;
                }
                (None, Some(other)) if *other == id => {
                    return match message.get("error") {
                        Some(error) => Err(io::Error::other(error.to_string())),
                        None => Ok(message.get("result").cloned().unwrap_or_default()),
                    };
                }
                _ => {}
            }
        }
    }

    fn send(&mut self, message: &Json) -> io::Result<()> {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        self.input.flush()
    }
}

/// `None` at the end of the stream.
fn read_message(output: &mut impl BufRead) -> io::Result<Option<Json>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut length = None;
    let mut header = String::new();
    let mut left = MAX_HEADER_BYTES;
    loop {
        header.clear();
        let read = output.by_ref().take(left).read_line(&mut header)?;
        if read == 0 {
            return if left == MAX_HEADER_BYTES { Ok(None) } else { Err(bad("the header is too long")) };
        }
        left = left.saturating_sub(read as u64);
        let line = header.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length
        .filter(|length| *length <= MAX_MESSAGE_BYTES)
        .ok_or_else(|| bad("the length makes no sense"))?;
    let mut body = vec![0; length];
    output.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Sizes and times of the project's Python files.
fn looked_at(workspace: &Workspace) -> BTreeMap<String, (u64, Option<SystemTime>)> {
    let root = &workspace.project.root;
    let state = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()))
    };
    let files = workspace.python_files();
    let known = files.iter().filter_map(|file| {
        let path = file.path.strip_prefix(root).map(|path| path.to_string_lossy().into_owned());
        Some((path.unwrap_or_else(|_| project_path(root, &file.path)), state(&file.path)?))
    });
    known.collect()
}

/// The places of an answer, in either of the forms it may have.
pub(super) fn places(answer: &Json) -> Vec<Found> {
    let one = |place: &Json| {
        let uri = place.get("uri").or_else(|| place.get("targetUri"))?.as_str()?.to_owned();
        let range = place.get("range").or_else(|| place.get("targetSelectionRange"))?;
        let number = |name: &str| Some(range["start"][name].as_u64()?.min(u64::from(u32::MAX)) as u32);
        Some(Found { uri, line: number("line")?, character: number("character")? })
    };
    match answer {
        Json::Array(places) => places.iter().filter_map(one).collect(),
        place => one(place).into_iter().collect(),
    }
}

/// `file:///…`, with everything escaped that is not plain.
pub(super) fn uri_of(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if text.starts_with('/') { "file://" } else { "file:///" });
    for byte in text.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path of a `file:` URI.
pub(super) fn path_of(uri: &str) -> Option<String> {
    let text = uri.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}
