"""Compares the tags of components in t-strings with what the components of the file take."""

from grail_tree import code_of, findall


def check(tree):
    if is_test(path):
        return []
    components = components_of(tree)
    found = []
    joined = []
    for string in findall(tree, {"type": "ConcatenatedString"}):
        parts = string.get("parts") or []
        if parts and all_templates(parts):
            joined.append(string)
            found.extend(check_template(pieces_of(parts), components))
    inside = []
    for string in joined:
        for part in string["parts"]:
            inside.append(part["range"][0])
    for string in findall(tree, {"type": "TString"}):
        if string["range"][0] not in inside:
            found.extend(check_template(pieces_of([string]), components))
    return found


def is_test(path):
    name = path.split("/")[-1]
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py" or "tests" in path.split("/")[:-1]


def all_templates(parts):
    for part in parts:
        if part["type"] != "TString":
            return False
    return True


# What the components of the file take.


def components_of(tree):
    """By name: the parameters, those among them that must be given, and whether any other is taken."""
    names = []
    for kind in ["FunctionDef", "ClassDef"]:
        for node in findall(tree, {"type": kind}):
            names.append(code_of(node["name"]))
    for node in findall(tree, {"type": "Parameter"}):
        names.append(code_of(node["name"]))
    for node in findall(tree, {"type": "Name"}):
        if node.get("ctx") in ["store", "del"]:
            names.append(node["text"])
    for node in findall(tree, {"type": "Alias"}):
        names.append(code_of(node.get("asname") or node["name"]).split(".")[0])
    components = {}
    for node in tree["body"]:
        if node["type"] not in ["FunctionDef", "ClassDef"]:
            continue
        name = code_of(node["name"])
        # A name that is bound twice may mean either.
        if count(names, name) != 1:
            continue
        signature = signature_of(node)
        if signature is not None:
            components[name] = signature
    return components


def count(items, wanted):
    number = 0
    for item in items:
        if item == wanted:
            number += 1
    return number


def signature_of(node):
    decorators = [code_of(decorator["expression"]).split("(")[0].split(".")[-1] for decorator in node.get("decorators") or []]
    if node["type"] == "FunctionDef":
        return None if decorators else parameters_of(node["params"]["params"])
    if node.get("bases") or decorators not in [[], ["dataclass"]]:
        return None
    for statement in node["body"]:
        if statement["type"] == "FunctionDef" and code_of(statement["name"]) == "__init__":
            return parameters_of(statement["params"]["params"][1:])
    return fields_of_class(node) if decorators else None


def parameters_of(parameters):
    takes, needs, takes_more = [], [], False
    for parameter in parameters:
        if parameter["type"] != "Parameter":
            continue
        kind = parameter["kind"]
        if kind == "double_star":
            takes_more = True
        elif kind in ["positional", "keyword_only"]:
            name = code_of(parameter["name"])
            takes.append(name)
            if parameter.get("default") is None:
                needs.append(name)
        else:
            # Refused by tdom as a whole; another rule says so.
            return None
    return {"takes": takes, "needs": needs, "takes_more": takes_more}


def fields_of_class(node):
    takes, needs = [], []
    for statement in node["body"]:
        if statement["type"] != "AnnAssign" or statement["target"]["type"] != "Name":
            continue
        name, annotation = statement["target"]["text"], code_of(statement["annotation"])
        value = statement.get("value")
        text = code_of(value) if value is not None else ""
        if "ClassVar" in annotation or "init=False" in text or annotation.endswith("KW_ONLY"):
            continue
        takes.append(name)
        if value is None or (text.split("(")[0].endswith("field") and "default" not in text):
            needs.append(name)
    return {"takes": takes, "needs": needs, "takes_more": False}


# Templates, and the tags of components in them.


def pieces_of(strings):
    """Text and interpolations, one after the other."""
    pieces = []
    for string in strings:
        for part in string.get("parts") or []:
            pieces.append(part)
    return pieces


def check_template(pieces, components):
    found = []
    opened = []
    tag = None
    is_end_tag = False
    before = ""
    for piece in pieces:
        if piece["type"] == "Interpolation":
            if tag is not None:
                tag = in_tag(tag, None, piece, found)
            elif before.endswith("</") or before.endswith("<"):
                is_end_tag = before.endswith("</")
                name = code_of(piece["value"])
                tag = new_tag(piece, name, None if is_end_tag else components.get(name))
                if is_end_tag:
                    close(opened, tag, components, found)
            before = ""
            continue
        text = piece["text"]
        at = 0
        while tag is not None and at < len(text):
            at = step(tag, text, at, piece)
            if tag["state"] == "done":
                if not is_end_tag:
                    finish(tag, found)
                    if not tag["closes_itself"]:
                        opened.append(tag)
                tag = None
        before = text[at:]
    return found


