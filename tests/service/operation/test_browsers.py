"""What browsers are told: who may read an answer, and what a page may load."""

from __future__ import annotations

from typing import Any

import pytest

from losslake_service.operation.browser_headers import POLICY
from tests.service.operation.conftest import Make

PAGE = "https://page.example"


def test_pages_of_any_origin_may_read_answers_and_their_headers_but_send_no_credentials(operated: Make) -> None:
    client = operated(cors_origins=("*",)).client
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
    response = operated(cors_origins=("*",)).client.options("/v1/sql", headers=headers)
    assert (response.status_code, response.content) == (204, b"")
    assert method in response.headers["access-control-allow-methods"].split(", ")
    assert {"Content-Type", "Range", "If-None-Match", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} <= set(
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


PRIVATE: tuple[dict[str, Any], ...] = (
    {},
    {"host": "::1"},
    {"host": "localhost"},
    {"public_url": "http://localhost:9000"},
    {"cors_origins": ()},
    {"host": "::", "allowed_hosts": ("localhost:*", "[::1]:9000")},
)
PUBLIC: tuple[dict[str, Any], ...] = (
    {"public_url": "https://losslake.example"},
    {"host": "0.0.0.0", "allowed_hosts": ("localhost", "192.0.2.7")},
)


@pytest.mark.parametrize("settings", PRIVATE)
def test_no_other_site_reads_or_embeds_answers_of_a_service_for_this_machine(
    operated: Make, settings: dict[str, Any]
) -> None:
    client = operated(**settings).client
    preflight = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
    for response in (
        client.get("/constant", headers={"Origin": PAGE}),
        client.get("/constant", headers={"Origin": "null"}),
        client.options("/constant", headers=preflight),
    ):
        assert not [name for name in response.headers if name.startswith("access-control-")]
        assert response.headers["cross-origin-resource-policy"] == "same-site"


@pytest.mark.parametrize("settings", PUBLIC)
def test_every_origin_reads_answers_of_a_public_service(operated: Make, settings: dict[str, Any]) -> None:
    response = operated(**settings).client.get("/constant", headers={"Origin": PAGE})
    assert response.headers["access-control-allow-origin"] == "*"
    assert "cross-origin-resource-policy" not in response.headers


def test_responses_have_nosniff_and_pages_a_content_security_policy(operated: Make) -> None:
    client = operated().client
    page, constant = client.get("/page"), client.get("/constant")
    for response in (page, constant, client.get("/nothing")):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert len(response.headers.get_list("referrer-policy")) == 1
        assert "server" not in response.headers
    assert page.headers["content-security-policy"] == POLICY.decode()
    assert "content-security-policy" not in constant.headers
    assert "http" not in POLICY.decode()
    assert "unsafe" not in POLICY.decode()
    assert POLICY.startswith(b"default-src 'none'")
