"""Pages show trials whose batch size changes, with the name of their schedule in place of a batch size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from fastapi.testclient import TestClient

from tests.applications import client_with_sql
from tests.scheduled_lake import METRIC, SCHEDULED, THREE, WORKLOAD, examples, scheduled_lake, steps_to
from tests.service.web.tables import Tables

STUDY = f"{WORKLOAD}/scheduled"
# The median over the three trials of one setting.
MEDIAN = sorted(examples(THREE, steps_to(name, 1.0) or 0) for name in ("s0", "s1", "s2"))[1]
BARE = {"workload": WORKLOAD, "metric": METRIC, "target": "1"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_with_sql(scheduled_lake(tmp_path_factory.mktemp("pages"))) as client:
        yield client


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a lake in which every trial changes its batch size."""
    with client_with_sql(scheduled_lake(tmp_path_factory.mktemp("alone"), {"s0": THREE, "s1": THREE})) as client:
        yield client


def page(client: TestClient, path: str, **query: str) -> str:
    response = client.get(path, params=query)
    assert response.status_code == 200, (path, response.text[:400])
    return unescape(response.text)


@pytest.mark.parametrize("measure", ["steps", "examples"])
def test_the_page_of_a_workload_has_them_in_the_last_row(client: TestClient, measure: str) -> None:
    text = page(client, f"/workloads/{WORKLOAD}", measure=measure)
    rows = Tables(text).by_class["studies"][1:]
    assert [row[0] for row in rows] == ["8", "16", "32", "64", "2 schedules"]
    assert f'href="/studies/{STUDY}' in text
    assert "trials whose batch size changes (2 schedules)" in text
    if measure == "examples":
        assert rows[-1][1] == f"{MEDIAN}"
        assert f"With a batch size that changes (2 schedules), the least is {MEDIAN} examples." in text


def test_the_page_of_their_study_says_the_pieces(client: TestClient) -> None:
    text = page(client, f"/studies/{STUDY}")
    assert "Batch size that changes (2 schedules)" in text
    assert "8 up to step 20, 16 up to step 40, then 32" in text
    assert "8 up to step 30, then 64" in text
    assert "None" not in re.sub(r"<[^>]*>", " ", text)


def test_their_statement_of_sql_finds_their_trials(client: TestClient) -> None:
    text = page(client, f"/studies/{STUDY}", metric=METRIC, target="1")
    statement = next(each for each in re.findall(r"SELECT s\.trial_id.*?(?=<)", text, re.DOTALL) if "steps_to" in each)
    assert "s.batch_size IS NULL" in statement
    answer = client.post("/v1/sql", json={"sql": statement})
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["rows"]) == len(SCHEDULED)


@pytest.mark.parametrize(
    "path",
    [
        "/", "/workloads", f"/workloads/{WORKLOAD}", f"/studies/{STUDY}", f"/trials/{STUDY}/1", "/sitemap.xml",
        "/batch-size", "/laws", "/frontier",
    ],
)  # fmt: skip
def test_a_lake_of_schedules_alone_has_its_pages(alone: TestClient, path: str) -> None:
    text = page(alone, path)
    assert "None" not in re.sub(r"<[^>]*>", " ", text)


def test_the_name_of_a_schedule_that_all_share_stands_for_the_batch_size(alone: TestClient) -> None:
    rows = Tables(page(alone, f"/workloads/{WORKLOAD}")).by_class["studies"][1:]
    assert [row[0] for row in rows] == ["8-16-32"]
    assert "Trial 1, batch size that changes (8-16-32)" in page(alone, f"/trials/{STUDY}/1")


@pytest.mark.parametrize("kind", ["scaling", "best", "metaparameters"])
def test_charts_by_batch_size_leave_them_out_and_say_so(client: TestClient, alone: TestClient, kind: str) -> None:
    query = BARE if kind != "best" else {name: BARE[name] for name in ("workload", "metric")}
    for each in (client, alone):
        chart = each.get(f"/v1/figures/{kind}.vl.json", params=query)
        assert chart.status_code == 200, chart.text
        assert "Not drawn: the trials whose batch size changes." in " ".join(chart.json()["title"]["text"])
        rows = [row for rows in chart.json()["datasets"].values() for row in rows]
        assert all(row.get("batch_size", 8) is not None for row in rows)


def test_charts_over_examples_have_the_examples_of_each_trial(client: TestClient) -> None:
    query = {"study": STUDY, "metric": METRIC, "measure": "examples"}
    chart = client.get("/v1/figures/curves.vl.json", params=query).json()
    lists = [row["step"] for rows in chart["datasets"].values() for row in rows if "step" in row]
    steps = {step for each in lists for step in (each if isinstance(each, list) else [each])}
    assert max(steps) == max(examples(pieces, 60) for pieces in SCHEDULED.values())
