"""Renders what a file defines, with arguments that are made up from its annotations."""

import dataclasses
import importlib
import inspect
import types
import typing
from string.templatelib import Template

import pytest


def render(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"it needs {error.name}")
    found = [value for value in vars(module).values() if is_artifact(value, name)]
    if not found:
        pytest.fail("nothing can be called")
    check(found[0])


def is_artifact(value, module):
    is_code = inspect.isfunction(value) or inspect.isclass(value)
    return is_code and value.__module__ == module and not value.__name__.startswith("_")


def check(artifact):
    result = artifact(**arguments(artifact))
    if inspect.isclass(artifact):
        result = result(**arguments(type(result).__call__)) if callable(result) else result
    if isinstance(result, Template):
        from tdom import html

        result = str(html(result))
    if not isinstance(result, str):
        pytest.fail(f"it gives {type(result).__name__}, neither a template nor text")
    if "<" not in result:
        pytest.fail("what it gives is no HTML")


def arguments(function):
    try:
        hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except Exception:
        hints = {}
    values = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty:
            continue
        values[parameter.name] = value_of(hints.get(parameter.name, str))
    return values


def value_of(hint):
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if type(None) in inner else value_of(inner[0])
    if origin is typing.Literal:
        return inner[0]
    if hint is Template:
        return t"<b>text</b>"
    if hint in (int, float, bool, str, list, dict, tuple, set):
        return hint() if hint is not str else "text"
    if origin in (list, set, tuple, dict):
        return origin()
    if isinstance(origin, type) and issubclass(origin, (typing.Iterable,)):
        return []
    if dataclasses.is_dataclass(hint):
        return hint(**arguments(hint))
    return types.SimpleNamespace()
