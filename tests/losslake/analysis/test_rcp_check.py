"""MLPerf's convergence check of a submission."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.rcp import ReferencePoint, Rules, check, point_at, reference_point

RULES = Rules(5)
POINTS = [
    reference_point(size, mean + np.array([-2.0, -1, -1, 0, 0, 0, 0, 1, 1, 2]), RULES)
    for size, mean in ((64, 40.0), (256, 44.0), (1024, 60.0))
]


def runs(mean: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return mean + np.array([-1.0, 0, 0, 0, 1])


def test_a_slower_submission_passes_with_its_score_as_it_is() -> None:
    verdict = check(POINTS, 64, runs(41), RULES)
    assert (verdict.passes, verdict.ground, verdict.mean, verdict.score_factor) == (True, "found", 41.0, 1.0)


def test_a_faster_one_within_the_greatest_speedup_passes_with_its_score_normalized() -> None:
    verdict = check(POINTS, 64, runs(39.5), RULES)
    assert (verdict.passes, verdict.score_factor) == (True, 40 / 39.5)
    assert "normalized by 1.01266" in verdict.explanation


def test_the_least_acceptable_mean_itself_passes_and_anything_below_fails() -> None:
    least = POINTS[0].least_mean
    assert least is not None
    assert check(POINTS, 64, np.full(5, least), RULES).passes
    verdict = check(POINTS, 64, np.full(5, np.nextafter(least, 0)), RULES)
    assert (verdict.passes, verdict.score_factor) == (False, None)


def test_a_batch_size_between_two_is_compared_with_one_interpolated() -> None:
    verdict = check(POINTS, 160, runs(42), RULES)
    assert verdict.ground == "interpolated"
    assert verdict.point is not None
    assert verdict.point.mean == 42.0


def test_a_batch_size_above_all_fails_for_a_missing_reference() -> None:
    verdict = check(POINTS, 1025, runs(1000), RULES)
    assert (verdict.passes, verdict.ground, verdict.point) == (False, "missing", None)


def test_a_batch_size_below_all_is_compared_with_the_smallest() -> None:
    slower, faster = check(POINTS, 32, runs(41), RULES), check(POINTS, 32, runs(30), RULES)
    assert (slower.passes, slower.ground) == (True, "smallest")
    assert (faster.passes, faster.ground) == (False, "smallest")
    assert "its own batch size has no reference point" in faster.explanation


def test_one_run_that_did_not_converge_is_tolerated_and_two_are_not() -> None:
    assert check(POINTS, 64, np.array([41.0, 41, 41, 41, math.inf]), RULES).mean == 41.0
    verdict = check(POINTS, 64, np.array([41.0, 41, 41, math.inf, math.inf]), RULES)
    assert (verdict.passes, verdict.ground) == (False, "not_converged")
    of_unet = Rules(40, trimmed=4, tolerated_failures=4)
    point = reference_point(2, np.linspace(2000, 3000, 87), of_unet)
    assert check([point], 2, np.r_[np.full(36, 2600.0), np.full(4, math.inf)], of_unet).passes
    assert not check([point], 2, np.r_[np.full(35, 2600.0), np.full(5, math.inf)], of_unet).passes


def test_reference_that_would_refuse_nothing_gives_no_verdict_on_a_faster_submission() -> None:
    stray = [ReferencePoint(64, 40.0, 400.0, 8, None, None)]
    assert check(stray, 64, runs(39), RULES).passes is None
    assert "so nothing is checked" in check(stray, 64, runs(39), RULES).explanation
    assert check(stray, 64, runs(41), RULES).passes


def test_no_reference_gives_no_verdict() -> None:
    verdict = check([], 64, runs(40), RULES)
    assert (verdict.passes, verdict.ground) == (None, "no_reference")


@pytest.mark.parametrize("wrong", [[1.0, math.nan, 2], [0.0, 1, 2], [-1.0, 1, 2], [1.0, 2], []])
def test_bad_runs_are_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match=r"above 0|needs 3 runs"):
        check(POINTS, 64, np.array(wrong, np.float64), RULES)


@given(st.integers(1, 2000), st.lists(st.floats(1, 200) | st.just(math.inf), min_size=3, max_size=8))
def test_a_verdict_is_the_comparison_with_mean_over_greatest_speedup(size: int, given: list[float]) -> None:
    """As the checker has it: mean >= reference mean / max speedup."""
    verdict = check(POINTS, size, np.array(given), RULES)
    if sum(map(math.isinf, given)) > 1:
        assert verdict.ground == "not_converged"
        return
    trimmed = sorted(given)[1:-1]
    mean = sum(trimmed) / len(trimmed)
    found = point_at(POINTS, size, RULES)
    assert (found is None) == (size > 1024)
    if found is None:
        assert verdict.passes is False
        return
    point = found[0]
    assert point.max_speedup is not None
    threshold = point.mean / point.max_speedup
    if mean != pytest.approx(threshold, rel=1e-9):
        assert verdict.passes is (mean >= threshold)
    if verdict.passes:
        assert verdict.score_factor == pytest.approx(max(1.0, point.mean / mean))
