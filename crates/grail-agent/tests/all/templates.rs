//! The template model over the built-in skills: every kind, many sentences, and what the rules say of it.

use std::collections::BTreeMap;

use grail_agent::generate::{Company, GenerateSettings, Generation};
use grail_agent::{ArtifactCode, ArtifactSettings, check_artifact, template_model};
use grail_code::{Source, parse_module};
use grail_model::template::Surroundings;
use grail_rules::Layer;
use grail_sandbox::Toolset;

use crate::sample::Sample;

/// Sentences for every built-in kind. What is in the first column may be left out where the sentence says it.
const SENTENCES: &[(&str, &str)] = &[
    ("component", "a user card with avatar, name and an optional bio"),
    ("component", "a product card with title, price, tags, website and is_active"),
    (
        "component",
        "an event badge with name, date, created_at, attributes: dict[str, int] and optional notes",
    ),
    ("component", "a component"),
    ("view", "a user profile view with avatar, name and bio"),
    ("view", "an invoice page with number, due date, items and an optional note: str"),
    ("view", "a view"),
    ("service", "an OrderService that places orders with customer and amount"),
    ("service", "a service for sending emails with recipient, subject and body"),
    ("service", "a service"),
    ("factory", "a factory for the mail service with host and port"),
    ("factory", "a factory"),
    ("asgi-middleware", "middleware that adds a request id"),
    (
        "asgi-middleware",
        "a SecurityMiddleware with frame_options, referrer_policy and an optional max_age: int",
    ),
    ("asgi-middleware", "a middleware"),
    ("tdom-middleware", "a component middleware with theme and language"),
    ("tdom-middleware", "a tdom middleware"),
    ("route", "a route at /users/{user_id}/orders with limit"),
    ("route", "a POST endpoint /orders that creates an order with customer and amount"),
    ("route", "a route"),
    ("test", "a test for the shopping cart with items and total"),
    ("test", "a test"),
    ("test-class", "a test class for invoices with number, date and amount"),
    ("test-class", "a test class"),
    ("fixture", "a fixture for a customer with name and email"),
    ("fixture", "a fixture"),
    ("test-fixture", "a test fixture for an order with customer and amount"),
    ("test-fixture", "a test fixture"),
];

/// Sentences that were not written by somebody who means well, for each kind.
const HOSTILE: &[&str] = &[
    "x \"\"\" with \"\"\", ''' and {{ braces }} {% raw %} \\ \\N{DASH}",
    "with class, def, None, self, str, html, children, __debug__, async and lambda",
    "страница пользователя with имя, ß and ﬁ, ª, a, ͺ and 名前 at /ü/{класс}/{class}",
    "a\u{0}b\u{202e}c\u{2028}d with e\u{feff}f, \u{85}g, 1st, 2nd and 3rd",
    "called \"\"; import os; os.system('x')\" with a=1):\n    pass\n#, b",
    "at /{/}/{a}/{a}/<b>/:c/../..?q=1#f with a, a, A and a_",
];