def new_tag(piece, name, signature):
    return {
        "node": piece["value"],
        "name": name,
        "signature": signature,
        "state": "between",
        "quote": "",
        "attribute": "",
        "start": 0,
        "piece": piece,
        "attributes": [],
        "spreads": False,
        "closes_itself": False,
    }


def close(opened, tag, components, found):
    if not opened:
        return
    begun = opened.pop()
    known = begun["name"] in components and tag["name"] in components
    if known and begun["name"] != tag["name"]:
        found.append({"node": tag["node"], "message": "`" + tag["name"] + "` ends what `" + begun["name"] + "` began"})


def in_tag(tag, text, piece, found):
    """An interpolation within a tag: a value, or attributes that are spread."""
    if tag["state"] == "between":
        tag["spreads"] = True
    elif tag["state"] == "name":
        # `data-{name}`: an attribute that only running tells.
        tag["spreads"] = True
        tag["state"] = "between"
        tag["attribute"] = ""
    elif tag["state"] == "value":
        tag["state"] = "unquoted"
    return tag


def step(tag, text, at, piece):
    """Reads one character of a tag."""
    character, state = text[at], tag["state"]
    if state == "quoted":
        if text[at:].startswith(tag["quote"]):
            tag["state"] = "between"
            return at + len(tag["quote"])
        return at + 1
    if character == ">" and not (state == "value"):
        end_name(tag, piece)
        tag["state"] = "done"
        return at + 1
    if character == "/" and text[at : at + 2] == "/>":
        end_name(tag, piece)
        tag["closes_itself"] = True
        tag["state"] = "done"
        return at + 2
    if character in " \t\r\n" or text[at : at + 2] == "\\n":
        end_name(tag, piece)
        if state != "value":
            tag["state"] = "between"
        return at + (1 if character != "\\" else 2)
    if state == "between" or state == "name":
        if character == "=":
            end_name(tag, piece)
            tag["state"] = "value"
            return at + 1
        if state == "between":
            tag["state"] = "name"
            tag["attribute"] = ""
            tag["start"] = at
        tag["attribute"] += character
        return at + 1
    if state == "value":
        # Within a string of the same quotes they are written with a backslash.
        for quote in ['\\"', "\\'", '"', "'"]:
            if text[at:].startswith(quote):
                tag["state"] = "quoted"
                tag["quote"] = quote
                return at + len(quote)
        tag["state"] = "unquoted"
    return at + 1


def end_name(tag, piece):
    if tag["state"] == "name" and tag["attribute"]:
        start = piece["range"][0] + len(piece["text"][: tag["start"]].encode("utf-8"))
        end = start + len(tag["attribute"].encode("utf-8"))
        tag["attributes"].append({"name": tag["attribute"], "range": [start, end]})
    tag["attribute"] = ""


def finish(tag, found):
    signature = tag["signature"]
    if signature is None:
        return
    given = []
    for attribute in tag["attributes"]:
        name = attribute["name"].replace("-", "_").lower()
        given.append(name)
        if name == "children":
            message = "`children` is what stands between the tags of `" + tag["name"] + "`, not an attribute"
            found.append({"range": attribute["range"], "message": message})
        elif name not in signature["takes"] and not signature["takes_more"]:
            found.append(unknown(tag, attribute, name))
    if tag["spreads"]:
        return
    for name in signature["needs"]:
        if name not in given and name != "children":
            found.append({"node": tag["node"], "message": "the component `" + tag["name"] + "` needs `" + name + "`"})


def unknown(tag, attribute, name):
    finding = {
        "range": attribute["range"],
        "message": "the component `" + tag["name"] + "` has no parameter `" + attribute["name"] + "`",
    }
    given = [other["name"].replace("-", "_").lower() for other in tag["attributes"]]
    near = [other for other in tag["signature"]["takes"] if other not in given and other != "children" and distance(other, name) <= 2]
    if len(near) == 1:
        finding["help"] = "there is `" + near[0] + "`"
        edit = {"range": attribute["range"], "text": near[0].replace("_", "-") if "-" in attribute["name"] else near[0]}
        finding["fix"] = {"title": "Write `" + near[0] + "`", "edits": [edit]}
    return finding


def distance(a, b):
    """How many letters are to be put in, taken out or changed."""
    row = list(range(len(b) + 1))
    for i in range(len(a)):
        previous = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            changed = previous + (0 if a[i] == b[j] else 1)
            previous = row[j + 1]
            row[j + 1] = min(changed, row[j + 1] + 1, row[j] + 1)
    return row[len(b)]
