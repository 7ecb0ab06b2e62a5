"""Report which services of the application are healthy and which are not."""

from collections.abc import Sequence
from dataclasses import dataclass

import svcs


@dataclass(frozen=True)
class Health:
    """What a check found out about one service."""

    name: str
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class HealthService:
    """Asks every service that was registered with a `ping`."""

    pings: Sequence[svcs.ServicePing]

    async def check(self) -> list[Health]:
        return [await self._check_one(ping) for ping in self.pings]

    async def _check_one(self, ping: svcs.ServicePing) -> Health:
        try:
            await ping.aping()
        except Exception as error:  # noqa: BLE001 a failing service is looked for
            return Health(ping.name, f"{type(error).__name__}: {error}")
        return Health(ping.name)


def create_health(svcs_container: svcs.Container) -> HealthService:
    return HealthService(pings=svcs_container.get_pings())


def register(registry: svcs.Registry) -> None:
    registry.register_factory(HealthService, create_health)
