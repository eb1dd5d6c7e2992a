"""What browsers are told: who may read an answer, and what a page may load."""

from __future__ import annotations

import pytest

from losslake_service.operation.browser_headers import POLICY
from tests.service.operation.conftest import Make

PAGE = "https://page.example"


def test_pages_of_any_origin_may_read_answers_and_their_headers_but_send_no_credentials(operated: Make) -> None:
    client = operated().client
    for headers in ({}, {"Origin": PAGE}):
        response = client.get("/constant", headers=headers)
        assert response.headers["access-control-allow-origin"] == "*"
        assert "Origin" not in response.headers.get("vary", "")
        exposed = response.headers["access-control-expose-headers"].split(", ")
        assert {"Link", "ETag", "LossLake-Release", "LossLake-Truncated", "Retry-After", "X-Request-ID"} <= set(exposed)
        assert "access-control-allow-credentials" not in response.headers


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_preflight_is_answered_at_once(operated: Make, method: str) -> None:
    headers = {"Origin": PAGE, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "range"}
    response = operated().client.options("/v1/sql", headers=headers)
    assert (response.status_code, response.content) == (204, b"")
    assert method in response.headers["access-control-allow-methods"].split(", ")
    assert {"Content-Type", "Range", "If-None-Match"} <= set(
        response.headers["access-control-allow-headers"].split(", ")
    )
    assert int(response.headers["access-control-max-age"]) > 0


def test_only_the_origins_that_are_listed_are_allowed_and_caches_are_told(operated: Make) -> None:
    client = operated(cors_origins=(PAGE,)).client
    listed, other, none = (
        client.get("/page", headers=headers) for headers in ({"Origin": PAGE}, {"Origin": "https://other.example"}, {})
    )
    assert listed.headers["access-control-allow-origin"] == PAGE
    assert "access-control-allow-origin" not in {**other.headers, **none.headers}
    for response in (listed, other, none):
        assert "Origin" in response.headers["vary"]
    asked = {"Origin": "https://other.example", "Access-Control-Request-Method": "GET"}
    refused = client.options("/page", headers=asked)
    assert "access-control-allow-methods" not in refused.headers


def test_no_origin_is_allowed_where_the_list_is_empty(operated: Make) -> None:
    response = operated(cors_origins=()).client.get("/constant", headers={"Origin": PAGE})
    assert "access-control-allow-origin" not in response.headers


def test_an_answer_is_what_it_says_and_a_page_loads_nothing_from_elsewhere(operated: Make) -> None:
    client = operated().client
    page, constant = client.get("/page"), client.get("/constant")
    for response in (page, constant, client.get("/nothing")):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"]
        assert "server" not in response.headers
    assert page.headers["content-security-policy"] == POLICY.decode()
    assert "content-security-policy" not in constant.headers
    assert "http" not in POLICY.decode()
    assert "unsafe" not in POLICY.decode()
    assert POLICY.startswith(b"default-src 'none'")
