"""Messages of strangers at /mcp, as large and as costly to read as any may be, leave the service to its users."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from losslake.lake.lake import Lake
from losslake_service.assistants.over_http import MOST_BYTES
from tests.attacks.neighbours import PROXIED, neighbours, wait_until_ready
from tests.attacks.test_sql import check
from tests.service.running import served

pytestmark = [pytest.mark.slow, pytest.mark.attack]
CLIENTS, ROUNDS = 8, 12
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
LIMIT = MOST_BYTES

VERSIONS = ("2025-06-18", "2026-07-28")
# The newer version asks for these in every message, and for headers that say the same; the older one ignores them.
META = {
    "io.modelcontextprotocol/protocolVersion": VERSIONS[1],
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(tool: str, arguments: dict[str, Any]) -> tuple[str, bytes]:
    params = {"_meta": META, "name": tool, "arguments": arguments}
    return tool, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()[:LIMIT]


MESSAGES = [
    message("scaling", {"workload": [0] * (LIMIT // 4)}),
    message("scaling", {str(number): {} for number in range(LIMIT // 16)}),
    message("scaling", {"workload": ["*/*/*/*"] * 200}),
    message("search_workloads", {"q": " ".join(map(chr, range(97, 197)))}),
    message("sql", {"sql": "SELECT 1", "parameters": [[{}]] * (LIMIT // 8)}),
    ("scaling", b"[" * LIMIT),
    ("scaling", b'{"a":' * (LIMIT // 5)),
    ("scaling", b'"' + b"\\ud83d" * (LIMIT // 6)),
]


def send(client: httpx.Client, number: int, version: str) -> int:
    tool, body = MESSAGES[number % len(MESSAGES)]
    headers = HEADERS | {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return client.post("/mcp", content=body, headers=headers).status_code


def test_768_costly_messages_leave_other_clients_their_answers(lake: Lake, tmp_path: Path) -> None:
    statuses: Counter[int] = Counter()

    def attack(client: int) -> None:
        address = {"X-Forwarded-For": f"203.0.113.{client}"}
        with httpx.Client(base_url=running.url, timeout=60, headers=address) as session:
            for number in range(ROUNDS * len(MESSAGES)):
                statuses[send(session, number + client, VERSIONS[(number + client // 2) % 2])] += 1

    with served(tmp_path, lake=str(lake.folder), sql_workers=1, sql_enabled=True, **PROXIED) as running:
        wait_until_ready(running)
        # What is loaded at first use is loaded once in the life of a service.
        with httpx.Client(base_url=running.url, timeout=60) as session:
            for version in VERSIONS:
                answered = [send(session, number, version) for number in range(len(MESSAGES))]
                assert answered == [200] * 5 + [400] * 3
        with (
            neighbours(running, f"{CLIENTS * ROUNDS * len(MESSAGES)} costly messages at /mcp") as seen,
            ThreadPoolExecutor(CLIENTS) as clients,
        ):
            list(clients.map(attack, range(CLIENTS)))
    print(dict(statuses))
    assert not {status for status in statuses if status >= 500}
    assert not [line for line in running.errors if "Traceback" in line]
    check(seen)
