//! Answers held to a form: whatever the toy would like to say, it says it in that form.

use std::sync::Arc;

use grail_local::LocalError;
use grail_local::engine::{EndReason, Engine, EngineLimits, Generation};
use grail_local::grammar::{Constraint, Grammars, Part};
use grail_local::model::{Model, ModelOptions, Precision};
use grail_local::sampling::Sampling;
use grail_local::tokenizer::Tokenizer;
use grail_local::weights::Weights;
use serde_json::{Value, json};
use toktrie::SimpleVob;

use crate::support::Toy;

struct Speaker {
    engine: Engine,
    grammars: Grammars,
    tokenizer: Arc<Tokenizer>,
    _folder: tempfile::TempDir,
}

impl Speaker {
    fn new() -> Self {
        let folder = Toy { positions: 2048, ..Toy::default() }.write();
        let weights = Weights::open(folder.path()).unwrap();
        let tokenizer = Arc::new(Tokenizer::of(&weights).unwrap());
        let options = ModelOptions { threads: 1, context: 2048, precision: Precision::Full };
        let limits = EngineLimits { batch: 16, queue: 100, positions: 100_000 };
        let engine =
            Engine::start(Model::load(&weights, None, options).unwrap(), Arc::clone(&tokenizer), limits);
        Self { engine, grammars: Grammars::new(&tokenizer).unwrap(), tokenizer, _folder: folder }
    }

    fn speak(&self, constraint: &Constraint, seed: u64) -> (String, EndReason) {
        let generation = Generation {
            prompt: self.tokenizer.encode("the").unwrap(),
            max_tokens: 1500,
            sampling: Sampling { temperature: 1.0, seed, ..Sampling::default() },
            stop: Vec::new(),
            constraint: Some(self.grammars.guard(constraint).unwrap()),
        };
        self.engine.complete(generation).unwrap()
    }

    /// Whether the text may be said, to its end.
    fn permits(&self, constraint: &Constraint, text: &str) -> bool {
        let mut guard = self.grammars.guard(constraint).unwrap();
        let is_allowed = |mask: Option<SimpleVob>, token: u32| mask.is_none_or(|mask| mask.is_allowed(token));
        for token in self.tokenizer.encode(text).unwrap() {
            if !is_allowed(guard.mask().unwrap(), token) {
                return false;
            }
            guard.consume(token, &self.tokenizer.token_bytes(token)).unwrap();
        }
        let end = *self.tokenizer.ends().first().unwrap();
        is_allowed(guard.mask().unwrap(), end)
    }
}

#[test]
fn what_is_held_to_a_schema_is_valid() {
    let speaker = Speaker::new();
    let schemas = [
        json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 150}}, "required": ["name", "age"], "additionalProperties": false}),
        json!({"type": "array", "items": {"enum": ["red", "green", 7, null]}, "minItems": 1, "maxItems": 4}),
        json!({"type": "object", "properties": {"ok": {"type": "boolean"}, "next": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 3}]}}, "required": ["ok", "next"], "additionalProperties": false}),
    ];
    for schema in schemas {
        let validator = jsonschema::validator_for(&schema).unwrap();
        for seed in 0..8 {
            let (text, reason) = speaker.speak(&Constraint::JsonSchema(schema.clone()), seed);
            assert_eq!(reason, EndReason::Stop, "{text}");
            let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert!(validator.is_valid(&value), "{text}");
        }
    }
}

#[test]
fn grammars_of_both_kinds_hold() {
    let speaker = Speaker::new();
    let probe = Constraint::Grammar("root ::= \"grail-probe\"".to_owned());
    assert_eq!(speaker.speak(&probe, 1), ("grail-probe".to_owned(), EndReason::Stop));
    let nested = Constraint::Grammar("root ::= \"(\" inner \")\"\ninner ::= [a-c]{1,3} | root".to_owned());
    let lark = Constraint::Grammar("start: \"(\" (/[a-c]{1,3}/ | start) \")\"".to_owned());
    for constraint in [nested, lark] {
        for seed in 0..6 {
            let (text, reason) = speaker.speak(&constraint, seed);
            if reason == EndReason::Stop {
                let depth = text.chars().take_while(|it| *it == '(').count();
                let inner = &text[depth..text.len() - depth];
                assert!(
                    (1..=3).contains(&inner.len()) && inner.chars().all(|it| "abc".contains(it)),
                    "{text}"
                );
                assert!(text.ends_with(&")".repeat(depth)), "{text}");
            }
        }
    }
}

