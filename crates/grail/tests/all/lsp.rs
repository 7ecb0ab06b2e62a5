//! `grail lsp`, driven as an editor drives it: the real binary, the real protocol.

use std::collections::VecDeque;
use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};

use crate::check::project;
use crate::scratch::Scratch;

struct Editor {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    heard: VecDeque<Notification>,
    requests: i32,
}

impl Editor {
    fn start(scratch: &Scratch, capabilities: Value) -> (Self, Value) {
        let mut command = scratch.command(&["lsp"]);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let mut editor =
            Self { server, input, output: BufReader::new(output), heard: VecDeque::new(), requests: 0 };
        let root = uri(scratch, "");
        let answer = editor
            .request("initialize", json!({"processId": null, "rootUri": root, "capabilities": capabilities}));
        editor.tell("initialized", json!({}));
        (editor, answer)
    }

    fn tell(&mut self, method: &str, params: Value) {
        Message::Notification(Notification::new(method.to_owned(), params)).write(&mut self.input).unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        Message::Request(Request::new(id.into(), method.to_owned(), params)).write(&mut self.input).unwrap();
        loop {
            match Message::read(&mut self.output).unwrap().unwrap() {
                Message::Response(response) => {
                    assert_eq!(response.id, id.into());
                    return serde_json::to_value(response).unwrap();
                }
                Message::Notification(notification) => self.heard.push_back(notification),
                Message::Request(request) => panic!("the server asks {request:?}"),
            }
        }
    }

    /// The next thing the server says by itself.
    fn hear(&mut self) -> Notification {
        if let Some(notification) = self.heard.pop_front() {
            return notification;
        }
        match Message::read(&mut self.output).unwrap().unwrap() {
            Message::Notification(notification) => notification,
            other => panic!("{other:?}"),
        }
    }

    fn open(&mut self, uri: &str, text: &str) -> Value {
        let document = json!({"uri": uri, "languageId": "python", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
        self.diagnostics()
    }

    fn diagnostics(&mut self) -> Value {
        let notification = self.hear();
        assert_eq!(notification.method, "textDocument/publishDiagnostics");
        notification.params
    }

    fn finish(mut self) {
        self.request("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        assert_eq!(self.server.wait().unwrap().code(), Some(0));
    }
}

fn uri(scratch: &Scratch, path: &str) -> String {
    format!("file://{}/{path}", scratch.root().canonicalize().unwrap().display())
}

/// `rule line:character-line:character message` for each diagnostic.
fn lines(diagnostics: &Value) -> Vec<String> {
    let one = |diagnostic: &Value| {
        let range = &diagnostic["range"];
        format!(
            "{} {}:{}-{}:{} {}",
            diagnostic["code"].as_str().unwrap(),
            range["start"]["line"],
            range["start"]["character"],
            range["end"]["line"],
            range["end"]["character"],
            diagnostic["message"].as_str().unwrap()
        )
    };
    diagnostics["diagnostics"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn diagnostics_follow_the_text_as_it_is_typed() {
    let scratch = project(&[]);
    let (mut editor, answer) = Editor::start(&scratch, json!({}));
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(capabilities["positionEncoding"], "utf-16");
    assert_eq!(capabilities["textDocumentSync"]["change"], 2);
    let uri = uri(&scratch, "app/tool.py");
    let opened = editor.open(&uri, "x = '😀'; print(x)\n");
    assert_eq!(lines(&opened), ["no-print 0:10-0:18 `x` is printed\nthe log tells when and where"]);
    let diagnostic = &opened["diagnostics"][0];
    assert_eq!(diagnostic["severity"], 2);
    assert_eq!(diagnostic["source"], "grail");
    let rule = uri.replace("app/tool.py", ".agents/skills/mine/rules/no-print.md");
    assert_eq!(diagnostic["codeDescription"]["href"], rule);
    // Columns count UTF-16 code units: the face is two.
    let change = json!({"range": {"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 15}}, "text": "log"});
    editor.tell(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}),
    );
    let changed = editor.diagnostics();
    assert_eq!((lines(&changed), &changed["version"]), (Vec::new(), &json!(2)));
    editor.tell(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": "def f(:\n"}]}),
    );
    let broken = lines(&editor.diagnostics());
    assert_eq!(broken[0], "syntax-error 0:6-0:7 Expected a parameter or the end of the parameter list");
    editor.tell("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    assert_eq!(lines(&editor.diagnostics()), Vec::<String>::new());
    editor.finish();
}

#[test]
fn a_client_that_counts_bytes_is_answered_in_bytes() {
    let scratch = project(&[]);
    let offered = json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}});
    let (mut editor, answer) = Editor::start(&scratch, offered);
    assert_eq!(answer["result"]["capabilities"]["positionEncoding"], "utf-8");
    let opened = editor.open(&uri(&scratch, "app/tool.py"), "x = '😀'; print(x)\n");
    assert_eq!(lines(&opened), ["no-print 0:12-0:20 `x` is printed\nthe log tells when and where"]);
    editor.finish();
}

#[test]
fn fixes_are_code_actions() {
    let scratch = project(&[]);
    let (mut editor, _) = Editor::start(&scratch, json!({}));
    let uri = uri(&scratch, "app/views.py");
    editor.open(&uri, "def index(request):\n    print(request)\n");
    let place =
        |line: u32| json!({"start": {"line": line, "character": 5}, "end": {"line": line, "character": 5}});
    let mut ask = |context: Value, line: u32| {
        let answer = editor.request(
            "textDocument/codeAction",
            json!({"textDocument": {"uri": uri}, "range": place(line), "context": context}),
        );
        answer["result"].clone()
    };
    let actions = ask(json!({"diagnostics": []}), 0);
    assert_eq!(actions.as_array().unwrap().len(), 1);
    assert_eq!(actions[0]["title"], "Add `@view`");
    assert_eq!(actions[0]["kind"], "quickfix");
    assert_eq!(actions[0]["isPreferred"], true);
    assert_eq!(actions[0]["diagnostics"][0]["code"], "view-decorator");
    let edits: Vec<&str> = actions[0]["edit"]["changes"][&uri]
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| edit["newText"].as_str().unwrap())
        .collect();
    assert_eq!(edits, ["from app.web import view\n\n\n", "@view\n"]);
    let actions = ask(json!({"diagnostics": []}), 1);
    assert_eq!((&actions[0]["title"], &actions[0]["isPreferred"]), (&json!("Log it"), &json!(false)));
    // All safe fixes together, only for those who ask for it.
    let actions = ask(json!({"diagnostics": [], "only": ["source.fixAll"]}), 0);
    assert_eq!(actions.as_array().unwrap().len(), 1);
    assert_eq!(actions[0]["kind"], "source.fixAll.grail");
    assert_eq!(
        actions[0]["edit"]["changes"][&uri],
        json!([{
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
            "newText": "from app.web import view\n\n\n@view\n"
        }])
    );
    editor.finish();
}

#[test]
fn nonsense_does_not_end_the_server() {
    let scratch = project(&[]);
    let (mut editor, _) = Editor::start(&scratch, json!({}));
    editor.tell("textDocument/didOpen", json!({"textDocument": 1}));
    let log = editor.hear();
    assert_eq!(log.method, "window/logMessage");
    let answer = editor.request("textDocument/hover", json!({}));
    assert_eq!(answer["error"]["message"], "`textDocument/hover` is not supported");
    let answer = editor.request("textDocument/codeAction", json!({"range": "everywhere"}));
    assert_eq!(answer["error"]["code"], -32602);
    let uri = uri(&scratch, "app/tool.py");
    editor.open(&uri, "print(1)\n");
    let far = json!({"start": {"line": 900, "character": 0}, "end": {"line": 0, "character": 99}});
    editor.tell(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"range": far, "text": "#"}]}),
    );
    assert_eq!(lines(&editor.diagnostics()).len(), 1);
    editor.tell("textDocument/didOpen", json!({"textDocument": {"uri": "untitled:1", "languageId": "python", "version": 1, "text": "print(1)"}}));
    assert_eq!(lines(&editor.diagnostics()), Vec::<String>::new());
    assert_eq!(editor.hear().params["message"], "`untitled:1` is no file");
    editor.finish();
}

