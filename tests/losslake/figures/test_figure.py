"""The specification of a figure: its caption, its size, its numbers."""

from __future__ import annotations

import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.figures.axes import log_limits, powers
from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.figure import encoded, figure
from losslake.figures.panel import Panel, caption, wrapped
from tests.losslake.figures.drawing import series, sizes_of_type, svg_of, texts

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
URL = f"/v1/figures/scaling.svg?workload={WORKLOAD}&metric=val/classification_error&target=0.05"
ONE = series("sgd", batch_size=[1, 1024], steps=[1000, 0.1 + 0.2], previous_step=[990, None])


def test_the_caption_states_release_and_query() -> None:
    drawn = texts(svg_of(figure([scaling_chart([ONE], Panel())], caption=caption(["Points: results."], 7, URL))))
    whole = "".join(drawn)
    assert "Points: results." in whole
    assert "release 7" in whole
    assert URL in whole


def test_type_is_at_least_9_px() -> None:
    chart = scaling_chart([ONE, series("adam", batch_size=[1], steps=[9], previous_step=[1])], Panel(title="A title"))
    assert min(sizes_of_type(svg_of(figure([chart], caption=["Words."])))) >= 9


def test_panels_stand_in_a_grid_each_with_its_own_series() -> None:
    charts = [scaling_chart([series(label, batch_size=[1], steps=[9], previous_step=[1])], Panel()) for label in "abc"]
    drawn = figure(charts, columns=2, caption=["Words."])
    assert drawn["columns"] == 2
    assert {"a", "b", "c"} <= set(texts(svg_of(drawn)))


def test_numbers_of_the_specification_are_those_of_the_data() -> None:
    assert b"0.30000000000000004" in encoded(figure([scaling_chart([ONE], Panel())]))


def test_numbers_that_json_does_not_know_are_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        encoded({"values": [{"y": float("nan")}]})


def test_the_renderer_fetches_nothing() -> None:
    elsewhere = b'{"data": {"url": "http://127.0.0.1:9/data.json"}, "mark": "point"}'
    with pytest.raises(ValueError, match="not allowed"):
        vl_convert.vegalite_to_svg(elsewhere.decode(), allowed_base_urls=[])


@settings(max_examples=25)
@given(st.lists(st.text(max_size=80), max_size=4), st.integers(50, 900))
def test_wrapping_loses_nothing_but_spaces(sentences: list[str], width: int) -> None:
    lines = wrapped(sentences, width)
    assert "".join("".join(lines).split()) == "".join("".join(sentences).split())


def test_lines_fit() -> None:
    assert max(map(len, wrapped(caption([], 1, URL), 384))) * 4.75 <= 384


@settings(max_examples=50)
@given(st.lists(st.floats(min_value=1e-6, max_value=1e12), min_size=1, max_size=5), st.sampled_from([2, 10]))
def test_logarithmic_axes_hold_the_data_and_have_few_ticks(values: list[float], base: int) -> None:
    low, high = log_limits(values, base)
    assert low <= min(values) <= max(values) <= high
    assert 1 <= len(powers((low, high), base, 320)) <= 10
