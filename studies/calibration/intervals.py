"""Coverage of intervals and verdicts: simulated studies with a known truth, as data and as a table in the docs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from losslake.analysis.measured_levels import FILE, MeasuredLevel, binomial_error, measured_levels
from studies.calibration.advice import advices, advices_of_few_that_reach
from studies.calibration.curves import critical_batch_sizes, critical_batch_sizes_outside, other_ranges, ratios, regimes
from studies.calibration.document import DATA, write_table
from studies.calibration.laws import laws
from studies.calibration.leagues import leagues
from studies.calibration.repeats import repeats
from studies.calibration.searches import comparisons, others, qualities, repeated_settings, tuning_budgets
from studies.calibration.simulation import TRIALS, SimulatedRow
from studies.calibration.survivals import repeated_survivals, survivals

NAME = "intervals"
SIMULATIONS: tuple[Callable[[int], list[SimulatedRow]], ...] = (
    comparisons,
    repeated_settings,
    critical_batch_sizes,
    critical_batch_sizes_outside,
    other_ranges,
    ratios,
    regimes,
    repeats,
    qualities,
    survivals,
    repeated_survivals,
    tuning_budgets,
    advices,
    advices_of_few_that_reach,
    leagues,
    others,
    laws,
)


def simulated(n: int) -> dict[str, MeasuredLevel]:
    """Return the levels by name. n: simulations in a cell."""
    return {row.name: row.measured for simulate in SIMULATIONS for row in simulate(n)}


def table(levels: Mapping[str, MeasuredLevel]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| percent of simulations | by design | {' | '.join(f'{each} trials' for each in TRIALS)} | cells |"
    yield f"|{' --- |' * (len(TRIALS) + 3)}"
    for each in levels.values():
        level = each.kind if each.level is None else f"{each.kind} {each.level}"
        parts = [_percent(*each.trials.get(str(trials), (0, 0))) for trials in TRIALS]
        span = "none" if each.cells is None else f"{each.cells[0]:.0f} to {each.cells[1]:.0f}"
        yield f"| `{each.question}`: {each.statement} | {level} | {' | '.join(parts)} | {span} |"


def _percent(hits: int, n: int) -> str:
    return f"{100 * hits / n:.1f} ± {binomial_error(hits, n):.1f}" if n else "none"


def measure_intervals(*, is_quick: bool) -> None:
    """Write the levels as data, and their table into the docs; or only print that of a tenth of the simulations."""
    if is_quick:
        print("\n".join(table(simulated(20))))
        return
    levels = {name: asdict(each) for name, each in simulated(200).items()}
    (DATA / FILE).write_text(json.dumps(levels, indent=1) + "\n", "utf-8")
    measured_levels.cache_clear()
    write_table(NAME, table(measured_levels()))
