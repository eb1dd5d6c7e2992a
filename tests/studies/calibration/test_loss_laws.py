"""The calibration of loss laws counts what its intervals hold, and its table is in the docs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from studies.calibration.document import DOCUMENT
from studies.calibration.loss_laws import DESIGNS, LEVELS, NAME, QUANTITIES, Coverage, Design, simulate, table


def test_designs_have_the_runs_that_their_names_say() -> None:
    counts = [len(np.unique(design.draw(np.random.default_rng(1))[2])) for design in DESIGNS]
    assert counts == [int(design.name.partition(" ")[0]) for design in DESIGNS]


@pytest.mark.parametrize("design", DESIGNS[:2], ids=lambda design: design.name)
def test_intervals_hold_as_often_as_the_table_says(design: Design) -> None:
    coverage = simulate(design, 6)
    assert coverage.n_refused == 0
    # Of intervals that hold in 90%, all quantities of 6 simulations together miss half with a chance of 1 in 1,000.
    assert sum(coverage.held[quantity, LEVELS[1]] for quantity in QUANTITIES) > 3 * len(QUANTITIES)
    assert all(coverage.held[quantity, LEVELS[0]] <= coverage.held[quantity, LEVELS[1]] for quantity in QUANTITIES)


def test_shares_are_of_the_laws_that_are_reported() -> None:
    lines = [*table({"few": Coverage(10, 2, Counter({("alpha", 0.8): 4, ("alpha", 0.9): 8}))})]
    assert lines[2].startswith("| few | 80% | 50 ± 18 | 0 ± ")
    assert lines[3].startswith("| few | 90% | 100 ± ")
    assert lines[3].endswith(" | 8 of 10 |")


def test_docs_have_a_row_for_each_design_and_level() -> None:
    part = DOCUMENT.read_text("utf-8").partition(f"python -m studies.calibration {NAME} -->")[2]
    rows = part.partition(f"<!-- end of {NAME}")[0]
    for design in DESIGNS:
        for level in LEVELS:
            assert f"| {design.name} | {level:.0%} |" in rows
