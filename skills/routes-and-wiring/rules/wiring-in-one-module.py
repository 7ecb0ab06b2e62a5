"""Registrations at the top level of modules that are not the wiring."""


def check_project(project):
    first = {}
    for call in project["calls"]:
        path = call["path"]
        is_ignored = any(word in path.lower() for word in options["ignore"])
        if call["enclosing"] is None and not is_ignored and path not in first:
            first[path] = call
    if len(first) < 2:
        return []
    found = []
    for path, call in first.items():
        stem = path.split("/")[-1].removesuffix(".py")
        if stem not in options["modules"]:
            found.append({"node": call, "message": "importing `" + path + "` registers something"})
    return found
