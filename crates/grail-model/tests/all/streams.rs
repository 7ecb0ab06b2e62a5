//! Properties of reading streams: where the network cuts does not matter, and nothing a server sends does harm.

use grail_model::{Limits, Reply, ServerSettings, collect, connect};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::loopback::{Act, Loopback, delta, events_text, finish, head, question};

/// What a server that sends this body in such pieces comes to.
fn read(pieces: Vec<Vec<u8>>) -> Result<Reply, grail_model::ModelError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut all = vec![head("200 OK", "text/event-stream")];
        all.extend(pieces);
        let server = Loopback::start(vec![Act::Pieces(all)]).await;
        let limits = Limits { body_bytes: 1 << 16, line_bytes: 1 << 14, reply_bytes: 1 << 14 };
        let settings = ServerSettings { limits, ..server.settings() };
        collect(&connect(&settings).unwrap(), &question("hi"), |_| {}).await
    })
}

fn cut(bytes: &[u8], places: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).filter(|piece| !piece.is_empty()).collect()
}

/// Events that are nearly right.
fn nearly() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        prop::sample::select(vec!["tiny", "stop", "", "{\"a\": 1}", "<tool_call>"]).prop_map(Json::from),
    ];
    let key = prop::sample::select(vec![
        "model",
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "index",
        "id",
        "function",
        "name",
        "arguments",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "error",
        "refusal",
        "text",
    ]);
    leaf.prop_recursive(6, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(|fields| Json::Object(
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn where_the_network_cuts_does_not_matter(
        words in prop::collection::vec("[a-zé \n\"\\\\<]{1,12}", 1..8),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        end in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let mut events: Vec<Json> = words.iter().map(|word| delta(&json!({"content": word}))).collect();
        events.push(finish("stop"));
        let text = String::from_utf8(events_text(&events)).unwrap().replace('\n', end);
        let expected = words.concat();
        match read(cut(text.as_bytes(), &places)) {
            Ok(reply) => prop_assert_eq!(reply.text, expected),
            Err(error) => prop_assert!(expected.trim().is_empty(), "{}", error),
        }
    }

    #[test]
    fn nearly_right_events_do_no_harm(events in prop::collection::vec(nearly(), 0..6)) {
        let _ = read(vec![events_text(&events)]);
    }

    #[test]
    fn any_bytes_do_no_harm(
        bytes in prop::collection::vec(prop_oneof![4 => prop::sample::select(b"data: {}[]\"\n\r,:".to_vec()), 1 => any::<u8>()], 0..400),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        // No answer can come of it: nothing names the model.
        prop_assert!(read(cut(&bytes, &places)).is_err());
    }
}
