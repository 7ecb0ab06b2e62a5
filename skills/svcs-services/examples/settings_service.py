"""Read the settings of the application once from environment variables and share them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import svcs


@dataclass(frozen=True, kw_only=True)
class SettingsService:
    """What can be set; a missing or wrong value stops the application at its start."""

    database_path: str
    secret: str
    page_size: int = 20

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        return cls(
            database_path=environment["APP_DATABASE"],
            secret=environment["APP_SECRET"],
            page_size=int(environment.get("APP_PAGE_SIZE", "20")),
        )


def register(registry: svcs.Registry, environment: Mapping[str, str]) -> None:
    settings = SettingsService.from_environment(environment)
    registry.register_value(SettingsService, settings)
