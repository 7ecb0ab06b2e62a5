"""Names that stand in a template and nowhere else."""

from grail_tree import code_of, findall

BUILTINS = (
    "abs all any ascii bin bool bytes callable chr classmethod dict dir divmod enumerate filter float format frozenset getattr hasattr hash "
    "hex id int isinstance issubclass iter len list map max min next object oct ord pow print property range repr reversed round set slice "
    "sorted str sum super tuple type vars zip __name__ __file__ __doc__"
).split(" ")


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
    unknown = {}
    for node in distinct(shown):
        unknown.setdefault(node["text"], []).append(node)
    functions = findall(tree, {"type": "FunctionDef"})
    found = []
    for name, nodes in unknown.items():
        if occurrences[name] == len(nodes) and name not in BUILTINS:
            found.extend(findings(name, nodes, functions, unknown, occurrences))
    return found


def distinct(nodes):
    """Templates stand in templates, and what is in the inner one is in the outer one as well."""
    seen = []
    kept = []
    for node in nodes:
        if node["range"][0] not in seen:
            seen.append(node["range"][0])
            kept.append(node)
    return kept


def findings(name, nodes, functions, unknown, occurrences):
    parameter = meant(name, nodes, functions, unknown, occurrences)
    found = []
    for node in nodes:
        finding = {"node": node, "message": "nobody defines `" + name + "`"}
        if parameter is not None:
            edits = [{"node": other, "text": parameter} for other in nodes]
            finding["fix"] = {"title": "Show the parameter `" + parameter + "`", "edits": edits}
        found.append(finding)
    return found


def meant(name, nodes, functions, unknown, occurrences):
    """The one parameter that is shown nowhere, where this is the one name that nobody defines."""
    around = innermost(nodes[0], functions)
    if around is None or not all(is_inside(node, around) for node in nodes):
        return None
    for other, places in unknown.items():
        if other != name and occurrences[other] == len(places) and any(is_inside(place, around) for place in places):
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
