//! Code patterns: what each form finds.

use grail_code::query::{CaptureReport, MatchReport, Pattern, find_all};
use grail_code::{Source, parse_module};

/// Each match on a line: place, node type, text, captures. `⏎` is a line break.
pub(crate) fn found(pattern: &str, source: &str) -> Vec<String> {
    let pattern = match Pattern::parse(pattern) {
        Ok(pattern) => pattern,
        Err(error) => return error.render(pattern).lines().map(str::to_owned).collect(),
    };
    let parsed = parse_module(Source::from_text(source));
    let matches = find_all(&parsed, None, &pattern);
    if !matches.is_empty() {
        assert!(pattern.prefilter(source), "required words {:?} forbid a match", pattern.required_words());
    }
    matches.iter().map(|found| line(&MatchReport::new(found, &parsed))).collect()
}

fn line(report: &MatchReport) -> String {
    let mut line = format!("{}:{} {} {}", report.line, report.column, report.node_type, report.snippet);
    for (name, capture) in &report.captures {
        match capture {
            CaptureReport::One(text) => line += &format!(" | {name} = {text}"),
            CaptureReport::Many(texts) => line += &format!(" | {name} = [{}]", texts.join("; ")),
        }
    }
    line.replace('\n', "⏎")
}

#[track_caller]
fn check(pattern: &str, source: &str, expected: &[&str]) {
    assert_eq!(found(pattern, source), expected, "{pattern}");
}

/// The number of matches.
fn count(pattern: &str, source: &str) -> usize {
    let parsed = parse_module(Source::from_text(source));
    find_all(&parsed, None, &Pattern::parse(pattern).expect("a pattern")).len()
}

#[test]
fn a_metavariable_matches_one_expression() {
    check(
        "print($A)",
        "print(x)\nprint(a + b)\nprint()\nprint(1, 2)\nlog(x)\n",
        &["1:1 Call print(x) | A = x", "2:1 Call print(a + b) | A = a + b"],
    );
    check("$X if $Y else $Z", "v = a if b else c\n", &["1:5 IfExp a if b else c | X = a | Y = b | Z = c"]);
    check("$O.save($$$)", "self.db.save(1)\nsave(2)\n", &["1:1 Call self.db.save(1) | O = self.db"]);
    check("$F($_)", "f(1)\ng(2, 3)\n", &["1:1 Call f(1) | F = f"]);
}

#[test]
fn three_dollars_match_any_number_of_arguments() {
    let source = "validate_email(a)\nvalidate_email(a, b, *c, k=1, **d)\nvalidate_email()\n";
    check(
        "validate_email($ARG, $$$REST)",
        source,
        &[
            "1:1 Call validate_email(a) | ARG = a | REST = []",
            "2:1 Call validate_email(a, b, *c, k=1, **d) | ARG = a | REST = [b; *c; k=1; **d]",
        ],
    );
    check("f($$$, $LAST)", "f(1, 2, 3)\n", &["1:1 Call f(1, 2, 3) | LAST = 3"]);
    check("f($$$A, 0, $$$B)", "f(1, 0, 2, 0)\n", &["1:1 Call f(1, 0, 2, 0) | A = [1] | B = [2; 0]"]);
}

#[test]
fn one_argument_is_neither_starred_nor_named() {
    check("f($X)", "f(*a)\nf(k=1)\nf(**a)\nf(1)\n", &["4:1 Call f(1) | X = 1"]);
    check("f(*$X)", "f(*a)\nf(1)\n", &["1:1 Call f(*a) | X = a"]);
    check("f(**$X)", "f(**a)\nf(k=1)\n", &["1:1 Call f(**a) | X = a"]);
    check("f($K=$V)", "f(**a)\nf(k=1)\n", &["2:1 Call f(k=1) | K = k | V = 1"]);
}

