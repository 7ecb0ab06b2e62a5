"""Runs cases of grail_tree.py and prints their results as JSON: agree.py cpython|monty MODULE CASES."""

import json
import sys

DRIVER = '''
def run_case(case):
    op = case["op"]
    tree = case["tree"]
    try:
        if op == "codegen":
            return codegen(tree)
        if op == "code_of":
            return code_of(tree)
        if op == "matches":
            return matches(tree, case["pattern"])
        if op == "findall":
            return [code_of(node) for node in findall(tree, case["pattern"])]
        if op == "deep_equals":
            return deep_equals(tree, case["other"])
        if op == "docstring":
            return docstring(tree)
        if op == "remove":
            return codegen(remove(tree, case["id"]))
        if op == "replace":
            return codegen(replace(tree, case["id"], case["new"]))
        if op == "visit":
            seen = []
            def see(node):
                seen.append(node["type"])
                return node["type"] != case["skip"]
            visit(tree, see)
            return seen
        if op == "transform":
            def change(node):
                action = case["actions"].get(node["type"])
                if action == "remove":
                    return REMOVE
                return action
            return codegen(transform(tree, change))
        return "unknown operation"
    except ValueError as error:
        return "error: " + str(error)
'''


def main():
    engine, module_path, cases_path = sys.argv[1:]
    with open(module_path, encoding="utf-8", newline="") as file:
        module = file.read()
    with open(cases_path, encoding="utf-8", newline="") as file:
        cases = json.load(file)
    if engine == "cpython":
        scope = {}
        exec(compile(module, module_path, "exec"), scope)
        exec(DRIVER, scope)
        results = [scope["run_case"](case) for case in cases]
    else:
        import pydantic_monty

        with pydantic_monty.Monty() as pool, pool.checkout() as session:
            session.feed_run(module + DRIVER)
            results = [session.feed_run("run_case(case)", inputs={"case": case}) for case in cases]
    json.dump(results, sys.stdout)


main()
