//! Built-in names that the engine has pass the type check, also those that its checker's own stubs forgot.

use serde_json::json;

use crate::support::{context, shown};

#[tokio::test]
async fn what_the_engine_has_is_not_refused_by_the_checker() {
    let context = context().await;
    for (code, value) in [
        ("list(map(str, [1, 2]))", "['1', '2']"),
        ("filter(None, [0, 1])", "[1]"),
        (
            "class Point:\n    pass\n\npoint = Point()\nsetattr(point, 'x', 1)\n(getattr(point, 'x'), hasattr(point, 'y'))",
            "(1, False)",
        ),
        ("try:\n    raise ImportError('x')\nexcept ImportError:\n    pass\n1", "1"),
        ("try:\n    b'\\xff'.decode()\nexcept UnicodeDecodeError:\n    return 'no text'\n1", "'no text'"),
        ("try:\n    open('/etc/passwd')\nexcept PermissionError:\n    return 'no files'\n1", "'no files'"),
        (
            "def raises() -> int:\n    raise FileNotFoundError('x')\n\ntry:\n    raises()\nexcept OSError as error:\n    return str(error)\n1",
            "'x'",
        ),
    ] {
        assert_eq!(shown(&context.execute(code, json!({})).await), value, "{code}");
    }
}

#[tokio::test]
async fn a_program_may_have_names_of_its_own_for_them() {
    let context = context().await;
    let code =
        "def map(x: int) -> int:\n    return x\n\nclass PermissionError:\n    pass\n\nopen = 3\nmap(open)";
    assert_eq!(shown(&context.execute(code, json!({})).await), "3");
}
