//! The index of a file, and what a project's indexes know together.

use grail_code::index::{ArgumentValue, DefinitionKind, FileIndex, MAX_TEXT, ProjectIndex, index};
use grail_code::tree::ParameterKind;
use grail_code::{ModuleName, Semantic, Source, parse_module};

fn file(module: ModuleName, text: &str) -> FileIndex {
    let parsed = parse_module(Source::from_text(text));
    assert!(parsed.is_valid(), "{text}\n{:?}", parsed.diagnostics());
    index(&Semantic::of_module(&parsed, module))
}

/// Files by path: `shop/__init__.py` is the package `shop`.
fn project(files: &[(&str, &str)]) -> ProjectIndex {
    let indexes = files.iter().map(|(path, text)| {
        let stem = path.trim_end_matches(".py").replace('/', ".");
        let module = match stem.strip_suffix(".__init__") {
            Some(package) => ModuleName::package(package),
            None => ModuleName::module(stem),
        };
        ((*path).to_owned(), file(module, text))
    });
    ProjectIndex::new(indexes.collect())
}

#[test]
fn definitions_have_their_names_and_signatures() {
    let found = file(
        ModuleName::module("shop.cart"),
        "from dataclasses import dataclass as dc\nfrom .base import Base\n\
         @dc(frozen=True)\nclass Cart(Base, metaclass=M):\n    \
         async def add(self, item: 'Item', /, *rest: list[Base], count: int = 1, **more) -> Base:\n        \
         def inner(): pass\n",
    );
    let names: Vec<_> =
        found.definitions.iter().map(|it| (it.qualified_name.as_str(), it.kind, it.line)).collect();
    assert_eq!(
        names,
        [
            ("shop.cart.Cart", DefinitionKind::Class, 4),
            ("shop.cart.Cart.add", DefinitionKind::Method, 5),
            ("shop.cart.Cart.add.<locals>.inner", DefinitionKind::Function, 6),
        ]
    );
    let [class, method, _] = &found.definitions[..] else { panic!("three definitions") };
    assert_eq!(class.bases, ["shop.base.Base"]);
    assert_eq!(class.decorators, ["dataclasses.dataclass"]);
    assert!(method.is_async);
    assert_eq!(method.returns.as_ref().unwrap().qualified_name.as_deref(), Some("shop.base.Base"));
    let parameters: Vec<_> = method
        .parameters
        .iter()
        .map(|it| {
            let annotation = it.annotation.as_ref();
            let text = annotation.map_or("", |annotation| annotation.text.as_str());
            let name = annotation.and_then(|annotation| annotation.qualified_name.as_deref());
            (it.name.as_str(), it.kind, text, name.unwrap_or_default(), it.has_default)
        })
        .collect();
    assert_eq!(
        parameters,
        [
            ("self", ParameterKind::PositionalOnly, "", "", false),
            ("item", ParameterKind::PositionalOnly, "'Item'", "", false),
            ("rest", ParameterKind::Star, "list[Base]", "builtins.list", false),
            ("count", ParameterKind::KeywordOnly, "int", "builtins.int", true),
            ("more", ParameterKind::DoubleStar, "", "", false),
        ]
    );
}

#[test]
fn imports_are_absolute_and_say_when_they_run() {
    let found = file(
        ModuleName::module("shop.cart"),
        "import os.path as p, sys\nfrom . import models\nfrom typing import TYPE_CHECKING\n\
         if TYPE_CHECKING:\n    from .views import View as V\ndef f():\n    from .late import *\n",
    );
    let imports: Vec<_> = found
        .imports
        .iter()
        .map(|it| {
            let names: Vec<_> = it.names.iter().map(|it| it.alias.as_deref().unwrap_or(&it.name)).collect();
            (it.module.as_str(), it.alias.as_deref(), names.join(","), it.is_typing_only, it.in_function)
        })
        .collect();
    assert_eq!(
        imports,
        [
            ("os.path", Some("p"), String::new(), false, false),
            ("sys", None, String::new(), false, false),
            ("shop", None, "models".to_owned(), false, false),
            ("typing", None, "TYPE_CHECKING".to_owned(), false, false),
            ("shop.views", None, "V".to_owned(), true, false),
            ("shop.late", None, "*".to_owned(), false, true),
        ]
    );
}