#[test]
fn saved_settings_are_used_at_once() {
    let scratch = project(&[]);
    let (mut editor, _) = Editor::start(&scratch, json!({}));
    let tool = uri(&scratch, "app/tool.py");
    assert_eq!(lines(&editor.open(&tool, "print(1)\n")).len(), 1);
    std::fs::write(scratch.path("grail.toml"), "[check]\nignore = [\"no-print\"]\n").unwrap();
    editor.tell("textDocument/didSave", json!({"textDocument": {"uri": uri(&scratch, "grail.toml")}}));
    assert_eq!(lines(&editor.diagnostics()), Vec::<String>::new());
    editor.finish();
}

#[test]
fn rules_across_files_speak_when_a_file_is_saved() {
    let wiring = "def register(registry):\n    registry.register_value(int, 1)\n";
    let scratch = Scratch::new(&[
        ("grail.toml", "[check]\nselect = [\"service-registered\"]\n"),
        ("app/mail.py", "class MailService: ...\n"),
        ("app/wiring.py", wiring),
    ]);
    let (mut editor, _) = Editor::start(&scratch, json!({}));
    let mail = uri(&scratch, "app/mail.py");
    let found = ["service-registered 0:6-0:17 nothing registers `MailService`"];
    assert_eq!(lines(&editor.open(&mail, "class MailService: ...\n")), found);
    // What is typed is not what they have seen.
    assert_eq!(lines(&editor.open(&mail, "\nclass MailService: ...\n")), Vec::<String>::new());
    assert_eq!(lines(&editor.open(&mail, "class MailService: ...\n")), found);
    let registered = format!(
        "from app.mail import MailService\n\n\n{}",
        wiring.replace("int, 1", "MailService, MailService()")
    );
    std::fs::write(scratch.path("app/wiring.py"), registered).unwrap();
    editor.tell("textDocument/didSave", json!({"textDocument": {"uri": uri(&scratch, "app/wiring.py")}}));
    assert_eq!(lines(&editor.diagnostics()), Vec::<String>::new());
    editor.finish();
}
