import asyncio
from dataclasses import dataclass, field

import pytest
import svcs

from retry_service import RetryService, register


@dataclass
class Flaky:
    """Fails as often as it is told to."""

    failures: list[Exception]
    delays: list[float] = field(default_factory=list)

    async def act(self) -> str:
        if self.failures:
            raise self.failures.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)


def test_it_waits_longer_each_time() -> None:
    flaky = Flaky([ConnectionError(), TimeoutError(), ConnectionError()])
    retry = RetryService(sleep=flaky.sleep)
    assert asyncio.run(retry.call(flaky.act)) == "done"
    assert flaky.delays == [0.1, 0.2, 0.4]


def test_it_gives_up_with_the_last_error() -> None:
    flaky = Flaky([ConnectionError(str(number)) for number in range(9)])
    retry = RetryService(attempts=2, sleep=flaky.sleep)
    with pytest.raises(ConnectionError, match="1"):
        asyncio.run(retry.call(flaky.act))


def test_other_errors_are_not_repeated() -> None:
    flaky = Flaky([ValueError("wrong")])
    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(RetryService(sleep=flaky.sleep).call(flaky.act))
    assert flaky.delays == []


def test_it_is_registered() -> None:
    registry = svcs.Registry()
    register(registry)
    assert svcs.Container(registry).get(RetryService).attempts == 4
