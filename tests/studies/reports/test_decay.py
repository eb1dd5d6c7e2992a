"""Pairs of optimizers flip where their order before the end of the schedule isn't that at the end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.reports.decay import Competitor, Pair, competitors, flip_range, last_loss, pairs

PLACE = ("c", "d", "m", 8)


def rows_of(
    name: str, losses: dict[str, list[float]], setting: str = "", start: int = 20, end: int = 40, size: int = 8
) -> list[dict[str, Any]]:
    """Rows of trials that are evaluated every 10 steps, by trial."""
    place = dict(zip(("collection", "dataset", "model"), PLACE[:3], strict=True))
    schedule = {"setting": setting, "decay_start": start, "schedule_end": end}
    return [
        {**place, "batch_size": size, "competitor": name, "trial": trial, **schedule, "step": 10 * n, "loss": loss}
        for trial, curve in losses.items()
        for n, loss in enumerate(curve, 1)
    ]


def pair_of(*rows: list[dict[str, Any]]) -> Pair:
    (pair,) = pairs(competitors(row for each in rows for row in each))
    return pair


@pytest.mark.parametrize(
    ("early", "half", "flips"),
    [
        (0.9, 0.6, (False, False)),
        (0.5, 0.6, (True, False)),
        (0.5, 0.4, (True, True)),
        (0.8, 0.6, (None, False)),  # equal losses have no order
        (math.nan, 0.6, (None, False)),
    ],
)
def test_a_pair_flips_if_the_order_before_isnt_that_at_the_end(
    early: float, half: float, flips: tuple[bool | None, ...]
) -> None:
    """A has 0.8 at the start of decay, 0.5 halfway and 0.2 at the end; B ends behind, at 0.3."""
    first = rows_of("a", {"1": [math.nan, 0.8, 0.5, 0.2]})
    second = rows_of("b", {"1": [math.nan, early, half, 0.3]})
    assert pair_of(first, second).is_flipped == flips


def test_pairs_are_compared_at_the_earlier_start_of_decay() -> None:
    first = rows_of("a", {"1": [0.9, 0.5, 0.4, 0.2]}, start=10)
    second = rows_of("b", {"1": [0.8, 0.6, 0.5, 0.3]}, start=30)
    assert pair_of(first, second).is_flipped == (True, False)


@pytest.mark.parametrize(("end", "size"), [(41, 8), (40, 16)])
def test_other_ends_and_batch_sizes_make_no_pairs(end: int, size: int) -> None:
    rows = [*rows_of("a", {"1": [1, 1, 1, 1]}), *rows_of("b", {"1": [2, 2, 2, 2]}, end=end, size=size)]
    assert not [*pairs(competitors(rows))]


def test_the_setting_with_the_best_median_at_the_end_counts() -> None:
    lucky = rows_of("a", {"1": [1, 1, 1, 0.1], "2": [1, 1, 1, 0.9], "3": [1, 1, 1, 0.9]}, "lr=1")
    steady = rows_of("a", {"4": [2, 2, 2, 0.5], "5": [3, 3, 3, 0.5], "6": [4, 4, 4, 0.5]}, "lr=2")
    (chosen,) = competitors([*lucky, *steady])
    assert (chosen.final, chosen.loss(20)) == (0.5, 3)


def test_pairs_whose_halves_disagree_at_the_end_are_unstable() -> None:
    first = rows_of("a", {"1": [1, 1, 1, 0.1], "2": [1, 1, 1, 0.6]})
    second = rows_of("b", {"1": [1, 1, 1, 0.2], "2": [1, 1, 1, 0.3]})
    alone = rows_of("c", {"1": [1, 1, 1, 0.9]})
    assert pair_of(first, second).is_unstable is True
    assert pair_of(second, alone).is_unstable is None
    assert pair_of(second, rows_of("d", {"1": [1, 1, 1, 0.8], "2": [1, 1, 1, 0.9]})).is_unstable is False


@given(st.lists(st.sampled_from([0.5, 0.1, math.nan, math.inf]), max_size=6), st.integers(0, 70))
def test_the_last_loss_is_the_last_finite_one_up_to_a_step(losses: list[float], step: int) -> None:
    steps = np.arange(10, 10 * len(losses) + 1, 10)
    known = [loss for at, loss in zip(steps.tolist(), losses, strict=True) if at <= step and math.isfinite(loss)]
    found = last_loss((steps, np.array(losses, np.float64)), step)
    assert math.isnan(found) if not known else found == known[-1]


def test_a_range_needs_five_workloads_and_draws_these_whole() -> None:
    flags = [(("c", "d", f"m{n}", 8), n < 3) for n in range(6) for _ in range(4)]
    assert flip_range(flags[:16]) is None
    found = flip_range(flags)
    assert found is not None
    # 90% of binomial draws of 6 workloads at 0.5 lie between 1 and 5 of them.
    assert found == pytest.approx((1 / 6, 5 / 6))


def test_a_competitor_without_a_finite_end_is_left_out() -> None:
    assert not [*competitors(rows_of("a", {"1": [math.nan] * 4}))]
    assert isinstance(next(competitors(rows_of("a", {"1": [1.0] * 4}))), Competitor)
