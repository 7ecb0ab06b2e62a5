//! Stubs as the type checker reads them: what it lets pass and what it finds.

use grail_sandbox::{Schema, Signature, StubModule};
use monty_type_checking::{SourceFile, TypeChecker};
use monty_types::{TypeCheckingConfig, TypeCheckingFormat};
use serde_json::{Value as Json, json};

/// The rules a program breaks, with their lines.
fn findings(checker: &mut TypeChecker, stubs: &str, code: &str) -> Vec<String> {
    findings_in(checker, "main.py", stubs, code)
}

fn findings_in(checker: &mut TypeChecker, name: &str, stubs: &str, code: &str) -> Vec<String> {
    let config = TypeCheckingConfig { format: TypeCheckingFormat::Json, color: false };
    let stubs = (!stubs.is_empty()).then(|| SourceFile::new(stubs, "grail_stubs.pyi"));
    let found = checker.run(&SourceFile::new(code, name), stubs.as_ref(), config).expect("the checker works");
    let found: Json =
        found.map_or(json!([]), |found| serde_json::from_str(&found.to_string()).expect("JSON"));
    let line = |finding: &Json| finding["location"]["row"].to_string();
    let rule = |finding: &Json| finding["code"].as_str().unwrap_or_default().to_owned();
    let mut found: Vec<String> = found
        .as_array()
        .expect("a list")
        .iter()
        .map(|finding| format!("{}: {}", line(finding), rule(finding)))
        .collect();
    found.dedup();
    checker.reset().expect("the checker works");
    found
}

fn schema(json: Json) -> Schema {
    Schema::from_json(json).expect("the schema is usable")
}

/// A program's surroundings with most of what stubs can say.
fn shop() -> String {
    let user = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}}},
        "required": ["name", "age", "list"],
    });
    let inputs = schema(json!({
        "type": "object",
        "properties": {
            "user": {"$ref": "#/$defs/User"},
            "friends": {"type": "array", "items": {"$ref": "#/$defs/User"}},
            "nick": {"type": ["string", "null"]},
            "mode": {"enum": ["fast", "safe"]},
            "limit": {"type": "integer", "default": 10},
            "tag": {"type": "string"},
            "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "minItems": 2, "items": false},
            "odd": {"type": "object", "properties": {"first-name": {"type": "string"}}, "required": ["first-name"]},
            "open": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": true},
        },
        "required": ["user", "friends", "mode", "point", "odd", "open"],
        "$defs": {"User": user},
    }));
    let output = schema(json!({
        "type": "object",
        "properties": {"count": {"type": "integer"}, "user": {"$ref": "#/$defs/User"}, "note": {"type": "string"}},
        "required": ["count", "user"],
        "$defs": {"User": user},
    }));
    let arguments = schema(json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "user": {"$ref": "#/$defs/User"}, "limit": {"type": "integer", "default": 3}},
        "required": ["query"],
        "$defs": {"User": user},
    }));
    let search = Signature::from_schemas("search", Some(&arguments), Some(&inputs)).expect("usable");
    let written = Signature::parse_all(
        r#"
from dataclasses import dataclass
from typing import NewType

OrderId = NewType("OrderId", int)
type Price = float | int

@dataclass
class Status:
    code: int

def first[T](items: list[T]) -> T: ...
async def price(order: OrderId, *status: Status, scale: float = 1.0) -> Price: ...
def order(number: int) -> OrderId: ...
"#,
    )
    .expect("usable");
    let module = StubModule::new().inputs(&inputs).inputs_as_variables().output(&output).tool(&search);
    written.iter().fold(module, StubModule::tool).text().expect("consistent")
}

#[test]
fn a_stub_is_itself_well_typed() {
    assert_eq!(
        findings_in(&mut TypeChecker::default(), "grail_stubs.pyi", "", &shop()),
        Vec::<String>::new(),
        "{}",
        shop()
    );
}

#[test]
fn good_programs_pass() {
    let programs = [
        "inputs['user'].name.upper()",
        "inputs['user'].list[0].upper()",
        "sum(friend.age for friend in inputs['friends'])",
        "inputs['limit'] + 1",
        "inputs['tag'].upper()",
        "inputs['point'][0] + 1.5\ninputs['point'][1].upper()",
        "inputs['odd']['first-name'].upper()",
        "inputs['open'].a + 1\ninputs['open'].anything",
        "user.name\nlimit + 1",
        "if inputs['nick'] is not None:\n    inputs['nick'].upper()",
        "grail_({'count': 1, 'user': {'name': 'a', 'age': 1, 'list': []}})",
        "grail_({'count': 1, 'user': inputs['user'], 'note': 'x'})",
        "search('a').user.name",
        "search(query='a', limit=2, user=inputs['user'])",
        "tools.search('a', user={'name': 'a', 'age': 1, 'list': ['x']})",
        "first([1, 2]) + 1",
        "tools.first(['a']).upper()",
        "await price(order(1), scale=2)",
        "def oldest(users: list[User]) -> User:\n    return users[0]\noldest(inputs['friends']).age",
        "result: Output = {'count': 1, 'user': inputs['user']}\nresult",
        "def go() -> int:\n    return grail_()",
    ];
    let (stubs, mut checker) = (shop(), TypeChecker::default());
    for program in programs {
        assert_eq!(findings(&mut checker, &stubs, program), Vec::<String>::new(), "{program}");
    }
}

#[test]
fn bad_programs_are_found() {
    let programs = [
        ("inputs['usr']", "1: invalid-key"),
        ("\ninputs['user'].nam", "2: unresolved-attribute"),
        ("inputs['user']['name']", "1: not-subscriptable"),
        ("inputs['nick'].upper()", "1: unresolved-attribute"),
        ("inputs['limit'].upper()", "1: unresolved-attribute"),
        ("inputs['point'][2]", "1: index-out-of-bounds"),
        ("inputs['mode'] + 1", "1: unsupported-operator"),
        ("grail_({'count': '1', 'user': inputs['user']})", "1: invalid-argument-type"),
        ("grail_({'user': inputs['user']})", "1: invalid-argument-type 1: missing-typed-dict-key"),
        ("search()", "1: missing-argument"),
        ("search(1)", "1: invalid-argument-type"),
        ("tools.search('a', wrong=1)", "1: unknown-argument"),
        ("tools.search(1)", "1: invalid-argument-type"),
        ("tools.first([1]).upper()", "1: unresolved-attribute"),
        ("tools.serch('a')", "1: unresolved-attribute"),
        ("first([1]).upper()", "1: unresolved-attribute"),
        ("await price(1)", "1: invalid-argument-type"),
        ("User(name='a', age=1, list=[])", "1: unknown-argument"),
        ("_Tools", "1: unresolved-reference"),
        ("missing(1)", "1: unresolved-reference"),
    ];
    let (stubs, mut checker) = (shop(), TypeChecker::default());
    let found: Vec<(&str, String)> = programs
        .iter()
        .map(|(program, _)| (*program, findings(&mut checker, &stubs, program).join(" ")))
        .collect();
    let expected: Vec<(&str, String)> =
        programs.iter().map(|(program, rule)| (*program, (*rule).to_owned())).collect();
    assert_eq!(found, expected);
}