#[test]
fn lists_of_every_sort_take_three_dollars() {
    check("[$A, $$$]", "[1, 2]\n[]\n", &["1:1 List [1, 2] | A = 1"]);
    check("($A, $$$B)", "(1, 2)\n", &["1:1 Tuple (1, 2) | A = 1 | B = [2]"]);
    check(
        "{$$$X}",
        "{1, 2}\n{'a': 1}\n{}\n",
        &["1:1 Set {1, 2} | X = [1; 2]", "2:1 Dict {'a': 1} | X = ['a': 1]", "3:1 Dict {} | X = []"],
    );
    check(
        "{'a': $V, $$$R}",
        "{'a': 1, **x, 'b': 2}\n{'b': 1}\n",
        &["1:1 Dict {'a': 1, **x, 'b': 2} | R = [**x; 'b': 2] | V = 1"],
    );
    check("{**$A, $$$}", "{**x}\n{'a': 1}\n", &["1:1 Dict {**x} | A = x"]);
    check("del $$$X", "del a, b\n", &["1:1 Delete del a, b | X = [a; b]"]);
    check("global $$$X", "global a, b\n", &["1:1 Global global a, b | X = [a; b]"]);
    check("$A and $$$B", "a and b and c\na or b\n", &["1:1 BoolOp a and b and c | A = a | B = [b; c]"]);
    check(
        "x[$$$I]",
        "x[1]\nx[1, 2]\nx[a:b]\n",
        &["1:1 Subscript x[1] | I = 1", "2:1 Subscript x[1, 2] | I = 1, 2", "3:1 Subscript x[a:b] | I = a:b"],
    );
    check(
        "with $$$A: $$$",
        "with a, b as c:\n    pass\n",
        &["1:1 With with a, b as c:⏎    pass | A = [a; b as c]"],
    );
    check(
        "[$X for $Y in $Z if $$$C]",
        "[a for a in b if c if d]\n",
        &["1:1 ListComp [a for a in b if c if d] | C = [c; d] | X = a | Y = a | Z = b"],
    );
}

#[test]
fn the_same_name_twice_must_be_the_same_code() {
    check(
        "$X == $X",
        "a == a\na == b\nf( 1 ) == f(1)\n'a' == \"a\"\n(a) == a\n",
        &[
            "1:1 Compare a == a | X = a",
            "3:1 Compare f( 1 ) == f(1) | X = f( 1 )",
            "4:1 Compare 'a' == \"a\" | X = 'a'",
            "5:1 Compare (a) == a | X = a",
        ],
    );
    check("$X = $X + $Y", "a = a + 1\na = b + 1\n", &["1:1 Assign a = a + 1 | X = a | Y = 1"]);
    check(
        "def $F($A): return $A",
        "def f(x: int = 1) -> int:\n    return x\ndef g(x):\n    return y\n",
        &["1:1 FunctionDef def f(x: int = 1) -> int:⏎    return x | A = x: int = 1 | F = f"],
    );
    check("$_ == $_", "a == b\n", &["1:1 Compare a == b"]);
}

#[test]
fn an_inner_choice_may_depend_on_an_outer_one() {
    check("f([$$$, $X, $$$], $X)", "f([1, 2, 3], 2)\nf([1, 2], 3)\n", &["1:1 Call f([1, 2, 3], 2) | X = 2"]);
    check("f($$$A, $$$A)", "f(1, 2, 1, 2)\nf(1, 2)\n", &["1:1 Call f(1, 2, 1, 2) | A = [1; 2]"]);
}

#[test]
fn functions_match_whatever_else_their_header_says() {
    let source = "\
def a(): pass
def b(x, *, y=1) -> int: return 1
@cached
async def c[T](x: T): pass
";
    check(
        "def $F($$$A): $$$B",
        source,
        &[
            "1:1 FunctionDef def a(): pass | A = [] | B = [pass] | F = a",
            "2:1 FunctionDef def b(x, *, y=1) -> int: return 1 | A = [x; *; y=1] | B = [return 1] | F = b",
            "3:1 FunctionDef @cached⏎async def c[T](x: T): pass | A = [x: T] | B = [pass] | F = c",
        ],
    );
    assert_eq!(count("async def $F($$$): $$$", source), 1);
    assert_eq!(count("def $F($$$) -> $R: $$$", source), 1);
    assert_eq!(count("def $F[$$$]($$$): $$$", source), 1);
    assert_eq!(count("def $F($$$)", source), 3, "the body may be left out");
    check(
        "def $F($A: $T): $$$",
        source,
        &["3:1 FunctionDef @cached⏎async def c[T](x: T): pass | A = x | F = c | T = T"],
    );
    check(
        "def $F($$$, y=$D): $$$",
        source,
        &["2:1 FunctionDef def b(x, *, y=1) -> int: return 1 | D = 1 | F = b"],
    );
}

