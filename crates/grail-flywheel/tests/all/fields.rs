//! Which fields of tool results a program uses.

use grail_flywheel::extract::{fields_accessed, tool_flow};

#[track_caller]
fn check(code: &str, expected: &[&str]) {
    assert_eq!(fields_accessed(code, &["search", "read", "files.stat"]), expected, "{code}");
}

#[test]
fn attributes_and_constant_keys_of_a_result_are_fields() {
    check("r = search('a')\nprint(r.total, r['items'])", &["search.items", "search.total"]);
    check("print(search('a')['total'])", &["search.total"]);
    check("r = search('a')\nr.get('total', 0)\ngetattr(r, 'items')", &["search.items", "search.total"]);
    check("r = search('a')\nprint(f'{r.total:>{r.width}}')", &["search.total", "search.width"]);
}

#[test]
fn awaited_and_member_calls_count_like_any_other() {
    check("async def main():\n    r = await search('a')\n    return r.total", &["search.total"]);
    check("import tools\nprint(tools.read('a').text)", &["read.text"]);
    check("print(files.stat('a').size)", &["files.stat.size"]);
    check(
        "import asyncio\nasync def main():\n    a, b = await asyncio.gather(search(1), read(2))\n    a.x, b.y",
        &["read.y", "search.x"],
    );
}

#[test]
fn lists_are_looked_through() {
    check("for r in search('a'):\n    print(r['name'])", &["search.name"]);
    check("print([r.name for r in search('a') if r.size > 1])", &["search.name", "search.size"]);
    check("print(search('a')[0].name, search('a')[-1].size)", &["search.name", "search.size"]);
    check(
        "r = search('a')\nfor i, x in enumerate(r.items):\n    x.name",
        &["search.items", "search.items.name"],
    );
    check("for a, b in zip(search(1), read(2)):\n    a.x, b.y", &["read.y", "search.x"]);
    check("print({x.id: x.name for x in sorted(search('a'))})", &["search.id", "search.name"]);
    check("print([y.b for x in search('a') for y in x.parts])", &["search.parts", "search.parts.b"]);
}

#[test]
fn names_are_followed_and_forgotten_when_they_are_bound_again() {
    check("r = search('a')\ns = r\ns.total", &["search.total"]);
    check("r = search('a')\nr = read('b')\nr.text", &["read.text"]);
    check("r = search('a')\nr = r.first\nr.name", &["search.first", "search.first.name"]);
    check("r = search('a')\nr = 5\nr.real", &[]);
    check("if (r := search('a')):\n    r.total", &["search.total"]);
    check("a, b = search(1), read(2)\na.x\nb.y", &["read.y", "search.x"]);
}

#[test]
fn branches_join_where_they_meet() {
    check("if c:\n    r = search(1)\nelse:\n    r = read(2)\nr.x", &["read.x", "search.x"]);
    check("r = search(1)\nif c:\n    r = read(2)\n    r.text\nr.x", &["read.text", "read.x", "search.x"]);
    check("r = search(1)\nif c:\n    r = 1\nelif d:\n    r = 2\nelse:\n    r = 3\nr.x", &[]);
    check("for q in queries:\n    r = search(q)\n    r.a\n    r = read(q)\n    r.b", &["read.b", "search.a"]);
    check("try:\n    r = search(1)\nexcept E:\n    r = read(2)\nfinally:\n    r.x", &["read.x", "search.x"]);
    check("r = search(1) if c else read(2)\nr.x", &["read.x", "search.x"]);
}

#[test]
fn functions_of_the_file_hand_results_on() {
    check("def find(q):\n    return search(q)\nprint(find(1).total)", &["search.total"]);
    check("def show():\n    return data.total\ndata = search(1)\nshow()", &["search.total"]);
    check("r = None\nwhile True:\n    if r:\n        r.next\n    r = search(1)", &["search.next"]);
}

#[test]
fn methods_computed_keys_and_what_the_program_wrote_are_no_fields() {
    check("r = read('a')\nr.text.strip().upper()", &["read.text"]);
    check("r = search('a')\nr[key].name", &[]);
    check("r = search('a')\nr['mine'] = 1\nprint(r['mine'], r['theirs'])", &["search.theirs"]);
    check("def search(q):\n    return q\nprint(search(1).total)", &[]);
    check("other(1).total", &[]);
}

#[test]
fn broken_code_gives_nothing() {
    check("r = search('a')\nr.total +", &[]);
    check("", &[]);
    check("search(", &[]);
}

#[test]
fn long_chains_and_many_branches_take_linear_time() {
    let chain = format!("r = search(1)\nr{}", ".a".repeat(20_000));
    assert_eq!(fields_accessed(&chain, &["search"]).len(), 6);
    let branches = "if c:\n    r = search(1)\n    r.a\n".repeat(10_000);
    assert_eq!(fields_accessed(&branches, &["search"]), ["search.a"]);
}

#[test]
fn a_result_that_goes_into_an_argument_feeds_a_tool() {
    let feeds = |code: &str| {
        let feeds = tool_flow(code, &["search", "read"]).feeds;
        feeds.into_iter().map(|(from, to)| format!("{from} -> {to}")).collect::<Vec<_>>()
    };
    assert_eq!(feeds("for r in search(1):\n    read(path=r.path)"), ["search -> read"]);
    assert_eq!(feeds("read(f'{search(1)[0]}/x')"), ["search -> read"]);
    assert!(feeds("search(1)\nread(2)").is_empty());
}
