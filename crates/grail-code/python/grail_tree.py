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

REMOVE = {"type": "Remove"}

STATEMENTS = [
    "FunctionDef", "ClassDef", "Return", "Delete", "TypeAlias", "Assign", "AugAssign", "AnnAssign", "For", "While", "If", "With", "Match",
    "Raise", "Try", "Assert", "Import", "ImportFrom", "Global", "Nonlocal", "Expr", "Pass", "Break", "Continue", "Elif", "Else",
    "ExceptHandler", "Finally", "MatchCase",
]
COMPOUND = ["FunctionDef", "ClassDef", "For", "While", "If", "With", "Match", "Try"]
OPTIONAL = {
    "FunctionDef": ["type_params", "returns"], "ClassDef": ["type_params"], "Return": ["value"], "TypeAlias": ["type_params"],
    "AnnAssign": ["value"], "For": ["orelse"], "While": ["orelse"], "If": ["orelse"], "WithItem": ["optional_vars"],
    "MatchCase": ["guard"], "Raise": ["exc", "cause"], "Try": ["orelse", "finalbody"], "ExceptHandler": ["exc", "name"],
    "Assert": ["msg"], "ImportFrom": ["module"], "Alias": ["asname"], "Lambda": ["params"], "DictItem": ["key"], "DictComp": ["key"],
    "Yield": ["value"], "Keyword": ["arg"], "Interpolation": ["format_spec"], "Slice": ["lower", "upper", "step"],
    "Parameter": ["annotation", "default"], "TypeVar": ["bound", "default"], "TypeVarTuple": ["default"], "ParamSpec": ["default"],
    "MatchMapping": ["rest"], "MatchStar": ["name"], "MatchAs": ["pattern", "name"],
}
ATTRIBUTES = ["is_async", "is_star", "is_lazy", "debug", "level", "op", "conversion", "kind"]
NOTHING_ALONE = ["Expr", "Decorator", "Keyword", "Starred", "Alias"]
BLANK = " \t\n\r\f"
# The fields of every kind, last first: the order in which they go onto a work list.
FIELDS = {kind: list(LAYOUT[kind].get("fields", {}).keys())[::-1] for kind in LAYOUT}


def fields_of(node):
    """The names of a node's fields, in source order."""
    layout = LAYOUT.get(node.get("type"))
    if layout is None:
        return []
    return list(layout.get("fields", {}).keys())


def visit(tree, visitor):
    """Shows every node to `visitor`, parents first: a function, or a dict of functions by type ("_all" for the others).

    A visitor that returns False skips the children.
    """
    work = [tree]
    while work:
        value = work.pop()
        if isinstance(value, list):
            work.extend(value[::-1])
        elif isinstance(value, dict):
            handler = _handler(visitor, value)
            if handler is None or handler(value) is not False:
                for field in FIELDS.get(value.get("type"), []):
                    child = value.get(field)
                    if child:
                        work.append(child)


def findall(tree, pattern):
    """Every node that matches, parents first."""
    found = []
    wanted = None
    if isinstance(pattern, dict):
        wanted = pattern.get("type")
    # Most nodes are of another type; they are told apart here, because a call per node is what a walk costs.
    is_any = not isinstance(wanted, str)
    work = [tree]
    while work:
        value = work.pop()
        if isinstance(value, list):
            work.extend(value[::-1])
        elif isinstance(value, dict):
            kind = value.get("type")
            if (is_any or kind == wanted) and matches(value, pattern):
                found.append(value)
            for field in FIELDS.get(kind, []):
                child = value.get(field)
                if child:
                    work.append(child)
    return found


def matches(node, pattern):
    """Whether a node has everything the pattern asks for. A string stands for the code of a node, None for an empty field."""
    work = [[node, pattern]]
    while work:
        pair = work.pop()
        value = pair[0]
        wanted = pair[1]
        if wanted is None:
            if value is not None and value != []:
                return False
        elif isinstance(wanted, list):
            if not isinstance(value, list) or len(value) != len(wanted):
                return False
            for index in range(len(wanted)):
                work.append([value[index], wanted[index]])
        elif isinstance(wanted, dict):
            if isinstance(value, str):
                if code_of(wanted) != value:
                    return False
            elif not isinstance(value, dict):
                return False
            else:
                for key in wanted:
                    inner = key
                    if key == "id" and value.get("type") == "Name" and isinstance(wanted[key], str):
                        inner = "text"
                    work.append([value.get(inner), wanted[key]])
        elif isinstance(wanted, str) and isinstance(value, dict):
            if code_of(value) != wanted:
                return False
        elif value != wanted or isinstance(value, bool) != isinstance(wanted, bool):
            return False
    return True


