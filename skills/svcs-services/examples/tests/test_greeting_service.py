import pytest
import svcs

from greeting_service import GreetingService, register


@pytest.mark.parametrize(
    ("language", "greeting"),
    [("en", "Hello, Ada!"), ("de", "Guten Tag, Ada!"), ("fr", "Bonjour, Ada!")],
)
def test_greets_in_the_language_asked_for(language: str, greeting: str) -> None:
    registry = svcs.Registry()
    register(registry)
    service = svcs.Container(registry).get(GreetingService)
    assert service.greet("Ada", language=language) == greeting
