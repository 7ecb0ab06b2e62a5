"""What the service does, in one sentence."""

from .settings import Settings


class ExampleService:
    def __init__(self, *, settings: Settings) -> None:
        self._settings = settings

    def run(self) -> str:
        return self._settings.title
