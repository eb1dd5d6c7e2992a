"""The specification of a figure: its caption, its size, its numbers."""

from __future__ import annotations

import math

import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

from losslake.figures import axes
from losslake.figures.axes import log_limits, log_ticks
from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.figure import figure, to_json
from losslake.figures.panel import Panel, caption, wrap
from losslake.figures.theme import CAPTION
from tests.losslake.figures.drawing import series, sizes_of_type, svg_of, texts

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
URL = f"/v1/figures/scaling.svg?workload={WORKLOAD}&metric=val/classification_error&target=0.05"
ONE = series("sgd", batch_size=[1, 1024], steps=[1000, 0.1 + 0.2], previous_step=[990, None])


def test_caption_states_release_and_query() -> None:
    drawn = texts(svg_of(figure([scaling_chart([ONE], Panel())], caption=caption(["Points: results."], 7, URL))))
    whole = "".join(drawn)
    assert "Points: results." in whole
    assert "release 7" in whole
    assert URL in whole


def test_font_size_is_at_least_9_px() -> None:
    chart = scaling_chart([ONE, series("adam", batch_size=[1], steps=[9], previous_step=[1])], Panel(title="A title"))
    assert min(sizes_of_type(svg_of(figure([chart], caption=["Words."])))) >= 9


def test_panels_form_a_grid_with_separate_series() -> None:
    charts = [scaling_chart([series(label, batch_size=[1], steps=[9], previous_step=[1])], Panel()) for label in "abc"]
    drawn = figure(charts, columns=2, caption=["Words."])
    assert drawn["columns"] == 2
    assert {"a", "b", "c"} <= set(texts(svg_of(drawn)))


def test_specification_holds_the_exact_numbers() -> None:
    assert b"0.30000000000000004" in to_json(figure([scaling_chart([ONE], Panel())]))


def test_nonfinite_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        to_json({"values": [{"y": float("nan")}]})


def test_renderer_fetches_nothing() -> None:
    elsewhere = b'{"data": {"url": "http://127.0.0.1:9/data.json"}, "mark": "point"}'
    with pytest.raises(ValueError, match="not allowed"):
        vl_convert.vegalite_to_svg(elsewhere.decode(), allowed_base_urls=[])


@given(st.lists(st.text(max_size=80), max_size=4), st.integers(50, 900))
def test_wrapping_loses_only_spaces(sentences: list[str], width: int) -> None:
    lines = wrap(sentences, width)
    assert "".join("".join(lines).split()) == "".join("".join(sentences).split())


def test_wrapped_lines_fit_in_the_widest_usual_font() -> None:
    """Letters of a URL are 0.56 of the size of the font wide in DejaVu Sans."""
    assert max(map(len, wrap(caption([], 1, URL), 384))) * 0.56 * CAPTION <= 384


@given(st.lists(st.floats(min_value=1e-6, max_value=1e12), min_size=1, max_size=5), st.sampled_from([2, 10]))
def test_logarithmic_axes_contain_the_data_with_ticks_that_do_not_touch(values: list[float], base: int) -> None:
    low, high = log_limits(values, base)
    assert low <= min(values) <= max(values) <= high
    ticks = log_ticks((low, high), base, 320, is_x=True)
    assert 1 <= len(ticks) <= 20
    places = [320 * math.log(tick / low) / math.log(high / low) for tick in ticks]
    wide = [5.6 * len(f"{tick:,.12g}") for tick in ticks]
    assert all(b - a >= (v + w) / 2 for a, b, v, w in zip(places, places[1:], wide, wide[1:], strict=False))


def test_the_longest_labels_leave_room_for_the_title_of_their_axis() -> None:
    """Digits are 0.56 of the size of the font wide, commas half as wide; a tick is 5 px long, 2 px from its label."""
    longest = max((f"{tick:,.12g}" for tick in log_ticks((1e-4, 9.9e4), 10, 3000, is_x=False)), key=len)
    assert longest == "0.0001"
    assert 11 * 0.56 * len(longest) + 5 + 2 < axes._Y_EXTENT


def test_ticks_are_powers_of_2_or_1_2_and_5_times_powers_of_10() -> None:
    assert log_ticks((0.7, 1400), 2, 700, is_x=True) == [2.0**power for power in range(11)]
    assert log_ticks((0.7, 70000), 2, 300, is_x=True) == [1, 8, 64, 512, 4096, 32768]
    assert log_ticks((18, 600), 10, 200, is_x=False) == [20, 50, 100, 200, 500]
    assert log_ticks((0.0002, 3), 10, 120, is_x=False) == [0.001, 0.01, 0.1, 1]
