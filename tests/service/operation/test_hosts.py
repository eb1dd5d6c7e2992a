"""Links in answers name the host of the request: only hosts of the service are answered, before any cache."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_schema.errors import LossLakeError
from losslake_service.operation.hosts import AllowedHosts
from losslake_service.serve import serve
from losslake_service.settings import Settings
from tests.applications import without_sql
from tests.service.operation.conftest import Make
from tests.service.running import Running

CROISSANT, LIST, DATABASE = (f"/v1/releases/1/{name}" for name in ("croissant.json", "files", "losslake.duckdb"))
LINKS = (CROISSANT, LIST, DATABASE)
BEYOND: dict[str, Any] = {"host": "0.0.0.0", "port": 8000}
TWO: dict[str, Any] = BEYOND | {"allowed_hosts": ("a.example", "[2001:db8::1]:9000")}
BAD = (
    *("evil.example", "localhost.evil.example", "evil.example:8000", "evillocalhost", "localhost.", "user@localhost"),
    *("localhost:", "localhost:x", "localhost:-1", "localhost:123456", "localhost:80:80", "localhost, localhost"),
    *("", " ", "::1", "[::1", "[::2]", "[::1]evil", "127.0.0.2", "0.0.0.0", "2130706433", "127.1", "null", "*"),
    *("localhost/evil", "localhost\\@evil.example", "localhost#", "\xb9", "localhost:\xb2", "l\xf6calhost", "x" * 5000),
)


@pytest.fixture(scope="module")
def other(lake: Lake) -> TestClient:
    return TestClient(without_sql(lake, **TWO))


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(lake)) as client:
        yield client


@pytest.mark.parametrize("host", BAD)
def test_another_host_is_refused(operated: Make, host: str) -> None:
    service = operated()
    for method in ("GET", "OPTIONS", "POST"):
        response = service.client.request(method, "/constant", headers={b"Host": host.encode("latin-1")})
        assert (response.status_code, response.json()["type"]) == (400, "urn:losslake:problem:unknown-host")
        assert host == "" or len(host) < 9 or host not in response.text
    assert {(line["status"], line["problem"]) for line in service.lines} == {(400, "unknown-host")}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost:1", "127.0.0.1:65535", "[::1]", "[::1]:8000"])
@pytest.mark.parametrize("bound", ["127.0.0.1", "::1", "localhost"])
def test_loopback_names_with_any_port_are_answered_on_loopback(operated: Make, bound: str, host: str) -> None:
    assert operated(host=bound).client.get("/constant", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("a.example", 200),
        ("A.Example:8000", 200),
        ("a.example:9000", 400),
        ("[2001:db8::1]:9000", 200),
        ("[2001:DB8::1]:9000", 200),
        ("[2001:db8::1]", 400),
        ("localhost", 400),
        ("127.0.0.1:8000", 400),
    ],
)
def test_beyond_loopback_only_listed_hosts_and_ports_are_answered(operated: Make, host: str, status: int) -> None:
    assert operated(**TWO).client.get("/constant", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("host", ["losslake.example", "losslake.example:8443", "losslake.example:8000"])
def test_the_host_of_the_public_url_is_answered(operated: Make, host: str) -> None:
    service = operated(**BEYOND, public_url="https://LossLake.example:8443/base")
    assert service.client.get("/constant", headers={"Host": host}).status_code == 200
    assert service.client.get("/constant", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_health_and_metrics_are_answered_for_every_host(client: TestClient, path: str) -> None:
    for host in ("10.1.2.3:8000", "evil.example", ""):
        assert client.get(path, headers={"Host": host}).status_code == 200


def test_one_host_never_gets_the_links_of_another(lake: Lake, other: TestClient) -> None:
    poisons = [("Host", "evil.example"), ("X-Forwarded-Host", "evil.example"), ("Forwarded", "host=evil.example")]
    for path in LINKS:
        for name, value in poisons:
            headers = {"Host": "a.example", name: value}
            assert other.get(path, headers=headers).status_code == (400 if name == "Host" else 200)
        for _ in range(2):
            for host in ("a.example", "[2001:db8::1]:9000"):
                content = other.get(path, headers={"Host": host}).content
                assert f"http://{host}/".encode() in content
                assert b"evil" not in content
    secure = TestClient(without_sql(lake, **TWO, trusted_proxies=("10.0.0.1",)), client=("10.0.0.1", 1))
    for scheme in ("http", "https", "http"):
        headers = {"Host": "a.example", "X-Forwarded-Proto": scheme, "X-Forwarded-Host": "evil.example"}
        assert secure.get(LIST, headers=headers).json()["rows"][0]["url"].startswith(f"{scheme}://a.example/")


def test_the_case_of_a_host_makes_no_further_database(other: TestClient) -> None:
    tags = {other.get(DATABASE, headers={"Host": host}).headers["etag"] for host in ("a.example", "A.EXAMPLE")}
    assert len(tags) == 1


def exchange(running: Running, head: bytes) -> tuple[int, bytes]:
    """The status and body of the answer to a request as it is."""
    with socket.create_connection(("127.0.0.1", running.port), 10) as connection:
        connection.sendall(head + b"Connection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    "head",
    [
        b"GET /v1/releases HTTP/1.1\r\n",
        b"GET /v1/releases HTTP/1.0\r\n",
        b"GET /v1/releases HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n",
        b"GET /v1/releases HTTP/1.1\r\nHost: evil.example\r\nhost: localhost\r\n",
        b"GET /v1/releases HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n",
        b"GET http://localhost/v1/releases HTTP/1.1\r\nHost: evil.example\r\n",
        b"GET http://localhost/v1/releases HTTP/1.1\r\n",
    ],
)
def test_a_missing_repeated_or_other_host_is_refused_on_the_wire(running: Running, head: bytes) -> None:
    status, body = exchange(running, head)
    assert (status, json.loads(body)["type"]) == (400, "urn:losslake:problem:unknown-host")


def test_the_host_of_an_absolute_target_reaches_no_answer(running: Running) -> None:
    for _ in range(2):
        target = b"GET http://evil.example/v1/releases/1/files HTTP/1.1\r\nHost: localhost\r\n"
        status, body = exchange(running, target)
        assert (status, b"http://localhost/" in body, b"evil" in body) == (200, True, False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "losslake.example", ""])
def test_a_service_for_other_machines_refuses_to_start_without_a_host(lake: Lake, host: str) -> None:
    with pytest.raises(LossLakeError, match=r"set public_url to .*, or allowed_hosts \(LOSSLAKE_ALLOWED_HOSTS\)"):
        serve(Settings.model_validate({"lake": str(lake.folder), "host": host}))


def test_hosts_of_any_port_are_answered_for_digits_only() -> None:
    middleware = AllowedHosts(None, ["a.example:*", "b.example"], 8000)  # type: ignore[arg-type]
    hosts = {b"a.example", b"a.example:1", b"b.example", b"b.example:8000"}
    refused = {b"a.example:*", b"a.example:", b"b.example:1", b"b.example:*", b":8000", b":", b"example"}
    assert {h for h in hosts | refused if middleware._allows({"headers": [(b"host", h)]})} == hosts
