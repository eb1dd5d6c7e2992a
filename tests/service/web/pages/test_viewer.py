"""The curve viewer asks for the curves that its address names, and for no more than a browser draws at once."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake_schema.names import Study
from losslake_service.web.pages import viewer
from tests.made_up_lake import ERROR
from tests.service.web.reading import Page

WORKLOAD = "shelf/deep/mnist/cnn/sgd"
STUDY = f"{WORKLOAD}/64"
Query = dict[str, str | int | list[str]]
GOAL: Query = {"metric": ERROR, "target": "0.3"}


def requested(client: TestClient, query: Query) -> dict[str, Any]:
    """Return what the script of the page fetches and draws."""
    response = client.get("/viewer", params=query)
    assert response.status_code == 200, response.text
    match = re.search(r'data-request="([^"]*)"', response.text)
    assert match
    data: dict[str, Any] = json.loads(unescape(match[1]))
    return data


def trials_of(client: TestClient, study: str) -> list[int]:
    rows = client.get("/v1/trials", params={"study": study}).json()["rows"]
    return [row["trial_id"] for row in rows if row["last_step"] is not None]


def test_best_trial_is_the_first_to_reach_the_target(client: TestClient) -> None:
    (study,) = requested(client, GOAL | {"study": STUDY})["studies"]
    rows = client.get("/v1/steps-to-target", params=GOAL | {"workload": WORKLOAD, "batch_size": 64}).json()["rows"]
    best = min((row for row in rows if row["steps"] is not None), key=lambda row: (row["steps"], row["trial_id"]))
    assert (study["study"], study["batchSize"]) == (STUDY, 64)
    assert (study["best"], study["bestSteps"]) == (best["trial_id"], best["steps"])


def test_trials_are_those_named_and_a_workload_is_all_its_studies(client: TestClient) -> None:
    named = trials_of(client, STUDY)[:2]
    (study,) = requested(client, {"trial": [f"{STUDY}/{number}" for number in named]})["studies"]
    assert study["trials"] == named
    every = requested(client, {"workload": WORKLOAD, "metric": ERROR})["studies"]
    some = requested(client, {"workload": WORKLOAD, "metric": ERROR, "batch_size": 64})["studies"]
    assert [each["study"] for each in some] == [STUDY]
    assert len(every) > 1
    assert sorted(each["batchSize"] for each in every) == [each["batchSize"] for each in every]


def test_too_many_trials_are_sampled_with_the_best_of_each_study(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    query: Query = {"workload": WORKLOAD, "metric": ERROR, "target": "0.3"}
    whole = requested(client, query)["studies"]
    most = len(whole) + 2
    monkeypatch.setattr(viewer, "_MOST_CURVES", most)
    # Another address, since pages are cached by browsers only.
    text = client.get("/viewer", params=query | {"log": "x"}).text
    studies = requested(client, query | {"log": "x"})["studies"]
    shown = {each["study"]: each["trials"] or trials_of(client, each["study"]) for each in studies}
    assert sum(map(len, shown.values())) == most
    assert all(each["best"] is None or each["best"] in shown[each["study"]] for each in studies)
    assert "sampled evenly from" in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "give either study=…, trial=… or workload=…"),
        ({"study": STUDY, "workload": WORKLOAD}, "and not several"),
        ({"workload": WORKLOAD, "batch_size": 7}, "has no study at these batch sizes"),
        ({"study": STUDY, "smooth": "1"}, "smooth"),
        ({"study": f"{WORKLOAD}/7"}, "7"),
        ({"study": STUDY, "metric": "val/nothing"}, "val/nothing"),
    ],
)
def test_bad_address_gets_one_clear_line(client: TestClient, query: Query, words: str) -> None:
    response = client.get("/viewer", params=query)
    assert response.status_code in {404, 422}
    assert words in response.json()["detail"]


def test_pages_of_studies_and_workloads_lead_to_the_same_curves(client: TestClient) -> None:
    for path, studies in ((f"/studies/{STUDY}", 1), (f"/workloads/{WORKLOAD}", 2)):
        (link,) = {each for each in Page(client.get(path, params=GOAL).text).links if each.startswith("/viewer?")}
        response = client.get(link)
        assert response.status_code == 200
        match = re.search(r'data-request="([^"]*)"', response.text)
        assert match
        data = json.loads(unescape(match[1]))
        assert (data["metric"], data["goal"]["target"]) == (ERROR, 0.3)
        assert len(data["studies"]) >= studies
        assert Study.parse(data["studies"][0]["study"])
