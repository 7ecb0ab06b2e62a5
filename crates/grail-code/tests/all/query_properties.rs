//! Properties of patterns: no text makes them panic, and code finds itself.

use grail_code::query::{Pattern, find_all};
use grail_code::{Kind, Node, Source, parse_module};
use proptest::prelude::*;

/// Source with most of Python's syntax in it.
const SOURCE: &str = r#"
import os, sys as s
from a.b import (c, d as e)
@deco(1)
async def f[T](a, /, b: int = 1, *args, c=2, **kw) -> None:
    """Doc."""
    async with a as b, c: pass
    for x, *y in z: break
    else: continue
    return await g(*a, k=1, **kw)
class C(Base, metaclass=M):
    x: int = 3
    del x, y[1:2, ...]
    def m(self): yield from (i async for i in j if i)
try: raise X from Y
except (A, B) as e: global q
else: pass
finally: assert a, b'bytes'
match v:
    case {"a": 1, **rest} | [1, *_] if ok: pass
    case P(x, y=None) as z: pass
lam = lambda *a, k: (a if b else not c)
w = f"{x!r:>{n}} text {y=}" "plain"
u = t"{z} template"
n = 0x10 + 1_0.5 - 3j ** -2 @ m // 2 % 3 << 1
q = {**d, 'k': [1, 2], 'z': {3, 4}} and {k: v for k, v in d} or (yield)
a < b <= c is not d not in e
(walrus := 10)
type Alias[K] = dict[K, int]
if a: b
elif c: d
while 1: nonlocal_ = 2
"#;

#[test]
fn every_expression_and_statement_finds_itself() {
    let parsed = parse_module(Source::from_text(SOURCE));
    assert_eq!(parsed.diagnostics(), []);
    let mut tried = 0;
    for node in parsed.nodes().filter(|node| node.kind().is_expression() || node.kind().is_statement()) {
        let Some(pattern) = own_pattern(node) else { continue };
        tried += 1;
        let spans: Vec<_> = find_all(&parsed, None, &pattern).iter().map(|found| found.span).collect();
        assert!(pattern.prefilter(SOURCE), "{node:?}");
        // These find what is in them: the imported names, the expression.
        let stands_for_parts = matches!(node.kind(), Kind::Import | Kind::ImportFrom | Kind::Expr);
        assert!(stands_for_parts || spans.contains(&node.span()), "{node:?}");
    }
    assert!(tried > 150, "{tried}");
}

/// The node's own text as a pattern; `None` if it is no program on its own.
fn own_pattern(node: Node<'_>) -> Option<Pattern> {
    let is_alone = parse_module(Source::from_text(node.text())).is_valid();
    let is_deeper =
        node.text().contains('\n') && node.parsed().source().position(node.span().start).column > 1;
    (is_alone && !is_deeper)
        .then(|| Pattern::code(node.text()).unwrap_or_else(|error| panic!("{}", error.render(node.text()))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_pattern_panic(text in "\\PC{0,60}") {
        render(&text);
    }

    #[test]
    fn no_program_with_holes_makes_a_pattern_panic(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "$", "$X", "$$$", "$$$A", "$_", "f", "(", ")", "[", "]", "{", "}", ",", ":", "=", "*", "**", "\n", "    ", "def ",
                "class ", "if ", "else", "import ", "from ", "lambda ", "@", "'", "\"\"\"", "f'", "…", "type: ", "Call", "one_of: ",
                "regex: ", "inside: ", "- ", "1", ".", " and ", "except ", "case ", "for ", " in ", "not ",
            ]),
            0..12,
        ),
    ) {
        render(&words.concat());
    }
}

fn render(text: &str) {
    match Pattern::parse(text) {
        Ok(pattern) => {
            let parsed = parse_module(Source::from_text(SOURCE));
            find_all(&parsed, None, &pattern);
        }
        Err(error) => {
            let rendered = error.render(text);
            assert!(rendered.starts_with("invalid pattern: "), "{rendered}");
        }
    }
}
