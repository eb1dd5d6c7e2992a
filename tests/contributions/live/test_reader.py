"""What counts of a run that grows, whatever the order and the pieces in which it comes, beside a plain oracle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake.record.numbers import NUMBER_WORDS
from losslake_contributions.intake.silence import end_silent_runs
from losslake_contributions.live import reader as run_reader
from losslake_contributions.live.reader import RunReader
from losslake_contributions.protocol.errors import ContributionError
from tests.contributions.conftest import Sender, Service
from tests.contributions.intake.test_silence import NOW
from tests.contributions.spooled_runs import SpooledRun, remaining, rows

_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.one_of(_FINITE, st.integers(-9, 9), st.sampled_from([*NUMBER_WORDS]))


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


@st.composite
def runs(draw: st.DrawFn) -> dict[str, list[dict[str, Any]]]:
    """Attempts of one or two segments, of which later ones go back; steps of one metric may come twice."""
    segments: dict[str, list[dict[str, Any]]] = {}
    for attempt in range(1, draw(st.integers(1, 3)) + 1):
        begin = draw(st.integers(0, 9)) if attempt > 1 else 0
        place = f"{attempt:04d}" + (f"-from-{begin}" if attempt > 1 else "")
        for n in range(1, draw(st.integers(1, 2)) + 1):
            steps = draw(st.lists(st.integers(begin, 12), min_size=1, max_size=6))
            segments[f"{place}/{n:06d}.jsonl"] = [
                {"step": step, "elapsed_s": 1.5}
                | draw(st.dictionaries(st.sampled_from(["a", "b"]), _VALUES, min_size=1, max_size=2))
                for step in sorted(steps)
            ]
    return segments


def same(one: Sequence[float], other: Sequence[float]) -> bool:
    return [repr(float(value)) for value in one] == [repr(float(value)) for value in other]


@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(segments=runs(), data=st.data())
def test_a_reader_that_looks_now_and_then_sees_what_one_that_looks_at_the_end_sees(
    service: Service, ada: Sender, segments: dict[str, list[dict[str, Any]]], data: st.DataObject
) -> None:
    run = SpooledRun(segments={**segments})
    ada.create(run)
    reader = RunReader(service.database, run.id)
    for path in sorted(segments):
        place = path.partition("/")[0]
        is_last = path == max(each for each in segments if each.startswith(place))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(segments[path])), max_size=3)))
        for start, stop in zip([0, *cuts], [*cuts, len(segments[path])], strict=True):
            if start < stop:
                ada.live(run.piece(path, start, stop))
            if data.draw(st.booleans()):
                reader.refresh()
        if not is_last or data.draw(st.booleans()):
            ada.put(run, path)
    if data.draw(st.booleans()):
        end_silent_runs(service.database, NOW)
    for each in (reader, RunReader(service.database, run.id)):
        each.refresh()
        expected = remaining(segments)
        assert each.curves.last_steps() == {metric: points[-1][0] for metric, points in expected.items()}
        for metric in ("a", "b"):
            steps, measured = each.curves.curve(metric)
            points = expected.get(metric, [])
            assert steps.tolist() == [step for step, _ in points]
            assert same(measured.tolist(), [value for _, value in points])
        assert each.curves.n_unread == 0


def test_a_segment_that_is_not_as_its_pieces_were_is_read_anew(service: Service, ada: Sender) -> None:
    run = SpooledRun(segments={"0001/000001.jsonl": rows(range(9))})
    ada.create(run)
    ada.live(run.piece("0001/000001.jsonl", 0, 5))
    reader = RunReader(service.database, run.id)
    reader.refresh()
    other = SpooledRun(id=run.id, segments={"0001/000001.jsonl": rows(range(9), 77.0)})
    ada.put(other)
    reader.refresh()
    assert reader.curves.curve("val/loss")[1].tolist() == [
        row["val/loss"] for row in other.segments["0001/000001.jsonl"]
    ]


def test_lines_that_are_none_are_counted_and_left_out(service: Service, ada: Sender) -> None:
    run = SpooledRun()
    ada.create(run)
    good = json.dumps({"step": 1, "a": 2.0})
    bad = ["", "x", "[]", "3", '{"a": 1}', '{"step": -1, "a": 1}', '{"step": 1.5, "a": 1}', '{"step": true, "a": 1}']
    bad += ['{"step": 2, "a": "nan"}', '{"step": 2, "a": null}', '{"step": 2, "a": []}', '{"step": 1e300, "a": 1}']
    ada.live(run.piece("0001/000001.jsonl") | {"lines": "\n".join([*bad, good, ""])})
    reader = RunReader(service.database, run.id)
    reader.refresh()
    assert [each.tolist() for each in reader.curves.curve("a")] == [[1], [2.0]]
    assert reader.curves.n_unread == len(bad)


@pytest.mark.parametrize(
    ("limit", "of"), [("MOST_BYTES", "bytes"), ("MOST_MEASUREMENTS", "measurements"), ("MOST_SERIES", "metrics")]
)
def test_a_run_too_large_to_be_shown_is_refused(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch, limit: str, of: str
) -> None:
    run = SpooledRun()
    ada.create(run)
    ada.live(run.piece("0001/000001.jsonl"))
    monkeypatch.setattr(run_reader, limit, 1)
    with pytest.raises(ContributionError, match=f"more than 1 {of}"):
        RunReader(service.database, run.id).refresh()
