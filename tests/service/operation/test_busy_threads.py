"""Health, readiness and metrics are answered while every shared thread is busy."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.to_thread
import pytest
from anyio.to_thread import current_default_thread_limiter
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from tests.applications import without_sql
from tests.servers.processes import SECONDS, wait_until


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_need_no_shared_thread(lake: Lake, path: str) -> None:
    over, tasks = threading.Event(), []

    async def occupy() -> anyio.CapacityLimiter:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        tasks.append(loop.run_in_executor(None, over.wait))
        tasks.extend(asyncio.create_task(anyio.to_thread.run_sync(over.wait)) for _ in range(100))
        return current_default_thread_limiter()

    with TestClient(without_sql(lake)) as client, ThreadPoolExecutor(1) as pool:
        assert client.portal is not None
        shared = client.portal.call(occupy)
        try:
            wait_until(lambda: not shared.available_tokens, "all threads are busy")
            # A check may take longer than a request waits for it.
            answered = pool.submit(wait_until, lambda: client.get(path).status_code == 200, f"{path} is answered")
            answered.result(2 * SECONDS)
        finally:
            over.set()
