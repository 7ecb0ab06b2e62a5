//! Statements the engine does not know.

use grail_code::{Context, Field, Kind};

use super::site::{Found, operator};
use super::{Construct, Failure};

pub(super) const ROWS: &[Construct] = &[
    Construct {
        name: "yield",
        title: "Generators: `yield`, `yield from`",
        message: "`yield` is not supported",
        rewrite: "collect the values in a list and return it",
        example: "def squares(n):
    for i in range(n):
        yield i * i
list(squares(3))",
        rewritten: "def squares(n):
    found = []
    for i in range(n):
        found.append(i * i)
    return found
squares(3)",
        failure: Failure::Always,
        kinds: &[Kind::Yield, Kind::YieldFrom],
        find: |site| Found::at(site.node),
    },
    Construct {
        name: "del",
        title: "`del`",
        message: "the `del` statement is not supported",
        rewrite: "use `.pop(…)` on a list or dictionary; leave a variable alone or set it to `None`",
        example: "ages = {'ada': 36, 'alan': 41}
del ages['ada']
ages",
        rewritten: "ages = {'ada': 36, 'alan': 41}
ages.pop('ada')
ages",
        failure: Failure::Always,
        kinds: &[Kind::Delete],
        find: |site| Found::at(site.node),
    },
    Construct {
        name: "match",
        title: "`match`",
        message: "the `match` statement is not supported",
        rewrite: "use `if` and `elif`",
        example: "command = 'go'
match command:
    case 'go':
        speed = 1
    case _:
        speed = 0
speed",
        rewritten: "command = 'go'
if command == 'go':
    speed = 1
else:
    speed = 0
speed",
        failure: Failure::Always,
        kinds: &[Kind::Match],
        find: |site| Found::at(site.node),
    },
    Construct {
        name: "type-alias",
        title: "`type X = …`",
        message: "the `type` statement is not supported",
        rewrite: "write the type out in the annotations",
        example: "type Names = list[str]
def first(names: Names) -> str:
    return names[0]
first(['ada'])",
        rewritten: "def first(names: list[str]) -> str:
    return names[0]
first(['ada'])",
        failure: Failure::Always,
        kinds: &[Kind::TypeAlias],
        find: |site| Found::at(site.node),
    },
    Construct {
        name: "except-star",
        title: "`except*`",
        message: "`except*` and exception groups are not supported",
        rewrite: "use `except`",
        example: "try:
    1 / 0
except* ZeroDivisionError:
    print('caught')",
        rewritten: "try:
    1 / 0
except ZeroDivisionError:
    print('caught')",
        failure: Failure::Always,
        kinds: &[Kind::Try],
        find: |site| {
            let star = site.node.attribute("is_star") == Some(grail_code::tree::Attribute::Flag(true));
            Found::at(site.node).filter(|_| star)
        },
    },
    Construct {
        name: "async-for",
        title: "`async for`",
        message: "`async for` is not supported",
        rewrite: "await a list and loop over it, or await several calls at once with `asyncio.gather`",
        example: "async def total(items):
    result = 0
    async for item in items:
        result += item
    return result
1",
        rewritten: "import asyncio
async def double(item):
    return item * 2
async def total(items):
    return sum(await asyncio.gather(*[double(item) for item in items]))
await total([1, 2])",
        failure: Failure::Always,
        kinds: &[Kind::For, Kind::Comprehension],
        find: |site| Found::at(site.node).filter(|_| site.node.is_async()),
    },
    Construct {
        name: "async-with",
        title: "`async with`",
        message: "`async with` is not supported",
        rewrite: "call what opens and closes the resource yourself, with `try` and `finally`",
        example: "async def read(lock):
    async with lock:
        return 1
1",
        rewritten: "async def open_lock():
    print('open')
async def read():
    await open_lock()
    try:
        return 1
    finally:
        print('close')
await read()",
        failure: Failure::Always,
        kinds: &[Kind::With],
        find: |site| Found::at(site.node).filter(|_| site.node.is_async()),
    },
    Construct {
        name: "slice-assignment",
        title: "Assignment to a slice",
        message: "assignment to a slice is not supported",
        rewrite: "build a new list: `items = items[:start] + new + items[end:]`",
        example: "items = [1, 2, 3]
items[0:2] = [9]
items",
        rewritten: "items = [1, 2, 3]
items = [9] + items[2:]
items",
        failure: Failure::Raises("TypeError"),
        kinds: &[Kind::Subscript],
        find: |site| {
            let is_stored = site.node.context() == Some(Context::Store);
            let slice = site.node.child(Field::Slice).filter(|slice| slice.kind() == Kind::Slice)?;
            Found::at(slice.parent()?).filter(|_| is_stored)
        },
    },
    Construct {
        name: "unpacking-target",
        title: "Unpacking into attributes or items",
        message: "unpacking into `{}` is not supported: only names can be unpacked into",
        rewrite: "unpack into names, then assign each one",
        example: "pair = [1, 2]
pair[0], pair[1] = pair[1], pair[0]
pair",
        rewritten: "pair = [1, 2]
first, second = pair[1], pair[0]
pair[0] = first
pair[1] = second
pair",
        failure: Failure::Always,
        kinds: &[Kind::Subscript, Kind::Attribute],
        find: |site| {
            let node = site.node;
            if node.context() != Some(Context::Store) {
                return None;
            }
            let parent = node.parent()?;
            let is_unpacked = match parent.kind() {
                Kind::Tuple | Kind::List | Kind::Starred => true,
                Kind::For | Kind::Comprehension => node.field() == Field::Target,
                Kind::WithItem => node.field() == Field::OptionalVars,
                _ => false,
            };
            Found::named(node, node.text()).filter(|_| is_unpacked)
        },
    },
    Construct {
        name: "matrix-multiplication",
        title: "`@` between values",
        message: "the operator `@` is not supported",
        rewrite: "write the multiplication as a function",
        example: "a = [1, 2]
a @ a",
        rewritten: "a = [1, 2]
sum(x * y for x, y in zip(a, a))",
        failure: Failure::Always,
        kinds: &[Kind::BinOp, Kind::AugAssign],
        find: |site| Found::at(site.node).filter(|_| operator(site.node).starts_with('@')),
    },
];
