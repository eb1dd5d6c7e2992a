"""A client that reads slower than the minimum rate loses its connection, and what it held is free at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from selectors import DefaultSelector, SelectorKey
from types import SimpleNamespace

import pytest
from fastapi import FastAPI, Request, Response
from starlette.types import Message

from losslake_service.entity_tags import Version
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.files.ranges import ServedFile
from losslake_service.operation import slow_readers
from losslake_service.operation.slow_readers import EndSlowReaders

SIZE = 1_000_000
RATE = 4_000_000


class SkippingSelector(DefaultSelector):
    """A selector that doesn't wait for timers, but turns the clock of its loop on: no machine is too slow for it."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        ready = super().select(0 if timeout else timeout)
        if not ready and timeout:
            self.now += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    def __init__(self, selector: SkippingSelector) -> None:
        self._skipping = selector
        super().__init__(selector)

    def time(self) -> float:
        return self._skipping.now


@pytest.fixture
def selector(monkeypatch: pytest.MonkeyPatch) -> SkippingSelector:
    """Return the selector for the loop of a test, by whose clock the middleware measures."""
    skipping = SkippingSelector()
    monkeypatch.setattr(slow_readers, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(slow_readers, "time", SimpleNamespace(monotonic=lambda: skipping.now))
    return skipping


def read(selector: SkippingSelector, path: Path, seconds_of: Callable[[int], float]) -> tuple[int, bool]:
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
    with asyncio.Runner(loop_factory=lambda: SkippingLoop(selector)) as runner:
        runner.run(EndSlowReaders(app, RATE)(scope, receive, send))
    return n_bytes, bool(closed)


def test_client_that_reads_nothing_is_ended_and_its_file_is_closed(
    selector: SkippingSelector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(selector, tmp_path / "file", lambda _: 60) == (0, True)
    assert "read less than 4e+06 bytes a second" in caplog.text


def test_client_below_the_rate_is_ended_after_a_while(selector: SkippingSelector, tmp_path: Path) -> None:
    n_bytes, is_closed = read(selector, tmp_path / "file", lambda size: 3 * size / RATE)
    assert 0 < n_bytes < SIZE
    assert is_closed


def test_client_above_the_rate_gets_everything_although_it_pauses(selector: SkippingSelector, tmp_path: Path) -> None:
    pauses = iter([0.0, 0.1])
    assert read(selector, tmp_path / "file", lambda size: next(pauses, 0.0) + 0.5 * size / RATE) == (SIZE, True)


def test_errors_of_the_application_pass(tmp_path: Path) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        asyncio.run(EndSlowReaders(fail, RATE)({"type": "http"}, fail, fail))  # type: ignore[arg-type]
