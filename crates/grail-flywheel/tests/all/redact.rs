//! Privacy: what must not be kept, and what must stay. Secrets are put together here, so that nobody who searches this file finds one.

use std::borrow::Cow;

use grail_flywheel::EventLog;
use grail_flywheel::event::{Event, EventKind};
use grail_flywheel::redact::Redactor;
use proptest::prelude::*;
use serde_json::json;

use crate::project::{Project, message, settings};

fn redacted(text: &str) -> String {
    Redactor::shared().redact(text).into_owned()
}

/// Letters and digits as a generator of tokens would mix them.
fn mixed(length: usize) -> String {
    "q7Zk2mX9vB4nT1cR8wL5pJ3hG6fD0sA".chars().cycle().take(length).collect()
}

#[test]
fn every_known_form_is_found() {
    let upper: String = "Q7ZK2MX4VB".chars().cycle().take(16).collect();
    let hexadecimal: String = "0f9a3c".chars().cycle().take(64).collect();
    let jwt = ["eyJ", "hbGciOiJIUzI1NiJ9", ".eyJ", "zdWIiOiIxMjM0In0", ".", &mixed(43)].concat();
    let cases = [
        ("aws-key", ["AK", "IA", &upper].concat()),
        ("aws-key", ["AS", "IA", &upper].concat()),
        ("google-key", ["AI", "za", &mixed(35)].concat()),
        ("google-key", ["GOC", "SPX-", &mixed(28)].concat()),
        ("google-key", ["ya", "29.", &mixed(60)].concat()),
        ("azure-key", [&mixed(3), "8Q", "~", &mixed(34)].concat()),
        ("github-token", ["gh", "p_", &mixed(36)].concat()),
        ("github-token", ["gh", "s_", &mixed(36)].concat()),
        ("github-token", ["github", "_pat_", &mixed(82)].concat()),
        ("gitlab-token", ["gl", "pat-", &mixed(20)].concat()),
        ("slack-token", ["xo", "xb-", "123456789012-", &mixed(24)].concat()),
        ("slack-token", ["xa", "pp-1-", &mixed(40)].concat()),
        ("stripe-key", ["sk", "_live_", &mixed(24)].concat()),
        ("stripe-key", ["rk", "_test_", &mixed(24)].concat()),
        ("stripe-key", ["wh", "sec_", &mixed(32)].concat()),
        ("openai-key", ["sk", "-", &mixed(48)].concat()),
        ("openai-key", ["sk", "-proj-", &mixed(40), "-_", &mixed(40)].concat()),
        ("anthropic-key", ["sk", "-ant-api03-", &mixed(93)].concat()),
        ("huggingface-token", ["h", "f_", &mixed(34)].concat()),
        ("npm-token", ["n", "pm_", &mixed(36)].concat()),
        ("pypi-token", ["py", "pi-AgEIcHlwaS5vcmc", &mixed(80)].concat()),
        ("jwt", jwt.clone()),
        ("token", ["S", "G.", &mixed(22), ".", &mixed(43)].concat()),
        ("token", ["do", "p_v1_", &hexadecimal].concat()),
        ("token", ["gs", "k_", &mixed(52)].concat()),
        ("token", ["hv", "s.", &mixed(90)].concat()),
        ("email", ["ada.lovelace+news", "@", "analytical-engines.co.uk"].concat()),
        ("email", ["ADA", "@", "ENGINES.DE"].concat()),
        ("email", ["ada", "@", "engines.berlin"].concat()),
        ("email", ["ada", "@", "mail.engines.consulting"].concat()),
    ];
    for (kind, secret) in cases {
        let marker = format!("[redacted:{kind}]");
        let places =
            ["{}", "{}\n", "see {}.", "\n{}\n", "x = '{}'  # note", "(\"{}\", 1)", "a\\n{} b", "<{}>"];
        for place in places {
            assert_eq!(
                redacted(&place.replace("{}", &secret)),
                place.replace("{}", &marker),
                "{kind}: {secret}"
            );
        }
    }
}

