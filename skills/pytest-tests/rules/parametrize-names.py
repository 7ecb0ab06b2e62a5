"""Names of `pytest.mark.parametrize` are parameters of the test."""


def check(tree):
    found = []
    for function in findall(tree, {"type": "FunctionDef"}):
        if not function["name"]["text"].startswith("test"):
            continue
        groups = [parametrised(decorator["expression"]) for decorator in function["decorators"]]
        taken = []
        for parameter in function["params"]["params"]:
            if parameter["type"] == "Parameter" and parameter["name"]["text"] != "self":
                taken.append(parameter["name"]["text"])
        known = [name for names in groups for name in names]
        fixtures = [name for name in taken if name not in known]
        for names in groups:
            missing = [name for name in names if name not in taken]
            # A fixture may use the name, unless its companions are plainly meant for the test itself.
            if missing and (not fixtures or len(missing) < len(names)):
                message = "`" + function["name"]["text"] + "` has no parameter `" + missing[0] + "`"
                found.append({"node": function["name"], "message": message})
    return found


def parametrised(call):
    """The names of a `parametrize`; none if they cannot be known."""
    if call["type"] != "Call" or call["func"]["type"] != "Attribute" or call["func"]["attr"]["text"] != "parametrize":
        return []
    for argument in call["args"]:
        if argument["type"] == "Keyword" and (argument["arg"] is None or argument["arg"]["text"] == "indirect"):
            return []
    if not call["args"]:
        return []
    first = call["args"][0]
    if first["type"] == "String":
        return [name.strip() for name in content(first).split(",") if name.strip()]
    if first["type"] in ("Tuple", "List") and all(item["type"] == "String" for item in first["elts"]):
        return [content(item) for item in first["elts"]]
    return []


def content(string):
    return string["text"].strip("'\"")
