"""Records are the strictly better measurements, and they alone decide when any target is first reached."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.pipeline.write import previous_steps, record_rows

odd_floats = st.one_of(st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5]), st.floats(width=64))
trials_of_values = st.lists(st.lists(odd_floats, max_size=12), max_size=5)
directions = st.sampled_from(["minimize", "maximize"])


def offsets_of(trials: list[list[float]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([0, *np.cumsum([len(values) for values in trials])], np.int64)


def better(value: float, other: float, direction: str) -> bool:
    return value < other if direction == "minimize" else value > other


@given(trials_of_values, directions)
def test_a_record_is_finite_and_strictly_better_than_every_earlier_finite_value(
    trials: list[list[float]], direction: str
) -> None:
    expected = [
        math.isfinite(value)
        and all(better(value, earlier, direction) for earlier in values[:at] if math.isfinite(earlier))
        for values in trials
        for at, value in enumerate(values)
    ]
    flat = np.array([value for values in trials for value in values], np.float64)
    assert record_rows(flat, offsets_of(trials), direction).tolist() == expected


@given(trials_of_values, directions, st.floats(allow_nan=False, allow_infinity=False))
def test_the_first_step_that_reaches_any_target_is_a_record(
    trials: list[list[float]], direction: str, target: float
) -> None:
    flat = np.array([value for values in trials for value in values], np.float64)
    offsets = offsets_of(trials)
    is_record = record_rows(flat, offsets, direction)
    for row, values in enumerate(trials):
        hits = [at for at, value in enumerate(values) if math.isfinite(value) and better(value, target, direction)]
        own = is_record[offsets[row] : offsets[row + 1]]
        recorded = [at for at, value in enumerate(values) if own[at] and better(value, target, direction)]
        assert hits[:1] == recorded[:1]


@given(st.lists(st.lists(st.integers(0, 2**62), unique=True, max_size=6).map(sorted), max_size=5))
def test_the_previous_step_is_that_of_the_row_before_in_the_same_trial(trials: list[list[int]]) -> None:
    flat = np.array([step for steps in trials for step in steps], np.int64)
    offsets = np.array([0, *np.cumsum([len(steps) for steps in trials])], np.int64)
    previous, is_first = previous_steps(flat, offsets)
    expected = [steps[at - 1] if at else None for steps in trials for at in range(len(steps))]
    assert [None if first else steps for steps, first in zip(previous.tolist(), is_first, strict=True)] == expected
