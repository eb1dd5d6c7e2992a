"""A client that reads slower than the minimum rate loses its connection, and what it held is free at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import FastAPI, Request, Response
from starlette.types import Message

from losslake_service.files.conditions import ServedFile, Version
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.operation import slow_readers
from losslake_service.operation.slow_readers import EndSlowReaders

SIZE = 1_000_000
RATE = 4_000_000


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_readers, "GRACE_SECONDS", 0.2)


def read(path: Path, seconds_of: Callable[[int], float]) -> tuple[int, bool]:
    """Return how many bytes a client gets, and whether the response was closed; seconds_of: to read so many bytes."""
    path.write_bytes(b"x" * SIZE)
    app, closed, n_bytes = FastAPI(), [], 0

    @app.get("/file")
    async def file(request: Request) -> Response:
        served = ServedFile(str(path), SIZE, Version('"x"'), "application/octet-stream")
        return LocalFileResponse(served, request.headers, lambda: closed.append(True))

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        nonlocal n_bytes
        body = message.get("body", b"")
        if body:
            await asyncio.sleep(seconds_of(len(body)))
        n_bytes += len(body)

    scope = {"type": "http", "method": "GET", "path": "/file", "query_string": b"", "headers": [], "app": app}
    asyncio.run(asyncio.wait_for(EndSlowReaders(app, RATE)(scope, receive, send), 5))
    return n_bytes, bool(closed)


def test_client_that_reads_nothing_is_ended_and_its_file_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(tmp_path / "file", lambda _: 60) == (0, True)
    assert "read less than 4e+06 bytes a second" in caplog.text


def test_client_below_the_rate_is_ended_after_a_while(tmp_path: Path) -> None:
    n_bytes, is_closed = read(tmp_path / "file", lambda size: 3 * size / RATE)
    assert 0 < n_bytes < SIZE
    assert is_closed


def test_client_above_the_rate_gets_everything_although_it_pauses(tmp_path: Path) -> None:
    pauses = iter([0.0, 0.1])
    assert read(tmp_path / "file", lambda size: next(pauses, 0.0) + 0.5 * size / RATE) == (SIZE, True)


def test_errors_of_the_application_pass(tmp_path: Path) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        asyncio.run(EndSlowReaders(fail, RATE)({"type": "http"}, fail, fail))  # type: ignore[arg-type]
