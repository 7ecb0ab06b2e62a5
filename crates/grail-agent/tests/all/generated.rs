//! What templates give is run: different fields in a sentence are different fields in the result. For real, under Python 3.14 in WebAssembly.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grail_agent::{ArtifactCode, ArtifactSettings, check_artifact, template_model};
use grail_model::template::{Subject, SubjectMethod, SubjectParameter, Surroundings};
use grail_rules::Layer;
use grail_rules::layers::LayerContext;
use grail_rules::layers::tests::{self, Runner, TestSettings};
use grail_rules::tools::ToolSettings;

use crate::sample::{Sample, write};

/// Two sentences with different fields for each kind that is not a test itself.
const SENTENCES: &[(&str, &str)] = &[
    ("component", "a user card with avatar, name and an optional bio"),
    ("component", "a product card with title, price, tags, is_active and sizes: dict[str, int]"),
    ("view", "a user profile view with avatar, name and bio"),
    ("view", "an invoice view with number, due date, items and an optional note"),
    ("service", "an OrderService that places orders with customer and amount"),
    ("service", "a service for sending emails with recipient, subject and body"),
    ("factory", "a factory for the mail service with host and port"),
    ("factory", "a factory for the cache service with folder and an optional limit"),
    ("asgi-middleware", "middleware that adds a request id"),
    ("asgi-middleware", "a SecurityMiddleware with frame_options and an optional max_age: int"),
    ("tdom-middleware", "a component middleware called Theme with theme and language"),
    ("tdom-middleware", "a component middleware called Brand with logo"),
    ("route", "a route at /users/{user_id}/orders with limit"),
    ("route", "a POST endpoint /orders that creates an order with customer and amount"),
    ("test", "a test for the shopping cart with items and total"),
    ("test-class", "a test class for invoices with number, date and amount"),
    ("test-fixture", "a test fixture for a parcel with weight and is_fragile"),
    ("fixture", "a fixture for a customer with name and email"),
];

/// What has to be true of the code that these sentences give.
const EXPECTATIONS: &str = r##"import datetime
from dataclasses import asdict, fields

import pytest
import svcs
from tdom import html

from components.product_card import ProductCard
from components.user_card import UserCard
from middleware.brand_middleware import BrandMiddleware
from middleware.request_id_middleware import RequestIdMiddleware
from middleware.security_middleware import SecurityMiddleware
from middleware.theme_middleware import ThemeMiddleware
from services import make_cache_service, make_mail_service
from services.email_service import EmailService
from services.order_service import OrderService
from views import create_order, show_user_orders
from views.invoice_view import invoice_view
from views.user_profile_view import user_profile_view

HOSTILE = "<script>&"
ESCAPED = "&lt;script&gt;&amp;"


def squeezed(page: str) -> str:
    return "".join(line.strip() for line in page.splitlines())


def test_a_component_shows_its_fields():
    page = squeezed(html(t"<{UserCard} avatar='a.png' name={HOSTILE} data-id='7'>more</{UserCard}>"))

    assert page == (
        '<section class="user-card" data-id="7"><img class="avatar" src="a.png" alt="Avatar" />'
        f'<h2 class="name">{ESCAPED}</h2>more</section>'
    )


def test_what_is_optional_is_shown_if_it_is_there():
    assert '<p class="bio">Hello</p>' in html(t"<{UserCard} avatar='a.png' name='Ada' bio='Hello' />")


def test_lists_tables_and_flags_are_shown_as_such():
    page = html(t"<{ProductCard} title='Tea' price={2.5} tags={('green', HOSTILE)} is_active={True} sizes={ {'big': 3} } />")

    for part in ["Tea", "2.5", "<li>green</li>", f"<li>{ESCAPED}</li>", "Is active", "<dt>big</dt><dd>3</dd>"]:
        assert part in page
    assert "Is active" not in html(t"<{ProductCard} title='Tea' price={2.5} tags={()} is_active={False} sizes={ {} } />")


def test_views_render_their_fields():
    page = user_profile_view(avatar="a.png", name="Ada", bio=HOSTILE)
    invoice = invoice_view(number=7, due_date=datetime.date(2024, 5, 6), items=("Tea", "Cup"))

    assert [part in page for part in ("a.png", "Ada", ESCAPED, "<h1>User profile</h1>")] == [True] * 4
    assert [part in invoice for part in ("7", "2024-05-06", "<li>Tea</li>", "<li>Cup</li>")] == [True] * 4