#[test]
fn decorators_may_stand_among_others() {
    let source = "@login\n@view\ndef a(): pass\n\n@view\nclass B: pass\n\ndef c(): pass\n";
    check(
        "@view\ndef $NAME($$$): $$$BODY",
        source,
        &["1:1 FunctionDef @login⏎@view⏎def a(): pass | BODY = [pass] | NAME = a"],
    );
    check(
        "@$D\ndef $F($$$): $$$",
        source,
        &["1:1 FunctionDef @login⏎@view⏎def a(): pass | D = login | F = a"],
    );
    check("@$$$D\ndef a($$$): $$$", source, &["1:1 FunctionDef @login⏎@view⏎def a(): pass | D = []"]);
    check("@view", source, &["2:1 Decorator @view", "5:1 Decorator @view"]);
}

#[test]
fn parameters_match_by_their_stars() {
    let source = "def f(a, /, b, *args, c=1, **kw): pass\n";
    check(
        "def f($$$, *$A, $$$): $$$",
        source,
        &[&format!("1:1 FunctionDef {} | A = args", source.trim_end())],
    );
    check("def f($$$, **$A): $$$", source, &[&format!("1:1 FunctionDef {} | A = kw", source.trim_end())]);
    assert_eq!(count("def f($A, $B): $$$", source), 0);
    assert_eq!(count("def f($A): $$$", "def f(*a): pass\n"), 0);
    check(
        "lambda $$$A: $B",
        "lambda: 0\nlambda x, y: x\n",
        &["1:1 Lambda lambda: 0 | A = [] | B = 0", "2:1 Lambda lambda x, y: x | A = [x; y] | B = x"],
    );
    assert_eq!(count("lambda: $B", "lambda: 0\nlambda x, y: x\n"), 1);
}

#[test]
fn classes_match_with_and_without_bases() {
    let source = "class A: pass\nclass B(): pass\nclass C(A, metaclass=M, k=1): pass\n";
    assert_eq!(count("class $C: $$$", source), 3);
    check(
        "class $C(): $$$",
        source,
        &["1:1 ClassDef class A: pass | C = A", "2:1 ClassDef class B(): pass | C = B"],
    );
    check(
        "class $C($$$B, metaclass=$M): $$$",
        source,
        &["3:1 ClassDef class C(A, metaclass=M, k=1): pass | B = [A; k=1] | C = C | M = M"],
    );
}

#[test]
fn keywords_of_a_call_match_in_any_order() {
    let source = "open(p, encoding=e, mode=m)\nopen(p, mode=m)\n";
    check(
        "open($P, mode=$M, encoding=$E)",
        source,
        &["1:1 Call open(p, encoding=e, mode=m) | E = e | M = m | P = p"],
    );
    check(
        "open($P, mode=$M, $$$R)",
        source,
        &[
            "1:1 Call open(p, encoding=e, mode=m) | M = m | P = p | R = [encoding=e]",
            "2:1 Call open(p, mode=m) | M = m | P = p | R = []",
        ],
    );
    assert_eq!(count("open($$$, timeout=$_)", source), 0);
}

#[test]
fn each_imported_name_matches_on_its_own() {
    let source = "import os, sys as s\nfrom a.b import c, d as e\nfrom . import f\nfrom x import *\n";
    check("import $M", source, &["1:8 Alias os | M = os", "1:12 Alias sys as s | M = sys as s"]);
    check("import sys", source, &["1:12 Alias sys as s"]);
    check("import $M as $N", source, &["1:12 Alias sys as s | M = sys | N = s"]);
    check(
        "from $M import $N",
        source,
        &["2:17 Alias c | M = a.b | N = c", "2:20 Alias d as e | M = a.b | N = d as e"],
    );
    check("from . import $N", source, &["3:15 Alias f | N = f"]);
    check(
        "from $M import $$$N",
        source,
        &[
            "2:1 ImportFrom from a.b import c, d as e | M = a.b | N = [c; d as e]",
            "4:1 ImportFrom from x import * | M = x | N = [*]",
        ],
    );
    check("from x import *", source, &["4:15 Alias *"]);
    check(
        "try:\n    import $M\nexcept ImportError: $$$",
        "try:\n    import a, b\nexcept ImportError:\n    pass\n",
        &["1:1 Try try:⏎    import a, b⏎except ImportError:⏎    pass | M = a"],
    );
}

