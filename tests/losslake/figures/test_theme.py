"""Colours distinct for the colour-blind, and shapes as a second cue."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest

from losslake.figures import theme

Floats = npt.NDArray[np.float64]

# Machado, Oliveira, Fernandes 2009, model of color vision deficiency, severity 1.
MACHADO = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
LEAST_DIFFERENCE = 10.0
"""In CIE76; a difference of 2.3 is just noticed when two colours touch."""


def linear(colour: str) -> Floats:
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: Floats) -> Floats:
    """Return CIE L*a*b* (white D65) of linear sRGB."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: str, other: str, sight: str) -> float:
    seen = np.array(MACHADO[sight])
    return float(np.linalg.norm(lab(seen @ linear(one)) - lab(seen @ linear(other))))


def contrast(one: str, other: str = "#ffffff") -> float:
    """Return the contrast ratio of two colours after WCAG 2."""
    lighter, darker = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ linear(each)) for each in (one, other))[::-1]
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("sight", ["normal", "protanopia", "deuteranopia"])
def test_series_colours_differ_for_every_colour_vision(sight: str) -> None:
    nearest = min((difference(*pair, sight), pair) for pair in combinations((*theme.COLOURS, "#ffffff"), 2))
    assert nearest[0] >= LEAST_DIFFERENCE, nearest


def test_first_three_colours_differ_for_tritanopia() -> None:
    assert min(difference(*pair, "tritanopia") for pair in combinations(theme.COLOURS[:3], 2)) >= LEAST_DIFFERENCE


def test_lines_and_text_have_contrast_on_white() -> None:
    assert all(contrast(colour) >= 4.5 for colour in (theme.INK, theme.FAINT))
    assert all(contrast(colour) >= 2 for colour in theme.COLOURS)


def test_colour_and_shape_combine_to_more_series() -> None:
    n = len(theme.COLOURS) * len(theme.SHAPES)
    looks = {(theme.COLOURS[i % len(theme.COLOURS)], theme.SHAPES[i % len(theme.SHAPES)]) for i in range(n)}
    assert looks == set(product(theme.COLOURS, theme.SHAPES))
