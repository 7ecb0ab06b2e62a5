"""The names in braces (or angle brackets) of a route pattern are parameters of its view."""


def check(tree):
    functions = {}
    for function in findall(tree, {"type": "FunctionDef"}):
        functions[function["name"]["text"]] = function
    found = []
    for function in functions.values():
        for index, decorator in enumerate(function["decorators"]):
            call = decorator["expression"]
            # What stands below the route may change what the view is called with.
            if is_route(call) and index + 1 == len(function["decorators"]):
                found.extend(compare(call, function))
    for call in findall(tree, {"type": "Call"}):
        if last_name(call["func"]) in options["calls"]:
            view = functions.get(view_name(call))
            if view is not None and not view["decorators"]:
                found.extend(compare(call, view))
    return found


def is_route(node):
    if node["type"] != "Call" or node["func"]["type"] != "Attribute":
        return False
    owner = last_name(node["func"]["value"]).lower()
    is_app = any(owner == app or owner.endswith("_" + app) for app in options["apps"])
    return is_app and last_name(node["func"]) in options["decorators"]


def last_name(node):
    if node["type"] == "Attribute":
        return node["attr"]["text"]
    if node["type"] == "Name":
        return node["text"]
    return ""


def view_name(call):
    for argument in call["args"]:
        if argument["type"] == "Keyword" and argument["arg"] is not None:
            if argument["arg"]["text"] in ("view_func", "endpoint", "handler") and argument["value"]["type"] == "Name":
                return argument["value"]["text"]
    if len(call["args"]) > 1 and call["args"][1]["type"] == "Name":
        return call["args"][1]["text"]
    return None


def compare(call, view):
    if not call["args"] or call["args"][0]["type"] != "String":
        return []
    for argument in call["args"]:
        if argument["type"] == "Keyword" and argument["arg"] is not None and argument["arg"]["text"] == "dependencies":
            return []
    names = []
    for parameter in view["params"]["params"]:
        if parameter["type"] != "Parameter":
            continue
        name = parameter["name"]["text"]
        code = code_of(parameter)
        if name in options["requests"] or parameter["kind"] == "double_star":
            return []
        if "Depends" in code or "alias" in code or "Request" in code or "Inject" in code:
            return []
        names.append(name)
    pattern = call["args"][0]
    message = "the view `" + view["name"]["text"] + "` has no parameter `"
    missing = [name for name in parameters_of(pattern["text"]) if name not in names]
    return [{"node": pattern, "message": message + name + "`"} for name in missing]


def parameters_of(pattern):
    """The names in `{name}`, `{name:int}`, `<name>` and `<int:name>`."""
    names = []
    depth = 0
    part = ""
    closing = ""
    for character in pattern:
        if depth == 0 and character in "{<":
            depth = 1
            part = ""
            closing = "}" if character == "{" else ">"
        elif depth > 0 and character == closing:
            depth -= 1
            if depth == 0:
                pieces = part.split(":")
                name = pieces[0] if closing == "}" else pieces[-1]
                if name.isidentifier():
                    names.append(name)
            else:
                part += character
        elif depth > 0:
            if closing == "}" and character == "{":
                depth += 1
            part += character
    return names
