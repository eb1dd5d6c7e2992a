"""The limits of nginx go with those of the service: stated in deploy/nginx.conf and in the settings, compared here."""

from __future__ import annotations

import re
from pathlib import Path

from losslake_contributions.protocol.limits import LARGEST_ENCODED_SEGMENT
from losslake_service.settings import Settings
from tests.repository.checkout import ROOT

SETTINGS = Settings.model_construct()
NGINX = ROOT / "deploy" / "nginx.conf"
DOCUMENTED = ROOT / "docs" / "operating.md"
UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20}


def values(directive: str, file: Path = NGINX) -> list[str]:
    """The values of a directive in the order of the file; never none."""
    stated = re.findall(rf"^\s*{directive} (.+);$", file.read_text(), re.MULTILINE)
    assert stated, directive
    return stated


def number(value: str) -> int:
    """Seconds or bytes."""
    digits, unit = re.fullmatch(r"(\d+)(\D?)", value).groups()  # type: ignore[union-attr]
    return int(digits) * UNITS[unit]


def test_rates_are_those_of_the_settings_and_of_the_documentation() -> None:
    (zone,), (burst,), (connections,) = map(values, ("limit_req_zone", "limit_req", "limit_conn"))
    assert zone.endswith(f"rate={SETTINGS.rate_limit:g}r/s")
    assert burst == f"zone=requests burst={SETTINGS.rate_burst} nodelay"
    text = " ".join((ROOT / "docs" / "deployment.md").read_text().split())
    rates = f"{SETTINGS.rate_limit:g} requests per second in the long run, {SETTINGS.rate_burst} in a burst"
    assert f"{rates}, and {connections.split()[1]} connections" in text


def test_sizes_are_above_those_of_the_services_so_that_clients_get_their_problem_documents() -> None:
    (buffers,) = values("large_client_header_buffers")
    assert number(buffers.split()[1]) > SETTINGS.request_head_bytes
    body, body_of_contributions = map(number, values("client_max_body_size"))
    assert body > SETTINGS.request_body_bytes
    assert body_of_contributions > LARGEST_ENCODED_SEGMENT


def test_times_are_those_of_the_settings() -> None:
    for directive in ("client_header_timeout", "client_body_timeout"):
        assert [*map(number, values(directive))] == [SETTINGS.request_seconds]


def test_connections_end_at_the_service_after_nginx_has_given_them_up() -> None:
    to_replicas, _, to_clients = map(number, values("keepalive_timeout"))
    assert to_replicas < SETTINGS.keep_alive_seconds
    assert to_clients == SETTINGS.keep_alive_seconds


def test_nginx_waits_longer_than_any_answer_takes() -> None:
    to_replicas, *_ = map(number, values("proxy_read_timeout"))
    assert to_replicas > max(SETTINGS.question_seconds, SETTINGS.sql_seconds)


def test_the_documented_configuration_has_the_same_limits() -> None:
    for directive in ("client_header_timeout", "large_client_header_buffers", "proxy_read_timeout"):
        assert values(directive, DOCUMENTED) == values(directive)[:1]
