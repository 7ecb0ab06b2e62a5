//! What a server can do, as a probe finds out; answers in a schema; vectors.

use grail_model::{Abilities, ModelError, ServerSettings, connect, structured};
use serde_json::{Value as Json, json};

use crate::loopback::{Act, Loopback, delta, finish, json_response, respond, stream, text_answer};

fn tool_call() -> Act {
    let call =
        json!({"index": 0, "id": "x", "function": {"name": "get_time", "arguments": "{\"city\": \"Oslo\"}"}});
    stream(&[delta(&json!({"tool_calls": [call]})), finish("tool_calls")])
}

async fn probe(acts: Vec<Act>) -> (Result<Abilities, ModelError>, Vec<crate::loopback::Seen>) {
    let server = Loopback::start(acts).await;
    let abilities = connect(&server.settings()).unwrap().probe().await;
    (abilities, server.seen())
}

#[tokio::test]
async fn what_works_is_an_ability() {
    let models = json_response(&json!({"object": "list", "data": [{"id": "tiny"}]}));
    let (abilities, seen) = probe(vec![
        models,
        tool_call(),
        text_answer("{\"colour\": \"grail-red\"}"),
        text_answer("grail-probe"),
    ])
    .await;
    let expected = Abilities {
        models: vec!["tiny".to_owned()],
        json_schema: true,
        grammar: true,
        ..Abilities::default()
    };
    assert_eq!(abilities.as_ref(), Ok(&expected));
    let lines: Vec<&str> = seen.iter().map(|request| request.line.as_str()).collect();
    let chat = "POST /v1/chat/completions";
    assert_eq!(lines, ["GET /v1/models", chat, chat, chat]);
    assert_eq!(seen[1].body["tool_choice"], json!("required"));
    assert_eq!(seen[2].body["response_format"]["type"], json!("json_schema"));
    assert_eq!(seen[3].body["grammar"], json!("root ::= \"grail-probe\""));
    // Data to keep.
    let kept = serde_json::to_string(&expected).unwrap();
    assert_eq!(kept, r#"{"models":["tiny"],"tool_calls":true,"json_schema":true,"grammar":true}"#);
    assert_eq!(serde_json::from_str::<Abilities>(&kept).unwrap(), expected);
}

#[tokio::test]
async fn what_is_refused_or_ignored_is_none() {
    let refuse = |status| {
        respond(status, "application/json", r#"{"error": {"message": "tiny does not support tools"}}"#)
    };
    let call_in_text = "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>";
    for acts in [
        vec![
            refuse("404 Not Found"),
            refuse("400 Bad Request"),
            refuse("501 Not Implemented"),
            text_answer("Hello!"),
        ],
        vec![json_response(&json!({})), text_answer(call_in_text), text_answer("Hello!"), text_answer(" ")],
    ] {
        let (abilities, _) = probe(acts).await;
        let none = Abilities { tool_calls: false, ..Abilities::default() };
        assert_eq!(abilities, Ok(none));
    }
}

#[tokio::test]
async fn who_is_not_let_in_learns_nothing() {
    let (abilities, _) = probe(vec![respond("401 Unauthorized", "application/json", "{}")]).await;
    assert_eq!(abilities.unwrap_err().to_string(), "`tiny` answered with status 401: {}");
}

#[test]
fn answers_in_a_schema_are_found_and_checked() {
    let schema = json!({
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 0}, "why": {"type": "string"}},
        "required": ["score"],
    });
    let value = json!({"score": 3});
    for text in [
        "{\"score\": 3}",
        "  {\"score\": 3}\n",
        "```json\n{\"score\": 3}\n```",
        "Sure!\n```\n{'score': 3,}\n```\nAnything else?",
        "The answer is {\"score\": 3}.",
        "<think>{\"score\": -1}</think>{\"score\": 3}",
    ] {
        assert_eq!(structured::read(text, &schema), Ok(value.clone()), "{text}");
    }
    let problem = |text: &str| structured::read(text, &schema).unwrap_err();
    assert_eq!(problem("I would say three."), "the answer is no JSON: expected value at line 1 column 1");
    assert_eq!(problem(""), "the answer is no JSON: there is nothing");
    assert_eq!(problem("{}"), "the answer does not keep to the schema: \"score\" is a required property");
    assert_eq!(
        problem("{\"score\": -1, \"why\": 4}"),
        "the answer does not keep to the schema: at `/score`: -1 is less than the minimum of 0; at `/why`: 4 is not of type \"string\""
    );
    assert!(problem(&"[".repeat(1_000_000)).starts_with("the answer is no JSON"));
}