def deep_equals(left, right):
    """Whether two nodes mean the same code. Trivia, parentheses, ranges and contexts do not count."""
    work = [[left, right]]
    while work:
        pair = work.pop()
        a = pair[0]
        b = pair[1]
        if isinstance(a, dict) and isinstance(b, dict):
            if a.get("type") != b.get("type") or _leaf_text(a) != _leaf_text(b):
                return False
            fields = fields_of(a)
            for name in ATTRIBUTES:
                if name not in fields and name in a and name in b and a[name] != b[name]:
                    return False
            for field in fields:
                work.append([a.get(field), b.get(field)])
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            for index in range(len(a)):
                work.append([a[index], b[index]])
        elif isinstance(a, dict) and isinstance(b, str):
            if code_of(a) != b:
                return False
        elif isinstance(a, str) and isinstance(b, dict):
            if code_of(b) != a:
                return False
        elif not ((a is None and b == []) or (a == [] and b is None)) and a != b:
            return False
    return True


def transform(tree, visitor):
    """A new tree in which every node, children first, is what `visitor` returned for it.

    None or the node itself keeps it, another node (or code) replaces it, REMOVE takes it out, a list takes its place in its list.
    """
    work = [["enter", tree]]
    done = []
    while work:
        step = work.pop()
        node = step[1]
        if step[0] == "enter":
            if not isinstance(node, dict):
                done.append([[node], ""])
                continue
            node = dict(node)
            counts = []
            children = []
            for field in fields_of(node):
                value = node.get(field)
                if isinstance(value, list):
                    counts.append(len(value))
                    children.extend(value)
                elif value is None:
                    counts.append(-1)
                else:
                    counts.append(-2)
                    children.append(value)
            work.append(["leave", node, counts, len(children)])
            for child in children[::-1]:
                work.append(["enter", child])
            continue
        counts = step[2]
        start = len(done) - step[3]
        finished = done[start:]
        done = done[:start]
        taken = 0
        is_void = False
        fields = fields_of(node)
        for index in range(len(fields)):
            field = fields[index]
            count = counts[index]
            if count == -2:
                if _settle_single(node, field, finished[taken][0]):
                    is_void = True
                taken += 1
            elif count >= 0:
                node[field] = _settle_list(node, field, finished[taken:taken + count])
                taken += count
        if is_void:
            done.append(_outcome(REMOVE, node))
        else:
            handler = _handler(visitor, node)
            change = None
            if handler is not None:
                change = handler(node)
            done.append(_outcome(change, node))
    values = done[0][0]
    if len(values) != 1:
        raise ValueError("`root` of `tree` holds one node, not " + str(len(values)))
    return values[0]


def replace(tree, target, new):
    """A new tree with `new` in the place of `target`: a node of the tree, or its id."""
    return _change_one(tree, target, new)


def remove(tree, target):
    """A new tree without `target`: a node of the tree, or its id."""
    return _change_one(tree, target, REMOVE)


def docstring(node):
    """The documentation of a module, class or function, cleaned, or None. Escapes are left as written."""
    body = node.get("body")
    if not isinstance(body, list) or not body or not isinstance(body[0], dict) or body[0].get("type") != "Expr":
        return None
    value = body[0].get("value")
    if not isinstance(value, dict):
        return None
    if value.get("type") == "String":
        parts = [value]
    elif value.get("type") == "ConcatenatedString":
        parts = value.get("parts")
    else:
        return None
    text = ""
    for part in parts:
        content = _literal_content(_leaf_text(part))
        if content is None:
            return None
        text += content
    return _clean(text)


def codegen(tree):
    """The source of a tree: byte for byte what it was made from, if nothing changed."""
    newline = "\n"
    if isinstance(tree, dict):
        newline = tree.get("newline", "\n")
    pair = _written_parens(tree)
    if pair is None:
        return _print(tree, "", newline)
    return pair[0] + _print(tree, "", newline) + pair[1]


