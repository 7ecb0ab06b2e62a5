//! Signatures: tools from schemas, from Rust types and from Python.

use grail_sandbox::{Context, SandboxError, Signature, StubModule, Tool, Toolset};
use insta::assert_snapshot;
use serde_json::json;

use crate::stub::{schema, text};
use crate::support::{build, shown};

#[test]
fn a_tool_from_schemas_takes_required_arguments_first() {
    let arguments = schema(json!({
        "type": "object",
        "description": "Searches the shop.\n\nSlow for \"short\" words.",
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "query": {"type": "string"},
            "filter": {"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}]},
            "order": {"enum": ["up", "down"], "default": "up"},
            "page-size": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]},
            "cursor": {"type": "string"},
        },
        "required": ["query"],
        "$defs": {"Filter": {"type": "object", "properties": {"brand": {"type": "string"}}, "required": ["brand"]}},
    }));
    let result = schema(
        json!({"type": "array", "items": {"title": "Product", "type": "object", "properties": {"price": {"type": "number"}}}}),
    );
    let signature =
        Signature::from_schemas("search", Some(&arguments), Some(&result)).expect("usable").asynchronous();
    assert_snapshot!(signature.header(), @r#"async def search(query: str, limit: int = 10, filter: Filter | None = None, order: Literal["up", "down"] = "up", tags: list[str] = ["a", "b"], cursor: str = ..., **others: int) -> list[Product]:"#);
    assert_snapshot!(text(&StubModule::new().tool(&signature)), @r#"
    from dataclasses import dataclass
    from typing import Any, Literal, Never, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "search", "tools", "Product", "Filter"]

    @dataclass(init=False)
    class Product:
        price: float  # may be absent

    class Filter(TypedDict):
        brand: str

    Inputs = dict[str, Any]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""

    async def search(query: str, limit: int = 10, filter: Filter | None = None, order: Literal["up", "down"] = "up", tags: list[str] = ["a", "b"], cursor: str = ..., **others: int) -> list[Product]:
        """Searches the shop.

        Slow for \"short\" words.
        """

    class _Tools:
        async def search(self, /, query: str, limit: int = 10, filter: Filter | None = None, order: Literal["up", "down"] = "up", tags: list[str] = ["a", "b"], cursor: str = ..., **others: int) -> list[Product]: ...

    tools: _Tools
    "#);
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct Transfer {
    /// In cents.
    amount: u64,
    to: Account,
    memo: Option<String>,
    #[serde(default)]
    express: bool,
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
enum Account {
    Iban { number: String },
    Cash,
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct Receipt {
    id: String,
    fees: std::collections::BTreeMap<String, f64>,
    split: (u32, u32),
}

#[test]
fn a_tool_from_rust_types() {
    let signature = Signature::of::<Transfer, Receipt>("transfer").expect("usable").with_doc("Moves money.");
    assert_snapshot!(text(&StubModule::new().tool(&signature)), @r#"
    from dataclasses import dataclass
    from typing import Any, Literal, Never, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "transfer", "tools", "Receipt", "Account", "Iban2"]

    @dataclass(init=False)
    class Receipt:
        id: str
        fees: dict[str, float]
        split: tuple[int, int]

    class Account(TypedDict):
        Iban: Iban2

    class Iban2(TypedDict):
        number: str

    Inputs = dict[str, Any]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""

    def transfer(amount: int, to: Literal["Cash"] | Account, memo: str | None = None, express: bool = False) -> Receipt:
        """Moves money.

        amount: In cents.
        """

    class _Tools:
        def transfer(self, /, amount: int, to: Literal["Cash"] | Account, memo: str | None = None, express: bool = False) -> Receipt: ...

    tools: _Tools
    "#);
    let nothing = Signature::of::<(), ()>("ping").expect("usable");
    assert_snapshot!(nothing.header(), @"def ping() -> None:");
}

#[test]
fn a_tool_from_python() {
    let signature = Signature::parse(
        r#"async def fetch(url: str, /, method: str = "GET", *paths: str, retries: int = 3, **headers: str | None) -> dict[str, Any]:
    """Fetches.

    Waits for it.
    """
"#,
    )
    .expect("usable");
    assert!(signature.is_async);
    assert_eq!(signature.doc.as_deref().map(|doc| doc.lines().next()), Some(Some("Fetches.")));
    assert_snapshot!(signature.header(), @r#"async def fetch(url: str, /, method: str = "GET", *paths: str, retries: int = 3, **headers: str | None) -> dict[str, Any]:"#);
    assert_snapshot!(text(&StubModule::new().tool(&signature)), @r#"
    from typing import Any, Never

    __all__ = ["Inputs", "Output", "inputs", "grail_", "fetch", "tools"]

    Inputs = dict[str, Any]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""

    async def fetch(url: str, /, method: str = "GET", *paths: str, retries: int = 3, **headers: str | None) -> dict[str, Any]:
        """Fetches.

        Waits for it.
        """

    class _Tools:
        async def fetch(self, url: str, /, method: str = "GET", *paths: str, retries: int = 3, **headers: str | None) -> dict[str, Any]: ...

    tools: _Tools
    "#);
    assert_snapshot!(Signature::parse("def log(*, level, message=('a', 1)): ...").expect("usable").header(), @"def log(*, level: Any, message: Any = ('a', 1)) -> Any:");
    assert_snapshot!(Signature::parse("def only(a, b=1, /): ...").expect("usable").header(), @"def only(a: Any, b: Any = 1, /) -> Any:");
}

#[test]
fn a_stub_file_keeps_its_declarations() {
    let signatures = Signature::parse_all(
        r#""""Tools of the shop."""
import datetime
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NewType, TypeVar

T = TypeVar("T")
OrderId = NewType("OrderId", int)
type Price = float | int

class Status(Enum):
    OPEN = "open"
    PAID = "paid"

@dataclass
class Order:
    id: OrderId
    status: Status
    placed: datetime.date

class Page(Generic[T]):
    items: list[T]

def find(id: OrderId) -> Order | None: ...
def first[T](items: list[T]) -> T: ...
def orders(since: datetime.date = ..., *status: Status) -> Page[Order]:
    """Newest first."""
async def price(order: Order) -> Price: ...
"#,
    )
    .expect("usable");
    let module = signatures.iter().fold(StubModule::new(), StubModule::tool);
    assert_snapshot!(text(&module), @r#"
    from typing import Any, Never
    import datetime
    from dataclasses import dataclass
    from enum import Enum
    from typing import Generic, NewType, TypeVar

    __all__ = ["Inputs", "Output", "inputs", "grail_", "find", "first", "orders", "price", "tools", "T", "OrderId", "Price", "Status", "Order", "Page"]

    T = TypeVar("T")

    OrderId = NewType("OrderId", int)

    type Price = float | int

    class Status(Enum):
        OPEN = "open"
        PAID = "paid"

    @dataclass
    class Order:
        id: OrderId
        status: Status
        placed: datetime.date

    class Page(Generic[T]):
        items: list[T]

    Inputs = dict[str, Any]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""

    def find(id: OrderId) -> Order | None: ...

    def first[T](items: list[T]) -> T: ...

    def orders(since: datetime.date = ..., *status: Status) -> Page[Order]:
        """Newest first."""

    async def price(order: Order) -> Price: ...

    class _Tools:
        def find(self, /, id: OrderId) -> Order | None: ...
        def first[T](self, /, items: list[T]) -> T: ...
        def orders(self, /, since: datetime.date = ..., *status: Status) -> Page[Order]: ...
        async def price(self, /, order: Order) -> Price: ...

    tools: _Tools
    "#);
}

#[test]
fn what_cannot_be_a_tool_is_refused() {
    let refusals = [
        refusal(Signature::parse("def f(:")),
        refusal(Signature::parse("x: int")),
        refusal(Signature::parse("def a(): ...\ndef b(): ...")),
        refusal(Signature::parse("def a(): ...\ndef a(x: int): ...")),
        refusal(Signature::parse("@cache\ndef a(): ...")),
        refusal(Signature::parse("import os\nos.remove('x')")),
        refusal(Signature::parse("def tools(): ...")),
        refusal(Signature::parse("class str: ...\ndef a(): ...")),
        refusal(Signature::from_schemas("for", None, None)),
        refusal(Signature::from_schemas("list", None, None)),
        refusal(Signature::from_schemas("a b", None, None)),
        refusal(Signature::from_schemas("f", Some(&schema(json!({"type": "integer"}))), None)),
        refusal(
            StubModule::new()
                .tool(&Signature::parse("def f(): ...").expect("usable"))
                .tool(&Signature::parse("def f(): ...").expect("usable"))
                .text(),
        ),
        refusal(
            StubModule::new()
                .tool(&Signature::parse("class A: ...\ndef f() -> A: ...").expect("usable"))
                .tool(&Signature::parse("class A:\n    x: int\ndef g() -> A: ...").expect("usable"))
                .text(),
        ),
    ];
    assert_snapshot!(refusals.join("\n"), @"
    the signature cannot be used: line 1 of the stub does not parse: Expected a parameter or the end of the parameter list
    the signature cannot be used: the stub has no function
    the signature cannot be used: the stub has more than one function; parse all of them at once
    the signature cannot be used: `a` is declared twice; a tool has one signature, so write a union instead of overloads
    the signature cannot be used: `a` is decorated with `@cache`; a tool's stub is a plain function
    the signature cannot be used: line 2 of the stub is no declaration; it may hold functions, classes, type aliases and imports
    the signature cannot be used: `tools` cannot be the name of a tool: it is no Python name, or has a meaning of its own
    the signature cannot be used: `str` has a meaning of its own; the stub must call it something else
    the signature cannot be used: `for` cannot be the name of a tool: it is no Python name, or has a meaning of its own
    the signature cannot be used: `list` cannot be the name of a tool: it is no Python name, or has a meaning of its own
    the signature cannot be used: `a b` cannot be the name of a tool: it is no Python name, or has a meaning of its own
    the signature cannot be used: the arguments of `f` must be described by an object with properties
    the signature cannot be used: two tools are called `f`; rename one
    the signature cannot be used: `A` is declared twice, differently; rename one
    ");
}

fn refusal<T: std::fmt::Debug>(result: Result<T, SandboxError>) -> String {
    result.expect_err("must be refused").to_string()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Search {
    name: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Found {
    name: String,
    tags: Vec<String>,
}

#[tokio::test]
async fn what_a_tool_returns_is_what_its_stub_says() {
    let tool = Tool::typed("find", "Finds.", |search: Search| {
        Ok(Found { name: search.name.to_uppercase(), tags: vec!["new".to_owned()] })
    })
    .expect("usable");
    let tools = Toolset::new([tool]).expect("one name each");
    let context = build(Context::builder().tools(tools)).await;
    let outcome =
        context.execute("found = find('ada')\n(found.name, tools.find(name='x').tags)", json!({})).await;
    assert_eq!(shown(&outcome), "('ADA', ['new'])");
}
