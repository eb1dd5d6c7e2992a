from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake_contributions.review.checks.copies import is_copy
from losslake_contributions.review.checks.curve_index import BITS, MOST_SHARED, TOLERANCE, WINDOW, CurveIndex, rounded

VALUE = st.sampled_from([0.1, 0.10001, 0.2, 0.25, 0.3, 0.9, 1.5, 2.0, -1.0, math.nan, math.inf])
CURVE = st.lists(VALUE, max_size=14)


def plain_code(value: float) -> tuple[int, int] | None:
    """The exponent and the rounded significand of a value, in plain Python."""
    if not math.isfinite(value):
        return None
    significand, exponent = math.frexp(value)
    kept = round(significand * 2**BITS)
    return (exponent + 1, kept // 2) if abs(kept) == 2**BITS else (exponent, kept)


def is_near(one: float, other: float) -> bool:
    if not (math.isfinite(one) and math.isfinite(other)):
        return False
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other))


def plain_windows(curve: list[float]) -> list[tuple[int, tuple[object, ...]]]:
    codes = [plain_code(value) for value in curve]
    windows = [(start, tuple(codes[start : start + WINDOW])) for start in range(len(codes) - WINDOW + 1)]
    return [(start, window) for start, window in windows if None not in window and len(set(window)) == WINDOW]


def plain_runs(stored: list[list[float]], curve: list[float]) -> set[tuple[int, int, int, int]]:
    """The longest common run with each curve and shift that a window finds: other, start, other's start, length."""
    found = set()
    places = [(other, start, window) for other, each in enumerate(stored) for start, window in plain_windows(each)]
    for start, window in plain_windows(curve):
        alike = [(other, place) for other, place, theirs in places if theirs == window]
        if len(alike) > MOST_SHARED:
            continue
        for other, place in alike:
            shift, best, length = place - start, (0, 0), 0
            for row, value in enumerate([*curve, math.nan]):
                at = row + shift
                if 0 <= at < len(stored[other]) and is_near(value, stored[other][at]):
                    length += 1
                    continue
                if length > best[1]:
                    best = row - length, length
                length = 0
            found.add((other, best[0], best[0] + shift, best[1]))
    return found


def index_of(stored: list[list[float]]) -> CurveIndex:
    values = np.array([value for curve in stored for value in curve], np.float64)
    return CurveIndex(values, np.cumsum([0, *map(len, stored)]).astype(np.int64))


@given(st.lists(CURVE, min_size=1, max_size=5), CURVE)
@settings(deadline=None)
def test_common_runs_are_those_of_a_search_of_everything(stored: list[list[float]], curve: list[float]) -> None:
    runs = index_of(stored).common_runs(np.array(curve, np.float64))
    assert {(run.other, run.start, run.other_start, run.length) for run in runs} == plain_runs(stored, curve)


@given(st.lists(st.floats(), min_size=2, max_size=2))
def test_codes_are_equal_where_rounded_values_are(values: list[float]) -> None:
    one, other = rounded(np.array(values)).tolist()
    assert (one == other) == (plain_code(values[0]) == plain_code(values[1]))


def descent(seed: int, noise: float = 0.01, length: int = 60) -> list[float]:
    rng = random.Random(seed)
    return [2.0 * (row + 1) ** -0.4 * math.exp(rng.gauss(0, noise)) for row in range(length)]


ALTERED: dict[str, Callable[[list[float]], list[float]]] = {
    "the same": lambda values: values,
    "four digits": lambda values: [float(f"{value:.4g}") for value in values],
    "a little noise": lambda values: [value * (1 + 1e-4 * math.sin(13 * row)) for row, value in enumerate(values)],
    "the second half": lambda values: values[30:],
    "with a beginning of its own": lambda values: [9.0, 8.0, 7.0, *values],
}


@pytest.mark.parametrize("how", ALTERED)
def test_altered_copies_are_found(how: str) -> None:
    stored = [descent(seed) for seed in range(50)]
    copy = ALTERED[how](stored[17])
    found = {
        run.other for run in index_of(stored).common_runs(np.array(copy)) if is_copy(run, len(copy), len(stored[17]))
    }
    assert found == {17}


@pytest.mark.parametrize("noise", [0.05, 0.01, 0.002, 0.0005])
def test_runs_with_other_seeds_are_no_copies_however_small_their_noise(noise: float) -> None:
    stored = [descent(seed, noise) for seed in range(60)]
    index = index_of(stored[1:])
    assert not [run for run in index.common_runs(np.array(stored[0])) if is_copy(run, 60, 60)]
