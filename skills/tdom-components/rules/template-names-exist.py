"""Names that stand in a template and nowhere else."""

from grail_tree import code_of, findall

BUILTINS = (
    "abs all any ascii bin bool bytes callable chr classmethod dict dir divmod enumerate filter float format frozenset getattr hasattr hash "
    "hex id int isinstance issubclass iter len list map max min next object oct ord pow print property range repr reversed round set slice "
    "sorted str sum super tuple type vars zip __name__ __file__ __doc__"
).split(" ")
MOST_MENDED = 20
MOST_FOUND = 1000


def check(tree):
    for statement in findall(tree, {"type": "ImportFrom"}):
        if code_of(statement).strip().endswith("*"):
            return []
    occurrences = {}
    for kind in ("Name", "Identifier"):
        for node in findall(tree, {"type": kind}):
            occurrences[node["text"]] = occurrences.get(node["text"], 0) + 1
    shown = []
    for string in findall(tree, {"type": "TString"}):
        for part in findall(string, {"type": "Interpolation"}):
            if part["value"]["type"] == "Name":
                shown.append(part["value"])
    shown_by_name = {}
    for node in distinct(shown):
        shown_by_name.setdefault(node["text"], []).append(node)
    undefined = {}
    for name, nodes in shown_by_name.items():
        if occurrences[name] == len(nodes) and name not in BUILTINS:
            undefined[name] = nodes
    # Each is compared with the others and with all functions; where there are very many, nobody waits for fixes.
    functions = findall(tree, {"type": "FunctionDef"}) if 0 < len(undefined) <= MOST_MENDED else []
    found = []
    for name, nodes in undefined.items():
        found.extend(findings(name, nodes, functions, undefined))
    return found[:MOST_FOUND]


def distinct(nodes):
    """Templates stand in templates, and what is in the inner one is in the outer one as well."""
    by_place = {}
    for node in nodes:
        by_place[node["range"][0]] = node
    return list(by_place.values())


def findings(name, nodes, functions, undefined):
    parameter = meant(name, nodes, functions, undefined)
    found = []
    for node in nodes:
        finding = {"node": node, "message": "nobody defines `" + name + "`"}
        if parameter is not None:
            edits = [{"node": other, "text": parameter} for other in nodes]
            finding["fix"] = {"title": "Show the parameter `" + parameter + "`", "edits": edits}
        found.append(finding)
    return found


def meant(name, nodes, functions, undefined):
    """The one parameter that is shown nowhere, where this is the one name that nobody defines."""
    around = innermost(nodes[0], functions)
    if around is None or not all(is_inside(node, around) for node in nodes):
        return None
    for other, places in undefined.items():
        if other != name and any(is_inside(place, around) for place in places):
            return None
    used = [node["text"] for node in findall(around, {"type": "Name"})]
    unused = []
    for parameter in around["params"]["params"]:
        if parameter["type"] == "Parameter" and parameter["kind"] not in ("star", "double_star"):
            if parameter["name"]["text"] not in used:
                unused.append(parameter["name"]["text"])
    return unused[0] if len(unused) == 1 else None


def innermost(node, functions):
    best = None
    for function in functions:
        if is_inside(node, function) and (best is None or is_inside(function, best)):
            best = function
    return best


def is_inside(node, other):
    return other["range"][0] <= node["range"][0] and node["range"][1] <= other["range"][1]