#[test]
fn calls_name_what_they_call_and_pass() {
    let found = file(
        ModuleName::module("app"),
        "from svcs import Registry as R\nfrom db import Database\nregistry = R()\n\
         @decorate(1)\ndef setup(other):\n    other.register_factory(Database, lambda: 1, name='a', *b, **c)\n\
         class A:\n    def f(self): self.g(registry.x)\n    def g(self, x): return f()()\nprint(len('x'))\n",
    );
    let calls: Vec<_> = found
        .calls
        .iter()
        .map(|it| (it.callee.as_str(), it.name.as_str(), it.enclosing.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        calls,
        [
            ("svcs.Registry", "Registry", ""),
            ("decorate", "decorate", ""),
            ("*.register_factory", "register_factory", "app.setup"),
            ("app.A.g", "g", "app.A.f"),
            ("*", "", "app.A.g"),
            ("f", "f", "app.A.g"),
            ("builtins.print", "print", ""),
            ("builtins.len", "len", ""),
        ]
    );
    let arguments: Vec<_> =
        found.calls[2].arguments.iter().map(|it| (it.keyword.as_deref(), it.value.clone())).collect();
    assert_eq!(
        arguments,
        [
            (None, ArgumentValue::Name("db.Database".to_owned())),
            (None, ArgumentValue::Text("lambda: 1".to_owned())),
            (Some("name"), ArgumentValue::String("a".to_owned())),
            (Some("*"), ArgumentValue::Name("b".to_owned())),
            (Some("**"), ArgumentValue::Name("c".to_owned())),
        ]
    );
    assert_eq!(found.calls[3].arguments[0].value, ArgumentValue::Text("registry.x".to_owned()));
}

#[test]
fn an_index_is_plain_data() {
    let found =
        file(ModuleName::module("a"), "class A(B):\n    def f(self, *, x: int = 1): g(x, 'y', k=z)\n");
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<FileIndex>(&text).unwrap(), found);
}

#[test]
fn texts_are_bounded() {
    let found = file(ModuleName::default(), &format!("f(1 + {}é)\n", "é".repeat(500)));
    let ArgumentValue::Text(text) = &found.calls[0].arguments[0].value else { panic!("a text") };
    assert_eq!(text.len(), MAX_TEXT);
}

#[test]
fn names_resolve_through_re_exports() {
    let index = project(&[
        (
            "shop/__init__.py",
            "from .models import Product as Item\nfrom .all import *\nfrom . import models as m\n",
        ),
        ("shop/all.py", "from .deep import *\n"),
        ("shop/deep.py", "def deep(): pass\n"),
        ("shop/models.py", "class Product:\n    def price(self): pass\n"),
        ("shop/circle.py", "from .circle import x\nfrom .models import *\n"),
    ]);
    let resolve = |name: &str| index.resolve(name).map(|(path, it)| (path, it.qualified_name.as_str()));
    assert_eq!(resolve("shop.models.Product"), Some(("shop/models.py", "shop.models.Product")));
    assert_eq!(resolve("shop.Item"), Some(("shop/models.py", "shop.models.Product")));
    assert_eq!(resolve("shop.Item.price"), Some(("shop/models.py", "shop.models.Product.price")));
    assert_eq!(resolve("shop.m.Product"), Some(("shop/models.py", "shop.models.Product")));
    assert_eq!(resolve("shop.deep"), Some(("shop/deep.py", "shop.deep.deep")));
    assert_eq!(resolve("shop.circle.x"), None);
    assert_eq!(resolve("other.Product"), None);
}

#[test]
fn calls_are_found_by_their_last_word() {
    let index = project(&[
        ("b.py", "def f(r): r.register(B)\n"),
        ("a.py", "import m\nm.register(A)\nregister.x(C)\n"),
    ]);
    let calls: Vec<_> = index.calls_of("register").map(|(path, it)| (path, it.callee.as_str())).collect();
    assert_eq!(calls, [("a.py", "m.register"), ("b.py", "*.register")]);
    assert_eq!(index.calls_of("nobody").count(), 0);
}

/// Each cycle as the modules it goes through.
fn cycles(index: &ProjectIndex) -> Vec<String> {
    let cycles = index.import_cycles().into_iter();
    cycles
        .map(|edges| {
            let names: Vec<_> = edges.iter().map(|edge| edge.from.as_str()).collect();
            names.join(" > ")
        })
        .collect()
}

#[test]
fn imports_in_a_circle_are_found() {
    let index = project(&[
        ("p/__init__.py", ""),
        ("p/a.py", "from . import b\nimport p.c\n"),
        ("p/b.py", "import os\nfrom p.c import x\n"),
        ("p/c.py", "from .a import y\n"),
        ("p/d.py", "from . import d, a\n"),
        ("p/e.py", "from .f import x\n"),
        (
            "p/f.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING: from . import e\ndef g(): import p.e\n",
        ),
    ]);
    assert_eq!(cycles(&index), ["p.a > p.c", "p.d"]);
    let first = &index.import_cycles()[0][0];
    assert_eq!((first.path.as_str(), first.to.as_str(), first.span.start), ("p/a.py", "p.c", 16));
    let graph = index.import_graph();
    assert_eq!(graph.components(), [vec!["p.a", "p.b", "p.c"], vec!["p.d"]]);
    assert_eq!(graph.edges().count(), 7);
}

#[test]
fn a_long_circle_needs_no_stack() {
    let files: Vec<(String, String)> = (0..5_000)
        .map(|index| (format!("m{index}.py"), format!("import m{}\n", (index + 1) % 5_000)))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let cycles = project(&files).import_cycles();
    assert_eq!(cycles.len(), 1);
    assert_eq!(cycles[0].len(), 5_000);
}
