"""The forest plot of critical batch sizes has a line for each workload below its data set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from losslake.figures.charts.atlas import atlas_chart, draw
from losslake.figures.drawing import ChartRequest
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from tests.losslake.figures.drawing import marks, svg_of, texts


def row(workload: str, value: float | None, lower: float | None, upper: float | None) -> dict[str, Any]:
    numbers = {"critical_batch_size": value, "lower": lower, "upper": upper}
    return {"workload": workload, "metric": "val/error", "target": 0.1, "n_batch_sizes": 9, **numbers}


ROWS = [
    row("tests/digits/mlp_64/sgd", 100.0, 50.0, 200.0),
    row("tests/digits/mlp_64/adam", 9.5, None, None),
    row("tests/mnist/cnn/sgd", None, 5000.0, None),
]


def test_each_workload_has_a_line_below_its_data_set_and_its_number_beside_it() -> None:
    said = texts(svg_of(figure([atlas_chart(ROWS, Panel(width=700))])))
    for text in ("Digits", "MNIST", "100 (50 to 200)", "9.5", "over 5,000"):
        assert text in said, text
    names = [text for text in said if text.startswith(("mlp_64, ", "cnn, "))]
    assert names == ["mlp_64, SGD \u00b7 tests", "mlp_64, Adam \u00b7 tests", "cnn, SGD \u00b7 tests"]


def test_a_number_is_a_point_with_its_interval_and_a_bound_a_triangle() -> None:
    drawn = figure([atlas_chart(ROWS, Panel(width=700))])
    assert [mark["workload"].rpartition("/")[2] for mark in marks(drawn, "point")] == ["sgd", "adam", "sgd"]
    assert [(mark["lower"], mark["upper"]) for mark in marks(drawn, "rule")] == [(50.0, 200.0)]


@pytest.mark.parametrize("n_unknown", [0, 2])
def test_workloads_with_neither_number_nor_bound_are_counted(n_unknown: int) -> None:
    rows = [*ROWS, *[row("tests/mnist/mlp/sgd", None, None, None)] * n_unknown]
    view = SimpleNamespace(number=1)
    notes = draw(ChartRequest(pa.Table.from_pylist(rows), {}, view, None, "/v1/analysis/atlas", 700, 360)).notes  # type: ignore[arg-type]
    assert [note for note in notes if note.startswith("Not drawn")] == (
        ["Not drawn: 2 workloads with neither."] if n_unknown else []
    )


def test_a_narrow_plot_leaves_out_numbers_and_cuts_long_names() -> None:
    long = [row("tests/digits/a_model_with_a_name_that_is_very_long/sgd", 100.0, None, None)]
    said = texts(svg_of(figure([atlas_chart(long, Panel(width=220))])))
    assert any(text.endswith("\u2026") and len(text) < 30 for text in said)
    assert "100" not in said or said.count("100") == 1  # only a tick


def test_without_rows_it_says_so() -> None:
    assert "None is known." in texts(svg_of(figure([atlas_chart([], Panel(width=400))])))
