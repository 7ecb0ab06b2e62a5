//! Renames: everything that means the symbol, nothing that merely looks like it, and refusal instead of damage.

use grail_code::rename::{
    FileText, ModuleMove, RenameError, RenameOptions, RenamePlan, move_symbol, rename_at, rename_dotted,
    rename_module, rename_named,
};
use grail_code::{ModuleName, Position, Project, ProjectFile, Semantic, Source, edit, imports, parse_module};

/// A project from `# path` headed sections.
fn project(text: &str) -> Project {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.trim_start_matches('\n').split_inclusive('\n') {
        match line.trim_end().strip_prefix("#### ") {
            Some(path) => files.push((path.to_owned(), String::new())),
            None => files.last_mut().expect("a path first").1.push_str(line),
        }
    }
    let files = files.into_iter().map(|(path, text)| {
        let stem = path.trim_end_matches(".py");
        let module = match stem.strip_suffix("/__init__") {
            Some(package) => ModuleName::package(package.replace('/', ".")),
            None => ModuleName::module(stem.replace('/', ".")),
        };
        let parsed = parse_module(Source::from_text(text));
        assert!(parsed.is_valid(), "{path}: {:?}", parsed.diagnostics());
        ProjectFile { path, module, parsed }
    });
    Project { files: files.collect() }
}

fn render(project: &Project, plan: &RenamePlan) -> String {
    let mut result = String::new();
    for file in &project.files {
        let edits = plan.files.iter().find(|edits| edits.path == file.path);
        let text = edits.map_or_else(
            || file.parsed.text().to_owned(),
            |edits| edit::apply(file.parsed.text(), edits.edits.clone()).expect("no conflict"),
        );
        result += &format!("#### {}\n{text}", file.path);
    }
    result
}

#[track_caller]
fn check(before: &str, name: &str, new: &str, after: &str) {
    let (before, after) = (before.trim_start_matches('\n'), after.trim_start_matches('\n'));
    let original = project(before);
    let plan =
        rename_named(&original, name, new, &RenameOptions::default(), None).expect("it can be renamed");
    let renamed = render(&original, &plan);
    assert_eq!(renamed, after);
    // There and back again.
    let there = project(&renamed);
    let old = name.rsplit('.').next().expect("a name");
    let back_name = format!("{}{new}", &name[..name.len() - old.len()]);
    let plan = rename_named(&there, &back_name, old, &RenameOptions::default(), None).expect("and back");
    assert_eq!(render(&there, &plan), before);
}

fn error(text: &str, name: &str, new: &str) -> String {
    let project = project(text);
    rename_named(&project, name, new, &RenameOptions::default(), None).expect_err("refused").to_string()
}

#[test]
fn a_function_is_renamed_wherever_it_is_imported() {
    check(
        "
#### shop/__init__.py
from .core import price as price, tax
#### shop/core.py
__all__ = ['price', 'tax']
def price(n): return n
def tax(n): return price(n)
#### shop/web.py
from shop.core import price
import shop.core
import shop.core as c
from shop import core, price as cost
from . import core as d
def view(price=price):
    return price + shop.core.price(1) + c.price(2) + core.price(3) + d.price(4) + cost(5)
def other():
    price = 3
    return price
class Order:
    price = 1
    def total(self): return self.price + price(1)
#### shop/far.py
from shop import price
import shop
print(price(1), shop.price(2), shop.web.price, other.price)
",
        "shop.core.price",
        "cost_of",
        "
#### shop/__init__.py
from .core import cost_of as cost_of, tax
#### shop/core.py
__all__ = ['cost_of', 'tax']
def cost_of(n): return n
def tax(n): return cost_of(n)
#### shop/web.py
from shop.core import cost_of
import shop.core
import shop.core as c
from shop import core, cost_of as cost
from . import core as d
def view(price=cost_of):
    return price + shop.core.cost_of(1) + c.cost_of(2) + core.cost_of(3) + d.cost_of(4) + cost(5)
def other():
    price = 3
    return price
class Order:
    price = 1
    def total(self): return self.price + cost_of(1)
#### shop/far.py
from shop import cost_of
import shop
print(cost_of(1), shop.cost_of(2), shop.web.cost_of, other.price)
",
    );
}

#[test]
fn string_annotations_and_star_imports_follow() {
    check(
        "
#### a.py
class User: ...
def f(u: 'User') -> \"list[User]\": ...
#### b.py
from a import *
def g(u: User): return [User]
#### c.py
import a as m
def h(u: 'm.User', v: 'dict[str, m.User]'): ...
",
        "a.User",
        "Person",
        "
#### a.py
class Person: ...
def f(u: 'Person') -> \"list[Person]\": ...
#### b.py
from a import *
def g(u: Person): return [Person]
#### c.py
import a as m
def h(u: 'm.Person', v: 'dict[str, m.Person]'): ...
",
    );
}