def test_services_do_what_is_asked_with_the_fields():
    orders, emails = OrderService(), EmailService()

    order = orders.place(customer="Ada", amount=2.5)
    email = emails.send(recipient="a@b.c", subject="Hello", body="There")

    assert asdict(order) == {"customer": "Ada", "amount": 2.5}
    assert asdict(email) == {"recipient": "a@b.c", "subject": "Hello", "body": "There"}
    assert (orders.all(), emails.all()) == ((order,), (email,))


def test_factories_make_services_from_settings():
    registry = svcs.Registry()
    make_mail_service.register_mail_service(registry, make_mail_service.MailSettings(host="localhost", port=25))
    make_cache_service.register_cache_service(registry, make_cache_service.CacheSettings(folder="/tmp"))

    with svcs.Container(registry) as container:
        mail = container.get(make_mail_service.MailService)
        cache = container.get(make_cache_service.CacheService)
        assert (mail.settings.host, mail.settings.port, mail.is_open) == ("localhost", 25, True)
        assert (cache.settings.folder, cache.settings.limit) == ("/tmp", None)
    assert (mail.is_open, cache.is_open) == (False, False)


def headers_of(make):
    """The response headers of a small application behind the middleware."""
    sent = []

    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append(message)

    running = make(application)({"type": "http"}, None, send)
    with pytest.raises(StopIteration):
        running.send(None)
    return sent[0]["headers"]


def test_middleware_tells_its_settings():
    assert headers_of(lambda app: RequestIdMiddleware(app, request_id=7)) == [(b"a", b"b"), (b"x-request-id", b"7")]
    assert headers_of(lambda app: SecurityMiddleware(app, frame_options="DENY")) == [(b"a", b"b"), (b"x-frame-options", b"DENY")]


def test_component_middleware_fills_in_props():
    theme = ThemeMiddleware(theme="dark", language="en")
    brand = BrandMiddleware(logo="logo.svg")

    assert theme(print, {"language": "de"}, object()) == {"theme": "dark", "language": "de"}
    assert brand(print, {}, object()) == {"logo": "logo.svg"}
    assert (theme.priority, brand.priority) == (0, 0)


def test_routes_answer_with_their_fields():
    show = show_user_orders.router.views["GET", "/users/{user_id}/orders"]
    create = create_order.router.views["POST", "/orders"]

    assert show(user_id=7, limit=3) == {"page": "User orders", "user_id": 7, "limit": 3}
    assert create(customer="Ada", amount=2.5) == {"page": "Orders", "customer": "Ada", "amount": 2.5}


def test_a_fixture_of_all_tests_is_there(customer):
    assert [field.name for field in fields(customer)] == ["name", "email"]
"##;

#[test]
fn the_fields_of_a_sentence_show_in_what_it_gives() {
    let Some(runtime) = wasm_runtime() else { return };
    let sample = Sample::new(&[
        ("myapp/web.py", "def view(function):\n    return function\n"),
        ("pyproject.toml", PROJECT),
    ]);
    let model = template_model(&sample.workspace);
    let layers = vec![Layer::Syntax, Layer::Rules];
    let settings = ArtifactSettings { layers, ..ArtifactSettings::default() };
    for (kind, sentence) in SENTENCES {
        let made = model.make(sentence, Some(kind), &Surroundings::default()).unwrap();
        let artifact = ArtifactCode {
            artifact_type: (*kind).to_owned(),
            name: made.name,
            description: String::new(),
            code: made.code,
        };
        let report = check_artifact(&sample.workspace, &artifact, &settings).unwrap();
        assert!(report.success, "{sentence}: {:?}", report.problems);
    }
    for (path, text) in sample.workspace.staging.staged() {
        write(sample.root(), &path, &text.unwrap());
    }
    write(sample.root(), "tests/test_expectations.py", EXPECTATIONS);
    assert_eq!(failures(&sample, &runtime), Vec::<String>::new());
}

