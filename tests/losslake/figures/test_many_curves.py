"""Many curves are drawn as outlines within an eighth of a px and coloured by outcome of the trial."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest
from fastapi.testclient import TestClient

from losslake.figures.axes import Scale
from losslake.figures.charts.curves import curves_chart
from losslake.figures.figure import figure
from losslake.figures.lines import MOST_AS_DATA, PER_PX, Lines, lines_of, outlines
from losslake.figures.links import HREF, Links
from losslake.figures.panel import Panel, Series
from losslake.figures.theme import COLOURS
from losslake.lake.lake import Lake
from losslake_schema.reached import Floats
from tests.applications import without_sql
from tests.losslake.figures.drawing import marks, series, svg_of, texts
from tests.made_up_lake import ERROR

PANEL = Panel(width=300, height=200)
STUDY = "shelf/mnist/cnn/sgd/8"
OF_STUDY = {"study": STUDY, "metric": ERROR}


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(lake), raise_server_exceptions=False) as client:
        yield client


def noisy(n_lines: int, n_points: int) -> Series:
    random = np.random.default_rng(7)
    steps = np.tile(np.arange(n_points) * 10, n_lines)
    noise = random.choice([0.0, 0.002, 0.3], n_lines).repeat(n_points) * random.random(len(steps))
    values = np.exp(-steps / random.integers(50, 900, n_lines).repeat(n_points)) + noise
    lines = np.arange(n_lines).repeat(n_points)
    return series("", step=steps.tolist(), value=values.tolist(), line=lines.tolist(), trial_id=lines.tolist())


def linear(low: float, high: float) -> Scale:
    return Scale("value", (low, high), "", base=None)


def points_of(outline: str) -> Floats:
    """Return the corners of an outline in px."""
    numbers = np.array(re.findall(r"-?\d+", outline), np.float64).reshape(-1, 2)
    return np.cumsum(numbers, axis=0) / PER_PX


def farthest(points: Floats, corners: Floats) -> float:
    """Return the largest distance of the points from the line along the corners."""
    starts, runs = corners[:-1], np.diff(corners, axis=0)
    offsets = points[:, None] - starts
    along = np.clip((offsets * runs).sum(2) / np.maximum((runs**2).sum(1), 1e-12), 0, 1)
    return float(np.linalg.norm(offsets - along[..., None] * runs, axis=2).min(1).max())


def test_outline_is_within_an_eighth_of_a_px() -> None:
    lines = lines_of([noisy(12, 300)], is_log=False)
    x, y = linear(0, 3000).to_px(300), linear(0, 1.5).to_px(200, is_up=True)
    drawn = outlines(lines, PANEL, x, y)
    for place, row in enumerate(drawn):
        part = slice(300 * place, 300 * (place + 1))
        corners = points_of(row["outline"]) + np.array([row["across"], row["down"]])
        across, down = x(lines.step[part].astype(float)), y(lines.value[part])
        assert farthest(np.column_stack([across, down]), corners) <= 1 / PER_PX
        assert np.abs(corners[[0, -1]] - np.column_stack([across, down])[[0, -1]]).max() <= 0.5 / PER_PX
    assert sum(len(points_of(row["outline"])) for row in drawn) < len(lines.step)


def test_single_point_has_an_outline() -> None:
    one = Lines(np.array([5]), np.array([0.5]), np.array([1]), [{}])
    marks = outlines(one, PANEL, linear(0, 10).to_px(100), linear(0, 1).to_px(100))
    assert marks == [{"across": 50, "down": 50, "outline": "M0 0l0 0"}]


def test_curve_ending_outside_is_marked_at_the_edge() -> None:
    one = Lines(np.array([0, 10]), np.array([0.5, 1e30]), np.array([2]), [{}])
    (row,) = outlines(one, PANEL, linear(0, 10).to_px(300), linear(0, 1).to_px(200, is_up=True))
    assert (row["across"], row["down"]) == (300, 0)
    assert points_of(row["outline"])[0].tolist() == [-300, 100]


def test_each_outline_links_to_its_trial() -> None:
    many = noisy(30, MOST_AS_DATA // 30 + 1)
    drawn = figure([curves_chart([many], replace(PANEL, links=Links()))])
    (rows,) = (rows for rows in drawn["datasets"].values() if "outline" in rows[0])
    assert [row["trial_id"] for row in rows] == list(range(30))
    layers = [layer for layer in drawn["concat"][0]["layer"] if HREF in layer["encoding"]]
    assert len(layers) == 1
    few = figure([curves_chart([noisy(30, 10)], PANEL)])
    assert len(marks(few, "line")) == 30


def test_axis_of_outlines_shows_steps() -> None:
    drawn = texts(svg_of(figure([curves_chart([noisy(30, 100)], PANEL)])))
    assert {"Steps", "Value", "400"} <= set(drawn)


def legend_of(client: TestClient, **more: object) -> list[str]:
    drawn = client.get(f"/v1/figures/curves.vl.json?{urlencode(OF_STUDY | more)}").json()
    lines = drawn["concat"][0]["layer"][0]["encoding"]
    assert ("strokeDash" in lines) == ("colour_by" in more)
    labels: list[str] = lines["color"]["scale"]["domain"]
    return labels


def test_legend_counts_statuses_and_shows_dashes(client: TestClient) -> None:
    trials = client.get(f"/v1/trials?study={STUDY}").json()["rows"]
    statuses = [row["status"].capitalize() for row in trials]
    legend = legend_of(client, colour_by="status")
    assert sorted(legend) == sorted(f"{status} ({statuses.count(status)})" for status in set(statuses))


def test_outcomes_match_the_metaparameter_map(client: TestClient) -> None:
    parameters = {"workload": STUDY.removesuffix("/8"), "metric": ERROR, "target": 0.25}
    rows = client.get(f"/v1/analysis/metaparameter-map?{urlencode(parameters)}").json()["rows"]
    outcomes = [row["outcome"] for row in rows if row["batch_size"] == 8]
    words = {"reached": "Goal achieved", "not reached": "Goal not achieved", "infeasible": "Infeasible"}
    expected = {f"{words[value]} ({outcomes.count(value)})" for value in set(outcomes) - {"incomplete"}}
    assert expected <= set(legend_of(client, colour_by="outcome", target=0.25))


def test_highlighted_trials_are_drawn_over_the_others(client: TestClient) -> None:
    trials = [f"{STUDY}/{row['trial_id']}" for row in client.get(f"/v1/trials?study={STUDY}").json()["rows"]]
    query = urlencode([*OF_STUDY.items(), *(("highlight", trial) for trial in trials[:2])])
    drawn = client.get(f"/v1/figures/curves.vl.json?{query}").json()
    colours = drawn["concat"][0]["layer"][0]["encoding"]["color"]["scale"]
    assert colours["domain"] == [f"others ({len(trials) - 2})", "highlighted (2)"]
    assert colours["range"][1] == COLOURS[0]


@pytest.mark.parametrize(
    ("more", "parameter"),
    [
        ({"highlight": f"{STUDY}/999"}, "highlight"),
        ({"highlight": f"{STUDY}/1", "colour_by": "trial"}, "highlight"),
        ({"colour_by": "outcome"}, "target"),
        ({"colour_by": "colour"}, "colour_by"),
        ({"target": "0.1", "metric": ""}, "metric"),
        ({"target": "nan"}, "target"),
        ({"target": "25"}, "target"),
    ],
)
def test_invalid_colour_is_named(client: TestClient, more: dict[str, str], parameter: str) -> None:
    query = {name: value for name, value in (OF_STUDY | more).items() if value}
    response = client.get(f"/v1/figures/curves.vl.json?{urlencode(query)}")
    assert response.status_code == 422
    assert response.json()["parameter"] == parameter


def test_caption_query_returns_the_rows(client: TestClient) -> None:
    drawn = client.get(f"/v1/figures/curves.vl.json?{urlencode(OF_STUDY | {'colour_by': 'status'})}").json()
    assert "colour_by" not in "".join(drawn["title"]["text"])


def test_curves_are_drawn_over_what_is_counted(client: TestClient) -> None:
    def drawn(**more: str) -> tuple[list[list[float]], str]:
        text = client.get(f"/v1/figures/curves.vl.json?{urlencode(OF_STUDY | {'points': '4'} | more)}").text
        return [row["step"] for row in marks(json.loads(text), "line")], text

    (steps, _), (examples, text) = drawn(), drawn(measure="examples")
    assert steps
    assert examples == [[step * 8 for step in line] for line in steps]
    assert '"title":"Examples"' in text
