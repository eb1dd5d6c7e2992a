"""Sentences state how often forecasts held for stored trials, which is as often as their levels say."""

from __future__ import annotations

import pytest

from losslake.analysis.forecast import LEVELS
from losslake.analysis.forecast_levels import LEAST_TRIALS, forecast_levels, held_in_words
from losslake.analysis.measured_levels import missed


@pytest.mark.parametrize("what", ["final", "target"])
@pytest.mark.parametrize("level", LEVELS)
def test_words_are_the_least_and_greatest_share_of_the_data(what: str, level: float) -> None:
    shares = []
    for row in forecast_levels():
        held, n = row[what]["forecast"].get(f"{100 * level:.0f}", (0, 0))
        shares += [100 * held / n] if n >= LEAST_TRIALS else []
    words = held_in_words("final" if what == "final" else "target", level)
    assert words == f"{min(shares):.0f} to {max(shares):.0f}%"


@pytest.mark.parametrize("what", ["final", "target"])
def test_bands_hold_in_every_collection_but_for_errors_of_counting(what: str) -> None:
    for row in forecast_levels():
        for level, (held, n) in row[what]["forecast"].items():
            assert missed("at least", int(level), held, n, 2.0) <= 0, (row["collection"], row["share"], level)
