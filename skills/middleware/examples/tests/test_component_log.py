import logging

import pytest
import svcs
from component_chain import call_component

from component_log import ComponentLogMiddleware


def greeting(*, name: str, secret: str) -> str:
    return f"Hello {name}"


def test_names_are_logged_and_values_are_not(caplog: pytest.LogCaptureFixture) -> None:
    context = svcs.Container(svcs.Registry())
    props = {"secret": "hunter2", "name": "Ada"}
    with caplog.at_level(logging.INFO, logger="components"):
        shown = call_component(greeting, props, context, [ComponentLogMiddleware()])
    assert shown == "Hello Ada"
    assert [record.message for record in caplog.records] == ["greeting(name, secret)"]