def code_of(node):
    """The code of one node alone: without parentheses around it, and without what stands before or behind it."""
    indent = ""
    if isinstance(node, dict):
        indent = node.get("indent", "")
        text = node.get("text")
        if isinstance(text, str) and node.get("type") != "Code":
            return text
    return _print(node, indent, "\n")


def _handler(visitor, node):
    if isinstance(visitor, dict):
        return visitor.get(node.get("type"), visitor.get("_all"))
    return visitor


def _change_one(tree, target, change):
    found = []

    def is_target(node):
        if isinstance(target, dict) and "id" not in target:
            return node is target
        if isinstance(target, dict):
            return node.get("id") == target["id"]
        return node.get("id") == target

    # Nodes without an id are known by identity alone, which copying loses: mark them first.
    if isinstance(target, dict) and not isinstance(target.get("id"), int):
        marked = dict(target)
        marked["id"] = -1
        tree = _swap(tree, target, marked)
        target = marked

    def handle(node):
        if not found and is_target(node):
            found.append(node)
            return change
        return None

    result = transform(tree, handle)
    if not found:
        name = target
        if isinstance(target, dict):
            name = target.get("id")
        raise ValueError("there is no node with the id " + str(name))
    return result


def _swap(tree, old, new):
    if tree is old:
        return new
    tree = dict(tree)
    work = [tree]
    while work:
        node = work.pop()
        for field in fields_of(node):
            value = node.get(field)
            if isinstance(value, list):
                items = []
                for item in value:
                    if item is old:
                        item = new
                    elif isinstance(item, dict):
                        item = dict(item)
                        work.append(item)
                    items.append(item)
                node[field] = items
            elif value is old:
                node[field] = new
            elif isinstance(value, dict):
                node[field] = dict(value)
                work.append(node[field])
    return tree


def _outcome(change, node):
    """The nodes that take a node's place, and the comments it leaves behind."""
    if change is None:
        return [[node], ""]
    if isinstance(change, list):
        values = []
        last = len(change) - 1
        for index in range(len(change)):
            value = change[index]
            if isinstance(value, dict):
                value = dict(value)
                keys = []
                if index == 0:
                    keys.append("before")
                if index == last:
                    keys.extend(["gap", "after"])
                for key in keys:
                    if key in node and key not in value:
                        value[key] = node[key]
            values.append(value)
        if values:
            return [values, ""]
        return [values, _detached_comments(node)]
    if isinstance(change, str):
        change = {"type": "Code", "text": change}
    if change.get("type") == "Remove":
        return [[], _detached_comments(node)]
    new = {}
    for key in change:
        if key not in ["before", "gap", "after"]:
            new[key] = change[key]
    for key in ["before", "gap", "after"]:
        if key in node:
            new[key] = node[key]
    return [[new], ""]


def _detached_comments(node):
    after = node.get("after", "")
    at = _find_break(after)
    if at >= 0 and "#" in after[at:]:
        return after[at:]
    return ""


def _settle_list(node, field, outcomes):
    items = []
    for outcome in outcomes:
        left_behind = outcome[1]
        if left_behind:
            if items and isinstance(items[-1], dict):
                previous = dict(items[-1])
                previous["after"] = previous.get("after", "").rstrip(BLANK) + left_behind
                items[-1] = previous
            elif not items:
                entry = LAYOUT[node["type"]]["fields"][field]
                trivia = dict(node.get("trivia", {}))
                around = list(trivia.get(field, [entry[0], entry[1]]))
                around[0] = around[0] + left_behind.lstrip(BLANK)
                trivia[field] = around
                node["trivia"] = trivia
        items.extend(outcome[0])
    return items


def _settle_single(node, field, values):
    kind = node.get("type")
    if len(values) > 1:
        raise ValueError("`" + field + "` of `" + kind + "` holds one node, not " + str(len(values)))
    if values:
        node[field] = values[0]
        return False
    node[field] = None
    if field in OPTIONAL.get(kind, []):
        return False
    if kind in NOTHING_ALONE:
        return True
    raise ValueError("`" + field + "` of `" + kind + "` cannot be removed: the syntax needs it")