#[test]
fn secrets_are_found_by_where_they_stand() {
    let secret = mixed(20);
    let fixed = ["hunter", "2"].concat();
    let cases = [
        ("password = \"{}\"", "secret", &fixed),
        ("connect(user='ada', password='{}')", "secret", &fixed),
        ("password: str = \"{}\"", "secret", &fixed),
        ("config[\"db_password\"] = '{}'", "secret", &fixed),
        ("if passwd == \"{}\":", "secret", &fixed),
        ("{\"apiKey\": \"{}\"}", "secret", &secret),
        ("{\\\"client_secret\\\": \\\"{}\\\"}", "secret", &secret),
        ("os.environ.get(\"API_KEY\", \"{}\")", "secret", &secret),
        ("API_KEY={}\n", "secret", &secret),
        ("access-key: {}\n", "secret", &secret),
        ("deploy --auth-token {} now", "secret", &secret),
        ("Authorization: Bearer {}", "authorization", &secret),
        ("headers = {\"Authorization\": \"Basic {}\"}", "authorization", &secret),
        ("curl -H 'authorization: token {}'", "authorization", &secret),
        ("Bearer {}", "authorization", &secret),
        ("postgresql://ada:{}@db.internal:5432/app", "password", &fixed),
        ("redis://:{}@cache/0", "password", &fixed),
        ("git clone https://ada:{}@git.host/x.git", "password", &fixed),
        ("AccountName=a;AccountKey={};x", "azure-key", &mixed(86)),
        ("https://x.blob.core/f?sv=1&sig={}", "azure-key", &mixed(43)),
        (
            "https://hooks.slack.com/services/{}",
            "slack-token",
            &["T0", &mixed(8), "/B0", &mixed(34)].concat(),
        ),
    ];
    for (place, kind, secret) in cases {
        let text = place.replace("{}", secret);
        assert_eq!(redacted(&text), place.replace("{}", &format!("[redacted:{kind}]")), "{text}");
    }
}

#[test]
fn private_keys_go_as_a_whole_and_code_stays_code() {
    let [begin, end] = ["BEGIN", "END"].map(|word| ["-----", word, " RSA PRIVATE", " KEY-----"].concat());
    let body = format!("{}\n{}\n", mixed(64), mixed(64));
    let code = format!("KEY = \"\"\"{begin}\n{body}{end}\n\"\"\"\nprint(1)\n");
    assert_eq!(redacted(&code), "KEY = \"\"\"[redacted:private-key]\n\"\"\"\nprint(1)\n");
    let escaped = format!("KEY = \"{begin}\\n{}\\n{end}\"", mixed(64));
    assert_eq!(redacted(&escaped), "KEY = \"[redacted:private-key]\"");
    let open = format!("KEY = \"{begin}\\n{}\"\nx = 1", mixed(64));
    assert_eq!(redacted(&open), "KEY = \"[redacted:private-key]\"\nx = 1");
}

#[test]
fn what_only_looks_a_little_like_a_secret_stays() {
    let texts = [
        "id = \"019a8e1c-5b7e-7c3a-9f00-6d2b8a4e1f55\"",
        "commit 3dff6bc0b4126d8ce9f79eb64fe33eaf72f0a1b2c",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "@view\ndef page(request): ...",
        "\n@app.get(\"/x\")\n@router.post(\"/y\")",
        "code = \"\\n@app.route('/')\"",
        "y = x@w.T + b@c.transpose() + a@b.mT + j@k.at[0].set(1)",
        "model(x)@y",
        "pip install lodash@4.17.21 pkg@git+https://host/x.git",
        "git clone git@github.com:org/repo.git",
        "write to user@example.com or root@localhost or a@b.example",
        "password: str",
        "password = \"password\"",
        "password = getpass()",
        "password = os.environ[\"DB_PASSWORD\"]",
        "<input type=\"password\" name=\"password\" id=\"new-password\">",
        "token = next(tokens)",
        "token = \"identifier\"",
        "max_tokens = 4096",
        "{\"tokens\": {\"input\": 123456, \"output\": 98765}}",
        "api_key=settings.api_key_from_environment",
        "api_key = \"${API_KEY}\"",
        "secret = f\"{prefix1}-value\"",
        "primary_key=True, foreign_key=\"user_accounts.id\"",
        "Authorization: Bearer {token}",
        "the bearer of this authorization token may pass",
        "postgresql://user:{password}@host/db and http://localhost:8000/@me",
        "task-4242424242 risk-assessment sk-learn",
        "import asiatic_languages_and_more",
        "class eyJump: ...",
        "a private key is kept elsewhere",
        "for key, value in sorted(secrets.items()): ...",
        "x = [1, 2, 3]  # redacted:nothing",
    ];
    for text in texts {
        assert!(matches!(Redactor::shared().redact(text), Cow::Borrowed(_)), "{text} → {}", redacted(text));
    }
}

