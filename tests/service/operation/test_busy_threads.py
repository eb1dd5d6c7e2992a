"""Health, readiness and metrics are answered while every shared thread is busy."""

from __future__ import annotations

import asyncio
import threading
import time

import anyio.to_thread
import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from tests.applications import without_sql


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_need_no_shared_thread(lake: Lake, path: str) -> None:
    over, tasks = threading.Event(), []

    async def occupy() -> None:
        for _ in range(100):
            tasks.append(asyncio.create_task(anyio.to_thread.run_sync(over.wait, 30)))
            tasks.append(asyncio.create_task(asyncio.to_thread(over.wait, 30)))
        await asyncio.sleep(0.05)

    with TestClient(without_sql(lake)) as client:
        assert client.portal is not None
        client.portal.call(occupy)
        try:
            began = time.monotonic()
            assert client.get(path).status_code == 200
            assert time.monotonic() - began < 10  # a shared thread would come free after 30
        finally:
            over.set()
