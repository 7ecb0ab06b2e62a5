"""An example factory with a title and items."""

from collections.abc import Iterator
from dataclasses import dataclass

import svcs


@dataclass(frozen=True, kw_only=True)
class ExampleSettings:
    """What the service has to know."""

    title: str
    items: tuple[str, ...]


class ExampleService:
    """Open until it is closed."""

    def __init__(self, *, settings: ExampleSettings) -> None:
        self.settings = settings
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


def make_example_service(svcs_container: svcs.Container) -> Iterator[ExampleService]:
    service = ExampleService(settings=svcs_container.get(ExampleSettings))
    try:
        yield service
    finally:
        service.close()


def register_example_service(
    registry: svcs.Registry,
    settings: ExampleSettings,
) -> None:
    registry.register_value(ExampleSettings, settings)
    registry.register_factory(ExampleService, make_example_service)
