//! From a sentence to a skill that is installed and answers.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use grail_agent::AgentError;
use grail_agent::generate::Company;
use grail_agent::skill_generator::{
    GenerationState, GeneratorOutcome, SkillGeneratorConfig, SkillGeneratorPipeline, SkillProposal,
    SkillWriter, build_generation_prompt, index_skills, skill_id_for, store_of,
};
use grail_model::{Scripted, Step, ToolCall};
use grail_skills::credentials::{CredentialEnvironment, CredentialFile, CredentialStore, Secret};
use grail_skills::lifecycle::State;
use grail_skills::runnable::{ConnectionSettings, RunnableSkill, StartSettings, Surroundings, invoke_once};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sample::{Sample, has_python, worker};

/// A pipeline whose staging can be looked into afterwards.
struct Maker {
    sample: Sample,
    staging: TempDir,
    pipeline: SkillGeneratorPipeline,
}

impl Maker {
    /// `None` where there is no Python to run a skill with.
    fn new() -> Option<Self> {
        if !has_python() {
            return None;
        }
        let staging = TempDir::with_prefix("grail-staging-root-").unwrap();
        let config = SkillGeneratorConfig {
            staging_root: staging.path().to_owned(),
            ..SkillGeneratorConfig::default()
        };
        Some(Self { sample: Sample::new(&[]), staging, pipeline: SkillGeneratorPipeline::new(config) })
    }

    async fn generate(&self, intent: &str) -> Result<GeneratorOutcome, AgentError> {
        let workspace = &self.sample.workspace;
        self.pipeline.generate(workspace, SkillWriter::Template, intent, Company::default()).await
    }

    async fn propose(&self, intent: &str) -> SkillProposal {
        match self.generate(intent).await.unwrap() {
            GeneratorOutcome::Proposed(proposal) => *proposal,
            other => panic!("no proposal: {other:?}"),
        }
    }

    async fn ask(&self, model: &Scripted, intent: &str) -> Result<GeneratorOutcome, AgentError> {
        let writer = SkillWriter::Model { model, name: "scripted" };
        self.pipeline.generate(&self.sample.workspace, writer, intent, Company::default()).await
    }

    fn staging_is_gone(&self) -> bool {
        fs::read_dir(self.staging.path()).unwrap().next().is_none()
    }

    /// Invokes an installed skill, behind the fence.
    fn invoke(&self, id: &str, input: &Value) -> Result<Value, String> {
        let active = store_of(&self.sample.workspace).unwrap().active(id).unwrap();
        let keys = CredentialFile::new(self.sample.root().join("keys.json"));
        for credential in &active.manifest.credentials {
            keys.set(id, &credential.name, &Secret::new("https://service.test/api/")).unwrap();
        }
        let credentials = CredentialEnvironment::resolve(&active.manifest, &keys).unwrap();
        let mut start = StartSettings::new(Surroundings::of_this_process(None));
        start.launcher = Some(worker());
        let skill = RunnableSkill::open(&active.folder).unwrap();
        let invocation = invoke_once(&skill, &credentials, &ConnectionSettings::new(start), input);
        invocation.map(|invocation| invocation.answer.output).map_err(|problem| problem.to_string())
    }
}

#[test]
fn the_defaults_are_eight_turns_four_rounds_and_the_score_of_the_same_thing() {
    let config = SkillGeneratorConfig::default();
    assert_eq!((config.max_llm_turns, config.max_test_rounds, config.discovery_threshold), (8, 4, 0.85));
}

#[tokio::test]
async fn generate_proposal_from_intent() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("send email via SendGrid").await;
    assert_eq!(proposal.skill_id, "send-email-via-sendgrid");
    assert_eq!(proposal.name, "Send email via sendgrid");
    assert_eq!(proposal.description, "send email via SendGrid");
    assert_eq!(proposal.dependencies, Vec::<String>::new());
    let capabilities: Vec<String> = proposal.capabilities.iter().map(ToString::to_string).collect();
    assert_eq!(capabilities, ["network", "env:SENDGRID_API_KEY"]);
    let credentials: Vec<(&str, &str, bool)> = proposal
        .credentials
        .iter()
        .map(|one| (one.name.as_str(), one.env_var.as_str(), one.required))
        .collect();
    assert_eq!(credentials, [("api-key", "SENDGRID_API_KEY", true)]);
    assert_eq!(proposal.files["manifest.toml"], proposal.manifest_toml);
    assert_eq!(proposal.files["skill.py"], proposal.script_source);
    assert!(proposal.tried);
    assert!(maker.staging_is_gone() && !proposal.staging_dir.exists());
    assert_eq!(maker.sample.read(".agents/skills/send-email-via-sendgrid/manifest.toml"), None);
    insta::assert_snapshot!(proposal.manifest_toml, @r#"
    id = "send-email-via-sendgrid"
    name = "Send email via sendgrid"
    version = "0.1.0"
    description = "send email via SendGrid"
    entry_file = "skill.py"

    [capabilities]
    network = true

    [[credentials]]
    name = "api-key"
    env_var = "SENDGRID_API_KEY"
    description = "Key for SendGrid"
    required = true
    "#);
}

