//! `grail code find`

use crate::scratch::Scratch;

const SHOP: &[(&str, &str)] = &[
    ("grail.toml", ""),
    ("shop/models.py", "from typing import Optional as Opt\n\ndef first(x: Opt[int]):\n    print(x, 1)\n"),
    ("shop/views.py", "def view():\n    print(\n        'é', end=''\n    )\n"),
    ("pattern.yaml", "type: Call\nfunc: print\nargs: [$A, $$$]\n"),
];

#[test]
fn matches_are_printed_with_their_place() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "find", "print($A, $$$REST)", "--captures"]),
        "\
shop/models.py:4:5: print(x, 1)
  $A = x
  $REST = [1]
shop/views.py:2:5: print(
            'é', end=''
        )
  $A = 'é'
  $REST = [end='']
! 2 matches
exit 0
"
    );
    assert_eq!(
        scratch.run(&["code", "find", "{qualified_name: typing.Optional}", "shop"]),
        "shop/models.py:3:14: Opt\n! 1 match\nexit 0\n"
    );
}

#[test]
fn a_pattern_may_come_from_a_file() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "find", "--structural", "pattern.yaml", "shop/models.py"]),
        "shop/models.py:4:5: print(x, 1)\n! 1 match\nexit 0\n"
    );
    assert_eq!(
        scratch.run(&["code", "find", "--structural", "missing.yaml"]),
        "\
! error: cannot read the pattern `missing.yaml`: No such file or directory (os error 2)
! hint: `--structural` takes a YAML or JSON file
exit 2
"
    );
}

#[test]
fn matches_are_counted() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "find", "print($$$)", "--count"]),
        "shop/models.py: 1\nshop/views.py: 1\n! 2 matches\nexit 0\n"
    );
    assert_eq!(scratch.run(&["code", "find", "input($$$)"]), "! no matches\nexit 1\n");
}

#[test]
fn json_has_positions_captures_and_the_snippet() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "find", "print($A, $$$REST)", "shop/models.py", "--format", "json"]),
        r#"{
  "matches": [
    {
      "path": "shop/models.py",
      "line": 4,
      "column": 5,
      "end_line": 4,
      "end_column": 16,
      "span": {
        "start": 64,
        "end": 75
      },
      "node_type": "Call",
      "captures": {
        "A": "x",
        "REST": [
          "1"
        ]
      },
      "snippet": "print(x, 1)"
    }
  ],
  "errors": []
}
exit 0
"#
    );
}

#[test]
fn a_broken_pattern_is_shown_with_a_caret() {
    let scratch = Scratch::new(SHOP);
    assert_eq!(
        scratch.run(&["code", "find", "print($$$A + 1)"]),
        "\
! error: invalid pattern: `$$$A` stands where exactly one node is expected
!   print($$$A + 1)
!         ^^^^
! hint: `$NAME` matches one node; `$$$NAME` needs a list to stand in: arguments, elements, statements, parameters
exit 2
"
    );
}

#[test]
fn files_that_do_not_parse_are_searched_with_a_warning() {
    let scratch = Scratch::new(&[("grail.toml", ""), ("a.py", "print(1)\nx = = 2\nprint(3)\n")]);
    assert_eq!(
        scratch.run(&["code", "find", "print($X)"]),
        "\
a.py:1:1: print(1)
a.py:3:1: print(3)
! warning: `a.py` does not parse and may hide matches: line 2: Expected an expression
! 2 matches
exit 0
"
    );
}