def _literal_content(literal):
    body = literal.lstrip("rRuU")
    for quote in ['"""', "'''", '"', "'"]:
        if body.startswith(quote) and body.endswith(quote) and len(body) >= 2 * len(quote):
            return body[len(quote):len(body) - len(quote)]
    return None


def _clean(text):
    text = _expand_tabs(text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = text.split("\n")
    margin = -1
    for line in lines[1:]:
        content = line.lstrip()
        if content:
            width = len(line) - len(content)
            if margin < 0 or width < margin:
                margin = width
    if margin < 0:
        margin = 0
    cleaned = [lines[0].lstrip()]
    for line in lines[1:]:
        cleaned.append(line[margin:])
    while cleaned and not cleaned[-1]:
        cleaned.pop()
    while cleaned and not cleaned[0]:
        cleaned = cleaned[1:]
    return "\n".join(cleaned)


def _expand_tabs(text):
    if "\t" not in text:
        return text
    pieces = []
    column = 0
    for character in text:
        if character == "\t":
            width = 8 - column % 8
            pieces.append(" " * width)
            column += width
        else:
            pieces.append(character)
            column += 1
            if character == "\n":
                column = 0
    return "".join(pieces)


def _print(tree, indent, newline):
    result = []
    # A piece is a string, or [node, indentation, change of indentation, kind of the parent, whether that is a `try` with `except*`].
    work = [[tree, indent, None, "", False]]
    while work:
        piece = work.pop()
        if isinstance(piece, str):
            result.append(piece)
        else:
            pieces = []
            _expand(piece[0], piece, newline, pieces)
            work.extend(pieces[::-1])
    return "".join(result)


def _expand(node, context, newline, pieces):
    if not isinstance(node, dict):
        pieces.append(_leaf_text(node))
        return
    kind = node.get("type")
    if kind == "Code":
        pieces.append(_indent_code(_leaf_text(node), context[1], newline))
        return
    layout = LAYOUT.get(kind)
    if layout is None or isinstance(node.get("text"), str):
        pieces.append(_leaf_text(node))
        return
    fields = layout.get("fields")
    if not fields:
        pieces.append(_leaf_text(node) or layout.get("text", ""))
        return
    if kind in STATEMENTS and "range" in node:
        context = [node, context[1], _shift(node, context[1]), context[3], context[4]]
    if kind == "Match" and _is_absent(node, "cases") and not _is_absent(node, "subject"):
        _print_child(node, "subject", node["subject"], context, pieces)
        return
    trivia = node.get("trivia", {})
    head = trivia.get("head")
    if head is None:
        head = _default_head(node, layout, context)
    pieces.append(_shifted(head, context[2]))
    for field in fields:
        entry = fields[field]
        if len(entry) > 2 and entry[2] == "block":
            _print_block(node, field, context, newline, pieces)
        elif kind == "Slice" or len(entry) == 2:
            _print_single(node, field, context, newline, pieces)
        else:
            _print_list(node, field, context, newline, pieces)
    if kind == "Try" and _is_absent(node, "handlers") and _is_absent(node, "finalbody"):
        pieces.append(_resolve("\nfinally:\n    pass", context[1], newline))
    tail = trivia.get("tail")
    if tail is None:
        tail = _default_tail(node, layout)
    pieces.append(_shifted(tail, context[2]))


def _around(node, field, context, newline):
    entry = node.get("trivia", {}).get(field)
    if entry is not None:
        return [_shifted(entry[0], context[2]), _shifted(entry[1], context[2])]
    pair = _default_around(node, field, context)
    return [_resolve(pair[0], context[1], newline), _resolve(pair[1], context[1], newline)]


def _third_entry(node, field):
    entry = node.get("trivia", {}).get(field)
    if entry is not None and len(entry) > 2:
        return entry[2]
    return None


def _print_empty(node, field, pair, pieces):
    kind = node["type"]
    entry = LAYOUT[kind]["fields"][field]
    rule = ""
    if len(entry) > 3:
        rule = entry[3]
    is_written = field in node.get("trivia", {}) and field in node
    if rule != "keep" and not (rule == "trivia" and is_written):
        return
    if kind == "Set":
        pieces.append("set()")
    elif kind == "Tuple" and not pair[0]:
        pieces.append("()")
    elif "#" in pair[0] or kind == "Slice" or _third_entry(node, field) == "empty":
        pieces.append(pair[0] + pair[1])
    elif "#" in pair[1]:
        pieces.append(pair[0].rstrip(BLANK) + pair[1])
    else:
        pieces.append(pair[0].rstrip(BLANK) + pair[1].lstrip(BLANK))


def _print_single(node, field, context, newline, pieces):
    pair = _around(node, field, context, newline)
    if _is_absent(node, field):
        _print_empty(node, field, pair, pieces)
        return
    if node["type"] + "." + field in ["Raise.cause", "ExceptHandler.name"] and _is_absent(node, "exc"):
        return
    open_text = pair[0]
    if node["type"] == "MatchMapping" and field == "rest" and _is_absent(node, "items"):
        open_text = open_text.lstrip(BLANK).lstrip(",").lstrip(BLANK)
    if node["type"] == "Assign" and _is_absent(node, "targets"):
        open_text = ""
    pieces.append(open_text)
    _print_child(node, field, node[field], context, pieces)
    pieces.append(pair[1])


def _print_child(node, field, child, context, pieces):
    pair = _written_parens(child)
    if pair is not None:
        pair = [_shifted(pair[0], context[2]), _shifted(pair[1], context[2])]
    elif _needs_parens(node, field, child):
        pair = ["(", ")"]
    else:
        pair = ["", ""]
    pieces.append(pair[0])
    pieces.append([child, context[1], context[2], node["type"], node.get("is_star", False)])
    pieces.append(pair[1])


def _print_list(node, field, context, newline, pieces):
    pair = _around(node, field, context, newline)
    items = _items(node, field)
    if not items:
        _print_empty(node, field, pair, pieces)
        return
    open_text = pair[0]
    close = pair[1]
    separator = _separator(node, field)
    default_after = _resolve(separator[2], context[1], newline)
    third = _third_entry(node, field)
    if third is None or third == "empty":
        has_trailing = node["type"] == "Tuple" and len(items) == 1
    else:
        has_trailing = third != ""
    inner = context
    if field == "cases" and _find_break(open_text) >= 0:
        inner = [node, _last_line(open_text), context[2], context[3], context[4]]
    pieces.append(open_text)
    for index in range(len(items)):
        item = items[index]
        pieces.append(_shifted(_word(item, "before") or "", context[2]))
        _print_child(node, field, item, inner, pieces)
        gap = _word(item, "gap")
        written = _word(item, "after")
        after = _shifted(written or "", context[2])
        if index + 1 < len(items):
            if gap is None:
                gap = separator[0]
            pieces.append(gap + separator[1])
            if written is None:
                after = _between_items(items, index, open_text, default_after)
            elif _ends_in_comment(after):
                after += _line_break(items, index, open_text, context, newline)
        else:
            if gap is not None and (has_trailing or "#" in gap):
                pieces.append(gap)
            if has_trailing:
                pieces.append(separator[1])
            kept = after.rstrip(BLANK)
            if not _ends_in_comment(kept) or _starts_with_break(_behind(node, field, close, context, newline)):
                after = kept
            elif _ends_in_comment(after):
                after += _line_break(items, index, open_text, context, newline)
        pieces.append(after)
    pieces.append(close)


def _behind(node, field, close, context, newline):
    if close:
        return close
    layout = LAYOUT[node["type"]]
    is_later = False
    for name in layout["fields"]:
        if is_later and not _is_absent(node, name):
            text = _around(node, name, context, newline)[0]
            if text:
                return text
        if name == field:
            is_later = True
    tail = node.get("trivia", {}).get("tail")
    if tail is None:
        tail = _default_tail(node, layout)
    return tail


def _print_block(node, field, context, newline, pieces):
    is_module = node["type"] == "Module"
    pair = _around(node, field, context, newline)
    open_text = pair[0]
    items = []
    has_compound = False
    for item in _items(node, field):
        if not _is_void(item):
            items.append(item)
            if _is_compound(item):
                has_compound = True
    if not items:
        if is_module or _third_entry(node, field) == "empty":
            pieces.append(open_text + pair[1])
        else:
            pieces.append(open_text + "pass" + pair[1])
        return
    if node["type"] == "With" and _is_absent(node, "items") and ":" in open_text:
        open_text = open_text[open_text.find(":"):]
    if is_module and open_text and open_text[-1] not in "\n\r \t\f\\":
        open_text += newline
    is_one_line = False
    if is_module:
        indent = ""
    elif _find_break(open_text) >= 0:
        indent = _last_line(open_text)
    elif has_compound:
        indent = context[1] + "    "
        open_text = open_text.rstrip(BLANK) + newline + indent
    else:
        indent = context[1]
        is_one_line = True
    pieces.append(open_text)
    line_break = newline + indent
    if is_one_line:
        line_break = "; "
    inner = [node, indent, None, context[3], context[4]]
    is_separated = True
    for index in range(len(items)):
        item = items[index]
        shift = None
        if isinstance(item, dict):
            shift = _shift(item, indent)
        before = _shifted(_word(item, "before") or "", shift)
        is_continued = before.lstrip(BLANK).startswith(";")
        if is_continued and not is_separated and (is_one_line or not _is_compound(item)):
            pieces.append(before)
        else:
            if is_continued:
                before = before.lstrip(BLANK)[1:].lstrip(BLANK)
            if not is_separated:
                pieces.append(line_break)
            pieces.append(before)
        _print_child(node, field, item, inner, pieces)
        after = _word(item, "after")
        if after is not None:
            after = _shifted(after, shift)
        elif is_one_line:
            after = ""
        else:
            after = line_break
        if index + 1 == len(items):
            pieces.append(after.rstrip(BLANK))
        else:
            is_separated = _find_break(after) >= 0
            pieces.append(after)
    pieces.append(pair[1])


def _default_head(node, layout, context):
    kind = node["type"]
    head = layout.get("head", "")
    if kind == "With" and _is_absent(node, "items"):
        return "if True"
    if kind in ["For", "Comprehension", "With"] and node.get("is_async"):
        return "async " + head
    if kind in ["Import", "ImportFrom"] and node.get("is_lazy"):
        return "lazy " + head
    if kind == "GeneratorExp" and node.get("parenthesized") is False:
        return ""
    if kind == "ExceptHandler" and context[4]:
        return head + "*"
    if kind == "Parameter":
        return {"star": "*", "double_star": "**"}.get(node.get("kind"), "")
    return head


def _default_tail(node, layout):
    kind = node["type"]
    if kind == "GeneratorExp" and node.get("parenthesized") is False:
        return ""
    if kind == "MatchStar" and _is_absent(node, "name"):
        return "_"
    if kind == "MatchAs" and _is_absent(node, "name") and _is_absent(node, "pattern"):
        return "_"
    return layout.get("tail", "")


def _default_around(node, field, context):
    kind = node["type"]
    entry = LAYOUT[kind]["fields"][field]
    place = kind + "." + field
    if place == "FunctionDef.name" and node.get("is_async"):
        return ["async def ", ""]
    if place == "UnaryOp.operand" and _leaf_text(node.get("op")) == "not":
        return [" ", ""]
    if place == "Keyword.value" and _is_absent(node, "arg"):
        return ["**", ""]
    if place in ["DictItem.value", "DictComp.value"] and _is_absent(node, "key"):
        return ["**", ""]
    if place == "Tuple.elts" and node.get("parenthesized") is False:
        return ["", ""]
    if place == "Parameters.params" and context[3] == "Lambda":
        return ["", ""]
    if place == "MatchMapping.rest" and _is_absent(node, "items"):
        return ["**", ""]
    if place == "MatchAs.name" and _is_absent(node, "pattern"):
        return ["", ""]
    if place == "Parameter.default" and not _is_absent(node, "annotation"):
        return [" = ", ""]
    if place == "Interpolation.value":
        marks = []
        if node.get("debug"):
            marks.append("=")
        if node.get("conversion"):
            marks.append("!" + node["conversion"])
        return ["", " ".join(marks)]
    if place == "ImportFrom.module":
        return [" " + _dots(node), ""]
    if place == "ImportFrom.names" and _is_absent(node, "module"):
        return [" " + _dots(node) + " import ", ""]
    if kind in ["FString", "TString"]:
        quote = _unused_quote(node)
        return [entry[0][0] + quote, quote]
    return [entry[0], entry[1]]


def _separator(node, field):
    if node["type"] == "BoolOp" and node.get("op") == "or":
        return [" ", "or", " "]
    text = LAYOUT[node["type"]]["fields"][field][2]
    separator = text.strip(BLANK)
    if not separator:
        return ["", "", text]
    start = text.find(separator)
    return [text[:start], separator, text[start + len(separator):]]


def _dots(node):
    return "." * min(node.get("level") or 0, 1000)


def _unused_quote(node):
    text = ""
    for part in node.get("parts") or []:
        text += _leaf_text(part)
    if '"' not in text:
        return '"'
    if "'" not in text:
        return "'"
    return '"""'


def _leaf_text(value):
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        text = value.get("text")
        if text is None and value.get("type") == "Name":
            text = value.get("id")
        if isinstance(text, str):
            return text
    return ""


def _is_absent(node, field):
    value = node.get(field)
    return value is None or value == []


def _items(node, field):
    value = node.get(field)
    if isinstance(value, list):
        items = []
        for item in value:
            if item is not None:
                items.append(item)
        return items
    if value is None:
        return []
    return [value]


def _word(node, key):
    if isinstance(node, dict):
        value = node.get(key)
        if isinstance(value, str):
            return value
    return None


def _written_parens(node):
    if isinstance(node, dict):
        pair = node.get("parens")
        if isinstance(pair, list) and len(pair) == 2:
            return pair
    return None


def _between_items(items, index, open_text, default):
    others = items[:index][::-1]
    others.extend(items[index + 1:])
    for other in others:
        after = _word(other, "after")
        if after is not None:
            blank = after[len(after.rstrip(BLANK)):]
            at = max(blank.rfind("\n"), blank.rfind("\r"))
            if at >= 0:
                if blank[:at].endswith("\r"):
                    return "\r\n" + blank[at + 1:]
                return blank[at:]
            if not _ends_in_comment(after):
                return blank
    blank = open_text[len(open_text.rstrip(BLANK)):]
    at = _find_break(blank)
    if at >= 0:
        return blank[at:]
    return default


def _line_break(items, index, open_text, context, newline):
    between = _between_items(items, index, open_text, "")
    if _find_break(between) >= 0:
        return between
    return newline + context[1] + "    "


def _find_break(text):
    at = text.find("\n")
    other = text.find("\r")
    if at < 0 or (other >= 0 and other < at):
        return other
    return at


def _last_line(text):
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1:]


