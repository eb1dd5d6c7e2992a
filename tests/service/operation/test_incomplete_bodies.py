"""A response whose body ends early is an error in the log and in the metrics; a client that disconnects is none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.types import Message

from tests.service.operation.conftest import Make, Operated

BODY = b"x" * 1000


def request(service: Operated, method: str = "GET", received: int = 10) -> None:
    """Request the path /body; the connection is lost after a number of messages."""
    n_sent = 0

    async def send(_: Message) -> None:
        nonlocal n_sent
        if n_sent == received:
            raise RuntimeError("the connection is closed")
        n_sent += 1

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": method, "path": "/body", "query_string": b"", "headers": headers}
    asyncio.run(service.app(scope, receive, send))


def outcome(service: Operated) -> tuple[str, int, str | None, int]:
    """Return what the only line of the log says, once the metrics say the same."""
    (line,) = service.lines
    labels = {"route": "/body", "method": line["method"], "status": str(line["status"])}
    assert service.metrics.registry.get_sample_value("losslake_requests_total", labels) == 1
    return line["level"], line["status"], line.get("problem"), line["bytes"]


def then_an_error() -> Iterator[bytes]:
    yield BODY
    raise ArithmeticError("no more")


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "2000"}])
def test_error_within_a_body_is_logged_and_counted(operated: Make, headers: dict[str, str]) -> None:
    service = operated(compression=False)
    service.app.add_api_route("/body", lambda: StreamingResponse(then_an_error(), headers=headers))
    with pytest.raises(ArithmeticError, match="no more"):
        request(service)
    assert outcome(service) == ("error", 500, "incomplete-body", 1000)


def test_body_shorter_than_its_length_is_logged_and_counted(operated: Make) -> None:
    service = operated(compression=False)
    service.app.add_api_route("/body", lambda: Response(BODY, headers={"Content-Length": "1001"}))
    request(service)
    assert outcome(service) == ("error", 500, "incomplete-body", 1000)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_complete_response_is_a_success(operated: Make, method: str) -> None:
    service = operated(compression=False)
    body = b"" if method == "HEAD" else BODY
    service.app.add_api_route(
        "/body", lambda: Response(body, headers={"Content-Length": "1000"}), methods=["GET", "HEAD"]
    )
    request(service, method)
    assert outcome(service) == ("info", 200, None, len(body))


def test_client_that_disconnects_is_no_error(operated: Make) -> None:
    service = operated(compression=False)
    service.app.add_api_route("/body", lambda: StreamingResponse(iter([BODY] * 5)))
    with pytest.raises(RuntimeError, match="the connection is closed"):
        request(service, received=3)
    assert outcome(service)[:3] == ("info", 200, None)
