"""A trial whose run was submitted again is found by the facts of each of its logs, and its page names them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.ingest.offers import unpacked
from tests.service.web.reading import Page

MAPPING = """
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o", batch_size = 8}
path = {patterns = ["v{round}/{org}/lr{rate:float}/{name}.csv"]}
parameters = {rate = "{rate}"}
metrics = {loss = "val/cross_entropy_error"}
time = {elapsed_s = "elapsed_s"}
"""
WORKLOAD = "c/d/m/o"
# By run: the round, organisation and rate of each of its logs; none is earlier in another.
LOGS = {
    1: [("1.0", "ann", 0.1), ("2.0", "bob", 0.1)],
    2: [("1.0", "bob", 0.1), ("1.0", "<i>cy", 0.2), ("10.0", "bob", 0.2)],
    3: [("1.0", "zed", 0.2)],
    4: [("2.0", "ann", 0.2), ("10.0", "ann", 0.2)],
}
ROUNDS, ORGS, RATES = (sorted({log[place] for logs in LOGS.values() for log in logs}) for place in (0, 1, 2))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("copies")
    files = {"losslake.toml": MAPPING.encode()}
    for run, logs in LOGS.items():
        for place, (round_, org, rate) in enumerate(logs):
            rows = "".join(f"{step},{0.9 - step / 10 - run / 100},{step + 0.5},{place}\n" for step in range(5))
            files[f"v{round_}/{org}/lr{rate}/{run}.csv"] = f"step,loss,elapsed_s,note\n{rows}".encode()
    lake = Lake.create(folder / "lake")
    ingest(lake, [unpacked(folder / "logs", files)])
    with TestClient(without_sql(lake)) as client:
        yield client


@pytest.fixture(scope="module")
def numbers(client: TestClient) -> dict[int, int]:
    """The trial_id of each run."""
    rows = client.get("/v1/trials").json()["rows"]
    assert len(rows) == len(LOGS)
    return {int(row["source"].rpartition("/")[2].removesuffix(".csv")): row["trial_id"] for row in rows}


@pytest.mark.parametrize("names", [("round",), ("round", "org"), ("org", "rate"), ("round", "org", "rate")])
def test_lists_and_answers_find_a_trial_by_each_of_its_logs(
    client: TestClient, numbers: dict[int, int], names: tuple[str, ...]
) -> None:
    known = {"round": ROUNDS, "org": ORGS, "rate": RATES}
    for values in itertools.product(*(known[name] for name in names)):
        wanted = dict(zip(names, values, strict=True))
        fits = {
            run
            for run, logs in LOGS.items()
            if any(dict(zip(known, log, strict=True)) | wanted == dict(zip(known, log, strict=True)) for log in logs)
        }
        parameters = {f"parameter.{name}": value for name, value in wanted.items()}
        rows = client.get("/v1/trials", params=parameters).json()["rows"]
        assert {row["trial_id"] for row in rows} == {numbers[run] for run in fits}, wanted
        asked = f"/v1/scaling?workload={WORKLOAD}&metric=val/cross_entropy_error&target=0.5"
        answer = client.get(asked + "".join(f"&where={name}={quote(str(value))}" for name, value in wanted.items()))
        assert answer.status_code == (200 if fits else 422)
        if fits:
            assert [row["n_trials"] for row in answer.json()["rows"]] == [len(fits)], wanted


def test_bounds_hold_of_any_log(client: TestClient, numbers: dict[int, int]) -> None:
    rows = client.get("/v1/trials?parameter.rate_min=0.15&parameter.org=bob").json()["rows"]
    assert [row["trial_id"] for row in rows] == [numbers[2]]


def test_a_list_says_what_differs_in_other_logs(client: TestClient, numbers: dict[int, int]) -> None:
    rows = client.get("/v1/trials?fields=trial_id,also_submitted").json()["rows"]
    copies = {row["trial_id"]: row["also_submitted"] for row in rows}
    assert copies[numbers[3]] is None
    (copy,) = copies[numbers[1]]
    assert (copy["source"], copy["parameters"]) == ("v2.0/bob/lr0.1/1.csv", {})
    assert copy["attributes"] == {"round": "2.0", "org": "bob"}
    assert [copy["parameters"] for copy in copies[numbers[2]]] == [{"rate": 0.1}, {}]


def test_pages_of_trials_name_the_rounds_and_files_of_other_logs(client: TestClient, numbers: dict[int, int]) -> None:
    html = client.get(f"/trials/{WORKLOAD}/8/{numbers[2]}").text
    page = Page(html)
    assert "also in 10.0" in page.text
    assert "v10.0/bob/lr0.2/2.csv" in page.text
    assert "<i>cy" not in html
    assert "also in" not in Page(client.get(f"/trials/{WORKLOAD}/8/{numbers[3]}").text).text


def test_pages_of_workloads_count_a_trial_in_each_of_its_rounds(client: TestClient) -> None:
    text = Page(client.get(f"/workloads/{WORKLOAD}?metric=val/cross_entropy_error&target=0.5").text).text
    assert all(f"{round_} ({count})" in text for round_, count in (("1.0", 3), ("2.0", 2), ("10.0", 2))), text[:3000]
