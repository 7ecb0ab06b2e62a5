//! Stubs: what the type checker and people read about a program's inputs and output.

use grail_code::{Source, parse_module};
use grail_sandbox::{Schema, Signature, StubModule};
use insta::assert_snapshot;
use serde_json::{Value as Json, json};

pub(crate) fn schema(json: Json) -> Schema {
    Schema::from_json(json).expect("the schema is usable")
}

pub(crate) fn text(module: &StubModule) -> String {
    let text = module.text().expect("consistent");
    let parsed = parse_module(Source::from_text(text.as_str()));
    assert!(parsed.is_valid(), "{:?}\n{text}", parsed.diagnostics());
    text
}

/// The declarations that a property of the inputs gives rise to.
fn inputs(properties: Json) -> String {
    text(&StubModule::new().inputs(&schema(json!({"type": "object", "properties": properties}))))
}

#[test]
fn an_empty_module_has_inputs_of_any_kind() {
    assert_snapshot!(text(&StubModule::new()), @r#"
    from typing import Any, Never

    __all__ = ["Inputs", "Output", "inputs", "grail_"]

    Inputs = dict[str, Any]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn plain_types() {
    assert_snapshot!(inputs(json!({
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "name": {"type": "string", "format": "date"},
        "flag": {"type": "boolean"},
        "nothing": {"type": "null"},
        "anything": {},
        "names": {"type": "array", "items": {"type": "string"}},
        "things": {"type": "array"},
        "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        "scores": {"type": "object", "additionalProperties": {"type": "number"}},
        "free": {"type": "object"},
    })), @r#"
    from typing import Any, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_"]

    class Inputs(TypedDict):
        count: NotRequired[int]
        ratio: NotRequired[float]
        name: NotRequired[str]
        flag: NotRequired[bool]
        nothing: None
        anything: NotRequired[Any]
        names: NotRequired[list[str]]
        things: NotRequired[list[Any]]
        point: NotRequired[tuple[float, str]]
        scores: NotRequired[dict[str, float]]
        free: NotRequired[dict[str, Any]]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn unions_optionals_and_literals() {
    assert_snapshot!(inputs(json!({
        "maybe": {"type": ["null", "string"]},
        "id": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        "mode": {"enum": ["fast", "it's \"safe\"", 3, true, null]},
        "version": {"const": 2},
        "level": {"oneOf": [{"const": "low"}, {"const": "high"}]},
        "deep": {"type": "array", "items": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}},
        "odd": {"enum": [1.5, {"a": 1}]},
    })), @r#"
    from typing import Any, Literal, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_"]

    class Inputs(TypedDict):
        maybe: str | None
        id: int | str | None
        mode: Literal["fast", "it's \"safe\"", 3, True] | None
        version: NotRequired[Literal[2]]
        level: NotRequired[Literal["low", "high"]]
        deep: NotRequired[list[list[int] | None]]
        odd: NotRequired[Any]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn required_inputs_and_inputs_with_defaults_are_always_there() {
    let schema = schema(json!({
        "type": "object",
        "description": "What to look for.",
        "properties": {
            "text": {"type": "string", "description": "Words,\nseparated by blanks."},
            "limit": {"type": "integer", "default": 10},
            "note": {"type": ["string", "null"]},
            "tag": {"type": "string"},
        },
        "required": ["text"],
    }));
    assert_snapshot!(text(&StubModule::new().inputs(&schema)), @r#"
    from typing import Any, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_"]

    class Inputs(TypedDict):
        """What to look for."""
        # Words, separated by blanks.
        text: str
        limit: int
        note: str | None
        tag: NotRequired[str]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn nested_objects_are_dataclasses_and_may_recur() {
    let schema = schema(json!({
        "type": "object",
        "properties": {
            "user": {"$ref": "#/$defs/User"},
            "shipping address": {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
            "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        },
        "required": ["user", "shipping address", "items"],
        "$defs": {"User": {
            "type": "object",
            "description": "A person.",
            "properties": {
                "name": {"type": "string"},
                "boss": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
                "team": {"type": "array", "items": {"$ref": "#/$defs/User"}},
            },
            "required": ["name", "boss"],
        }},
    }));
    assert_snapshot!(text(&StubModule::new().inputs(&schema)), @r#"
    from dataclasses import dataclass
    from typing import Any, Never, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "User", "ShippingAddress", "ItemsItem"]

    @dataclass(init=False)
    class User:
        """A person."""
        name: str
        boss: User | None
        team: list[User]  # may be absent

    @dataclass(init=False)
    class ShippingAddress:
        street: str

    @dataclass(init=False)
    class ItemsItem:
        sku: str  # may be absent

    Inputs = TypedDict("Inputs", {
        "user": User,
        "shipping address": ShippingAddress,
        "items": list[ItemsItem],
    })

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn names_that_python_cannot_write_or_would_misread_are_handled() {
    let schema = schema(json!({
        "type": "object",
        "properties": {
            "class": {"type": "string"},
            "odd": {"type": "object", "properties": {"first-name": {"type": "string"}, "list": {"type": "string"}}},
            "shadow": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}, "str": {"type": "string"}}},
            "open": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": true},
            "any": {"title": "Any", "type": "object", "properties": {"User": {"title": "User", "type": "object", "properties": {"x": {}}}}},
            "int": {"type": "integer"},
            "empty": {"type": "object", "properties": {}},
        },
        "required": ["class", "odd", "shadow", "open", "any", "int", "empty"],
    }));
    assert_snapshot!(text(&StubModule::new().inputs(&schema).inputs_as_variables()), @r#"
    import builtins
    from dataclasses import dataclass
    from typing import Any, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "odd", "shadow", "open", "any", "empty", "Odd", "Shadow", "Open", "AnyRecord", "User2", "Empty"]

    Odd = TypedDict("Odd", {
        "first-name": NotRequired[str],
        "list": NotRequired[str],
    })

    @dataclass(init=False)
    class Shadow:
        list: builtins.list[builtins.int]  # may be absent
        str: builtins.str  # may be absent

    @dataclass(init=False)
    class Open:
        a: int  # may be absent
        def __getattr__(self, name: str, /) -> Any: ...

    @dataclass(init=False)
    class AnyRecord:
        User: User2  # may be absent

    @dataclass(init=False)
    class User2:
        x: Any  # may be absent

    @dataclass(init=False)
    class Empty:
        ...

    Inputs = TypedDict("Inputs", {
        "class": str,
        "odd": Odd,
        "shadow": Shadow,
        "open": Open,
        "any": AnyRecord,
        "int": int,
        "empty": Empty,
    })

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""

    # only as inputs["class"]
    odd: Odd
    shadow: Shadow
    open: Open
    any: AnyRecord
    # only as inputs["int"]
    empty: Empty
    "#);
}

#[test]
fn recursive_types_without_a_class_end_in_any() {
    let schema = schema(json!({
        "anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}],
    }));
    assert_snapshot!(text(&StubModule::new().output(&schema)), @r#"
    from typing import Any, Never

    __all__ = ["Inputs", "Output", "inputs", "grail_"]

    Inputs = dict[str, Any]

    inputs: Inputs

    Output = int | list[Any]

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn all_of_merges_objects() {
    assert_snapshot!(inputs(json!({
        "pet": {"allOf": [
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]},
        ]},
        "one": {"allOf": [{"type": "integer"}], "default": 1},
    })), @r#"
    from dataclasses import dataclass
    from typing import Any, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "Pet"]

    @dataclass(init=False)
    class Pet:
        name: str
        age: int

    class Inputs(TypedDict):
        pet: NotRequired[Pet]
        one: int

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn an_output_is_made_of_dicts_or_of_records_that_arrived() {
    let user = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let inputs = schema(
        json!({"type": "object", "properties": {"user": {"$ref": "#/$defs/User"}}, "$defs": {"User": user}}),
    );
    let output = schema(json!({
        "type": "object",
        "properties": {
            "user": {"$ref": "#/$defs/User"},
            "tags": {"type": "array", "items": {"title": "Tag", "type": "object", "properties": {"text": {"type": "string"}}}},
            "note": {"type": "string"},
        },
        "required": ["user", "tags"],
        "$defs": {"User": user},
    }));
    assert_snapshot!(text(&StubModule::new().inputs(&inputs).output(&output)), @r#"
    from dataclasses import dataclass
    from typing import Any, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "User", "UserDict", "Tag"]

    @dataclass(init=False)
    class User:
        name: str

    class UserDict(TypedDict):
        name: str

    class Tag(TypedDict):
        text: NotRequired[str]

    class Inputs(TypedDict):
        user: NotRequired[User]

    inputs: Inputs

    class Output(TypedDict):
        user: UserDict | User
        tags: list[Tag]
        note: NotRequired[str]

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""
    "#);
}

#[test]
fn different_classes_of_one_name_get_numbers() {
    let inputs = schema(json!({"properties": {"user": {"properties": {"name": {"type": "string"}}}}}));
    let tool = Signature::from_schemas(
        "find",
        None,
        Some(&schema(json!({
            "title": "Team",
            "type": "object",
            "properties": {"user": {"properties": {"id": {"type": "integer"}}}},
        }))),
    )
    .expect("usable");
    assert_snapshot!(text(&StubModule::new().inputs(&inputs).tool(&tool)), @r#"
    from dataclasses import dataclass
    from typing import Any, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "find", "tools", "User", "Team", "User2"]

    @dataclass(init=False)
    class User:
        name: str  # may be absent

    @dataclass(init=False)
    class Team:
        user: User2  # may be absent

    @dataclass(init=False)
    class User2:
        id: int  # may be absent

    class Inputs(TypedDict):
        user: NotRequired[User]

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""

    def find() -> Team: ...

    class _Tools:
        def find(self, /) -> Team: ...

    tools: _Tools
    "#);
}

#[test]
fn inputs_can_be_variables_too() {
    let schema = schema(json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "user": {"properties": {"age": {"type": "integer"}}}, "tools": {}, "for": {}},
        "required": ["name"],
    }));
    assert_eq!(schema.variable_names(), ["name", "user"]);
    assert_snapshot!(text(&StubModule::new().inputs(&schema).inputs_as_variables()), @r#"
    from dataclasses import dataclass
    from typing import Any, Never, NotRequired, TypedDict

    __all__ = ["Inputs", "Output", "inputs", "grail_", "name", "user", "User"]

    @dataclass(init=False)
    class User:
        age: int  # may be absent

    Inputs = TypedDict("Inputs", {
        "name": str,
        "user": NotRequired[User],
        "tools": NotRequired[Any],
        "for": NotRequired[Any],
    })

    inputs: Inputs

    Output = Any

    def grail_(value: Output = ..., /) -> Never:
        """What `return` at the top level means."""

    name: str
    user: User  # may be absent
    # only as inputs["tools"]
    # only as inputs["for"]
    "#);
}
