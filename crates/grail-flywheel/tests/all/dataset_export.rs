//! Exports: the exact layouts, and what they refuse.

use std::fs;
use std::path::Path;

use grail_flywheel::dataset::export::{Card, ExportSettings, Layout, check_rows, export};
use grail_flywheel::dataset::{ChatForm, Dataset, Draft, SYSTEM_PROMPT, freeze, open_dataset};
use serde_json::{Value as Json, json};

use crate::dataset::{calling, draft, positive};

fn dataset(project: &Path, draft: &Draft) -> Dataset {
    let frozen = freeze(project, draft).unwrap();
    open_dataset(project, Some(&frozen.manifest.hash)).unwrap()
}

/// The rows of a file of an export, with the system prompt shortened.
fn rows(settings: &ExportSettings, draft: &Draft, file: &str) -> String {
    let project = tempfile::tempdir().unwrap();
    let output = project.path().join("out");
    export(&dataset(project.path(), draft), settings, &output).unwrap();
    fs::read_to_string(output.join(file)).unwrap().replace(SYSTEM_PROMPT, "SYSTEM")
}

fn shown(layout: Layout, file: &str) -> String {
    rows(&ExportSettings { repeat: 1.0, batch: 1, ..ExportSettings::new(layout) }, &draft(), file)
}

fn standard(layout: Layout, file: &str) -> String {
    let settings = ExportSettings { repeat: 1.0, batch: 1, is_standard: true, ..ExportSettings::new(layout) };
    rows(&settings, &draft(), file)
}

#[test]
fn mlx_chat() {
    insta::assert_snapshot!(shown(Layout::Mlx, "train.jsonl"), @r#"
    {"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nLet it take a sender"},{"role":"assistant","content":"```python\nclass MailService:\n    def __init__(self, *, sender): ...\n```"}]}
    {"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"Add a mail service"},{"role":"assistant","content":"```python\nclass MailService:\n    pass\n```"}]}
    {"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nLet it take a sender"},{"role":"assistant","content":"```python\nclass MailService:\n    def __init__(self, *, sender): ...\n```"}]}
    "#);
    insta::assert_snapshot!(shown(Layout::Mlx, "weighted.jsonl"), @r#"
    {"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"Add a mail service"},{"role":"assistant","content":"```python\nclass MailService:\n    pass\n```"}],"weight":1.0}
    {"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nLet it take a sender"},{"role":"assistant","content":"```python\nclass MailService:\n    def __init__(self, *, sender): ...\n```"}],"weight":1.8}
    "#);
}

