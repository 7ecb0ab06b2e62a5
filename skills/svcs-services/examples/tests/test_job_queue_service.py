import asyncio
import logging

import pytest
import svcs

from job_queue_service import JobQueueService, register


def test_all_jobs_are_done_before_the_end(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        await asyncio.sleep(0)
        if name == "broken":
            raise RuntimeError(name)
        done.append(name)

    async def serve() -> None:
        registry = svcs.Registry()
        register(registry)
        async with svcs.Container(registry) as container:
            queue = await container.aget(JobQueueService)
            for name in ("first", "broken", "last"):
                queue.add(lambda name=name: work(name))
            assert done == []

    with caplog.at_level(logging.ERROR):
        asyncio.run(serve())
    assert done == ["first", "last"]
    assert [record.message for record in caplog.records] == ["a job failed"]