#[test]
fn signs_that_a_class_escapes_are_what_it_takes() {
    let speaker = Speaker::new();
    let check = |class: &str, taken: &[&str], refused: &[&str]| {
        let constraint = Constraint::Grammar(format!("root ::= \"<\" {class} \">\""));
        let permits = |sign: &&str| speaker.permits(&constraint, &format!("<{sign}>"));
        assert!(taken.iter().all(permits), "{class} takes {taken:?}");
        assert!(!refused.iter().any(permits), "{class} takes none of {refused:?}");
    };
    check(r"[\[x]", &["[", "x"], &["\\", "]"]);
    check(r"[\[\]]", &["[", "]"], &["\\", "x"]);
    check(r"[a\/b]", &["a", "/", "b"], &["\\"]);
    check("[[/]", &["[", "/"], &["\\"]);
    check(r#"[\\"]"#, &["\\", "\""], &["x"]);
    check("[a&&b]", &["a", "&", "b"], &["x"]);
    check(r"[\x41-C\n]", &["A", "B", "C", "\n"], &["x", "4", "n"]);
    check(r"[^\]/]", &["[", "x", "\\"], &["]", "/"]);
}

#[test]
fn a_slash_in_a_regular_expression_may_be_escaped() {
    let speaker = Speaker::new();
    for regex in ["[a-z]+/[a-z]+", r"[a-z]+\/[a-z]+"] {
        let template = Constraint::Template(vec![
            Part::Text("path = ".to_owned()),
            Part::Regex(regex.to_owned()),
            Part::Text(";".to_owned()),
        ]);
        assert!(speaker.permits(&template, "path = a/b;"), "{regex}");
        assert!(!speaker.permits(&template, r"path = a\/b;"), "{regex}");
        assert!(!speaker.permits(&template, "path = ab;"), "{regex}");
    }
    // A backslash that is escaped itself escapes nothing.
    let template = Constraint::Template(vec![Part::Regex(r"a\\/b".to_owned())]);
    assert!(speaker.permits(&template, r"a\/b") && !speaker.permits(&template, "a/b"));
}

#[test]
fn a_template_is_kept_and_its_holes_are_filled() {
    let speaker = Speaker::new();
    let template = Constraint::Template(vec![
        Part::Text("class ".to_owned()),
        Part::Regex("[A-Z][a-z]{1,8}".to_owned()),
        Part::Text("(View):\n    path = \"/".to_owned()),
        Part::Regex("[a-z/]{0,10}".to_owned()),
        Part::Text("\"\n".to_owned()),
    ]);
    for seed in 0..6 {
        let (text, reason) = speaker.speak(&template, seed);
        assert_eq!(reason, EndReason::Stop, "{text}");
        let name = text.strip_prefix("class ").unwrap().split_once("(View):\n    path = \"/").unwrap();
        assert!(name.0.len() >= 2 && name.0.starts_with(|it: char| it.is_ascii_uppercase()), "{text}");
        assert!(
            name.1.strip_suffix("\"\n").unwrap().chars().all(|it| it == '/' || it.is_ascii_lowercase()),
            "{text}"
        );
    }
    let mixed = Constraint::Template(vec![
        Part::Text("DATA = ".to_owned()),
        Part::Schema(json!({"type": "array", "items": {"type": "boolean"}, "maxItems": 3})),
        Part::Text(" # ".to_owned()),
        Part::Grammar("\"yes\" | \"no\"".to_owned()),
    ]);
    let (text, _) = speaker.speak(&mixed, 2);
    let (value, answer) = text.strip_prefix("DATA = ").unwrap().split_once(" # ").unwrap();
    assert!(serde_json::from_str::<Vec<bool>>(value).is_ok() && ["yes", "no"].contains(&answer), "{text}");
}

#[test]
fn what_is_no_grammar_is_an_error() {
    let speaker = Speaker::new();
    let broken = [
        Constraint::Grammar("start: missing".to_owned()),
        Constraint::Grammar("root ::= nobody".to_owned()),
        Constraint::Grammar(String::new()),
        Constraint::JsonSchema(json!({"type": "nonsense"})),
        Constraint::JsonSchema(json!(3)),
        Constraint::Template(Vec::new()),
        Constraint::Template(vec![Part::Regex("(".to_owned())]),
    ];
    for constraint in broken {
        let outcome = speaker.grammars.guard(&constraint);
        assert!(matches!(outcome.err(), Some(LocalError::Grammar { .. })), "{constraint:?}");
    }
}

#[test]
fn a_word_that_was_said_is_preferred_and_a_sure_model_is_free() {
    let speaker = Speaker::new();
    let constraint = Constraint::KnownNames { request: "a spinnaker".to_owned() };
    let token = |text: &str| speaker.tokenizer.encode(text).unwrap()[0];
    let mut guard = speaker.grammars.guard(&constraint).unwrap();
    for letter in ["s", "p"] {
        assert!(!guard.consume(token(letter), letter.as_bytes()).unwrap());
    }
    let (said, slip) = (token("in"), token("x"));
    let best = |lead: f32| {
        let mut scores = vec![-9.0; speaker.tokenizer.vocab_size()];
        (scores[said as usize], scores[slip as usize]) = (0.0, lead);
        let weighed = guard.weigh(&scores, None, 0.0);
        Sampling::default().choose(weighed.as_deref().unwrap_or(&scores), None, 0).unwrap()
    };
    assert_eq!([best(-1.0), best(6.0), best(8.0)], [said, said, slip]);
}

#[test]
fn python_that_cannot_be_is_not_taken() {
    let speaker = Speaker::new();
    let mut guard = speaker.grammars.guard(&Constraint::KnownNames { request: String::new() }).unwrap();
    guard.consume(0, b"```python\ndef f(*, spit_").unwrap();
    assert!(guard.permits(b"valve") && !guard.permits(b" valve") && !guard.permits(b"]"));
}
