"""Runs the examples of a guide and prints what they evaluate to as JSON: guide.py cpython|monty MODULE CASES.

A case is {"tree": tree, "code": statements, "value": the last line, an expression}.
"""

import json
import sys


def main():
    engine, module_path, cases_path = sys.argv[1:]
    with open(module_path, encoding="utf-8") as file:
        module = file.read()
    with open(cases_path, encoding="utf-8") as file:
        cases = json.load(file)
    results = []
    for case in cases:
        if engine == "cpython":
            scope = {"tree": case["tree"]}
            exec(module + "\n" + case["code"], scope)
            results.append(repr(eval(case["value"], scope)))
        else:
            import pydantic_monty

            with pydantic_monty.Monty() as pool, pool.checkout() as session:
                session.feed_run(module)
                code = case["code"] + "\n" + case["value"]
                results.append(repr(session.feed_run(code, inputs={"tree": case["tree"]})))
    json.dump(results, sys.stdout)


main()
