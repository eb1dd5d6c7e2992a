"""Each client has a bucket of tokens; what it may do is counted against a slow and obvious bucket."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_service.operation.rate_limits import RateLimit, network_of
from tests.service.operation.conftest import Make


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(
    st.integers(1, 8),
    st.integers(1, 5),
    st.lists(st.integers(0, 64), max_size=60),
)
def test_it_allows_what_a_bucket_that_fills_would(rate: int, burst: int, waits: list[int]) -> None:
    clock = Clock()
    limit = RateLimit(float(rate), burst, clock=clock)
    tokens = Fraction(burst)
    for wait in waits:
        clock.now += wait / 64
        tokens = min(Fraction(burst), tokens + Fraction(wait * rate, 64))
        allowance = limit.take("client")
        assert allowance.is_allowed == (tokens >= 1)
        if allowance.is_allowed:
            tokens -= 1
            assert allowance.remaining == int(tokens)
        else:
            assert allowance.retry == pytest.approx(float((1 - tokens) / rate), abs=1e-6)
        assert allowance.full == pytest.approx(float((burst - tokens) / rate), abs=1e-6)


def test_clients_have_buckets_of_their_own_and_memory_is_bounded() -> None:
    clock = Clock()
    limit = RateLimit(1.0, 1, most_clients=1000, clock=clock)
    for number in range(100_000):
        assert limit.take(f"client {number}").is_allowed
    assert len(limit) == 1000
    assert not limit.take("client 99999").is_allowed


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_a_client_is_an_address_or_a_network_of_ipv6(host: str, expected: str) -> None:
    assert network_of(host) == expected


def test_who_asks_too_often_is_told_when_to_come_back(operated: Make) -> None:
    service = operated(rate_limit=0.5, rate_burst=2)
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


def test_health_and_metrics_are_never_refused(operated: Make) -> None:
    client = operated(rate_limit=0.001, rate_burst=1).client
    for path in ("/readyz", "/metrics") * 3:
        assert client.get(path).status_code == 200
    assert client.get("/constant").status_code == 200
    assert client.get("/constant").status_code == 429


def test_there_is_no_limit_unless_it_is_switched_on(operated: Make) -> None:
    client = operated().client
    responses = [client.get("/constant") for _ in range(200)]
    assert {response.status_code for response in responses} == {200}
    assert "ratelimit-limit" not in responses[0].headers


def test_a_client_behind_a_trusted_proxy_is_told_by_the_proxy(operated: Make) -> None:
    service = operated(rate_limit=0.001, rate_burst=1, trusted_proxies=("192.0.2.0/24",))
    statuses = [
        service.client.get("/constant", headers={"X-Forwarded-For": said}).status_code
        for said in ("198.51.100.1", "198.51.100.2", "198.51.100.1", "203.0.113.9, 198.51.100.1")
    ]
    assert statuses == [200, 200, 429, 429]
    assert [line["client"] for line in service.lines[-2:]] == ["198.51.100.1"] * 2


def test_a_stranger_s_word_for_his_address_is_not_believed(operated: Make) -> None:
    service = operated(rate_limit=0.001, rate_burst=1)
    said = [service.client.get("/constant", headers={"X-Forwarded-For": f"198.51.100.{n}"}) for n in range(2)]
    assert [response.status_code for response in said] == [200, 429]
    assert service.lines[0]["client"] == "192.0.2.7"
