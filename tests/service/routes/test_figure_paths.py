"""Figures over HTTP: every kind in every ending, with what every answer has, and problems in words."""

from __future__ import annotations

import hashlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from html import unescape
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import vl_convert
from fastapi.testclient import TestClient

from losslake.figures import theme
from losslake.figures.charts import kinds
from losslake.figures.figure import MEDIA_TYPES
from losslake.figures.theme import DARK, Document
from losslake.lake.lake import Lake
from tests.applications import without_sql
from tests.losslake.figures.drawing import SVG, colours_of, marks, sizes_of_type, texts, width_of
from tests.made_up_lake import ERROR
from tests.made_up_league import league_lake

WORKLOAD = "shelf/mnist/cnn/sgd"
SELECTION = {"workload": WORKLOAD, "metric": ERROR}
GOAL = SELECTION | {"target": "0.25"}
OF_TWO = GOAL | {"workload": [WORKLOAD, "shelf/deep/mnist/cnn/sgd"]}
PARAMETERS: dict[str, Mapping[str, object]] = {
    "curves": {"study": f"{WORKLOAD}/8", "metric": ERROR},
    "atlas": {},
    "advice": GOAL | {"step_time": ["8=0.1", "64=0.3"]},
    "best": SELECTION,
    "critical-batch-law": {"workload": "*/mnist/cnn/sgd"},
    "frontier": SELECTION,
    "loss-law": SELECTION,
    "target-sweep": SELECTION,
    "ratio": OF_TWO,
    "profile": OF_TWO,
    "league": {"collection": "algoperf/v05/external_tuning"},
    "records": {},
}
"""By kind, where it isn't a goal of one workload."""
OF_COMPETITIONS = ("league", "records")
SCALING = f"/v1/figures/scaling.svg?{urlencode(GOAL)}"


KINDS = [kind.name for kind in kinds() if kind.name not in OF_COMPETITIONS]
DRAWN_IN_FULL = ("scaling", "curves", "learning-rate-momentum")
"""Kinds of one plot, of lines and of several plots: pixels and pages come from the SVG of any kind alike."""
LINK = re.compile(r'href="([^"]*)"')


def path(kind: str, ending: str, **more: object) -> str:
    return f"/v1/figures/{kind}.{ending}?{urlencode({**PARAMETERS.get(kind, GOAL), **more}, doseq=True)}"


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(lake), raise_server_exceptions=False) as client:
        yield client


def is_what_it_says(ending: str, body: bytes) -> bool:
    if ending == "svg":
        return ET.fromstring(body).tag.endswith("svg")
    if ending == "vl.json":
        return bool(json.loads(body)["$schema"].startswith("https://vega.github.io/schema/vega-lite/v6"))
    if ending == "csv":
        return body.startswith((b"batch_size,", b"workload,", b"competitor,", b"submission,", b"track,"))
    return body.startswith({"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-"}[ending])


