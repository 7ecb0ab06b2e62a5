//! Imports: added where they belong, removed when nothing uses them.

use grail_code::imports::{
    ImportError, ImportRequest, UnusedOptions, add, add_all, remove_if_unused, remove_unused, unused,
};
use grail_code::{ModuleName, Semantic, Source, edit, parse_module};

#[track_caller]
fn added(before: &str, request: &str) -> String {
    let parsed = parse_module(Source::from_text(before));
    assert!(parsed.is_valid(), "{:?}", parsed.diagnostics());
    let semantic = Semantic::of_module(&parsed, ModuleName::module("shop.web.views"));
    let edits = add(&semantic, &ImportRequest::parse(request).expect("a request")).expect("it can be added");
    let after = edit::apply(before, edits).expect("no conflict");
    assert!(parse_module(Source::from_text(after.as_str())).is_valid(), "{after}");
    after
}

#[track_caller]
fn check_add(before: &str, request: &str, after: &str) {
    assert_eq!(added(before, request), after);
    assert_eq!(added(after, request), after, "adding twice changes nothing");
}

#[test]
fn an_empty_file_gets_the_import_alone() {
    check_add("", "os", "import os\n");
}

#[test]
fn an_import_goes_behind_docstring_and_future() {
    check_add("\"\"\"Doc.\"\"\"\nx = 1\n", "os", "\"\"\"Doc.\"\"\"\n\nimport os\n\nx = 1\n");
    check_add("\"\"\"Doc.\"\"\"\n\nx = 1\n", "os", "\"\"\"Doc.\"\"\"\n\nimport os\n\nx = 1\n");
    check_add("\"\"\"Doc.\"\"\"", "os", "\"\"\"Doc.\"\"\"\n\nimport os");
    check_add(
        "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n\nx = 1\n",
        "os",
        "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n\nimport os\n\nx = 1\n",
    );
    check_add("import os\n", "__future__:annotations", "from __future__ import annotations\n\nimport os\n");
}

#[test]
fn an_import_goes_behind_shebang_encoding_and_licence() {
    check_add("#!/usr/bin/env python\nx = 1\n", "os", "#!/usr/bin/env python\nimport os\n\nx = 1\n");
    check_add(
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Licence: MIT\n\ndef f(): ...\n",
        "os",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Licence: MIT\n\nimport os\n\n\ndef f(): ...\n",
    );
    check_add("# about f\ndef f(): ...\n", "os", "import os\n\n\n# about f\ndef f(): ...\n");
}

#[test]
fn sections_are_grouped_as_isort_does() {
    let before = "import os\nimport sys\n\nimport requests\n\nfrom shop import core\n\nfrom . import forms\n";
    check_add(before, "re", &before.replace("import os\nimport sys", "import os\nimport re\nimport sys"));
    check_add(before, "abc", &format!("import abc\n{before}"));
    check_add(before, "attrs", &before.replace("import requests", "import attrs\nimport requests"));
    check_add(before, "typing:Any", &before.replace("import sys\n", "import sys\nfrom typing import Any\n"));
    check_add(
        before,
        "shop.db:Row",
        &before.replace("import core\n", "import core\nfrom shop.db import Row\n"),
    );
    check_add(
        before,
        "..models:User",
        &before.replace("from . import", "from ..models import User\nfrom . import"),
    );
    check_add("import os\n\nx = 1\n", "requests", "import os\n\nimport requests\n\nx = 1\n");
    check_add("import requests\n\nx = 1\n", "os", "import os\n\nimport requests\n\nx = 1\n");
}

#[test]
fn names_merge_into_an_existing_from_import() {
    check_add(
        "from typing import Any, Optional\n",
        "typing:List",
        "from typing import Any, List, Optional\n",
    );
    check_add("from typing import Zzz, Aaa\n", "typing:List", "from typing import Zzz, Aaa, List\n");
    check_add("from typing import (Any)\n", "typing:List as L", "from typing import (Any, List as L)\n");
    check_add(
        "from typing import (\n    Any,  # why\n    Union,  # because\n)\n",
        "typing:Zoo",
        "from typing import (\n    Any,  # why\n    Union,  # because\n    Zoo,\n)\n",
    );
    check_add(
        "from typing import (\n    Any,\n    Union\n)\n",
        "typing:Dict",
        "from typing import (\n    Any,\n    Dict,\n    Union\n)\n",
    );
    check_add("from . import a\n", "shop.web:b", "from . import a, b\n");
    check_add("from typing import *\n", "typing:Any", "from typing import *\nfrom typing import Any\n");
}

#[test]
fn a_merged_line_that_becomes_too_long_is_wrapped() {
    let long = "from package.module import first_quite_long_name, second_quite_long_name\n";
    check_add(
        long,
        "package.module:third_quite_long_name",
        "from package.module import (\n    first_quite_long_name,\n    second_quite_long_name,\n    third_quite_long_name,\n)\n",
    );
}

