"""Python source as nested dictionaries: find, change and print nodes.

A node is a dict with a "type", its fields by name (a node, None or a list of nodes), its attributes, and, for a leaf, its "text".
Everything between the nodes is kept too, so that `codegen(tree)` gives back the source byte for byte:

- "trivia": {field: [open, close] or [open, close, trailing separator], "head": text, "tail": text}, where it differs from LAYOUT;
- "before": comment lines directly above a list item; "gap" and "after": what stands on either side of the separator behind it;
- "parens": [open, close] around an expression; "indent": the indentation of a statement's block.

A node made by hand needs none of these: {"type": "Call", "func": "print", "args": ["x"]} prints as `print(x)`. A string stands for
its own code; {"type": "Code", "text": ...} does too and may have several lines.

This module runs on CPython and in the sandbox: no inheritance, no generators, no recursion. The Rust side reads LAYOUT from this file.
"""

# Per kind: "head" and "tail", and per field, in source order: [open, close], for lists [open, close, separator], then what remains of an
# empty field: "keep" prints open and close, "trivia" only if they were written, else nothing. "\n" means a new line at the indentation of
# the statement. "text" is what a leaf without text prints.
LAYOUT = {
    "Module": {"fields": {"body": ["", "\n", "block"]}},
    "FunctionDef": {
        "fields": {
            "decorators": ["", "\n", "\n"],
            "name": ["def ", ""],
            "type_params": ["", ""],
            "params": ["", ""],
            "returns": [" -> ", ""],
            "body": [":\n    ", "", "block"]
        }
    },
    "ClassDef": {
        "fields": {
            "decorators": ["", "\n", "\n"],
            "name": ["class ", ""],
            "type_params": ["", ""],
            "bases": ["(", ")", ", ", "trivia"],
            "body": [":\n    ", "", "block"]
        }
    },
    "Return": {"head": "return", "fields": {"value": [" ", ""]}},
    "Delete": {"head": "del", "fields": {"targets": [" ", "", ", "]}},
    "TypeAlias": {"head": "type", "fields": {"name": [" ", ""], "type_params": ["", ""], "value": [" = ", ""]}},
    "Assign": {"fields": {"targets": ["", " =", " = "], "value": [" ", ""]}},
    "AugAssign": {"fields": {"target": ["", ""], "op": [" ", ""], "value": [" ", ""]}},
    "AnnAssign": {"fields": {"target": ["", ""], "annotation": [": ", ""], "value": [" = ", ""]}},
    "For": {
        "head": "for",
        "fields": {
            "target": [" ", ""],
            "iter": [" in ", ""],
            "body": [":\n    ", "", "block"],
            "orelse": ["\n", ""]
        }
    },
    "While": {
        "head": "while",
        "fields": {"test": [" ", ""], "body": [":\n    ", "", "block"], "orelse": ["\n", ""]}
    },
    "If": {
        "head": "if",
        "fields": {
            "test": [" ", ""],
            "body": [":\n    ", "", "block"],
            "elifs": ["\n", "", "\n"],
            "orelse": ["\n", ""]
        }
    },
    "Elif": {"head": "elif", "fields": {"test": [" ", ""], "body": [":\n    ", "", "block"]}},
    "Else": {"head": "else", "fields": {"body": [":\n    ", "", "block"]}},
    "With": {"head": "with", "fields": {"items": [" ", "", ", "], "body": [":\n    ", "", "block"]}},
    "WithItem": {"fields": {"context_expr": ["", ""], "optional_vars": [" as ", ""]}},
    "Match": {"head": "match", "fields": {"subject": [" ", ""], "cases": [":\n    ", "", "\n    "]}},
    "MatchCase": {
        "head": "case",
        "fields": {"pattern": [" ", ""], "guard": [" if ", ""], "body": [":\n    ", "", "block"]}
    },
    "Raise": {"head": "raise", "fields": {"exc": [" ", ""], "cause": [" from ", ""]}},
    "Try": {
        "head": "try",
        "fields": {
            "body": [":\n    ", "", "block"],
            "handlers": ["\n", "", "\n"],
            "orelse": ["\n", ""],
            "finalbody": ["\n", ""]
        }
    },
    "ExceptHandler": {
        "head": "except",
        "fields": {"exc": [" ", ""], "name": [" as ", ""], "body": [":\n    ", "", "block"]}
    },
    "Finally": {"head": "finally", "fields": {"body": [":\n    ", "", "block"]}},
    "Assert": {"head": "assert", "fields": {"test": [" ", ""], "msg": [", ", ""]}},
    "Import": {"head": "import", "fields": {"names": [" ", "", ", "]}},
    "ImportFrom": {"head": "from", "fields": {"module": [" ", ""], "names": [" import ", "", ", "]}},
    "Alias": {"fields": {"name": ["", ""], "asname": [" as ", ""]}},
    "Global": {"head": "global", "fields": {"names": [" ", "", ", "]}},
    "Nonlocal": {"head": "nonlocal", "fields": {"names": [" ", "", ", "]}},
    "Expr": {"fields": {"value": ["", ""]}},
    "Pass": {"text": "pass"},
    "Break": {"text": "break"},
    "Continue": {"text": "continue"},
    "BoolOp": {"fields": {"values": ["", "", " and "]}},
    "NamedExpr": {"fields": {"target": ["", ""], "value": [" := ", ""]}},
    "BinOp": {"fields": {"left": ["", ""], "op": [" ", ""], "right": [" ", ""]}},
    "UnaryOp": {"fields": {"op": ["", ""], "operand": ["", ""]}},
    "Lambda": {"head": "lambda", "fields": {"params": [" ", ""], "body": [": ", ""]}},
    "IfExp": {"fields": {"body": ["", ""], "test": [" if ", ""], "orelse": [" else ", ""]}},
    "Dict": {"fields": {"items": ["{", "}", ", ", "keep"]}},
    "DictItem": {"fields": {"key": ["", ""], "value": [": ", ""]}},
    "Set": {"fields": {"elts": ["{", "}", ", ", "keep"]}},
    "ListComp": {"head": "[", "fields": {"elt": ["", ""], "generators": [" ", "", " "]}, "tail": "]"},
    "SetComp": {"head": "{", "fields": {"elt": ["", ""], "generators": [" ", "", " "]}, "tail": "}"},
    "DictComp": {
        "head": "{",
        "fields": {"key": ["", ""], "value": [": ", ""], "generators": [" ", "", " "]},
        "tail": "}"
    },
    "GeneratorExp": {"head": "(", "fields": {"elt": ["", ""], "generators": [" ", "", " "]}, "tail": ")"},
    "Comprehension": {"head": "for", "fields": {"target": [" ", ""], "iter": [" in ", ""], "ifs": [" if ", "", " if "]}},
    "Await": {"head": "await", "fields": {"value": [" ", ""]}},
    "Yield": {"head": "yield", "fields": {"value": [" ", ""]}},
    "YieldFrom": {"head": "yield from", "fields": {"value": [" ", ""]}},
    "Compare": {"fields": {"left": ["", ""], "comparisons": [" ", "", " "]}},
    "ComparisonTarget": {"fields": {"op": ["", ""], "comparator": [" ", ""]}},
    "Call": {"fields": {"func": ["", ""], "args": ["(", ")", ", ", "keep"]}},
    "Keyword": {"fields": {"arg": ["", ""], "value": ["=", ""]}},
    "FString": {"fields": {"parts": ["f\"", "\"", "", "keep"]}},
    "TString": {"fields": {"parts": ["t\"", "\"", "", "keep"]}},
    "InterpolationText": {"text": ""},
    "Interpolation": {"head": "{", "fields": {"value": ["", ""], "format_spec": [":", ""]}, "tail": "}"},
    "FormatSpec": {"fields": {"parts": ["", "", ""]}},
    "ConcatenatedString": {"fields": {"parts": ["", "", " "]}},
    "String": {"text": "\"\""},
    "Bytes": {"text": "b\"\""},
    "Integer": {"text": "0"},
    "Float": {"text": "0.0"},
    "Imaginary": {"text": "0j"},
    "Boolean": {"text": "True"},
    "None": {"text": "None"},
    "Ellipsis": {"text": "..."},
    "Attribute": {"fields": {"value": ["", ""], "attr": [".", ""]}},
    "Subscript": {"fields": {"value": ["", ""], "slice": ["[", "]"]}},
    "Starred": {"head": "*", "fields": {"value": ["", ""]}},
    "Name": {"text": "_"},
    "List": {"fields": {"elts": ["[", "]", ", ", "keep"]}},
    "Tuple": {"fields": {"elts": ["(", ")", ", ", "keep"]}},
    "Slice": {"fields": {"lower": ["", ""], "upper": [":", "", "", "keep"], "step": [":", "", "", "trivia"]}},
    "Decorator": {"head": "@", "fields": {"expression": ["", ""]}},
    "Parameters": {"fields": {"params": ["(", ")", ", ", "keep"]}},
    "Parameter": {"fields": {"name": ["", ""], "annotation": [": ", ""], "default": ["=", ""]}},
    "ParamSlash": {"text": "/"},
    "ParamStar": {"text": "*"},
    "TypeParams": {"fields": {"params": ["[", "]", ", "]}},
    "TypeVar": {"fields": {"name": ["", ""], "bound": [": ", ""], "default": [" = ", ""]}},
    "TypeVarTuple": {"head": "*", "fields": {"name": ["", ""], "default": [" = ", ""]}},
    "ParamSpec": {"head": "**", "fields": {"name": ["", ""], "default": [" = ", ""]}},
    "MatchValue": {"fields": {"value": ["", ""]}},
    "MatchSingleton": {"text": "None"},
    "MatchSequence": {"fields": {"patterns": ["[", "]", ", ", "keep"]}},
    "MatchMapping": {"head": "{", "fields": {"items": ["", "", ", "], "rest": [", **", ""]}, "tail": "}"},
    "MatchMappingItem": {"fields": {"key": ["", ""], "pattern": [": ", ""]}},
    "MatchClass": {"fields": {"cls": ["", ""], "patterns": ["(", ")", ", ", "keep"]}},
    "MatchKeyword": {"fields": {"attr": ["", ""], "pattern": ["=", ""]}},
    "MatchStar": {"head": "*", "fields": {"name": ["", ""]}},
    "MatchAs": {"fields": {"pattern": ["", ""], "name": [" as ", ""]}},
    "MatchOr": {"fields": {"patterns": ["", "", " | "]}},
    "Identifier": {"text": "_"},
    "Operator": {"text": "+"}
}
# end of LAYOUT
