"""How often intervals and verdicts hold: simulated studies with a known truth, as data and as a table in the docs.

python -m bench.coverage            # writes both, minutes on one core
python -m bench.coverage --quick    # prints the table from a tenth of the simulations
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from bench.simulated import TRIALS, SimulatedRow
from bench.simulated_curves import (
    critical_batch_sizes,
    critical_batch_sizes_outside,
    other_ranges,
    ratios,
    regimes,
)
from bench.simulated_repeats import repeats
from bench.simulated_searches import comparisons, others, qualities, survivals, tuning_budgets
from bench.simulated_settings import advices, advices_of_few_that_reach, repeated_settings, repeated_survivals
from losslake.analysis.measured_levels import FILE, MeasuredLevel, binomial_error, measured_levels

ROOT = Path(__file__).parents[1]
DOCUMENT, LEVELS = ROOT / "docs/analysis.md", ROOT / "losslake/analysis" / FILE
BEGIN, END = "<!-- coverage: written by python -m bench.coverage -->", "<!-- end of coverage -->"
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
    others,
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


def with_table(document: str, levels: Mapping[str, MeasuredLevel]) -> str:
    """Return the document with the table of these levels."""
    before, _, rest = document.partition(BEGIN)
    return f"{before}{BEGIN}\n\n" + "\n".join(table(levels)) + f"\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="print the table from a tenth of the simulations")
    if parser.parse_args().quick:
        print("\n".join(table(simulated(20))))
        return
    LEVELS.write_text(
        json.dumps({name: asdict(each) for name, each in simulated(200).items()}, indent=1) + "\n", "utf-8"
    )
    measured_levels.cache_clear()
    DOCUMENT.write_text(with_table(DOCUMENT.read_text("utf-8"), measured_levels()), "utf-8")


if __name__ == "__main__":
    main()
