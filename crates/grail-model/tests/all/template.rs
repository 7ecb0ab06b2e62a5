//! The template model in a conversation, and templates that cannot be filled.

use grail_model::prompt::{tagged, untagged};
use grail_model::template::{KindWords, Surroundings, Template, TemplateModel};
use grail_model::{ChatRequest, FinishReason, Message, ModelError, Reply, ToolDefinition, Usage, collect};
use proptest::prelude::*;
use serde_json::json;

const SOURCE: &str = "\
{# A record. #}
{% set artifact = name.pascal %}
{{ docstring }}


class {{ name.pascal }}:
{% for field in fields %}
    {{ field.declaration }}
{% else %}
    pass
{% endfor %}
";

fn model(source: &str) -> TemplateModel {
    let template = |kind: &str| Template {
        words: KindWords::new(kind),
        file: format!("{kind}.jinja"),
        source: source.to_owned(),
    };
    TemplateModel::new([template("record"), template("note")])
}

fn request(messages: Vec<Message>, has_tool: bool) -> ChatRequest {
    let tool = ToolDefinition {
        name: "generate_artifact".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    ChatRequest { messages, tools: if has_tool { vec![tool] } else { Vec::new() }, ..ChatRequest::default() }
}

async fn ask(messages: &[Message]) -> Result<Reply, ModelError> {
    collect(&model(SOURCE), &request(messages.to_vec(), true), |_| {}).await
}

fn intent(text: &str) -> Message {
    Message::user(format!("Do it.\n{}\n{}", tagged("intent", text), tagged("kind", "record")))
}

#[tokio::test]
async fn the_answer_is_one_call_of_the_tool() {
    let reply = ask(&[Message::system("You write Python."), intent("a user record with name and age")])
        .await
        .unwrap();
    assert_eq!(reply.finish.reason, FinishReason::ToolCalls);
    assert_eq!((reply.finish.model.as_str(), reply.finish.usage), ("template", Usage::default()));
    assert_eq!(
        reply.tool_calls[0].arguments,
        json!({
            "artifact_type": "record",
            "name": "User",
            "description": "A user record with name and age.",
            "code": "\"\"\"A user record with name and age.\"\"\"\n\n\nclass User:\n    name: str\n    age: int\n",
        })
    );
}

#[tokio::test]
async fn without_the_tool_the_code_is_said() {
    let asked = request(vec![intent("a user record with name")], false);
    let reply = collect(&model(SOURCE), &asked, |_| {}).await.unwrap();
    assert_eq!(
        reply.text,
        "```python\n\"\"\"A user record with name.\"\"\"\n\n\nclass User:\n    name: str\n```\n"
    );
}

#[tokio::test]
async fn a_correction_changes_the_wish_and_what_failed_is_not_sent_again() {
    let mut messages = vec![intent("a user record with name and age")];
    let first = ask(&messages).await.unwrap();
    let failed = "{\"success\": false, \"problems\": [{\"line\": 5, \"message\": \"no ages\"}]}";
    messages.extend([first.message(), Message::tool(&first.tool_calls[0], failed)]);
    let told = ask(&messages).await.unwrap();
    let expected =
        format!("What the template gives was not accepted, and this model knows no other way:\n{failed}");
    assert_eq!((told.text.as_str(), told.tool_calls.len()), (expected.as_str(), 0));
    // Whoever insists is told the same.
    messages.extend([told.message(), Message::user("Nothing was handed in. Call it with the whole file.")]);
    assert_eq!(ask(&messages).await.unwrap().text, expected);
    // What a person answers is another matter.
    messages.push(Message::user(tagged("correction", "without age, but with email")));
    let second = ask(&messages).await.unwrap();
    assert_eq!(second.tool_calls[0].id, "template-2");
    let code = second.tool_calls[0].arguments["code"].as_str().unwrap_or_default().to_owned();
    assert!(code.ends_with("class User:\n    name: str\n    email: str\n"), "{code}");
}

#[tokio::test]
async fn what_cannot_be_told_is_said() {
    let plain = |text: &str| Message::user(tagged("intent", text));
    let error =
        |result: Result<Reply, ModelError>| result.map(|reply| reply.text).expect_err("an error").to_string();
    assert_eq!(error(ask(&[plain("")]).await), "there is nothing in the intent that `template` could read");
    assert_eq!(
        error(ask(&[plain("\"\"\" {{}} \n ''' \u{0}")]).await),
        "there is nothing in the intent that `template` could read"
    );
    assert_eq!(
        error(ask(&[plain("something nice")]).await),
        "`template` cannot tell which kind is asked for: `record`, `note`"
    );
    let unknown = Message::user(format!("{}{}", tagged("intent", "a boat"), tagged("kind", "boat")));
    assert_eq!(error(ask(&[unknown]).await), "no skill has a template for the kind `boat`");
    assert!(ask(&[plain(&"a note ".repeat(150_000))]).await.is_ok());
}

#[test]
fn a_template_that_cannot_be_filled_says_where() {
    let endless = "{% set artifact = 'a' %}{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
    let large = "{% set artifact = 'a' %}{% for a in range(200) %}{% for b in range(200) %}{{ docstring }}{% endfor %}{% endfor %}";
    let sources = [
        "{{ nothing.there }}",
        "x\n{% if %}",
        "pass",
        "{% set artifact = 'no name' %}",
        "{% include 'other' %}",
        "{{ field('') }}",
        endless,
        large,
    ];
    let reason = |source: &str| {
        let made = model(source).make("a note with title", None, &Surroundings::default());
        made.map(|made| made.code).expect_err("an error").to_string()
    };
    let reasons: Vec<String> = sources.into_iter().map(reason).collect();
    insta::assert_snapshot!(reasons.join("\n"), @"
    the template `note.jinja` cannot be filled: line 1: `nothing` is undefined
    the template `note.jinja` cannot be filled: line 2: unexpected end of block
    the template `note.jinja` cannot be filled: it does not say `{% set artifact = … %}`, the name of what it makes
    the template `note.jinja` cannot be filled: it does not say `{% set artifact = … %}`, the name of what it makes
    the template `note.jinja` cannot be filled: line 1: tried to include non-existing template 'other'
    the template `note.jinja` cannot be filled: line 1: `` is no name for a field
    the template `note.jinja` cannot be filled: line 1: engine ran out of fuel
    the template `note.jinja` cannot be filled: the result has more than 524288 bytes
    ");
}

proptest! {
    #[test]
    fn a_passage_holds_anything(text in any::<String>(), more in any::<String>()) {
        let message = format!("<b>{}{}", tagged("a", &text), tagged("b", &more));
        prop_assert_eq!(untagged("a", &message), Some(text));
    }

    #[test]
    fn any_sentence_is_read(words in prop::collection::vec(WORDS, 0..12), noise in any::<String>()) {
        let sentence = format!("{} {noise}", words.join(" "));
        let made = model(SOURCE).make(&sentence, Some("record"), &Surroundings::default());
        // The same words give the same code, and no word is anything but a word in it.
        prop_assert_eq!(&made, &model(SOURCE).make(&sentence, Some("record"), &Surroundings::default()));
        if let Ok(made) = made {
            let body = made.code.rsplit_once("\"\"\"").map_or("", |(_, body)| body);
            for line in body.lines().filter(|line| !line.is_empty()) {
                let is_declaration = line.strip_prefix("    ").is_some_and(|line| line == "pass" || line.contains(": "));
                prop_assert!(line.starts_with("class ") || is_declaration, "{:?}", line);
            }
        }
    }
}

const WORDS: &str = "(with|without|that|a|an|and|,|:|called|sends|optional|of|list|\\(|\\)|\\[|\"|\"\"\"|'|\\{|/a/\\{b\\}|name|tags|class|é|名|ﬁ|1st|x_y|FooBar|\n|- )";
