"""Classes named `…Service` that no registration mentions."""


def check_project(project):
    if not project["calls"]:
        return []
    named = set()
    texts = []
    for call in project["calls"]:
        for index, argument in enumerate(call["arguments"]):
            name = argument.get("name")
            if name is not None:
                named.add(name)
            else:
                texts.append(argument.get("text") or argument.get("string") or "")
            if index == 0 and is_variable(argument):
                return []
    classes = {}
    for definition in project["definitions"]:
        if definition["kind"] == "class":
            classes[definition["qualified_name"]] = definition
    # What stands above or below a registered class is accounted for.
    related = set(named)
    for definition in classes.values():
        if definition["qualified_name"] in named:
            related.update(definition["bases"])
    found = []
    for definition in classes.values():
        name = definition["name"]
        is_known = definition["qualified_name"] in related or any(base in related for base in definition["bases"])
        if is_known or any(name in text for text in texts) or not is_service(definition):
            continue
        found.append({"node": definition, "message": "nothing registers `" + name + "`"})
    return found


def is_variable(argument):
    """Whether the type comes from a variable: then anything may be registered."""
    name = argument.get("name")
    if name is None:
        return not (argument.get("text") or "").endswith("]")
    last = name.split(".")[-1]
    return last[:1].islower() and last not in ("str", "int", "float", "bool", "bytes", "dict", "list", "set", "tuple", "object", "type")


def is_service(definition):
    path = definition["path"].lower()
    if definition["name"].startswith("_") or "<locals>" in definition["qualified_name"]:
        return False
    if any(word in path for word in options["ignore"]) or any(word in definition["name"].lower() for word in options["ignore"]):
        return False
    for decorator in definition["decorators"]:
        if not decorator.split("(")[0].endswith("dataclass"):
            return False
    for base in definition["bases"]:
        if base.split(".")[-1].split("[")[0] in ("Protocol", "ABC"):
            return False
    return True