#[test]
fn nothing_secret_reaches_a_file() {
    let project = Project::new();
    let secret = mixed(20);
    let token = ["gh", "p_", &mixed(36)].concat();
    let address = ["ada", "@", "engines.co.uk"].concat();
    let log = EventLog::open(project.root(), &settings()).unwrap();
    let arguments =
        json!({"password": secret, "nested": [{&address: 1.1, "text": format!("mail {address}")}]});
    let approval = EventKind::Approval { tool: "send".to_owned(), arguments, allowed: true };
    let mut event = Event::new("ada", 1, approval);
    event.context.branch = Some(format!("fix/{token}"));
    event.at = "2026-11-16T09:00:00.000Z".to_owned();
    log.append(event.clone()).wait().unwrap();
    log.append(message("ada", 2, &format!("use {token}\nplease"))).wait().unwrap();
    let id = event.id.to_string();
    let file = project.read("2026-11-16-ada.jsonl");
    insta::assert_snapshot!(file.lines().next().unwrap().replace(&id, "ID"), @r#"{"version":1,"id":"ID","at":"2026-11-16T09:00:00.000Z","session":"ada","number":1,"branch":"fix/[redacted:github-token]","event":"approval","tool":"send","arguments":{"password":"[redacted:secret]","nested":[{"[redacted:email]":1.1,"text":"mail [redacted:email]"}]},"allowed":true}"#);
    assert!(!file.contains(&token) && !file.contains(&address) && !file.contains(&secret));
    assert_eq!(project.told(), ["ada/1 approval", "ada/2 use [redacted:github-token]\nplease"]);
}

/// Pieces that secrets and their surroundings are made of.
fn pieces() -> impl Strategy<Value = String> {
    let fixed = [
        "password",
        "api_key",
        "token",
        "secret",
        " = ",
        ": ",
        "\"",
        "'",
        "\\\"",
        "\\n",
        "\n",
        " ",
        "=",
        "@",
        ".",
        ":",
        "://",
        "/",
        "AK",
        "IA",
        "sk-",
        "gh",
        "p_",
        "eyJ",
        "-----BEGIN",
        " PRIVATE KEY-----",
        "-----END",
        "Bearer ",
        "Authorization",
        "ada",
        "engines.com",
        "de",
        "[",
        "]",
        "redacted:",
        "hf_",
        "_",
        "-",
        "Q7ZK2MX4VBTC5RWL",
        "hunter2",
        "é",
        "\u{202e}",
        "\t",
        "\u{e}",
        "\\n",
        "{",
        "}",
        "\\",
    ];
    let piece = prop_oneof![
        4 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9]{1,48}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn redacting_twice_changes_nothing(text in pieces()) {
        let once = redacted(&text);
        prop_assert_eq!(redacted(&once), once);
    }

    /// A line is looked at as JSON first, which must not hide anything from the closer look.
    #[test]
    fn a_line_holds_what_redacting_its_text_gives(text in pieces()) {
        let line = Redactor::shared().line(&message("ada", 1, &text));
        let event: Event = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(event.kind, EventKind::UserMessage { text: redacted(&text) });
    }
}