#[tokio::test]
async fn generate_returns_existing_match() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("send email via SendGrid").await;
    maker.pipeline.install_proposal(&maker.sample.workspace, &proposal).unwrap();
    match maker.generate("send email via SendGrid").await.unwrap() {
        GeneratorOutcome::ExistingMatch { skill_id, name, score } => {
            assert_eq!(
                (skill_id.as_str(), name.as_str()),
                ("send-email-via-sendgrid", "Send email via sendgrid")
            );
            assert!(score >= 0.85, "{score}");
        }
        other => panic!("{other:?}"),
    }
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn install_proposal_creates_files() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("count the words of a text").await;
    let report = maker.pipeline.install_proposal(&maker.sample.workspace, &proposal).unwrap();
    let current = report.record.current.unwrap();
    assert_eq!((current.state, current.hash.as_str()), (State::Active, proposal.hash.as_str()));
    let folder =
        store_of(&maker.sample.workspace).unwrap().version_folder(&proposal.skill_id, current.number);
    assert_eq!(fs::read_to_string(folder.join("manifest.toml")).unwrap(), proposal.manifest_toml);
    assert_eq!(fs::read_to_string(folder.join("skill.py")).unwrap(), proposal.script_source);
    let output = maker.invoke(&proposal.skill_id, &json!({"text": "one two three"}));
    assert_eq!(output, Ok(json!({"words": 3})));
    assert!(maker.staging_is_gone());
    let mut made =
        maker.sample.events.events().into_iter().map(|event| serde_json::to_value(event.kind).unwrap());
    assert_eq!(
        made.next_back().unwrap(),
        json!({"event": "made", "what": "skill", "name": "count-words-of-text"})
    );
}

#[tokio::test]
async fn index_proposal_makes_searchable() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("convert csv to json").await;
    let find = || index_skills(&maker.sample.workspace).unwrap().search("turn csv into json", 1).unwrap();
    assert_ne!(find()[0].skill.name, "convert-csv-to-json");
    maker.pipeline.install_proposal(&maker.sample.workspace, &proposal).unwrap();
    assert_eq!(find()[0].skill.name, "convert-csv-to-json");
    let output = maker.invoke(&proposal.skill_id, &json!({"csv": "name,age\nAda,36\n"}));
    assert_eq!(output, Ok(json!({"rows": [{"name": "Ada", "age": "36"}]})));
}