#[test]
fn what_is_there_is_not_added_again() {
    for (text, request) in [
        ("import os\n", "os"),
        ("import os.path\n", "os.path"),
        ("from a import b as c\n", "a:b as c"),
        ("try:\n    import json\nexcept ImportError:\n    json = None\n", "json"),
    ] {
        assert_eq!(added(text, request), text);
    }
    // At run time a typing-only import is not there.
    check_add(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from a import B\n",
        "a:B",
        "from typing import TYPE_CHECKING\n\nfrom a import B\n\nif TYPE_CHECKING:\n    from a import B\n",
    );
}

#[test]
fn a_name_that_means_something_else_is_refused() {
    let parsed = parse_module(Source::from_text("def join(): ...\n"));
    let error = add(&Semantic::new(&parsed), &ImportRequest::name("os.path", "join")).expect_err("taken");
    assert_eq!(error.to_string(), "cannot import `join`: line 1 already binds it to something else");
    for request in ["", "os path", "1a", "from . import", "a:class", ":x", "a..b"] {
        assert!(matches!(ImportRequest::parse(request), Err(ImportError::Invalid { .. })), "{request}");
    }
}

#[test]
fn line_endings_and_several_requests() {
    check_add("import os\r\nx = 1\r\n", "re", "import os\r\nimport re\r\nx = 1\r\n");
    let requests: Vec<_> = ["requests", "os", "typing:Any", "typing:List", ".a:b"]
        .into_iter()
        .map(|text| ImportRequest::parse(text).expect("a request"))
        .collect();
    assert_eq!(
        add_all("x = 1\n", &ModuleName::default(), &requests).expect("added"),
        "import os\nfrom typing import Any, List\n\nimport requests\n\nfrom .a import b\n\nx = 1\n"
    );
}

#[track_caller]
fn check_unused(before: &str, after: &str) {
    let parsed = parse_module(Source::from_text(before));
    assert!(parsed.is_valid(), "{:?}", parsed.diagnostics());
    let edits = remove_unused(&Semantic::new(&parsed), &UnusedOptions::default());
    let result = edit::apply(before, edits).expect("no conflict");
    assert_eq!(result, after);
    assert!(parse_module(Source::from_text(result)).is_valid());
}

#[test]
fn unused_imports_go_with_their_lines() {
    check_unused("import os\nimport sys\nsys.exit()\n", "import sys\nsys.exit()\n");
    check_unused("import os, sys, re\nsys.exit()\n", "import sys\nsys.exit()\n");
    check_unused("from a import b, c, d\nb, d\n", "from a import b, d\nb, d\n");
    check_unused(
        "from a import (\n    b,\n    c,  # gone\n    d,\n)\nb, d\n",
        "from a import (\n    b,\n    d,\n)\nb, d\n",
    );
    check_unused("from a import (\n    b,\n    c,\n)\nb\n", "from a import (\n    b,\n)\nb\n");
    check_unused("import a; import b; b()\n", "import b; b()\n");
    check_unused("b = 1; import a\nb\n", "b = 1\nb\n");
    check_unused("def f():\n    import a\n", "def f():\n    pass\n");
    check_unused(
        "def f():\n    import a\n    import b\n    return b\n",
        "def f():\n    import b\n    return b\n",
    );
}

#[test]
fn imports_with_a_purpose_stay() {
    for text in [
        "from __future__ import annotations\n",
        "import a as a\n",
        "from a import b as b\n",
        "try:\n    import a\nexcept ImportError:\n    HAS_A = False\n",
        "from a import b\n__all__ = ['b']\n",
        "import a  # noqa\n",
        "import a  # noqa: F401\n",
        "from a import *\n",
        "from a import B\ndef f(x: 'B'): ...\n",
        "import a\ndel a\n",
        "class A:\n    import b\n",
        "import a as m\nimport a.b\nm.b.c()\n",
        "from . import console\nclass A:\n    console: console.Console\n",
    ] {
        check_unused(text, text);
    }
}

#[test]
fn an_emptied_typing_block_goes_too() {
    check_unused(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from a import B\n    from c import D\n\nx = 1\n",
        "from typing import TYPE_CHECKING\n\nx = 1\n",
    );
}

#[test]
fn removal_on_request_spares_what_is_used() {
    let text = "from typing import List, Dict\nimport os\nx: List = os\n";
    let parsed = parse_module(Source::from_text(text));
    let semantic = Semantic::new(&parsed);
    let removed = |request: &str| {
        let edits = remove_if_unused(&semantic, &ImportRequest::parse(request).expect("a request"));
        edit::apply(text, edits).expect("no conflict")
    };
    assert_eq!(removed("typing:List"), text);
    assert_eq!(removed("os"), text);
    assert_eq!(removed("typing:Dict"), "from typing import List\nimport os\nx: List = os\n");
}

#[test]
fn packages_are_left_alone_unless_asked() {
    let parsed = parse_module(Source::from_text("from .a import b\n"));
    let semantic = Semantic::of_module(&parsed, ModuleName::package("shop"));
    assert_eq!(unused(&semantic, &UnusedOptions::default()), []);
    let all = unused(&semantic, &UnusedOptions { include_packages: true });
    assert_eq!(all[0].imported, "shop.a.b");
}
