//! The template model over the built-in skills: every kind, many sentences, and what the rules say of it.

use std::collections::BTreeMap;

use grail_agent::{ArtifactCode, ArtifactSettings, check_artifact, template_model};
use grail_model::template::Surroundings;
use grail_rules::Layer;

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
    let kinds: Vec<&str> = SENTENCES.iter().map(|(kind, _)| *kind).collect();
    let hostile = kinds.iter().flat_map(|kind| HOSTILE.iter().map(|sentence| (*kind, *sentence)));
    for (kind, sentence) in SENTENCES.iter().copied().chain(hostile) {
        for uses in [&[][..], &["svcs"], &["fastapi"], &["flask"], &["quart"], &["starlette"], &["aiohttp"]] {
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

/// A project that uses everything, so that every rule looks.
const PROJECT: &str = r#"[project]
name = "shop"
version = "0.1.0"
dependencies = ["tdom", "svcs", "starlette", "fastapi", "flask", "quart", "aiohttp", "pytest", "tdom-svcs"]
"#;
