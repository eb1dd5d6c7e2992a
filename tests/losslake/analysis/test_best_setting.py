"""The envelope of repeated settings gives the result of the best setting for every target."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.best_setting import (
    FEWEST_SEEDS,
    Seeds,
    best_settings,
    n_repeated,
    setting_envelope,
    usual_of_settings,
)
from losslake_schema.reached import NEVER, NO_STEP

CURVES = st.lists(
    st.dictionaries(st.integers(0, 9), st.integers(0, 9), max_size=4).map(
        lambda curve: list(zip(sorted(curve), sorted(set(curve.values()), reverse=True), strict=False))
    ),
    min_size=1,
    max_size=8,
)


@given(CURVES, st.integers(1, 3), st.sampled_from(["median", "mean"]))
def test_envelope_has_the_steps_of_every_target_and_of_the_evaluations_before(
    curves: list[list[tuple[int, int]]], n_settings: int, seeds: Seeds
) -> None:
    settings = np.arange(len(curves)) % n_settings
    # Numbers that differ, so that they tell which record it is.
    before = [
        {step: NO_STEP if place == 0 and trial % 2 else 100 * step + trial for place, (step, _) in enumerate(curve)}
        for trial, curve in enumerate(curves)
    ]
    records = [(step, before[trial][step], trial, loss) for trial, curve in enumerate(curves) for step, loss in curve]
    step, previous, trials, loss = (np.array([record[at] for record in records], np.int64) for at in range(4))
    envelope = setting_envelope(step, loss.astype(np.float64), previous, trials, settings, seeds)
    results = []
    for target in np.arange(-0.5, 10.5, 0.5).tolist():
        steps = np.array([min((s for s, value in curve if value < target), default=math.inf) for curve in curves])
        found = best_settings(steps, np.zeros(len(curves), np.int64), settings, 1, seeds)
        assert envelope.steps_to(np.array([target])) == np.rint(found.least)
        assert found.least == usual_of_settings(steps, settings, seeds)[0].min()
        (hit,) = envelope.first_hits(np.array([target]))
        assert (hit == NEVER) == (found.row[0] == NEVER)
        if hit != NEVER:
            of = found.row if seeds == "median" else np.flatnonzero(settings == found.setting[0])
            expected = [before[one][int(steps[one])] for one in of.tolist()]
            mean = NO_STEP if NO_STEP in expected else round(sum(expected) / len(expected))
            assert envelope.previous_step[hit] == mean
        results.append((found.row[0], found.least[0]))
    if seeds == "median":
        assert len(envelope.loss) == sum(one != next_one for one, next_one in pairwise(results)), "breakpoints"


def test_studies_without_trials_have_no_result() -> None:
    found = best_settings(np.array([5.0, 4.0]), np.array([1, 1]), np.array([0, 0]), 3)
    assert found.row.tolist() == [-1, 1, -1]
    assert found.n_settings.tolist() == [0, 1, 0]
    assert best_settings(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), 2).row.tolist() == [-1, -1]


@given(st.lists(st.integers(0, 6), max_size=40))
def test_trials_of_repeated_settings_are_counted(settings: list[int]) -> None:
    assert n_repeated(np.array(settings, np.int64)) == sum(settings.count(each) >= FEWEST_SEEDS for each in settings)