#[test]
fn strings_match_by_value() {
    check(
        "f('a\\n')",
        "f(\"a\\n\")\nf('''a\n''')\nf(r'a\\n')\nf('a' '\\x0a')\nf(b'a\\n')\n",
        &["1:1 Call f(\"a\\n\")", "2:1 Call f('''a⏎''')", "5:1 Call f('a' '\\x0a')"],
    );
    check("f(r'\\d')", "f('\\\\d')\nf(r\"\\d\")\n", &["2:1 Call f(r\"\\d\")"]);
    check("f(16)", "f(0x10)\nf(1_6)\nf(16.0)\n", &["1:1 Call f(0x10)", "2:1 Call f(1_6)"]);
}

#[test]
fn an_ellipsis_in_a_string_is_any_content() {
    let source = "h('x')\nh(f'{x}')\nh(t'{x}')\nh(b'x')\nh(r'x')\nh('a' f'{b}')\nh(x)\n";
    check("h('…')", source, &["1:1 Call h('x')", "5:1 Call h(r'x')"]);
    check("h(f\"…\")", source, &["2:1 Call h(f'{x}')", "6:1 Call h('a' f'{b}')"]);
    check("h(t\"$$$\")", source, &["3:1 Call h(t'{x}')"]);
    check("h(b'…')", source, &["4:1 Call h(b'x')"]);
    check("h(r'…')", source, &["5:1 Call h(r'x')"]);
    check("h('$S')", source, &["1:1 Call h('x') | S = 'x'", "5:1 Call h(r'x') | S = r'x'"]);
    check("q('SELECT …')", "q('SELECT 1')\nq('UPDATE x')\n", &["1:1 Call q('SELECT 1')"]);
    check("q('… FROM …')", "q('SELECT 1 FROM x')\nq('UPDATE x')\n", &["1:1 Call q('SELECT 1 FROM x')"]);
    check(
        "f'SELECT …{$X}…'",
        "f'SELECT {a} FROM {b}'\nf'{a}'\nf'SELECT 1'\n",
        &["1:1 FString f'SELECT {a} FROM {b}' | X = a"],
    );
    check("f'{$X}'", "f'{a!r:>{w}}'\nf'{a} '\n", &["1:1 FString f'{a!r:>{w}}' | X = a"]);
    check("f'{$X!r}'", "f'{a!r}'\nf'{a}'\n", &["1:1 FString f'{a!r}' | X = a"]);
    check("f''", "f''\nf'a'\n", &["1:1 FString f''"]);
}

#[test]
fn a_dollar_in_a_string_is_a_dollar() {
    check("re.compile('^a$')", "re.compile('^a$')\nre.compile('^a')\n", &["1:1 Call re.compile('^a$')"]);
    check("f('$HOME/x')", "f('$HOME/x')\n", &["1:1 Call f('$HOME/x')"]);
}

#[test]
fn parentheses_white_space_and_comments_do_not_matter() {
    check(
        "f($X + 1)",
        "f((\n    # why\n    (a) + 1\n))\n",
        &["1:1 Call f((⏎    # why⏎    (a) + 1⏎)) | X = a"],
    );
    check("a  not  in b", "(a) not in (b)\na in b\n", &["1:1 Compare (a) not in (b)"]);
    check("x = 1, 2", "x = (1, 2)\n", &["1:1 Assign x = (1, 2)"]);
}

