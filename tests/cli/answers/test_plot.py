"""Scaling drawn in characters: points where they belong, within the width, with ASCII where nothing else is there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_cli.answers.plot import HIGH, MOST_WIDE, plot

HALVING = [(2**exponent, 2048.0 / 2**exponent) for exponent in range(8)]
POINTS = st.lists(
    st.tuples(st.integers(0, 2**40), st.none() | st.floats(0, 1e12)), unique_by=lambda point: point[0], max_size=20
).map(sorted)


def test_halving_steps_lie_on_the_line_of_perfect_scaling() -> None:
    title, *rows, _, labels, marks = plot(HALVING, "steps to 0.05", 80, "utf-8")
    assert title == "steps to 0.05"
    places = [(match.start(), at) for at, row in enumerate(rows) for match in re.finditer("●", row)]
    assert len(places) == len(HALVING)
    assert places == sorted(places)
    assert rows[0].startswith(" 2,048│●")
    assert re.findall(r"\S+", labels) == ["1", "2", "4", "8", "16", "32", "64", "128"]
    assert marks.strip() == "● fewest, · perfect scaling"


def test_batch_sizes_that_never_reach_the_target_are_marked_at_the_top() -> None:
    lines = plot([*HALVING, (256, None)], "", 80, "utf-8")
    assert lines[1].endswith("△")
    assert lines[-1].endswith("△ never reached")


def test_a_terminal_without_unicode_gets_ascii() -> None:
    assert all(line.isascii() for line in plot([*HALVING, (256, None)], "", 80, "ascii"))
    assert all(line.isascii() for line in plot(HALVING, "", 80, None))


@pytest.mark.parametrize("points", [[], [(8, None)], [(8, 0.0)], [(0, 8.0)]])
def test_without_a_point_there_is_nothing_to_plot(points: list[tuple[int, float | None]]) -> None:
    (line,) = plot(points, "", 80, "utf-8")
    assert line == "no batch size reached the target: there is nothing to plot"


@given(POINTS, st.integers(20, 300))
def test_any_points_fit(points: list[tuple[int, float | None]], width: int) -> None:
    lines = plot(points, "", width, "utf-8")
    assert len(lines) in (1, HIGH + 4)
    assert max(map(len, lines)) <= max(min(width, MOST_WIDE), 60) + 20