def _ends_in_comment(text):
    return "#" in _last_line(text)


def _starts_with_break(text):
    text = text.lstrip(" \t\f")
    return text.startswith("\n") or text.startswith("\r")


def _resolve(text, indent, newline):
    return text.replace("\n", newline + indent)


def _shift(node, indent):
    """The change of indentation for a statement that is printed in a block of that indentation."""
    if "range" not in node or node.get("indent", "") == indent:
        return None
    return [node.get("indent", ""), indent]


def _shifted(text, shift):
    if shift is None or "\n" not in text:
        return text
    lines = text.split("\n")
    result = [lines[0]]
    for index in range(1, len(lines)):
        line = lines[index]
        is_last = index + 1 == len(lines)
        rest = line[len(shift[0]):]
        is_blank = not rest and not is_last
        if line.startswith(shift[0]) and not is_blank and not rest.startswith("\r"):
            result.append(shift[1] + rest)
        else:
            result.append(line)
    return "\n".join(result)


def _indent_code(code, indent, newline):
    lines = code.rstrip(BLANK).replace("\r\n", "\n").split("\n")
    margin = -1
    for line in lines:
        if line.strip(BLANK):
            width = len(line) - len(line.lstrip(" \t"))
            if margin < 0 or width < margin:
                margin = width
    if margin < 0:
        margin = 0
    result = []
    for index in range(len(lines)):
        line = lines[index][margin:]
        if index > 0 and line:
            line = indent + line
        result.append(line)
    return newline.join(result)


