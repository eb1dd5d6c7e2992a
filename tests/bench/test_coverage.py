"""Intervals and verdicts hold as often as the data say that sentences and the table of the docs take."""

from __future__ import annotations

import pytest

from bench.coverage import DOCUMENT, SIMULATIONS, simulated, with_table
from bench.simulated import TRIALS
from losslake.analysis.measured_levels import MeasuredLevel, binomial_error, measured_levels


def test_table_in_docs_is_that_of_the_data() -> None:
    document = DOCUMENT.read_text("utf-8")
    assert with_table(document, measured_levels()) == document


def test_every_level_holds_for_each_number_of_trials() -> None:
    assert {name: each for name, each in measured_levels().items() if not each.holds} == {}
    assert all(set(each.trials) <= set(map(str, TRIALS)) for each in measured_levels().values())


@pytest.mark.slow
def test_simulating_again_finds_the_measured_levels() -> None:
    again = simulated(20)
    assert again.keys() == measured_levels().keys()
    assert len(SIMULATIONS) < len(again)
    for name, stored in measured_levels().items():
        assert again[name].statement == stored.statement
        (share, error), (before, error_before) = _share(again[name]), _share(stored)
        assert abs(share - before) <= 4 * (error**2 + error_before**2) ** 0.5 + 5, name


def _share(level: MeasuredLevel) -> tuple[float, float]:
    hits, n = map(sum, zip(*level.trials.values(), strict=True))
    return 100 * hits / n, binomial_error(hits, n)