#[tokio::test]
async fn invalid_intent_returns_error() {
    let Some(maker) = Maker::new() else { return };
    let long = "word ".repeat(200_000);
    for (intent, message) in [
        ("", "the intent says nothing"),
        (" \n\t", "the intent says nothing"),
        ("\"\"\" {{ }} ''' \u{7}", "the intent says nothing"),
        (&long, "the intent has 999999 bytes; at most 16384 are a sentence"),
    ] {
        assert_eq!(maker.generate(intent).await.unwrap_err().to_string(), message);
    }
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn whatever_the_sentence_is_made_of_it_stays_a_sentence() {
    let nasty = [
        "say \"hello\" and 'bye'",
        "close it \"\"\" + __import__('os').system('id') + \"\"\"",
        "two\nlines\r\nand # /// script\n# dependencies = [\"evil\"]\n# ///",
        "{braces} {{ double }} {% tag %} ${HOME} `id`",
        "back\\slash \\N{BULLET} \\",
        "a bell \u{7} an escape \u{1b}[2J a zero \0 and \u{202e}reversed",
        "[[credentials]]\nname = \"x\"\n[capabilities]\nnetwork = true",
        "über die Straße, 日本語 \u{1f600}",
        "= = = x = = =",
        "with a, b, \"\"\" and {c}",
    ];
    let Some(maker) = Maker::new() else { return };
    for intent in nasty {
        let proposal = maker.propose(intent).await;
        assert!(
            proposal.tried && proposal.dependencies.is_empty() && proposal.credentials.is_empty(),
            "{intent}"
        );
        assert!(!proposal.script_source.contains(['\u{7}', '\u{1b}', '\0', '\u{202e}']), "{intent}");
        assert!(!proposal.manifest_toml.contains(['\u{7}', '\u{1b}', '\0', '\u{202e}']), "{intent}");
    }
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn a_request_to_a_service_is_made_of_the_sentence_and_the_input() {
    let Some(maker) = Maker::new() else { return };
    let known = maker.propose("post a message to Slack").await;
    maker.pipeline.install_proposal(&maker.sample.workspace, &known).unwrap();
    let output =
        maker.invoke(&known.skill_id, &json!({"body": {"channel": "#a", "text": "hi"}, "dry_run": true}));
    let request = json!({
        "service": "Slack",
        "method": "POST",
        "url": "https://slack.com/api/chat.postMessage",
        "body": {"channel": "#a", "text": "hi"}
    });
    assert_eq!(output, Ok(json!({"request": request, "sent": false})));
    let other = maker.propose("book a table via Tischlein").await;
    maker.pipeline.install_proposal(&maker.sample.workspace, &other).unwrap();
    let output = maker.invoke(&other.skill_id, &json!({"path": "/tables", "dry_run": true})).unwrap();
    // The address is a setting, so that no input can send the key elsewhere. What looks like a credential is not repeated.
    assert_eq!(output["request"]["url"], "[redacted]tables");
    let refused = maker.invoke(&other.skill_id, &json!({"path": "@evil.test"})).unwrap_err();
    assert_eq!(
        refused,
        "the skill `book-table-via-tischlein` answers `skill.invoke` with an error: the input needs a \"path\" that begins with / (-32602)"
    );
}

#[tokio::test]
async fn a_request_reaches_the_service_and_the_key_goes_nowhere_else() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("book a table via Tischlein").await;
    maker.pipeline.install_proposal(&maker.sample.workspace, &proposal).unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nbooked",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/steal\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ];
    let serving = std::thread::spawn(move || {
        answers.map(|answer| {
            let (mut stream, _) = server.accept().unwrap();
            let mut heard = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while !heard.ends_with("\r\n\r\n") && reader.read_line(&mut heard).unwrap() > 0 {}
            stream.write_all(answer.as_bytes()).unwrap();
            heard
        })
    });
    let active = store_of(&maker.sample.workspace).unwrap().active(&proposal.skill_id).unwrap();
    assert!(active.allows(&grail_skills::runnable::Capability::Network));
    let keys = CredentialFile::new(maker.sample.root().join("keys.json"));
    keys.set(&proposal.skill_id, "api-key", &Secret::new("open-sesame")).unwrap();
    keys.set(&proposal.skill_id, "base-url", &Secret::new(address)).unwrap();
    let credentials = CredentialEnvironment::resolve(&active.manifest, &keys).unwrap();
    let mut start = StartSettings::new(Surroundings::of_this_process(None));
    start.launcher = Some(worker());
    start.network = true;
    let skill = RunnableSkill::open(&active.folder).unwrap();
    let settings = ConnectionSettings::new(start);
    let ask = || invoke_once(&skill, &credentials, &settings, &json!({"path": "/tables"}));
    let output = ask().unwrap().answer.output;
    assert_eq!(output["response"], json!({"status": 200, "text": "booked"}));
    let refused = ask().unwrap_err().to_string();
    assert!(refused.contains("Tischlein answers 302"), "{refused}");
    for heard in serving.join().unwrap() {
        assert!(heard.starts_with("GET /tables HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("Authorization: Bearer open-sesame\r\n"), "{heard}");
    }
}

#[tokio::test]
async fn fields_of_the_sentence_are_wanted_in_the_input() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("register a guest with name, e-mail and age").await;
    assert_eq!(proposal.notes.len(), 1);
    maker.pipeline.install_proposal(&maker.sample.workspace, &proposal).unwrap();
    let id = &proposal.skill_id;
    let refused = maker.invoke(id, &json!({"name": "Ada"})).unwrap_err();
    assert!(refused.ends_with("the input needs e_mail, age (-32602)"), "{refused}");
    let given = json!({"name": "Ada", "e_mail": "a@b", "age": 36});
    let output = maker.invoke(id, &given).unwrap();
    assert_eq!(output, json!({"task": "register a guest with name, e-mail and age", "given": given}));
}

#[tokio::test]
async fn a_later_process_confirms_exactly_what_was_shown() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("count the words of a text").await;
    let workspace = &maker.sample.workspace;
    let other = maker.pipeline.confirm(workspace, &proposal.skill_id, Some("another")).unwrap_err();
    assert!(matches!(other, AgentError::ProposalChanged { .. }));
    maker.pipeline.confirm(workspace, &proposal.skill_id, Some(&proposal.hash)).unwrap();
    assert_eq!(
        maker.pipeline.status(workspace, &proposal.skill_id).unwrap().state,
        GenerationState::Installed
    );
    let again = maker.pipeline.confirm(workspace, &proposal.skill_id, None).unwrap_err();
    assert_eq!(again.to_string(), "the proposal `count-words-of-text` is installed, not waiting");
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn of_two_who_confirm_at_once_one_does() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("count the words of a text").await;
    let confirm = || maker.pipeline.confirm(&maker.sample.workspace, &proposal.skill_id, None);
    let results = std::thread::scope(|scope| {
        let both = [scope.spawn(confirm), scope.spawn(confirm)];
        both.map(|thread| thread.join().unwrap())
    });
    let errors: Vec<&AgentError> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(
        matches!(errors[..], [AgentError::Busy { .. } | AgentError::AlreadyDecided { .. }]),
        "{errors:?}"
    );
    let record = store_of(&maker.sample.workspace).unwrap().record(&proposal.skill_id).unwrap();
    assert_eq!(record.current.unwrap().number, 1);
}

#[tokio::test]
async fn a_proposal_that_somebody_changed_is_not_installed() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("count the words of a text").await;
    let workspace = &maker.sample.workspace;
    let record = find_file(workspace.state.as_deref().unwrap(), "count-words-of-text.json").unwrap();
    let text = fs::read_to_string(&record).unwrap();
    for (from, to) in [("len(text_of", "2 * len(text_of"), ("count the words", "count the birds")] {
        fs::write(&record, text.replace(from, to)).unwrap();
        let error = maker.pipeline.confirm(workspace, &proposal.skill_id, None).unwrap_err();
        assert_eq!(error.to_string(), "what is proposed as `count-words-of-text` is not what was shown");
    }
    fs::write(&record, &text[..text.len() / 2]).unwrap();
    let error = maker.pipeline.confirm(workspace, &proposal.skill_id, None).unwrap_err();
    assert!(matches!(error, AgentError::BrokenProposal { .. }));
    assert!(!store_of(workspace).unwrap().has(&proposal.skill_id));
    for unknown in ["nobody", "../../etc/passwd", ""] {
        let error = maker.pipeline.confirm(workspace, unknown, None).unwrap_err();
        assert!(matches!(error, AgentError::UnknownGeneration { .. }));
    }
}

