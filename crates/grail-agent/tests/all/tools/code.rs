//! Patterns, symbols, renames and imports.

use serde_json::json;

use super::Bench;

#[tokio::test]
async fn a_pattern_is_code_or_data() {
    let bench = Bench::shop();
    let as_code = bench.ok("cst_find_pattern", json!({"path": ".", "pattern": "price($ARGUMENT)"})).await;
    assert_eq!(
        as_code,
        json!({"matches": [{
            "path": "shop/web.py", "line": 5, "column": 16, "end_line": 5, "node_type": "Call", "source": "price(Order())",
            "captures": {"ARGUMENT": ["Order()"]}
        }], "more": 0, "broken": []})
    );
    let as_data = bench
        .ok("cst_find_pattern", json!({"path": "shop/web.py", "pattern": {"type": "Call", "func": "price"}}))
        .await;
    assert_eq!(as_data["matches"][0]["line"], json!(5));
    let in_folder = bench
        .ok("cst_find_pattern", json!({"path": "shop", "pattern": "def $F($$$): $$$", "limit": 1}))
        .await;
    assert_eq!((in_folder["matches"].as_array().unwrap().len(), &in_folder["more"]), (1, &json!(2)));
}

#[tokio::test]
async fn patterns_that_make_no_sense_are_explained() {
    let bench = Bench::shop();
    assert!(
        bench
            .err("cst_find_pattern", json!({"path": ".", "pattern": "def ("}))
            .await
            .starts_with("invalid pattern")
    );
    assert!(
        bench
            .err("cst_find_pattern", json!({"path": ".", "pattern": {"type": "Nonsense"}}))
            .await
            .starts_with("invalid pattern")
    );
    let long = "x".repeat(20_000);
    assert!(
        bench
            .err("cst_find_pattern", json!({"path": ".", "pattern": long}))
            .await
            .starts_with("the pattern is too long")
    );
    let mut deep = json!("x");
    for _ in 0..2_000 {
        deep = json!({"not": deep});
    }
    assert!(bench.call("cst_find_pattern", json!({"path": ".", "pattern": deep})).await.is_err());
    assert!(
        bench
            .err("cst_find_pattern", json!({"path": "nowhere", "pattern": "x"}))
            .await
            .starts_with("`nowhere` does not exist")
    );
}

#[tokio::test]
async fn staged_and_broken_code_is_searched() {
    let bench = Bench::shop();
    bench.ok("write_file", json!({"path": "shop/new.py", "text": "print(1\nprint(2)\n"})).await;
    let found = bench.ok("cst_find_pattern", json!({"path": ".", "pattern": "print($$$)"})).await;
    assert_eq!(found["broken"], json!(["shop/new.py"]));
}

#[tokio::test]
async fn a_rename_follows_imports_and_is_staged() {
    let bench = Bench::shop();
    let arguments = json!({"path": "shop/core.py", "old_name": "price", "new_name": "cost"});
    let renamed = bench.ok("cst_rename", arguments).await;
    assert_eq!(renamed["files"], json!(["shop/core.py", "shop/web.py"]));
    assert_eq!(renamed["replacements"], json!(3));
    insta::assert_snapshot!(renamed["diff"].as_str().unwrap(), @r#"
    --- a/shop/core.py
    +++ b/shop/core.py
    @@ -8,7 +8,7 @@
             return 1.0 + rate
     
     
    -def price(order: Order) -> float:
    +def cost(order: Order) -> float:
         """What it costs.
     
         With taxes.
    --- a/shop/web.py
    +++ b/shop/web.py
    @@ -1,5 +1,5 @@
    -from shop.core import Order, price
    +from shop.core import Order, cost
     
     
     def show() -> str:
    -    return str(price(Order()))
    +    return str(cost(Order()))
    "#);
    let sees_staged =
        bench.ok("cst_rename", json!({"path": "shop/web.py", "old_name": "show", "new_name": "page"})).await;
    assert_eq!(sees_staged["files"], json!(["shop/web.py"]));
    assert_eq!(bench.staged("shop/web.py").unwrap().lines().nth(4), Some("    return str(cost(Order()))"));
}

#[tokio::test]
async fn a_rename_that_would_collide_changes_nothing() {
    let bench = Bench::shop();
    for (old, new, says) in [
        ("price", "Order", "cannot rename `price` to `Order`"),
        ("price", "class", "`class` is not a valid name"),
        ("missing", "other", "nothing is called `missing`"),
        ("a b", "other", "the old name is no name"),
        ("price", "price", "already has that name"),
    ] {
        let said =
            bench.err("cst_rename", json!({"path": "shop/core.py", "old_name": old, "new_name": new})).await;
        assert!(said.contains(says), "{said}");
    }
    assert!(bench.workspace().staging.is_empty());
}

#[tokio::test]
async fn an_import_is_added_once() {
    let bench = Bench::shop();
    let arguments = json!({"path": "shop/web.py", "module": "collections.abc", "name": "Iterable"});
    let added = bench.ok("cst_add_import", arguments.clone()).await;
    assert_eq!(added["added"], json!(true));
    assert_eq!(
        bench.staged("shop/web.py").unwrap().lines().next(),
        Some("from collections.abc import Iterable")
    );
    assert_eq!(bench.ok("cst_add_import", arguments).await["added"], json!(false));
    for module in ["os\nimport sys", "os; print(1)", "", "a b", "1x"] {
        let result = bench.call("cst_add_import", json!({"path": "shop/core.py", "module": module})).await;
        assert!(result.is_err(), "{module:?}: {result:?}");
    }
}

#[tokio::test]
async fn symbols_of_a_file_and_of_the_project() {
    let bench = Bench::shop();
    let symbols = bench.ok("document_symbols", json!({"path": "shop/core.py"})).await;
    assert_eq!(
        symbols["symbols"][1],
        json!({
            "path": "shop/core.py", "kind": "method", "name": "total", "qualified_name": "Order.total",
            "signature": "def total(self, rate: float = 0.19) -> float", "line": 7, "end_line": 8, "summary": null
        })
    );
    bench.ok("write_file", json!({"path": "shop/late.py", "text": "class OrderBook:\n    pass\n"})).await;
    let found = bench.ok("workspace_symbols", json!({"query": "ORDER"})).await;
    let names: Vec<&str> =
        found["symbols"].as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Order", "OrderBook"]);
    assert!(
        bench.err("workspace_symbols", json!({"query": " "})).await.starts_with("the query says nothing")
    );
    assert!(
        bench
            .err("document_symbols", json!({"path": "README.md"}))
            .await
            .starts_with("`README.md` is no Python file")
    );
}
