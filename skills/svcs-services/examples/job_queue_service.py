"""Do slow work in the background and finish what was begun before shutting down."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import svcs

Job: TypeAlias = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


class JobQueueService:
    """Runs jobs one after the other; a job that fails is logged and the next one runs."""

    def __init__(self) -> None:
        self._jobs: asyncio.Queue[Job] = asyncio.Queue()

    def add(self, job: Job) -> None:
        self._jobs.put_nowait(job)

    async def work(self) -> None:
        while True:
            job = await self._jobs.get()
            try:
                await job()
            except Exception:
                log.exception("a job failed")
            finally:
                self._jobs.task_done()

    async def drain(self) -> None:
        await self._jobs.join()


async def run_job_queue() -> AsyncIterator[JobQueueService]:
    queue = JobQueueService()
    worker = asyncio.create_task(queue.work())
    try:
        yield queue
        await queue.drain()
    finally:
        worker.cancel()


def register(registry: svcs.Registry) -> None:
    registry.register_factory(JobQueueService, run_job_queue)