#[test]
fn mlx_tools() {
    insta::assert_snapshot!(shown(Layout::Tools, "valid.jsonl"), @r#"{"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"Add a clock service"},{"role":"assistant","content":"```python\nclass ClockService:\n    pass\n```"}],"tools":[{"type":"function","function":{"name":"find_usages","description":"find usages","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}},{"type":"function","function":{"name":"rename","description":"rename","parameters":{"type":"object","properties":{"name":{"type":"string"},"to":{"type":"string"},"write":{"type":"boolean"}},"required":["name","to","write"]}}}]}"#);
    let train = shown(Layout::Tools, "train.jsonl");
    let call = train.lines().find(|line| line.contains("tool_calls")).unwrap();
    insta::assert_snapshot!(call, @r#"{"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"Call it post instead"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"find_usages","arguments":"{\"name\":\"MailService\"}"}},{"id":"call_2","type":"function","function":{"name":"rename","arguments":"{\"name\":\"MailService\",\"to\":\"PostService\",\"write\":true}"}}]}],"tools":[{"type":"function","function":{"name":"find_usages","description":"find usages","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}},{"type":"function","function":{"name":"rename","description":"rename","parameters":{"type":"object","properties":{"name":{"type":"string"},"to":{"type":"string"},"write":{"type":"boolean"}},"required":["name","to","write"]}}}]}"#);
}

#[test]
fn completions() {
    insta::assert_snapshot!(shown(Layout::Completions, "test.jsonl"), @r#"{"prompt":"SYSTEM\n\nWe send mail now.\n\nYou answered:\nWhat shall it do?\n\nContext:\nMail goes out once a day.\n\nAdd a cache","completion":"```python\nclass CacheService: ...\n```"}"#);
}

#[test]
fn trl() {
    insta::assert_snapshot!(shown(Layout::TrlSft, "valid.jsonl"), @r#"{"prompt":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"Add a clock service"}],"completion":[{"role":"assistant","content":"```python\nclass ClockService:\n    pass\n```"}]}"#);
    insta::assert_snapshot!(standard(Layout::TrlSft, "valid.jsonl"), @r#"{"prompt":"<|im_start|>system\nSYSTEM<|im_end|>\n<|im_start|>user\nAdd a clock service<|im_end|>\n<|im_start|>assistant\n","completion":"```python\nclass ClockService:\n    pass\n```<|im_end|>\n"}"#);
    insta::assert_snapshot!(shown(Layout::TrlDpo, "test.jsonl"), @r#"{"prompt":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nAdd a cache"}],"chosen":[{"role":"assistant","content":"```python\nclass CacheService: ...\n```"}],"rejected":[{"role":"assistant","content":"```python\nclass Cache: ...\n```"}]}"#);
    insta::assert_snapshot!(standard(Layout::TrlDpo, "test.jsonl"), @r#"{"prompt":"<|im_start|>system\nSYSTEM<|im_end|>\n<|im_start|>user\nWe send mail now.<|im_end|>\n<|im_start|>assistant\nWhat shall it do?<|im_end|>\n<|im_start|>user\nContext:\nMail goes out once a day.\n\nAdd a cache<|im_end|>\n<|im_start|>assistant\n","chosen":"```python\nclass CacheService: ...\n```<|im_end|>\n","rejected":"```python\nclass Cache: ...\n```<|im_end|>\n"}"#);
    insta::assert_snapshot!(shown(Layout::TrlKto, "test.jsonl"), @r#"
    {"prompt":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nAdd a cache"}],"completion":[{"role":"assistant","content":"```python\nclass CacheService: ...\n```"}],"label":true}
    {"prompt":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nAdd a cache"}],"completion":[{"role":"assistant","content":"```python\nclass Cache: ...\n```"}],"label":false}
    "#);
    insta::assert_snapshot!(standard(Layout::TrlKto, "test.jsonl"), @r#"
    {"prompt":"<|im_start|>system\nSYSTEM<|im_end|>\n<|im_start|>user\nWe send mail now.<|im_end|>\n<|im_start|>assistant\nWhat shall it do?<|im_end|>\n<|im_start|>user\nContext:\nMail goes out once a day.\n\nAdd a cache<|im_end|>\n<|im_start|>assistant\n","completion":"```python\nclass CacheService: ...\n```<|im_end|>\n","label":true}
    {"prompt":"<|im_start|>system\nSYSTEM<|im_end|>\n<|im_start|>user\nWe send mail now.<|im_end|>\n<|im_start|>assistant\nWhat shall it do?<|im_end|>\n<|im_start|>user\nContext:\nMail goes out once a day.\n\nAdd a cache<|im_end|>\n<|im_start|>assistant\n","completion":"```python\nclass Cache: ...\n```<|im_end|>\n","label":false}
    "#);
}

#[test]
fn openai() {
    insta::assert_snapshot!(shown(Layout::Openai, "valid.jsonl"), @r#"{"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"Add a clock service"},{"role":"assistant","content":"```python\nclass ClockService:\n    pass\n```"}]}"#);
    insta::assert_snapshot!(shown(Layout::OpenaiDpo, "test.jsonl"), @r#"{"input":{"messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nAdd a cache"}]},"preferred_output":[{"role":"assistant","content":"```python\nclass CacheService: ...\n```"}],"non_preferred_output":[{"role":"assistant","content":"```python\nclass Cache: ...\n```"}]}"#);
}

#[test]
fn chatml_text() {
    insta::assert_snapshot!(shown(Layout::Chatml, "valid.jsonl"), @r#"{"text":"<|im_start|>system\nSYSTEM<|im_end|>\n<|im_start|>user\nAdd a clock service<|im_end|>\n<|im_start|>assistant\n```python\nclass ClockService:\n    pass\n```<|im_end|>\n"}"#);
}

#[test]
fn for_another_project() {
    insta::assert_snapshot!(shown(Layout::Grail, "valid.jsonl"), @r#"{"id":"5ca4cdb0dc1cb42e","type":"positive","artifact":"service","request":"Add a clock service","chosen":"class ClockService:\n    pass\n","path":"services/mail.py","weight":{"base":1.0,"outcome":1.0},"origin":{"source":"project"}}"#);
}

#[test]
fn parquet_has_one_row_an_example() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let project = tempfile::tempdir().unwrap();
    let output = project.path().join("out");
    export(&dataset(project.path(), &draft()), &ExportSettings::new(Layout::Parquet), &output).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(output.join("train.parquet")).unwrap()).unwrap();
    let rows: Vec<String> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().to_string().replace(SYSTEM_PROMPT, "SYSTEM"))
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r#"
    {id: "a71ce5eaf92c246a", type: "positive", artifact: "service", rules: [], tools: [], prompt: [{role: "system", content: "SYSTEM"}, {role: "user", content: "Add a mail service"}], chosen: "```python
    class MailService:
        pass
    ```", calls: null, rejected: null, weight: 1.0, source: "project", licence: null}
    {id: "78ef259909eb6547", type: "corrective", artifact: "service", rules: ["keyword-only"], tools: [], prompt: [{role: "system", content: "SYSTEM"}, {role: "user", content: "We send mail now."}, {role: "assistant", content: "What shall it do?"}, {role: "user", content: "Context:
    Mail goes out once a day.

    Let it take a sender"}], chosen: "```python
    class MailService:
        def __init__(self, *, sender): ...
    ```", calls: null, rejected: "```python
    class MailService:
        def __init__(self, sender): ...
    ```", weight: 1.8, source: "project", licence: null}
    {id: "4fb83ae444e70402", type: "multi_tool", artifact: null, rules: [], tools: ["find_usages", "rename"], prompt: [{role: "system", content: "SYSTEM"}, {role: "user", content: "Call it post instead"}], chosen: null, calls: "[{"tool":"find_usages","arguments":{"name":"MailService"}},{"tool":"rename","arguments":{"name":"MailService","to":"PostService","write":true}}]", rejected: null, weight: 1.3, source: "project", licence: null}
    "#);
}

#[test]
fn requests_are_said_as_often_as_the_form_says() {
    let form = ChatForm::default();
    let twice = Draft { form: form.clone(), ..draft() };
    let settings = ExportSettings { repeat: 1.0, batch: 1, ..ExportSettings::new(Layout::TrlDpo) };
    insta::assert_snapshot!(rows(&settings, &twice, "test.jsonl"), @r#"{"prompt":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"We send mail now."},{"role":"assistant","content":"What shall it do?"},{"role":"user","content":"Context:\nMail goes out once a day.\n\nAdd a cache\n\nAdd a cache"}],"chosen":[{"role":"assistant","content":"```python\nclass CacheService: ...\n```"}],"rejected":[{"role":"assistant","content":"```python\nclass Cache: ...\n```"}]}"#);
    assert_eq!(form.question(" Add a cache\n")[1].content, "Add a cache\n\nAdd a cache");
    // What was made before this was counted was said once.
    let old: ChatForm = serde_json::from_str(r#"{"system_prompt": "S", "chat_template": "chatml"}"#).unwrap();
    assert_eq!(old.question("Add a cache")[1].content, "Add a cache");
    let project = tempfile::tempdir().unwrap();
    let never = Draft { form: ChatForm { readings: 0, ..form }, ..draft() };
    let refused = freeze(project.path(), &never).unwrap_err().to_string();
    assert!(refused.contains("a request is said 1 to 3 times, not 0"), "{refused}");
}

#[test]
fn the_card_says_whose_it_is_and_how_to_train() {
    let project = tempfile::tempdir().unwrap();
    let output = project.path().join("out");
    let dataset = dataset(project.path(), &draft());
    export(&dataset, &ExportSettings::new(Layout::Mlx), &output).unwrap();
    let text = fs::read_to_string(output.join("dataset.json")).unwrap();
    let card: Card = serde_json::from_str(&text).unwrap();
    assert_eq!(card.dataset, dataset.manifest.hash);
    insta::assert_snapshot!(text.replace(&card.dataset, "HASH"), @r#"
    {
      "dataset": "HASH",
      "grail": "0.1.0",
      "layout": "mlx",
      "standard": false,
      "form": {
        "system_prompt": "Write Python in this project's dialect: one whole file in a fenced block.",
        "chat_template": "chatml"
      },
      "seed": 0,
      "repeat": 2.0,
      "batch": 4,
      "files": {
        "test.jsonl": 4,
        "train.jsonl": 8,
        "valid.jsonl": 4,
        "weighted.jsonl": 2
      },
      "left_out": {
        "its answer is calls of tools": 1
      },
      "licences": {
        "project": 5
      },
      "sources": {
        "project": 5
      },
      "train_with": "mlx_lm.lora --model MODEL --train --data . --batch-size 4 --iters 6 --mask-prompt"
    }
    "#);
}

#[test]
fn exports_go_to_new_or_empty_folders_only() {
    let project = tempfile::tempdir().unwrap();
    let dataset = dataset(project.path(), &draft());
    let settings = ExportSettings::new(Layout::Mlx);
    let empty = project.path().join("empty");
    fs::create_dir(&empty).unwrap();
    export(&dataset, &settings, &empty).unwrap();
    let message = |path: &Path| {
        let error = export(&dataset, &settings, path).unwrap_err();
        error.to_string().replace(&project.path().display().to_string(), "")
    };
    assert_eq!(message(&empty), "`/empty` is not empty");
    fs::write(project.path().join("file"), "").unwrap();
    assert_eq!(message(&project.path().join("file")), "`/file` is no folder");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(project.path().join("elsewhere"), project.path().join("link")).unwrap();
        assert_eq!(message(&project.path().join("link")), "`/link` is no folder");
    }
}

#[test]
fn nothing_is_left_of_an_export_that_fails() {
    let project = tempfile::tempdir().unwrap();
    let only =
        Draft { train: vec![positive("Add a mail service", "class MailService: ...\n")], ..Draft::default() };
    let dataset = dataset(project.path(), &only);
    let output = project.path().join("out");
    let error = export(&dataset, &ExportSettings::new(Layout::TrlDpo), &output).unwrap_err();
    assert_eq!(error.to_string(), "no example of `train` can be written as `trl-dpo`");
    let left: Vec<_> =
        fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".grail"]);
}

#[test]
fn a_tiny_dataset_fills_a_batch() {
    let tiny = Draft {
        train: vec![positive("Add a mail service", "class MailService: ...\n")],
        valid: vec![positive("Add a clock", "class ClockService: ...\n")],
        ..Draft::default()
    };
    let lines = |file| rows(&ExportSettings::new(Layout::Mlx), &tiny, file).lines().count();
    assert_eq!((lines("train.jsonl"), lines("valid.jsonl")), (4, 4));
}

#[test]
fn rows_that_differ_from_the_first_are_refused() {
    let form = ChatForm { system_prompt: "S".to_owned(), ..ChatForm::default() };
    let turn = |role: &str, content: &str| json!({"role": role, "content": content});
    let chat = json!({"messages": [turn("system", "S"), turn("user", "a"), turn("assistant", "b")]});
    let problem =
        |row: Json| check_rows(Layout::Mlx, &form, [chat.clone(), row].iter()).unwrap_err().to_string();
    assert_eq!(
        problem(json!({"prompt": "a", "completion": "b"})),
        "line 2: the row has the fields `prompt`, `completion`, the first one `messages`"
    );
    assert_eq!(
        problem(json!({"messages": [turn("system", "other"), turn("user", "a"), turn("assistant", "b")]})),
        "line 2: the first message is not the system prompt of the dataset"
    );
    assert_eq!(
        problem(json!({"messages": [turn("system", "S"), turn("assistant", "b")]})),
        "line 2: message 2 is of `assistant`; it is `user`'s turn"
    );
    assert_eq!(
        problem(json!({"messages": [turn("system", "S"), turn("user", "a")]})),
        "line 2: the last message is not of `assistant`"
    );
    assert_eq!(check_rows(Layout::Mlx, &form, [chat.clone(), chat].iter()), Ok(()));
}

#[test]
fn calls_are_left_out_where_a_layout_has_no_word_for_them() {
    let project = tempfile::tempdir().unwrap();
    let mixed = Draft { train: vec![calling("Rename it"), draft().train[0].clone()], ..Draft::default() };
    let report = export(
        &dataset(project.path(), &mixed),
        &ExportSettings::new(Layout::Mlx),
        &project.path().join("out"),
    );
    assert_eq!(json!(report.unwrap().card.left_out), json!({"its answer is calls of tools": 1}));
}