@pytest.fixture(scope="module")
def of_competitions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(without_sql(league_lake(tmp_path_factory)), raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(
    "kind", ["scaling", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "scaling")]
)
def test_each_kind_comes_in_each_ending_readable_at_400_px_and_leads_to_its_rows(
    client: TestClient, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    check_endings(client, kind, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF_COMPETITIONS)
def test_so_do_those_of_competitions(of_competitions: TestClient, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    check_endings(of_competitions, kind, capfd, release="2")


def check_endings(client: TestClient, kind: str, capfd: pytest.CaptureFixture[str], release: str = "1") -> None:
    for ending, media_type in MEDIA_TYPES.items():
        if ending in ("png", "pdf") and kind not in DRAWN_IN_FULL:
            continue
        response = client.get(path(kind, ending, width=400, scale=1))
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == media_type
        assert response.headers["losslake-release"] == release
        assert is_what_it_says(ending, response.content)
        if ending == "svg":
            check_svg(client, kind, ET.fromstring(response.content), release)
        if ending == "vl.json":
            check_specification(response.json())
            assert response.json()["description"].endswith(".")
            assert "WARN" not in capfd.readouterr().err
            assert all(colour in DARK for colour in colours_of(response.json()))


def check_specification(specification: Document) -> None:
    """It holds to the schema of Vega-Lite and compiles, warnings going to standard error; without its many rows."""
    import altair as alt

    bare = specification | {"datasets": {name: [] for name in specification["datasets"]}}
    alt.Chart.from_dict(bare)
    vl_convert.vegalite_to_vega(bare, show_warnings=True)


def check_svg(client: TestClient, kind: str, svg: ET.Element, release: str) -> None:
    assert abs(width_of(svg) - 400) <= 8
    assert min(sizes_of_type(svg)) >= 9
    found = re.search(r"release (\d+)\. Query: (/v1/\S+)", "".join(texts(svg)))
    assert found is not None
    assert dict(parse_qsl(urlsplit(found[2]).query))["release"] == found[1] == release
    assert client.get(found[2] + "&format=csv").content == client.get(path(kind, "csv")).content


def test_png_has_the_requested_pixels(client: TestClient) -> None:
    body = client.get(path("scaling", "png", width=400, height=300, scale=3)).content
    assert abs(int.from_bytes(body[16:20]) - 1200) <= 24


def test_a_dark_figure_is_of_the_same_rows_on_another_ground(client: TestClient) -> None:
    light, dark = (client.get(path("scaling", "vl.json", theme=each)).json() for each in ("light", "dark"))
    ground = DARK[theme.GROUND]
    assert dark["config"]["background"] == ground
    assert dark["datasets"] == light["datasets"]
    # The caption's query is that of the rows, which have no ground.
    assert dark["title"]["text"] == light["title"]["text"]
    assert f'fill="{ground}"' in client.get(path("scaling", "svg", theme="dark")).text


ABOUT_A_GOAL = ("scaling", "learning-rate-momentum", "tuning-budget", "time-cost")


@pytest.mark.parametrize("kind", ["scaling", "curves", "best", "learning-rate-momentum", "tuning-budget", "time-cost"])
def test_marks_link_to_their_trial_or_study(client: TestClient, kind: str) -> None:
    for named in ({}, {"release": "1"}):
        links = set(map(unescape, LINK.findall(client.get(path(kind, "svg", **named)).text)))
        assert links
        starts = f"/trials/{WORKLOAD}/", f"/studies/{WORKLOAD}/"
        assert all(link.startswith(starts) and "//" not in link for link in links)
        queries = [dict(parse_qsl(urlsplit(link).query)) for link in links]
        goal = {"metric": ERROR, "target": "0.25"} if kind in ABOUT_A_GOAL else {}
        assert all(query == goal | named for query in queries)


def test_batch_sizes_of_the_scaling_figure_link_to_their_trials(client: TestClient) -> None:
    links = {unescape(link).partition("?")[0] for link in LINK.findall(client.get(path("scaling", "svg")).text)}
    rows = client.get(f"/v1/scaling?{urlencode(GOAL)}").json()["rows"]
    assert links == {f"/studies/{WORKLOAD}/{row['batch_size']}" for row in rows if row["steps"] != 0}


def test_links_are_absolute_with_public_url(lake: Lake) -> None:
    with TestClient(without_sql(lake, public_url="https://lake.example/base")) as client:
        found = LINK.findall(client.get(path("scaling", "svg", target=0.0)).text)
    assert found
    assert all(link.startswith(f"https://lake.example/base/studies/{WORKLOAD}/") for link in found)


def test_bars_of_other_searches_are_those_of_the_tuning_budget(client: TestClient) -> None:
    told = client.get(f"/v1/analysis/tuning-budget?{urlencode(GOAL)}").json()["searches"]
    said = {
        row["batch_size"]: (row["half_lower"], row["half_upper"]) for row in told if row["population"] != "launched"
    }
    bars = [row for row in marks(client.get(path("scaling", "vl.json")).json(), "point") if "low_steps" in row]
    assert bars
    assert all((row["low_steps"], row["high_steps"]) == said[row["batch_size"]] for row in bars)


def test_a_figure_says_its_main_numbers_in_words(client: TestClient) -> None:
    rows = [row for row in client.get(f"/v1/scaling?{urlencode(GOAL)}").json()["rows"] if row["steps"] is not None]
    said = client.get(path("scaling", "vl.json")).json()["description"]
    assert said.startswith(f"Steps to {ERROR} < 0.25, {WORKLOAD}. ")
    assert f"{rows[0]['steps']:,} steps at batch size {rows[0]['batch_size']}" in said
    described = next(ET.fromstring(client.get(path("scaling", "svg")).content).iter(f"{SVG}desc"))
    assert described.text == said
    nothing = client.get(path("scaling", "vl.json", target=0.0)).json()["description"]
    assert "it wasn't reached at batch size" in nothing.lower()


def test_title_is_never_interpreted_as_markup(client: TestClient) -> None:
    title = "</text><script>alert('1')</script>"
    response = client.get(path("scaling", "svg", title=title))
    assert "<script" not in response.text
    assert title in "".join(texts(ET.fromstring(response.content))).replace("\n", "")


def test_a_title_of_several_plots_begins_the_caption(client: TestClient) -> None:
    drawn = client.get(path("learning-rate-momentum", "vl.json", title="Mine")).json()
    assert len(drawn["concat"]) > 1
    assert drawn["title"]["text"][0] == "Mine"


def test_an_svg_opened_by_itself_runs_and_loads_nothing(client: TestClient) -> None:
    policy = client.get(SCALING).headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors" not in policy
    assert client.get(SCALING).headers["x-content-type-options"] == "nosniff"


def test_matching_etag_of_a_figure_returns_304(client: TestClient) -> None:
    tag = client.get(SCALING).headers["etag"]
    again = client.get(SCALING, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path("scaling", "png")).headers["etag"] != tag


def test_etag_of_a_pdf_is_its_checksum(client: TestClient) -> None:
    got = client.get(path("scaling", "pdf"))
    assert got.headers["etag"] == f'"{hashlib.sha256(got.content).hexdigest()[:32]}"'
    assert client.get(path("scaling", "pdf"), headers={"if-none-match": got.headers["etag"]}).status_code == 304


def test_a_figure_of_a_named_release_never_changes(client: TestClient) -> None:
    assert "immutable" in client.get(f"{SCALING}&release=1").headers["cache-control"]
    assert client.get(SCALING).headers["cache-control"] == "public, no-cache"


@pytest.mark.slow
def test_the_same_figure_is_the_same_bytes_from_another_process(lake: Lake, client: TestClient) -> None:
    with TestClient(without_sql(lake)) as other:
        assert other.get(SCALING).content == client.get(SCALING).content


def test_head_has_the_headers_of_get(client: TestClient) -> None:
    got, head = client.get(SCALING, headers={"accept-encoding": "identity"}), client.head(SCALING)
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-type", "content-length", "etag", "losslake-release"):
        assert head.headers[name] == got.headers[name]


def test_a_target_that_nothing_reaches_is_a_figure_that_says_so(client: TestClient) -> None:
    response = client.get(path("scaling", "svg", target=0.0))
    assert response.status_code == 200
    assert "No batch size reached the target." in texts(ET.fromstring(response.content))


@pytest.mark.parametrize("name", ["scalin.svg", "scaling.jpg", "scaling", "scaling.json"])
def test_an_unknown_kind_or_ending_is_a_problem_with_near_names(client: TestClient, name: str) -> None:
    response = client.get(f"/v1/figures/{name}")
    assert response.status_code == 404
    assert response.json()["type"].endswith("unknown-figure")
    assert "scaling.svg" in response.json()["near_matches"]


@pytest.mark.parametrize(
    ("more", "parameter"),
    [
        ({"format": "csv"}, "format"),
        ({"width": "5000"}, "width"),
        ({"width": "1600", "height": "1200", "scale": "4"}, "scale"),
        ({"scale": "nan"}, "scale"),
        ({"colour": "red"}, "colour"),
        ({"title": "x" * 201}, "title"),
    ],
)
def test_a_bad_parameter_is_named(client: TestClient, more: dict[str, str], parameter: str) -> None:
    response = client.get(path("scaling", "png", **more))
    assert response.status_code == 422
    assert response.json()["parameter"] == parameter


def test_other_methods_are_refused(client: TestClient) -> None:
    response = client.post(SCALING)
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD"


def test_unknown_workload_gives_the_same_problem_as_without_a_figure(client: TestClient) -> None:
    response = client.get(path("scaling", "svg", workload="shelf/mnist/cnn/sdg"))
    assert response.status_code == 404
    assert response.json()["type"].endswith("unknown-workload")


@pytest.mark.parametrize("title", ["a\x00b", "\x1b[2J", "two\nlines", "\uffff"])
def test_title_with_control_characters_is_refused(client: TestClient, title: str) -> None:
    response = client.get(path("scaling", "svg", title=title))
    assert response.status_code == 422
    assert response.json()["parameter"] == "title"
