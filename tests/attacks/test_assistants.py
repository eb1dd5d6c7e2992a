"""Messages of strangers at /mcp, as large and as costly to read as any may be, leave the service to its users."""

from __future__ import annotations

import json
import socket
import time
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
from tests.service.running import Running, metric, served

pytestmark = [pytest.mark.slow, pytest.mark.attack]
CLIENTS, ROUNDS = 8, 12
TIMES = 5  # so many that a hundredth of what neighbours saw is more than one answer
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


def rpc(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, **fields}


def tool(name: Any, arguments: Any) -> dict[str, Any]:
    return rpc(method="tools/call", params={"name": name, "arguments": arguments})


def repeated(text: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """Return as many of a text between two others as a message may have."""
    return before + text * ((LIMIT - len(before) - len(after)) // len(text)) + after


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


CITE = tool("cite", {})
SLOW = {"sql": "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"}
# Their statements must not run, as nobody waits for an answer.
NOTIFICATIONS = [
    {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "sql", "arguments": SLOW}},
    {**tool("sql", SLOW), "id": None},
    {**tool("sql", SLOW), "id": {"a": [1]}},
    {**tool("sql", SLOW), "id": 1.5},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"a": 1}}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "x" * 1000}},
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": "NaN"}},
    {"jsonrpc": "2.0", "method": "notifications/of-nobody"},
]
METHODS = (
    *("__proto__", "constructor", "__class__", "a\r\nX: y", "a\0b", "\x1b[2J\u202e", "x" * 30_000, ""),
    *("resources/list", "resources/templates/list", "prompts/list", "completion/complete", "logging/setLevel"),
    *("sampling/createMessage", "roots/list", "elicitation/create", "tasks/list", "tools/list/../call"),
)
IDS: tuple[Any, ...] = ("x" * 30_000, -1, True, [], 10**4_000)
ODD: list[Any] = [
    *([CITE] * count for count in (0, 1, 200)),
    [tool("sql", SLOW)] * 100,
    repeated(b"{},", b"[", b"{}]"),
    *({**CITE, "id": name} for name in IDS),
    *(
        b'{"jsonrpc":"2.0","method":"ping","id":' + odd + b"}"
        for odd in (b"9" * 30_000, b"1e999", b"NaN", b'"\\ud800"')
    ),
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list","params":{},"params":{"x":1}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cite","name":"__init__","arguments":{}}}',
    *(rpc(method=method) for method in METHODS),
    *(rpc(method=method) for method in ({"a": 1}, 1, None)),
    *(rpc(method="tools/call", params=params) for params in ([1], "x", None, {}, {"name": 1}, {"name": ["cite"]})),
    *(tool(name, {}) for name in ("__init__", "constructor", "x" * 30_000, "\u202e\u200b</tool_result>", "cite\0")),
    *(tool("cite", arguments) for arguments in ("x", [1], 1, {"workload": {"$ne": 1}}, {"__proto__": {"a": 1}})),
    rpc(method="resources/read", params={"uri": "file:///etc/passwd"}),
    rpc(method="resources/subscribe", params={"uri": "http://169.254.169.254/"}),
    rpc(method="prompts/get", params={"name": "../../x"}),
    rpc(method="tools/list", params={"cursor": "x" * 20_000}),
    rpc(method="initialize", params={"protocolVersion": "x" * 20_000, "capabilities": {}, "clientInfo": {}}),
    *(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sql","arguments":{"sql":"SELECT ?",'
        b'"parameters":' + values + b"}}}"
        for values in (nested(10_000), nested(190), b"[" + b"9" * 4_200 + b"]", b"[1e400]", b"[NaN]")
    ),
    repeated(b'{"a":'),
    repeated(b" "),
    repeated(b"1"),
    *(json.dumps(CITE).encode(coding) for coding in ("utf-16", "utf-32", "utf-8-sig")),
    b'{"jsonrpc":"2.0","id":1,"method":"p\xff\xfe"}',
    *(b"", b"null", b"true", b'"x"', b"\x00" * 1000, b"\x1f\x8b" + bytes(1000)),
]
HEADS = [
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/json; charset=utf-16"},
    {"Accept": "text/html"},
    {"Mcp-Session-Id": "../" * 300},
    {"MCP-Protocol-Version": "9" * 500},
    {"Last-Event-ID": "-1"},
    {"Content-Encoding": "gzip"},
    {"Upgrade": "websocket", "Connection": "upgrade"},
]


def body_of(odd: Any) -> bytes:
    return odd if isinstance(odd, bytes) else json.dumps(odd).encode()


def ask(client: httpx.Client, odd: Any, **headers: str) -> httpx.Response:
    """Send a message, which must be answered, by an error or not, as nothing of a program."""
    answer = client.post("/mcp", content=body_of(odd), headers=HEADERS | headers)
    assert answer.status_code < 500, (odd, answer.text)
    assert "Traceback" not in answer.text
    assert "site-packages" not in answer.text
    return answer


def statements(running: Running) -> float:
    """Return how many statements of clients have been run."""
    return metric(running, "losslake_sql_statements_total")


def test_odd_messages_leave_other_clients_their_answers(lake: Lake, tmp_path: Path) -> None:
    statuses: Counter[int] = Counter()
    started = time.monotonic()

    def attack(client: int) -> None:
        address = {"X-Forwarded-For": f"203.0.113.{client}"}
        with httpx.Client(base_url=running.url, timeout=60, headers=address) as session:
            for number in range(TIMES * len(ODD)):
                statuses[ask(session, ODD[(number + 7 * client) % len(ODD)]).status_code] += 1

    def leave(client: int) -> None:
        """Send a call slowly, or leave before its answer."""
        call = body_of(tool("sql", SLOW))
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.{client}\r\nContent-Length: "
        more = "".join(f"\r\n{name}: {value}" for name, value in HEADERS.items())
        for sent in (call, call[:-1]):
            with socket.create_connection(("127.0.0.1", running.port), 60) as connection:
                connection.sendall(f"{head}{len(call)}{more}\r\n\r\n".encode() + sent)

    settings = {"sql_workers": 1, "sql_enabled": True, "request_seconds": 5, **PROXIED}
    with served(tmp_path, lake=str(lake.folder), **settings) as running:
        wait_until_ready(running)
        with httpx.Client(base_url=running.url, timeout=60) as session:
            for version in VERSIONS:
                ask(session, CITE, **{"MCP-Protocol-Version": version})
        for headers in HEADS:
            # Each on a connection of its own: what follows a request to upgrade may be no request to a server.
            with httpx.Client(base_url=running.url, timeout=60) as session:
                ask(session, CITE, **headers)
        with httpx.Client(base_url=running.url, timeout=60) as session:
            for method in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS"):
                assert session.request(method, "/mcp", headers=HEADERS).status_code in (200, 405)
            before = statements(running)
            for odd in NOTIFICATIONS:
                assert ask(session, odd).status_code in (202, 400)
            assert statements(running) == before
            with (
                neighbours(running, f"{TIMES * CLIENTS * len(ODD):,} odd messages at /mcp") as seen,
                ThreadPoolExecutor(12) as pool,
            ):
                list(pool.map(leave, range(4 * CLIENTS)))
                list(pool.map(attack, range(CLIENTS)))
            assert session.post("/mcp", json=CITE, headers=HEADERS).json()["result"]["isError"] is False
    print(dict(statuses), f"{time.monotonic() - started:.0f} s")
    assert not [line for line in running.errors if "Traceback" in line or '"status":500' in line]
    check(seen)


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
