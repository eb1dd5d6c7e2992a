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
from tests.made_up_lake import ERROR, ODD
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


def test_best_trial_is_among_those_shown(client: TestClient) -> None:
    numbers = trials_of(client, STUDY)
    (whole,) = requested(client, GOAL | {"study": STUDY})["studies"]
    others = [number for number in numbers if number != whole["best"]]
    (study,) = requested(client, GOAL | {"trial": [f"{STUDY}/{number}" for number in others]})["studies"]
    assert study["best"] in others


@pytest.mark.parametrize("metric", [ERROR, ODD])
def test_trials_without_the_metric_are_counted(client: TestClient, metric: str) -> None:
    n_trials = len(trials_of(client, STUDY))
    lead = unescape(client.get("/viewer", params={"study": STUDY, "metric": metric}).text)
    assert f"{metric} of {n_trials} trials in 1 study. Without 1 trial that doesn't measure it." in lead
    alone = client.get("/viewer", params={"trial": f"{STUDY}/40", "metric": metric})
    assert alone.status_code == 422
    assert f"none of these trials measures {metric}" in alone.json()["detail"]


def test_page_says_whose_target_it_is_unless_it_was_given(client: TestClient) -> None:
    other = "shelf/mnist/cnn/sgd"
    why = "No goal is set for val/classification_error of this workload. Shown instead: the hardest round target"
    one: Query = {"workload": WORKLOAD, "metric": ERROR}
    assert why in Page(client.get("/viewer", params=one).text).text
    assert requested(client, one)["goal"]["isProposed"]
    both = Page(client.get("/viewer", params=one | {"workload": [WORKLOAD, other]}).text).text
    assert f"Of {WORKLOAD}: {why}" in both
    assert "It applies to each of the 2 workloads here." in both
    assert "Shown instead" not in Page(client.get("/viewer", params=one | {"target": "0.3"}).text).text


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
        ({}, "give either study=…, trial=…, workload=… or submission=…"),
        ({"study": STUDY, "workload": WORKLOAD}, "and not several"),
        ({"workload": WORKLOAD, "batch_size": 7}, "has no study at these batch sizes"),
        ({"study": STUDY, "smooth": "1"}, "smooth"),
        ({"study": STUDY, "log": "z"}, "log"),
        ({"study": STUDY, "panels": "big"}, "panels"),
        ({"study": STUDY, "x": "5,1"}, "x=5,1: give two finite numbers, the smaller one first: FROM,TO"),
        ({"study": STUDY, "y": "0,1e999"}, "y=0,1e999: give two finite numbers"),
        ({"study": STUDY, "y": "1_0,20"}, "y=1_0,20: give two finite numbers"),
        ({"study": STUDY, "y": "0,1", "log": "xy"}, "y=0,1 has no place on a logarithmic axis"),
        ({"study": STUDY, "batch_size": 64}, "batch_size selects studies of workload"),
        ({"study": STUDY, "selected": f"{STUDY}/999"}, "has no trial"),
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
        assert ("log=x" in link) == ("panels=size" in link) == (studies > 1)
        assert len(data["studies"]) >= studies
        assert Study.parse(data["studies"][0]["study"])


@pytest.mark.parametrize("path", [f"/studies/{STUDY}", f"/workloads/{WORKLOAD}"])
def test_links_to_the_viewer_leave_a_proposed_target_proposed(client: TestClient, path: str) -> None:
    query: Query = {"metric": ERROR}
    (link,) = {each for each in Page(client.get(path, params=query).text).links if each.startswith("/viewer?")}
    assert "target=" not in link
