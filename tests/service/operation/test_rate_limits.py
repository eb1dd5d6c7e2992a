"""Requests above the rate limit of a client are refused; which clients have one."""

from __future__ import annotations

from functools import partial

import pytest
from fastapi.testclient import TestClient

from losslake_service.operation import operate as module
from losslake_service.settings import Settings
from losslake_service.shares.allowances import Allowance
from tests.service.operation.conftest import Clock, Make


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of the applications of a test: it stands still."""
    stopped = Clock()
    monkeypatch.setattr(module, "Allowance", partial(Allowance, clock=stopped))
    return stopped


def test_requests_above_the_rate_get_429_with_retry_after(operated: Make, clock: Clock) -> None:
    service = operated(rate_limit=0.5, rate_burst=2, cors_origins=("*",))
    first, second, third = (service.client.get("/constant") for _ in range(3))
    assert [first.headers["ratelimit-remaining"], second.headers["ratelimit-remaining"]] == ["1", "0"]
    assert (third.status_code, third.headers["content-type"]) == (429, "application/problem+json")
    assert third.json()["type"] == "urn:losslake:problem:rate-limited"
    assert third.json()["request_id"] == third.headers["x-request-id"]
    assert third.headers["retry-after"] == "2"
    assert third.headers["ratelimit-limit"] == "2"
    assert third.headers["ratelimit-reset"] == "4"
    assert third.headers["access-control-allow-origin"] == "*"
    assert (service.lines[2]["problem"], service.lines[2]["level"]) == ("rate-limited", "warning")
    clock.now += 2
    assert service.client.get("/constant").status_code == 200


def test_bytes_above_the_rate_get_429_until_they_are_regained(operated: Make, clock: Clock) -> None:
    client = operated(rate_limit=0, rate_megabytes=0.000_01, compression=False).client
    body = client.get("/constant").content
    excess = len(body) - 10
    assert excess > 0, "the answer has more bytes than a minute gives: it is sent whole"
    refused = client.get("/constant")
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:losslake:problem:rate-limited")
    assert "MB in a minute" in refused.json()["detail"]
    assert refused.headers["retry-after"] == str(6 * excess)
    assert client.get("/metrics").status_code == 200
    clock.now += 6 * excess
    assert client.get("/constant").content == body


@pytest.mark.usefixtures("clock")
def test_health_and_metrics_are_never_refused(operated: Make) -> None:
    client = operated(rate_limit=0.001, rate_burst=1).client
    for path in ("/readyz", "/metrics") * 3:
        assert client.get(path).status_code == 200
    assert client.get("/constant").status_code == 200
    assert client.get("/constant").status_code == 429


def test_default_limit_is_that_of_the_settings(operated: Make) -> None:
    response = operated().client.get("/constant")
    assert response.headers["ratelimit-limit"] == str(Settings.model_construct().rate_burst)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1"])
def test_clients_on_loopback_are_exempt_unless_a_proxy_forwards_them(operated: Make, address: str) -> None:
    client = TestClient(operated(rate_limit=0.001, rate_burst=2).app, client=(address, 1))
    responses = [client.get("/constant") for _ in range(5)]
    assert {response.status_code for response in responses} == {200}
    assert "ratelimit-limit" not in responses[0].headers
    for expected in (200, 200, 429):
        assert client.get("/constant", headers={"X-Forwarded-For": "198.51.100.1"}).status_code == expected


@pytest.mark.usefixtures("clock")
def test_clients_of_a_trusted_proxy_on_loopback_are_limited_each(operated: Make) -> None:
    app = operated(rate_limit=0.001, rate_burst=1, trusted_proxies=("127.0.0.1",)).app
    client = TestClient(app, client=("127.0.0.1", 1))
    said = ("198.51.100.1", "198.51.100.2", "198.51.100.1", "127.0.0.1, 198.51.100.1")
    statuses = [
        client.get("/constant", headers={"X-Forwarded-For": client_address}).status_code for client_address in said
    ]
    assert statuses == [200, 200, 429, 429]


@pytest.mark.usefixtures("clock")
def test_trusted_proxy_sets_the_client_address(operated: Make) -> None:
    service = operated(rate_limit=0.001, rate_burst=1, trusted_proxies=("192.0.2.0/24",))
    statuses = [
        service.client.get("/constant", headers={"X-Forwarded-For": said}).status_code
        for said in ("198.51.100.1", "198.51.100.2", "198.51.100.1", "203.0.113.9, 198.51.100.1")
    ]
    assert statuses == [200, 200, 429, 429]
    assert [line["client"] for line in service.lines[-2:]] == ["198.51.100.1"] * 2


@pytest.mark.usefixtures("clock")
def test_x_forwarded_for_from_untrusted_clients_is_ignored(operated: Make) -> None:
    service = operated(rate_limit=0.001, rate_burst=1)
    said = [service.client.get("/constant", headers={"X-Forwarded-For": f"198.51.100.{n}"}) for n in range(2)]
    assert [response.status_code for response in said] == [200, 429]
    assert service.lines[0]["client"] == "192.0.2.7"
