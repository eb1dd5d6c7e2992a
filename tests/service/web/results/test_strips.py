"""Strips of runs: dots by the run's time over that of the submission, on a scale that all strips of a page share."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_service.web.results.strips import WIDTH, Run, duration, reach_of, strip_of


def runs(seconds: Sequence[float | None], dropped: Sequence[int] = ()) -> list[Run]:
    return [Run(each, at in dropped, f"trial {at}", "") for at, each in enumerate(seconds)]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (7.16, "7.16 s"), (7.16449, "7.164 s"), (99.994, "99.99 s"), (99.999, "100 s"), (100, "1.667 min"),
        (1709.46, "28.49 min"), (5999.9, "100 min"), (6000, "1.667 h"), (16632, "4.62 h"), (3.6e7, "10,000 h"),
    ],
)  # fmt: skip
def test_a_time_has_four_digits_in_the_unit_that_suits_it(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_dots_are_placed_by_their_share_of_the_submissions_time() -> None:
    submission = runs([96, 100, 104], dropped=[0, 2])
    reach = reach_of([(100, submission)])
    strip = strip_of(100, submission, reach)
    assert reach == 0.05
    assert strip is not None
    assert strip.counted == (WIDTH / 2,)
    assert [x - WIDTH / 2 for x in strip.dropped] == pytest.approx([-54.4, 54.4])
    assert (strip.below, strip.above, strip.has_middle) == (0, 0, True)


def test_one_run_far_away_does_not_squeeze_the_others() -> None:
    near, far = runs([98, 99, 100, 101, 102] * 4), runs([100, 100, 900])
    reach = reach_of([(100, near), (100, far)])
    strip = strip_of(100, far, reach)
    assert reach == 0.05
    assert strip is not None
    assert (len(strip.counted), strip.above) == (2, 1)


def test_without_a_time_the_median_run_is_in_the_middle() -> None:
    strip = strip_of(None, runs([90, 100, 130, None]), 0.5)
    assert strip is not None
    assert not strip.has_middle
    assert strip.counted[1] == WIDTH / 2
    assert len(strip.counted) == 3


def test_there_is_no_strip_without_times() -> None:
    assert strip_of(None, runs([None, None]), 0.05) is None
    assert strip_of(None, [], 0.05) is None
    assert reach_of([]) == 0.05


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=60))
def test_every_run_is_a_dot_inside_the_strip_or_beyond_an_end(seconds: list[float]) -> None:
    submission, time = runs(seconds), mean(seconds)
    strip = strip_of(time, submission, reach_of([(time, submission)]))
    assert strip is not None
    assert len(strip.counted) + strip.below + strip.above == len(seconds)
    assert all(0 <= x <= WIDTH for x in strip.counted)
    assert strip.dots.count("M") == len(strip.counted)