#[test]
fn a_parameter_takes_its_keywords_along() {
    check(
        "
#### a.py
def send(to, text=''):
    return to + text
def post(to): return send(to=to, text='x')
class Mail:
    def __init__(self, to): self.to = to
#### b.py
from a import send as s, Mail
import a
s('x', to=1)
a.send(to=2)
other(to=3)
Mail(to=4)
a.post(to=5)
",
        "a.send.to",
        "recipient",
        "
#### a.py
def send(recipient, text=''):
    return recipient + text
def post(to): return send(recipient=to, text='x')
class Mail:
    def __init__(self, to): self.to = to
#### b.py
from a import send as s, Mail
import a
s('x', recipient=1)
a.send(recipient=2)
other(to=3)
Mail(to=4)
a.post(to=5)
",
    );
}

#[test]
fn a_constructors_parameter_is_known_by_the_class() {
    let text = "
#### a.py
class Mail:
    def __init__(self, to):
        self.to = to
Mail(to=1)
";
    let project = project(text);
    let plan = rename_named(&project, "a.Mail.__init__.to", "recipient", &RenameOptions::default(), None)
        .expect("a plan");
    assert_eq!(
        render(&project, &plan),
        "#### a.py\nclass Mail:\n    def __init__(self, recipient):\n        self.to = recipient\nMail(recipient=1)\n"
    );
}

#[test]
fn collisions_and_captures_are_refused_with_their_place() {
    assert_eq!(
        error("#### a.py\nx = 1\ny = 2\n", "a.x", "y"),
        "cannot rename `x` to `y`: a.py:2:1 already binds `y`"
    );
    assert_eq!(
        error("#### a.py\nx = 1\ndef f(y): return x + y\n", "a.x", "y"),
        "cannot rename `x` to `y`: the name at a.py:2:18 would mean something else"
    );
    assert_eq!(
        error("#### a.py\ndef f():\n    x = 1\n    return x, list()\n", "a.f", "list"),
        "cannot rename `f` to `list`: the name at a.py:3:15 would mean something else"
    );
    assert_eq!(
        error("#### a.py\ndef x(): ...\n#### b.py\nfrom a import x\ny = x\n", "a.x", "y"),
        "cannot rename `x` to `y`: b.py:2:1 already binds `y`"
    );
    assert_eq!(error("#### a.py\nx = 1\n", "a.x", "class"), "`class` is not a valid name: it is a keyword");
    assert_eq!(error("#### a.py\nx = 1\n", "a.x", "1x"), "`1x` is not a valid name");
    assert_eq!(error("#### a.py\nx = 1\n", "a.x", "x"), "`x` already has that name");
    assert_eq!(error("#### a.py\nx = 1\n", "a.y", "z"), "nothing is called `a.y`");
}

#[test]
fn positions_name_anything() {
    let text = "
#### a.py
from b import helper
def f(value):
    total = value
    return helper(total)
def g():
    global counter
    counter = 1
#### b.py
def helper(n): return n
";
    let original = project(text);
    let renamed = |path: &str, line, column, new| {
        rename_at(&original, path, Position { line, column }, new, &RenameOptions::default(), None)
            .map(|plan| render(&original, &plan))
    };
    let trimmed = text.trim_start_matches('\n');
    assert_eq!(renamed("a.py", 3, 5, "sum"), Ok(trimmed.replace("total", "sum")));
    assert_eq!(
        renamed("a.py", 4, 20, "sum"),
        Ok(trimmed.replace("total", "sum")),
        "a cursor behind the name counts"
    );
    assert_eq!(renamed("a.py", 4, 12, "assist"), Ok(trimmed.replace("helper", "assist")));
    assert_eq!(renamed("a.py", 1, 15, "assist"), Ok(trimmed.replace("helper", "assist")));
    assert_eq!(renamed("a.py", 6, 12, "tally"), Ok(trimmed.replace("counter", "tally")));
    let at = Position { line: 3, column: 11 };
    assert_eq!(renamed("a.py", 3, 11, "x"), Err(RenameError::NotAName { path: "a.py".into(), at }));
    let at = Position { line: 30, column: 1 };
    assert_eq!(renamed("a.py", 30, 1, "x"), Err(RenameError::NoSuchPlace { path: "a.py".into(), at }));
}

#[test]
fn an_import_from_outside_gets_an_alias() {
    let original = project("#### a.py\nimport numpy\nfrom os import path\nnumpy.array(path)\n");
    let renamed = |line, column, new| {
        let plan =
            rename_at(&original, "a.py", Position { line, column }, new, &RenameOptions::default(), None);
        render(&original, &plan.expect("a plan"))
    };
    assert_eq!(renamed(3, 1, "np"), "#### a.py\nimport numpy as np\nfrom os import path\nnp.array(path)\n");
    assert_eq!(renamed(3, 13, "p"), "#### a.py\nimport numpy\nfrom os import path as p\nnumpy.array(p)\n");
}

