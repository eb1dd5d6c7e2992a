"""Bodies are taken in up to a bound, whether or not they say their length."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Message

from losslake_service.operation.request_limits import LimitRequests
from tests.servers.processes import SECONDS
from tests.service.operation.conftest import Make


def chunks(size: int) -> Iterator[bytes]:
    while size > 0:
        yield b"x" * min(size, 300)
        size -= 300


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2000])
def test_body_within_the_limit_arrives_complete(operated: Make, size: int, is_chunked: bool) -> None:
    client = operated(request_body_bytes=2000).client
    response = client.post("/length", content=chunks(size) if is_chunked else b"x" * size)
    assert response.json() == size


@pytest.mark.parametrize("is_chunked", [False, True])
def test_larger_body_gets_413(operated: Make, is_chunked: bool) -> None:
    client = operated(request_body_bytes=2000).client
    response = client.post("/length", content=chunks(2001) if is_chunked else b"x" * 2001)
    assert (response.status_code, response.json()["type"]) == (413, "urn:losslake:problem:too-large")
    assert "2,000 bytes" in response.json()["detail"]
    assert response.headers["connection"] == "close"


def answered(receive: Any, most_seconds: float = SECONDS) -> list[Message]:
    """What is sent when a body arrives like this."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        await send({"type": "app", "body": message["body"]})

    return sent_by(app, receive, most_seconds)


def sent_by(app: Any, receive: Any, most_seconds: float) -> list[Message]:
    """What an application sends."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
    asyncio.run(LimitRequests(app, 1000, 1000, most_seconds)(scope, receive, send))
    return sent


def test_endless_body_gets_413_without_buffering_it() -> None:
    given = 0

    async def receive() -> Message:
        nonlocal given
        given += 100
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    assert answered(receive)[0]["status"] == 413
    assert given == 1100


def test_body_that_does_not_arrive_gets_408() -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    assert answered(receive, 0.05)[0]["status"] == 408


def test_time_limit_ends_with_the_body() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"x"}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.05)
        await send({"type": "app"})

    assert sent_by(app, receive, 0.01) == [{"type": "app"}]


def test_client_that_disconnects_before_the_end_of_its_body_gets_499_in_the_log() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    assert answered(receive)[0]["status"] == 499
