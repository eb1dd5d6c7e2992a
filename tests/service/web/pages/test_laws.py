"""The page of scaling laws says what the answers say, reads counts as people write them, and shows no number alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from losslake.analysis.loss_law import LossLaw
from losslake.lake.lake import Lake
from losslake.questions.loss_law import LossLawParameters
from losslake_ingest.run import ingest
from losslake_schema.quantities import abbreviated, read_count
from losslake_service.web.laws.published_laws import lead
from losslake_service.web.laws.stored_laws import LossRuns
from losslake_service.web.pages.laws import PATH
from tests.applications import without_sql
from tests.critical_batch_sizes import PATTERN, zhang_lake
from tests.service.web.reading import Page

HOSTILE = "<script>alert('x')</script>/\"><img src=x onerror=alert('y')>/*/*"
LOSS, RUNS = "val/cross_entropy_error", "sizes/text/*/*"
LAW = LossLaw(1.8, 480.0, 2000.0, 0.35, 0.37)
SIZES, STEPS = (1e7, 3e7, 1e8, 3e8), (1_000, 4_000, 16_000)
MAPPING = f"""
[collection]
name = "sizes"
[run]
dataset = "text"
model = "{{size}}"
optimizer = "adamw"
batch_size = "256"
batch_unit = "examples"
[parameters]
n_parameters = "{{size}}"
tokens_per_example = "1024"
[metrics]
loss = "{LOSS}"
"""


def text_of(html: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Yield a client of a service over the collection of Zhang et al. 2024."""
    with TestClient(without_sql(zhang_lake(tmp_path_factory))) as client:
        yield client


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Yield a client of a service over 12 runs, of models of 4 sizes."""
    folder = tmp_path_factory.mktemp("sizes")
    logs = folder / "logs"
    logs.mkdir()
    (logs / "losslake.toml").write_text(MAPPING)
    for number, (size, step) in enumerate((size, step) for size in SIZES for step in STEPS):
        _write(logs / f"{number}.jsonl", size, step)
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [logs]).quarantined
    with TestClient(without_sql(lake)) as client:
        yield client


def _write(path: Path, size: float, step: int) -> None:
    loss = float(LAW.losses(size, step * 256 * 1024))
    rows = [{"step": step // 2, "loss": loss + 0.1}, {"step": step, "loss": loss}]
    path.write_text("".join(json.dumps({"size": int(size)} | row) + "\n" for row in rows))


def laws(client: TestClient, **query: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.get("/v1/analysis/recommend", params=query).json()
    return answer


def test_table_has_the_numbers_of_the_answer(client: TestClient) -> None:
    page = text_of(client.get(PATH, params={"parameters": "500M", "tokens": "1e10", "loss": "3"}).text)
    answer = laws(client, parameters=5e8, tokens=1e10, loss=3)
    for row in answer["laws"]:
        of_law = page.partition(f" {row['law']} ")[2][:300]
        value = row["value"]
        if value is None:
            assert of_law.startswith("\u2013 ")
        else:
            shown = f"{abbreviated(value)} tokens" if row["quantity"] == "batch_size" else f"{value:.3g}"
            inside = {True: "inside", False: "outside: it extrapolates", None: "range not known"}[row["is_inside"]]
            assert re.match(rf"\s*{re.escape(shown)}\s+{inside}", of_law), row["law"]
        if row["n_workloads"]:
            median, lowest, highest = (row[f"ratio_{name}"] for name in ("median", "lowest", "highest"))
            assert f"{median:.2f} ({lowest:.2f}\u2013{highest:.2f})" in of_law
            assert f"{row['n_workloads']} workloads, {row['n_inside']} in its range" in of_law
        assert row["formula"] in page
        assert row["source"] in page
    for text in answer["warnings"]:
        assert text[1:] in page


@pytest.mark.parametrize(
    ("query", "training"),
    [
        (
            {"parameters": "70B"},
            "70B parameters and 1.4T tokens, 20 per parameter, as in Hoffmann et al. 2022, since only",
        ),
        (
            {"tokens": "1.4T"},
            "70B parameters and 1.4T tokens, 20 per parameter, as in Hoffmann et al. 2022, since only",
        ),
        ({"parameters": "70B", "tokens": "1.4T"}, "70B parameters and 1.4T tokens, 20 per parameter."),
        ({"tokens": "3"}, "1 parameters and 3 tokens, 3 per parameter"),
        ({"parameters": "1e30"}, "1e+30 parameters and 1e+30 tokens, 1 per parameter"),
    ],
)
def test_of_one_number_the_other_follows_and_the_page_says_so(
    client: TestClient, query: Mapping[str, str], training: str
) -> None:
    page = client.get(PATH, params=query).text
    assert f"A training of {training}" in text_of(page)
    shown = dict(re.findall(r'name="(parameters|tokens)" value="([^"]+)" placeholder', page))
    size, tokens = training.split(" parameters and ")
    assert [read_count(shown[name]) for name in ("parameters", "tokens")] == [
        read_count(size), read_count(tokens.partition(" ")[0])
    ]  # fmt: skip


def test_lead_has_the_range_of_each_quantity_and_how_many_laws_hold(client: TestClient) -> None:
    page = text_of(client.get(PATH).text)
    assert "An example: a training of 1B parameters and 20B tokens, 20 per parameter." in page
    answer = laws(client, parameters=1e9, tokens=2e10)
    sizes = {
        noun: [
            row
            for row in answer["laws"]
            if row["quantity"] == "batch_size" and row["value"] and (row["definition"] == "optimal") == is_optimal
        ]
        for noun, is_optimal in (("the optimal batch size", True), ("a critical batch size by 2 definitions", False))
    }
    for noun, rows in sizes.items():
        low, high = (abbreviated(end(row["value"] for row in rows)) for end in (min, max))
        n_inside = sum(row["is_inside"] is True for row in rows)
        assert (
            f"{len(rows)} laws of {noun} give {low} to {high} tokens; "
            f"this training lies in the range of {n_inside} of them. On " in page
        )
        measured = [row for row in rows if row["n_workloads"]]
        lowest, highest = min(row["ratio_lowest"] for row in measured), max(row["ratio_highest"] for row in measured)
        assert f"are {lowest:.2f} to {highest:.2f} times what was measured." in page
    (rates,) = (each for each in answer["ranges"] if each["quantity"] == "learning_rate")
    assert f"2 laws of the learning rate give {rates['lowest']:.3g} to {rates['highest']:.3g};" in page


def _law(value: float | None, is_inside: bool | None = None, *ratios: float) -> dict[str, Any]:
    """Return a row of the answer. ratios: the lowest and the highest."""
    of_ratios = dict(zip(("ratio_lowest", "ratio_highest"), ratios, strict=False))
    law = {"quantity": "batch_size", "definition": "optimal", "value": value, "is_inside": is_inside}
    return {**law, "n_workloads": 3 if ratios else 0, **of_ratios}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([_law(None)], "No law of the optimal batch size has a value here."),
        (
            [_law(1e6, True)],
            (
                "1 law of the optimal batch size gives 1M tokens; this training lies in its range. "
                "No stored workload measures it."
            ),
        ),
        (
            [_law(1e6, None, 0.5, 2)],
            (
                "1 law of the optimal batch size gives 1M tokens; this training isn't known to lie in its range. "
                "On 3 stored workloads, it is 0.50 to 2.00 times what was measured."
            ),
        ),
        (
            [_law(1e6, None, 0.5, 2), _law(2e6, False)],
            (
                "2 laws of the optimal batch size give 1M to 2M tokens; this training lies in the range of none of "
                "them. On 3 stored workloads, 1 of these is 0.50 to 2.00 times what was measured."
            ),
        ),
    ],
)
def test_a_value_never_stands_without_the_laws_behind_it(rows: list[dict[str, Any]], text: str) -> None:
    assert list(lead(rows)) == [text]


def test_counts_are_read_as_people_write_them_and_kept_in_forms(client: TestClient) -> None:
    query = {"parameters": "7B", "tokens": "1.4 T", "by": "mccandlish2018"}
    page = client.get(PATH, params=query).text
    assert "A training of 7B parameters and 1.4T tokens, 200 per parameter." in text_of(page)
    assert "/v1/analysis/recommend.json?parameters=7000000000&amp;tokens=1400000000000" in page
    assert page.count('type="hidden" name="tokens" value="1.4 T"') == page.count("<form") - 2
    assert page.count('type="hidden" name="by" value="mccandlish2018"') == 1


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ({"parameters": "<b>many</b>"}, "Parameters: give a number from 1 to 1e+30, such as 7e9 or 7B"),
        ({"tokens": "-2"}, "Tokens: give a number from 1 to 1e+30, such as 1.4e12 or 1.4T"),
        ({"tokens": "1e31"}, "Tokens: give a number from 1 to 1e+30, such as 1.4e12 or 1.4T"),
        ({"loss": "nan"}, "Loss: give a number above 0, up to 1000, such as 2.5"),
        ({"critical_workload": "olmo"}, "&#39;olmo&#39; is not a workload"),
        ({"loss_workload": PATTERN, "metric": "val/converged"}, "val/converged isn&#39;t minimized: give a loss"),
        ({"loss_workload": PATTERN}, "no workload that critical-batch-size/c4/*/adamw matches measures a loss"),
    ],
)
def test_wrong_input_is_refused_in_a_line(client: TestClient, query: dict[str, str], line: str) -> None:
    answer = client.get(PATH, params=query, headers={"accept": "text/html"})
    assert answer.status_code == 422
    assert line.lower() in answer.text.lower()
    assert "<b>" not in answer.text


@pytest.mark.parametrize("name", ["critical_workload", "loss_workload"])
def test_text_of_a_pattern_is_never_interpreted(client: TestClient, name: str) -> None:
    answer = client.get(PATH, params={name: HOSTILE}, headers={"accept": "text/html"})
    assert answer.status_code in (404, 422)
    assert "<script>alert" not in answer.text
    assert "<img src=x" not in answer.text


@pytest.mark.parametrize("by", ["zhang2024", "mccandlish2018"])
def test_critical_batch_sizes_grow_as_the_answer_says(client: TestClient, by: str) -> None:
    page = client.get(PATH, params={} if by == "zhang2024" else {"by": by}).text
    answer = client.get("/v1/analysis/critical-batch-law", params={"workload": PATTERN, "by": by}).json()
    text = text_of(page)
    for law in answer["laws"]:
        ends = f"({law['exponent_lower']:.2f} to {law['exponent_upper']:.2f})"
        assert f"to the power {law['exponent']:.2f} {ends}" in text
    for warning in answer["warnings"]:
        assert warning[1:] in text
    live = unescape(re.search(r'data-live="(.*?)"', page)[1])  # type: ignore[index]
    assert parse_qs(urlsplit(live).query) == {"workload": [PATTERN], "by": [by], "release": ["1"]}
    assert client.get(live).status_code == 200
    assert "This release has no data set with ten runs of models of four sizes" in text


def test_embedded_chart_leads_to_the_page(client: TestClient) -> None:
    query = {"workload": PATTERN, "by": "zhang2024"}
    embedded = Page(client.get("/embed/critical-batch-law", params=query).text)
    (link,) = (each for each in embedded.links if each.startswith(PATH))
    assert parse_qs(urlsplit(link).query)["critical_workload"] == [PATTERN]
    assert client.get(link).status_code == 200


def test_laws_fitted_to_what_is_stored_are_said_to_be_no_test(client: TestClient, losses: TestClient) -> None:
    text = "they agree with it is no test of them"
    assert text in client.get(PATH).text
    assert text not in losses.get(PATH).text


def test_release_without_sizes_says_so_and_still_has_the_published_laws(explorer: TestClient) -> None:
    text = text_of(explorer.get(PATH).text)
    assert "This release has no three workloads of one data set and optimizer that" in text
    assert "This release has no data set with ten runs of models of four sizes" in text
    assert "2 laws of the optimal batch size give" in text
    assert PATH not in explorer.get("/").text


def test_law_of_the_loss_is_asked_for_by_its_figure_with_the_compute_of_the_training(losses: TestClient) -> None:
    page = losses.get(PATH, params={"parameters": "2e8", "tokens": "5e9"}).text
    assert 'href="/laws"' in losses.get("/").text
    live = unescape(re.search(r'data-live="(.*?)"', page)[1])  # type: ignore[index]
    query = parse_qs(urlsplit(live).query)
    assert query["workload"] == [RUNS]
    assert query["metric"] == [LOSS]
    assert (query["points"], query["draw"]) == (["final"], ["settings"])
    assert float(query["flops"][0]) == 6 * 2e8 * 5e9
    # The answer takes seconds, in a process of its own: the figure's tests draw it.
    LossLawParameters.model_validate(
        {name: values if name in ("workload", "flops") else values[0] for name, values in query.items()}
    )
    chosen = losses.get(PATH, params={"points": "all", "after": "0.6", "draw": "models"}).text
    assert "points=all&amp;after=0.6&amp;draw=models" in chosen


@pytest.mark.parametrize(
    ("n_sizes", "n_trials", "points", "draw"),
    [(22, 22, "all", "models"), (20, 199, "final", "models"), (4, 12, "final", "settings")],
)
def test_models_trained_once_are_fitted_by_all_their_evaluations_and_drawn_whole_if_they_are_enough(
    n_sizes: int, n_trials: int, points: str, draw: str
) -> None:
    runs = LossRuns(RUNS, n_sizes, n_trials, 10.0)
    assert (runs.points, runs.draw) == (points, draw)
