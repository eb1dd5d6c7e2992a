"""Figures in dark colours: contrast and distinct colours, as on white."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from losslake.figures import theme
from losslake.figures.charts.curves import curves_chart
from losslake.figures.charts.scaling import Regimes, scaling_chart
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from losslake.figures.theme import DARK, DARK_COLOURS, DARK_ORDERED, in_theme
from tests.losslake.figures.drawing import colours_of, series
from tests.losslake.figures.test_theme import LEAST_DIFFERENCE, contrast, difference

GROUND = DARK[theme.GROUND]
TEXT, MARK = 4.5, 3.0
"""Least contrast by WCAG 2.2, 1.4.3 and 1.4.11."""


def half_over_ground(colour: str) -> str:
    """Return a shade at half opacity over the background."""
    ends = ([int(each[at : at + 2], 16) for at in (1, 3, 5)] for each in (colour, GROUND))
    return "#" + "".join(f"{(one + other) // 2:02x}" for one, other in zip(*ends, strict=True))


GROUNDS = (GROUND, *(half_over_ground(DARK[shade]) for shade in theme.SHADES))


@pytest.mark.parametrize("ground", GROUNDS)
def test_text_and_marks_have_contrast_on_background_and_shades(ground: str) -> None:
    assert min(contrast(colour, ground) for colour in (DARK[theme.INK], DARK[theme.FAINT])) >= TEXT
    marks = (*DARK_COLOURS, *theme.between(DARK_ORDERED), DARK[theme.NEUTRAL], DARK[theme.AXIS])
    assert min(contrast(colour, ground) for colour in marks) >= MARK


@pytest.mark.parametrize("sight", ["normal", "protanopia", "deuteranopia"])
def test_series_colours_differ_for_every_colour_vision(sight: str) -> None:
    nearest = min((difference(*pair, sight), pair) for pair in combinations((*DARK_COLOURS, GROUND), 2))
    assert nearest[0] >= LEAST_DIFFERENCE, nearest


def test_ordered_colours_have_increasing_lightness() -> None:
    contrasts = [contrast(colour, GROUND) for colour in theme.between(DARK_ORDERED)[::8]]
    assert (np.diff(contrasts) > 0).all()
    assert contrasts[-1] > 3 * contrasts[0]


def test_dark_palette_is_one_to_one() -> None:
    assert len({DARK[colour] for colour in theme.COLOURS}) == len(theme.COLOURS)
    assert all(colour in DARK for colour in theme.ordered(40))


def test_dark_theme_replaces_all_colours_but_no_data() -> None:
    named = series("#222222", batch_size=[1, 4], steps=[100, None], previous_step=[90, None])
    sizes = [series(f"B = {n}", step=[1], value=[0.5], line=[n]) for n in range(9)]
    panel = Panel(title="#ffffff", legend="top-right")
    light = figure(
        [scaling_chart([named], panel, regimes=Regimes((0, 4))), curves_chart(sizes, panel, is_ordered=True)],
        caption=["#0072B2"],
    )
    turned = in_theme(light, "dark")
    assert colours_of(turned) == {DARK[colour] for colour in colours_of(light)}
    assert turned["datasets"] is light["datasets"]
    assert turned["concat"][0]["title"]["text"] == ["#ffffff"]
    assert turned["title"]["text"] == ["#0072B2"]
    assert in_theme(light, "light") is light
