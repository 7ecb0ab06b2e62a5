"""Functions named `…_view` that are passed to no route."""


def check_project(project):
    passed = set()
    texts = []
    for call in project["calls"]:
        for argument in call["arguments"]:
            if argument.get("name") is not None:
                passed.add(argument["name"])
            elif argument.get("text") is not None:
                texts.append(argument["text"])
    views = [definition for definition in project["definitions"] if is_view(definition)]
    routed = [view for view in views if is_routed(view, passed, texts)]
    if not routed:
        return []
    found = []
    for view in views:
        if view not in routed:
            found.append({"node": view, "message": "no route leads to `" + view["name"] + "`"})
    return found


def is_view(definition):
    path = definition["path"].lower()
    is_plain = definition["kind"] == "function" and not definition["decorators"] and "<locals>" not in definition["qualified_name"]
    return is_plain and not definition["name"].startswith("_") and not any(word in path for word in options["ignore"])


def is_routed(view, passed, texts):
    return view["qualified_name"] in passed or any(view["name"] in text for text in texts)
