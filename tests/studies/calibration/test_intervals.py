"""Intervals and verdicts hold as often as the data say that sentences and the table of the docs take."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from losslake.analysis.measured_levels import TOLERATED, MeasuredLevel, measured_levels, missed
from studies.calibration import advice, curves, searches, survivals
from studies.calibration.document import DOCUMENT, with_table
from studies.calibration.intervals import NAME, SIMULATIONS, simulated, table
from studies.calibration.laws import laws
from studies.calibration.repeats import repeats
from studies.calibration.simulation import SPREADS, TRIALS, SimulatedRow


def test_table_in_docs_is_that_of_the_data() -> None:
    document = DOCUMENT.read_text("utf-8")
    assert with_table(document, NAME, table(measured_levels())) == document


def test_every_level_holds_for_each_number_of_trials() -> None:
    assert {name: each for name, each in measured_levels().items() if not each.holds} == {}
    assert all(set(each.trials) <= set(map(str, TRIALS)) for each in measured_levels().values())


Simulation = Callable[[int], list[SimulatedRow]]
# Studies a cell of what takes long, with trials of one spread: an interval that ignores the spacing of evaluations
# holds in three quarters of studies, which few don't show; the other ranges take 0.1 s a study.
SAMPLED: Mapping[Simulation, int] = {curves.critical_batch_sizes: 64, curves.other_ranges: 4}
SLOW = (curves.critical_batch_sizes, curves.other_ranges, laws, repeats)


@pytest.mark.parametrize(
    "simulate",
    [pytest.param(each, marks=pytest.mark.slow) if each in SLOW else each for each in SIMULATIONS],
    ids=lambda each: each.__name__,
)
def test_levels_hold_in_a_small_simulation(simulate: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (advice, curves, searches, survivals):
        monkeypatch.setattr(module, "TRIALS", (3, 20))
    monkeypatch.setattr(curves, "SIZES", (5, 8))
    if simulate in SAMPLED:
        monkeypatch.setattr(curves, "SPREADS", SPREADS[:1])
    rows = simulate(SAMPLED.get(simulate, 16))
    assert all(sum(n for _, n in row.measured.trials.values()) for row in rows)
    for row in rows:
        for hits, n in row.measured.trials.values():
            assert not n or missed(row.kind, row.level, hits, n, 3.0) <= TOLERATED, row.statement


@pytest.mark.slow
def test_simulating_again_finds_the_measured_levels() -> None:
    again = simulated(200)
    assert again.keys() == measured_levels().keys()
    assert len(SIMULATIONS) < len(again)
    for name, stored in measured_levels().items():
        assert again[name].statement == stored.statement
        # Rounding of another machine's arithmetic may change the outcome of few simulations.
        assert _share(again[name]) == pytest.approx(_share(stored), abs=0.2), name


def _share(level: MeasuredLevel) -> float:
    hits, n = map(sum, zip(*level.trials.values(), strict=True))
    return float(100 * hits / n)
