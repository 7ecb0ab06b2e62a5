//! Definitions, references, hover: by our own names, and by `ty server` where it is installed.

use serde_json::{Value as Json, json};

use super::{Bench, SHOP, with_tools};

fn places(answer: &Json) -> Vec<String> {
    let places = answer["places"].as_array().unwrap().iter();
    places
        .map(|place| format!("{}:{}:{}", place["path"].as_str().unwrap(), place["line"], place["column"]))
        .collect()
}

/// A bench that finds no `ty`, whatever is on `PATH`.
fn without_ty() -> Option<Bench> {
    let has_ty = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join("ty").is_file()));
    if has_ty {
        eprintln!("skipped: `ty` is on PATH and would answer");
    }
    (!has_ty).then(Bench::shop)
}

#[tokio::test]
async fn definitions_by_our_own_names() {
    let Some(bench) = without_ty() else { return };
    let answer =
        bench.ok("goto_definition", json!({"path": "shop/web.py", "line": 5, "name": "price"})).await;
    assert_eq!(answer["answered_by"], json!("grail"));
    assert_eq!(places(&answer), ["shop/core.py:11:5"]);
    assert_eq!(answer["places"][0]["text"], json!("def price(order: Order) -> float:"));
    let answer = bench.ok("goto_definition", json!({"path": "shop/core.py", "line": 11, "column": 18})).await;
    assert_eq!(places(&answer), ["shop/core.py:4:7"]);
    let said = bench.err("goto_definition", json!({"path": "shop/web.py", "line": 5, "name": "str"})).await;
    assert!(said.starts_with("nothing in the project says what `str` is"), "{said}");
}

#[tokio::test]
async fn definitions_behind_reexports_and_what_is_staged() {
    let Some(bench) = without_ty() else { return };
    bench
        .ok(
            "write_file",
            json!({"path": "shop/__init__.py", "text": "from shop.core import price as cost\n"}),
        )
        .await;
    bench.ok("write_file", json!({"path": "use.py", "text": "import shop\n\nprint(shop.cost)\n"})).await;
    let answer = bench.ok("goto_definition", json!({"path": "use.py", "line": 3, "name": "cost"})).await;
    assert_eq!(places(&answer), ["shop/core.py:11:5"]);
    bench.ok("write_file", json!({"path": "a.py", "text": "from b import x\n"})).await;
    bench.ok("write_file", json!({"path": "b.py", "text": "from a import x\n"})).await;
    assert!(bench.call("goto_definition", json!({"path": "a.py", "line": 1, "name": "x"})).await.is_ok());
}

#[tokio::test]
async fn references_by_our_own_names() {
    let Some(bench) = without_ty() else { return };
    let answer =
        bench.ok("find_references", json!({"path": "shop/core.py", "line": 11, "name": "price"})).await;
    assert_eq!(places(&answer), ["shop/core.py:11:5", "shop/web.py:1:30", "shop/web.py:5:16"]);
}

#[tokio::test]
async fn hover_by_our_own_names() {
    let Some(bench) = without_ty() else { return };
    let answer = bench.ok("hover", json!({"path": "shop/web.py", "line": 5, "name": "price"})).await;
    assert_eq!(
        answer,
        json!({"text": "def price(order: Order) -> float\n\nWhat it costs.\n\nWith taxes.", "answered_by": "grail"})
    );
}

#[tokio::test]
async fn the_server_answers_where_it_is_installed() {
    let Some(bench) = with_tools("ty", &SHOP) else { return };
    let spot = json!({"path": "shop/core.py", "line": 16, "name": "total"});
    let answer = bench.ok("hover", spot.clone()).await;
    assert_eq!(answer["answered_by"], json!("ty"), "{answer}");
    assert!(answer["text"].as_str().unwrap().contains("Order.total"), "{answer}");
    let answer = bench.ok("goto_definition", spot.clone()).await;
    assert_eq!(
        (places(&answer), &answer["answered_by"]),
        (vec!["shop/core.py:7:9".to_owned()], &json!("ty"))
    );
    let answer = bench.ok("find_references", spot).await;
    assert_eq!(places(&answer), ["shop/core.py:7:9", "shop/core.py:16:18"]);
    // What is staged afterwards, and what changes on disk, is seen.
    bench
        .ok(
            "write_file",
            json!({"path": "shop/late.py", "text": "from shop.core import Order\n\nOrder().total()\n"}),
        )
        .await;
    let answer =
        bench.ok("goto_definition", json!({"path": "shop/late.py", "line": 3, "name": "total"})).await;
    assert_eq!(places(&answer), ["shop/core.py:7:9"]);
    let moved = format!("# moved\n{}", SHOP[1].1);
    crate::sample::write(bench.sample.root(), "shop/core.py", &moved);
    let answer =
        bench.ok("goto_definition", json!({"path": "shop/late.py", "line": 3, "name": "total"})).await;
    assert_eq!(places(&answer), ["shop/core.py:8:9"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_misbehaves_is_not_asked_again() {
    use std::os::unix::fs::PermissionsExt;
    let bodies = [
        "exit 1",
        "head -c 100000 /dev/zero",
        "printf 'Content-Length: 99999999999\\r\\n\\r\\n'",
        "printf 'Content-Length: 3\\r\\n\\r\\n{x}'",
    ];
    for body in bodies {
        let bench = Bench::shop();
        crate::sample::write(bench.sample.root(), ".venv/bin/ty", &format!("#!/bin/sh\n{body}\n"));
        let program = bench.sample.root().join(".venv/bin/ty");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let answer =
            bench.ok("goto_definition", json!({"path": "shop/web.py", "line": 5, "name": "price"})).await;
        assert_eq!(answer["answered_by"], json!("grail"), "{body}");
    }
}

#[tokio::test]
async fn places_that_are_none() {
    let bench = Bench::shop();
    for (spot, says) in [
        (json!({"path": "shop/core.py", "line": 99}), "has no such line"),
        (json!({"path": "shop/core.py", "line": 0}), "has no such line"),
        (json!({"path": "shop/core.py", "line": 11, "column": 999}), "has no such line"),
        (json!({"path": "shop/core.py", "line": 11, "name": "nothing"}), "does not mention `nothing`"),
        (json!({"path": "shop/core.py", "line": 11, "name": "rice"}), "does not mention `rice`"),
        (json!({"path": "shop/core.py", "line": 11, "name": "a\u{1b}b"}), "does not mention"),
        (json!({"path": "shop/core.py", "line": 2}), "there is no name at shop/core.py:2:1"),
        (json!({"path": "README.md", "line": 1}), "is no Python file"),
    ] {
        for tool in ["goto_definition", "find_references", "hover"] {
            let said = bench.err(tool, spot.clone()).await;
            assert!(said.contains(says), "{spot}: {said}");
        }
    }
}
