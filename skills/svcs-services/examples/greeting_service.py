"""Greet people by name in one of several languages."""

import svcs


class GreetingService:
    """Knows how to say hello."""

    def greet(self, name: str, *, language: str = "en") -> str:
        hello = {"en": "Hello", "de": "Guten Tag", "fr": "Bonjour"}
        return f"{hello[language]}, {name}!"


def register(registry: svcs.Registry) -> None:
    registry.register_factory(GreetingService, GreetingService)
