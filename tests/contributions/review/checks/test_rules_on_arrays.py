"""The vectorized parts of rules, each compared with a slow and obvious version."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.review.checks.amounts import examples_per_step
from losslake_contributions.review.checks.claims import first_step, parse_claim
from losslake_contributions.review.checks.curves import is_constant, starts_perfect
from losslake_contributions.review.checks.evidence import Claim, Curve
from losslake_contributions.review.checks.plausible import is_far_better, least_examples, least_steps
from losslake_contributions.review.checks.timing import first_step_back
from losslake_schema.errors import LossLakeError
from losslake_schema.reached import Comparator

RUN = "0190a000-0000-7000-8000-000000000001"
TIME = st.sampled_from([0.0, 1.0, 2.0, 2.0, 5.0, -1.0, math.nan, math.inf, -math.inf])
VALUE = st.sampled_from([0.1, 0.2, 0.30000000000000004, 0.3, 0.9, math.nan, math.inf, -math.inf])


@given(st.lists(TIME, max_size=12))
def test_first_time_that_goes_back(times: list[float]) -> None:
    expected, highest = None, 0.0
    for row, time in enumerate(times):
        if math.isinf(time) or time < highest:
            expected = row
            break
        highest = max(highest, time) if not math.isnan(time) else highest
    assert first_step_back(np.array(times, np.float64)) == expected


@given(
    st.lists(VALUE, max_size=10), st.sampled_from([0.2, 0.3]), st.sampled_from(["minimize", "maximize"]),
    st.sampled_from(["strict", "inclusive"]),
)  # fmt: skip
def test_first_step_of_a_claim(values: list[float], target: float, direction: str, comparator: Comparator) -> None:
    steps = [7 * row for row in range(len(values))]
    curve = Curve(np.array(steps, np.int64), np.array(values, np.float64))

    def reaches(value: float) -> bool:
        is_better = value < target if direction == "minimize" else value > target
        return math.isfinite(value) and (is_better or (comparator == "inclusive" and value == target))

    expected = next((step for step, value in zip(steps, values, strict=True) if reaches(value)), None)
    assert first_step(curve, target, direction, comparator) == expected


@given(st.lists(VALUE, max_size=10))
def test_constant_curves(values: list[float]) -> None:
    finite = [value for value in values if math.isfinite(value)]
    assert is_constant(np.array(values, np.float64)) == (len(finite) >= 5 and len(set(finite)) == 1)


@pytest.mark.parametrize(
    ("metric", "values", "is_perfect"),
    [
        ("val/classification_error", [0.0, 0.0], True),
        ("val/classification_error", [0.5, 0.0], False),
        ("val/accuracy", [1.0, 0.9], True),
        ("val/loss", [0.0, 1.0], False),
        ("val/accuracy", [1.0], False),
    ],
)
def test_curves_that_are_perfect_at_the_start(metric: str, values: list[float], is_perfect: bool) -> None:
    assert starts_perfect(metric, np.array(values)) == is_perfect


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 10**6)), unique_by=lambda p: p[0]))
def test_least_steps_by_neighbours(batch_size: int, known: list[tuple[int, int]]) -> None:
    above = sorted(pair for pair in known if pair[0] >= batch_size)[:3]
    below = sorted((pair for pair in known if pair[0] <= batch_size), reverse=True)[:3]
    bounds = [float(steps) for _, steps in above] + [steps * size / batch_size for size, steps in below]
    expected = statistics.median(bounds) if bounds else None
    least = least_steps(batch_size, known)
    assert least == pytest.approx(expected) if expected is not None else least is None


def test_references_are_interpolated_and_end_at_the_largest_batch_size() -> None:
    points = [(200, 2000.0, 20.0), (100, 1000.0, 10.0)]
    assert [least_examples(size, points) for size in (50, 100, 150, 200, 201)] == [970, 970, 1455, 1940, None]
    assert least_examples(100, []) is None


@given(st.floats(-10, 10), st.lists(st.floats(-10, 10), max_size=9))
def test_values_far_better_than_all_stored_ones(loss: float, stored: list[float]) -> None:
    expected = len(stored) >= 5 and loss < min(stored) - 0.5 * (statistics.median(stored) - min(stored))
    assert is_far_better(loss, np.array(stored, np.float64)) == expected


def test_five_stored_values_are_enough_to_say_what_is_far_better() -> None:
    stored = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert [is_far_better(loss, stored) for loss in (-0.5, 0.0, 0.5)] == [True, False, False]
    assert not is_far_better(-0.5, stored[:4])


def test_examples_per_step_are_found_where_they_grow_evenly() -> None:
    steps = np.array([0, 10, 20, 30])
    assert examples_per_step(steps, 64.0 * steps) == 64
    assert examples_per_step(steps, np.floor(steps / 7.0)) == pytest.approx(4 / 30)
    assert examples_per_step(steps, steps**2.0) is None
    assert examples_per_step(steps, np.array([np.nan, np.nan, np.nan, 960.0])) == 32


@given(st.integers(1, 4096), st.lists(st.integers(1, 10**6), min_size=3, max_size=20, unique=True))
def test_exact_amounts_are_always_even(batch_size: int, steps: list[int]) -> None:
    at = np.array(sorted(steps), np.int64)
    assert examples_per_step(at, batch_size * at.astype(np.float64)) == pytest.approx(batch_size)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("val/loss=0.05@1200", Claim("", "val/loss", 0.05, 1200)),
        (f"{RUN}:val/loss=-1e-3@0", Claim(RUN, "val/loss", -1e-3, 0)),
    ],
)
def test_claims_are_parsed(text: str, claim: Claim) -> None:
    assert parse_claim(text) == claim


@pytest.mark.parametrize(
    "text", ["", "val/loss", "val/loss=0.05", "=0.05@3", "val/loss=x@3", "val/loss=nan@3", "a=1@-2"]
)
def test_other_texts_are_no_claims(text: str) -> None:
    with pytest.raises(LossLakeError, match="METRIC=TARGET@STEPS"):
        parse_claim(text)
