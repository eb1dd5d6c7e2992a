"""Runs that are watched: read once for all, only while somebody watches, and in bounded numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import pytest

from losslake.record.spool import new_name
from losslake_contributions.live import watching as module
from losslake_contributions.live.reader import RunReader
from losslake_contributions.live.watching import Overview, WatchedRun, Watching
from losslake_contributions.protocol.errors import ContributionError
from tests.contributions.conftest import Sender, Service
from tests.contributions.spooled_runs import SpooledRun, rows

SECONDS = 60


def run_async(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine; no wait of it is longer than the deadline."""
    asyncio.run(asyncio.wait_for(work(), SECONDS))


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that are read, once for each time."""
    found: list[str] = []
    refresh = RunReader.refresh

    def counting(reader: RunReader) -> Any:
        found.append(reader._run)
        return refresh(reader)

    monkeypatch.setattr(RunReader, "refresh", counting)
    return found


@pytest.fixture
def run(ada: Sender) -> SpooledRun:
    made = SpooledRun(segments={"0001/000001.jsonl": rows(range(5)), "0001/000002.jsonl": rows(range(5, 9))})
    ada.create(made)
    ada.put(made)
    return made


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0.01)


def last_step(_: RunReader, overview: Overview) -> int | None:
    return overview.last_step


async def next_version(watched: WatchedRun, version: int) -> None:
    while not await watched.wait(version, SECONDS):
        pass


def test_measurements_that_arrive_are_seen_by_all_who_watch(service: Service, ada: Sender, run: SpooledRun) -> None:
    async def work() -> None:
        hub = Watching(service.database, seconds=0.01)
        async with hub.watch(run.id) as one, hub.watch(run.id) as other:
            assert one is other
            assert (len(hub._runs), len(hub._watchers)) == (1, 2)
            version, overview, step = await one.view("last", last_step)
            assert (step, overview.state.kind) == (4, "open")
            assert overview.metrics == ("train/loss", "val/loss")
            waiting = asyncio.gather(next_version(one, version), next_version(other, version))
            await asyncio.to_thread(ada.put, run, "0001/000002.jsonl")
            await waiting
            assert (await other.view("last", last_step))[2] == 8
            version = other.version
            await asyncio.to_thread(ada.finish, run)
            await next_version(one, version)
            assert one.overview.state.kind == "finished"
        await hub.close()

    run_async(work)


def test_view_is_computed_once_for_all_and_anew_after_a_change(service: Service, ada: Sender, run: SpooledRun) -> None:
    calls = []

    def counting(_: RunReader, overview: Overview) -> int | None:
        calls.append(overview.last_step)
        return overview.last_step

    async def work() -> None:
        hub = Watching(service.database, seconds=0.01)
        async with hub.watch(run.id) as watched:
            found = await asyncio.gather(*(watched.view("key", counting) for _ in range(10)))
            assert {view for _, _, view in found} == {4}
            await asyncio.to_thread(ada.put, run, "0001/000002.jsonl")
            await next_version(watched, found[0][0])
            assert (await watched.view("key", counting))[2] == 8
        await hub.close()

    run_async(work)
    assert calls == [4, 8]


def test_run_is_read_at_most_once_in_its_pause(service: Service, run: SpooledRun, counted: list[str]) -> None:
    async def work() -> None:
        hub = Watching(service.database, seconds=3600)
        async with hub.look(run.id), hub.watch(run.id), hub.watch(run.id):
            pass
        async with hub.look(run.id):
            pass
        await hub.close()

    run_async(work)
    assert counted == [run.id]


def test_nothing_is_read_after_the_last_one_left(service: Service, run: SpooledRun, counted: list[str]) -> None:
    async def work() -> None:
        hub = Watching(service.database, seconds=0.01, seconds_kept=0)
        async with hub.watch(run.id):
            await until(lambda: len(counted) > 2)
        await until(lambda: not hub._runs)
        assert len(hub._watchers) == 0
        assert not [task for task in asyncio.all_tasks() if "_keep_refreshing" in repr(task)]

    run_async(work)


def test_run_of_a_page_is_kept_for_its_stream(service: Service, run: SpooledRun, counted: list[str]) -> None:
    async def work() -> None:
        hub = Watching(service.database, seconds=0)
        async with hub.look(run.id) as first:
            pass
        async with hub.watch(run.id) as second:
            assert second is first
        await hub.close()
        assert len(hub._runs) == 0

    run_async(work)


def test_more_watchers_than_places_are_refused_and_places_are_given_back(
    service: Service, ada: Sender, bob: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WATCHERS_OF_ONE", 2)
    monkeypatch.setattr(module, "MOST_WATCHERS", 3)
    other, third = SpooledRun(), SpooledRun()
    ada.create(other)
    bob.create(third)

    async def work() -> None:
        hub = Watching(service.database)
        async with AsyncExitStack() as places:
            for _ in range(2):
                await places.enter_async_context(hub.watch(run.id))
            with pytest.raises(
                ContributionError, match="2 browsers follow runs of this contributor already"
            ) as refused:
                await places.enter_async_context(hub.watch(run.id))
            assert (refused.value.kind, refused.value.retry_after) == ("too-many-watchers", 30)
            with pytest.raises(ContributionError, match="2 browsers"):
                await places.enter_async_context(hub.watch(other.id))
            await places.enter_async_context(hub.watch(third.id))
            with pytest.raises(ContributionError, match="3 browsers follow runs already"):
                await places.enter_async_context(hub.watch(third.id))
        async with hub.watch(run.id):
            assert len(hub._watchers) == 1
        await hub.close()

    run_async(work)


def test_run_that_was_left_makes_room_and_one_in_use_does_not(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_RUNS", 2)
    runs = [SpooledRun() for _ in range(3)]
    for each in runs:
        ada.create(each)

    async def work() -> None:
        hub = Watching(service.database)
        async with hub.watch(runs[0].id):
            async with hub.look(runs[1].id):
                with pytest.raises(ContributionError, match="2 runs are watched already"):
                    async with hub.look(runs[2].id):
                        pass
            async with hub.look(runs[2].id):
                assert len(hub._runs) == 2
        await hub.close()

    run_async(work)


def test_contributor_has_a_share_of_the_watched_runs(
    service: Service, ada: Sender, bob: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_RUNS_OF_ONE", 1)
    runs = [SpooledRun() for _ in range(3)]
    for sender, each in zip((ada, ada, bob), runs, strict=True):
        sender.create(each)

    async def work() -> None:
        hub = Watching(service.database)
        async with hub.watch(runs[0].id), hub.look(runs[2].id):
            with pytest.raises(ContributionError, match="1 runs of this contributor are watched already"):
                async with hub.look(runs[1].id):
                    pass
        async with hub.look(runs[1].id):
            # A run that is kept for a page's stream takes a place again.
            with pytest.raises(ContributionError, match="1 runs of this contributor are watched already"):
                async with hub.look(runs[0].id):
                    pass
        await hub.close()

    run_async(work)


def test_unknown_run_is_refused_and_takes_no_place(service: Service) -> None:
    async def work() -> None:
        hub = Watching(service.database, seconds_kept=0)
        for give in (hub.look, hub.watch):
            with pytest.raises(ContributionError, match="is not here"):
                async with give(new_name()):
                    pass
        await until(lambda: not hub._runs)
        assert len(hub._watchers) == 0
        await hub.close()

    run_async(work)


def test_run_that_is_erased_meanwhile_is_trouble_for_those_who_watch(
    service: Service, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        hub = Watching(service.database, seconds=0.01)
        async with hub.watch(run.id) as watched:

            def gone(_: RunReader) -> None:
                raise ContributionError("unknown-contribution", "it is gone")

            monkeypatch.setattr(RunReader, "refresh", gone)
            await next_version(watched, watched.version)
            while watched.trouble is None:
                await next_version(watched, watched.version)
            assert str(watched.trouble) == "it is gone"
        assert len(hub._runs) == 0

    run_async(work)


def test_passing_error_is_logged_and_the_run_is_read_on(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refresh, faults = RunReader.refresh, [OSError("a disk")]

    def failing(reader: RunReader) -> Any:
        if faults and failing.begun:  # type: ignore[attr-defined]
            raise faults.pop()
        return refresh(reader)

    failing.begun = False  # type: ignore[attr-defined]
    monkeypatch.setattr(RunReader, "refresh", failing)

    async def work() -> None:
        hub = Watching(service.database, seconds=0.01)
        async with hub.watch(run.id) as watched:
            failing.begun = True  # type: ignore[attr-defined]
            version = watched.version
            await asyncio.to_thread(ada.put, run, "0001/000002.jsonl")
            await next_version(watched, version)
            assert watched.overview.last_step == 8
        await hub.close()

    run_async(work)
    assert not faults
    assert "can't be read" in caplog.text
