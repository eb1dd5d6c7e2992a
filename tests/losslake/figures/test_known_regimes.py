"""Shades of regimes: as the break points say, and none where the batch sizes set no bound."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa

from losslake.figures.charts.scaling import Regimes, known_regimes


def rows(*steps: float | None) -> pa.Table:
    n = len(steps)
    columns = {"batch_size": [2**k for k in range(n)], "steps": list(steps), "censored_at": [None] * n}
    return pa.table(columns, pa.schema([(name, pa.float64()) for name in columns]))


def test_three_regimes_follow_each_other() -> None:
    found = known_regimes(rows(1600, 800, 400, 300, 250, 240, 240))
    assert replace(found, explained=()) == Regimes((0, 4), (4, 16), (16, math.inf))


def test_perfect_scaling_to_the_last_batch_size_leaves_the_others_unknown() -> None:
    found = known_regimes(rows(1600, 800, 400, 200))
    assert found == Regimes((0, 8), None, None, ("Shaded: perfect scaling up to 8 (within 20%).",))


def test_perfect_scaling_that_ended_before_the_first_batch_size_is_not_shaded() -> None:
    found = known_regimes(rows(1000, 990, 985, 984))
    assert replace(found, explained=()) == Regimes(None, None, (1, math.inf))


def test_nothing_reached_is_nothing_known() -> None:
    assert known_regimes(rows(None, None)).explained == ()
    assert known_regimes(rows()).explained == ()
    assert known_regimes(rows(0, 0)).explained == ()