fn vectors(vectors: &[(Option<usize>, Json)]) -> Act {
    let data: Vec<Json> = vectors
        .iter()
        .map(|(index, vector)| match index {
            Some(index) => json!({"object": "embedding", "index": index, "embedding": vector}),
            None => json!({"embedding": vector}),
        })
        .collect();
    json_response(&json!({"object": "list", "model": "tiny", "data": data}))
}

#[tokio::test]
async fn texts_become_vectors() {
    let server = Loopback::start(vec![
        vectors(&[(Some(1), json!([0.5, 0])), (Some(0), json!([1, -2]))]),
        vectors(&[(None, json!([1])), (None, json!([2]))]),
    ])
    .await;
    let model = connect(&server.settings()).unwrap();
    assert_eq!(model.embed(&["a", "b"]).await.unwrap(), [[1.0, -2.0], [0.5, 0.0]]);
    assert_eq!(model.embed(&["a", "b"]).await.unwrap(), [[1.0], [2.0]]);
    assert_eq!(model.embed(&[]).await.unwrap(), Vec::<Vec<f32>>::new());
    assert_eq!(server.seen()[0].line, "POST /v1/embeddings");
    assert_eq!(
        server.seen()[0].body,
        json!({"model": "tiny", "input": ["a", "b"], "encoding_format": "float"})
    );
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn many_texts_go_in_several_requests() {
    let batch = |count: usize| vectors(&vec![(None, json!([1, 2])); count]);
    let server = Loopback::start(vec![batch(32), batch(32), batch(6)]).await;
    let texts: Vec<&str> = vec!["x"; 70];
    assert_eq!(connect(&server.settings()).unwrap().embed(&texts).await.unwrap().len(), 70);
}

#[tokio::test]
async fn vectors_that_are_none_are_refused() {
    let cases = [
        (vectors(&[(None, json!([1]))]), "1 vectors for 2 texts"),
        (
            vectors(&[(Some(0), json!([1])), (Some(0), json!([1]))]),
            "a vector for text 0, which has one or is none",
        ),
        (
            vectors(&[(Some(0), json!([1])), (Some(7), json!([1]))]),
            "a vector for text 7, which has one or is none",
        ),
        (vectors(&[(None, json!([1])), (None, json!([1, 2]))]), "vectors of 1 and of 2 numbers"),
        (vectors(&[(None, json!([])), (None, json!([]))]), "a vector of 0 numbers"),
        (vectors(&[(None, json!(vec![0; 70_000])), (None, json!([1]))]), "a vector of 70000 numbers"),
    ];
    for (act, reason) in cases {
        let server = Loopback::start(vec![act]).await;
        let error = connect(&server.settings()).unwrap().embed(&["a", "b"]).await.unwrap_err();
        assert_eq!(error.to_string(), format!("what `tiny` sent cannot be read: {reason}"));
    }
    // Not numbers, or none that are finite.
    for vector in [json!(["NaN"]), json!([null]), json!([1e300]), json!([[1.0]])] {
        let server = Loopback::start(vec![vectors(&[(None, vector)])]).await;
        let error = connect(&server.settings()).unwrap().embed(&["a"]).await.unwrap_err();
        assert!(matches!(error, ModelError::NotUnderstood { .. }), "{error}");
    }
    let server = Loopback::start(vec![vectors(&[(None, json!([1]))])]).await;
    let settings = ServerSettings { model: "other".to_owned(), ..server.settings() };
    let error = connect(&settings).unwrap().embed(&["a"]).await.unwrap_err();
    assert_eq!(error.to_string(), "`other` was asked, but `tiny` answered");
}
