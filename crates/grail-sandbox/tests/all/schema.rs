//! Schemas: what fits, what the messages say, and what the values look like in Python.

use grail_sandbox::{SandboxError, Schema, Value};
use insta::assert_snapshot;
use serde_json::{Value as Json, json};

fn schema(json: Json) -> Schema {
    Schema::from_json(json).expect("the schema is usable")
}

fn errors(schema: &Schema, value: &Json) -> String {
    match schema.validate(value) {
        Ok(()) => "fits".to_owned(),
        Err(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

fn refusal(json: Json) -> String {
    match Schema::from_json(json) {
        Err(error @ SandboxError::Schema { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn orders() -> Schema {
    schema(json!({
        "type": "object",
        "properties": {
            "user": {"$ref": "#/$defs/User"},
            "limit": {"type": "integer", "minimum": 1, "default": 10},
            "mode": {"enum": ["fast", "safe"]},
            "note": {"type": ["string", "null"]},
        },
        "required": ["user", "mode"],
        "additionalProperties": false,
        "$defs": {
            "User": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "addresses": {"type": "array", "items": {
                        "type": "object",
                        "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
                        "required": ["street"],
                    }},
                    "email": {"type": "string", "format": "email"},
                },
                "required": ["name"],
            },
        },
    }))
}

#[test]
fn what_fits_has_no_errors() {
    let value =
        json!({"user": {"name": "Ada", "addresses": [{"street": "Main", "zip": "12345"}]}, "mode": "fast"});
    assert_eq!(errors(&orders(), &value), "fits");
}

#[test]
fn errors_name_the_field_and_say_what_was_expected() {
    let value = json!({
        "user": {"name": "", "addresses": [{"street": 3}, {"zip": "x"}], "email": "nobody"},
        "limit": 0,
        "mode": "slow",
        "note": 1,
        "extra": true,
    });
    assert_snapshot!(errors(&orders(), &value), @r#"
    `extra`: unexpected field
    `limit`: must be at least 1, got the number 0
    `mode`: "slow" is not one of "fast", "safe"
    `note`: expected null or a string, got the number 1
    `user.addresses[0].street`: expected a string, got the number 3
    `user.addresses[1].street`: is required
    `user.addresses[1].zip`: does not match the pattern `^[0-9]{5}$`, got the string "x"
    `user.email`: is not a valid email, got the string "nobody"
    `user.name`: must have at least 1 character
    "#);
    assert_snapshot!(errors(&orders(), &json!({"user": {}})), @"
    `mode`: is required
    `user.name`: is required
    ");
    assert_snapshot!(errors(&orders(), &json!([1, 2])), @"expected an object, got an array of 2 items");
}

#[test]
fn a_missing_alternative_is_told_by_its_type_or_by_its_closest_match() {
    let schema = schema(json!({"properties": {
        "id": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "shape": {"oneOf": [
            {"type": "object", "properties": {"radius": {"type": "number"}}, "required": ["radius"]},
            {"type": "string"},
        ]},
        "pair": {"anyOf": [{"type": "array", "minItems": 2}, {"type": "array", "maxItems": 0}]},
    }}));
    let value = json!({"id": "x", "shape": {"radius": "wide"}, "pair": [1]});
    assert_snapshot!(errors(&schema, &value), @r#"
    `id`: expected an integer or null, got the string "x"
    `pair`: an array of 1 item fits none of the allowed shapes
    `shape.radius`: expected a number, got the string "wide"
    "#);
}

#[test]
fn every_common_keyword_has_a_message() {
    let cases = [
        (json!({"const": "x"}), json!("y")),
        (json!({"maximum": 3}), json!(4)),
        (json!({"exclusiveMinimum": 3}), json!(3)),
        (json!({"exclusiveMaximum": 3}), json!(3.5)),
        (json!({"multipleOf": 2}), json!(3)),
        (json!({"maxLength": 1}), json!("ab")),
        (json!({"minItems": 1}), json!([])),
        (json!({"maxItems": 1}), json!([1, 2])),
        (json!({"minProperties": 1}), json!({})),
        (json!({"maxProperties": 0}), json!({"a": 1})),
        (json!({"uniqueItems": true}), json!([1, 1])),
        (json!({"contains": {"type": "string"}}), json!([1])),
        (json!({"not": {"type": "string"}}), json!("x")),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"long": 1})),
        (json!({"properties": {"a": false}}), json!({"a": 1})),
        (json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), json!(3)),
        (json!({"type": "object", "dependentRequired": {"a": ["b"]}}), json!({"a": 1})),
        (json!({"type": "string", "format": "date"}), json!("tomorrow")),
        (json!({"properties": {"first name": {"type": "string"}}}), json!({"first name": 1})),
    ];
    let lines: Vec<String> = cases.into_iter().map(|(json, value)| errors(&schema(json), &value)).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    must be "x", got the string "y"
    must be at most 3, got the number 4
    must be more than 3, got the number 3
    must be less than 3, got the number 3.5
    must be a multiple of 2, got the number 3
    must have at most 1 character
    must have at least 1 item
    must have at most 1 item
    must have at least 1 field
    must have at most 0 fields
    has equal items; they must be unique
    has no item of the required kind
    "x" is excluded
    the name "long" is not allowed here
    `a`: is not allowed here
    fits more than one of the allowed shapes; it must fit exactly one
    `b`: is required
    is not a valid date, got the string "tomorrow"
    `["first name"]`: expected a string, got the number 1
    "#);
}

#[test]
fn messages_stay_short_and_few() {
    let long = "x".repeat(10_000);
    let schema = schema(json!({"additionalProperties": {"type": "integer"}}));
    let value: Json = (0..500)
        .map(|index| (format!("{long}{index}"), json!(long)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let errors = schema.validate(&value).expect_err("does not fit");
    assert_eq!(errors.len(), 21);
    assert_eq!(errors[20].message, "480 more errors of this kind are not shown");
    assert!(
        errors.iter().all(|error| error.path.chars().count() <= 80 && error.message.chars().count() <= 300)
    );
}

#[test]
fn a_value_that_nests_too_deep_does_not_fit() {
    let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(errors(&schema(json!(true)), &deep), "nests deeper than 48 levels");
    assert!(schema(json!(true)).to_python(&deep).is_err());
}

#[test]
fn hostile_schemas_are_refused() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({"items": inner}));
    let wide: Vec<Json> = (0..60_000).map(|_| json!({})).collect();
    let doubling: serde_json::Map<String, Json> = (0..40)
        .map(|level| {
            let next = json!({"$ref": format!("#/$defs/s{}", level + 1)});
            (format!("s{level}"), json!({"allOf": [next.clone(), next]}))
        })
        .collect();
    let refusals = [
        refusal(json!({"$ref": "https://example.com/schema.json"})),
        refusal(json!({"properties": {"a": {"$ref": "other.json#/a"}}})),
        refusal(json!({"$ref": "file:///etc/passwd"})),
        refusal(json!({"$ref": "#"})),
        refusal(
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        ),
        refusal(json!({"$ref": "#/$defs/missing"})),
        refusal(json!({"$dynamicRef": "#a"})),
        refusal(json!({"type": "text"})),
        refusal(json!({"pattern": "(?=lookahead)"})),
        refusal(json!({"pattern": "((a{1000}){1000}){1000}"})),
        refusal(json!({"$defs": doubling, "$ref": "#/$defs/s0"})),
        refusal(json!({"anyOf": wide})),
        refusal(deep).replace("/items", ""),
    ];
    assert_snapshot!(refusals.join("\n"), @r#"
    the schema cannot be used: at `#`: `$ref` leads to another document, `https://example.com/schema.json`; copy it into `$defs`
    the schema cannot be used: at `#/properties/a`: `$ref` leads to another document, `other.json#/a`; copy it into `$defs`
    the schema cannot be used: at `#`: `$ref` leads to another document, `file:///etc/passwd`; copy it into `$defs`
    the schema cannot be used: at `#`: its references lead back to itself, or branch too often, before any part of a value is looked at
    the schema cannot be used: at `#/$defs/a`: its references lead back to itself, or branch too often, before any part of a value is looked at
    the schema cannot be used: at `#`: Pointer '/$defs/missing' does not exist
    the schema cannot be used: at `#`: `$dynamicRef` is not supported; use `$ref`
    the schema cannot be used: at `#/type`: "text" is not valid under any of the schemas listed in the 'anyOf' keyword
    the schema cannot be used: at `#/pattern`: "(?=lookahead)" cannot be a pattern: it is malformed or too large, or looks around or back, which takes more than linear time
    the schema cannot be used: at `#/pattern`: "((a{1000}){1000}){1000}" cannot be a pattern: it is malformed or too large, or looks around or back, which takes more than linear time
    the schema cannot be used: at `#`: its references lead back to itself, or branch too often, before any part of a value is looked at
    the schema cannot be used: at `#`: it is larger than 50000 nodes or 1048576 bytes of text
    the schema cannot be used: at `#…`: it nests deeper than 64 levels
    "#);
}

#[test]
fn a_reference_in_data_means_nothing() {
    assert!(Schema::from_json(json!({"const": {"$ref": "https://example.com"}})).is_ok());
    assert!(Schema::from_json(json!({"properties": {"$ref": {"type": "string"}}})).is_ok());
}

#[test]
fn records_below_the_top_are_read_by_attribute() {
    let value =
        json!({"user": {"name": "Ada", "addresses": [{"street": "Main"}]}, "mode": "fast", "limit": 3});
    let python = orders().to_python(&value).expect("shallow");
    assert_snapshot!(python.repr(), @"{'user': User(name='Ada', addresses=[AddressesItem(street='Main')]), 'mode': 'fast', 'limit': 3}");
    assert_eq!(python.to_json(), value);
}

#[test]
fn a_record_is_found_through_alternatives_arrays_and_maps() {
    let schema = schema(json!({
        "properties": {
            "owner": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
            "shapes": {"type": "array", "items": {"oneOf": [
                {"title": "Circle", "type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}},
                {"title": "Square", "type": "object", "properties": {"kind": {"const": "square"}, "a": {"type": "number"}}},
            ]}},
            "by_id": {"type": "object", "additionalProperties": {"$ref": "#/$defs/User"}},
            "free": {"type": "object"},
            "point": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 2, "items": false},
            "odd": {"type": "object", "properties": {"first-name": {"type": "string"}}},
            "whole": {"type": "integer"},
        },
        "$defs": {"User": {"type": "object", "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/User"}}}},
    }));
    let value = json!({
        "owner": {"name": "Ada", "boss": {"name": "Charles"}},
        "shapes": [{"kind": "square", "a": 1}, {"kind": "circle", "r": 2.5}],
        "by_id": {"7": {"name": "Grace"}},
        "free": {"a": {"b": 1}},
        "point": [1, 2],
        "odd": {"first-name": "Ada"},
        "whole": 7,
    });
    let python = schema.to_python(&value).expect("shallow");
    assert_snapshot!(python.repr(), @"{'owner': User(name='Ada', boss=User(name='Charles')), 'shapes': [Square(kind='square', a=1), Circle(kind='circle', r=2.5)], 'by_id': {'7': User(name='Grace')}, 'free': {'a': {'b': 1}}, 'point': (1, 2), 'odd': {'first-name': 'Ada'}, 'whole': 7}");
    assert_eq!(python.to_json(), value);
    assert_eq!(schema.to_python(&json!({"owner": null})).expect("shallow").get("owner"), Some(&Value::None));
    assert_eq!(schema.to_python(&json!({"whole": 2.0})).expect("shallow").get("whole"), Some(&Value::Int(2)));
}

#[test]
fn absent_properties_get_their_defaults() {
    let schema = schema(json!({
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "note": {"type": ["string", "null"]},
            "tag": {"type": "string"},
            "user": {"properties": {"admin": {"type": "boolean", "default": false}}},
        },
    }));
    let mut value = json!({"user": {}});
    schema.fill_defaults(&mut value);
    assert_eq!(value, json!({"user": {"admin": false}, "limit": 10, "note": null}));
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct Query {
    /// What to look for.
    text: String,
    limit: Option<u32>,
    filter: Filter,
    within: Vec<Place>,
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
enum Filter {
    All,
    Recent,
}

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct Place {
    city: String,
    near: Option<Box<Place>>,
}

#[test]
fn a_rust_type_is_a_schema() {
    let schema = Schema::of::<Query>().expect("usable");
    let value = json!({"text": "x", "filter": "Recent", "within": [{"city": "Paris", "near": {"city": "Versailles"}}]});
    assert_eq!(errors(&schema, &value), "fits");
    assert_snapshot!(schema.to_python(&value).expect("shallow").repr(), @"{'text': 'x', 'filter': 'Recent', 'within': [Place(city='Paris', near=Place(city='Versailles'))]}");
    assert_snapshot!(errors(&schema, &json!({"text": "x", "filter": "Old", "within": [{}]})), @r#"
    `filter`: "Old" is not one of "All", "Recent"
    `within[0].city`: is required
    "#);
}
