"""Strangers' host names reach neither answers nor caches."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from losslake.lake.lake import Lake
from tests.attacks.neighbours import PROXIED, neighbours, wait_until_ready
from tests.attacks.test_sql import check
from tests.service.running import served

pytestmark = [pytest.mark.slow, pytest.mark.attack]
PATHS = ("/v1/releases/1/croissant.json", "/v1/releases/1/files", "/v1/releases/1/losslake.duckdb", "/", "/v1/studies")
CLIENTS, REQUESTS = 8, 1000


def test_8000_requests_for_strange_hosts_are_refused_and_leave_no_trace(lake: Lake, tmp_path: Path) -> None:
    statuses: Counter[int] = Counter()

    def attack(client: int) -> None:
        with httpx.Client(base_url=running.url, timeout=60) as session:
            for number in range(REQUESTS):
                host = {"Host": f"evil{client}-{number % 40}.example", "X-Forwarded-For": f"203.0.113.{client}"}
                statuses[session.get(PATHS[number % len(PATHS)], headers=host).status_code] += 1

    with served(tmp_path, lake=str(lake.folder), sql_enabled=False, **PROXIED) as running:
        wait_until_ready(running)
        with (
            neighbours(running, f"{CLIENTS * REQUESTS} requests for 320 strange hosts") as seen,
            ThreadPoolExecutor(CLIENTS) as clients,
        ):
            list(clients.map(attack, range(CLIENTS)))
        for path in PATHS:
            assert b"evil" not in httpx.get(running.url + path).content
    check(seen)
    assert set(statuses) <= {400, 429}, statuses
    assert statuses[400]
