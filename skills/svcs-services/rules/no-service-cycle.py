"""Import cycles in which at least two modules define services."""


def check_project(project):
    paths = set()
    for definition in project["definitions"]:
        if definition["kind"] == "class":
            paths.add(definition["path"])
    found = []
    for cycle in project["cycles"]:
        services = [edge for edge in cycle if edge["path"] in paths]
        if len(services) < 2:
            continue
        modules = [edge["from"] for edge in cycle] + [cycle[0]["from"]]
        message = "services import each other in a circle: " + " → ".join("`" + module + "`" for module in modules)
        found.append({"node": cycle[0], "message": message})
    return found
