//! `grail code imports`: add, remove, unused.

use crate::scratch::Scratch;

const SHOP: &[(&str, &str)] = &[
    ("grail.toml", ""),
    ("shop/__init__.py", "from shop.models import User\n"),
    (
        "shop/models.py",
        "\"\"\"Models.\"\"\"\nimport os\nimport sys  # for the path\nfrom typing import List, Optional\n\n\
         def first(users: List[str]) -> Optional[str]:\n    print(sys.path)\n",
    ),
    ("shop/views.py", "from .models import first\n\nfirst([])\n"),
];

#[test]
fn unused_imports_are_findings() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "imports", "unused"]),
        "\
shop/models.py:2:8: `os` is never used
! 1 unused import; `--write` removes them
exit 1
"
    );
    assert_eq!(
        scratch.run(&["code", "imports", "unused", "shop", "--packages"]),
        "\
shop/__init__.py:1:25: `shop.models.User` is never used
shop/models.py:2:8: `os` is never used
! 2 unused imports; `--write` removes them
exit 1
"
    );
}

#[test]
fn unused_imports_are_shown_as_a_diff_or_removed() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "imports", "unused", "--diff"]),
        "\
--- a/shop/models.py
+++ b/shop/models.py
@@ -1,5 +1,4 @@
 \"\"\"Models.\"\"\"
-import os
 import sys  # for the path
 from typing import List, Optional
 
! 1 file would change; `--write` applies it
exit 0
"
    );
    assert_eq!(scratch.run(&["code", "imports", "unused", "--fix"]), "! changed 1 file\nexit 0\n");
    assert_eq!(scratch.run(&["code", "imports", "unused"]), "! no unused imports\nexit 0\n");
}

#[test]
fn a_file_that_does_not_parse_is_skipped_with_a_word() {
    let scratch = Scratch::new(&[("a.py", "import os\nprint(os\n")]);
    assert_eq!(
        scratch.run(&["code", "imports", "unused"]),
        "\
! warning: skipped `a.py`, which does not parse: line 3: unexpected EOF while parsing
! no unused imports
exit 0
"
    );
}

#[test]
fn unused_imports_as_json() {
    let scratch = Scratch::new(&[("a.py", "import os\n")]);
    assert_eq!(
        scratch.run(&["code", "imports", "unused", "--format", "json"]),
        r#"{
  "unused": [
    {
      "path": "a.py",
      "line": 1,
      "column": 8,
      "imported": "os",
      "name": "os",
      "span": {
        "start": 7,
        "end": 9
      }
    }
  ],
  "skipped": [],
  "errors": []
}
exit 1
"#
    );
}

#[test]
fn an_import_is_added_where_it_belongs() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "imports", "add", "typing:Any", "shop/models.py", "--write"]),
        "! changed 1 file\nexit 0\n"
    );
    assert!(scratch.read("shop/models.py").contains("\nfrom typing import Any, List, Optional\n"));
    assert_eq!(
        scratch.run(&["code", "imports", "add", "typing:Any", "shop/models.py", "--check"]),
        "! nothing to change\nexit 0\n"
    );
}

#[test]
fn only_an_unused_import_is_removed() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "imports", "remove", "typing:List", "--check"]),
        "! nothing to change\nexit 0\n"
    );
    assert_eq!(
        scratch.run(&["code", "imports", "remove", "typing:List", "--even-if-used", "--write"]),
        "! changed 1 file\nexit 0\n"
    );
    assert!(scratch.read("shop/models.py").contains("\nfrom typing import Optional\n"));
}

#[test]
fn what_cannot_be_imported_is_an_error() {
    let scratch = Scratch::new(&[("a.py", "x = 1\n")]);
    assert_eq!(
        scratch.run(&["code", "imports", "add", "typing:class"]),
        "\
! error: `from typing import class` is not a module or name that can be imported
! hint: write `module`, `module:name`, `module:name as alias` or an import statement with one name
exit 2
"
    );
    assert_eq!(
        scratch.run(&["code", "imports", "add", "settings:x", "a.py"]),
        "\
! error: cannot change `a.py`: cannot import `x`: line 1 already binds it to something else
! nothing to change
exit 2
"
    );
}
