"""Switch features on for everybody, for some users or for a share of all users."""

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

import svcs

from current_user_service import CurrentUserService


@dataclass(frozen=True, kw_only=True)
class Flag:
    """Who sees a feature."""

    share: int = 0
    users: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FlagTable:
    """All flags by name."""

    flags: Mapping[str, Flag]


class FeatureFlagService:
    """Decides for the user of this request; the same user always gets the same answer."""

    def __init__(self, *, table: FlagTable, user: CurrentUserService) -> None:
        self._table = table
        self._user = user

    def is_on(self, name: str) -> bool:
        flag = self._table.flags.get(name, Flag())
        user = self._user.name
        if user is not None and user in flag.users:
            return True
        return crc32(f"{name}:{user}".encode()) % 100 < flag.share


def register(registry: svcs.Registry, flags: Mapping[str, Flag]) -> None:
    registry.register_value(FlagTable, FlagTable(flags))
    registry.register_factory(FeatureFlagService, svcs.autowire(FeatureFlagService))
