//! The tools agents call by name: typed results, and an error instead of an empty success.

use grail_code::tools::{cst_add_import, cst_rename};

#[test]
fn renaming_counts_its_replacements() {
    let source = "def check(email):\n    return email\n\n\ndef f(check=check):\n    return check\n";
    let result = cst_rename(source, "check", "validate");
    assert_eq!(
        result.new_source,
        "def validate(email):\n    return email\n\n\ndef f(check=validate):\n    return check\n"
    );
    assert_eq!((result.changed, result.replacements, result.error), (true, 2, None));
}

#[test]
fn an_imported_name_is_renamed_by_alias_and_a_local_one_if_it_is_alone() {
    let result = cst_rename("from m import a\na()\n", "a", "b");
    assert_eq!(result.new_source, "from m import a as b\nb()\n");
    let result = cst_rename("def f():\n    x = 1\n    return x\n", "x", "y");
    assert_eq!(result.new_source, "def f():\n    y = 1\n    return y\n");
    let result = cst_rename("class A:\n    def m(self): return self.m()\n", "A.m", "n");
    assert_eq!(result.new_source, "class A:\n    def n(self): return self.n()\n");
}

#[test]
fn what_cannot_be_renamed_says_why_and_changes_nothing() {
    for (source, old, new, error) in [
        ("x = 1\n", "y", "z", "nothing is called `y`"),
        ("x = 1\n", "x", "if", "`if` is not a valid name: it is a keyword"),
        ("x = 1\ny = 2\n", "x", "y", "cannot rename `x` to `y`: the source:2:1 already binds `y`"),
        ("def f(a): ...\ndef g(a): ...\n", "a", "b", "`a` names different things in several scopes"),
        ("x = (\n", "x", "y", "`the source` does not parse at 2:1: unexpected EOF while parsing"),
    ] {
        let result = cst_rename(source, old, new);
        assert_eq!((result.changed, result.new_source.as_str()), (false, source));
        assert_eq!(result.error.as_deref(), Some(error));
    }
}

#[test]
fn an_import_is_added_once() {
    let result = cst_add_import("\"\"\"Doc.\"\"\"\nfrom typing import List\n", "typing", Some("Any"), None);
    assert_eq!(result.new_source, "\"\"\"Doc.\"\"\"\nfrom typing import Any, List\n");
    assert_eq!((result.added, result.error), (true, None));
    let again = cst_add_import(&result.new_source, "typing", Some("Any"), None);
    assert_eq!((again.added, again.new_source, again.error), (false, result.new_source, None));
    let aliased = cst_add_import("np.zeros(1)\n", "numpy", None, Some("np"));
    assert_eq!(aliased.new_source, "import numpy as np\n\nnp.zeros(1)\n");
    let relative = cst_add_import("", "..models", Some("User"), None);
    assert_eq!(relative.new_source, "from ..models import User\n");
}

#[test]
fn what_cannot_be_imported_says_why_and_changes_nothing() {
    for (source, module, name, error) in [
        ("", "a-b", None, "`import a-b` is not a module or name that can be imported"),
        ("", "", None, "`` is not a module that can be imported"),
        ("x = 1\n", "m", Some("x"), "cannot import `x`: line 1 already binds it to something else"),
        ("x = (\n", "os", None, "the source does not parse: line 2, column 1: unexpected EOF while parsing"),
    ] {
        let result = cst_add_import(source, module, name, None);
        assert_eq!((result.added, result.new_source.as_str()), (false, source));
        assert_eq!(result.error.as_deref(), Some(error));
    }
}
