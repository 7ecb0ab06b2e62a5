//! Models in a process of their own: how it is started, known, and survived. A stand-in does what the real program does not.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use grail_model::local::{LocalServer, LocalSettings};
use grail_model::{ChatRequest, Message, ModelError, Reply, collect};
use tempfile::TempDir;

struct Stand {
    folder: TempDir,
}

impl Stand {
    fn new(behaviour: &str) -> Self {
        let folder = TempDir::with_prefix("grail-local-test-").unwrap();
        fs::write(folder.path().join("tiny.gguf"), behaviour).unwrap();
        Self { folder }
    }

    fn settings(&self) -> LocalSettings {
        LocalSettings {
            program: Some(PathBuf::from(env!("CARGO_BIN_EXE_grail-model-test-local"))),
            ready_timeout: Duration::from_secs(30),
            ..LocalSettings::new("tiny", self.folder.path().join("tiny.gguf"))
        }
    }

    async fn start(&self) -> Result<LocalServer, ModelError> {
        LocalServer::start(self.settings(), |_| {}).await
    }

    fn starts(&self) -> String {
        fs::read_to_string(self.folder.path().join("tiny.gguf.starts")).unwrap()
    }
}

async fn ask(server: &LocalServer) -> Result<Reply, ModelError> {
    let request = ChatRequest { messages: vec![Message::user("Hello?")], ..ChatRequest::default() };
    collect(server, &request, |_| {}).await
}

#[tokio::test]
async fn it_answers_with_its_own_token_and_says_who_it_is() {
    let stand = Stand::new("fine");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    let server = LocalServer::start(stand.settings(), move |line: &str| {
        listener.lock().unwrap().push(line.to_owned());
    });
    let server = server.await.unwrap();
    assert_eq!(server.identity(), "00112233445566ff");
    assert_eq!((server.ready().parameters, server.ready().memory_bytes), (7, 99));
    let reply = ask(&server).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish.model.as_str()), ("hello", "tiny"));
    assert_eq!(*heard.lock().unwrap(), ["loading the weights"]);
}

#[tokio::test]
async fn it_ends_with_whoever_holds_it() {
    let stand = Stand::new("fine");
    let server = stand.start().await.unwrap();
    let port = server.ready().port;
    drop(server);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[tokio::test]
async fn what_it_says_when_it_does_not_start_is_the_error() {
    let error = Stand::new("refuses").start().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the local model `tiny` did not start: the model needs 9 GB of memory, and 2 GB are free"
    );
    assert_eq!(error.hint(), Some("choose a smaller model"));
    let error = Stand::new("garbage").start().await.unwrap_err();
    assert!(error.to_string().contains("its first line cannot be read"), "{error}");
}

#[tokio::test]
async fn it_is_not_waited_for_without_end() {
    let stand = Stand::new("never-ready");
    let settings = LocalSettings { ready_timeout: Duration::from_millis(300), ..stand.settings() };
    let error = LocalServer::start(settings, |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), "the local model `tiny` did not start: it is not ready after 0 seconds");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_to_be() {
    let stand = Stand::new("fine");
    let settings = LocalSettings { program: Some(stand.folder.path().join("nobody")), ..stand.settings() };
    let error = LocalServer::start(settings, |_| {}).await.unwrap_err();
    assert!(matches!(error, ModelError::NotStarted { .. }), "{error}");
}

#[tokio::test]
async fn its_death_is_told_and_the_next_request_starts_it_again() {
    let stand = Stand::new("dies-once");
    let server = stand.start().await.unwrap();
    let error = ask(&server).await.unwrap_err();
    let ModelError::Died { reason, .. } = &error else { panic!("{error}") };
    assert!(
        reason.ends_with("its last words: loading the weights / the allocation of 4 GB failed"),
        "{reason}"
    );
    assert_eq!(ask(&server).await.unwrap().text, "hello");
    assert_eq!(stand.starts(), "2");
}

#[tokio::test]
async fn what_dies_again_stays_dead() {
    let stand = Stand::new("dies-always");
    let server = stand.start().await.unwrap();
    for _ in 0..4 {
        assert!(matches!(ask(&server).await, Err(ModelError::Died { .. })));
    }
    assert_eq!(stand.starts(), "2");
}

#[tokio::test]
async fn a_swapped_model_behind_the_same_name_does_not_answer() {
    // Known by what the phase remembers.
    let stand = Stand::new("fine");
    let settings = LocalSettings { identity: Some("00112233445566ff+0a".to_owned()), ..stand.settings() };
    let error = LocalServer::start(settings, |_| {}).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`tiny` answers with other weights: 00112233445566ff instead of 00112233445566ff+0a"
    );
    // By the hash of the weights.
    let settings = LocalSettings { sha256: Some("a".repeat(64)), ..stand.settings() };
    assert!(matches!(LocalServer::start(settings, |_| {}).await, Err(ModelError::OtherIdentity { .. })));
    // By what it lists.
    assert!(matches!(Stand::new("liar").start().await, Err(ModelError::OtherIdentity { .. })));
    // In every answer.
    let stand = Stand::new("other-weights");
    let server = stand.start().await.unwrap();
    assert!(matches!(ask(&server).await, Err(ModelError::OtherIdentity { .. })));
    // And after it was started again.
    let stand = Stand::new("dies-and-changes");
    let server = stand.start().await.unwrap();
    assert!(matches!(ask(&server).await, Err(ModelError::Died { .. })));
    assert!(matches!(ask(&server).await, Err(ModelError::OtherIdentity { .. })));
}