#[test]
fn docstrings_follow_when_asked() {
    let original =
        project("#### a.py\ndef load():\n    \"\"\"Call load(), not reload().\"\"\"\n    x = 'load'\n");
    let options = RenameOptions { docstrings: true, ..RenameOptions::default() };
    let plan = rename_named(&original, "a.load", "read", &options, None).expect("a plan");
    assert_eq!(
        render(&original, &plan),
        "#### a.py\ndef read():\n    \"\"\"Call read(), not reload().\"\"\"\n    x = 'load'\n"
    );
}

#[test]
fn without_types_a_method_is_renamed_in_its_class_and_the_rest_is_reported() {
    let original =
        project("#### a.py\nclass A:\n    def run(self): self.run()\n    alias = run\nA.run\nx.run()\n");
    let plan = rename_named(&original, "a.A.run", "go", &RenameOptions::default(), None).expect("a plan");
    assert_eq!(
        render(&original, &plan),
        "#### a.py\nclass A:\n    def go(self): self.go()\n    alias = go\nA.go\nx.run()\n"
    );
    let unsure: Vec<_> = plan.unsure.iter().map(|place| (place.at.line, place.at.column)).collect();
    assert_eq!(unsure, [(5, 3)]);
}

/// Replaces a dotted name in one file, imports included.
#[track_caller]
fn check_dotted(before: &str, old: &str, new: &str, after: &str) {
    let module = ModuleName::module("pkg.sub.own");
    let parsed = parse_module(Source::from_text(before));
    let change = rename_dotted(&Semantic::of_module(&parsed, module.clone()), old, new).expect("a change");
    let text = edit::apply(before, change.edits).expect("no conflict");
    let text = imports::add_all(&text, &module, &change.add_imports).expect("imports added");
    let text =
        imports::remove_all(&text, &module, &change.remove_imports_if_unused).expect("imports removed");
    assert_eq!(text, after);
}

#[test]
fn a_dotted_name_becomes_another_in_every_import_style() {
    let cases = [
        // The name itself, imported.
        ("from a.b import c\nc()\n", "from d.e import f\nf()\n"),
        ("from a.b import c as x\nx()\n", "from d.e import f as x\nx()\n"),
        ("from a.b import c, other\nc(other)\n", "from a.b import other\nfrom d.e import f\nf(other)\n"),
        // Through its module.
        ("import a.b\na.b.c()\n", "import d.e\nd.e.f()\n"),
        ("import a.b\na.b.c(a.b.other)\n", "import a.b\nimport d.e\nd.e.f(a.b.other)\n"),
        ("import a.b as m\nm.c()\n", "import d.e\nd.e.f()\n"),
        ("from a import b\nb.c()\n", "from d import e\ne.f()\n"),
        ("import a\na.b.c()\n", "import d.e\nd.e.f()\n"),
        // Not it.
        ("c()\na.b.c()\n", "c()\na.b.c()\n"),
        ("from x import c\nc()\n", "from x import c\nc()\n"),
        // A clash keeps the local name.
        ("from a.b import c\nf = 1\nc(f)\n", "from d.e import f as c\nf = 1\nc(f)\n"),
    ];
    for (before, after) in cases {
        check_dotted(before, "a.b.c", "d.e.f", after);
    }
    check_dotted(
        "import os.path\nos.path.join(a)\nos.sep\n",
        "os.path.join",
        "os.path.merge",
        "import os.path\nos.path.merge(a)\nos.sep\n",
    );
    check_dotted(
        "import os\nos.path.join(a)\n",
        "os.path.join",
        "os.path.merge",
        "import os\nos.path.merge(a)\n",
    );
}

