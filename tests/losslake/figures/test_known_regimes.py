"""Shaded regimes match the break points; a regime without a known bound is not shaded."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa

from losslake.figures.charts.scaling import Regimes, known_regimes


def rows(*steps: float | None, dominated: int | None = None) -> pa.Table:
    n = len(steps)
    columns = {"batch_size": [2**k for k in range(n)], "steps": list(steps), "censored_at": [None] * n}
    table = pa.table(columns, pa.schema([(name, pa.float64()) for name in columns]))
    return table.append_column("is_dominated", pa.array([place == dominated for place in range(n)], pa.bool_()))


def test_three_regimes_are_contiguous() -> None:
    regimes = known_regimes(rows(1600, 800, 400, 300, 250, 240, 240))
    assert replace(regimes, notes=()) == Regimes((0, 4), (4, 16), (16, math.inf))


def test_dominated_batch_sizes_bound_no_regime() -> None:
    regimes = known_regimes(rows(1600, 800, 400, 300, 250, 100, 240, dominated=5))
    assert replace(regimes, notes=()) == Regimes((0, 4), (4, 16), (16, math.inf))


def test_perfect_scaling_to_the_end_has_no_other_regimes() -> None:
    regimes = known_regimes(rows(1600, 800, 400, 200))
    assert regimes == Regimes((0, 8), None, None, ("Shaded: perfect scaling up to 8 (within 20%).",))


def test_no_perfect_scaling_is_not_shaded() -> None:
    regimes = known_regimes(rows(1000, 990, 985, 984))
    assert replace(regimes, notes=()) == Regimes(None, None, (1, math.inf))


def test_unreached_target_has_no_regimes() -> None:
    assert known_regimes(rows(None, None)).notes == ()
    assert known_regimes(rows()).notes == ()
    assert known_regimes(rows(0, 0)).notes == ()
