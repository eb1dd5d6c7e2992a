"""Bands of neighbours equal a calculation in plain Python, and hold as often as they say for exchangeable points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.analysis.neighbour_bands import LEAST_NEIGHBOURS, Neighbourhood, groups_needed, pooled_quantile

LEVEL = 0.8
OUTCOMES = st.one_of(st.sampled_from([0.0, 1.0, math.inf]), st.floats(-100, 100))


@st.composite
def populations(draw: st.DrawFn) -> tuple[list[tuple[float, float]], tuple[float, float], list[int], list[float]]:
    """Points, a new point, groups from 0 and outcomes, with many ties."""
    n_groups = draw(st.integers(2, 14))
    groups = [*range(n_groups), *draw(st.lists(st.integers(0, n_groups - 1), max_size=10))]
    coordinate = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.25])
    point = st.tuples(coordinate, coordinate)
    points = draw(st.lists(point, min_size=len(groups), max_size=len(groups)))
    return points, draw(point), groups, draw(st.lists(OUTCOMES, min_size=len(groups), max_size=len(groups)))


def plain_band(
    points: list[tuple[float, float]], new: tuple[float, float], groups: list[int], outcomes: list[float], level: float
) -> tuple[float, float] | None:
    """The band by loops over points."""
    n, tail = len(points), (1 - level) / 2
    if len(set(groups)) < groups_needed(level):
        return None
    count = min(max(LEAST_NEIGHBOURS, round(math.sqrt(n))), n - max(groups.count(each) for each in groups))

    def ends(place: tuple[float, float], others: list[int]) -> tuple[float, float]:
        def distance(other: int) -> float:
            return sum(abs(a - b) for a, b in zip(place, points[other], strict=True))

        nearest = sorted(outcomes[other] for other in sorted(others, key=distance)[:count])
        last = len(nearest) - 1
        return nearest[math.floor(last * tail + 1e-9)], nearest[math.ceil(last * (1 - tail) - 1e-9)]

    below, above = [], []
    for each in range(n):
        lower, upper = ends(points[each], [other for other in range(n) if groups[other] != groups[each]])
        outcome = outcomes[each]
        below.append(0.0 if outcome == math.inf else lower - outcome)
        above.append(0.0 if upper == math.inf else outcome - upper)
    lower, upper = ends(new, list(range(n)))
    moved = [plain_quantile(scores, groups, tail) for scores in (below, above)]
    first = -math.inf if moved[0] == math.inf else lower - moved[0]
    return first, max(upper + moved[1], first)


def plain_quantile(scores: list[float], groups: list[int], tail: float) -> float:
    total, needed = 0.0, (1 - tail) * (len(set(groups)) + 1)
    for score, group in sorted(zip(scores, groups, strict=True)):
        total += 1 / groups.count(group)
        if total >= needed - 1e-9:
            return score
    return math.inf


@given(populations())
@settings(max_examples=settings().max_examples * 2)
def test_band_equals_that_of_loops_over_points(
    population: tuple[list[tuple[float, float]], tuple[float, float], list[int], list[float]],
) -> None:
    points, new, groups, outcomes = population
    neighbourhood = Neighbourhood.of(np.array(points), np.array(new), np.array(groups))
    expected = [plain_band(points, new, groups, outcomes, level) for level in (0.5, 0.9, 0.8)]
    assert neighbourhood.bands(np.array(outcomes), [0.5, 0.9, 0.8]) == expected


@pytest.mark.parametrize(("level", "needed"), [(0.5, 3), (0.8, 9), (0.9, 19), (0.95, 39)])
def test_level_needs_as_many_groups_as_one_beyond_each_end(level: float, needed: int) -> None:
    assert groups_needed(level) == needed
    assert (1 - level) / 2 * (needed + 1) == pytest.approx(1)
    points = np.arange(needed, dtype=np.float64)[:, None]
    groups = np.arange(needed)
    assert Neighbourhood.of(points, np.zeros(1), groups).bands(points[:, 0], [level])[0] is not None
    fewer = Neighbourhood.of(points[1:], np.zeros(1), groups[:-1])
    assert fewer.bands(points[1:, 0], [level])[0] is None


def test_groups_count_equally_whatever_their_sizes() -> None:
    # 19 groups of one point, and one of many: it weighs 1 of 21, the new group included.
    groups = np.array([*range(19), *[19] * 50])
    scores = np.array([0.0] * 19 + [1.0] * 50)
    assert pooled_quantile(scores, groups, 0.1) == 0.0
    assert pooled_quantile(scores, groups, 0.05) == 1.0
    assert pooled_quantile(scores, groups, 0.01) == math.inf


def test_what_mostly_never_comes_may_never_come() -> None:
    points, groups = np.arange(20, dtype=np.float64)[:, None], np.arange(20)
    outcomes = np.where(groups % 2 == 0, math.inf, 5.0)
    assert Neighbourhood.of(points, np.array([9.5]), groups).bands(outcomes, [LEVEL])[0] == (5.0, math.inf)


@pytest.mark.parametrize("n_seeds", [1, 3])
def test_exchangeable_points_lie_in_their_bands_as_often_as_stated(n_seeds: int) -> None:
    random = np.random.default_rng(20261128)
    hits, total = 0, 600
    for _ in range(total):
        means = random.normal(size=31)
        points = np.repeat(means, n_seeds) + 0.3 * random.normal(size=31 * n_seeds)
        # The spread depends on the point: bands have to adapt.
        outcomes = np.repeat(means, n_seeds) + random.normal(size=31 * n_seeds) * (0.1 + np.abs(points))
        groups = np.repeat(np.arange(31), n_seeds)
        known = groups != 30
        neighbourhood = Neighbourhood.of(points[known, None], points[-1:], groups[known])
        band = neighbourhood.bands(outcomes[known], [LEVEL])[0]
        assert band is not None
        hits += band[0] <= outcomes[-1] <= band[1]
    error = math.sqrt(LEVEL * (1 - LEVEL) / total)
    assert LEVEL - 3 * error <= hits / total <= 0.92
