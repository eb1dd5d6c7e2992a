"""Every request has an id and a line, and no stranger can write a line of his own."""

from __future__ import annotations

import json
import logging
import re
import sys
from http.client import HTTPConnection
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from losslake_service.operation.logs import (
    JsonLines,
    RequestLog,
    RequestRecord,
    TextLines,
    current_request_id,
    timestamp,
)
from losslake_service.operation.observing import RequestIds
from tests.servers.processes import SECONDS, wait_until
from tests.service.operation.conftest import BODY, Make
from tests.service.running import Running


def line_of(form: str, path: str, query: bytes, client: str) -> bytes:
    written: list[bytes] = []
    answered = RequestRecord("id", "GET", path, query, 200, 1, 0.1, client, None, None)
    RequestLog(form, written.append).log(answered)  # type: ignore[arg-type]
    (line,) = written
    return line


def test_a_request_is_one_line_of_json(operated: Make) -> None:
    service = operated()
    response = service.client.get("/constant?a=b%20c", headers={"X-Request-ID": "from-the-proxy.1"})
    assert response.headers["x-request-id"] == "from-the-proxy.1"
    (line,) = service.lines
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line.pop("seconds") > 0
    assert line == {
        "level": "info",
        "request_id": "from-the-proxy.1",
        "method": "GET",
        "path": "/constant",
        "query": "a=b%20c",
        "status": 200,
        "bytes": len(BODY) if "content-encoding" not in response.headers else line["bytes"],
        "client": "192.0.2.7",
        "release": "7",
    }


@pytest.mark.parametrize("bad", [b"", b"a b", b"a\tb", b"x" * 129, b"\xff", b'"', b"<script>", b"a,b"])
def test_invalid_request_id_is_replaced(bad: bytes) -> None:
    ids = RequestIds()
    made = {ids.of([(b"x-request-id", bad)]) for _ in range(3)}
    assert len(made) == 3
    assert all(re.fullmatch(r"[0-9a-f]{20}", one) for one in made)


def test_requests_without_an_id_get_different_ones(operated: Make) -> None:
    client = operated().client
    assert len({client.get("/constant").headers["x-request-id"] for _ in range(5)}) == 5


def test_response_to_an_internal_error_passes_all_middleware(operated: Make) -> None:
    service = operated(cors_origins=("*",))
    response = service.client.get("/broken")
    assert response.status_code == service.lines[0]["status"] == 500
    assert service.lines[0]["level"] == "error"
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["x-request-id"] == service.lines[0]["request_id"]


def test_internal_error_is_logged_with_request_id_and_traceback(running: Running) -> None:
    connection = HTTPConnection("127.0.0.1", running.port, timeout=SECONDS)
    connection.request("GET", "/broken", headers={"X-Request-ID": "mine"})
    response = connection.getresponse()
    assert (response.status, response.headers["X-Request-ID"]) == (500, "mine")
    connection.close()

    def matching_lines() -> list[dict[str, Any]]:
        return [line for line in running.lines if line.get("request_id") == "mine"]

    wait_until(
        lambda: {"path", "traceback"} <= {name for line in matching_lines() for name in line}, "both lines are there"
    )
    assert [line["status"] for line in matching_lines() if "path" in line] == [500]
    (fault,) = (line for line in matching_lines() if "traceback" in line)
    assert "ZeroDivisionError" in fault["traceback"]


def test_messages_in_a_request_carry_its_id_in_the_thread_that_answers_too(
    operated: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.getLogger().addHandler(handler)
    operated().client.get("/studies/a%0Ab", headers={"X-Request-ID": "mine"})
    (line,) = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (line["request_id"], line["message"], line["logger"]) == ("mine", "looking at\na\nb", "service.test")


@pytest.mark.parametrize("formatter", [JsonLines(), TextLines()])
def test_a_message_with_line_ends_stays_one_message(formatter: logging.Formatter) -> None:
    try:
        raise RuntimeError("why\n2026-01-01T00:00:00.000Z info forged")
    except RuntimeError:
        record = logging.LogRecord("n", logging.ERROR, "p", 1, "a\nb\x1b[31m\u2028c", None, sys.exc_info())
    text = formatter.format(record)
    lines = text.splitlines()
    if isinstance(formatter, JsonLines):
        assert "\n" not in text
        assert "RuntimeError: why" in json.loads(text)["traceback"]
    else:
        assert r"a\nb\x1b[31m\u2028c" in lines[0]
        assert all(line.startswith("    ") for line in lines[1:])


@example("\0" * 1000, b"\0" * 5000, "\0" * 100)
@example("\U000e0001" * 1000, b"\xff" * 5000, "\U0001f600" * 100)
@example("\U0001f600" * 1000, b"\xff" * 5000, "\U0001f600" * 100)
@given(st.text(max_size=2000), st.binary(max_size=5000), st.text(max_size=200))
def test_any_request_is_one_log_line_of_bounded_length(path: str, query: bytes, client: str) -> None:
    for form in ("json", "text"):
        line = line_of(form, path, query, client)
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
        assert len(line) <= 4096
    assert len(json.loads(line_of("json", path, query, client))["path"]) <= 257
    assert line_of("text", path, query, client).decode()[:-1].isprintable()


@pytest.mark.parametrize("form", ["json", "text"])
def test_tokens_in_addresses_are_not_logged(form: str) -> None:
    draft, secret = "A" * 54 + "==", "b-_" * 14 + "b"
    line = line_of(form, f"/drafts/{draft}/studies", f"token=llc_0123456789ab_{secret}&a=1".encode(), "client").decode()
    assert "/drafts/.../studies" in line
    assert "llc_0123456789ab_..." in line
    assert not [word for word in (draft[:30], secret[:30]) if word in line]


@pytest.mark.parametrize("form", ["json", "text"])
def test_answers_of_providers_are_not_logged(form: str) -> None:
    line = line_of(form, "/sign-in/orcid/callback", b"code=a1b2c3&state=xyz", "client").decode()
    assert "/sign-in/orcid/callback" in line
    assert not [word for word in ("a1b2c3", "xyz") if word in line]


def test_nothing_is_written_when_lines_are_off() -> None:
    written: list[bytes] = []
    RequestLog("off", written.append).log(RequestRecord("", "GET", "/", b"", 200, 0, 0, None, None, None))
    assert written == []


def test_timestamp_is_in_utc() -> None:
    assert timestamp(1_700_000_000.25) == "2023-11-14T22:13:20.250Z"
    assert current_request_id.get() is None
