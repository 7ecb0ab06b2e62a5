//! `grail lsp`: the rules in an editor. Diagnostics as the code is typed, fixes as code actions.
//!
//! One loop on one thread: messages that wait are all read before a document is checked, so that typing fast checks once. What a client
//! sends is a document, a position or nonsense; none of them ends the server.

mod actions;
mod positions;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use clap::Args;
use grail_code::Source;
use grail_rules::{Finding, Severity};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, LogMessage, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{CodeActionRequest, Request as _};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeDescription, Diagnostic, DiagnosticSeverity,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, InitializeParams, LogMessageParams, MessageType, NumberOrString,
    PositionEncodingKind, PublishDiagnosticsParams, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    Uri,
};

use self::positions::Encoding;
use self::workspace::Workspaces;
use crate::Exit;
use crate::render::Terminal;

/// The code action that makes every safe fix of a file.
const FIX_ALL: &str = "source.fixAll.grail";
/// More open documents are not checked.
const MAX_DOCUMENTS: usize = 2_000;

/// Speak the language server protocol on stdin and stdout
///
/// Editors start this. Syntax and rules are checked as the code is typed; fixes are offered as code actions, and all safe ones together as
/// `source.fixAll.grail`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail lsp")]
pub struct Arguments {
    /// Editors pass this; it is what happens anyway
    #[arg(long, hide = true)]
    pub stdio: bool,
}

pub fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection);
    // The writer ends when nobody can send any more.
    drop(connection);
    match served {
        Ok(exit) => {
            threads.join().context("the editor's connection broke")?;
            Ok(exit)
        }
        Err(error) => Err(error),
    }
}

fn serve(connection: &Connection) -> anyhow::Result<Exit> {
    let (id, parameters) = connection.initialize_start()?;
    let parameters: InitializeParams =
        serde_json::from_value(parameters).context("the editor's `initialize` cannot be read")?;
    let encoding = Encoding::negotiate(&parameters);
    let answer = serde_json::json!({
        "capabilities": capabilities(encoding),
        "serverInfo": ServerInfo {
            name: "grail".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        },
    });
    connection.initialize_finish(id, answer)?;
    let mut server = Server {
        connection,
        encoding,
        documents: BTreeMap::new(),
        workspaces: Workspaces::default(),
        stale: BTreeSet::new(),
    };
    server.run()
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(match encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::new(FIX_ALL)]),
                ..CodeActionOptions::default()
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}

struct Server<'c> {
    connection: &'c Connection,
    encoding: Encoding,
    documents: BTreeMap<Uri, Document>,
    workspaces: Workspaces,
    /// Documents that have changed since they were checked.
    stale: BTreeSet<Uri>,
}

/// An open document, and what was found in it.
pub(crate) struct Document {
    version: i32,
    source: Source,
    findings: Vec<Finding>,
}

