//! Whatever a schema says: its stub parses, and a value that fits comes back from Python as it went in.

use grail_code::{Source, parse_module};
use grail_sandbox::{Schema, Signature, StubModule};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

/// A schema together with a value that fits it.
fn schema_and_value() -> impl Strategy<Value = (Json, Json)> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|value| (json!({"type": "integer"}), json!(value))),
        (-1.0e9..1.0e9f64).prop_map(|value| (json!({"type": "number"}), json!(value))),
        any::<String>().prop_map(|value| (json!({"type": "string"}), json!(value))),
        any::<bool>().prop_map(|value| (json!({"type": "boolean"}), json!(value))),
        Just((json!({"type": "null"}), Json::Null)),
        any::<String>().prop_map(|value| (json!({"enum": [value, 1, null]}), json!(value))),
        any::<u64>().prop_map(|value| (json!({"const": value}), json!(value))),
        Just((json!({}), json!({"a": [1, {"b": null}]}))),
        Just((json!({"$ref": "#/$defs/Node"}), json!({"value": 1, "next": {"value": 2, "next": null}}))),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(schema, value)| (
                json!({"type": "array", "items": schema}),
                json!([value, value])
            )),
            inner.clone().prop_map(|(schema, value)| {
                (
                    json!({"type": "object", "additionalProperties": schema}),
                    json!({"key one": value, "two": value}),
                )
            }),
            (inner.clone(), inner.clone())
                .prop_map(|((schema, value), (other, _))| (json!({"anyOf": [other, schema]}), value)),
            vec(inner.clone(), 1..4).prop_map(|parts| {
                let length = parts.len();
                let (schemas, values): (Vec<Json>, Vec<Json>) = parts.into_iter().unzip();
                (
                    json!({"type": "array", "prefixItems": schemas, "minItems": length, "maxItems": length}),
                    json!(values),
                )
            }),
            vec((property_name(), inner, any::<bool>()), 0..5).prop_map(|fields| {
                let (mut properties, mut values, mut required) = (Map::new(), Map::new(), Vec::new());
                for (name, (schema, value), is_required) in fields {
                    properties.insert(name.clone(), schema);
                    values.insert(name.clone(), value);
                    if is_required {
                        required.push(name);
                    }
                }
                required.sort();
                required.dedup();
                (
                    json!({"type": "object", "properties": properties, "required": required}),
                    Json::Object(values),
                )
            }),
        ]
    })
}

fn property_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_][a-z0-9_]{0,8}",
        prop::sample::select(vec![
            "class",
            "list",
            "str",
            "User",
            "Any",
            "self",
            "__init__",
            "größe",
            "first-name",
            "",
            "\"\n\\"
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

fn document(schema: Json, title: &str) -> Json {
    json!({
        "title": title,
        "description": title,
        "type": "object",
        "properties": {"value": schema},
        "$defs": {"Node": {"type": "object", "properties": {
            "value": {"type": "integer"},
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        }}},
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_that_fits_survives_the_way_through_python((schema, value) in schema_and_value()) {
        let schema = Schema::from_json(document(schema, "Inputs")).expect("usable");
        let value = json!({"value": value});
        prop_assert_eq!(schema.validate(&value), Ok(()));
        let python = schema.to_python(&value).expect("shallow");
        prop_assert_eq!(python.to_json(), value.clone());
        let record = schema.to_python_record(&value).expect("shallow");
        prop_assert_eq!(record.to_json(), value);
    }

    #[test]
    fn every_stub_parses((first, _) in schema_and_value(), (second, _) in schema_and_value(), title in any::<String>()) {
        let first = Schema::from_json(document(first, &title)).expect("usable");
        let second = Schema::from_json(document(second, &title)).expect("usable");
        let tool = Signature::from_schemas("tool", Some(&second), Some(&first)).expect("usable").with_doc(title.clone());
        let other = Signature::from_schemas("other", Some(&first), Some(&second)).expect("usable").with_doc(title);
        let module = StubModule::new().inputs(&first).inputs_as_variables().output(&second).tool(&tool).tool(&other.asynchronous());
        let text = module.text().expect("consistent");
        let parsed = parse_module(Source::from_text(text.as_str()));
        prop_assert!(parsed.is_valid(), "{:?}\n{}", parsed.diagnostics(), text);
        // Deterministic, to the byte.
        prop_assert_eq!(text, module.text().expect("consistent"));
    }

    #[test]
    fn no_value_breaks_validation((schema, _) in schema_and_value(), (_, value) in schema_and_value()) {
        let schema = Schema::from_json(document(schema, "Inputs")).expect("usable");
        let mut value = json!({"value": value});
        let _ = schema.validate(&value);
        let _ = schema.to_python(&value);
        schema.fill_defaults(&mut value);
    }
}