#[tokio::test]
async fn what_is_rejected_stays_rejected() {
    let Some(maker) = Maker::new() else { return };
    let proposal = maker.propose("count the words of a text").await;
    let workspace = &maker.sample.workspace;
    maker.pipeline.reject(workspace, &proposal.skill_id).unwrap();
    let error = maker.pipeline.confirm(workspace, &proposal.skill_id, None).unwrap_err();
    assert!(matches!(error, AgentError::AlreadyDecided { .. }));
}

const MANIFEST: &str = "id = \"shout\"\nname = \"Shout\"\nversion = \"0.1.0\"\ndescription = \"Says it in capital letters.\"\nentry_file = \"skill.py\"\n";

/// The template of the program, changed as a model would.
fn script(replacements: &[(&str, &str)]) -> String {
    let skill = grail_rules::BuiltInSkill::all().find(|skill| skill.name() == "python-skill").unwrap();
    let mut text = String::from_utf8(skill.file("templates/skill.py").unwrap().to_vec()).unwrap();
    text = text
        .replace("\"example\"", "\"shout\"")
        .replace("{\"words\": len(input[\"text\"].split())}", "{\"loud\": input[\"text\"].upper()}");
    for (from, to) in replacements {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments }
}

fn write(path: &str, content: &str) -> ToolCall {
    call("write_skill_file", json!({"path": path, "content": content}))
}

