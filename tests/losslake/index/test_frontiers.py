"""The three short lists of a study answer for every target as a look at every trial does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.index.frontiers import Frontiers, Staircase, batch_of_frontiers, frontiers, frontiers_of_batch
from losslake.index.records import TrialRecords

STUDIES = 3
Record = tuple[int, float]


@st.composite
def trials(draw: st.DrawFn) -> list[tuple[int, bool, list[Record]]]:
    """Trials in the order of their study: its index, whether it counts, and ever lower values at ever later steps."""
    found = []
    for study in sorted(draw(st.lists(st.integers(0, STUDIES - 1), max_size=7))):
        steps = sorted(draw(st.sets(st.integers(0, 7), min_size=1, max_size=5)))
        values = draw(st.sets(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]), min_size=len(steps), max_size=6))
        curve = list(zip(steps, sorted(values, reverse=True)[: len(steps)], strict=True))
        found.append((study, draw(st.integers(0, 4)) > 0, curve))
    return found


def frontiers_of(given_trials: Sequence[tuple[int, bool, list[Record]]], sign: float) -> Frontiers:
    curves = [curve for _, _, curve in given_trials]
    records = TrialRecords(
        rows=np.arange(len(curves)),
        offsets=np.cumsum([0, *map(len, curves)]),
        step=np.array([step for curve in curves for step, _ in curve], np.int64),
        previous_step=np.array([step - 1 for curve in curves for step, _ in curve], np.int64),
        value=np.array([value * sign for curve in curves for _, value in curve], np.float64),
    )
    bounds = np.searchsorted([study for study, _, _ in given_trials], np.arange(STUDIES + 1))
    found = frontiers(records, np.array([counts for _, counts, _ in given_trials], np.bool_), bounds, sign)
    return frontiers_of_batch(batch_of_frontiers(found))


def first_entry(staircase: Staircase, study: int, merit: float) -> int | None:
    start, end = staircase.offsets[study : study + 2]
    return next((entry for entry in range(start, end) if staircase.merit[entry] > merit), None)


@given(trials(), st.sampled_from([-2.5, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0]), st.sampled_from([1.0, -1.0]))
def test_first_trial_runner_up_and_count_are_those_of_brute_force(
    given_trials: list[tuple[int, bool, list[Record]]], target: float, sign: float
) -> None:
    found = frontiers_of(given_trials, sign)
    for study in range(STUDIES):
        hits = sorted(
            (next(step for step, value in curve if value < target), row)
            for row, (own, counts, curve) in enumerate(given_trials)
            if own == study and counts and curve[-1][1] < target
        )
        best, runner_up = (first_entry(stairs, study, -target) for stairs in (found.best, found.runner_up))
        of_best = [] if best is None else [(found.best.step[best], found.row[best])]
        assert of_best == hits[:1]
        assert best is None or found.previous_step[best] == found.best.step[best] - 1
        assert ([] if runner_up is None else [found.runner_up.step[runner_up]]) == [step for step, _ in hits[1:2]]
        start, end = found.reach_offsets[study : study + 2]
        assert np.count_nonzero(found.reach[start:end] > -target) == len(hits)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_index_without_trials_has_empty_studies(sign: float) -> None:
    found = frontiers_of([], sign)
    assert found.best.offsets.tolist() == found.reach_offsets.tolist() == [0] * (STUDIES + 1)
