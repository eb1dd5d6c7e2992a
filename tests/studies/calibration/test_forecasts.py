"""The calibration of forecasts holds trials back, and its baselines are what they are called."""

from __future__ import annotations

import math

import numpy as np
import pytest

from losslake.analysis.forecast_levels import forecast_levels
from studies.calibration.baselines import fitted, residual_band
from studies.calibration.document import DOCUMENT, with_table
from studies.calibration.forecasts import METHODS, NAME, Curves, held_back, table
from tests.losslake.analysis.test_comparable import comparable_of


def test_table_in_docs_is_that_of_the_data() -> None:
    document = DOCUMENT.read_text("utf-8")
    assert with_table(document, NAME, table(forecast_levels())) == document


@pytest.mark.parametrize(("b", "c"), [(0.5, 0.1), (1.0, 0.0), (0.2, 2.0)])
def test_power_law_is_found_in_a_curve_that_follows_one(b: float, c: float) -> None:
    steps = np.arange(1, 60)
    law = fitted(steps, 3 * steps.astype(np.float64) ** -b + c)
    assert law is not None
    assert law.b == b
    assert law.at(1000) == pytest.approx(3 * 1000**-b + c)
    assert law.first_step(law.at(1000)) == pytest.approx(1000)
    assert law.first_step(law.c) == math.inf


def test_power_law_of_a_rising_or_short_curve_is_flat_or_none() -> None:
    law = fitted(np.arange(1, 6), np.arange(1.0, 6.0))
    assert law is not None
    assert (law.at(10), law.first_step(2.0), law.first_step(4.0)) == (3.0, math.inf, 0.0)
    assert fitted(np.arange(4), np.ones(4)) is None


def test_residual_band_has_the_extreme_residuals_of_nine_trials() -> None:
    outcomes = np.arange(9.0)
    assert residual_band(10.0, np.full(9, 4.0), outcomes, np.arange(9), 0.8) == (6.0, 14.0)
    outcomes[8] = math.inf
    assert residual_band(10.0, np.full(9, 4.0), outcomes, np.arange(9), 0.8) == (6.0, math.inf)


def test_held_back_trials_of_each_method_are_counted() -> None:
    random = np.random.default_rng(3)
    curves = [np.abs(0.2 * k + np.exp(-0.3 * np.arange(20)) + 0.01 * random.normal(size=20)) for k in range(12)]
    steps = 10 * np.arange(20)
    study = Curves("a/study", "a", comparable_of([c.tolist() for c in curves], 0.5), [(steps, c) for c in curves])
    tally = held_back(study, 0.5)
    for method in METHODS:
        assert len(tally.final[method, 0.8]) == len(tally.final_scores[method]) == 12
        assert sum(tally.final[method, 0.8]) >= 8
    assert tally.n_refused == 0