#[test]
fn a_test_is_about_what_the_project_has() {
    let Some(runtime) = wasm_runtime() else { return };
    let sample = Sample::new(&[("pyproject.toml", PROJECT)]);
    let model = template_model(&sample.workspace);
    let parameter = |name: &str, annotation: &str| SubjectParameter {
        name: name.to_owned(),
        annotation: annotation.to_owned(),
        has_default: false,
    };
    let subjects = [
        (
            "function",
            Subject {
                module: "shop".to_owned(),
                name: "total".to_owned(),
                parameters: vec![
                    parameter("prices", "list[float]"),
                    parameter("day", "datetime.date | None"),
                ],
                returns: "float".to_owned(),
                ..Subject::default()
            },
        ),
        (
            "class",
            Subject {
                module: "shop".to_owned(),
                name: "Till".to_owned(),
                is_class: true,
                methods: vec![SubjectMethod {
                    name: "sell".to_owned(),
                    parameters: vec![parameter("article", "str"), parameter("count", "int")],
                    returns: "Sale".to_owned(),
                    gives: vec!["article".to_owned(), "count".to_owned()],
                    ..SubjectMethod::default()
                }],
                ..Subject::default()
            },
        ),
        (
            "component",
            Subject {
                module: "shop".to_owned(),
                name: "Label".to_owned(),
                parameters: vec![parameter("text", "str"), parameter("prices", "tuple[float, ...]")],
                returns: "Template".to_owned(),
                ..Subject::default()
            },
        ),
        (
            "unknown",
            Subject {
                module: "shop".to_owned(),
                name: "total".to_owned(),
                parameters: vec![parameter("database", "Database")],
                ..Subject::default()
            },
        ),
    ];
    for (name, subject) in subjects {
        let surroundings = Surroundings { subject: Some(subject), ..Surroundings::default() };
        let made = model.make("a test", Some("test"), &surroundings).unwrap();
        assert!(made.code.contains("from shop import"), "{name}: {}", made.code);
        write(sample.root(), &format!("tests/test_{name}.py"), &made.code);
    }
    write(sample.root(), "shop.py", SHOP);
    assert_eq!(failures(&sample, &runtime), Vec::<String>::new());
}

const SHOP: &str = r#"from dataclasses import dataclass


@dataclass
class Sale:
    article: str
    count: int


class Till:
    def sell(self, article, count):
        return Sale(article, count)


def total(prices, day=None):
    return sum(prices)


def Label(*, text, prices):
    return t"<p>{text}: {[t'<b>{price}</b>' for price in prices]}</p>"
"#;

const PROJECT: &str =
    "[project]\nname = \"shop\"\nversion = \"0.1.0\"\ndependencies = [\"tdom\", \"svcs\"]\n";

fn failures(sample: &Sample, runtime: &Path) -> Vec<String> {
    let context = LayerContext {
        root: sample.root().to_owned(),
        max_file_bytes: 1024 * 1024,
        target_version: sample.workspace.project.config.project.target_version,
        tools: ToolSettings::default(),
    };
    let settings = TestSettings {
        runner: Runner::Wasm,
        runtime: Some(runtime.to_owned()),
        import_paths: vec![".".to_owned()],
        ..TestSettings::default()
    };
    let relative = |path: PathBuf| Arc::from(path.strip_prefix(sample.root()).unwrap().to_str().unwrap());
    let files: Vec<Arc<str>> =
        sample.workspace.python_files().into_iter().map(|file| relative(file.path)).collect();
    let report = tests::run(&context, &settings, &files);
    let ran = matches!(report.status, grail_rules::layers::LayerStatus::Ran { .. });
    assert!(ran, "{:?}", report.status);
    report
        .findings
        .iter()
        .map(|found| format!("{}:{}: {}", found.path, found.start.line, found.message))
        .collect()
}

/// Python in WebAssembly, where the project's scripts have installed it.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn wasm_runtime() -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let runtimes = std::env::var_os("GRAIL_RUNTIMES").map_or(repository.join(".grail/runtimes"), Into::into);
    let own = fs::read(repository.join("crates/grail-rules/runners/wasm.mjs")).unwrap();
    if fs::read(runtimes.join("wasm/runners/wasm.mjs")).ok() == Some(own) {
        return Some(runtimes.join("wasm"));
    }
    eprintln!("SKIPPED: no Python for WebAssembly, or with another runner; scripts/runtimes installs it");
    None
}
