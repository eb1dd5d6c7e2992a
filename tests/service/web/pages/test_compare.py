"""The comparison page shows the answer of /v1/analysis/compare; its URL is its only state."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.archives import write_workload
from tests.made_up_lake import ERROR, ODD
from tests.oracle import Row
from tests.service.web.reading import Page

SGD, DEEP = "shelf/mnist/cnn/sgd", "shelf/deep/mnist/cnn/sgd"
BOTH: dict[str, Any] = {"workload": [SGD, DEEP], "metric": ERROR, "target": 0.25}


def opened(client: TestClient, **query: Any) -> tuple[str, Page]:
    response = client.get("/compare", params=query)
    assert response.status_code == 200, response.text
    return response.text, Page(response.text)


def queries(page: Page) -> list[list[tuple[str, str]]]:
    return [parse_qsl(urlsplit(link).query) for link in page.links if link.startswith("/compare?")]


def test_conclusion_comes_first_and_matches_the_analysis(client: TestClient) -> None:
    (conclusion,) = client.get("/v1/analysis/compare", params=BOTH).json()["conclusions"]
    text, _ = opened(client, **BOTH)
    said = conclusion["in_words"].replace("<", "&lt;")
    assert said in text
    assert text.index(said) < text.index("<figure")


def test_table_matches_the_analysis(client: TestClient) -> None:
    rows = client.get("/v1/analysis/compare", params=BOTH).json()["rows"]
    text, _ = opened(client, **BOTH)
    table = text.partition("<tbody>")[2].partition("</tbody>")[0]
    lines = {int(line.partition(">")[2].partition("<")[0]): line for line in table.split('scope="row"')[1:]}
    assert set(lines) == {row["batch_size"] for row in rows}
    for row in rows:
        line = lines[row["batch_size"]]
        assert ("never reached" if row["amount"] is None else f">{row['amount']:,.0f}</a>") in line
        if row["workload"] != SGD and row["ratio"] is not None:
            assert f"<td>{row['ratio']:.3g}" in line


def test_what_the_analysis_leaves_out_is_shown(client: TestClient) -> None:
    left_out = client.get("/v1/analysis/compare", params=BOTH).json()["left_out"]
    assert left_out
    text = html.unescape(opened(client, **BOTH)[0])
    assert [each for each in left_out if each not in text] == []


def lake_of(folder: Path, comparators: Mapping[str, str], sizes: Mapping[str, Sequence[int]]) -> Lake:
    """A lake whose workloads reach exactly their goal, 0.3, at step 10. comparators, sizes: by optimizer."""
    lake = Lake.create(folder / "lake")
    for optimizer, comparator in comparators.items():
        curve = ((0, 0.9), (10, 0.3))
        rows = [Row(size, 1, "COMPLETE", step, value) for size in sizes[optimizer] for step, value in curve]
        write_workload(folder / optimizer / "shelf", f"mnist/cnn/{optimizer}", {ERROR: rows})
        goal = f'[[goal]]\nmetric = "{ERROR}"\ntarget = 0.3\nsource = "s"\ncomparator = "{comparator}"\n'
        (folder / optimizer / "losslake.toml").write_text(goal)
        ingest(lake, [folder / optimizer])
    return lake


OPTIMIZERS = {"workload": ["shelf/mnist/cnn/adam", "shelf/mnist/cnn/sgd"]}


def test_caveats_that_differ_in_a_batch_size_alone_are_one(tmp_path: Path) -> None:
    sizes = {"adam": (8, 16, 32, 64, 1024), "sgd": (8, 16, 32)}
    lake = lake_of(tmp_path, dict.fromkeys(sizes, "inclusive"), sizes)
    with TestClient(without_sql(lake)) as client:
        left_out = client.get("/v1/analysis/compare", params=OPTIMIZERS).json()["left_out"]
        text, _ = opened(client, **OPTIMIZERS)
    assert left_out == [f"batch size {size}: only shelf/mnist/cnn/adam has trials there" for size in (64, 1024)]
    assert "<li>2 batch sizes from 64 to 1,024: only shelf/mnist/cnn/adam has trials there</li>" in text
    assert left_out[0] not in text


def test_statements_give_the_numbers_of_the_page_where_goals_differ_in_comparator(tmp_path: Path) -> None:
    sizes = dict.fromkeys(("sgd", "adam"), (8, 16, 32))
    lake = lake_of(tmp_path, {"sgd": "strict", "adam": "inclusive"}, sizes)
    with TestClient(without_sql(lake)) as client:
        text, page = opened(client, **OPTIMIZERS)
        assert "never reached" not in text.partition("<tbody>")[2]
        cursor = client.app.state.releases.view().cursor()  # type: ignore[attr-defined]
        statements = [line for line in page.lines if line.startswith("SELECT") and "steps" in line]
        assert len(statements) == 3
        for each in statements:
            assert cursor.sql(each).to_arrow_table()["steps"].to_pylist() == [10] * 6


def test_every_chart_has_the_workloads_goal_and_release(client: TestClient) -> None:
    text, _ = opened(client, **BOTH)
    for kind in ("ratio", "scaling", "profile"):
        address = text.partition(f'data-live="/v1/figures/{kind}.vl.json?')[2].partition('"')[0].replace("&amp;", "&")
        query = parse_qsl(address)
        assert [value for name, value in query if name == "workload"] == [SGD, DEEP]
        assert {("metric", ERROR), ("target", "0.25"), ("release", "1")} <= set(query)
        assert client.get(f"/v1/figures/{kind}.vl.json?{address}").status_code == 200


def test_statements_of_charts_run(client: TestClient) -> None:
    app = client.app
    _, page = opened(client, **BOTH)
    statements = [line for line in page.lines if line.startswith("SELECT")]
    assert len(statements) == 4
    for statement in statements:
        rows = app.state.releases.view().cursor().execute(statement).fetchall()  # type: ignore[attr-defined]
        assert {(row[0], row[1]) for row in rows} == {("shelf", "mnist"), ("shelf/deep", "mnist")}


def test_page_without_workloads_suggests_some(client: TestClient) -> None:
    text, _ = opened(client)
    assert text.count('name="workload"') == 2
    assert f"<option>{DEEP}</option>" in text


def test_single_workload_asks_for_another(client: TestClient) -> None:
    text, page = opened(client, workload=SGD)
    assert "Add a second workload" in text
    assert [("workload", SGD), ("workload", DEEP)] in queries(page)


def test_page_links_remove_workloads_or_change_the_baseline(client: TestClient) -> None:
    _, page = opened(client, **BOTH)
    goal = [("metric", ERROR), ("target", "0.25")]
    assert [("workload", SGD), *goal] in queries(page)
    assert [("workload", SGD), ("workload", DEEP), ("baseline", DEEP), *goal] in queries(page)


def test_other_baseline_inverts_the_ratios(client: TestClient) -> None:
    plain, _ = opened(client, **BOTH)
    turned, _ = opened(client, **BOTH, baseline=DEEP)
    assert "Relative to shelf: the ratio" in " ".join(plain.split())
    assert "Relative to shelf/deep: the ratio" in " ".join(turned.split())


def test_relative_steps_start_at_the_first_common_batch_size(client: TestClient) -> None:
    rows = client.get("/v1/analysis/compare", params=BOTH).json()["rows"]
    reached = [row["batch_size"] for row in rows if row["amount"]]
    start = min(size for size in reached if reached.count(size) == 2)
    text, _ = opened(client, **BOTH, scale="relative")
    assert f"normalize_to={start}" in text.partition("/v1/figures/scaling.vl.json?")[2].partition('"')[0]


def test_default_target_is_near_every_workload(client: TestClient) -> None:
    text, _ = opened(client, workload=[SGD, DEEP], metric=ERROR)
    assert text.count("never reached") == 0


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"workload": [SGD, "shelf/mnist/cnn/sgdd"]}, 404, "did you mean"),
        ({"workload": [SGD], "baseline": DEEP}, 422, "not one of the workloads"),
        ({"workload": [SGD], "metric": "val/nothing"}, 404, "is not measured here"),
        ({"workload": [SGD], "metric": ODD}, 422, "is not known"),
        ({"workload": "short"}, 422, "collection/dataset/model/optimizer"),
        ({"workload": [SGD], "target": "nan"}, 422, "target"),
        ({"workload": [SGD], "budget": "0"}, 422, "budget"),
    ],
)
def test_incomparable_workloads_return_an_error_page(
    client: TestClient, query: dict[str, Any], status: int, says: str
) -> None:
    response = client.get("/compare", params=query, headers={"accept": "text/html"})
    assert response.status_code == status
    assert says in response.text or says in response.text.replace("&#39;", "'")


def test_curves_of_the_best_trials_are_on_one_chart(client: TestClient) -> None:
    rows = client.get("/v1/scaling", params=BOTH).json()["rows"]
    text, page = opened(client, **BOTH, at=64)
    query = parse_qsl(
        text.partition('data-live="/v1/figures/curves.vl.json?')[2].partition('"')[0].replace("&amp;", "&")
    )
    best = [f"{row['workload']}/64/{row['trial_id']}" for row in rows if row["batch_size"] == 64]
    assert None not in best
    assert [value for name, value in query if name == "trial"] == best
    others = {dict(query).get("at") for query in queries(page)}
    assert {"1", "8", "64", "512"} <= others


def test_batch_size_of_curves_has_to_be_common(client: TestClient) -> None:
    response = client.get("/compare", params=BOTH | {"at": 7}, headers={"accept": "text/html"})
    assert response.status_code == 422
    assert "no such batch size in common" in response.text


def test_everything_is_counted_in_the_measure(client: TestClient) -> None:
    counted = BOTH | {"measure": "examples"}
    rows = client.get("/v1/analysis/compare", params=counted).json()["rows"]
    text, page = opened(client, **counted)
    assert f">{next(row['amount'] for row in rows if row['amount'] and row['amount'] >= 100):,.0f}</a>" in text
    for kind in ("ratio", "scaling", "curves"):
        assert "measure=examples" in text.partition(f"/v1/figures/{kind}.vl.json?")[2].partition('"')[0]
    assert "Examples to" in text
    assert any(dict(query).get("measure") is None for query in queries(page))


def test_no_id_occurs_twice(client: TestClient) -> None:
    text, _ = opened(client, **BOTH)
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
