"""Comparable curves equal what loops over their evaluations give, and a thinned curve stands for the whole one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.comparable import Comparable, PartialCurve, thinned
from losslake.analysis.settings import drawn_settings

VALUES = st.one_of(st.sampled_from([0.0, 0.5, 1.0, math.nan, math.inf, -math.inf]), st.floats(-1e300, 1e300))
CURVE = st.lists(VALUES, min_size=1, max_size=30)


def comparable_of(curves: list[list[float]], bound: float = 0.0, settings_of: list[int] | None = None) -> Comparable:
    """Trials evaluated at steps 0, 10, 20 …; each needs a number."""
    parts = [PartialCurve.of(np.arange(0.0, 10.0 * len(curve), 10.0), np.array(curve), 1.0) for curve in curves]
    return Comparable(
        offsets=np.cumsum([0, *(len(part.steps) for part in parts)]),
        steps=np.concatenate([part.steps for part in parts]).astype(np.int64),
        losses=np.concatenate([part.losses for part in parts]),
        last_steps=np.array([10 * (len(curve) - 1) for curve in curves]),
        settings=drawn_settings(np.array(settings_of or range(len(curves)))),
        is_stopped=np.zeros(len(curves), np.bool_),
        sign=1.0,
        bound=bound,
    )


def best_until(curve: list[float], step: float) -> float:
    return min((value for at, value in enumerate(curve) if 10 * at <= step and math.isfinite(value)), default=math.inf)


@given(st.lists(CURVE.filter(lambda curve: any(map(math.isfinite, curve))), min_size=1, max_size=6), st.floats(0, 300))
def test_best_values_and_target_steps_are_those_of_loops(curves: list[list[float]], step: float) -> None:
    trials = comparable_of(curves, bound=0.5)
    assert trials.losses_at(step).tolist() == [best_until(curve, step) for curve in curves]
    assert trials.final_losses.tolist() == [best_until(curve, math.inf) for curve in curves]
    reached = [[10 * at for at, value in enumerate(c) if math.isfinite(value) and value < 0.5] for c in curves]
    assert trials.target_steps.tolist() == [each[0] if each else math.inf for each in reached]
    last = trials.chosen(np.array([len(curves) - 1]))
    assert last.losses_at(step).tolist() == [best_until(curves[-1], step)]
    assert trials.curve_until(0, step).loss_at(step) == best_until(curves[0], step)


@given(CURVE, st.integers(3, 12))
def test_thinned_curve_has_the_same_values_at_its_end_and_half_of_it(curve: list[float], most: int) -> None:
    steps, values = np.arange(0.0, 7.0 * len(curve), 7.0), np.array(curve)
    kept_steps, kept_values = thinned(steps, values, 1.0, most)
    assert len(kept_steps) <= most
    whole, part = PartialCurve.of(steps, values, 1.0), PartialCurve.of(kept_steps, kept_values, 1.0)
    assert part.last_step == whole.last_step
    for step in (whole.last_step, whole.last_step / 2):
        assert part.loss_at(step) == whole.loss_at(step)
    if len(whole.steps) < most:
        assert part.first_step(0.5) == whole.first_step(0.5)


def test_nan_and_infinities_are_never_the_best() -> None:
    curve = PartialCurve.of(np.arange(5.0), np.array([math.nan, -math.inf, 2.0, math.nan, 1.0]), 1.0)
    assert (curve.steps.tolist(), curve.losses.tolist(), curve.last_step) == ([2.0, 4.0], [2.0, 1.0], 4.0)
    assert not len(PartialCurve.of(np.arange(2.0), np.full(2, math.nan), 1.0).steps)


@pytest.mark.parametrize("steps", [[], [1.0, 1.0], [2.0, 1.0], [-1.0, 2.0], [math.nan], [1.0, math.inf]])
def test_steps_that_do_not_ascend_are_refused(steps: list[float]) -> None:
    with pytest.raises(ValueError, match="give"):
        PartialCurve.of(np.array(steps), np.ones(len(steps)), 1.0)


def test_first_trials_of_each_setting_are_chosen_equally() -> None:
    chosen = comparable_of([[float(n), 0.5] for n in range(9)], settings_of=[0, 0, 0, 0, 0, 0, 1, 1, 2]).at_most(5)
    assert chosen.losses_at(0).tolist() == [0.0, 1.0, 6.0, 7.0, 8.0]


def test_trials_are_drawn_where_no_setting_is_repeated() -> None:
    assert comparable_of([[1.0]] * 3, settings_of=[5, 5, 5]).groups.tolist() == [0, 1, 2]
    assert comparable_of([[1.0]] * 3, settings_of=[5, 9, 5]).groups.tolist() == [0, 1, 0]
    # What is left of repeated settings is still one setting.
    assert comparable_of([[1.0]] * 3, settings_of=[5, 9, 5]).chosen(np.array([0, 2])).groups.tolist() == [0, 0]
