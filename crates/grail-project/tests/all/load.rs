//! A whole project in memory, and its edits on the way back to disk.

use grail_code::{Edit, FileEdits, Span};
use grail_project::{Project, WalkOptions, load_project, unified_diff, walk_python_files};

use crate::scratch::Scratch;

#[test]
fn files_that_are_wanted_are_parsed_and_named() {
    let scratch = Scratch::new(&[
        ("grail.toml", ""),
        ("src/shop/__init__.py", "from shop.cart import total\n"),
        ("src/shop/cart.py", "def total(): ...\n"),
        ("src/shop/other.py", "a = 1\n"),
        ("tests/test_cart.py", "import shop.cart as c\nc.total()\n"),
    ]);
    scratch.write("src/shop/broken.py", b"\x00");
    let project = Project::discover(scratch.root()).unwrap();
    let options = WalkOptions { root: project.root.clone(), exclude: vec![] };
    let walked = walk_python_files(&[scratch.root().to_owned()], &options).unwrap();

    let loaded = load_project(&project, &walked.files, &|_| (), |_, text| text.contains("total"));

    let names: Vec<(&str, &str)> =
        loaded.project.files.iter().map(|file| (file.path.as_str(), file.module.name.as_str())).collect();
    assert_eq!(
        names,
        [
            ("src/shop/__init__.py", "shop"),
            ("src/shop/cart.py", "shop.cart"),
            ("tests/test_cart.py", "tests.test_cart")
        ]
    );
    assert_eq!(loaded.problems.len(), 1);

    let edits = vec![Edit::replace(Span::new(4, 9), "sum")];
    let changes = loaded.changes(vec![FileEdits { path: "src/shop/cart.py".to_owned(), edits }]).unwrap();
    let diff = unified_diff(&changes.changes[0]);
    assert!(diff.ends_with("@@ -1 +1 @@\n-def total(): ...\n+def sum(): ...\n"), "{diff}");
}
