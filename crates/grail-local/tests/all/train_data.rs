//! Conversations as tokens: the prompt as the model is asked, the answer with its end.

use grail_local::chat::{ChatMessage, ChatTemplate};
use grail_local::tokenizer::Tokenizer;
use grail_local::train::Encoder;
use grail_local::weights::Weights;
use serde_json::json;

use crate::train_toy::{self, example, lines};

fn encoder(max_tokens: usize) -> (Encoder, tempfile::TempDir) {
    let folder = train_toy::model("llama");
    let weights = Weights::open(folder.path()).unwrap();
    let encoder = Encoder {
        template: ChatTemplate::of(&weights).unwrap(),
        tokenizer: Tokenizer::of(&weights).unwrap(),
        max_tokens,
    };
    (encoder, folder)
}

#[test]
fn the_prompt_is_what_the_model_is_asked_and_the_answer_ends() {
    let (encoder, folder) = encoder(100);
    let loaded = encoder.examples(&lines(folder.path(), "rows", &[example("why?", "so.", 0.5)])).unwrap();
    assert_eq!(loaded.items.len(), 1);
    assert_eq!(loaded.items[0].weight, 0.5);
    let sample = &loaded.items[0].item;
    let asked = encoder.template.render(&[ChatMessage::new("user", "why?")], true).unwrap();
    assert_eq!(sample.tokens[..sample.answer], encoder.tokenizer.encode_prompt(&asked).unwrap());
    assert_eq!(sample.tokens[sample.answer..], encoder.tokenizer.encode("so.<|im_end|>").unwrap());
}

#[test]
fn long_rows_and_rows_without_weight_are_counted() {
    let (encoder, folder) = encoder(40);
    let rows = [example("a", "b", 1.0), example("a", &"b".repeat(40), 1.0), example("a", "c", 0.0)];
    let loaded = encoder.examples(&lines(folder.path(), "rows", &rows)).unwrap();
    assert_eq!((loaded.items.len(), loaded.too_long, loaded.weightless), (1, 1, 1));
}

#[test]
fn a_pair_is_two_answers_to_one_prompt() {
    let (encoder, folder) = encoder(100);
    let row = json!({"prompt": [{"role": "user", "content": "why?"}], "chosen": "so.", "rejected": "no", "weight": 2.0});
    let loaded = encoder.pairs(&lines(folder.path(), "rows", &[row])).unwrap();
    let pair = &loaded.items[0].item;
    assert_eq!(pair.chosen.tokens[..pair.chosen.answer], pair.rejected.tokens[..pair.rejected.answer]);
    assert_eq!(encoder.tokenizer.decode(&pair.rejected.tokens[pair.rejected.answer..]), "no");
    assert_eq!(loaded.items[0].weight, 2.0);
}

#[test]
fn a_template_that_rewrites_the_prompt_is_refused() {
    let (mut encoder, folder) = encoder(100);
    encoder.template = ChatTemplate::new("{{ messages|length }}{{ messages[-1].content }}", "", "");
    let error =
        encoder.examples(&lines(folder.path(), "rows", &[example("a", "b", 1.0)])).unwrap_err().to_string();
    assert!(error.contains("writes the prompt differently once it is answered"), "{error}");
}
