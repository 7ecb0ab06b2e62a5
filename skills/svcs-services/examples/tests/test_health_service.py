import asyncio

import svcs

from health_service import Health, HealthService, register


class Kettle:
    """Something that can be asked how it is."""

    def __init__(self, *, water: int) -> None:
        self.water = water

    def ping(self) -> None:
        if self.water == 0:
            raise RuntimeError("no water")


class Toaster(Kettle):
    """Another one."""


def test_sick_services_are_told_from_healthy_ones() -> None:
    async def check() -> list[Health]:
        registry = svcs.Registry()
        registry.register_factory(Kettle, lambda: Kettle(water=0), ping=Kettle.ping)
        registry.register_factory(Toaster, lambda: Toaster(water=1), ping=Toaster.ping)
        register(registry)
        async with svcs.Container(registry) as container:
            health = await container.aget(HealthService)
            return await health.check()

    assert asyncio.run(check()) == [
        Health(f"{__name__}.Kettle", "RuntimeError: no water"),
        Health(f"{__name__}.Toaster"),
    ]
