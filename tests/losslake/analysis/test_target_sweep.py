"""Targets are chosen where something changes, claims hold exactly where brute force says, ranks are those by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.envelope import (
    Envelope,
    Reach,
    TargetInterval,
    breakpoints,
    chosen_targets,
    coverage,
    holding_intervals,
    lower_envelope,
    ranks,
    reach,
    steps_to_targets,
)

NAN, INF = math.nan, math.inf


def envelope(*losses: float) -> Envelope:
    steps = np.arange(len(losses))
    return lower_envelope(steps, np.array(losses, np.float64), steps - 1)


CURVES = st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.9, NAN]), max_size=5), min_size=1, max_size=4)


@given(CURVES)
def test_every_batch_size_reaches_what_is_easier_than_the_hardest_target_for_all(curves: list[list[float]]) -> None:
    envelopes = [envelope(*curve) for curve in curves]
    found = reach(envelopes)
    best = [min((loss for loss in curve if math.isfinite(loss)), default=INF) for curve in curves]
    assert found.hardest_for_any == (min(best) if min(best) < INF else None)
    if found.hardest_for_all is None:
        assert INF in best
        return
    at = np.array([found.hardest_for_all, np.nextafter(found.hardest_for_all, INF)])
    covered = coverage(steps_to_targets(envelopes, at))
    assert covered[0] < 1.0
    assert covered[1] == 1.0
    assert found.limiting is not None
    assert best[found.limiting] == found.hardest_for_all


@given(CURVES, st.integers(1, 9))
def test_chosen_targets_are_reached_and_go_from_easy_to_hard(curves: list[list[float]], count: int) -> None:
    envelopes = [envelope(*curve) for curve in curves]
    targets = chosen_targets(envelopes, count)
    steps = steps_to_targets(envelopes, targets)
    assert len(targets) <= count
    assert (np.diff(targets) < 0).all()
    assert np.isfinite(steps).any(axis=1).all()
    assert (len(targets) == 0) == (len(breakpoints(envelopes)) == 0)


@given(CURVES, st.sampled_from([0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.9, 7.0]))
def test_a_claim_holds_within_its_intervals_and_nowhere_else(curves: list[list[float]], target: float) -> None:
    envelopes = [envelope(*curve) for curve in curves]
    points = breakpoints(envelopes)

    def claim(targets: np.ndarray) -> np.ndarray:
        steps = steps_to_targets(envelopes, targets)
        holds: np.ndarray = np.isfinite(steps).any(axis=1) & (steps.min(axis=1) <= 2)
        return holds

    intervals = holding_intervals(points, claim(np.append(points, INF)[1:]))
    assert claim(np.array([target]))[0] == any(each.hardest < target <= each.easiest for each in intervals)


def test_intervals_that_touch_are_one() -> None:
    found = holding_intervals(np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, True, False, True]))
    assert found == [TargetInterval(0.1, 0.3), TargetInterval(0.4, INF)]


def test_ranks_are_by_batch_size_and_never_is_last() -> None:
    one, other, third = [[10.0, 5.0, INF, INF]], [[20.0, 5.0, 7.0, INF]], [[30.0, INF, INF, INF]]
    found = ranks([np.array(steps) for steps in (one, other, third)])
    assert found.n_compared.tolist() == [3]
    assert found.n_fewest.tolist() == [[2], [2], [0]]
    assert found.mean_rank.ravel() == pytest.approx([(1 + 1.5 + 2.5) / 3, (2 + 1.5 + 1) / 3, (3 + 3 + 2.5) / 3])


def test_no_workload_is_first_when_none_reaches_the_target() -> None:
    found = ranks([np.array([[INF, INF]])] * 2)
    assert np.isnan(found.mean_rank).all()
    assert found.n_fewest.tolist() == [[0], [0]]


def test_without_losses_there_is_nothing_to_reach() -> None:
    assert reach([envelope(NAN)]) == Reach(None, None, None)
    assert reach([]) == Reach(None, None, None)
    assert len(chosen_targets([envelope(NAN)], 5)) == 0
    assert np.isnan(coverage(np.empty((1, 0)))).all()
