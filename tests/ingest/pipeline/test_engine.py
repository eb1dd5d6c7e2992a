"""Reading and converting in turns: what waits is bounded by its bytes, however well an archive is compressed."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from losslake_ingest.pipeline import engine


class Part:
    """A task whose part has so many bytes, number in its source."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size

    @property
    def part(self) -> Part:
        return self


def turns(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int], int]:
    """The numbers of the parts as results come and as they are begun, and the most bytes that waited at once."""
    monkeypatch.setattr(engine, "cores", lambda: 1)
    monkeypatch.setattr(engine, "MOST_IN_FLIGHT", 100)
    waiting, most = 0, 0
    begun: list[int] = []

    def parts() -> Any:
        nonlocal waiting, most
        for number, size in enumerate(sizes):
            waiting += size
            most = max(most, waiting)
            yield Part(number, size)

    def submit(part: Any) -> Any:
        nonlocal waiting
        waiting -= part.size
        begun.append(part.number)
        done: Future[int] = Future()
        done.set_result(part.number)
        return done

    found: Any = list(engine._alternate(parts(), submit))
    return found, begun, most


def test_results_keep_the_order_of_the_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, begun, _ = turns([10, 60, 20, 50, 1, 2], monkeypatch)
    assert found == [0, 1, 2, 3, 4, 5]
    assert begun == [1, 2, 0, 3, 5, 4]


def test_pending_tasks_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, most = turns([30] * 50, monkeypatch)
    assert found == list(range(50))
    assert most <= 100 + 30


def test_a_source_without_parts_has_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    assert turns([], monkeypatch)[0] == []


def overlapped(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> int:
    """The most bytes that were begun and not yet asked for, on many cores."""
    monkeypatch.setattr(engine, "cores", lambda: 64)
    monkeypatch.setattr(engine, "MOST_IN_FLIGHT", 100)
    begun = most = 0

    def submit(part: Any) -> Any:
        nonlocal begun, most
        begun += part.size
        most = max(most, begun)
        done: Future[int] = Future()
        done.set_result(part.size)
        return done

    for size in engine._overlap((Part(number, size) for number, size in enumerate(sizes)), submit):  # type: ignore[misc]
        begun -= size  # type: ignore[operator]
    return most


def test_parts_that_are_converted_while_others_are_read_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert overlapped([30] * 50, monkeypatch) <= 100
    assert overlapped([300] * 5, monkeypatch) == 300