#[test]
fn statements_match_statements() {
    check(
        "if $C: $S",
        "if a:\n    return 1\nif b:\n    x()\n    y()\n",
        &["1:1 If if a:⏎    return 1 | C = a | S = return 1"],
    );
    check("if $C: $$$S", "if a:\n    pass\nelse:\n    pass\n", &[]);
    check(
        "if $C: $$$\nelse: $$$E",
        "if a:\n    pass\nelse:\n    b\nif c: d\n",
        &["1:1 If if a:⏎    pass⏎else:⏎    b | C = a | E = [b]", "5:1 If if c: d | C = c | E = []"],
    );
    check(
        "for $X in $Y: $$$",
        "async for a in b:\n    pass\n",
        &["1:1 For async for a in b:⏎    pass | X = a | Y = b"],
    );
    check("return", "return\nreturn 1\n", &["1:1 Return return"]);
    check(
        "with $A as $B: $$$",
        "with a as b, c: pass\nwith a as b: pass\nwith a: pass\n",
        &["2:1 With with a as b: pass | A = a | B = b"],
    );
    check("with open($$$): $$$", "with open(p) as f: pass\n", &["1:1 With with open(p) as f: pass"]);
    check("raise $E from None", "raise A from None\nraise A\n", &["1:1 Raise raise A from None | E = A"]);
    check("assert $X, $M", "assert a, 'b'\nassert a\n", &["1:1 Assert assert a, 'b' | M = 'b' | X = a"]);
}

#[test]
fn clauses_match_without_their_statement() {
    let source = "\
try:
    a
except ValueError as error:
    pass
except:
    raise
finally:
    b
match x:
    case [1, *_]:
        c
    case _:
        d
";
    check(
        "except $E: $$$B",
        source,
        &["3:1 ExceptHandler except ValueError as error:⏎    pass | B = [pass] | E = ValueError"],
    );
    check("except: $$$", source, &["5:1 ExceptHandler except:⏎    raise"]);
    check("except ValueError", source, &["3:1 ExceptHandler except ValueError as error:⏎    pass"]);
    check("finally: $$$B", source, &["7:1 Finally finally:⏎    b | B = [b]"]);
    check(
        "case $P: $$$B",
        source,
        &[
            "10:5 MatchCase case [1, *_]:⏎        c | B = [c] | P = [1, *_]",
            "12:5 MatchCase case _:⏎        d | B = [d] | P = _",
        ],
    );
    check(
        "case [$A, $$$R]:\n    $$$",
        source,
        &["10:5 MatchCase case [1, *_]:⏎        c | A = 1 | R = [*_]"],
    );
}

#[test]
fn several_statements_match_neighbours() {
    let source = "a = open(p)\nx = a.read()\na.close()\nb = open(q)\ny = b.read()\nc.close()\n";
    check(
        "$F = open($P)\n$$$B\n$F.close()",
        source,
        &["1:1 Assign a = open(p)⏎x = a.read()⏎a.close() | B = [x = a.read()] | F = a | P = p"],
    );
    check(
        "$A = $B\n$C = $D",
        "x = 1\ny = 2\nz = 3\n",
        &[
            "1:1 Assign x = 1⏎y = 2 | A = x | B = 1 | C = y | D = 2",
            "2:1 Assign y = 2⏎z = 3 | A = y | B = 2 | C = z | D = 3",
        ],
    );
    check("a()\nb()", "if x:\n    a()\nb()\n", &[]);
}

#[test]
fn matches_within_matches_are_found() {
    check(
        "f($X)",
        "f(f(f(1)))\n",
        &["1:1 Call f(f(f(1))) | X = f(f(1))", "1:3 Call f(f(1)) | X = f(1)", "1:5 Call f(1) | X = 1"],
    );
}

#[test]
fn an_indented_pattern_is_dedented() {
    check(
        "\n    def $F():\n        return 1\n",
        "def f():\n  return 1\n",
        &["1:1 FunctionDef def f():⏎  return 1 | F = f"],
    );
}

#[test]
fn a_metavariable_in_an_annotation_or_pattern_position_matches() {
    check("$X: $T = $V", "a: int = 1\nb: int\n", &["1:1 AnnAssign a: int = 1 | T = int | V = 1 | X = a"]);
    check("$X: $T", "a: int = 1\nb: int\n", &["2:1 AnnAssign b: int | T = int | X = b"]);
    check(
        "type $N = $V",
        "type A[T] = list[T]\n",
        &["1:1 TypeAlias type A[T] = list[T] | N = A | V = list[T]"],
    );
    check("$A < $B", "a < b\na < b < c\n", &["1:1 Compare a < b | A = a | B = b"]);
    check("await $X", "await f()\n", &["1:1 Await await f() | X = f()"]);
}

