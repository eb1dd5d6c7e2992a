"""A series that grows is that of all values, and has what a picture and a mean need."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.dashboard.series import MOST_BUCKETS, Series, bucket_width

VALUE = st.one_of(st.floats(-10, 10), st.sampled_from([math.nan, math.inf, -math.inf, 0.0]))
POINTS = st.dictionaries(st.integers(0, 20_000), VALUE, min_size=1, max_size=300)


def series_of(points: dict[int, float]) -> Series:
    steps = sorted(points)
    return Series.of(np.array(steps), np.array([points[step] for step in steps]), np.array(steps) / 10)


@given(POINTS, st.lists(st.integers(0, 20_000), max_size=4))
def test_series_that_grew_is_that_of_all_values(points: dict[int, float], cuts: list[int]) -> None:
    whole, grown = series_of(points), None
    for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), 30_000], strict=True):
        part = {step: value for step, value in points.items() if low <= step < high}
        if part:
            steps = np.array(sorted(part))
            columns = steps, np.array([part[step] for step in sorted(part)]), steps / 10
            grown = Series.of(*columns) if grown is None else grown.grown(*columns)
    assert grown is not None
    for name in ("step", "value", "elapsed", "bucket", "n"):
        assert np.array_equal(getattr(grown, name), getattr(whole, name), equal_nan=name in ("value", "elapsed"))
    assert np.allclose(grown.total, whole.total)
    assert (grown.width, grown.count) == (whole.width, len(points))


@given(POINTS)
def test_kept_values_are_the_ends_and_the_extremes_of_each_bucket(points: dict[int, float]) -> None:
    series, width = series_of(points), bucket_width(min(points), max(points))
    kept = set(series.step.tolist())
    buckets: dict[int, dict[int, float]] = {}
    for step in sorted(points):
        buckets.setdefault(step // width, {})[step] = points[step]
    expected = {min(points), max(points)}
    for bucket in buckets.values():
        finite = {step: value for step, value in bucket.items() if math.isfinite(value)}
        if finite:
            expected |= {min(finite, key=finite.__getitem__), max(finite, key=finite.__getitem__)}
        expected |= set([step for step in bucket if step not in finite][:1])
    assert kept == expected
    finite = {step: value for step, value in points.items() if math.isfinite(value)}
    best = series.best(is_higher_better=False)
    assert (best is None) == (not finite)
    if best is not None:
        assert series.value[best] == min(finite.values())
        assert series.step[best] == min(step for step in finite if finite[step] == min(finite.values()))


@given(POINTS, st.sampled_from([1, 2, 8]))
def test_means_of_buckets_are_those_of_all_finite_values(points: dict[int, float], factor: int) -> None:
    series = series_of(points)
    width = series.width * factor
    expected: dict[int, list[float]] = {}
    for step, value in sorted(points.items()):
        if math.isfinite(value):
            expected.setdefault(step // width, []).append(value)
    bucket, mean = series.means(width)
    assert bucket.tolist() == sorted(expected)
    assert np.allclose(mean, [sum(expected[each]) / len(expected[each]) for each in sorted(expected)])


def test_series_of_many_steps_keeps_a_bounded_number_of_values() -> None:
    steps = np.arange(300_000)
    assert len(Series.of(steps, np.sin(steps)).step) <= 2 * MOST_BUCKETS + 2