impl Server<'_> {
    fn run(&mut self) -> anyhow::Result<Exit> {
        while let Ok(message) = self.connection.receiver.recv() {
            let mut next = Some(message);
            while let Some(message) = next {
                match message {
                    Message::Request(request) => {
                        if self.connection.handle_shutdown(&request)? {
                            return Ok(Exit::Fine);
                        }
                        self.answer(request)?;
                    }
                    Message::Notification(notification) => self.hear(notification)?,
                    // Nothing was asked of the client.
                    Message::Response(_) => {}
                }
                next = self.connection.receiver.try_recv().ok();
            }
            self.check_stale()?;
        }
        // The client is gone without a word.
        Ok(Exit::Findings)
    }

    fn answer(&mut self, request: Request) -> anyhow::Result<()> {
        let response = match request.method.as_str() {
            CodeActionRequest::METHOD => match serde_json::from_value(request.params) {
                Ok(parameters) => {
                    // Fixes belong to the text as it is now.
                    self.check_stale()?;
                    Response::new_ok(request.id, self.code_actions(&parameters))
                }
                Err(error) => {
                    Response::new_err(request.id, ErrorCode::InvalidParams as i32, error.to_string())
                }
            },
            method => Response::new_err(
                request.id,
                ErrorCode::MethodNotFound as i32,
                format!("`{method}` is not supported"),
            ),
        };
        self.send(Message::Response(response))
    }

    fn code_actions(&mut self, parameters: &lsp_types::CodeActionParams) -> lsp_types::CodeActionResponse {
        let uri = &parameters.text_document.uri;
        let Some(document) = self.documents.get(uri) else { return Vec::new() };
        let diagnostic = |finding: &Finding| diagnostic(finding, document, self.encoding, None);
        let mut actions = actions::quick_fixes(uri, document, parameters, self.encoding, &diagnostic);
        if actions::wants_fix_all(parameters)
            && let Ok(fixed) = self.workspaces.fix(uri, document.source.text())
        {
            actions.extend(actions::fix_all(uri, document, &fixed, self.encoding));
        }
        actions
    }

    fn hear(&mut self, notification: Notification) -> anyhow::Result<()> {
        let Notification { method, params } = notification;
        let understood = match method.as_str() {
            DidOpenTextDocument::METHOD => serde_json::from_value(params).map(|open| self.open(open)),
            DidChangeTextDocument::METHOD => serde_json::from_value(params).map(|change| self.change(change)),
            DidSaveTextDocument::METHOD => serde_json::from_value(params).map(|save| self.saved(&save)),
            DidCloseTextDocument::METHOD => {
                let close: Result<DidCloseTextDocumentParams, _> = serde_json::from_value(params);
                match close {
                    Ok(close) => return self.close(close),
                    Err(error) => Err(error),
                }
            }
            DidChangeWatchedFiles::METHOD => {
                self.reload();
                Ok(())
            }
            _ => Ok(()),
        };
        match understood {
            Ok(()) => Ok(()),
            Err(error) => self.log(format!("`{method}` cannot be read: {error}")),
        }
    }

    fn open(&mut self, open: DidOpenTextDocumentParams) {
        if self.documents.len() >= MAX_DOCUMENTS {
            return;
        }
        let item = open.text_document;
        let document =
            Document { version: item.version, source: Source::from_text(item.text), findings: Vec::new() };
        self.documents.insert(item.uri.clone(), document);
        self.stale.insert(item.uri);
    }

    fn change(&mut self, change: DidChangeTextDocumentParams) {
        let uri = change.text_document.uri;
        let Some(document) = self.documents.get_mut(&uri) else { return };
        for one in change.content_changes {
            let text = match one.range {
                Some(range) => {
                    let span = self.encoding.span(&document.source, range);
                    let text = document.source.text();
                    [&text[..span.start as usize], &one.text, &text[span.end as usize..]].concat()
                }
                None => one.text,
            };
            document.source = Source::from_text(text);
        }
        document.version = change.text_document.version;
        self.stale.insert(uri);
    }

    /// Rules and settings may be among what was saved.
    fn saved(&mut self, save: &DidSaveTextDocumentParams) {
        let uri = save.text_document.uri.as_str();
        if uri.ends_with("/grail.toml")
            || uri.ends_with("/pyproject.toml")
            || uri.contains("/.agents/skills/")
        {
            self.reload();
            return;
        }
        // It may mend or break what rules across files say about any other.
        self.workspaces.saved();
        self.stale.extend(self.documents.keys().cloned());
    }

    fn reload(&mut self) {
        self.workspaces = Workspaces::default();
        self.stale.extend(self.documents.keys().cloned());
    }

    fn close(&mut self, close: DidCloseTextDocumentParams) -> anyhow::Result<()> {
        let uri = close.text_document.uri;
        self.documents.remove(&uri);
        self.stale.remove(&uri);
        self.publish(PublishDiagnosticsParams { uri, diagnostics: Vec::new(), version: None })
    }

    fn check_stale(&mut self) -> anyhow::Result<()> {
        for uri in std::mem::take(&mut self.stale) {
            let Some(document) = self.documents.get_mut(&uri) else { continue };
            let (findings, log) = match self.workspaces.check(&uri, &document.source) {
                Ok(findings) => (findings, None),
                Err(message) => (Vec::new(), Some(message)),
            };
            document.findings = findings;
            let document = &*document;
            let diagnostics = document.findings.iter().map(|finding| {
                diagnostic(
                    finding,
                    document,
                    self.encoding,
                    self.workspaces.documentation(&uri, &finding.rule),
                )
            });
            let diagnostics: Vec<Diagnostic> = diagnostics.collect();
            let version = Some(document.version);
            self.publish(PublishDiagnosticsParams { uri, diagnostics, version })?;
            for message in log.into_iter().chain(self.workspaces.take_problems()) {
                self.log(message)?;
            }
        }
        Ok(())
    }

    fn publish(&self, parameters: PublishDiagnosticsParams) -> anyhow::Result<()> {
        self.send(Message::Notification(Notification::new(PublishDiagnostics::METHOD.to_owned(), parameters)))
    }

    fn log(&self, message: String) -> anyhow::Result<()> {
        let parameters = LogMessageParams { typ: MessageType::WARNING, message };
        self.send(Message::Notification(Notification::new(LogMessage::METHOD.to_owned(), parameters)))
    }

    fn send(&self, message: Message) -> anyhow::Result<()> {
        self.connection.sender.send(message).context("the editor does not listen any more")
    }
}

fn diagnostic(
    finding: &Finding,
    document: &Document,
    encoding: Encoding,
    documentation: Option<Uri>,
) -> Diagnostic {
    let message = match &finding.help {
        Some(help) => format!("{}\n{help}", finding.message),
        None => finding.message.clone(),
    };
    Diagnostic {
        range: encoding.range(&document.source, finding.span),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Info => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(finding.rule.to_string())),
        code_description: documentation.map(|href| CodeDescription { href }),
        source: Some("grail".to_owned()),
        message,
        ..Diagnostic::default()
    }
}