/// What LibCST had to repair three times: aliases of modules, modules reached through a parent, top-level modules.
#[test]
fn a_module_becomes_another_in_every_import_style() {
    let cases = [
        ("a.b", "c.d", "import a.b as x\nx.y()\n", "import c.d as x\nx.y()\n"),
        ("a.b", "c.d", "import a.b\na.b.y()\n", "import c.d\nc.d.y()\n"),
        ("a.b", "c.d", "import a.b.z\na.b.z.y()\n", "import c.d.z\nc.d.z.y()\n"),
        ("a.b", "c.d", "from a.b import y\ny()\n", "from c.d import y\ny()\n"),
        ("a.b", "c.d", "from a.b.z import y as x\nx()\n", "from c.d.z import y as x\nx()\n"),
        ("a.b", "c.d", "from a import b\nb.y()\n", "from c import d\nd.y()\n"),
        ("a.b", "c.d", "from a import b as x\nx.y()\n", "from c import d as x\nx.y()\n"),
        ("a.b", "c.d", "from a.bb import y\ny()\n", "from a.bb import y\ny()\n"),
        ("foo", "bar", "import foo\nfoo.x(foo)\n", "import bar\nbar.x(bar)\n"),
        ("foo", "bar.baz", "import foo\nfoo.x()\n", "import bar.baz\nbar.baz.x()\n"),
        ("foo", "bar", "import foo as f\nf.x()\n", "import bar as f\nf.x()\n"),
        ("foo", "bar", "from foo import x\nfoo = x\n", "from bar import x\nfoo = x\n"),
        ("pkg.sub.old", "pkg.sub.new", "from .old import x\nx()\n", "from .new import x\nx()\n"),
        ("pkg.sub.old", "pkg.sub.new", "from . import old\nold.x()\n", "from . import new\nnew.x()\n"),
        ("pkg.old", "pkg.new", "from ..old import x\nx()\n", "from ..new import x\nx()\n"),
        ("pkg.sub.old", "else.where", "from .old import x\nx()\n", "from .old import x\nx()\n"),
    ];
    for (old, new, before, after) in cases {
        if new == "else.where" {
            let parsed = parse_module(Source::from_text(before));
            assert!(rename_dotted(&Semantic::new(&parsed), old, new).is_err(), "`else` is a keyword");
            continue;
        }
        check_dotted(before, old, new, after);
    }
}

/// Texts by path, old paths replaced by new ones.
fn relocated(project: &Project, files: &[FileText], moves: &[ModuleMove]) -> String {
    let mut result = Vec::new();
    for file in &project.files {
        let text = files.iter().find(|text| text.path == file.path);
        let text = text.map_or(file.parsed.text(), |text| text.text.as_str());
        let moved = moves.iter().find(|change| change.from == file.path);
        let path = moved.map_or(file.path.as_str(), |change| change.to.as_str());
        result.push(format!("#### {path}\n{text}"));
    }
    result.concat()
}

#[test]
fn a_package_moves_with_all_its_modules_and_importers() {
    let original = project(
        "
#### shop/__init__.py
from .db import rows
from . import db
#### shop/db/__init__.py
from .rows import Row
from ..util import log
#### shop/db/rows.py
from . import helpers
from shop.db import helpers as h
class Row: ...
#### shop/db/helpers.py
import shop.db.rows
x = shop.db.rows.Row
#### shop/util.py
def log(): ...
",
    );
    let renamed = rename_module(&original, "shop.db", "shop.store.tables").expect("it can be renamed");
    assert_eq!(
        relocated(&original, &renamed.files, &renamed.moves),
        "\
#### shop/__init__.py
from .store.tables import rows
from .store import tables
#### shop/store/tables/__init__.py
from .rows import Row
from shop.util import log
#### shop/store/tables/rows.py
from . import helpers
from shop.store.tables import helpers as h
class Row: ...
#### shop/store/tables/helpers.py
import shop.store.tables.rows
x = shop.store.tables.rows.Row
#### shop/util.py
def log(): ...
"
    );
    let error = rename_module(&original, "shop.nothing", "shop.x").expect_err("unknown");
    assert_eq!(error.to_string(), "the project has no module `shop.nothing`");
    let error = rename_module(&original, "shop.db", "shop.util").expect_err("taken");
    assert_eq!(error.to_string(), "the project already has a module `shop.util`");
}

#[test]
fn a_symbol_moves_with_what_it_needs() {
    let original = project(
        "
#### shop/__init__.py
from .core import price
#### shop/core.py
import math
import os
from decimal import Decimal as D

# Prices are rounded up.
@cached
def price(n):
    return D(math.ceil(n))


def tax(n):
    return price(n) * 2, os.sep
#### shop/money.py
\"\"\"Money.\"\"\"

ZERO = 0
#### shop/web.py
from shop.core import price, tax
import shop.core as c
print(price(1), c.price(2), tax(3))
",
    );
    let files = move_symbol(&original, "shop.core.price", "shop.money").expect("it can be moved");
    assert_eq!(
        relocated(&original, &files, &[]),
        "\
#### shop/__init__.py
from .money import price
#### shop/core.py
import os

from shop.money import price

def tax(n):
    return price(n) * 2, os.sep
#### shop/money.py
\"\"\"Money.\"\"\"

import math
from decimal import Decimal as D

ZERO = 0


# Prices are rounded up.
@cached
def price(n):
    return D(math.ceil(n))
#### shop/web.py
import shop.money
from shop.core import tax
from shop.money import price
print(price(1), shop.money.price(2), tax(3))
"
    );
    let error = move_symbol(&original, "shop.core.tax", "shop.nowhere").expect_err("unknown");
    assert_eq!(error.to_string(), "the project has no module `shop.nowhere`");
}