def _is_void(item):
    """A statement that says nothing any more, like an import of no names."""
    if not isinstance(item, dict) or isinstance(item.get("text"), str):
        return False
    if item.get("type") not in ["Import", "ImportFrom", "Global", "Nonlocal", "Delete"]:
        return False
    field = "names"
    if item["type"] == "Delete":
        field = "targets"
    return _is_absent(item, field) and _third_entry(item, field) != "empty"


def _is_compound(item):
    if isinstance(item, dict) and item.get("type") != "Code":
        return item.get("type") in COMPOUND
    return _find_break(_leaf_text(item).rstrip(BLANK)) >= 0


# How tightly each kind of expression holds together, and how tightly each place wants its operand to.
STRENGTHS = {
    "Yield": 0, "YieldFrom": 0, "NamedExpr": 1, "Lambda": 2, "IfExp": 3, "BoolOp": 5, "Compare": 7, "UnaryOp": 14, "Await": 16, "Call": 17,
    "Attribute": 17, "Subscript": 17,
}
OPERATORS = {"|": 8, "^": 9, "&": 10, "<<": 11, ">>": 11, "+": 12, "-": 12, "": 12, "**": 15}
WANTED = {
    "Compare.left": 8, "ComparisonTarget.comparator": 8, "Starred.value": 8, "Await.value": 17, "Attribute.value": 17,
    "Subscript.value": 17, "Call.func": 17, "IfExp.body": 4, "IfExp.test": 4, "Comprehension.iter": 4, "Comprehension.ifs": 4,
    "IfExp.orelse": 2, "Lambda.body": 2, "NamedExpr.value": 2, "Keyword.value": 2, "DictItem.value": 2, "YieldFrom.value": 2,
    "DictItem.key": 2, "DictComp.key": 2, "DictComp.value": 2, "Call.args": 1, "List.elts": 1, "Set.elts": 1, "Tuple.elts": 1,
    "ListComp.elt": 1, "SetComp.elt": 1, "GeneratorExp.elt": 1, "If.test": 1, "Elif.test": 1, "While.test": 1,
    "Decorator.expression": 1, "MatchCase.guard": 1, "Assert.test": 2, "Assert.msg": 2, "Raise.exc": 2, "Raise.cause": 2,
    "WithItem.context_expr": 2, "Parameter.annotation": 2, "Parameter.default": 2, "FunctionDef.returns": 2, "AnnAssign.annotation": 2,
    "ClassDef.bases": 1,
}


