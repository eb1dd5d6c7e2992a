"""The envelope of repeated settings gives the result of the best setting for every target."""

from __future__ import annotations

import math

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

CURVES = st.lists(
    st.dictionaries(st.integers(0, 9), st.integers(0, 9), max_size=4).map(
        lambda curve: list(zip(sorted(curve), sorted(set(curve.values()), reverse=True), strict=False))
    ),
    min_size=1,
    max_size=8,
)


@given(CURVES, st.integers(1, 3), st.sampled_from(["median", "mean"]))
def test_envelope_has_the_steps_of_every_target(
    curves: list[list[tuple[int, int]]], n_settings: int, seeds: Seeds
) -> None:
    settings = np.arange(len(curves)) % n_settings
    records = [(step, float(loss), trial) for trial, curve in enumerate(curves) for step, loss in curve]
    step, trial = (np.array([record[at] for record in records], np.int64) for at in (0, 2))
    loss = np.array([record[1] for record in records], np.float64)
    envelope = setting_envelope(step, loss, trial, settings, seeds)
    for target in np.arange(-0.5, 10.5, 0.5).tolist():
        steps = np.array([min((s for s, value in curve if value < target), default=math.inf) for curve in curves])
        found = best_settings(steps, np.zeros(len(curves), np.int64), settings, 1, seeds)
        assert envelope.steps_to(np.array([target])) == np.rint(found.least)
        assert found.least == usual_of_settings(steps, settings, seeds)[0].min()
    assert (loss[envelope.row] == envelope.loss).all()


def test_studies_without_trials_have_no_result() -> None:
    found = best_settings(np.array([5.0, 4.0]), np.array([1, 1]), np.array([0, 0]), 3)
    assert found.row.tolist() == [-1, 1, -1]
    assert found.n_settings.tolist() == [0, 1, 0]
    assert best_settings(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), 2).row.tolist() == [-1, -1]


@given(st.lists(st.integers(0, 6), max_size=40))
def test_trials_of_repeated_settings_are_counted(settings: list[int]) -> None:
    assert n_repeated(np.array(settings, np.int64)) == sum(settings.count(each) >= FEWEST_SEEDS for each in settings)
