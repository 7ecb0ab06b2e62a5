//! `grail code refactor`: thin, so one example each, and the mistakes.

use crate::scratch::Scratch;

const SHOP: &[(&str, &str)] = &[
    ("grail.toml", ""),
    ("shop/__init__.py", ""),
    ("shop/core.py", "def price(item, tax=0.2):\n    return item * (1 + tax)\n"),
    ("shop/cart.py", "from shop.core import price\n\ntotal = price(1, 0.5)\nprint(map(price, [1]))\n"),
];

fn run(scratch: &Scratch, arguments: &[&str]) -> String {
    scratch.run(&[&["code", "refactor"], arguments].concat())
}

#[test]
fn a_parameter_is_added_with_its_calls() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        run(&scratch, &["add-parameter", "shop.core.price", "currency", "--value", "'EUR'", "--write"]),
        "\
! shop/cart.py: line 4: may call the function too; left as it is
! changed 2 files
exit 0
"
    );
    assert!(scratch.read("shop/core.py").starts_with("def price(item, currency, tax=0.2):\n"));
    assert!(scratch.read("shop/cart.py").contains("\ntotal = price(1, 'EUR', 0.5)\n"));
}

#[test]
fn a_parameter_is_removed_with_its_arguments() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        run(&scratch, &["remove-parameter", "shop/core.py:1:5", "tax"]),
        "\
! error: shop/core.py:2:24: the parameter `tax` is used here
! hint: remove the use first, or force the removal
exit 2
"
    );
    assert_eq!(
        run(&scratch, &["remove-parameter", "shop/core.py:1:5", "tax", "--force"]),
        "\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,4 +1,4 @@
 from shop.core import price
 
-total = price(1, 0.5)
+total = price(1)
 print(map(price, [1]))
--- a/shop/core.py
+++ b/shop/core.py
@@ -1,2 +1,2 @@
-def price(item, tax=0.2):
+def price(item):
     return item * (1 + tax)
! shop/cart.py: line 4: may call the function too; left as it is
! 2 files would change; `--write` applies it
exit 0
"
    );
}

#[test]
fn parameters_become_keyword_only() {
    let scratch = Scratch::new(SHOP);
    run(&scratch, &["keyword-only", "shop.core.price", "tax", "--write"]);
    assert!(scratch.read("shop/core.py").starts_with("def price(item, *, tax=0.2):\n"));
    assert!(scratch.read("shop/cart.py").contains("\ntotal = price(1, tax=0.5)\n"));
}

#[test]
fn a_selection_becomes_a_function() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        run(&scratch, &["extract-function", "shop/core.py:2:12-2:27", "gross"]),
        "\
--- a/shop/core.py
+++ b/shop/core.py
@@ -1,2 +1,6 @@
+def gross(item, tax):
+    return item * (1 + tax)
+
+
 def price(item, tax=0.2):
-    return item * (1 + tax)
+    return gross(item, tax)
! 1 file would change; `--write` applies it
exit 0
"
    );
    assert_eq!(
        run(&scratch, &["extract-function", "shop/core.py:12", "gross"]),
        "\
! error: `shop/core.py:12` is not a selection
! hint: write `path/to/file.py:FIRST-LAST` or `path/to/file.py:LINE:COLUMN-LINE:COLUMN`
exit 2
"
    );
    assert_eq!(
        run(&scratch, &["extract-function", "shop/core.py:12-14", "gross"]),
        "! error: `shop/core.py` has no such place as `shop/core.py:12-14`\nexit 2\n"
    );
}

#[test]
fn a_stub_gives_its_annotations() {
    let scratch = Scratch::new(SHOP);
    std::fs::write(scratch.path("shop/core.pyi"), "def price(item: float, tax: float = ...) -> float: ...\n")
        .unwrap();
    assert_eq!(run(&scratch, &["apply-stub", "shop/core.pyi", "--write"]), "! changed 1 file\nexit 0\n");
    assert!(scratch.read("shop/core.py").starts_with("def price(item: float, tax: float = 0.2) -> float:\n"));
}

#[test]
fn an_unknown_function_is_an_error() {
    assert_eq!(
        run(&Scratch::new(SHOP), &["keyword-only", "shop.core.cost", "tax"]),
        "\
! error: the project defines no function `shop.core.cost`
! hint: name it as it is imported: `package.module.function` or `package.module.Class.method`
exit 2
"
    );
}
