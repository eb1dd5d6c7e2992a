"""Figures of papers over HTTP and on the command line: from a whole archive, from parts, and without one."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from losslake.figures.figure import MEDIA_TYPES
from losslake.figures.papers.drawn import drawn_figure, figure_bytes
from losslake.figures.papers.paper import paper
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_cli.main import app
from losslake_schema.errors import LossLakeError
from tests.applications import without_sql
from tests.losslake.figures.papers.conftest import create_lake

pytestmark = pytest.mark.slow

PAPER = paper("shallue2018")
NUMBERS = [figure.number for figure in PAPER.figures]
FIGURES = "/v1/papers/shallue2018/figures"
PART = frozenset({"mnist/simple_cnn_base/sgd", "lm1b/transformer_base/nesterov_momentum"})
STARTS = {"svg": b"<svg", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "vl.json": b"{", "csv": b"figure,"}


@pytest.fixture(scope="module")
def paper_client(paper_lake: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(paper_lake), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return create_lake(tmp_path_factory.mktemp("part"), PART)


def texts(specification: object) -> list[str]:
    """Yield every text in a specification."""
    if isinstance(specification, dict):
        return [text for value in specification.values() for text in texts(value)]
    if isinstance(specification, list):
        return [text for value in specification for text in texts(value)]
    return [specification] if isinstance(specification, str) else []


def caption(specification: dict[str, Any]) -> str:
    return " ".join(specification["title"]["text"])


@pytest.mark.parametrize("number", NUMBERS)
def test_csv_of_every_figure_has_its_rows(paper_client: TestClient, paper_view: ReleaseView, number: str) -> None:
    response = paper_client.get(f"{FIGURES}/{number}.csv")
    assert response.content == figure_bytes(drawn_figure(paper_view, PAPER, number), "csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert {int(row["panel"]) for row in rows} == set(range(1, len(PAPER.figure(number).panels) + 1))


@pytest.mark.parametrize("ending", MEDIA_TYPES)
def test_figure_has_every_format(paper_client: TestClient, ending: str) -> None:
    response = paper_client.get(f"{FIGURES}/10.{ending}")
    assert response.status_code == 200
    assert response.headers["content-type"] == MEDIA_TYPES[ending]
    assert response.headers["losslake-release"] == "1"
    assert response.content.startswith(STARTS[ending])


@pytest.mark.parametrize("number", ["1", "7", "8", "11"])
def test_specification_has_every_panel(paper_client: TestClient, number: str) -> None:
    specification = paper_client.get(f"{FIGURES}/{number}.vl.json").json()
    figure = PAPER.figure(number)
    assert specification["columns"] == figure.columns
    assert [panel["title"]["text"] for panel in specification["concat"]] == [[panel.title] for panel in figure.panels]
    assert caption(specification).startswith(f"Figure {number}, ")
    assert f"Data: LossLake, release 1. Query: {FIGURES}/{number}.csv?release=1" in caption(specification)
    assert "No data" not in caption(specification)


def test_axis_limits_match_the_paper_with_padding_for_marks(paper_client: TestClient) -> None:
    last = paper_client.get(f"{FIGURES}/1.vl.json").json()["concat"][8]
    scales = [layer["encoding"].get("y", {}).get("scale") or {} for layer in last["layer"]]
    domains = [scale["domain"] for scale in scales if "domain" in scale]
    assert all(low < 2**13 < 2**21 < high for low, high in domains)
    assert domains
    assert all((low, high) == pytest.approx((2**13, 2**21), rel=0.15) for low, high in domains)


def test_caption_explains_which_trials_count(paper_client: TestClient) -> None:
    def said(number: str, query: str = "") -> str:
        return caption(paper_client.get(f"{FIGURES}/{number}.vl.json{query}").json())

    assert "Trials: the first 100 COMPLETE of each study." in said("7")
    assert "Trials: the first 100 or 50 COMPLETE of each study; 5 of 6 workloads have fewer." in said("5")
    assert "Trials: the first 2 COMPLETE of each study." in said("5", "?trials=2")
    assert "Trials: all COMPLETE and INFEASIBLE of each study." in said("10")


def test_papers_are_listed_with_missing_workloads(paper_client: TestClient, part: Lake) -> None:
    rows = [row for row in paper_client.get("/v1/papers").json()["rows"] if row["paper"] == "shallue2018"]
    assert [(row["figure"], row["series_without_data"]) for row in rows] == [(number, 0) for number in NUMBERS]
    assert all(paper_client.get(row["path"].replace(".svg", ".csv")).status_code == 200 for row in rows[:1])
    with TestClient(without_sql(part)) as client:
        by_figure = {row["figure"]: row for row in client.get("/v1/papers").json()["rows"] if row["paper"] != "bundled"}
    assert by_figure["9a"]["series_without_data"] == 0
    assert (by_figure["4"]["series"], by_figure["4"]["series_without_data"]) == (8, 7)


def test_matching_etag_of_a_paper_figure_returns_304(paper_client: TestClient) -> None:
    first = paper_client.get(f"{FIGURES}/10.vl.json")
    again = paper_client.get(f"{FIGURES}/10.vl.json", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert paper_client.get(f"{FIGURES}/10.vl.json?trials=3").headers["etag"] != first.headers["etag"]
    assert "immutable" in paper_client.get(f"{FIGURES}/10.csv?release=1").headers["cache-control"]
    assert first.headers["cache-control"] == "public, no-cache"


@pytest.mark.parametrize(
    ("path", "kind", "near"),
    [
        ("/v1/papers/shallue2019/figures/1.svg", "unknown-paper", "shallue2018"),
        (f"{FIGURES}/12.svg", "unknown-figure", "1"),
        (f"{FIGURES}/9.svg", "unknown-figure", "9a"),
        (f"{FIGURES}/9a.jpg", "unknown-figure", "9a.png"),
        (f"{FIGURES}/1.csv?release=7", "unknown-release", "1"),
        ("/v1/papers/bundled/figures/1.svg", "unknown-collection", "shallue2018"),
    ],
)
def test_unknown_name_suggests_similar_ones(paper_client: TestClient, path: str, kind: str, near: str) -> None:
    response = paper_client.get(path)
    assert response.status_code == 404
    problem = response.json()
    assert problem["type"] == f"urn:losslake:problem:{kind}"
    assert near in problem["near_matches"]


@pytest.mark.parametrize(
    ("query", "parameter"), [("trials=0", "trials"), ("scale=9", "scale"), ("format=svg", "format"), ("x=1", "x")]
)
def test_invalid_parameter_is_named(paper_client: TestClient, query: str, parameter: str) -> None:
    response = paper_client.get(f"{FIGURES}/1.png?{query}")
    assert (response.status_code, response.json()["parameter"]) == (422, parameter)


def test_missing_collection_says_what_to_ingest(client: TestClient) -> None:
    problem = client.get(f"{FIGURES}/1.svg").json()
    assert problem["type"] == "urn:losslake:problem:unknown-collection"
    assert "losslake fetch shallue2018" in problem["detail"]


def test_partial_archive_is_drawn_and_lists_missing_workloads(part: Lake) -> None:
    view = ReleaseView.open(part, part.release())
    drawn = drawn_figure(view, PAPER, "4")
    specification = drawn.specification("here")
    assert (drawn.n_missing, len(drawn.rows)) == (2, 17)
    shown = texts(specification["concat"][0]) + texts(list(specification["datasets"].values()))
    assert {"SGD", "Momentum (no data)", "Nesterov Momentum (no data)"} <= set(shown)
    assert {"no data for", "cifar_10/resnet_8/sgd", "lm1b/transformer_shallow/momentum"} <= set(shown)
    assert "No data for shallue2018/mnist/simple_cnn_base/momentum, " in caption(specification)
    assert "and 3 more" in caption(specification)
    assert specification["usermeta"]["losslake"]["notes"] == drawn.notes
    assert "no data for shallue2018/mnist/simple_cnn_base/momentum" in drawn.notes


def test_series_without_normalization_is_omitted_with_a_note(part: Lake) -> None:
    drawn = drawn_figure(ReleaseView.open(part, part.release()), PAPER, "3")
    assert any("Fully" in panel.panel.title and not panel.is_missing for panel in drawn.panels)
    assert "Simple CNN" in texts(drawn.specification("here"))


def run(*arguments: object) -> str:
    return CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False).output


def test_command_writes_files_and_lists_missing_workloads(part: Lake, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    said = run("reproduce", "shallue2018", "--lake", part.folder, "--out", out, "--figure", "10", "--figure", "4",
               "--format", "csv", "--format", "vl.json", "--format", "svg").splitlines()  # fmt: skip
    assert sorted(path.name for path in out.iterdir()) == [
        f"figure-{number}.{ending}" for number in ("10", "4") for ending in ("csv", "svg", "vl.json")
    ]
    assert ET.fromstring((out / "figure-10.svg").read_bytes()).tag.endswith("svg")
    assert json.loads((out / "figure-4.vl.json").read_text())["columns"] == 3
    assert said[0].startswith("figure 10: ")
    assert "  no data for shallue2018/lm1b/transformer_wide/nesterov_momentum" in said
    assert said[-2] == f"2 figures of shallue2018 in {out}, from release 1"
    assert said[-1].startswith("5 of 7 panels have no data: 'losslake fetch shallue2018' downloads it")


def test_command_without_the_collection_says_what_to_ingest(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(LossLakeError, match=r"release 1 has no data .* 'losslake fetch shallue2018'"):
        run("reproduce", "shallue2018", "--lake", lake.folder, "--out", tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_command_on_an_empty_lake_says_what_to_ingest(tmp_path: Path) -> None:
    Lake.create(tmp_path / "lake")
    with pytest.raises(LossLakeError, match=r"is empty: 'losslake fetch shallue2018'"):
        run("reproduce", "shallue2018", "--lake", tmp_path / "lake")


@pytest.mark.parametrize(("arguments", "near"), [(("shallue",), "shallue2018"), (("bundled", "--figure", "99"), "9")])
def test_command_suggests_similar_names(arguments: tuple[str, ...], near: str) -> None:
    with pytest.raises(LossLakeError, match=f"did you mean .*{near}"):
        run("reproduce", *arguments)
