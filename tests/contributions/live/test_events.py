"""The stream of a live page: on a socket, and at its ends that take long, within this process."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import Request

from losslake.lake.lake import Lake
from losslake_contributions.live import events as module
from losslake_contributions.live.events import MOST_POINTS, EventStream, state_text
from losslake_contributions.live.reader import RunReader, RunState
from losslake_contributions.live.subject import LiveQuery, subject_of
from losslake_contributions.live.watching import MOST_WATCHERS_OF_ONE, Watching
from losslake_contributions.people.tokens import create_token
from losslake_contributions.protocol.contributions import RunFacts
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Link
from losslake_service.operation import slow_readers
from losslake_service.operation.connections import ON_SHUTDOWN
from losslake_service.operation.slow_readers import EndSlowReaders
from tests.contributions.conftest import Sender, Service
from tests.contributions.running import RunningService, running_service
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.servers.processes import SECONDS, wait_until

GOAL = {"goals": [{"metric": "val/loss", "target": 0.01, "comparator": "inclusive"}]}
FIRST, SECOND = "0001/000001.jsonl", "0001/000002.jsonl"
Event = tuple[str, Any]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(Lake.create(tmp_path_factory.mktemp("live") / "lake")) as service:
        yield service


@pytest.fixture
def sender(running: RunningService) -> Iterator[Sender]:
    with sender_to(running) as sender:
        yield sender


@contextmanager
def sender_to(running: RunningService) -> Iterator[Sender]:
    token = create_token(Database.open(running.lake), "Ada", None, ("contribute",), 1, None)
    with httpx.Client(base_url=running.url, timeout=SECONDS) as client:
        yield Sender(client, token)


def begun(sender: Sender, **changes: Any) -> tuple[SpooledRun, str]:
    """A run with its first segment, and the path of its stream."""
    run = SpooledRun(more=GOAL, **changes)
    path = urlsplit(sender.create(run).json()["links"]["live"]).path
    assert sender.put(run, FIRST).status_code == 201
    return run, f"{path}/events?metric=val/loss"


def events(response: httpx.Response) -> Iterator[Event]:
    """The name and the data of each event, as they come."""
    name = ""
    for line in response.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def test_curve_comes_again_after_each_change_until_the_run_ends(sender: Sender) -> None:
    run, path = begun(sender, segments={FIRST: rows(range(50)), SECOND: rows(range(50, 1000))})
    with sender.client.stream("GET", path, headers={"accept-encoding": "gzip"}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store, no-transform"
        assert "content-encoding" not in response.headers
        page = sender.client.get(path.partition("/events")[0], headers={"accept-encoding": "gzip"})
        assert page.headers["content-encoding"] == "gzip"
        coming = events(response)
        name, curve = next(coming)
        assert (name, curve["steps"], curve["last_step"]) == ("curve", list(range(50)), 49)
        assert curve["values"] == [1 / (step + 1) for step in range(50)]
        assert curve["sentences"][0].startswith("Hasn't reached val/loss ≤ 0.01 yet: its best value is 0.02")
        assert curve["last"][-1] == [49, "0.02"]
        sender.put(run, SECOND)
        name, curve = next(coming)
        assert (curve["n_measurements"], curve["last_step"], curve["state_text"]) == (1000, 999, "open")
        assert len(curve["steps"]) <= MOST_POINTS
        assert {0, 99, 999} <= set(curve["steps"])
        assert curve["sentences"][0] == "Reached val/loss ≤ 0.01 in 99 steps."
        sender.finish(run)
        name, curve = next(coming)
        assert curve["state_text"] == "finished: COMPLETE"
        assert next(coming) == ("end", {"reason": "finished", "text": "The run has ended."})
        assert list(coming) == []


def test_pieces_of_a_segment_are_shown_before_it_is_whole(sender: Sender) -> None:
    run = SpooledRun(more=GOAL)
    path = urlsplit(sender.create(run).json()["links"]["live"]).path
    sender.live(run.piece(FIRST, 0, 4))
    with sender.client.stream("GET", f"{path}/events?metric=val/loss") as response:
        coming = events(response)
        assert next(coming)[1]["last_step"] == 3
        sender.live(run.piece(FIRST, 4))
        assert next(coming)[1]["last_step"] == 11


def test_values_that_are_not_finite_are_words(sender: Sender) -> None:
    run, path = begun(sender)
    sender.finish(run)
    with sender.client.stream("GET", path.replace("val/", "train/")) as response:
        (_, curve), _ = list(events(response))
    assert curve["values"] == ["NaN", "Infinity", "-Infinity", "NaN"]


def test_open_streams_end_when_the_service_stops(empty_lake: Lake) -> None:
    with running_service(empty_lake) as running, sender_to(running) as sender:
        _, path = begun(sender)
        with sender.client.stream("GET", path) as response:
            coming = events(response)
            next(coming)
            assert running.process is not None
            running.process.send_signal(signal.SIGTERM)
            # Ended as a whole, not broken off: httpx would raise.
            assert list(coming) == []
    assert not [line for line in running.errors if "Cancel" in line or "Traceback" in line]


def test_places_of_watchers_who_leave_are_free_again(sender: Sender) -> None:
    _, path = begun(sender)
    with httpx.Client(base_url=sender.client.base_url, timeout=SECONDS) as client:
        opened = [client.stream("GET", path) for _ in range(MOST_WATCHERS_OF_ONE)]
        assert {each.__enter__().status_code for each in opened} == {200}
        refused = sender.client.get(path)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "30"
        assert refused.json()["type"] == "urn:losslake:problem:too-many-watchers"
        for each in opened:
            each.__exit__(None, None, None)

    def is_free() -> bool:
        with sender.client.stream("GET", path) as response:
            return bool(response.status_code == 200)

    wait_until(is_free, "a place is free")


def test_state_of_a_run_is_said() -> None:
    facts, seen = RunFacts.model_validate(SpooledRun().facts), datetime(2026, 11, 28, 3, 40, tzinfo=UTC)
    silent = RunState(facts, "INCOMPLETE", seen, is_silent=True)
    assert state_text(silent) == "silent since 2026-11-28 03:40 UTC: INCOMPLETE"
    assert state_text(replace(silent, is_silent=False)) == "finished: INCOMPLETE"
    assert state_text(replace(silent, is_silent=False, status=None)) == "open"


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.fixture
def run(ada: Sender) -> SpooledRun:
    made = SpooledRun(more=GOAL, segments={FIRST: rows(range(5)), SECOND: rows(range(5, 9))})
    ada.create(made)
    ada.put(made)
    return made


class Watcher:
    """A client of a stream within this process. sent: what has come; a client that doesn't read receives nothing."""

    def __init__(self, stream: EventStream, scope: dict[str, Any], *, reads: bool = True) -> None:
        self.sent = asyncio.Queue[bytes]()
        self.scope = scope
        self._reads = reads
        self._left = asyncio.Event()
        app = EndSlowReaders(stream, 10_000)
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if not self._reads:
            await asyncio.Event().wait()
        if message["type"] == "http.response.body":
            await self.sent.put(message["body"])

    async def until(self, part: bytes) -> bytes:
        """What has come until there is this part."""
        found = b""
        while part not in found:
            found += await self.sent.get()
        return found

    async def leave(self) -> None:
        self._left.set()
        await self.task


