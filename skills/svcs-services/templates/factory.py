"""Makes the service, and cleans up behind it."""

from collections.abc import Iterator

import svcs

from .services import ExampleService
from .settings import Settings


def make_example_service(svcs_container: svcs.Container) -> Iterator[ExampleService]:
    service = ExampleService(settings=svcs_container.get(Settings))
    try:
        yield service
    finally:
        service.close()


def register_example_service(registry: svcs.Registry) -> None:
    registry.register_factory(ExampleService, make_example_service)
