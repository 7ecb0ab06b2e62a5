//! `check` and `fix`: the project's rules over what would be.

use serde_json::json;

use super::Bench;

/// A project that uses svcs, with a service that takes its dependencies by position.
const SERVICE: [(&str, &str); 2] = [
    ("pyproject.toml", "[project]\nname = \"shop\"\nversion = \"1\"\ndependencies = [\"svcs>=26\"]\n"),
    (
        "services/mail.py",
        "class MailService:\n    def __init__(self, host: str) -> None:\n        self._host = host\n",
    ),
];

/// A project that uses tdom, with a component that does not say what it returns.
const COMPONENT: [(&str, &str); 2] = [
    ("pyproject.toml", "[project]\nname = \"shop\"\nversion = \"1\"\ndependencies = [\"tdom>=0.1.20\"]\n"),
    (
        "components/card.py",
        "\"\"\"A card.\"\"\"\n\n\ndef Card(*, name: str):\n    \"\"\"Shows a name.\"\"\"\n    return t\"<b>{name}</b>\"\n",
    ),
];

#[tokio::test]
async fn problems_have_places_and_hints() {
    let bench = Bench::new(&SERVICE);
    let checked = bench.ok("check", json!({"paths": ["services/mail.py"]})).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&checked).unwrap(), @r#"
        {
          "success": false,
          "files": 1,
          "problems": [
            {
              "path": "services/mail.py",
              "line": 2,
              "column": 24,
              "layer": "rules",
              "rule": "keyword-only-dependencies",
              "message": "`MailService` takes `host: str` by position",
              "hint": "Make the parameters keyword-only"
            }
          ],
          "more_problems": 0,
          "fixable": 0,
          "notes": []
        }
        "#);
}

#[tokio::test]
async fn the_whole_project_is_checked_with_what_is_staged() {
    let bench = Bench::new(&SERVICE);
    let before = bench.ok("check", json!({})).await;
    assert_eq!((&before["files"], before["problems"].as_array().unwrap().len()), (&json!(1), 1));
    bench.ok("write_file", json!({"path": "services/broken.py", "text": "def (\n"})).await;
    let after = bench.ok("check", json!({})).await;
    assert_eq!(after["files"], json!(2));
    assert_eq!(after["problems"][0]["path"], json!("services/broken.py"));
    assert_eq!(after["problems"][0]["layer"], json!("syntax"));
    let folder = bench.ok("check", json!({"paths": ["services"]})).await;
    assert_eq!(folder["files"], json!(2));
    assert!(
        bench.err("check", json!({"paths": ["nowhere.py"]})).await.starts_with("`nowhere.py` does not exist")
    );
}

#[tokio::test]
async fn fixes_are_staged() {
    let bench = Bench::new(&COMPONENT);
    let fixed = bench.ok("fix", json!({"paths": ["components"]})).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&fixed).unwrap(), @r#"
    {
      "changed": [
        {
          "path": "components/card.py",
          "fixes": 1
        }
      ],
      "fixed": {
        "component-return-annotation": 1
      },
      "problems": [],
      "more_problems": 0,
      "diff": "--- a/components/card.py\n+++ b/components/card.py\n@@ -1,6 +1,8 @@\n \"\"\"A card.\"\"\"\n \n+from string.templatelib import Template\n+\n \n-def Card(*, name: str):\n+def Card(*, name: str) -> Template:\n     \"\"\"Shows a name.\"\"\"\n     return t\"<b>{name}</b>\"\n"
    }
    "#);
    assert_eq!(bench.sample.read("components/card.py").as_deref(), Some(COMPONENT[1].1));
    assert_eq!(bench.ok("check", json!({"paths": ["components/card.py"]})).await["success"], json!(true));
    assert_eq!(bench.ok("fix", json!({})).await["changed"], json!([]));
}

#[tokio::test]
async fn too_many_paths_are_refused() {
    let bench = Bench::shop();
    let paths = vec!["shop/core.py"; 300];
    assert!(bench.err("check", json!({"paths": paths})).await.starts_with("300 paths are too many"));
}
