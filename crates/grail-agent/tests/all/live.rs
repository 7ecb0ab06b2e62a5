//! The loop with a real model, as `scripts/live-model` installs it: too small to achieve anything, which must do no harm. Run by `just test-live`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use grail_agent::embedder::ServerEmbedder;
use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{AgentError, DialogueLimits, Mode, Proposal, models};
use grail_model::{Model, Recorder, Replay};
use grail_rules::Layer;
use grail_sandbox::Toolset;
use grail_skills::search::Embedder;

use crate::sample::Sample;

/// The server, for as long as this lives: it ends when its input does.
struct Live {
    process: Child,
    url: String,
}

impl Live {
    /// Nothing if it is not installed, which is said.
    fn start() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/live-model");
        let mut process = Command::new(script)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            assert_eq!(process.wait().unwrap().code(), Some(3), "the live model does not start");
            eprintln!("skipped: no live model is installed; `scripts/live-model install` does that");
            return None;
        }
        Some(Self { process, url: line.trim().to_owned() })
    }

    fn project(&self) -> Sample {
        let text = format!(
            "[generate]\nmodel = \"live\"\n[models.live]\nurl = \"{}\"\nmodel = \"SmolLM2-135M-Instruct.Q4_1\"\n\
             temperature = 0\nmax-tokens = 120\ntimeout = 600\n",
            self.url
        );
        Sample::new(&[("grail.toml", &text)])
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

async fn generate(sample: &Sample, model: &dyn Model, mode: Mode) -> Result<Proposal, AgentError> {
    let settings = GenerateSettings {
        mode,
        kind: Some("service".to_owned()),
        layers: vec![Layer::Syntax, Layer::Rules],
        limits: DialogueLimits { turns: 2, time: Duration::from_secs(1200), ..DialogueLimits::default() },
        ..GenerateSettings::default()
    };
    let company = Company::default();
    Generation::start(&sample.workspace, model, Toolset::default(), "a mail service", settings, company)
        .await?
        .run()
        .await
}

#[tokio::test]
#[ignore = "needs `scripts/live-model install`"]
async fn a_real_conversation_does_no_harm_and_can_be_had_again() {
    let Some(live) = Live::start() else { return };
    for mode in [Mode::Direct, Mode::Code] {
        let sample = live.project();
        let chosen = models::choose(&sample.workspace, None).await.unwrap();
        assert_eq!(chosen.preferred_mode, Mode::Code);
        let recorder = Recorder::new(chosen.model.as_ref());
        let shown = |outcome: Result<Proposal, AgentError>| match outcome {
            Ok(proposal) => format!("{:?}", proposal.files),
            Err(error) => error.to_string(),
        };
        let first = shown(generate(&sample, &recorder, mode).await);
        assert_eq!(sample.read("services/mail_service.py"), None);
        // Without the server, to the same end.
        let recording = recorder.recording();
        assert!(!recording.exchanges.is_empty());
        let again = live.project();
        assert_eq!(shown(generate(&again, &Replay::new(recording), mode).await), first);
    }
}

#[test]
#[ignore = "needs `scripts/live-model install`"]
fn a_real_model_embeds_for_the_search() {
    let Some(live) = Live::start() else { return };
    let sample = live.project();
    let settings = models::server_settings("live", &sample.workspace.project.config.models["live"]);
    let embedder = ServerEmbedder::connect(&settings).unwrap();
    assert_eq!(embedder.dimensions(), 576);
    // The server keeps connections open; each call is from a thread of its own.
    for _ in 0..3 {
        assert_eq!(embedder.embed(&["one", "two"]).unwrap().len(), 2);
    }
}