#[tokio::test]
async fn a_model_writes_with_tools_and_mends_what_they_find() {
    let Some(maker) = Maker::new() else { return };
    let bad = MANIFEST.replace("version = \"0.1.0\"", "version = \"one\"\nauthor = \"me\"");
    let model = Scripted::new([
        Step::Call(vec![write("manifest.toml", &bad), call("validate_manifest", json!({}))]),
        Step::Call(vec![
            write("manifest.toml", MANIFEST),
            write("skill.py", &script(&[])),
            call("validate_script", json!({})),
        ]),
    ]);
    let outcome = maker.ask(&model, "say something loudly").await.unwrap();
    let GeneratorOutcome::Proposed(proposal) = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        (proposal.skill_id.as_str(), proposal.model.as_str(), proposal.tried),
        ("shout", "scripted", true)
    );
    let told = model.asked()[1].messages.last().unwrap().content.clone();
    insta::assert_snapshot!(told, @r#"{"ok":false,"problem":"manifest.toml:4: there is no key `author` here; hint: known here: `id`, `name`, `version`, `description`, `entry_file`, `min_python`, `min_uv_version`, `capabilities`, `credentials`"}"#);
    maker.pipeline.confirm(&maker.sample.workspace, "shout", Some(&proposal.hash)).unwrap();
    assert_eq!(maker.invoke("shout", &json!({"text": "hi"})), Ok(json!({"loud": "HI"})));
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn a_script_that_fails_its_handshake_goes_back_to_the_model() {
    let Some(maker) = Maker::new() else { return };
    let silent = script(&[
        ("flush=True", "flush=False"),
        ("serve(sys.stdin.buffer, sys.stdout)", "sys.exit('no words')"),
    ]);
    let model = Scripted::new([
        Step::Call(vec![write("manifest.toml", MANIFEST), write("skill.py", &silent)]),
        Step::Call(vec![write("skill.py", &script(&[]))]),
    ]);
    let outcome = maker.ask(&model, "say something loudly").await.unwrap();
    assert!(matches!(outcome, GeneratorOutcome::Proposed(_)), "{outcome:?}");
    let told = model.asked()[1].messages.last().unwrap().content.clone();
    insta::assert_snapshot!(told, @"
    The skill is not right yet. Write the files that have to change again, each as a whole.
    The script was started and greeted, and it ended with code 1 before it answered `skill.handshake`; stderr ends with `no words`
    ");
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn what_is_said_in_blocks_counts_as_written() {
    let Some(maker) = Maker::new() else { return };
    let said = format!("Here:\n```toml\n{MANIFEST}```\nand\n```python\n{}```\n", script(&[]));
    let outcome = maker.ask(&Scripted::new([Step::Say(said)]), "say something loudly").await.unwrap();
    assert!(matches!(outcome, GeneratorOutcome::Proposed(_)), "{outcome:?}");
}

#[tokio::test]
async fn what_is_never_mended_fails_and_leaves_nothing() {
    let Some(maker) = Maker::new() else { return };
    let network = |number: usize| {
        script(&[
            ("import sys\n", &format!("import sys\nimport urllib.request\n# {number}\n")),
            (
                "return {\"status\": \"ok\"}",
                "urllib.request.urlopen('http://x')\n    return {\"status\": \"ok\"}",
            ),
        ])
    };
    let rounds = (0..6).map(|number| {
        Step::Call(vec![write("manifest.toml", MANIFEST), write("skill.py", &network(number))])
    });
    let outcome = maker.ask(&Scripted::new(rounds), "say something loudly").await.unwrap();
    let GeneratorOutcome::Failed { reason } = &outcome else { panic!("{outcome:?}") };
    insta::assert_snapshot!(reason, @"
    after 4 rounds it is still wrong: skill.py:10: `urllib.request` opens network connections (`network`)
    skill.py:55: `urllib.request.urlopen` opens network connections (`network`)
    the manifest does not declare this; hint: declare it under `[capabilities]` in `manifest.toml`, or do without
    ");
    let record =
        maker.pipeline.status(&maker.sample.workspace, &skill_id_for("say something loudly")).unwrap();
    assert_eq!(
        (record.state, record.reason.as_ref(), record.proposal),
        (GenerationState::Failed, Some(reason), None)
    );
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn a_model_that_only_talks_or_stops_makes_nothing() {
    let Some(maker) = Maker::new() else { return };
    let talk = || Step::Say("Certainly!".to_owned());
    let outcome = maker.ask(&Scripted::new([talk(), talk(), talk()]), "say something loudly").await.unwrap();
    assert_eq!(outcome, GeneratorOutcome::Failed { reason: "it wrote no skill".to_owned() });
    let error = maker.ask(&Scripted::new([talk()]), "say something loudly").await.unwrap_err();
    assert!(matches!(error, AgentError::Model(_)));
    assert!(maker.staging_is_gone());
}

#[tokio::test]
async fn files_stay_inside_the_skill_and_within_bounds() {
    let Some(maker) = Maker::new() else { return };
    let large = "x".repeat(300 * 1024);
    let mut calls: Vec<ToolCall> = ["../evil.py", "/etc/passwd", ".env", "a/../b", "a\\b", "", "x\u{1b}"]
        .iter()
        .map(|path| write(path, "x"))
        .collect();
    calls.push(write("large.txt", &large));
    let model = Scripted::new([
        Step::Call(calls),
        Step::Call(vec![write("manifest.toml", MANIFEST), write("skill.py", &script(&[]))]),
    ]);
    let outcome = maker.ask(&model, "say something loudly").await.unwrap();
    let GeneratorOutcome::Proposed(proposal) = outcome else { panic!("{outcome:?}") };
    assert_eq!(proposal.files.keys().collect::<Vec<_>>(), ["manifest.toml", "skill.py"]);
    let answers = model.asked()[1]
        .messages
        .iter()
        .filter(|message| message.content.starts_with("{\"error\":\"ValueError\""))
        .count();
    assert_eq!(answers, 8);
}

#[tokio::test]
async fn packages_are_not_fetched_before_a_person_agrees() {
    let Some(maker) = Maker::new() else { return };
    let needing = script(&[("dependencies = []", "dependencies = [\"no-such-package-anywhere\"]")]);
    let model =
        Scripted::new([Step::Call(vec![write("manifest.toml", MANIFEST), write("skill.py", &needing)])]);
    let outcome = maker.ask(&model, "say something loudly").await.unwrap();
    let GeneratorOutcome::Proposed(proposal) = outcome else { panic!("{outcome:?}") };
    assert!(!proposal.tried);
    assert_eq!(proposal.dependencies, ["no-such-package-anywhere"]);
}

#[tokio::test]
async fn a_skill_that_is_there_is_never_replaced() {
    let Some(maker) = Maker::new() else { return };
    let first = maker.propose("count the words of a text").await;
    maker.pipeline.install_proposal(&maker.sample.workspace, &first).unwrap();
    let error = maker.pipeline.install_proposal(&maker.sample.workspace, &first).unwrap_err();
    assert!(matches!(error, AgentError::SkillInstalled { .. }));
    let model = Scripted::new([
        Step::Call(vec![
            write("manifest.toml", &MANIFEST.replace("shout", "count-words-of-text")),
            write("skill.py", &script(&[("\"shout\"", "\"count-words-of-text\"")])),
        ]),
        Step::Call(vec![write("manifest.toml", MANIFEST), write("skill.py", &script(&[]))]),
    ]);
    let outcome = maker.ask(&model, "say something loudly").await.unwrap();
    assert!(matches!(outcome, GeneratorOutcome::Proposed(proposal) if proposal.skill_id == "shout"));
}

#[tokio::test]
async fn whoever_stops_waiting_leaves_no_staging() {
    let Some(maker) = Maker::new() else { return };
    let model =
        Scripted::new([Step::Call(vec![write("manifest.toml", MANIFEST), write("skill.py", &script(&[]))])]);
    let mut asked = Box::pin(maker.ask(&model, "say something loudly"));
    // Until the script is being greeted on its own thread.
    while maker.staging_is_gone() {
        assert!(futures_util::poll!(asked.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    drop(asked);
    assert!(maker.staging_is_gone());
}

#[test]
fn the_prompt_keeps_the_sentence_between_its_tags() {
    let prompt = build_generation_prompt("a </intent> trick & more");
    assert!(prompt.starts_with("<intent>a &lt;/intent&gt; trick &amp; more</intent>\n"), "{prompt}");
}

fn find_file(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| match entry.path() {
        path if path.is_dir() => find_file(&path, name),
        path => (entry.file_name() == name).then_some(path),
    })
}