#[test]
fn every_sentence_for_every_kind_passes_the_rules() {
    let sample = Sample::new(&[("pyproject.toml", PROJECT)]);
    let model = template_model(&sample.workspace);
    let layers = [Layer::Syntax, Layer::Rules].to_vec();
    let settings = ArtifactSettings { layers, may_replace: true, ..ArtifactSettings::default() };
    let mut failures = Vec::new();
    let mut kinds: Vec<&str> = SENTENCES.iter().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    let hostile = kinds.iter().flat_map(|kind| HOSTILE.iter().map(|sentence| (*kind, *sentence)));
    for (kind, sentence) in SENTENCES.iter().copied().chain(hostile) {
        let frameworks =
            [&[][..], &["svcs"], &["fastapi"], &["flask"], &["quart"], &["starlette"], &["aiohttp"]];
        let count = if ["route", "service"].contains(&kind) { frameworks.len() } else { 1 };
        for uses in frameworks.into_iter().take(count) {
            let uses: BTreeMap<String, String> =
                uses.iter().map(|name| ((*name).to_owned(), String::new())).collect();
            let is_plain = uses.is_empty();
            let made =
                model.make(sentence, Some(kind), &Surroundings { uses, ..Surroundings::default() }).unwrap();
            let artifact = ArtifactCode {
                artifact_type: kind.to_owned(),
                name: made.name.clone(),
                description: String::new(),
                code: made.code.clone(),
            };
            let report = check_artifact(&sample.workspace, &artifact, &settings).unwrap();
            if !report.success {
                failures.push(format!("{kind}: {sentence}\n{:#?}\n{}", report.problems, made.code));
            }
            if let Some(folder) = std::env::var_os("GRAIL_GENERATED").filter(|_| is_plain) {
                let path = std::path::Path::new(&folder).join(&report.path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                let text = sample.workspace.staging.staged().get(&report.path).cloned().flatten();
                std::fs::write(path, text.unwrap_or(made.code)).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Words in any order, thousands of them: whatever comes out is Python, and what is defined twice would not be.
#[test]
fn any_words_for_any_kind_give_valid_python() {
    const WORDS: &[&str] = &[
        "with",
        "without",
        "that",
        "a",
        "an",
        "the",
        "and",
        ",",
        ":",
        ";",
        ".",
        "called",
        "named",
        "sends",
        "shows",
        "by",
        "of",
        "for",
        "at",
        "optional",
        "list",
        "(",
        ")",
        "[",
        "]",
        "|",
        "=",
        "\"",
        "\"\"\"",
        "'",
        "`",
        "{",
        "}",
        "{{",
        "{%",
        "\\",
        "\n",
        "\n- ",
        "/",
        "/a/{b}/<int:c>",
        "/{class}",
        "name",
        "tags",
        "class",
        "self",
        "headers",
        "record",
        "children",
        "date",
        "price: float",
        "note: str | None",
        "x: dict[str, int]",
        "é",
        "名前",
        "ﬁ",
        "ß",
        "ª",
        "1st",
        "x_y",
        "FooBar",
        "HTTPServer",
        "None",
        "lambda",
        "test",
        "service",
        "view",
        "POST",
        "created_at",
        "\u{202e}",
        "\u{0}",
        "is_active",
        "avatar",
        "items",
        "item",
        "key",
        "value",
        "replace",
        "asdict",
        "pytest",
        "dataclass",
        "Template",
    ];
    let sample = Sample::new(&[]);
    let model = template_model(&sample.workspace);
    let kinds: Vec<String> = sample.workspace.library.kinds().map(|(_, kind)| kind.name.clone()).collect();
    let frameworks = ["", "svcs", "fastapi", "flask", "quart", "starlette", "aiohttp"];
    let mut state = 0x9e37_79b9_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for _ in 0..400 {
        let length = 1 + next(14);
        let sentence = (0..length).map(|_| WORDS[next(WORDS.len())]).collect::<Vec<_>>().join(" ");
        let uses = [(frameworks[next(frameworks.len())].to_owned(), String::new())].into();
        let surroundings = Surroundings { uses, ..Surroundings::default() };
        for kind in &kinds {
            let Ok(made) = model.make(&sentence, Some(kind), &surroundings) else {
                assert!(!sentence.chars().any(char::is_alphanumeric), "{kind}: {sentence:?}");
                continue;
            };
            let parsed = parse_module(Source::from_text(made.code.clone()));
            assert!(parsed.is_valid(), "{kind}: {sentence:?}\n{}", made.code);
        }
    }
}

/// A project that uses everything, so that every rule looks.
const PROJECT: &str = r#"[project]
name = "shop"
version = "0.1.0"
dependencies = ["tdom", "svcs", "starlette", "fastapi", "flask", "quart", "aiohttp", "pytest", "tdom-svcs"]
"#;

/// Beside every template there is what it gives, for people and models to read. `GRAIL_BLESS=1` writes it anew.
#[test]
fn the_examples_beside_the_templates_are_what_they_give() {
    let sample = Sample::new(&[]);
    let model = template_model(&sample.workspace);
    let skills = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let settings =
        ArtifactSettings { layers: vec![Layer::Syntax, Layer::Rules], ..ArtifactSettings::default() };
    let mut stale = Vec::new();
    for (pack, kind) in sample.workspace.library.kinds() {
        let sentence = format!("an example {} with a title and items", kind.words[0]);
        let made = model.make(&sentence, None, &Surroundings::default()).unwrap();
        let artifact = ArtifactCode {
            artifact_type: kind.name.clone(),
            name: made.name,
            description: String::new(),
            code: made.code,
        };
        // As the rules leave it: a view has its decorator.
        let report = check_artifact(&sample.workspace, &artifact, &settings).unwrap();
        assert!(report.success, "{sentence}: {:?}", report.problems);
        let text = sample.workspace.staging.read(&report.path).unwrap().unwrap();
        let template = kind.template.as_deref().unwrap();
        let path = skills.join(&*pack.name).join("templates").join(template.strip_suffix(".jinja").unwrap());
        if std::env::var_os("GRAIL_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        if std::fs::read_to_string(&path).ok() != Some(text) {
            stale.push(path);
        }
    }
    assert_eq!(stale, Vec::<std::path::PathBuf>::new(), "stale; GRAIL_BLESS=1 writes them anew");
}

#[test]
fn a_template_of_a_skill_that_nobody_trusts_writes_nothing() {
    let pack =
        "[kinds.memo]\ndescription = \"A memo\"\nfile = \"memos/{name}.py\"\ntemplate = \"memo.py.jinja\"\n";
    let sample = Sample::new(&[
        (".agents/skills/notes/SKILL.md", "---\nname: notes\ndescription: Notes.\n---\n"),
        (".agents/skills/notes/rules/pack.toml", pack),
        (".agents/skills/notes/templates/memo.py.jinja", "{% set artifact = name.snake %}\nX = 1\n"),
    ]);
    let made = template_model(&sample.workspace).make("a memo", Some("memo"), &Surroundings::default());
    assert_eq!(made.unwrap_err().to_string(), "no skill has a template for the kind `memo`");
}

/// From the sentence to the proposal and through a correction, with the loop around it.
#[tokio::test]
async fn a_sentence_becomes_a_proposal_and_a_correction_another() {
    let files = [(
        "grail.toml",
        "[check]\nselect = [\"view-conventions\"]\n[check.options.view-decorator]\ndecorator = \"web:page\"\n",
    )];
    let sample = Sample::new(&files);
    let model = template_model(&sample.workspace);
    let settings =
        GenerateSettings { layers: vec![Layer::Syntax, Layer::Rules], ..GenerateSettings::default() };
    let sentence = "a user profile view with avatar, name and bio";
    let started = Generation::start(
        &sample.workspace,
        &model,
        Toolset::default(),
        sentence,
        settings,
        Company::default(),
    );
    let mut generation = started.await.unwrap();
    let proposal = generation.run().await.unwrap();
    assert_eq!(proposal.files[0].path, "views/user_profile_view.py");
    // The project's own decorator, put there by its rule.
    let code = proposal.files[0].after.clone().unwrap();
    assert!(
        code.contains("from web import page\n")
            && code.contains("\n@page\ndef user_profile_view(*, avatar: str, name: str, bio: str) -> str:"),
        "{code}"
    );
    assert_eq!((proposal.retries, proposal.model.answered.as_str()), (0, "template"));
    let corrected = generation.correct("no, I meant without the bio, but with email too").await.unwrap();
    let code = corrected.files[0].after.clone().unwrap();
    assert!(code.contains("def user_profile_view(*, avatar: str, name: str, email: str) -> str:"), "{code}");
    let again = generation.correct("thanks a lot").await.unwrap_err();
    assert_eq!(
        again.to_string(),
        "the model did not bring about anything that passes its checks: The template gives the same code again: say what to add, to leave out or to rename."
    );
}

#[tokio::test]
async fn a_test_is_made_for_what_the_project_has() {
    let service = "class MailService:\n    def send(self, *, to: str, copies: int = 0) -> bool:\n        return bool(to)\n";
    let sample = Sample::new(&[("shop/__init__.py", ""), ("shop/services/mail.py", service)]);
    let model = template_model(&sample.workspace);
    let settings =
        GenerateSettings { layers: vec![Layer::Syntax, Layer::Rules], ..GenerateSettings::default() };
    let started = Generation::start(
        &sample.workspace,
        &model,
        Toolset::default(),
        "a test for the mail service",
        settings,
        Company::default(),
    );
    let proposal = started.await.unwrap().run().await.unwrap();
    assert_eq!(proposal.files[0].path, "tests/test_mail_service.py");
    insta::assert_snapshot!(proposal.files[0].after.as_deref().unwrap(), @r#"
    """A test for the mail service."""

    import pytest

    from shop.services.mail import MailService


    @pytest.fixture
    def mail_service() -> MailService:
        return MailService()


    def test_send_answers(mail_service: MailService) -> None:
        result = mail_service.send(to="To")

        assert isinstance(result, bool)
    "#);
}