@asynccontextmanager
async def watching(
    service: Service, *revoked: str
) -> AsyncIterator[tuple[Watching, Callable[..., Coroutine[Any, Any, Watcher]]]]:
    """The watched runs, and a function that opens a stream of a run. revoked: runs whose links are."""
    hub = Watching(service.database, seconds=0.01)

    async def opened(run: SpooledRun, seconds: float = 3600, **options: Any) -> Watcher:
        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}}
        async with AsyncExitStack() as places:
            watched = await places.enter_async_context(hub.watch(run.id))
            subject = subject_of(LiveQuery(), watched.overview.state.facts, watched.overview.metrics, None)
            link = Link(expires_at=datetime.now(UTC) + timedelta(seconds=seconds))

            async def find() -> Link | None:
                return link if run.id not in revoked else None

            stream = EventStream(Request(scope), places.pop_all(), watched, subject, link, find)
            return Watcher(stream, scope, **options)
        raise AssertionError

    yield hub, opened
    await hub.close()


def run_async(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), SECONDS))


def test_stream_says_that_it_is_alive_where_nothing_changes(
    service: Service, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_SIGNS", 0.01)

    async def work() -> None:
        async with watching(service) as (hub, opened):
            watcher = await opened(run)
            sent = await watcher.until(b"\n\n: still here\n\n: still here\n\n")
            assert sent.startswith(b"retry: 3000\n\nid: 1\nevent: curve\ndata: {")
            assert sent.count(b"event:") == 1
            await watcher.leave()
            assert len(hub._watchers) == 0

    run_async(work)


def test_stream_ends_when_its_link_expires(service: Service, run: SpooledRun) -> None:
    async def work() -> None:
        async with watching(service) as (hub, opened):
            watcher = await opened(run, seconds=0.1)
            await watcher.task
            sent = await watcher.until(b"event: end")
            assert b'"reason":"expired"' in sent
            assert len(hub._watchers) == 0

    run_async(work)


def test_stream_ends_soon_after_its_link(service: Service, run: SpooledRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_CHECKS", 0.01)

    async def work() -> None:
        async with watching(service, run.id) as (hub, opened):
            watcher = await opened(run)
            await watcher.task
            assert b'"reason":"revoked"' in await watcher.until(b"event: end")
            assert len(hub._watchers) == 0

    run_async(work)


def test_stream_ends_when_its_run_is_gone(service: Service, run: SpooledRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: RunReader) -> None:
        raise ContributionError("unknown-contribution", "it is gone")

    async def work() -> None:
        async with watching(service) as (_, opened):
            watcher = await opened(run)
            await watcher.until(b"event: curve")
            monkeypatch.setattr(RunReader, "refresh", gone)
            sent = await watcher.until(b"event: end")
            assert b'{"reason":"gone","text":"it is gone"}' in sent
            await watcher.task

    run_async(work)


def test_stream_ends_when_its_connection_is_told_to(service: Service, run: SpooledRun) -> None:
    async def work() -> None:
        async with watching(service) as (hub, opened):
            watcher = await opened(run)
            await watcher.until(b"event: curve")
            watcher.scope["state"][ON_SHUTDOWN]()
            await watcher.task
            assert len(hub._watchers) == 0

    run_async(work)


def test_watcher_that_does_not_read_keeps_nobody_waiting(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_readers, "GRACE_SECONDS", 0.2)

    async def work() -> None:
        async with watching(service) as (hub, opened):
            slow, other = await opened(run, reads=False), await opened(run)
            await other.until(b"event: curve")
            await asyncio.to_thread(ada.put, run, SECOND)
            assert b'"last_step":8' in await other.until(b"id: 2")
            await slow.task
            assert len(hub._watchers) == 1
            await other.leave()

    run_async(work)