#[test]
fn broken_patterns_point_at_the_place() {
    check(
        "foo(",
        "",
        &[
            "invalid pattern: unexpected EOF while parsing",
            "  foo(",
            "      ^",
            "hint: a code pattern is valid Python in which `$NAME` stands for one node and `$$$NAME` for any number",
        ],
    );
    check(
        "$$$A + 1",
        "",
        &[
            "invalid pattern: `$$$A` stands where exactly one node is expected",
            "  $$$A + 1",
            "  ^^^^",
            "hint: `$NAME` matches one node; `$$$NAME` needs a list to stand in: arguments, elements, statements, parameters",
        ],
    );
    check(
        "$$$",
        "",
        &[
            "invalid pattern: `$$$` stands where exactly one node is expected",
            "  $$$",
            "  ^^^",
            "hint: `$NAME` matches one node; `$$$NAME` needs a list to stand in: arguments, elements, statements, parameters",
        ],
    );
    check(
        "x = $1",
        "",
        &[
            "invalid pattern: got unexpected token $",
            "  x = $1",
            "      ^",
            "hint: a metavariable is `$NAME` or `$_` for one node, `$$$NAME` or `$$$` for any number of nodes",
        ],
    );
    check(
        "get_$X()",
        "",
        &[
            "invalid pattern: a metavariable stands for a whole name, not for a part of `get_$X`",
            "  get_$X()",
            "  ^^^^^^",
            "hint: match the whole name and restrict it: `{pattern: ..., where: {NAME: {regex: ...}}}`",
        ],
    );
    check(
        "  ",
        "",
        &[
            "invalid pattern: the pattern is empty",
            "hint: a pattern is Python code, for instance `print($X)`",
        ],
    );
    check(
        "# nothing",
        "",
        &[
            "invalid pattern: the pattern has no code",
            "hint: a pattern is Python code, for instance `print($X)`",
        ],
    );
}

#[test]
fn required_words_are_what_a_match_cannot_do_without() {
    let words = |pattern: &str| Pattern::parse(pattern).unwrap().required_words().join(" ");
    assert_eq!(words("os.path.join($$$, sep=$X)"), "join path sep os");
    assert_eq!(words("class $C(Base): $$$"), "class Base");
    assert_eq!(words("$X + $Y"), "");
    assert_eq!(words("f('text')"), "f");
    assert_eq!(words("from a.b import c"), "import a b c");
    assert_eq!(words("naïve($X)"), "");
}

#[test]
fn names_are_compared_as_python_compares_them() {
    check("ﬁle($X)", "file(1)\n", &["1:1 Call file(1) | X = 1"]);
}

#[test]
fn long_chains_are_searched_in_time() {
    let chain = format!("a{}", ".b()".repeat(20_000));
    assert_eq!(count("$X.b()", &chain), 20_000);
    assert_eq!(count("{type: Name, inside: {type: While}}", &chain), 0);
    assert_eq!(count("{type: Call, has: {type: Integer}}", &chain), 0);
}

#[test]
fn sequences_with_many_gaps_are_searched_in_time() {
    let list = format!("f({})", "1, ".repeat(20_000));
    assert_eq!(count("f($$$, 1, $$$, 1, $$$, 2, $$$)", &list), 0);
    let statements = "a = 1\n".repeat(20_000);
    assert_eq!(count("a = $X\n$$$\nb = 1", &statements), 0);
    assert_eq!(count("{type: Assign, follows: {type: Return}}", &statements), 0);
}

#[test]
fn captures_that_depend_on_each_other_give_up_in_time() {
    let list = format!("f({})", "1, ".repeat(2_000));
    assert_eq!(count("f($$$A, $X, $$$B, $X, $$$C, $X, 2)", &list), 0);
}

#[test]
fn a_long_pattern_is_only_long() {
    let sum = vec!["a"; 1_000].join(" + ");
    assert_eq!(count(&sum, &sum), 1);
    let elements = format!("[{}]", vec!["1"; 5_000].join(", "));
    assert_eq!(count(&elements, &elements), 1);
}