def _needs_parens(parent, field, child):
    wanted = _wanted(parent, field)
    if wanted is None:
        return False
    if isinstance(child, str) or (isinstance(child, dict) and child.get("type") == "Code"):
        return wanted > 2 and not _is_atomic(_leaf_text(child))
    if not isinstance(child, dict):
        return False
    if child.get("type") == "Integer" and parent["type"] == "Attribute" and _is_decimal(_leaf_text(child)):
        return True
    return _strength(child) < wanted


def _wanted(parent, field):
    kind = parent["type"]
    if kind == "BinOp" and field in ["left", "right"]:
        strength = OPERATORS.get(_leaf_text(parent.get("op")), 13)
        if field == "left":
            return 16 if strength == 15 else strength
        return 14 if strength == 15 else strength + 1
    if kind == "BoolOp" and field == "values":
        return _strength(parent) + 1
    if kind == "UnaryOp" and field == "operand":
        return 6 if _leaf_text(parent.get("op")) == "not" else 14
    return WANTED.get(kind + "." + field)


def _strength(node):
    kind = node.get("type")
    if kind == "Tuple" and node.get("parenthesized") is False:
        return 0
    if kind == "BoolOp" and node.get("op") == "or":
        return 4
    if kind == "UnaryOp" and _leaf_text(node.get("op")) == "not":
        return 6
    if kind == "BinOp":
        return OPERATORS.get(_leaf_text(node.get("op")), 13)
    return STRENGTHS.get(kind, 18)


def _is_decimal(text):
    for character in text:
        if character not in "0123456789_":
            return False
    return True


def _is_atomic(text):
    """Whether code is one name, call, literal or bracketed expression, as far as its characters tell."""
    depth = 0
    quote = ""
    for character in text.strip(BLANK):
        if quote:
            if character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif not (depth > 0 or character in "_." or character.isalnum()):
            return False
    return True
