"""Time to target and its cost, over any rows, are what brute force finds; without times steps stand for them."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.questions import time_cost
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row

NAN = math.nan
SELECTED = Selection((WORKLOAD,), METRIC)


@st.composite
def timed_rows(draw: st.DrawFn) -> list[Row]:
    """Trials whose clocks go at different rates; some logs have no times."""
    rows = []
    for batch_size in draw(st.sets(st.sampled_from([1, 2, 8, 64]), min_size=1, max_size=3)):
        for trial_id in draw(st.sets(st.integers(0, 5), min_size=1, max_size=3)):
            rate = draw(st.sampled_from([None, 0.5, 1.0, 2.0]))
            curve = draw(st.dictionaries(st.integers(0, 9), st.sampled_from([0.1, 0.3, 0.9, NAN]), max_size=4))
            rows += [
                Row(batch_size, trial_id, "COMPLETE", step, curve[step], None if rate is None else rate * step)
                for step in sorted(curve)
            ] or [Row(batch_size, trial_id, "COMPLETE", None, None)]
    return rows


def first_hits(rows: list[Row], sign: float, size: int) -> list[Row]:
    """Of each trial of a batch size the first row that is better than 0.5."""
    found: dict[int, Row] = {}
    for row in rows:
        hits = row.value is not None and row.value * sign < 0.5 * sign
        if row.batch_size == size and hits:
            found.setdefault(row.trial_id, row)
    return list(found.values())


def assert_is_brute_force(view: ReleaseView, rows: list[Row], selection: Selection, sign: float) -> None:
    answer = answer_to(time_cost.QUESTION, view, selection, Goal(0.5))
    found = answer.table().to_pylist()
    points: list[tuple[float, float] | None] = []
    hits = {size: first_hits(rows, sign, size) for size in sorted({row.batch_size for row in rows})}
    with_times = [any(hit.elapsed_s is not None for hit in own) for own in hits.values() if own]
    is_timed = sum(with_times) >= len(with_times) / 2 and sum(with_times) >= min(2, len(with_times)) > 0
    for row, (size, own) in zip(found, hits.items(), strict=True):
        fewest = min(own, key=lambda hit: (hit.step, hit.trial_id), default=None)
        timed = [hit for hit in own if hit.elapsed_s is not None]
        fastest = min(timed, key=lambda hit: (hit.elapsed_s, hit.step, hit.trial_id), default=None)
        assert (row["batch_size"], row["n_reached"], row["n_timed"]) == (size, len(own), len(timed))
        assert [row["steps"], row["trial_id"], row["elapsed_s"]] == (
            [fewest.step, fewest.trial_id, fewest.elapsed_s] if fewest else [None] * 3
        )
        assert [row["fastest_steps"], row["fastest_trial_id"], row["fastest_elapsed_s"]] == (
            [fastest.step, fastest.trial_id, fastest.elapsed_s] if fastest else [None] * 3
        )
        chosen = fastest if is_timed else fewest
        if chosen is None or chosen.step is None:
            points.append(None)
        else:
            points.append((chosen.elapsed_s or 0.0 if is_timed else chosen.step, chosen.step * size))
    for row, point in zip(found, points, strict=True):
        others = [other for other in points if other not in (None, point)]
        beaten = point is not None and any(o[0] <= point[0] and o[1] <= point[1] for o in others if o is not None)
        assert row["is_on_front"] == (point is not None and not beaten)


@given(timed_rows())
@settings(max_examples=settings().max_examples // 2)
def test_times_and_costs_are_those_of_brute_force(rows: list[Row]) -> None:
    assert_is_brute_force(view_of(rows), rows, SELECTED, 1.0)


@given(timed_rows())
@settings(max_examples=settings().max_examples // 4)
def test_times_come_from_measurements_for_a_direction_without_records(rows: list[Row]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        view = view_of(rows, folder=Path(folder))
        assert_is_brute_force(view, rows, Selection((WORKLOAD,), METRIC, "maximize"), -1.0)


def curve(size: int, steps: int, seconds: float | None) -> list[Row]:
    """A trial that reaches 0.5 after so many steps and seconds."""
    before = Row(size, 1, "COMPLETE", steps - 1, 0.9, None)
    return [Row(size, 1, "COMPLETE", 0, 0.9, 0.0), before, Row(size, 1, "COMPLETE", steps, 0.4, seconds)]


def of_curves(seconds: list[float | None]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Steps 1000 (1 + 64/B) at five batch sizes, with these seconds."""
    sizes = (8, 32, 64, 128, 512)
    rows = [row for size, own in zip(sizes, seconds, strict=True) for row in curve(size, 1000 + 64000 // size, own)]
    answer = answer_to(time_cost.QUESTION, view_of(rows), SELECTED, Goal(0.5))
    return answer.table().to_pylist(), dict(answer.facts)


def test_goodput_is_examples_of_the_smallest_batch_size_per_second() -> None:
    rows, facts = of_curves([90.0, 40.0, 30.0, 28.0, 27.0])
    (summary,) = facts["summaries"]
    assert summary["critical_batch_size"] == pytest.approx(64, rel=1e-3)
    assert (summary["time_is"], summary["least_time"], summary["least_time_batch_size"]) == ("elapsed_s", 27.0, 512)
    assert (summary["no_faster_beyond"], summary["censoring"]) == (128, None)
    assert (summary["least_examples"], summary["least_examples_batch_size"]) == (72000, 8)
    for row in rows:
        assert row["goodput"] == pytest.approx(72000 / row["fastest_elapsed_s"], rel=1e-3)
    assert all(row["is_on_front"] for row in rows)


def test_slower_trial_with_fewer_examples_counts_for_the_fewest_and_for_the_front() -> None:
    fast, cheap = curve(8, 100, 10.0), [replace(row, trial_id=2) for row in curve(8, 90, 30.0)]
    answer = answer_to(time_cost.QUESTION, view_of([*fast, *cheap, *curve(4, 190, 20.0)]), SELECTED, Goal(0.5))
    (summary,) = answer.facts["summaries"]
    assert (summary["least_time"], summary["least_examples"], summary["least_examples_batch_size"]) == (10.0, 720, 8)
    assert [row["is_on_front"] for row in answer.table().to_pylist()] == [True, True]


def test_unequal_searches_are_warned_of() -> None:
    more = [replace(row, trial_id=2) for row in curve(8, 90, 30.0)]
    answer = answer_to(
        time_cost.QUESTION, view_of([*curve(8, 100, 10.0), *more, *curve(4, 190, 20.0)]), SELECTED, Goal(0.5)
    )
    assert any("have 1 to 2 trials" in text for text in answer.facts["warnings"])


def test_summary_reports_that_time_still_falls() -> None:
    _, facts = of_curves([90.0, 40.0, 30.0, 20.0, 10.0])
    assert facts["summaries"][0]["censoring"] == "right"
    assert any("time still falls at 512" in text for text in facts["warnings"])


def test_a_batch_size_without_a_time_is_left_out_and_named() -> None:
    rows, facts = of_curves([90.0, 40.0, 20.0, 19.5, None])
    (summary,) = facts["summaries"]
    assert (summary["time_is"], summary["least_time"], summary["no_faster_beyond"]) == ("elapsed_s", 19.5, 64)
    assert (summary["least_examples_batch_size"], rows[4]["is_on_front"]) == (8, False)
    assert facts["left_out"] == [f"{WORKLOAD}: no trial that reached the target has a time at batch size 512"]
    assert not any("steps stand for time" in text or "512" in text for text in facts["warnings"])


def test_where_most_batch_sizes_have_no_times_steps_stand_for_time() -> None:
    rows, facts = of_curves([90.0, None, None, None, 10.0])
    assert facts["summaries"][0]["time_is"] == "steps"
    assert any("only 2 of 5 batch sizes have times" in text for text in facts["warnings"])
    assert [row["fastest_elapsed_s"] for row in rows] == [90.0, None, None, None, 10.0]
    assert facts["left_out"] == []


def test_unreached_target_is_left_out_with_a_reason() -> None:
    answer = answer_to(time_cost.QUESTION, view_of(curve(8, 10, 1.0)), SELECTED, Goal(0.1))
    assert answer.facts["summaries"][0]["no_faster_beyond"] is None
    assert answer.facts["n_used"] == 0
    assert len(answer.facts["left_out"]) == 1
    assert answer.table()["is_on_front"].to_pylist() == [False]


def test_single_batch_size_has_no_comparison() -> None:
    warnings = answer_to(time_cost.QUESTION, view_of(curve(8, 10, 1.0)), SELECTED, Goal(0.5)).facts["warnings"]
    assert any("only batch size 8 reached the target" in text for text in warnings)
    assert not any("still falls" in text for text in warnings)


def test_the_tolerance_asked_for_decides_whether_time_still_falls() -> None:
    rows = [row for size, steps in ((8, 1000), (32, 400), (64, 380)) for row in curve(size, steps, float(steps))]
    facts = answer_to(time_cost.QUESTION, view_of(rows), SELECTED, Goal(0.5), max_useful_tau=0.01).facts
    assert facts["summaries"][0]["censoring"] == "right"
    assert any("time still falls at 64" in text for text in facts["warnings"])


def test_a_tolerance_below_0_is_refused() -> None:
    with pytest.raises(ValidationError, match="max_useful_tau"):
        answer_to(time_cost.QUESTION, view_of(curve(8, 10, 1.0)), SELECTED, Goal(0.1), max_useful_tau=-1)
